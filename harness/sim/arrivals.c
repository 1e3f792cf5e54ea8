/* arrivals.c: requests at a simulated node's door: who may in, and what is answered. */
#include "harness/sim/state.h"

#include "base/assert.h"

/* Where a request comes from: the queue of a link, or of an old connection. */
struct sim_source {
    struct sim_queue *queue;
    uint32_t slot;
    uint32_t link;
    bool old;            /* replies go nowhere */
    uint32_t connection; /* OLD: which it was */
};

void sim_lane_hang_up(struct sim *sim, uint32_t link, uint32_t connection)
{
    const struct server_caller caller = {sim->links[link].node, sim->links[link].client,
                                         connection};
    sim_model(sim)->hung_up(sim->service, &caller, &sim->door);
}

/* Does something hold back what this source has for its node? */
static bool sim_source_waits(struct sim *sim, const struct sim_source *source)
{
    const struct sim_node *node = sim_node(sim, sim->links[source->link].node);
    if (node->freezes > 0) {
        return true;
    }
    return sim_link_cut(sim, source->link, SIM_REQUESTS, MODE_HOLD);
}

/* Bytes may vanish; that a connection ended comes through once that is over. */
static bool sim_source_ends(struct sim *sim, const struct sim_source *source)
{
    if (sim->messages[source->queue->head].kind != SIM_HANGUP) {
        return false;
    }
    if (sim_link_cut(sim, source->link, SIM_REQUESTS, MODE_DROP)) {
        source->queue->parked = true;
        return true;
    }
    sim_message_give(sim, sim_queue_pop(sim, source->queue));
    sim_lane_hang_up(sim, source->link, source->connection);
    return true;
}

/* What lives with a connection knows it also when it has broken on the way. */
static uint32_t sim_source_connection(const struct sim *sim, const struct sim_source *source)
{
    if (!source->old) {
        return sim->links[source->link].breaks;
    }
    return sim->kind->model->hung_up != NULL ? source->connection : SIM_CONNECTION_GONE;
}

/* With one queue per node (tests only) whoever is late makes all others late. */
static bool sim_source_shared_waits(struct sim *sim, const struct sim_source *source)
{
    struct sim_node *node = sim_node(sim, sim->links[source->link].node);
    if (!sim->shared_queue || node->shared_ns <= sim->world->now_ns) {
        return false;
    }
    heap_set(sim->heap, source->slot, node->shared_ns, ++node->shared_rank);
    return true;
}

static void sim_source_take_back(struct sim *sim, const struct sim_source *source, uint32_t index)
{
    sim_queue_push_front(sim, source->queue, index);
    if (source->queue->last_ns < sim->messages[index].at_ns) {
        source->queue->last_ns = sim->messages[index].at_ns;
    }
    sim_queue_arm(sim, source->queue, source->slot);
}

/* A request has come to its node's door. */
static void sim_source_deliver(struct sim *sim, const struct sim_source *source)
{
    if (sim_source_waits(sim, source)) {
        source->queue->parked = true;
        return;
    }
    if (sim_source_shared_waits(sim, source)) {
        return;
    }
    if (sim_source_ends(sim, source)) {
        return;
    }
    uint32_t node = sim->links[source->link].node;
    uint32_t breaks = sim->links[source->link].breaks;
    uint32_t stops = sim_node(sim, node)->stops;
    uint32_t index = sim_queue_pop(sim, source->queue);
    struct sim_message *message = &sim->messages[index];
    struct sim_command command = {.link = source->link,
                                  .node = node,
                                  .message = message,
                                  .connection = sim_source_connection(sim, source),
                                  .event = SIM_NO_EVENT};
    if (sim_link_cut(sim, source->link, SIM_REQUESTS, MODE_DROP)) {
        sim_link_dropped(sim, source->link, SIM_REQUESTS);
        sim_message_give(sim, index);
        sim_queue_arm(sim, source->queue, source->slot);
        return;
    }
    if (!message->seen) {
        message->seen = true;
        sim_command_arrives(sim, &command);
    }
    bool gone = stops != sim_node(sim, node)->stops ||
                (!source->old && breaks != sim->links[source->link].breaks);
    if (gone) {
        sim_message_give(sim, index);
        return;
    }
    if (command.delay_ns > 0 || sim_source_waits(sim, source)) {
        message->at_ns = sim->world->now_ns + command.delay_ns;
        sim_source_take_back(sim, source, index);
        if (sim->shared_queue) {
            sim_node(sim, node)->shared_ns = message->at_ns;
            heap_set(sim->heap, source->slot, message->at_ns, 0);
        }
        return;
    }
    sim_command_execute(sim, &command);
    if (command.answered && !command.lost && sim_node(sim, node)->stops == stops) {
        struct server_ask ask = sim_command_ask(sim, &command);
        sim_link_answer(sim, &ask, command.reply, command.event);
    }
    sim_message_give(sim, index);
    if (command.lost && !source->old && sim->links[source->link].state == SIM_LINK_UP) {
        (void)sim_link_break(sim, source->link, SIM_BREAK_LINK);
    }
    if (source->queue->head != SIM_NONE) {
        sim_queue_arm(sim, source->queue, source->slot);
    }
}

void sim_link_pop_request(struct sim *sim, uint32_t link)
{
    struct sim_source source = {&sim->links[link].queue[SIM_REQUESTS],
                                sim_link_slot(sim, link, SIM_REQUESTS), link, false, 0};
    sim_source_deliver(sim, &source);
}

void sim_lane_pop(struct sim *sim, uint32_t lane)
{
    struct sim_lane *old = &sim->lanes[lane];
    ASSERT(old->link != SIM_NONE);
    struct sim_source source = {&old->queue, sim->slots.lanes + lane, old->link, true,
                                old->connection};
    sim_source_deliver(sim, &source);
    if (old->queue.head == SIM_NONE) {
        old->link = SIM_NONE;
    }
}

void sim_lanes_forget(struct sim *sim, uint32_t node)
{
    for (uint32_t i = 0; i < sim->lane_count; i++) {
        struct sim_lane *lane = &sim->lanes[i];
        if (lane->link != SIM_NONE && sim->links[lane->link].node == node) {
            (void)sim_queue_drop_all(sim, &lane->queue);
            heap_remove(sim->heap, sim->slots.lanes + i);
            lane->link = SIM_NONE;
        }
    }
}
