/* nodes.c: simulated lock servers: the world's side of the door to their model. */
#include "harness/sim/state.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

_Static_assert(SERVER_NO_EVENT == SIM_NO_EVENT, "both say that nothing tells of it");

void sim_node_init(struct sim *sim, uint32_t index)
{
    struct sim_node *node = sim_node(sim, index);
    memset(node, 0, sizeof *node);
    node->up = true;
    *sim_clock(sim, index) = (struct server_node){
        .wall = {0, SIM_WALL_START_NS, CLOCK_RATE_SOUND_PPM},
        .mono = {0, SIM_MONO_START_NS, CLOCK_RATE_SOUND_PPM},
        .jumped_ns = -1,
        .jump_fault = HISTORY_NO_FAULT,
        .rate_fault = HISTORY_NO_FAULT,
    };
}

/* ---- what the model tells -------------------------------------------------------------------- */

static struct sim *sim_behind(const struct server_door *door)
{
    return (struct sim *)(void *)((char *)(uintptr_t)door - offsetof(struct sim, door));
}

static uint64_t door_record(struct server_door *door, struct history_event *event)
{
    struct sim *sim = sim_behind(door);
    uint64_t number = sim->world->recorded;
    sim_record(sim, event);
    return number;
}

static void door_arm(struct server_door *door, uint32_t wake, int64_t true_ns)
{
    struct sim *sim = sim_behind(door);
    uint32_t slot = sim->slots.wakings + wake;
    ASSERT(slot < sim->slots.count);
    if (true_ns == TIME_NEVER) {
        heap_remove(sim->heap, slot);
    } else {
        sim_arm(sim, slot, true_ns);
    }
}

static void door_answer(struct server_door *door, const struct server_ask *ask,
                        struct lock_reply reply, uint64_t event)
{
    struct sim *sim = sim_behind(door);
    struct sim_command *command = sim->answered;
    bool at_once = command != NULL && command->link == sim_link_of(sim, ask->client, ask->node) &&
                   !command->answered;
    if (!at_once) {
        sim_link_answer(sim, ask, reply, event);
        return;
    }
    command->answered = true;
    command->reply = reply;
    command->event = event;
}

static uint64_t door_draw(struct server_door *door, uint32_t node, uint32_t nth, uint64_t bound)
{
    struct choice key = {CHOICE_RACE, node, nth, 0};
    return sim_choose(sim_behind(door), &key, bound);
}

static void door_send(struct server_door *door, const struct server_message *message)
{
    sim_peer_send(sim_behind(door), message);
}

static bool door_reaches(const struct server_door *door, uint32_t from, uint32_t to)
{
    ASSERT(from != to);
    return sim_peer_reaches(sim_behind(door), from, to);
}

static bool door_links(const struct server_door *door, uint32_t from, uint32_t to)
{
    ASSERT(from != to);
    return sim_peer_links(sim_behind(door), from, to);
}

static bool door_runs(const struct server_door *door, uint32_t node)
{
    return sim_peer_runs(sim_behind(door), node);
}

static void door_push(struct server_door *door, const struct server_ask *ask,
                      struct lock_reply reply)
{
    sim_link_push(sim_behind(door), ask, reply);
}

static void door_refused(struct server_door *door, uint32_t node)
{
    sim_node_seen(sim_behind(door), node, FAULT_REFUSE_WRITES);
}

void sim_service_init(struct sim *sim)
{
    sim->door = (struct server_door){
        .nodes = sim->clocks,
        .record = door_record,
        .arm = door_arm,
        .answer = door_answer,
        .draw = door_draw,
        .send = door_send,
        .reaches = door_reaches,
        .links = door_links,
        .runs = door_runs,
        .push = door_push,
        .refused = door_refused,
    };
    sim->answered = NULL;
    sim->kind->model->init(sim->service, &sim->shape);
    if (sim->kind->model->begin != NULL) {
        sim_model(sim)->begin(sim->service, &sim->door);
    }
}

void sim_service_pop(struct sim *sim, uint32_t wake)
{
    sim_model(sim)->wake(sim->service, wake, &sim->door);
}

void sim_node_rearm(struct sim *sim, uint32_t node)
{
    ASSERT(node < sim->node_count);
    sim_model(sim)->bent(sim->service, node, &sim->door);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void sim_command_show(struct sim *sim, struct sim_command *command, enum trigger_kind moment)
{
    if (!sim->schedule->commands_watched && sim->world->in_force[FAULT_LOSE_REPLY] == 0 &&
        sim->world->in_force[FAULT_DELAY_COMMAND] == 0) {
        return;
    }
    struct schedule_sight sight = {
        .moment = (uint8_t)moment,
        .role = (uint8_t)sim_command_role(sim, command->message),
        .client = (int32_t)(sim->links[command->link].client),
        .node = (int32_t)command->node,
        .true_ns = sim->world->now_ns,
    };
    command->moment = (uint8_t)moment;
    schedule_command(sim->schedule, sim->plan, &sight, &sim->actions);
    sim_faults_act(sim, command);
}

void sim_command_arrives(struct sim *sim, struct sim_command *command)
{
    sim_command_show(sim, command, TRIGGER_ARRIVAL);
}

struct server_ask sim_command_ask(const struct sim *sim, const struct sim_command *command)
{
    return (struct server_ask){
        .node = command->node,
        .client = sim->links[command->link].client,
        .resource = actor_lock_resource(&sim->program, command->message->lock),
        .lock = command->message->lock,
        .connection = command->connection,
        .sent_ns = command->message->sent_ns,
        .command = command->message->command,
    };
}

void sim_command_execute(struct sim *sim, struct sim_command *command)
{
    ASSERT(sim_node(sim, command->node)->up);
    struct server_ask ask = sim_command_ask(sim, command);
    sim->answered = command;
    sim_model(sim)->ask(sim->service, &ask, &sim->door);
    sim->answered = NULL;
    /* A script that the node does not know was not applied: it will come again as text. */
    if (!command->answered || command->reply.type != LOCK_REPLY_LONG_FORM) {
        sim_command_show(sim, command, TRIGGER_COMMAND);
    }
}

/* ---- stops and starts ------------------------------------------------------------------------ */

/* Connections to a process that is gone break, and what was under way to it is lost. */
static void sim_node_disconnect(struct sim *sim, uint32_t index)
{
    sim_node(sim, index)->stops++;
    for (uint32_t client = 0; client < sim->actor_count; client++) {
        (void)sim_link_break(sim, sim_link_of(sim, client, index), SIM_BREAK_NODE);
    }
    sim_lanes_forget(sim, index);
}

uint32_t sim_node_stop(struct sim *sim, const struct server_turn *turn, enum server_stop how,
                       uint32_t kept)
{
    struct sim_node *node = sim_node(sim, turn->node);
    ASSERT(node->up);
    node->up = false;
    uint32_t lost = sim_model(sim)->stop(sim->service, turn, how, kept, &sim->door);
    sim_node_disconnect(sim, turn->node);
    sim_peers_turn(sim, turn->node);
    sim_node_rearm(sim, turn->node);
    return lost;
}

void sim_node_start(struct sim *sim, const struct server_turn *turn)
{
    struct sim_node *node = sim_node(sim, turn->node);
    ASSERT(!node->up);
    node->up = true;
    sim_model(sim)->start(sim->service, turn, &sim->door);
    sim_peers_turn(sim, turn->node);
    sim_node_links_retry(sim, turn->node);
}

uint32_t sim_node_promote(struct sim *sim, const struct server_turn *turn, int64_t lag_ns)
{
    uint32_t lost = sim_model(sim)->promote(sim->service, turn, lag_ns, &sim->door);
    if (lost == SERVER_NOT_PROMOTED) {
        return lost;
    }
    sim_node_disconnect(sim, turn->node);
    sim_node_rearm(sim, turn->node);
    return lost;
}
