/* toy.c: one toy server: who has what, until when. It forgets nothing and refuses nothing. */
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

struct toy {
    uint32_t resource_count;
    struct toy_key keys[];
};

static size_t toy_bytes(const struct server_shape *shape)
{
    return sizeof(struct toy) + shape->resource_count * sizeof(struct toy_key);
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
}

static uint64_t tell(const struct server_ask *ask, const struct toy_key *key, enum history_f f,
                     struct server_door *door)
{
    struct history_event event = server_key_event(f, ask->node, ask->resource);
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

static void toy_ask(void *state, const struct server_ask *ask, struct server_door *door)
{
    struct toy *toy = state;
    struct toy_key *key = &toy->keys[ask->resource];
    bool ours = key->taken && memcmp(&key->value, &ask->command.value, sizeof key->value) == 0;
    bool takes = ask->command.kind == TOY_TAKE;
    bool done = takes ? !key->taken : ours;
    enum history_f did = takes ? (done ? HISTORY_KEY_SET : HISTORY_KEY_REFUSED)
                               : (done ? HISTORY_KEY_DELETED : HISTORY_KEY_KEPT);
    uint64_t event = tell(ask, key, did, door);
    if (done) {
        key->taken = takes;
        key->value = ask->command.value;
        door->arm(door, ask->resource,
                  takes ? door->true_ns + ask->command.ttl_ms * NS_PER_MS : TIME_NEVER);
    }
    struct lock_reply reply = {.type = done ? LOCK_REPLY_YES : LOCK_REPLY_NO};
    door->answer(door, ask, reply, event);
}

static void toy_wake(void *state, uint32_t wake, struct server_door *door)
{
    struct toy *toy = state;
    ASSERT(toy->keys[wake].taken);
    toy->keys[wake].taken = false;
    struct history_event event = server_key_event(HISTORY_KEY_EXPIRED, 0, wake);
    memcpy(event.owner.bytes, toy->keys[wake].value.bytes, sizeof event.owner.bytes);
    event.flags |= HISTORY_HAS_OWNER;
    event.cause = CAUSE_TTL;
    (void)door->record(door, &event);
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
};

const struct server_kind server_kind_toy = {
    .name = "toy",
    .dialect = &toy_dialect,
    .model = &model,
    .launch = &toy_launch,
    .wire = &toy_wire,
    .connection = &toy_connection,
};
