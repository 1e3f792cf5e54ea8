/* nodes.c: simulated lock servers: commands, expiry, restarts, and what happens to each key. */
#include "harness/sim/state.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

_Static_assert((int)LOCK_COMMAND_NAME_BYTES == (int)HISTORY_COMMAND_BYTES,
               "a name fits into an event");

void sim_node_init(struct sim *sim, uint32_t index)
{
    struct sim_node *node = sim_node(sim, index);
    memset(node, 0, sizeof *node);
    node->wall = (struct clock){0, SIM_WALL_START_NS, CLOCK_RATE_SOUND_PPM};
    node->up = true;
    node->jumped_ns = -1;
    node->bent_ns = -1;
    node->jump_fault = HISTORY_NO_FAULT;
    node->rate_fault = HISTORY_NO_FAULT;
    redis_model_init(sim_node_model(node), &sim->shape,
                     (enum fsync_setting)sim->plan->scenario.fsync);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint32_t sim_key_slot(const struct sim *sim, uint32_t node, uint32_t resource)
{
    return sim->slots.keys + node * sim->resource_count + resource;
}

/* Make the end of a key's time pending. */
static void sim_key_arm(struct sim *sim, uint32_t index, uint32_t resource)
{
    struct sim_node *node = sim_node(sim, index);
    const struct redis_cell *cell = redis_model_cell(sim_node_model(node), resource);
    uint32_t slot = sim_key_slot(sim, index, resource);
    int64_t true_ns = TIME_NEVER;
    if (cell->present && cell->expires) {
        true_ns = clock_true(&node->wall, redis_cell_end_ns(cell));
    }
    if (true_ns == TIME_NEVER) {
        heap_remove(sim->heap, slot);
    } else {
        sim_arm(sim, slot, sim_later(true_ns, sim->world->now_ns));
    }
}

static struct history_event sim_key_event(enum history_f f, uint32_t node, uint32_t resource)
{
    struct history_event event = sim_event(HISTORY_NODE, f);
    event.node = (int32_t)node;
    event.resource = resource;
    return event;
}

static void sim_event_own(struct history_event *event, const struct redis_cell *cell)
{
    if (cell->present) {
        memcpy(event->owner.bytes, cell->value.bytes, sizeof event->owner.bytes);
        event->flags |= HISTORY_HAS_OWNER;
    }
}

static void sim_event_until(struct history_event *event, const struct sim_node *node,
                            const struct redis_cell *cell)
{
    if (cell->present && cell->expires) {
        event->until_ns = clock_true(&node->wall, redis_cell_end_ns(cell));
        event->flags |= HISTORY_HAS_UNTIL;
    }
}

/* Why a key's time is up now: a sound clock keeps the date to a millisecond or two. */
static void sim_expiry_cause(const struct sim *sim, const struct sim_node *node,
                             const struct redis_cell *cell, struct history_event *event)
{
    int64_t off_ns = event->time_ns - cell->sound_ns;
    if (off_ns >= -2 * NS_PER_MS && off_ns <= 2 * NS_PER_MS) {
        event->cause = CAUSE_TTL;
        return;
    }
    int64_t set_ns = cell->sound_ns - sim->plan->scenario.lock.ttl_ns;
    if (node->jumped_ns >= set_ns) {
        event->cause = CAUSE_CLOCK_JUMP;
        event->fault = node->jump_fault;
    } else {
        event->cause = CAUSE_CLOCK_RATE;
        event->fault = node->rate_fault;
    }
}

static void sim_key_expire(struct sim *sim, uint32_t index, uint32_t resource)
{
    struct sim_node *node = sim_node(sim, index);
    struct redis_model *model = sim_node_model(node);
    const struct redis_cell *cell = redis_model_cell(model, resource);
    struct history_event event = sim_key_event(HISTORY_KEY_EXPIRED, index, resource);
    event.time_ns = sim->world->now_ns;
    sim_event_own(&event, cell);
    sim_expiry_cause(sim, node, cell, &event);
    redis_model_remove(model, resource, sim->world->now_ns);
    heap_remove(sim->heap, sim_key_slot(sim, index, resource));
    sim_record(sim, &event);
}

void sim_key_pop(struct sim *sim, uint32_t key)
{
    uint32_t index = key / sim->resource_count;
    uint32_t resource = key % sim->resource_count;
    struct sim_node *node = sim_node(sim, index);
    const struct redis_cell *cell = redis_model_cell(sim_node_model(node), resource);
    ASSERT(cell->present);
    ASSERT(redis_cell_expired(cell, clock_local(&node->wall, sim->world->now_ns)));
    sim_key_expire(sim, index, resource);
}

void sim_node_rearm(struct sim *sim, uint32_t node)
{
    for (uint32_t resource = 0; resource < sim->resource_count; resource++) {
        sim_key_arm(sim, node, resource);
    }
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

/* Tell what a command did to the key. */
static void sim_command_tell(struct sim *sim, struct sim_command *command)
{
    const struct redis_answer *answer = &sim->answer;
    const struct sim_message *message = command->message;
    struct sim_node *node = sim_node(sim, command->node);
    struct history_event event =
        sim_key_event((enum history_f)answer->f, command->node, message->resource);
    event.process = (int32_t)(sim->links[command->link].client);
    memcpy(event.command, lock_dialect_row(sim->dialect, message->command.kind)->name,
           sizeof event.command);
    event.sent_ns = message->sent_ns;
    event.flags |= HISTORY_HAS_SENT;
    memcpy(event.value.bytes, message->command.value.bytes, sizeof event.value.bytes);
    event.flags |= HISTORY_HAS_VALUE;
    sim_event_own(&event, &answer->before);
    if (answer->f == HISTORY_KEY_SET || answer->f == HISTORY_KEY_EXTENDED) {
        sim_event_until(&event, node, redis_model_cell(sim_node_model(node), message->resource));
    }
    if (answer->f == HISTORY_KEY_DELETED || answer->f == HISTORY_KEY_EXTENDED) {
        bool own = history_value_equal(&event.value, &event.owner);
        bool deleted = answer->f == HISTORY_KEY_DELETED;
        event.cause = own ? (deleted ? CAUSE_RELEASED : CAUSE_NONE) : CAUSE_FOREIGN;
    }
    if (answer->reply.type == LOCK_REPLY_NUMBER && answer->f == HISTORY_KEY_SET) {
        event.fence = answer->reply.number;
        event.flags |= HISTORY_HAS_FENCE;
    }
    command->event = sim->world->recorded;
    sim_record(sim, &event);
}

void sim_command_execute(struct sim *sim, struct sim_command *command)
{
    struct sim_node *node = sim_node(sim, command->node);
    struct redis_model *model = sim_node_model(node);
    ASSERT(node->up);
    const struct sim_message *message = command->message;
    struct redis_ask ask = {
        .command = &message->command,
        .resource = message->resource,
        .true_ns = sim->world->now_ns,
        .wall_ns = clock_local(&node->wall, sim->world->now_ns),
    };
    if (redis_cell_expired(redis_model_cell(model, ask.resource), ask.wall_ns)) {
        sim_key_expire(sim, command->node, ask.resource);
    }
    redis_model_command(model, &ask, &sim->answer);
    if (sim->answer.touched) {
        if (sim->answer.f == HISTORY_NODE_ERROR) {
            sim_node_seen(sim, command->node, FAULT_REFUSE_WRITES);
        }
        if (sim->answer.f != HISTORY_NODE_ERROR && sim->answer.f != HISTORY_KEY_REFUSED &&
            sim->answer.f != HISTORY_KEY_KEPT) {
            sim_key_arm(sim, command->node, ask.resource);
        }
        sim_command_tell(sim, command);
    }
    sim_command_show(sim, command, TRIGGER_COMMAND);
}

/* ---- stops and starts ------------------------------------------------------------------------ */

static bool sim_same_key(const struct redis_cell *a, const struct redis_cell *b)
{
    return a->present == b->present && memcmp(&a->value, &b->value, sizeof a->value) == 0;
}

static void sim_key_tell(struct sim *sim, struct history_event event, const struct redis_cell *cell)
{
    sim_event_own(&event, cell);
    if (event.f == HISTORY_KEY_BACK) {
        sim_event_until(&event, sim_node(sim, (uint32_t)event.node), cell);
    }
    sim_record(sim, &event);
}

static struct history_event sim_turn_event(const struct sim_turn *turn, enum history_f f,
                                           uint32_t resource)
{
    struct history_event event = sim_key_event(f, turn->node, resource);
    event.fault = turn->fault;
    event.cause = (uint8_t)turn->cause;
    return event;
}

/* Connections to a process that is gone break, and what was under way to it is lost. */
static void sim_node_disconnect(struct sim *sim, uint32_t index)
{
    sim_node(sim, index)->stops++;
    for (uint32_t client = 0; client < sim->actor_count; client++) {
        (void)sim_link_break(sim, sim_link_of(sim, client, index), SIM_BREAK_NODE);
    }
    sim_lanes_forget(sim, index);
}

uint32_t sim_node_stop(struct sim *sim, const struct sim_turn *turn, enum redis_stop how,
                       uint32_t kept)
{
    struct sim_node *node = sim_node(sim, turn->node);
    struct redis_model *model = sim_node_model(node);
    ASSERT(node->up);
    node->up = false;
    uint32_t lost = 0;
    redis_model_prepare_stop(model, how, kept);
    for (uint32_t i = 0; i < sim->resource_count; i++) {
        const struct redis_cell *cell = redis_model_cell(model, i);
        if (cell->present && !sim_same_key(cell, redis_model_stored(model, i))) {
            sim_key_tell(sim, sim_turn_event(turn, HISTORY_KEY_LOST, i), cell);
            lost++;
        }
    }
    redis_model_stop(model);
    sim_node_disconnect(sim, turn->node);
    sim_node_rearm(sim, turn->node);
    return lost;
}

void sim_node_start(struct sim *sim, const struct sim_turn *turn)
{
    struct sim_node *node = sim_node(sim, turn->node);
    struct redis_model *model = sim_node_model(node);
    ASSERT(!node->up);
    node->up = true;
    redis_model_start(model, sim->world->now_ns);
    for (uint32_t i = 0; i < sim->resource_count; i++) {
        if (redis_model_cell(model, i)->present) {
            sim_key_tell(sim, sim_turn_event(turn, HISTORY_KEY_BACK, i),
                         redis_model_cell(model, i));
        }
    }
    sim_node_links_retry(sim, turn->node);
}

uint32_t sim_node_promote(struct sim *sim, const struct sim_turn *turn, int64_t lag_ns)
{
    struct redis_model *model = sim_node_model(sim_node(sim, turn->node));
    uint32_t lost = 0;
    redis_model_replica_catch_up(model, sim->world->now_ns - lag_ns);
    for (uint32_t i = 0; i < sim->resource_count; i++) {
        const struct redis_cell *before = redis_model_cell(model, i);
        const struct redis_cell *after = redis_model_replica(model, i);
        if (sim_same_key(before, after)) {
            continue;
        }
        if (before->present) {
            sim_key_tell(sim, sim_turn_event(turn, HISTORY_KEY_LOST, i), before);
            lost++;
        }
        if (after->present) {
            sim_key_tell(sim, sim_turn_event(turn, HISTORY_KEY_BACK, i), after);
        }
    }
    redis_model_promote(model, sim->world->now_ns);
    sim_node_disconnect(sim, turn->node);
    sim_node_rearm(sim, turn->node);
    return lost;
}

uint32_t sim_node_evict(struct sim *sim, uint32_t index, int32_t fault)
{
    struct redis_model *model = sim_node_model(sim_node(sim, index));
    uint32_t evicted = 0;
    for (uint32_t i = 0; i < sim->resource_count; i++) {
        const struct redis_cell *cell = redis_model_cell(model, i);
        if (!cell->present) {
            continue;
        }
        struct history_event event = sim_key_event(HISTORY_KEY_EVICTED, index, i);
        event.cause = CAUSE_EVICTION;
        event.fault = fault;
        sim_event_own(&event, cell);
        redis_model_remove(model, i, sim->world->now_ns);
        heap_remove(sim->heap, sim_key_slot(sim, index, i));
        sim_record(sim, &event);
        evicted++;
    }
    return evicted;
}
