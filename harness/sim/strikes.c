/* strikes.c: what a fault does to one client or one node, what takes it back, and what is told. */
#include "harness/sim/strikes.h"

#include "base/assert.h"
#include "base/duration.h"

/* ---- what is told ---------------------------------------------------------------------------- */

struct history_event fault_event(const struct sim *sim, uint32_t k, enum history_f f)
{
    const struct fault *fault = sim_fault(sim, k);
    struct history_event event = sim_event(HISTORY_FAULT, f);
    event.fault = (int32_t)k;
    event.fault_kind = fault->kind;
    event.number[0] = fault_asked(fault);
    event.process = fault_one_client(fault);
    event.node = fault_one_node(fault);
    return event;
}

void fault_tell_effect(struct sim *sim, uint32_t k, int32_t node, int64_t observed)
{
    struct history_event event = fault_event(sim, k, HISTORY_FAULT_EFFECT);
    if (node != HISTORY_NO_NODE) {
        event.node = node;
    }
    event.number[1] = observed;
    sim_record(sim, &event);
}

static void fault_tell_client(struct sim *sim, uint32_t k, uint32_t client, int64_t observed)
{
    struct history_event event = fault_event(sim, k, HISTORY_FAULT_EFFECT);
    event.process = (int32_t)client;
    event.number[1] = observed;
    sim_record(sim, &event);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* Gives the jump as it was observed. */
static int64_t fault_jump(struct sim *sim, uint32_t k, struct clock *wall)
{
    int64_t now_ns = sim->world->now_ns;
    int64_t before_ns = clock_local(wall, now_ns);
    clock_jump(wall, now_ns, sim_fault(sim, k)->amount_ns);
    return clock_local(wall, now_ns) - before_ns;
}

static void client_set_rate(struct sim *sim, uint32_t k, uint32_t client, int64_t rate_ppm)
{
    struct sim_actor *actor = sim_actor(sim, client);
    clock_set_rate(&actor->wall, sim->world->now_ns, rate_ppm);
    clock_set_rate(&actor->mono, sim->world->now_ns, rate_ppm);
    sim_actor_rearm(sim, client);
    sim_actor_tell_lease(sim, client, (int32_t)k);
}

static void node_set_rate(struct sim *sim, uint32_t k, uint32_t index, int64_t rate_ppm)
{
    struct server_node *node = sim_clock(sim, index);
    clock_set_rate(&node->wall, sim->world->now_ns, rate_ppm);
    clock_set_rate(&node->mono, sim->world->now_ns, rate_ppm);
    node->rate_fault = (int32_t)k;
    sim_node_rearm(sim, index);
}

/* ---- clients --------------------------------------------------------------------------------- */

static bool client_is_over(const struct sim *sim, uint32_t client)
{
    uint8_t state = sim_actor(sim, client)->state;
    return state == SIM_ACTOR_KILLED || state == SIM_ACTOR_DONE;
}

static void client_pause(struct sim *sim, uint32_t k, uint32_t client)
{
    sim->world->seen[k] += !client_is_over(sim, client);
    sim_actor_freeze(sim, client);
}

static void client_resume(struct sim *sim, uint32_t k, uint32_t client)
{
    (void)k;
    sim_actor_thaw(sim, client);
}

static void client_kill(struct sim *sim, uint32_t k, uint32_t client)
{
    if (!client_is_over(sim, client)) {
        sim_actor_kill(sim, client, CAUSE_NONE);
        fault_tell_client(sim, k, client, 1);
    }
}

static void client_jump(struct sim *sim, uint32_t k, uint32_t client)
{
    fault_tell_client(sim, k, client, fault_jump(sim, k, &sim_actor(sim, client)->wall));
}

static void client_run_wrong(struct sim *sim, uint32_t k, uint32_t client)
{
    client_set_rate(sim, k, client, sim_fault(sim, k)->rate_ppm);
    fault_tell_client(sim, k, client, sim_actor(sim, client)->mono.rate_ppm);
}

static void client_run_right(struct sim *sim, uint32_t k, uint32_t client)
{
    client_set_rate(sim, k, client, CLOCK_RATE_SOUND_PPM);
}

/* Its steps ask which faults make them late. */
static void client_slow(struct sim *sim, uint32_t k, uint32_t client)
{
    (void)sim;
    (void)k;
    (void)client;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void node_froze(struct sim *sim, uint32_t index, bool frozen)
{
    if (sim_model(sim)->froze != NULL) {
        sim_model(sim)->froze(sim->service, index, frozen, &sim->door);
    }
    sim_peers_turn(sim, index);
}

static void node_pause(struct sim *sim, uint32_t k, uint32_t index)
{
    if (sim_node(sim, index)->freezes++ == 0) {
        node_froze(sim, index, true);
    }
    sim->world->seen[k]++;
}

static void node_resume(struct sim *sim, uint32_t k, uint32_t index)
{
    (void)k;
    if (--sim_node(sim, index)->freezes == 0) {
        node_froze(sim, index, false);
    }
    sim_node_links_retry(sim, index);
}

static void node_jump(struct sim *sim, uint32_t k, uint32_t index)
{
    struct server_node *node = sim_clock(sim, index);
    int64_t observed_ns = fault_jump(sim, k, &node->wall);
    node->jumped_ns = sim->world->now_ns;
    node->jump_fault = (int32_t)k;
    fault_tell_effect(sim, k, (int32_t)index, observed_ns);
    sim_node_rearm(sim, index);
}

static void node_run_wrong(struct sim *sim, uint32_t k, uint32_t index)
{
    node_set_rate(sim, k, index, sim_fault(sim, k)->rate_ppm);
    fault_tell_effect(sim, k, (int32_t)index, sim_clock(sim, index)->wall.rate_ppm);
}

static void node_run_right(struct sim *sim, uint32_t k, uint32_t index)
{
    node_set_rate(sim, k, index, CLOCK_RATE_SOUND_PPM);
}

/*
 * How many of the unsynced writes survive a power cut. The file is cut at any byte, as the real
 * world does it: a record that is torn is lost, so that a single one hardly ever survives.
 */
static uint32_t fault_kept_writes(struct sim *sim, uint32_t k, uint32_t index)
{
    enum { RECORD_BYTES = 100 };
    if (sim->plan->scenario.fsync != FSYNC_EVERYSEC) {
        return 0;
    }
    uint32_t unsynced = sim_model(sim)->unsynced(sim->service, index, &sim->door);
    uint64_t bytes = (uint64_t)unsynced * RECORD_BYTES;
    struct choice key = {CHOICE_LOSS, k, index, 0};
    return (uint32_t)(sim_choose(sim, &key, bytes + 1) / RECORD_BYTES);
}

static void node_stop(struct sim *sim, uint32_t k, uint32_t index)
{
    const struct fault *fault = sim_fault(sim, k);
    struct sim_node *node = sim_node(sim, index);
    node->downs++;
    if (!node->up) {
        return;
    }
    enum server_stop how = fault->kind == FAULT_POWER_LOSS ? SERVER_STOP_POWER
                           : fault->kind == FAULT_SHUTDOWN ? SERVER_STOP_CLEAN
                                                           : SERVER_STOP_KILLED;
    uint32_t kept = how == SERVER_STOP_POWER ? fault_kept_writes(sim, k, index) : 0;
    struct server_turn turn = {index, (int32_t)k, CAUSE_RESTART};
    uint32_t lost = sim_node_stop(sim, &turn, how, kept);
    fault_tell_effect(sim, k, (int32_t)index, lost);
}

static void node_start(struct sim *sim, uint32_t k, uint32_t index)
{
    struct sim_node *node = sim_node(sim, index);
    node->downs--;
    if (node->downs == 0) {
        struct server_turn turn = {index, (int32_t)k, CAUSE_RESTART};
        sim_node_start(sim, &turn);
    }
}

static void node_stall(struct sim *sim, uint32_t k, uint32_t index)
{
    (void)k;
    sim_node(sim, index)->stalls++;
}

static void node_answer(struct sim *sim, uint32_t k, uint32_t index)
{
    (void)k;
    struct sim_node *node = sim_node(sim, index);
    node->stalls--;
    if (node->stalls == 0) {
        sim_node_unstall(sim, index);
    }
}

/* What is refused is what the faults in force say, this one or no longer. */
static void node_refuse(struct sim *sim, uint32_t k, uint32_t index)
{
    (void)k;
    const struct server_model *model = sim_model(sim);
    model->refuse(sim->service, index, NULL);
    for (uint64_t set = sim->world->in_force[FAULT_REFUSE_WRITES]; set != 0; set &= set - 1) {
        const struct fault *fault = sim_fault(sim, (uint32_t)__builtin_ctzll(set));
        if ((fault->node_mask >> index & 1) != 0) {
            enum node_error error = (enum node_error)fault->error;
            model->refuse(sim->service, index, &error);
        }
    }
}

static void node_flush_scripts(struct sim *sim, uint32_t k, uint32_t index)
{
    sim_model(sim)->forget_scripts(sim->service, index);
    fault_tell_effect(sim, k, (int32_t)index, 1);
}

static void node_evict(struct sim *sim, uint32_t k, uint32_t index)
{
    struct server_turn turn = {index, (int32_t)k, CAUSE_EVICTION};
    uint32_t evicted = sim_model(sim)->evict(sim->service, &turn, &sim->door);
    if (evicted > 0) {
        fault_tell_effect(sim, k, (int32_t)index, evicted);
    }
}

static void node_promote(struct sim *sim, uint32_t k, uint32_t index)
{
    const struct sim_node *node = sim_node(sim, index);
    bool answers = node->freezes == 0 || sim->plan->scenario.lock.replica_count == 0;
    if (node->up && answers) {
        struct server_turn turn = {index, (int32_t)k, CAUSE_FAILOVER};
        uint32_t lost = sim_node_promote(sim, &turn, sim_fault(sim, k)->amount_ns);
        if (lost != SERVER_NOT_PROMOTED) {
            fault_tell_effect(sim, k, (int32_t)index, lost);
        }
    }
}

/* ---- by kind --------------------------------------------------------------------------------- */

/* What a kind of fault does, and what takes it back: NULL where it strikes no such thing, and where
 * nothing is to be taken back. Faults of links are not here. */
static const struct strike {
    void (*client)(struct sim *sim, uint32_t k, uint32_t client);
    void (*client_end)(struct sim *sim, uint32_t k, uint32_t client);
    void (*node)(struct sim *sim, uint32_t k, uint32_t index);
    void (*node_end)(struct sim *sim, uint32_t k, uint32_t index);
} strikes[FAULT_KINDS] = {
    [FAULT_PAUSE] = {client_pause, client_resume, node_pause, node_resume},
    [FAULT_KILL] = {client_kill, NULL, NULL, NULL},
    [FAULT_SLOW] = {client_slow, NULL, NULL, NULL},
    [FAULT_CLOCK_JUMP] = {client_jump, NULL, node_jump, NULL},
    [FAULT_CLOCK_RATE] = {client_run_wrong, client_run_right, node_run_wrong, node_run_right},
    [FAULT_CRASH] = {NULL, NULL, node_stop, node_start},
    [FAULT_POWER_LOSS] = {NULL, NULL, node_stop, node_start},
    [FAULT_SHUTDOWN] = {NULL, NULL, node_stop, node_start},
    [FAULT_STALL] = {NULL, NULL, node_stall, node_answer},
    [FAULT_REFUSE_WRITES] = {NULL, NULL, node_refuse, node_refuse},
    [FAULT_SCRIPT_FLUSH] = {NULL, NULL, node_flush_scripts, NULL},
    [FAULT_EVICT] = {NULL, NULL, node_evict, NULL},
    [FAULT_FAILOVER] = {NULL, NULL, node_promote, NULL},
};

static const struct strike *strike_of(const struct sim *sim, uint32_t k)
{
    return &strikes[sim_fault(sim, k)->kind];
}

void fault_strike_client(struct sim *sim, uint32_t k, uint32_t client)
{
    ASSERT(strike_of(sim, k)->client != NULL);
    strike_of(sim, k)->client(sim, k, client);
}

void fault_spare_client(struct sim *sim, uint32_t k, uint32_t client)
{
    ASSERT(strike_of(sim, k)->client != NULL);
    if (strike_of(sim, k)->client_end != NULL) {
        strike_of(sim, k)->client_end(sim, k, client);
    }
}

void fault_strike_node(struct sim *sim, uint32_t k, uint32_t index)
{
    ASSERT(strike_of(sim, k)->node != NULL);
    strike_of(sim, k)->node(sim, k, index);
}

void fault_spare_node(struct sim *sim, uint32_t k, uint32_t index)
{
    ASSERT(strike_of(sim, k)->node != NULL);
    if (strike_of(sim, k)->node_end != NULL) {
        strike_of(sim, k)->node_end(sim, k, index);
    }
}
