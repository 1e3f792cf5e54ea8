/* ensemble.c: what a ZooKeeper ensemble does with commands, and what its members tell each other.
 */
#include "servers/zookeeper/ensemble.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

/* All clients of a lock, the first of them. */
struct ensemble_client *ensemble_clients_of(struct ensemble *ensemble, uint32_t resource)
{
    return &ensemble->clients[resource * ensemble->client_count];
}

struct ensemble_client *ensemble_client_of(struct ensemble *ensemble, const struct server_ask *ask)
{
    return ensemble_clients_of(ensemble, ask->resource) + ask->client;
}

uint32_t ensemble_session_count(const struct ensemble *ensemble)
{
    return ensemble->resource_count * ensemble->client_count * ENSEMBLE_SESSIONS;
}

struct ensemble_session *ensemble_session_at(struct ensemble *ensemble, uint32_t number)
{
    ASSERT(number < ensemble_session_count(ensemble));
    return &ensemble->clients[number / ENSEMBLE_SESSIONS].sessions[number % ENSEMBLE_SESSIONS];
}

/* Wakes: the sessions', then the members', then the election's. */
static uint32_t ensemble_wakes(const struct server_shape *shape)
{
    return shape->resource_count * shape->client_count * ENSEMBLE_SESSIONS + shape->node_count + 1;
}

static size_t ensemble_bytes(const struct server_shape *shape)
{
    return sizeof(struct ensemble) +
           (size_t)shape->resource_count * shape->client_count * sizeof(struct ensemble_client);
}

static void ensemble_init(void *state, const struct server_shape *shape)
{
    struct ensemble *ensemble = state;
    memset(ensemble, 0, ensemble_bytes(shape));
    ensemble->dialect = shape->dialect;
    ensemble->tick_ns = shape->ttl_ns / ENSEMBLE_SESSION_TICKS;
    ensemble->tick_ns += ensemble->tick_ns == 0;
    ensemble->node_count = shape->node_count;
    ensemble->client_count = shape->client_count;
    ensemble->resource_count = shape->resource_count;
    members_init(ensemble);
}

int64_t ensemble_clock_of(const struct server_door *door, uint32_t node)
{
    return clock_local(&door->nodes[node].mono, door->true_ns);
}

/* ---- writes ---------------------------------------------------------------------------------- */

/* At the leader. "SessionMovedException": a connection that its session has left writes nothing. */
static struct lock_reply carry_out(struct ensemble *ensemble, const struct server_ask *ask,
                                   uint64_t *event, struct server_door *door)
{
    *event = SERVER_NO_EVENT;
    if (ask->command.kind == ZOOKEEPER_OPEN) {
        return session_begin(ensemble, ask, door);
    }
    if (ask->command.kind == ZOOKEEPER_ATTACH) {
        return session_attach(ensemble, ask, door);
    }
    struct ensemble_session *session = session_of(ensemble, ask);
    if (session == NULL) {
        return (struct lock_reply){.type = LOCK_REPLY_ERROR};
    }
    session_touch(ensemble, session, door);
    return ask->command.kind == ZOOKEEPER_DELETE ? znode_delete(ensemble, ask, event, door)
                                                 : znode_create(ensemble, ask, session);
}

static struct server_message message_of(const struct ensemble *ensemble, uint32_t from, uint32_t to,
                                        enum ensemble_words words, uint32_t index)
{
    uint32_t follower = from == ensemble->leader ? to : from;
    return (struct server_message){.from = from,
                                   .to = to,
                                   .kind = words,
                                   .index = index,
                                   .number = {ensemble->members[follower].term}};
}

/* A follower passes it on. The place of the oldest is taken: nobody waits for it any more. */
static void pass_on(struct ensemble *ensemble, const struct server_ask *ask,
                    struct server_door *door)
{
    struct ensemble_client *client = ensemble_client_of(ensemble, ask);
    uint32_t row = (uint32_t)(client - ensemble->clients);
    uint32_t serial = ++client->serials;
    client->requests[serial % ENSEMBLE_REQUESTS] =
        (struct ensemble_request){.serial = serial, .ask = *ask};
    struct server_message message =
        message_of(ensemble, ask->node, ensemble->leader, WORDS_REQUEST, row);
    message.number[1] = serial;
    door->send(door, &message);
}

static void write_at(struct ensemble *ensemble, const struct server_ask *ask,
                     struct server_door *door)
{
    if (ensemble->leader == ENSEMBLE_NOBODY) {
        return; /* who asked waits, until the member is given up */
    }
    if (ask->node != ensemble->leader) {
        pass_on(ensemble, ask, door);
        return;
    }
    if (!members_commit(ensemble)) {
        return;
    }
    uint64_t event = SERVER_NO_EVENT;
    int64_t before = ensemble->zxid;
    struct lock_reply reply = carry_out(ensemble, ask, &event, door);
    if (ensemble->zxid != before) {
        members_committed(ensemble, ENSEMBLE_NOBODY, door); /* who watches is told first */
    }
    door->answer(door, ask, reply, event);
}

static struct ensemble_request *request_of(struct ensemble *ensemble, uint32_t row, uint32_t serial)
{
    struct ensemble_request *request = &ensemble->clients[row].requests[serial % ENSEMBLE_REQUESTS];
    return request->serial == serial ? request : NULL;
}

static void hear_request(struct ensemble *ensemble, const struct server_message *message,
                         struct server_door *door)
{
    uint32_t serial = (uint32_t)message->number[1];
    struct ensemble_request *request = request_of(ensemble, message->index, serial);
    if (request == NULL || !members_commit(ensemble)) {
        return;
    }
    int64_t before = ensemble->zxid;
    request->reply = carry_out(ensemble, &request->ask, &request->event, door);
    if (ensemble->zxid != before) {
        members_committed(ensemble, message->from, door);
    }
    struct server_message told =
        message_of(ensemble, message->to, message->from, WORDS_ANSWER, message->index);
    told.number[1] = ensemble->zxid;
    told.number[2] = serial;
    door->send(door, &told);
}

/* ---- reads ----------------------------------------------------------------------------------- */

/* Whatever a session asks touches it, at the leader as soon as that hears of it. */
static void touch(struct ensemble *ensemble, struct ensemble_session *session,
                  const struct server_ask *ask, struct server_door *door)
{
    if (ask->node == ensemble->leader) {
        session_touch(ensemble, session, door);
    } else if (ensemble->leader != ENSEMBLE_NOBODY) {
        uint32_t row = (uint32_t)(ensemble_client_of(ensemble, ask) - ensemble->clients);
        uint32_t number =
            row * ENSEMBLE_SESSIONS + (uint32_t)(session - ensemble->clients[row].sessions);
        struct server_message message =
            message_of(ensemble, ask->node, ensemble->leader, WORDS_TOUCH, number);
        message.number[1] = session->serial;
        door->send(door, &message);
    }
}

static void read_at(struct ensemble *ensemble, const struct server_ask *ask,
                    struct server_door *door)
{
    struct ensemble_session *session = session_of(ensemble, ask);
    if (session == NULL) {
        door->answer(door, ask, (struct lock_reply){.type = LOCK_REPLY_ERROR}, SERVER_NO_EVENT);
        return;
    }
    touch(ensemble, session, ask, door);
    if (ask->command.kind == ZOOKEEPER_PING) {
        door->answer(door, ask, (struct lock_reply){.type = LOCK_REPLY_YES}, SERVER_NO_EVENT);
    } else if (ask->command.kind == ZOOKEEPER_EXISTS) {
        znode_exists(ensemble, ask, door);
    } else {
        znode_children(ensemble, ask, session, door);
    }
}

/* ---- the model ------------------------------------------------------------------------------- */

static void ensemble_ask(void *state, const struct server_ask *ask, struct server_door *door)
{
    struct ensemble *ensemble = state;
    if (ensemble->members[ask->node].state == MEMBER_LOOKS) {
        door->answer(door, ask, (struct lock_reply){.type = LOCK_REPLY_ERROR}, SERVER_NO_EVENT);
        return;
    }
    switch ((enum zookeeper_command)ask->command.kind) {
    case ZOOKEEPER_OPEN:
    case ZOOKEEPER_ATTACH:
    case ZOOKEEPER_CREATE:
    case ZOOKEEPER_CREATE_FOUND:
    case ZOOKEEPER_DELETE:
        write_at(ensemble, ask, door);
        return;
    case ZOOKEEPER_PING:
    case ZOOKEEPER_CHILDREN:
    case ZOOKEEPER_CHILDREN_WATCH:
    case ZOOKEEPER_EXISTS:
        read_at(ensemble, ask, door);
        return;
    case ZOOKEEPER_COMMANDS:
        break;
    }
    UNREACHABLE();
}

static void hear_touch(struct ensemble *ensemble, const struct server_message *message,
                       struct server_door *door)
{
    struct ensemble_session *session = ensemble_session_at(ensemble, message->index);
    if (session->open && session->serial == message->number[1]) {
        session_touch(ensemble, session, door);
    }
}

static void hear_answer(struct ensemble *ensemble, const struct server_message *message,
                        struct server_door *door)
{
    struct ensemble_request *request =
        request_of(ensemble, message->index, (uint32_t)message->number[2]);
    members_applied(ensemble, message->to, message->number[1], door);
    if (request != NULL) {
        door->answer(door, &request->ask, request->reply, request->event);
        request->serial = 0;
    }
}

static void ensemble_hear(void *state, const struct server_message *message,
                          struct server_door *door)
{
    struct ensemble *ensemble = state;
    bool led = message->kind == WORDS_COMMIT || message->kind == WORDS_ANSWER;
    uint32_t follower = led ? message->to : message->from;
    uint32_t leader = led ? message->from : message->to;
    const struct ensemble_member *member = &ensemble->members[follower];
    if (leader != ensemble->leader || member->state == MEMBER_LOOKS ||
        member->term != message->number[0]) {
        return; /* of a connection that is closed */
    }
    switch ((enum ensemble_words)message->kind) {
    case WORDS_REQUEST:
        hear_request(ensemble, message, door);
        return;
    case WORDS_TOUCH:
        hear_touch(ensemble, message, door);
        return;
    case WORDS_COMMIT:
        members_applied(ensemble, message->to, message->number[1], door);
        return;
    case WORDS_ANSWER:
        hear_answer(ensemble, message, door);
        return;
    }
    UNREACHABLE();
}

static void ensemble_wake(void *state, uint32_t wake, struct server_door *door)
{
    struct ensemble *ensemble = state;
    uint32_t sessions = ensemble_session_count(ensemble);
    if (wake < sessions) {
        session_wake(ensemble, wake, door);
    } else if (wake < sessions + ensemble->node_count) {
        members_wake(ensemble, wake - sessions, door);
    } else {
        members_elect(ensemble, door);
    }
}

static void ensemble_bent(void *state, uint32_t node, struct server_door *door)
{
    struct ensemble *ensemble = state;
    if (node == ensemble->leader) {
        sessions_rearm(ensemble, door);
    }
}

/* What was answered stands in the logs of a majority. */
static uint32_t ensemble_unsynced(void *state, uint32_t node, struct server_door *door)
{
    (void)state;
    (void)node;
    (void)door;
    return 0;
}

const struct server_model ensemble_model = {
    .bytes = ensemble_bytes,
    .wakes = ensemble_wakes,
    .init = ensemble_init,
    .ask = ensemble_ask,
    .wake = ensemble_wake,
    .bent = ensemble_bent,
    .froze = ensemble_froze,
    .hear = ensemble_hear,
    .link = ensemble_link,
    .reach = ensemble_reach,
    .unsynced = ensemble_unsynced,
    .stop = ensemble_stop,
    .start = ensemble_start,
};
