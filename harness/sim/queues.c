/* queues.c: messages under way, in the order in which each connection sent them. */
#include "harness/sim/state.h"

#include "base/assert.h"
#include "base/duration.h"

uint32_t sim_message_take(struct sim *sim)
{
    struct sim_world *world = sim->world;
    if (world->message_free != SIM_NONE) {
        uint32_t index = world->message_free;
        ASSERT(index < world->message_used);
        world->message_free = sim->messages[index].next;
        return index;
    }
    ASSERT(world->message_used <= sim->message_max);
    if (world->message_used == sim->message_max) {
        world->overflowed = true;
        return SIM_NONE;
    }
    return world->message_used++;
}

void sim_message_give(struct sim *sim, uint32_t index)
{
    ASSERT(index < sim->world->message_used);
    ASSERT(index != sim->world->message_free); /* given back twice */
    sim->messages[index].next = sim->world->message_free;
    sim->world->message_free = index;
}

void sim_queue_push(struct sim *sim, struct sim_queue *queue, uint32_t index)
{
    ASSERT(index < sim->world->message_used);
    ASSERT(index != queue->head);
    struct sim_message *message = &sim->messages[index];
    message->next = SIM_NONE;
    if (queue->head == SIM_NONE) {
        queue->head = index;
    } else {
        sim->messages[queue->tail].next = index;
    }
    queue->tail = index;
}

void sim_queue_push_front(struct sim *sim, struct sim_queue *queue, uint32_t index)
{
    ASSERT(index < sim->world->message_used);
    ASSERT(index != queue->head);
    if (queue->head == SIM_NONE) {
        queue->tail = index;
    }
    sim->messages[index].next = queue->head;
    queue->head = index;
}

uint32_t sim_queue_pop(struct sim *sim, struct sim_queue *queue)
{
    uint32_t index = queue->head;
    ASSERT(index != SIM_NONE);
    ASSERT(index < sim->world->message_used);
    queue->head = sim->messages[index].next;
    ASSERT(queue->head != SIM_NONE || queue->tail == index);
    return index;
}

uint32_t sim_queue_drop_all(struct sim *sim, struct sim_queue *queue)
{
    uint32_t dropped = 0;
    while (queue->head != SIM_NONE) {
        sim_message_give(sim, sim_queue_pop(sim, queue));
        dropped++;
    }
    queue->parked = false;
    queue->last_ns = 0;
    return dropped;
}

/* What a stalled node kept to itself dies with it; what it sent before still arrives. */
uint32_t sim_queue_drop_unsent(struct sim *sim, struct sim_queue *queue)
{
    struct sim_queue sent = {.head = SIM_NONE};
    uint32_t dropped = 0;
    while (queue->head != SIM_NONE) {
        uint32_t index = sim_queue_pop(sim, queue);
        if (sim->messages[index].at_ns == TIME_NEVER) {
            sim_message_give(sim, index);
            dropped++;
        } else {
            sim_queue_push(sim, &sent, index);
        }
    }
    queue->head = sent.head;
    queue->tail = sent.tail;
    return dropped;
}

void sim_queue_arm(struct sim *sim, struct sim_queue *queue, uint32_t slot)
{
    if (queue->head == SIM_NONE || sim->messages[queue->head].at_ns == TIME_NEVER) {
        heap_remove(sim->heap, slot);
        return;
    }
    if (!queue->parked) {
        ASSERT(queue->head < sim->world->message_used);
        sim_arm(sim, slot, sim_later(sim->messages[queue->head].at_ns, sim->world->now_ns));
    }
}

uint32_t sim_queue_count(const struct sim *sim, const struct sim_queue *queue)
{
    uint32_t count = 0;
    for (uint32_t i = queue->head; i != SIM_NONE; i = sim->messages[i].next) {
        count++;
        ASSERT(count <= sim->world->message_used); /* else it goes in a circle */
    }
    return count;
}

void sim_queue_retry(struct sim *sim, struct sim_queue *queue, uint32_t slot)
{
    if (queue->parked) {
        queue->parked = false;
        sim_queue_arm(sim, queue, slot);
    }
}
