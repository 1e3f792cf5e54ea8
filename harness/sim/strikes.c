/* strikes.c: what a fault does to one client or one node, what takes it back, and what is told. */
#include "harness/sim/strikes.h"

#include "base/assert.h"
#include "base/duration.h"

/* ---- what is told ---------------------------------------------------------------------------- */

/* What the scenario asked for; docs/FAULTS.md. */
static int64_t fault_asked(const struct fault *fault)
{
    switch ((enum fault_kind)fault->kind) {
    case FAULT_PAUSE:
    case FAULT_CRASH:
    case FAULT_POWER_LOSS:
    case FAULT_SHUTDOWN:
    case FAULT_STALL:
        return fault->for_ns;
    case FAULT_SLOW:
    case FAULT_CLOCK_JUMP:
    case FAULT_FAILOVER:
    case FAULT_LATENCY:
    case FAULT_DELAY_COMMAND:
        return fault->amount_ns;
    case FAULT_CLOCK_RATE:
        return fault->rate_ppm;
    case FAULT_PARTITION:
        return fault->mode;
    case FAULT_REFUSE_WRITES:
        return fault->error;
    case FAULT_KILL:
    case FAULT_SCRIPT_FLUSH:
    case FAULT_EVICT:
    case FAULT_LOSE_REPLY:
    case FAULT_NONE:
    case FAULT_KINDS:
        return 0;
    }
    UNREACHABLE();
}

struct history_event fault_event(const struct sim *sim, uint32_t k, enum history_f f)
{
    const struct fault *fault = sim_fault(sim, k);
    struct history_event event = sim_event(HISTORY_FAULT, f);
    event.fault = (int32_t)k;
    event.fault_kind = fault->kind;
    event.number[0] = fault_asked(fault);
    if (fault->client_first == fault->client_last && fault->client_first >= 0) {
        event.process = fault->client_first;
    }
    if (fault->node_mask != 0 && (fault->node_mask & (fault->node_mask - 1)) == 0) {
        event.node = __builtin_ctz(fault->node_mask);
    }
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

/* ---- clients --------------------------------------------------------------------------------- */

static void fault_bend_client(struct sim *sim, uint32_t k, uint32_t client, int64_t rate_ppm)
{
    const struct fault *fault = sim_fault(sim, k);
    struct sim_actor *actor = sim_actor(sim, client);
    int64_t now_ns = sim->world->now_ns;
    if (fault->kind == FAULT_CLOCK_JUMP) {
        int64_t before_ns = clock_local(&actor->wall, now_ns);
        clock_jump(&actor->wall, now_ns, fault->amount_ns);
        fault_tell_client(sim, k, client, clock_local(&actor->wall, now_ns) - before_ns);
        return;
    }
    clock_set_rate(&actor->wall, now_ns, rate_ppm);
    clock_set_rate(&actor->mono, now_ns, rate_ppm);
    sim_actor_rearm(sim, client);
    sim_actor_tell_lease(sim, client, (int32_t)k);
}

void fault_strike_client(struct sim *sim, uint32_t k, uint32_t client)
{
    const struct fault *fault = sim_fault(sim, k);
    uint8_t state = sim_actor(sim, client)->state;
    bool over = state == SIM_ACTOR_KILLED || state == SIM_ACTOR_DONE;
    switch ((enum fault_kind)fault->kind) {
    case FAULT_PAUSE:
        sim_actor_freeze(sim, client);
        sim->world->seen[k] += !over;
        return;
    case FAULT_KILL:
        if (!over) {
            sim_actor_kill(sim, client, CAUSE_NONE);
            fault_tell_client(sim, k, client, 1);
        }
        return;
    case FAULT_CLOCK_JUMP:
        fault_bend_client(sim, k, client, 0);
        return;
    case FAULT_CLOCK_RATE:
        fault_bend_client(sim, k, client, fault->rate_ppm);
        fault_tell_client(sim, k, client, sim_actor(sim, client)->mono.rate_ppm);
        return;
    case FAULT_SLOW:
        return; /* seen at its steps */
    case FAULT_NONE:
    case FAULT_CRASH:
    case FAULT_POWER_LOSS:
    case FAULT_SHUTDOWN:
    case FAULT_STALL:
    case FAULT_REFUSE_WRITES:
    case FAULT_SCRIPT_FLUSH:
    case FAULT_EVICT:
    case FAULT_FAILOVER:
    case FAULT_LATENCY:
    case FAULT_PARTITION:
    case FAULT_LOSE_REPLY:
    case FAULT_DELAY_COMMAND:
    case FAULT_KINDS:
        break;
    }
    UNREACHABLE();
}

void fault_spare_client(struct sim *sim, uint32_t k, uint32_t client)
{
    const struct fault *fault = sim_fault(sim, k);
    if (fault->kind == FAULT_PAUSE) {
        sim_actor_thaw(sim, client);
    } else if (fault->kind == FAULT_CLOCK_RATE) {
        fault_bend_client(sim, k, client, CLOCK_RATE_SOUND_PPM);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void fault_bend_node(struct sim *sim, uint32_t k, uint32_t index, int64_t rate_ppm)
{
    const struct fault *fault = sim_fault(sim, k);
    struct sim_node *node = sim_node(sim, index);
    int64_t now_ns = sim->world->now_ns;
    if (fault->kind == FAULT_CLOCK_JUMP) {
        int64_t before_ns = clock_local(&node->wall, now_ns);
        clock_jump(&node->wall, now_ns, fault->amount_ns);
        node->jumped_ns = now_ns;
        node->jump_fault = (int32_t)k;
        fault_tell_effect(sim, k, (int32_t)index, clock_local(&node->wall, now_ns) - before_ns);
    } else {
        clock_set_rate(&node->wall, now_ns, rate_ppm);
        node->rate_fault = (int32_t)k;
    }
    sim_node_rearm(sim, index);
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
    struct redis_model *model = sim_node_model(sim_node(sim, index));
    uint64_t bytes = (uint64_t)redis_model_unsynced(model, sim->world->now_ns) * RECORD_BYTES;
    struct choice key = {CHOICE_LOSS, k, index, 0};
    return (uint32_t)(sim_choose(sim, &key, bytes + 1) / RECORD_BYTES);
}

static void fault_stop_node(struct sim *sim, uint32_t k, uint32_t index)
{
    const struct fault *fault = sim_fault(sim, k);
    struct sim_node *node = sim_node(sim, index);
    node->downs++;
    if (!node->up) {
        return;
    }
    enum redis_stop how = fault->kind == FAULT_POWER_LOSS ? REDIS_STOP_POWER
                          : fault->kind == FAULT_SHUTDOWN ? REDIS_STOP_CLEAN
                                                          : REDIS_STOP_KILLED;
    uint32_t kept = how == REDIS_STOP_POWER ? fault_kept_writes(sim, k, index) : 0;
    struct sim_turn turn = {index, (int32_t)k, CAUSE_RESTART};
    uint32_t lost = sim_node_stop(sim, &turn, how, kept);
    fault_tell_effect(sim, k, (int32_t)index, lost);
}

static void fault_refuse(struct sim *sim, uint32_t index)
{
    struct redis_model *model = sim_node_model(sim_node(sim, index));
    redis_model_refuse(model, NULL);
    for (uint64_t set = sim->world->refusals; set != 0; set &= set - 1) {
        const struct fault *fault = sim_fault(sim, (uint32_t)__builtin_ctzll(set));
        if ((fault->node_mask >> index & 1) != 0) {
            enum node_error error = (enum node_error)fault->error;
            redis_model_refuse(model, &error);
        }
    }
}

static void fault_promote(struct sim *sim, uint32_t k, uint32_t index)
{
    if (sim_node(sim, index)->up) {
        struct sim_turn turn = {index, (int32_t)k, CAUSE_FAILOVER};
        uint32_t lost = sim_node_promote(sim, &turn, sim_fault(sim, k)->amount_ns);
        fault_tell_effect(sim, k, (int32_t)index, lost);
    }
}

void fault_strike_node(struct sim *sim, uint32_t k, uint32_t index)
{
    const struct fault *fault = sim_fault(sim, k);
    struct sim_node *node = sim_node(sim, index);
    switch ((enum fault_kind)fault->kind) {
    case FAULT_PAUSE:
        node->freezes++;
        sim->world->seen[k]++;
        return;
    case FAULT_CLOCK_JUMP:
        fault_bend_node(sim, k, index, 0);
        return;
    case FAULT_CLOCK_RATE:
        fault_bend_node(sim, k, index, fault->rate_ppm);
        fault_tell_effect(sim, k, (int32_t)index, node->wall.rate_ppm);
        return;
    case FAULT_CRASH:
    case FAULT_POWER_LOSS:
    case FAULT_SHUTDOWN:
        fault_stop_node(sim, k, index);
        return;
    case FAULT_STALL:
        node->stalls++;
        return;
    case FAULT_REFUSE_WRITES:
        fault_refuse(sim, index);
        return;
    case FAULT_SCRIPT_FLUSH:
        redis_model_flush_scripts(sim_node_model(node));
        fault_tell_effect(sim, k, (int32_t)index, 1);
        return;
    case FAULT_EVICT: {
        uint32_t evicted = sim_node_evict(sim, index, (int32_t)k);
        if (evicted > 0) {
            fault_tell_effect(sim, k, (int32_t)index, evicted);
        }
        return;
    }
    case FAULT_FAILOVER:
        fault_promote(sim, k, index);
        return;
    case FAULT_NONE:
    case FAULT_KILL:
    case FAULT_SLOW:
    case FAULT_LATENCY:
    case FAULT_PARTITION:
    case FAULT_LOSE_REPLY:
    case FAULT_DELAY_COMMAND:
    case FAULT_KINDS:
        break;
    }
    UNREACHABLE();
}

void fault_spare_node(struct sim *sim, uint32_t k, uint32_t index)
{
    const struct fault *fault = sim_fault(sim, k);
    struct sim_node *node = sim_node(sim, index);
    switch ((enum fault_kind)fault->kind) {
    case FAULT_PAUSE:
        node->freezes--;
        sim_node_links_retry(sim, index);
        return;
    case FAULT_CLOCK_RATE:
        fault_bend_node(sim, k, index, CLOCK_RATE_SOUND_PPM);
        return;
    case FAULT_CRASH:
    case FAULT_POWER_LOSS:
    case FAULT_SHUTDOWN:
        node->downs--;
        if (node->downs == 0) {
            struct sim_turn turn = {index, (int32_t)k, CAUSE_RESTART};
            sim_node_start(sim, &turn);
        }
        return;
    case FAULT_STALL:
        node->stalls--;
        if (node->stalls == 0) {
            sim_node_unstall(sim, index);
        }
        return;
    case FAULT_REFUSE_WRITES:
        fault_refuse(sim, index);
        return;
    case FAULT_CLOCK_JUMP:
    case FAULT_SCRIPT_FLUSH:
    case FAULT_EVICT:
    case FAULT_FAILOVER:
        return; /* done once, nothing to take back */
    case FAULT_NONE:
    case FAULT_KILL:
    case FAULT_SLOW:
    case FAULT_LATENCY:
    case FAULT_PARTITION:
    case FAULT_LOSE_REPLY:
    case FAULT_DELAY_COMMAND:
    case FAULT_KINDS:
        break;
    }
    UNREACHABLE();
}
