/* faults.c: begins and ends every kind of fault in the simulated world. */
#include "harness/sim/strikes.h"

#include "base/assert.h"

/* ---- what is in force ------------------------------------------------------------------------ */

static bool fault_touches(const struct sim *sim, uint32_t k, uint32_t link)
{
    return fault_touches_link(sim_fault(sim, k), (int32_t)sim->node_count,
                              (int32_t)(sim->links[link].client), (int32_t)(sim->links[link].node));
}

static bool fault_names_client(const struct fault *fault, uint32_t client)
{
    return fault->client_first <= (int32_t)client && (int32_t)client <= fault->client_last;
}

static bool fault_goes(const struct fault *fault, uint32_t direction)
{
    return (fault->direction & (direction == SIM_REQUESTS ? DIRECTION_REQUEST : DIRECTION_REPLY)) !=
           0;
}

bool sim_link_cut_by(const struct sim *sim, uint32_t link, uint32_t direction,
                     enum partition_mode mode)
{
    for (uint64_t set = sim->world->in_force[FAULT_PARTITION]; set != 0; set &= set - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(set);
        const struct fault *fault = sim_fault(sim, k);
        if (fault->mode == mode && (mode == MODE_REFUSE || fault_goes(fault, direction)) &&
            fault_touches(sim, k, link)) {
            return true;
        }
    }
    return false;
}

void sim_link_dropped(struct sim *sim, uint32_t link, uint32_t direction)
{
    sim->links[link].dropped = true;
    for (uint64_t set = sim->world->in_force[FAULT_PARTITION]; set != 0; set &= set - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(set);
        const struct fault *fault = sim_fault(sim, k);
        if (fault->mode == MODE_DROP && fault_goes(fault, direction) &&
            fault_touches(sim, k, link)) {
            sim->world->seen[k]++;
        }
    }
}

void sim_link_latency(struct sim *sim, uint32_t link, uint32_t direction, int64_t *amount_ns,
                      int64_t *jitter_ns)
{
    for (uint64_t set = sim->world->in_force[FAULT_LATENCY]; set != 0; set &= set - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(set);
        const struct fault *fault = sim_fault(sim, k);
        if (fault_goes(fault, direction) && fault_touches(sim, k, link)) {
            *amount_ns += fault->amount_ns;
            *jitter_ns += fault->jitter_ns;
            sim->world->seen[k]++;
        }
    }
}

void sim_actor_lateness(struct sim *sim, uint32_t client, int64_t *amount_ns, int64_t *jitter_ns)
{
    for (uint64_t set = sim->world->in_force[FAULT_SLOW]; set != 0; set &= set - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(set);
        const struct fault *fault = sim_fault(sim, k);
        if (fault_names_client(fault, client)) {
            *amount_ns += fault->amount_ns;
            *jitter_ns += fault->jitter_ns;
            sim->world->seen[k]++;
        }
    }
}

void sim_node_seen(struct sim *sim, uint32_t node, enum fault_kind kind)
{
    ASSERT(kind == FAULT_STALL || kind == FAULT_REFUSE_WRITES);
    for (uint64_t set = sim->world->in_force[kind]; set != 0; set &= set - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(set);
        sim->world->seen[k] += sim_fault(sim, k)->node_mask >> node & 1;
    }
}

/* ---- links ----------------------------------------------------------------------------------- */

static void fault_cut_links(struct sim *sim, uint32_t k)
{
    const struct fault *fault = sim_fault(sim, k);
    if (fault->kind != FAULT_PARTITION || fault->mode == MODE_HOLD || fault->mode == MODE_DROP) {
        return;
    }
    for (uint32_t link = 0; link < sim->link_count; link++) {
        if (fault_touches(sim, k, link) && sim->links[link].state == SIM_LINK_UP &&
            sim_actor(sim, sim->links[link].client)->state != SIM_ACTOR_KILLED) {
            (void)sim_link_break(sim, link, SIM_BREAK_LINK);
            sim->world->seen[k]++;
        }
    }
}

/* The messages that arrived at a held link and could not pass. */
static int64_t fault_held(const struct sim *sim, const struct fault *fault, uint32_t link)
{
    int64_t held = 0;
    for (uint32_t direction = 0; direction < SIM_DIRECTIONS; direction++) {
        const struct sim_queue *queue = &sim->links[link].queue[direction];
        if (!fault_goes(fault, direction)) {
            continue;
        }
        for (uint32_t i = queue->head; i != SIM_NONE; i = sim->messages[i].next) {
            held += sim->messages[i].at_ns <= sim->world->now_ns;
        }
    }
    return held;
}

static void fault_mend_links(struct sim *sim, uint32_t k)
{
    const struct fault *fault = sim_fault(sim, k);
    if (fault->kind != FAULT_PARTITION) {
        return;
    }
    for (uint32_t link = 0; link < sim->link_count; link++) {
        if (!fault_touches(sim, k, link)) {
            continue;
        }
        if (fault->mode == MODE_HOLD) {
            sim->world->seen[k] += fault_held(sim, fault, link);
        }
        if (fault->mode == MODE_DROP && sim->links[link].dropped) {
            sim->links[link].dropped = false;
            (void)sim_link_break(sim, link, SIM_BREAK_LINK);
        }
        sim_link_retry(sim, link);
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void fault_for_each(struct sim *sim, uint32_t k,
                           void (*client_do)(struct sim *, uint32_t, uint32_t),
                           void (*node_do)(struct sim *, uint32_t, uint32_t))
{
    const struct fault *fault = sim_fault(sim, k);
    for (int32_t client = fault->client_first; client >= 0 && client <= fault->client_last;
         client++) {
        client_do(sim, k, (uint32_t)client);
    }
    for (uint32_t node = 0; node < sim->node_count; node++) {
        if ((fault->node_mask >> node & 1) != 0) {
            node_do(sim, k, node);
        }
    }
}

static void fault_begin(struct sim *sim, uint32_t k)
{
    const struct fault *fault = sim_fault(sim, k);
    struct sim_world *world = sim->world;
    struct history_event start = fault_event(sim, k, HISTORY_FAULT_START);
    fault_name_targets(fault, &start);
    sim_record(sim, &start);
    world->active |= (uint64_t)1 << k;
    world->begun_ns[k] = world->now_ns;
    world->seen[k] = 0;
    world->in_force[fault->kind] |= (uint64_t)1 << k;
    if (fault->peer_mask != 0) {
        sim_peers_cut(sim, k);
    } else if (fault_is((enum fault_kind)fault->kind, FAULT_ON_LINK)) {
        fault_cut_links(sim, k);
    } else {
        fault_for_each(sim, k, fault_strike_client, fault_strike_node);
    }
}

static void fault_end(struct sim *sim, uint32_t k)
{
    const struct fault *fault = sim_fault(sim, k);
    struct sim_world *world = sim->world;
    world->active &= ~((uint64_t)1 << k);
    world->in_force[fault->kind] &= ~((uint64_t)1 << k);
    if (fault->peer_mask != 0) {
        sim_peers_heal(sim, k);
    } else if (fault_is((enum fault_kind)fault->kind, FAULT_ON_LINK)) {
        fault_mend_links(sim, k);
    } else {
        fault_for_each(sim, k, fault_spare_client, fault_spare_node);
    }
    if (world->seen[k] > 0) {
        int64_t observed =
            fault->kind == FAULT_PAUSE ? world->now_ns - world->begun_ns[k] : world->seen[k];
        fault_tell_effect(sim, k, HISTORY_NO_NODE, observed);
    }
    struct history_event end = fault_event(sim, k, HISTORY_FAULT_END);
    sim_record(sim, &end);
}

/* The faults in force that strike the command at hand. */
static void fault_strike_command(struct sim *sim, uint64_t set, struct sim_command *command)
{
    enum command_role role = sim_command_role(sim, command->message);
    for (; set != 0; set &= set - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(set);
        const struct fault *fault = sim_fault(sim, k);
        if ((fault->role != ROLE_ANY && fault->role != role) ||
            !fault_touches(sim, k, command->link)) {
            continue;
        }
        sim->world->seen[k]++;
        if (fault->kind == FAULT_LOSE_REPLY) {
            command->lost = true;
        } else {
            struct choice key = {CHOICE_LATENCY, 2 * command->link,
                                 sim->links[command->link].queue[SIM_REQUESTS].sent, 0};
            int64_t jitter_ns = (int64_t)sim_choose(sim, &key, (uint64_t)fault->jitter_ns + 1);
            command->delay_ns = sim_later(command->delay_ns, fault->amount_ns + jitter_ns);
        }
    }
}

void sim_faults_act(struct sim *sim, struct sim_command *command)
{
    uint64_t once = 0; /* begin and end at this very command */
    for (uint32_t i = 0; i < sim->actions.count; i++) {
        const struct schedule_action *action = &sim->actions.list[i];
        uint64_t bit = (uint64_t)1 << action->fault;
        if (action->type == SCHEDULE_BEGIN) {
            fault_begin(sim, action->fault);
            if (command != NULL && sim_fault(sim, action->fault)->for_ns == 0) {
                once = bit & (sim->world->in_force[FAULT_LOSE_REPLY] |
                              sim->world->in_force[FAULT_DELAY_COMMAND]);
                fault_strike_command(sim, once, command);
            }
        } else if ((sim->world->active & bit) != 0) {
            fault_end(sim, action->fault);
        }
    }
    if (command != NULL) {
        bool arrives = command->moment == TRIGGER_ARRIVAL;
        uint64_t set = arrives ? sim->world->in_force[FAULT_DELAY_COMMAND]
                               : sim->world->in_force[FAULT_LOSE_REPLY];
        fault_strike_command(sim, set & ~once, command);
    }
    if (sim->actions.changed) {
        sim_arm_world(sim);
    }
}
