/* sim.c: the world in virtual time: its block, its steps, its phases. */
#include "harness/sim/state.h"

#include "base/assert.h"
#include "base/duration.h"
#include "lockcore/algorithms.h"

#include <string.h>

enum {
    SIM_LANES_MAX = 64,
    SIM_MESSAGES_MIN = 16384,
    SIM_MESSAGES_PER_LINK = 32,
    SIM_WRITES_MAX = 512, /* unsynced or unreplicated, a node */
};

/* ---- draws and records ----------------------------------------------------------------------- */

uint64_t sim_choose_logged(const struct sim *sim, const struct choice *key, uint64_t bound)
{
    ASSERT(bound > 0);
    enum choice_kind kind = (enum choice_kind)key->kind;
    uint64_t value = 0;
    if (choices_find(sim->choices, kind, key->subject, key->nth, &value)) {
        return value % bound;
    }
    struct random_stream word = {choice_default(sim->plan->seed, kind, key->subject, key->nth)};
    return random_below(&word, bound);
}

/*
 * A busy machine is not late evenly: in each run a subject is prompt, or late now and then, or late
 * all the time, so that any of them may overtake any other by as much as there is.
 */
int64_t sim_stress_drawn(const struct sim *sim, uint32_t subject, uint32_t nth)
{
    enum { TEMPERS = 3, NOW_AND_THEN = 8 };
    uint64_t max_ns = (uint64_t)sim->plan->stress_ns;
    uint64_t temper = choice_default(sim->plan->seed, CHOICE_STRESS, subject, UINT32_MAX) % TEMPERS;
    struct choice key = {CHOICE_STRESS, subject, nth, 0};
    ASSERT(sim->plan->stress_ns > 0);
    if (temper == 0) {
        return (int64_t)sim_choose(sim, &key, max_ns / 64 + 1);
    }
    if (temper == 1) {
        uint64_t drawn_ns = sim_choose(sim, &key, NOW_AND_THEN * max_ns);
        return drawn_ns < max_ns ? (int64_t)drawn_ns : 0;
    }
    return (int64_t)sim_choose(sim, &key, max_ns + 1);
}

static inline uint32_t sim_tie(struct sim *sim, uint32_t slot)
{
    struct choice key = {CHOICE_TIE, slot, sim->ties[slot]++, 0};
    return SIM_TIE_DRAWN | (uint32_t)sim_choose(sim, &key, SIM_TIE_DRAWN);
}

void sim_arm(struct sim *sim, uint32_t slot, int64_t time_ns)
{
    ASSERT(time_ns >= sim->world->now_ns);
    heap_set(sim->heap, slot, time_ns, sim_tie(sim, slot));
}

void sim_arm_world(struct sim *sim)
{
    int64_t due_ns = sim->schedule->next_ns;
    due_ns = due_ns < sim->world->deadline_ns ? due_ns : sim->world->deadline_ns;
    if (due_ns <= 0) { /* what a plan says of time 0 is so before anybody starts */
        heap_set(sim->heap, 0, 0, SIM_TIE_BEGIN);
        return;
    }
    sim_arm(sim, 0, sim_later(due_ns, sim->world->now_ns));
}

void sim_record(struct sim *sim, struct history_event *event)
{
    event->time_ns = sim->world->now_ns;
    event->index = sim->world->recorded++;
    sim->recorder->event(sim->recorder, event);
}

/* ---- the block ------------------------------------------------------------------------------- */

static size_t sim_align(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

static bool plan_has(const struct plan *plan, enum fault_kind kind)
{
    for (size_t i = 0; i < plan->scenario.fault_count; i++) {
        if (plan->scenario.faults[i].kind == kind) {
            return true;
        }
    }
    return false;
}

static void sim_shape(struct sim *sim, const struct plan *plan)
{
    const struct scenario *scenario = &plan->scenario;
    sim->actor_count = (uint32_t)scenario->client_count + 1;
    sim->node_count = (uint32_t)scenario->node_count;
    sim->resource_count = (uint32_t)scenario->resource_count;
    sim->link_count = sim->actor_count * sim->node_count;
    sim->lane_count = sim->link_count < SIM_LANES_MAX ? sim->link_count : SIM_LANES_MAX;
    sim->kind = server_kind_at(scenario->node_kind);
    bool talks = server_kind_talks(sim->kind, scenario->lock.replica_count);
    sim->peer_count = talks ? sim->node_count * sim->node_count : 0;
    sim->message_max = SIM_MESSAGES_MIN + sim->link_count * SIM_MESSAGES_PER_LINK;
    sim->dialect = lock_algorithm_at(scenario->lock.algorithm)->dialect;
    sim->shape = (struct server_shape){
        .dialect = sim->dialect,
        .node_count = sim->node_count,
        .client_count = sim->actor_count,
        .resource_count = sim->resource_count,
        .replica_count = scenario->lock.replica_count,
        .fsync = scenario->fsync,
        .pooler = scenario->pooler,
        .consensus = scenario->consensus,
        .ttl_ns = scenario->lock.ttl_ns,
        .sentinels = scenario->sentinels,
        .disk_writes_max = plan_has(plan, FAULT_POWER_LOSS) ? SIM_WRITES_MAX : 0,
        .replica_writes_max = plan_has(plan, FAULT_FAILOVER) ? SIM_WRITES_MAX : 0,
    };
    client_program_init(&sim->program, plan, false);
    client_program_init(&sim->audit, plan, true);
    sim->actor_stride = sim_align(sizeof(struct sim_actor) + actor_bytes(&sim->program));
    struct sim_slots *slots = &sim->slots;
    slots->wakes = 1;
    slots->thaws = slots->wakes + sim->actor_count;
    slots->stores = slots->thaws + sim->actor_count;
    slots->links = slots->stores + sim->actor_count;
    slots->lanes = slots->links + 3 * sim->link_count;
    slots->wakings = slots->lanes + sim->lane_count;
    slots->peers = slots->wakings + sim->kind->model->wakes(&sim->shape);
    slots->count = slots->peers + sim->peer_count;
}

/* Give the next `bytes` of the block to a part. */
static char *sim_part(const struct sim *sim, size_t *used, size_t bytes)
{
    char *part = sim->block + *used;
    *used = sim_align(*used + bytes);
    ASSERT(*used <= sim->block_bytes_max);
    return part;
}

static size_t sim_block_bytes(const struct sim *sim)
{
    size_t parts = 14; /* each may be padded */
    return 16 * parts + sizeof(struct sim_world) + sizeof(struct schedule) +
           heap_bytes(sim->slots.count) + sim->slots.count * sizeof(uint32_t) +
           sim->actor_count * sim->actor_stride + sim->node_count * sizeof(struct sim_node) +
           sim->node_count * sizeof(struct server_node) + sim->kind->model->bytes(&sim->shape) +
           sim->link_count * sizeof(struct sim_link) + sim->lane_count * sizeof(struct sim_lane) +
           sim->peer_count * sizeof(struct sim_peer) +
           sim->resource_count * sizeof(struct store_cell) + sim->extra_bytes +
           sim->message_max * sizeof(struct sim_message);
}

static void sim_lay_out(struct sim *sim)
{
    size_t used = 0;
    sim->world = (void *)sim_part(sim, &used, sizeof *sim->world);
    sim->schedule = (void *)sim_part(sim, &used, sizeof *sim->schedule);
    sim->heap = (void *)sim_part(sim, &used, heap_bytes(sim->slots.count));
    sim->ties = (void *)sim_part(sim, &used, sim->slots.count * sizeof(uint32_t));
    sim->actors = sim_part(sim, &used, sim->actor_count * sim->actor_stride);
    sim->nodes = (void *)sim_part(sim, &used, sim->node_count * sizeof(struct sim_node));
    sim->clocks = (void *)sim_part(sim, &used, sim->node_count * sizeof(struct server_node));
    sim->service = sim_part(sim, &used, sim->kind->model->bytes(&sim->shape));
    sim->links = (void *)sim_part(sim, &used, sim->link_count * sizeof(struct sim_link));
    sim->lanes = (void *)sim_part(sim, &used, sim->lane_count * sizeof(struct sim_lane));
    sim->peers = (void *)sim_part(sim, &used, sim->peer_count * sizeof(struct sim_peer));
    sim->store = (void *)sim_part(sim, &used, sim->resource_count * sizeof(struct store_cell));
    sim->extra = sim_part(sim, &used, sim->extra_bytes);
    sim->messages = (void *)sim_part(sim, &used, sim->message_max * sizeof(struct sim_message));
}

struct result sim_create(struct arena *arena, const struct plan *plan,
                         const struct sim_options *options, struct sim **sim, struct text *why)
{
    struct sim *made = arena_take(arena, sizeof *made);
    if (made == NULL) {
        text_add(why, "no memory for a simulator; give it a larger arena");
        return result_error(ERROR_LIMIT);
    }
    made->choices = options->choices;
    made->extra_bytes = options->extra_bytes;
    sim_shape(made, plan);
    /* Another seed may draw faults that need the nodes' logs. */
    struct server_shape logs = made->shape;
    logs.disk_writes_max = SIM_WRITES_MAX;
    logs.replica_writes_max = SIM_WRITES_MAX;
    made->block_bytes_max = sim_block_bytes(made) + sim_align(made->kind->model->bytes(&logs));
    made->block = arena_take(arena, made->block_bytes_max);
    if (made->block == NULL) {
        text_add(
            why,
            "%u clients, %u nodes and %u names need %.1f GiB in the simulator, which gives a run "
            "%.1f at most; take fewer of them",
            made->actor_count - 1, made->node_count, made->resource_count,
            (double)made->block_bytes_max / (double)GIBIBYTE,
            (double)SIM_BYTES_MAX / (double)GIBIBYTE);
        return result_error(ERROR_ENVIRONMENT);
    }
    *sim = made;
    return RESULT_OK;
}

void *sim_extra(struct sim *sim)
{
    return sim->extra;
}

int64_t sim_true_ns(const struct sim *sim)
{
    return sim->world->now_ns;
}

uint64_t sim_steps(const struct sim *sim)
{
    return sim->world->steps;
}

size_t sim_snapshot_bytes(const struct sim *sim)
{
    return (size_t)((char *)&sim->messages[sim->world->message_used] - sim->block);
}

size_t sim_snapshot_bytes_max(const struct sim *sim)
{
    return sim->block_bytes_max;
}

void sim_save(const struct sim *sim, void *memory)
{
    memcpy(memory, sim->block, sim_snapshot_bytes(sim));
}

void sim_restore(struct sim *sim, const void *memory)
{
    struct sim_world world;
    memcpy(&world, memory, sizeof world);
    size_t bytes = (size_t)((char *)&sim->messages[world.message_used] - sim->block);
    memcpy(sim->block, memory, bytes);
}

/* ---- a run ----------------------------------------------------------------------------------- */

void sim_reset(struct sim *sim, const struct plan *plan)
{
    sim->plan = plan;
    sim_shape(sim, plan);
    ASSERT(sim_block_bytes(sim) <= sim->block_bytes_max);
    sim_lay_out(sim);
    struct sim_world *world = sim->world;
    memset(world, 0, sizeof *world);
    world->message_free = SIM_NONE;
    world->clients_left = sim->actor_count - 1;
    world->deadline_ns = plan->scenario.duration_ns;
    schedule_init(sim->schedule, plan);
    heap_init(sim->heap, sim->slots.count);
    memset(sim->ties, 0, sim->slots.count * sizeof(uint32_t));
    memset(sim->store, 0, sim->resource_count * sizeof(struct store_cell));
    memset(sim->extra, 0, sim->extra_bytes);
    for (uint32_t node = 0; node < sim->node_count; node++) {
        sim_node_init(sim, node);
    }
    sim_links_init(sim);
    sim_peers_init(sim);
    sim_service_init(sim);
    for (uint32_t client = 0; client < sim->actor_count; client++) {
        sim_actor_init(sim, client);
    }
    for (uint32_t client = 0; client + 1 < sim->actor_count; client++) {
        sim_arm(sim, sim->slots.wakes + client, 0);
    }
    sim_arm_world(sim);
}

static void sim_over(struct sim *sim, enum history_cause cause)
{
    struct history_event event = sim_event(HISTORY_PHASE, HISTORY_RUN_END);
    event.cause = (uint8_t)cause;
    event.process = cause == CAUSE_LIVELOCK ? sim->world->spinner : event.process;
    sim_actors_tell_late(sim);
    sim_record(sim, &event);
    sim->world->phase = SIM_PHASE_OVER;
}

/* Every fault ends; from here on the lock must come free again, which the auditor tries. */
static void sim_heal(struct sim *sim)
{
    struct sim_world *world = sim->world;
    uint32_t auditor = sim->actor_count - 1;
    schedule_heal(sim->schedule, sim->plan, world->now_ns, &sim->actions);
    sim_faults_act(sim, NULL);
    for (uint32_t client = 0; client < auditor; client++) {
        uint8_t state = sim_actor(sim, client)->state;
        if (state == SIM_ACTOR_NEW || state == SIM_ACTOR_RUNNING) {
            world->out_of_time = true;
            sim_actor_kill(sim, client, CAUSE_DEADLINE);
        }
    }
    struct history_event event = sim_event(HISTORY_PHASE, HISTORY_HEALED);
    sim_record(sim, &event);
    world->phase = SIM_PHASE_AUDIT;
    world->clients_left = 1;
    world->deadline_ns = world->now_ns + plan_linger_ns(sim->plan);
    sim_arm(sim, sim->slots.wakes + auditor, world->now_ns);
    sim_arm_world(sim);
}

static void sim_world_pop(struct sim *sim)
{
    struct sim_world *world = sim->world;
    if (world->now_ns >= sim->schedule->next_ns) {
        schedule_time(sim->schedule, sim->plan, world->now_ns, &sim->actions);
        sim_faults_act(sim, NULL);
    }
    if (world->now_ns < world->deadline_ns) {
        sim_arm_world(sim);
    } else if (world->phase == SIM_PHASE_FAULTS) {
        sim_heal(sim);
    } else {
        sim_over(sim, CAUSE_DEADLINE);
    }
}

static void sim_pop_link(struct sim *sim, uint32_t number)
{
    switch (number % 3) {
    case SIM_REQUESTS:
        sim_link_pop_request(sim, number / 3);
        return;
    case SIM_REPLIES:
        sim_link_pop_reply(sim, number / 3);
        return;
    default:
        sim_link_pop_connect(sim, number / 3);
        return;
    }
}

static void sim_pop(struct sim *sim, uint32_t slot)
{
    const struct sim_slots *slots = &sim->slots;
    if (slot == 0) {
        sim_world_pop(sim);
    } else if (slot >= slots->peers) {
        sim_peer_pop(sim, slot - slots->peers);
    } else if (slot >= slots->wakings) {
        sim_service_pop(sim, slot - slots->wakings);
    } else if (slot >= slots->lanes) {
        sim_lane_pop(sim, slot - slots->lanes);
    } else if (slot >= slots->links) {
        sim_pop_link(sim, slot - slots->links);
    } else if (slot >= slots->stores) {
        sim_actor_store(sim, slot - slots->stores);
    } else if (slot >= slots->thaws) {
        sim_actor_thawed(sim, slot - slots->thaws);
    } else {
        sim_actor_wake(sim, slot - slots->wakes);
    }
}

bool sim_step(struct sim *sim, struct recorder *recorder)
{
    struct sim_world *world = sim->world;
    if (world->phase == SIM_PHASE_OVER) {
        return false;
    }
    struct heap_entry entry = *heap_first(sim->heap);
    ASSERT(sim->heap->count > 0); /* the world's own slot is always pending */
    ASSERT(entry.time_ns >= world->now_ns);
    sim->recorder = recorder;
    heap_remove(sim->heap, entry.slot);
    if (world->stood && entry.time_ns > world->now_ns) {
        sim_actors_tell_late(sim);
    }
    world->now_ns = entry.time_ns;
    world->steps++;
    sim_pop(sim, entry.slot);
    if (world->overflowed || recorder->should_stop(recorder)) {
        sim_over(sim, CAUSE_STOPPED);
    } else if (world->livelocked) {
        sim_over(sim, CAUSE_LIVELOCK);
    } else if (world->clients_left == 0 && world->phase == SIM_PHASE_FAULTS) {
        sim_heal(sim);
    } else if (world->clients_left == 0 && world->phase == SIM_PHASE_AUDIT) {
        sim_over(sim, world->out_of_time ? CAUSE_DEADLINE : CAUSE_ALL_DONE);
    }
    return world->phase != SIM_PHASE_OVER;
}

struct result sim_run(struct sim *sim, struct recorder *recorder, struct text *why)
{
    while (sim_step(sim, recorder)) {
    }
    if (sim->world->overflowed) {
        text_add(why,
                 "more than %u messages were under way at once: what is held back piles up while "
                 "clients go on asking; end it sooner (for, until, duration), or let them ask less "
                 "(retry, think)",
                 sim->message_max);
        return result_error(ERROR_LIMIT);
    }
    return RESULT_OK;
}
