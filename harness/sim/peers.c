/* peers.c: links between simulated nodes: what one tells another, in order, until they break. */
#include "harness/sim/state.h"

#include "base/assert.h"
#include "base/duration.h"
#include "lockcore/algorithms.h"

#include <string.h>

static uint32_t pair_of(const struct sim *sim, uint32_t from, uint32_t to)
{
    ASSERT(from < sim->node_count && to < sim->node_count);
    ASSERT(from != to);
    return from * sim->node_count + to;
}

static uint32_t pair_slot(const struct sim *sim, uint32_t from, uint32_t to)
{
    return sim->slots.peers + pair_of(sim, from, to);
}

/* One of the two directions stands for the link. */
static struct sim_peer *peer_link(const struct sim *sim, uint32_t a, uint32_t b)
{
    return &sim->peers[a < b ? pair_of(sim, a, b) : pair_of(sim, b, a)];
}

void sim_peers_init(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->peer_count; i++) {
        memset(&sim->peers[i], 0, sizeof sim->peers[i]);
        sim->peers[i].queue.head = SIM_NONE;
    }
}

/* ---- what faults are in force ---------------------------------------------------------------- */

static bool fault_goes(const struct fault *fault, uint32_t from, uint32_t to)
{
    switch (fault_way_between(fault, (int32_t)from, (int32_t)to)) {
    case FAULT_WAY_NONE:
        return false;
    case FAULT_WAY_REQUEST:
        return (fault->direction & DIRECTION_REQUEST) != 0;
    case FAULT_WAY_REPLY:
        return (fault->direction & DIRECTION_REPLY) != 0;
    }
    UNREACHABLE();
}

static bool fault_between(const struct fault *fault, uint32_t a, uint32_t b)
{
    return fault_way_between(fault, (int32_t)a, (int32_t)b) != FAULT_WAY_NONE;
}

/* Bit k: fault k keeps from `to` what `from` tells it, in this mode. */
static uint64_t peer_cuts(const struct sim *sim, uint32_t from, uint32_t to,
                          enum partition_mode mode)
{
    uint64_t cuts = 0;
    for (uint64_t set = sim->world->in_force[FAULT_PARTITION]; set != 0; set &= set - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(set);
        const struct fault *fault = sim_fault(sim, k);
        bool goes =
            mode == MODE_REFUSE ? fault_between(fault, from, to) : fault_goes(fault, from, to);
        cuts |= fault->mode == mode && goes ? UINT64_C(1) << k : 0;
    }
    return cuts;
}

bool sim_peer_runs(const struct sim *sim, uint32_t node)
{
    return sim_node(sim, node)->up && sim_node(sim, node)->freezes == 0;
}

bool sim_peer_links(const struct sim *sim, uint32_t from, uint32_t to)
{
    return peer_cuts(sim, from, to, MODE_HOLD) == 0 && peer_cuts(sim, from, to, MODE_DROP) == 0 &&
           peer_cuts(sim, from, to, MODE_REFUSE) == 0;
}

bool sim_peer_reaches(const struct sim *sim, uint32_t from, uint32_t to)
{
    return sim_peer_runs(sim, from) && sim_peer_runs(sim, to) && sim_peer_links(sim, from, to);
}

/* ---- telling --------------------------------------------------------------------------------- */

/*
 * How much later a stressed message to another node comes. An answer may take four of them on its
 * way, beside those that its client waits for (links.c), and what a lock waits for at the nodes
 * takes two.
 */
static int64_t peer_stress(const struct sim *sim, uint32_t subject, uint32_t nth)
{
    enum { PARTS = 16, WAIT_PARTS = 4 };
    const struct lock_config *lock = &sim->plan->scenario.lock;
    int64_t most_ns = lock->node_timeout_ns / PARTS;
    if (lock_algorithm_at(lock->algorithm)->waits && lock->wait_ns / WAIT_PARTS < most_ns) {
        most_ns = lock->wait_ns / WAIT_PARTS;
    }
    int64_t late_ns = sim_stress(sim, subject, nth);
    return late_ns < most_ns ? late_ns : most_ns;
}

static int64_t peer_latency(struct sim *sim, uint32_t from, uint32_t to)
{
    const struct scenario *scenario = &sim->plan->scenario;
    int64_t amount_ns = scenario->latency_ns;
    int64_t jitter_ns = scenario->latency_jitter_ns;
    for (uint64_t set = sim->world->in_force[FAULT_LATENCY]; set != 0; set &= set - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(set);
        const struct fault *fault = sim_fault(sim, k);
        if (fault_goes(fault, from, to)) {
            amount_ns += fault->amount_ns;
            jitter_ns += fault->jitter_ns;
            sim->world->seen[k]++;
        }
    }
    /* Behind the links of clients, and behind the clients. */
    uint32_t subject = 2 * sim->link_count + sim->actor_count + pair_of(sim, from, to);
    uint32_t nth = sim->peers[pair_of(sim, from, to)].queue.sent++;
    if (jitter_ns > 0) {
        struct choice key = {CHOICE_LATENCY, subject, nth, 0};
        amount_ns += (int64_t)sim_choose(sim, &key, (uint64_t)jitter_ns + 1);
    }
    return amount_ns + peer_stress(sim, subject, nth);
}

static void peer_append(struct sim *sim, const struct server_message *told, int64_t latency_ns)
{
    uint32_t pair = pair_of(sim, told->from, told->to);
    struct sim_queue *queue = &sim->peers[pair].queue;
    uint32_t index = sim_message_take(sim);
    if (index == SIM_NONE) {
        return;
    }
    struct sim_message *message = &sim->messages[index];
    memset(message, 0, sizeof *message);
    message->kind = SIM_TOLD;
    message->told = *told;
    message->at_ns = sim_later(sim->world->now_ns + latency_ns, queue->last_ns);
    queue->last_ns = message->at_ns;
    bool first = queue->head == SIM_NONE;
    sim_queue_push(sim, queue, index);
    if (first) {
        sim_queue_arm(sim, queue, pair_slot(sim, told->from, told->to));
    }
}

void sim_peer_send(struct sim *sim, const struct server_message *told)
{
    ASSERT(sim->peer_count > 0);
    if (!peer_link(sim, told->from, told->to)->down) {
        peer_append(sim, told, peer_latency(sim, told->from, told->to));
    }
}

static void peer_dropped(struct sim *sim, uint32_t from, uint32_t to, uint64_t cuts)
{
    peer_link(sim, from, to)->dropped = true;
    for (; cuts != 0; cuts &= cuts - 1) {
        sim->world->seen[__builtin_ctzll(cuts)]++;
    }
}

/* The first of what waits between two nodes has arrived. */
void sim_peer_pop(struct sim *sim, uint32_t pair)
{
    uint32_t from = pair / sim->node_count;
    uint32_t to = pair % sim->node_count;
    struct sim_queue *queue = &sim->peers[pair].queue;
    if (sim_node(sim, to)->freezes > 0 || peer_cuts(sim, from, to, MODE_HOLD) != 0) {
        queue->parked = true;
        return;
    }
    uint32_t index = sim_queue_pop(sim, queue);
    struct server_message told = sim->messages[index].told;
    sim_message_give(sim, index);
    sim_queue_arm(sim, queue, sim->slots.peers + pair);
    uint64_t drops = peer_cuts(sim, from, to, MODE_DROP);
    if (drops != 0) {
        peer_dropped(sim, from, to, drops);
    } else {
        const struct server_model *model = sim_model(sim);
        ASSERT(model->hear != NULL);
        model->hear(sim->service, &told, &sim->door);
    }
}

/* ---- up and down ----------------------------------------------------------------------------- */

static void peer_tell(struct sim *sim, uint32_t a, uint32_t b, bool up)
{
    const struct server_model *model = sim_model(sim);
    if (model->link != NULL) {
        model->link(sim->service, a, b, up, &sim->door);
    }
}

static void peer_break(struct sim *sim, uint32_t a, uint32_t b)
{
    struct sim_peer *link = peer_link(sim, a, b);
    if (link->down) {
        return;
    }
    link->down = true;
    link->dropped = false;
    (void)sim_queue_drop_all(sim, &sim->peers[pair_of(sim, a, b)].queue);
    (void)sim_queue_drop_all(sim, &sim->peers[pair_of(sim, b, a)].queue);
    heap_remove(sim->heap, pair_slot(sim, a, b));
    heap_remove(sim->heap, pair_slot(sim, b, a));
    peer_tell(sim, a, b, false);
}

/* They connect again as soon as they can. */
static void peer_mend(struct sim *sim, uint32_t a, uint32_t b)
{
    struct sim_peer *link = peer_link(sim, a, b);
    bool kept = false;
    for (int mode = MODE_HOLD; mode <= MODE_REFUSE; mode++) {
        kept = kept || peer_cuts(sim, a, b, (enum partition_mode)mode) != 0 ||
               peer_cuts(sim, b, a, (enum partition_mode)mode) != 0;
    }
    if (link->down && !kept && sim_node(sim, a)->up && sim_node(sim, b)->up) {
        link->down = false;
        peer_tell(sim, a, b, true);
    }
}

static void peer_retry(struct sim *sim, uint32_t from, uint32_t to)
{
    struct sim_queue *queue = &sim->peers[pair_of(sim, from, to)].queue;
    sim_queue_retry(sim, queue, pair_slot(sim, from, to));
}

static void peers_changed(struct sim *sim)
{
    const struct server_model *model = sim_model(sim);
    if (model->reach != NULL) {
        model->reach(sim->service, &sim->door);
    }
}

void sim_peers_turn(struct sim *sim, uint32_t node)
{
    if (sim->peer_count == 0) {
        return;
    }
    for (uint32_t other = 0; other < sim->node_count; other++) {
        if (other == node) {
            continue;
        }
        if (!sim_node(sim, node)->up) {
            peer_break(sim, node, other);
        } else {
            peer_mend(sim, node, other);
            peer_retry(sim, other, node);
        }
    }
    peers_changed(sim);
}

/* ---- faults ---------------------------------------------------------------------------------- */

void sim_peers_cut(struct sim *sim, uint32_t k)
{
    const struct fault *fault = sim_fault(sim, k);
    bool breaks =
        fault->kind == FAULT_PARTITION && (fault->mode == MODE_REFUSE || fault->mode == MODE_RESET);
    for (uint32_t a = 0; a < sim->node_count; a++) {
        for (uint32_t b = a + 1; b < sim->node_count; b++) {
            if (!fault_between(fault, a, b)) {
                continue;
            }
            /* Whether anything passes there or not: that nobody reaches the other is its effect. */
            sim->world->seen[k] += fault->kind == FAULT_PARTITION;
            if (breaks) {
                peer_break(sim, a, b);
                peer_mend(sim, a, b);
            }
        }
    }
    peers_changed(sim);
}

void sim_peers_heal(struct sim *sim, uint32_t k)
{
    const struct fault *fault = sim_fault(sim, k);
    for (uint32_t a = 0; a < sim->node_count; a++) {
        for (uint32_t b = a + 1; b < sim->node_count; b++) {
            if (!fault_between(fault, a, b)) {
                continue;
            }
            if (peer_link(sim, a, b)->dropped) { /* a stream with a hole in it */
                peer_break(sim, a, b);
            }
            peer_mend(sim, a, b);
            peer_retry(sim, a, b);
            peer_retry(sim, b, a);
        }
    }
    peers_changed(sim);
}
