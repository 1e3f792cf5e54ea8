/* toy.c: toy servers: who has what, until when. The first knows; a second one asks it, and passes
 * on what it is told. They forget nothing. */
#include "lockcore/toy/toy.h"
#include "servers/server.h"
#include "servers/toy/real/real.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

struct toy_key {
    bool taken;
    struct lock_value value;
};

/* What a client asked last, and whether it was refused and is to be told when it may ask again. */
struct toy_asked {
    bool done;
    bool waits;
    struct server_ask ask;
};

enum toy_words { TOY_QUESTION, TOY_ANSWER, TOY_FREE }; /* of one server to the other */

struct toy {
    uint32_t resource_count;
    uint32_t client_count;
    struct toy_key keys[]; /* then what was asked: resource * client_count + client */
};

static size_t toy_bytes(const struct server_shape *shape)
{
    return sizeof(struct toy) + shape->resource_count * sizeof(struct toy_key) +
           (size_t)shape->resource_count * shape->client_count * sizeof(struct toy_asked);
}

static struct toy_asked *asked_at(struct toy *toy, uint32_t index)
{
    struct toy_asked *asked = (void *)&toy->keys[toy->resource_count];
    return &asked[index];
}

static uint32_t toy_wakes(const struct server_shape *shape)
{
    return shape->resource_count;
}

static void toy_init(void *state, const struct server_shape *shape)
{
    struct toy *toy = state;
    memset(toy, 0, toy_bytes(shape));
    toy->resource_count = shape->resource_count;
    toy->client_count = shape->client_count;
}

static uint64_t tell(const struct server_ask *ask, const struct toy_key *key, enum history_f f,
                     struct server_door *door)
{
    struct history_event event = server_key_event(f, 0, ask->resource);
    event.process = (int32_t)ask->client;
    event.sent_ns = ask->sent_ns;
    memcpy(event.value.bytes, ask->command.value.bytes, sizeof event.value.bytes);
    event.flags |= HISTORY_HAS_SENT | HISTORY_HAS_VALUE;
    if (key->taken) {
        memcpy(event.owner.bytes, key->value.bytes, sizeof event.owner.bytes);
        event.flags |= HISTORY_HAS_OWNER;
    }
    event.cause = f == HISTORY_KEY_DELETED ? CAUSE_RELEASED : CAUSE_NONE;
    if (f == HISTORY_KEY_SET) {
        event.until_ns = door->true_ns + ask->command.ttl_ms * NS_PER_MS;
        event.flags |= HISTORY_HAS_UNTIL;
    }
    return door->record(door, &event);
}

/* To whoever asked: at once, or by the server that it asked. */
static void say(struct toy *toy, uint32_t index, enum toy_words words, uint64_t event,
                struct server_door *door)
{
    const struct server_ask *ask = &asked_at(toy, index)->ask;
    bool yes = asked_at(toy, index)->done;
    struct lock_reply reply = {.type = yes ? LOCK_REPLY_YES : LOCK_REPLY_NO};
    if (ask->node != 0) {
        struct server_message message = {
            .to = ask->node, .kind = words, .index = index, .number = {yes, (int64_t)event}};
        door->send(door, &message);
    } else if (words == TOY_FREE) {
        door->push(door, ask, reply);
    } else {
        door->answer(door, ask, reply, event);
    }
}

static void set_free(struct toy *toy, uint32_t resource, struct server_door *door)
{
    toy->keys[resource].taken = false;
    door->arm(door, resource, TIME_NEVER);
    for (uint32_t client = 0; client < toy->client_count; client++) {
        uint32_t index = resource * toy->client_count + client;
        if (asked_at(toy, index)->waits) {
            asked_at(toy, index)->waits = false;
            say(toy, index, TOY_FREE, SERVER_NO_EVENT, door);
        }
    }
}

static void carry_out(struct toy *toy, uint32_t index, struct server_door *door)
{
    struct toy_asked *asked = asked_at(toy, index);
    const struct server_ask *ask = &asked->ask;
    struct toy_key *key = &toy->keys[ask->resource];
    bool ours = key->taken && memcmp(&key->value, &ask->command.value, sizeof key->value) == 0;
    bool takes = ask->command.kind == TOY_TAKE;
    bool done = takes ? !key->taken : ours;
    enum history_f did = takes ? (done ? HISTORY_KEY_SET : HISTORY_KEY_REFUSED)
                               : (done ? HISTORY_KEY_DELETED : HISTORY_KEY_KEPT);
    uint64_t event = tell(ask, key, did, door);
    asked->done = done;
    asked->waits = takes && !done;
    if (done && takes) {
        key->taken = true;
        key->value = ask->command.value;
        door->arm(door, ask->resource, door->true_ns + ask->command.ttl_ms * NS_PER_MS);
    } else if (done) {
        set_free(toy, ask->resource, door);
    }
    say(toy, index, TOY_ANSWER, event, door);
}

static void toy_ask(void *state, const struct server_ask *ask, struct server_door *door)
{
    struct toy *toy = state;
    uint32_t index = ask->resource * toy->client_count + ask->client;
    asked_at(toy, index)->ask = *ask;
    if (ask->node == 0) {
        carry_out(toy, index, door);
    } else {
        struct server_message message = {.from = ask->node, .kind = TOY_QUESTION, .index = index};
        door->send(door, &message);
    }
}

static void toy_hear(void *state, const struct server_message *message, struct server_door *door)
{
    struct toy *toy = state;
    const struct server_ask *ask = &asked_at(toy, message->index)->ask;
    struct lock_reply reply = {.type = message->number[0] != 0 ? LOCK_REPLY_YES : LOCK_REPLY_NO};
    if (message->kind == TOY_QUESTION) {
        carry_out(toy, message->index, door);
    } else if (message->kind == TOY_FREE) {
        door->push(door, ask, reply);
    } else {
        door->answer(door, ask, reply, (uint64_t)message->number[1]);
    }
}

static void toy_wake(void *state, uint32_t wake, struct server_door *door)
{
    struct toy *toy = state;
    ASSERT(toy->keys[wake].taken);
    struct history_event event = server_key_event(HISTORY_KEY_EXPIRED, 0, wake);
    memcpy(event.owner.bytes, toy->keys[wake].value.bytes, sizeof event.owner.bytes);
    event.flags |= HISTORY_HAS_OWNER;
    event.cause = CAUSE_TTL;
    (void)door->record(door, &event);
    set_free(toy, wake, door);
}

static void toy_bent(void *state, uint32_t node, struct server_door *door)
{
    (void)state;
    (void)node;
    (void)door;
}

static uint32_t toy_stop(void *state, const struct server_turn *turn, enum server_stop how,
                         uint32_t kept, struct server_door *door)
{
    (void)state;
    (void)turn;
    (void)how;
    (void)kept;
    (void)door;
    return 0;
}

static void toy_start(void *state, const struct server_turn *turn, struct server_door *door)
{
    (void)state;
    (void)turn;
    (void)door;
}

static const struct server_model model = {
    .bytes = toy_bytes,
    .wakes = toy_wakes,
    .init = toy_init,
    .ask = toy_ask,
    .wake = toy_wake,
    .bent = toy_bent,
    .stop = toy_stop,
    .start = toy_start,
    .hear = toy_hear,
};

const struct server_kind server_kind_toy = {
    .name = "toy",
    .dialect = &toy_dialect,
    .model = &model,
    .one_store = true,
    .launch = &toy_launch,
    .wire = &toy_wire,
    .connection = &toy_connection,
};
