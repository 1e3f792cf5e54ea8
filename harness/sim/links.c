/* links.c: connections between clients and nodes: one queue each way, and what outlives them. */
#include "harness/sim/state.h"

#include "base/assert.h"
#include "base/duration.h"
#include "lockcore/algorithms.h"

#include <string.h>

void sim_links_init(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->link_count; i++) {
        struct sim_link *link = &sim->links[i];
        memset(link, 0, sizeof *link);
        link->queue[SIM_REQUESTS].head = SIM_NONE;
        link->queue[SIM_REPLIES].head = SIM_NONE;
        link->client = i / sim->node_count;
        link->node = i % sim->node_count;
    }
    for (uint32_t i = 0; i < sim->lane_count; i++) {
        memset(&sim->lanes[i], 0, sizeof sim->lanes[i]);
        sim->lanes[i].link = SIM_NONE;
        sim->lanes[i].queue.head = SIM_NONE;
    }
}

/* ---- sending --------------------------------------------------------------------------------- */

/*
 * How much later a stressed message comes. A request and its reply together stay well within what a
 * lock waits for: that a slower network is borne, none promises. One that waits for replicas, too,
 * asks twice in that time.
 */
static int64_t sim_link_stress(const struct sim *sim, uint32_t subject, uint32_t nth)
{
    enum { PARTS = 4 };
    const struct lock_config *lock = &sim->plan->scenario.lock;
    int64_t late_ns = sim_stress(sim, subject, nth);
    int64_t asks = lock_algorithm_at(lock->algorithm)->waits ? 2 : 1;
    int64_t most_ns = lock->node_timeout_ns / (PARTS * asks);
    return late_ns < most_ns ? late_ns : most_ns;
}

/* How long the next message of a queue takes. */
static int64_t sim_latency(struct sim *sim, uint32_t link, uint32_t direction)
{
    ASSERT(link < sim->link_count);
    ASSERT(direction < SIM_DIRECTIONS);
    const struct scenario *scenario = &sim->plan->scenario;
    int64_t amount_ns = scenario->latency_ns;
    int64_t jitter_ns = scenario->latency_jitter_ns;
    if (sim->world->in_force[FAULT_LATENCY] != 0) {
        sim_link_latency(sim, link, direction, &amount_ns, &jitter_ns);
    }
    uint32_t nth = sim->links[link].queue[direction].sent++;
    if (jitter_ns > 0) {
        struct choice key = {CHOICE_LATENCY, 2 * link + direction, nth, 0};
        amount_ns += (int64_t)sim_choose(sim, &key, (uint64_t)jitter_ns + 1);
    }
    return amount_ns + sim_link_stress(sim, 2 * link + direction, nth);
}

/* Append a message that arrives after `latency_ns`, but not before those sent earlier. */
static struct sim_message *sim_link_append(struct sim *sim, uint32_t link, uint32_t direction,
                                           int64_t latency_ns)
{
    ASSERT(link < sim->link_count);
    ASSERT(direction < SIM_DIRECTIONS);
    struct sim_queue *queue = &sim->links[link].queue[direction];
    uint32_t index = sim_message_take(sim);
    if (index == SIM_NONE) {
        return NULL;
    }
    struct sim_message *message = &sim->messages[index];
    memset(message, 0, sizeof *message);
    message->at_ns = sim_later(sim->world->now_ns + latency_ns, queue->last_ns);
    queue->last_ns = message->at_ns;
    bool first = queue->head == SIM_NONE;
    sim_queue_push(sim, queue, index);
    if (first) {
        sim_queue_arm(sim, queue, sim_link_slot(sim, link, direction));
    }
    return message;
}

/* Tell the client that what the node owes it will never come. */
static void sim_link_tell_broken(struct sim *sim, uint32_t link, int64_t latency_ns)
{
    ASSERT(link < sim->link_count);
    if (sim->links[link].broken_pending) {
        return;
    }
    struct sim_message *message = sim_link_append(sim, link, SIM_REPLIES, latency_ns);
    if (message != NULL) {
        message->kind = SIM_BROKEN;
        sim->links[link].broken_pending = true;
    }
}

void sim_link_send(struct sim *sim, uint32_t link, const struct lock_command *command,
                   uint32_t lock)
{
    ASSERT(link < sim->link_count);
    ASSERT(link < sim->link_count);
    switch ((enum sim_link_state)sim->links[link].state) {
    case SIM_LINK_DOWN:
        sim_link_tell_broken(sim, link, SIM_TURN_NS);
        return;
    case SIM_LINK_BROKEN:
        return;
    case SIM_LINK_UP:
        break;
    }
    int64_t latency_ns = sim_latency(sim, link, SIM_REQUESTS);
    struct sim_message *message = sim_link_append(sim, link, SIM_REQUESTS, latency_ns);
    if (message != NULL) {
        message->kind = SIM_REQUEST;
        message->sent_ns = sim->world->now_ns;
        message->lock = lock;
        message->command = *command;
    }
}

/* What a node says to a client about a command of its. */
static void sim_link_say(struct sim *sim, const struct server_ask *ask, enum sim_message_kind kind,
                         struct lock_reply reply, uint64_t event)
{
    uint32_t link = sim_link_of(sim, ask->client, ask->node);
    if (sim->links[link].state != SIM_LINK_UP || sim->links[link].breaks != ask->connection) {
        return;
    }
    bool stalled = sim_node(sim, sim->links[link].node)->stalls > 0;
    int64_t latency_ns = sim_latency(sim, link, SIM_REPLIES);
    struct sim_queue *queue = &sim->links[link].queue[SIM_REPLIES];
    int64_t last_ns = queue->last_ns;
    struct sim_message *message = sim_link_append(sim, link, SIM_REPLIES, latency_ns);
    if (message == NULL) {
        return;
    }
    message->kind = (uint8_t)kind;
    message->lock = ask->lock;
    message->event = event;
    message->reply = reply;
    message->command = ask->command;
    if (stalled) {
        sim_node_seen(sim, sim->links[link].node, FAULT_STALL);
        message->at_ns = TIME_NEVER;
        queue->last_ns = last_ns;
        sim_queue_arm(sim, queue, sim_link_slot(sim, link, SIM_REPLIES));
    }
}

void sim_link_answer(struct sim *sim, const struct server_ask *ask, struct lock_reply reply,
                     uint64_t event)
{
    sim_link_say(sim, ask, SIM_REPLY, reply, event);
}

void sim_link_push(struct sim *sim, const struct server_ask *ask, struct lock_reply reply)
{
    sim_link_say(sim, ask, SIM_PUSH, reply, SIM_NO_EVENT);
}

void sim_node_unstall(struct sim *sim, uint32_t node)
{
    ASSERT(node < sim->node_count);
    for (uint32_t client = 0; client < sim->actor_count; client++) {
        uint32_t link = sim_link_of(sim, client, node);
        struct sim_queue *queue = &sim->links[link].queue[SIM_REPLIES];
        for (uint32_t i = queue->head; i != SIM_NONE; i = sim->messages[i].next) {
            if (sim->messages[i].at_ns == TIME_NEVER) {
                int64_t at_ns = sim->world->now_ns + sim_latency(sim, link, SIM_REPLIES);
                sim->messages[i].at_ns = sim_later(at_ns, queue->last_ns);
                queue->last_ns = sim->messages[i].at_ns;
            }
        }
        sim_queue_arm(sim, queue, sim_link_slot(sim, link, SIM_REPLIES));
    }
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Connect after a while. Connections that come up at one time do so before anything is sent. */
static void sim_link_try(struct sim *sim, uint32_t link, int64_t delay_ns)
{
    ASSERT(link < sim->link_count);
    heap_set(sim->heap, sim_link_slot(sim, link, SIM_DIRECTIONS), sim->world->now_ns + delay_ns,
             SIM_TIE_CONNECTED);
}

/* The client reads at last that its last command had nowhere to go. */
static void sim_link_hurry_broken(struct sim *sim, uint32_t link)
{
    ASSERT(link < sim->link_count);
    struct sim_queue *queue = &sim->links[link].queue[SIM_REPLIES];
    if (queue->head != SIM_NONE && sim->messages[queue->head].kind == SIM_BROKEN &&
        !queue->parked) {
        sim->messages[queue->head].at_ns = sim->world->now_ns;
        heap_set(sim->heap, sim_link_slot(sim, link, SIM_REPLIES), sim->world->now_ns,
                 SIM_TIE_ARRIVED);
    }
}

/* ---- replies at their client ----------------------------------------------------------------- */

/* The client learns that the connection is dead, and begins to connect anew. */
static void sim_link_learn(struct sim *sim, uint32_t link)
{
    ASSERT(link < sim->link_count);
    struct sim_link *broken = &sim->links[link];
    broken->broken_pending = false;
    if (broken->state == SIM_LINK_BROKEN) {
        broken->state = SIM_LINK_DOWN;
        sim_link_try(sim, link, SIM_RECONNECT_NS_MIN);
    } else if (broken->ready) {
        broken->ready = false;
        broken->state = SIM_LINK_UP;
    }
}

/* A reply is at its client's socket, who may not read it yet. */
static void sim_link_replied(struct sim *sim, struct sim_message *reply)
{
    if (reply->kind == SIM_REPLY && reply->event != SIM_NO_EVENT &&
        sim->recorder->replied != NULL) {
        sim->recorder->replied(sim->recorder, reply->event, sim->world->now_ns);
    }
    reply->event = SIM_NO_EVENT;
}

void sim_link_pop_reply(struct sim *sim, uint32_t link)
{
    ASSERT(link < sim->link_count);
    struct sim_queue *queue = &sim->links[link].queue[SIM_REPLIES];
    uint32_t client = sim->links[link].client;
    uint32_t slot = sim_link_slot(sim, link, SIM_REPLIES);
    ASSERT(sim_actor(sim, client)->state != SIM_ACTOR_KILLED);
    if (sim_link_cut(sim, link, SIM_REPLIES, MODE_HOLD)) {
        queue->parked = true;
        return;
    }
    bool vanishes = sim_link_cut(sim, link, SIM_REPLIES, MODE_DROP);
    if (!vanishes) {
        sim_link_replied(sim, &sim->messages[queue->head]);
    }
    if (!vanishes && !sim_actor_takes(sim, client)) {
        queue->parked = true;
        return;
    }
    uint32_t index = sim_queue_pop(sim, queue);
    struct sim_message message = sim->messages[index];
    sim_message_give(sim, index);
    if (vanishes) {
        sim_link_dropped(sim, link, SIM_REPLIES);
        sim->links[link].broken_pending &= message.kind != SIM_BROKEN;
    } else {
        if (message.kind == SIM_BROKEN) {
            sim_link_learn(sim, link);
        }
        sim_actor_reply(sim, link, &message);
    }
    if (queue->head != SIM_NONE && sim->messages[queue->head].at_ns <= sim->world->now_ns &&
        !queue->parked) {
        /* A socket is read to its end. */
        heap_set(sim->heap, slot, sim->world->now_ns, SIM_TIE_ARRIVED);
    } else if (queue->head != SIM_NONE) {
        sim_queue_arm(sim, queue, slot);
    }
}

/* ---- breaking and connecting ----------------------------------------------------------------- */

/* The end of a connection comes behind all that it brought. */
static void sim_lane_end(struct sim *sim, struct sim_lane *lane, int64_t last_ns)
{
    uint32_t index = sim_message_take(sim);
    if (index != SIM_NONE) {
        struct sim_message *end = &sim->messages[index];
        memset(end, 0, sizeof *end);
        end->kind = SIM_HANGUP;
        end->at_ns = sim_later(sim->world->now_ns + sim->plan->scenario.latency_ns, last_ns);
        sim_queue_push(sim, &lane->queue, index);
    }
}

/* Let the first `count` requests of a dying connection go on by themselves, and its end. */
static void sim_link_survive(struct sim *sim, uint32_t link, uint32_t count, bool ends)
{
    ASSERT(link < sim->link_count);
    struct sim_queue *queue = &sim->links[link].queue[SIM_REQUESTS];
    bool lives_on = count > 0 || ends;
    for (uint32_t i = 0; i < sim->lane_count && lives_on; i++) {
        struct sim_lane *lane = &sim->lanes[i];
        if (lane->link != SIM_NONE) {
            continue;
        }
        lane->link = link;
        lane->connection = sim->links[link].breaks - 1;
        lane->queue.parked = queue->parked && count > 0;
        while (count > 0) {
            sim_queue_push(sim, &lane->queue, sim_queue_pop(sim, queue));
            count--;
        }
        if (ends) {
            sim_lane_end(sim, lane, queue->last_ns);
        }
        sim_queue_arm(sim, &lane->queue, sim->slots.lanes + i);
        lives_on = false;
    }
    if (lives_on && ends) {
        sim_lane_hang_up(sim, link, sim->links[link].breaks - 1);
    }
}

static uint32_t sim_link_survivors(struct sim *sim, uint32_t link, enum sim_break how)
{
    ASSERT(link < sim->link_count);
    uint32_t waiting = sim_queue_count(sim, &sim->links[link].queue[SIM_REQUESTS]);
    if (how == SIM_BREAK_CLIENT) {
        return waiting;
    }
    if (how == SIM_BREAK_NODE || waiting == 0) {
        return 0;
    }
    struct choice key = {CHOICE_CUT, link, sim->links[link].breaks, 0};
    return (uint32_t)sim_choose(sim, &key, (uint64_t)waiting + 1);
}

uint32_t sim_link_break(struct sim *sim, uint32_t link, enum sim_break how)
{
    ASSERT(link < sim->link_count);
    struct sim_link *broken = &sim->links[link];
    uint32_t client = sim->links[link].client;
    if (broken->ready) {
        broken->ready = false; /* the new connection dies before its first command */
        sim_link_try(sim, link, SIM_RECONNECT_NS_MIN);
    }
    if (broken->state != SIM_LINK_UP && how != SIM_BREAK_CLIENT) {
        return 0;
    }
    uint32_t survivors = sim_link_survivors(sim, link, how);
    bool ends =
        sim->kind->model->hung_up != NULL && how != SIM_BREAK_NODE && broken->state == SIM_LINK_UP;
    broken->breaks++;
    broken->down_ns = sim->world->now_ns;
    sim_link_survive(sim, link, survivors, ends);
    uint32_t lost = sim_queue_drop_all(sim, &broken->queue[SIM_REQUESTS]);
    heap_remove(sim->heap, sim_link_slot(sim, link, SIM_REQUESTS));
    bool dead = sim_actor(sim, client)->state == SIM_ACTOR_KILLED;
    if (how != SIM_BREAK_NODE || dead) {
        lost += sim_queue_drop_all(sim, &broken->queue[SIM_REPLIES]);
        heap_remove(sim->heap, sim_link_slot(sim, link, SIM_REPLIES));
        broken->broken_pending = false;
    } else {
        lost += sim_queue_drop_unsent(sim, &broken->queue[SIM_REPLIES]);
    }
    broken->state = SIM_LINK_BROKEN;
    if (dead) {
        heap_remove(sim->heap, sim_link_slot(sim, link, SIM_DIRECTIONS));
    } else {
        sim_link_tell_broken(sim, link, sim->plan->scenario.latency_ns);
    }
    return lost;
}

static bool sim_link_can_connect(const struct sim *sim, uint32_t link)
{
    ASSERT(link < sim->link_count);
    if (!sim_node(sim, sim->links[link].node)->up) {
        return false;
    }
    for (uint32_t direction = 0; direction < SIM_DIRECTIONS; direction++) {
        if ((sim_link_cut(sim, link, direction, MODE_HOLD) ||
             sim_link_cut(sim, link, direction, MODE_DROP) ||
             sim_link_cut(sim, link, direction, MODE_REFUSE))) {
            return false;
        }
    }
    return true;
}

void sim_link_pop_connect(struct sim *sim, uint32_t link)
{
    ASSERT(link < sim->link_count);
    struct sim_link *down = &sim->links[link];
    ASSERT(down->state == SIM_LINK_DOWN);
    if (!sim_link_can_connect(sim, link)) {
        down->refused = true;
        return;
    }
    down->refused = false;
    /* The client may have yet to read that its last command had nowhere to go. */
    down->ready = down->broken_pending;
    down->state = down->ready ? SIM_LINK_DOWN : SIM_LINK_UP;
    if (down->ready) {
        sim_link_hurry_broken(sim, link);
    }
}

/* A client that kept trying in vain tries again within its present delay between two attempts. */
static void sim_link_reconnect(struct sim *sim, uint32_t link)
{
    ASSERT(link < sim->link_count);
    struct sim_link *down = &sim->links[link];
    int64_t bound_ns = sim->world->now_ns - down->down_ns;
    bound_ns = bound_ns > SIM_RECONNECT_NS_MAX ? SIM_RECONNECT_NS_MAX : bound_ns;
    bound_ns = bound_ns < SIM_RECONNECT_NS_MIN ? SIM_RECONNECT_NS_MIN : bound_ns;
    struct choice key = {CHOICE_CONNECT, link, down->connects++, 0};
    int64_t delay_ns = (int64_t)sim_choose(sim, &key, (uint64_t)bound_ns);
    down->refused = false;
    sim_link_try(sim, link, delay_ns);
}

void sim_link_retry(struct sim *sim, uint32_t link)
{
    ASSERT(link < sim->link_count);
    struct sim_link *waiting = &sim->links[link];
    uint32_t client = sim->links[link].client;
    sim_queue_retry(sim, &waiting->queue[SIM_REQUESTS], sim_link_slot(sim, link, SIM_REQUESTS));
    for (uint32_t i = 0; i < sim->lane_count; i++) {
        if (sim->lanes[i].link == link) {
            sim_queue_retry(sim, &sim->lanes[i].queue, sim->slots.lanes + i);
        }
    }
    if (sim_actor(sim, client)->state == SIM_ACTOR_KILLED) {
        return;
    }
    sim_queue_retry(sim, &waiting->queue[SIM_REPLIES], sim_link_slot(sim, link, SIM_REPLIES));
    if (waiting->state == SIM_LINK_DOWN && waiting->refused) {
        sim_link_reconnect(sim, link);
    } else if (waiting->state == SIM_LINK_BROKEN) {
        /* The news of the break may have vanished on its way. */
        sim_link_tell_broken(sim, link, sim->plan->scenario.latency_ns);
    }
}

void sim_node_links_retry(struct sim *sim, uint32_t node)
{
    ASSERT(node < sim->node_count);
    for (uint32_t client = 0; client < sim->actor_count; client++) {
        sim_link_retry(sim, sim_link_of(sim, client, node));
    }
}
