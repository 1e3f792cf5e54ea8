/* replicas.c: redis-servers that follow one of them: the stream of writes, WAIT, promotion. */
#include "servers/redis/service.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

enum replica_words {
    REDIS_ASKS,    /* to whom it follows: everything, from the start */
    REDIS_BEGINS,  /* ... which forgets what it had, ... */
    REDIS_HAS,     /* ... a key of it, ... */
    REDIS_ENDS,    /* ... and number[0] is where the stream goes on */
    REDIS_WROTE,   /* a key as it is after a write */
    REDIS_HOW_FAR, /* REPLCONF GETACK */
    REDIS_SO_FAR,  /* REPLCONF ACK number[0] */
};

enum { CELL_PRESENT = 1 << 8, CELL_EXPIRES = 1 << 9, CELL_COUNTED = 1 << 10, CELL_WORDS = 0xff };

_Static_assert(LOCK_VALUE_BYTES <= 3 * sizeof(int64_t), "a value fits into a message");

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t pairs_of(const struct server_shape *shape)
{
    return (size_t)shape->node_count * shape->client_count;
}

size_t redis_replicas_bytes(const struct server_shape *shape)
{
    if (shape->replica_count == 0) {
        return 0;
    }
    return shape->node_count * sizeof(struct redis_member) +
           pairs_of(shape) * (sizeof(struct redis_written) + sizeof(struct redis_waiting)) +
           shape->resource_count * sizeof(struct redis_cell);
}

uint32_t redis_replicas_wakes(const struct server_shape *shape)
{
    return shape->replica_count > 0 ? (uint32_t)pairs_of(shape) + redis_sentinels_wakes(shape) : 0;
}

static uint32_t pair_of(const struct redis_service *service, uint32_t node, uint32_t client)
{
    ASSERT(client < service->client_count);
    return node * service->client_count + client;
}

static struct redis_written *written_of(const struct redis_service *service,
                                        const struct server_ask *ask)
{
    void *written = (char *)(uintptr_t)service->models + service->written_at;
    return (struct redis_written *)written + pair_of(service, ask->node, ask->client);
}

static struct redis_waiting *waiting_at(const struct redis_service *service, uint32_t pair)
{
    void *waiting = (char *)(uintptr_t)service->models + service->waiting_at;
    return (struct redis_waiting *)waiting + pair;
}

void redis_replicas_init(struct redis_service *service, const struct server_shape *shape)
{
    service->members_at = service->node_count * service->stride;
    service->written_at = service->members_at + service->node_count * sizeof(struct redis_member);
    service->waiting_at = service->written_at + pairs_of(shape) * sizeof(struct redis_written);
    service->kept_at = service->waiting_at + pairs_of(shape) * sizeof(struct redis_waiting);
    service->fault = HISTORY_NO_FAULT;
    memset(service->models + service->members_at, 0, redis_replicas_bytes(shape));
    redis_sentinels_init(service, shape);
    member_of(service, 0)->online = (1u << service->node_count) - 2;
    for (uint32_t node = 1; node < service->node_count; node++) {
        member_of(service, node)->linked = 1;
        redis_model_follow(redis_of(service, node), true);
    }
}

struct redis_cell *redis_told_cell(const struct redis_service *service, uint32_t resource)
{
    ASSERT(resource < service->resource_count);
    if (service->replica_count > 0 && redis_is_down(service, service->told)) {
        void *kept = (char *)(uintptr_t)service->models + service->kept_at;
        return (struct redis_cell *)kept + resource;
    }
    return (struct redis_cell *)(uintptr_t)redis_model_cell(redis_of(service, service->told),
                                                            resource);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static void tell(uint32_t from, uint32_t to, enum replica_words words, uint64_t number,
                 struct server_door *door)
{
    ASSERT(from != to);
    struct server_message message = {
        .from = from, .to = to, .kind = words, .number = {(int64_t)number}};
    door->send(door, &message);
}

/* What `from` has of a resource, to `to`. */
static struct server_message cell_of(const struct redis_service *service, uint32_t from,
                                     uint32_t to, uint32_t resource)
{
    const struct redis_cell *cell = redis_model_cell(redis_of(service, from), resource);
    struct server_message message = {.from = from, .to = to, .index = resource};
    message.kind = (cell->present ? CELL_PRESENT : 0) | (cell->expires ? CELL_EXPIRES : 0) |
                   (cell->counted ? CELL_COUNTED : 0);
    memcpy(message.number, cell->value.bytes, sizeof cell->value.bytes);
    message.number[3] = cell->expire_ms;
    message.number[4] = cell->fence;
    message.number[5] = cell->sound_ns;
    return message;
}

static struct redis_cell cell_told(const struct server_message *message)
{
    struct redis_cell cell = {
        .present = (message->kind & CELL_PRESENT) != 0,
        .expires = (message->kind & CELL_EXPIRES) != 0,
        .counted = (message->kind & CELL_COUNTED) != 0,
        .expire_ms = message->number[3],
        .fence = message->number[4],
        .sound_ns = message->number[5],
    };
    memcpy(cell.value.bytes, message->number, sizeof cell.value.bytes);
    return cell;
}

/* One more write in the stream of a node. */
static void feed(const struct redis_service *service, uint32_t node, uint32_t resource,
                 struct server_door *door)
{
    struct redis_member *member = member_of(service, node);
    member->offset++;
    for (uint32_t i = 0; i < service->node_count; i++) {
        if ((member->online >> i & 1) != 0) {
            struct server_message message = cell_of(service, node, i, resource);
            message.kind |= REDIS_WROTE;
            door->send(door, &message);
        }
    }
}

void redis_replicate(struct redis_service *service, uint32_t node, uint32_t resource,
                     struct server_door *door)
{
    if (is_primary(service, node)) { /* else whom it follows will say so, too */
        feed(service, node, resource, door);
    }
}

static void begin_stream(const struct redis_service *service, uint32_t node, uint32_t replica,
                         struct server_door *door)
{
    struct redis_member *member = member_of(service, node);
    member->online |= 1u << replica;
    member->acked[replica] = 0;
    tell(node, replica, REDIS_BEGINS, 0, door);
    for (uint32_t i = 0; i < service->resource_count; i++) {
        struct server_message message = cell_of(service, node, replica, i);
        message.kind |= REDIS_HAS;
        door->send(door, &message);
    }
    tell(node, replica, REDIS_ENDS, member->offset, door);
}

/* Behind each command, also one that wrote nothing: where its client's next WAIT counts from. */
static void note_written(const struct redis_service *service, const struct server_ask *ask)
{
    if (ask->connection != SERVER_CONNECTION_GONE) {
        *written_of(service, ask) =
            (struct redis_written){member_of(service, ask->node)->offset, ask->connection};
    }
}

void redis_replicas_asked(struct redis_service *service, const struct server_ask *ask, bool wrote,
                          struct server_door *door)
{
    if (wrote) {
        redis_replicate(service, ask->node, ask->resource, door);
    }
    note_written(service, ask);
}

/* ---- WAIT ------------------------------------------------------------------------------------ */

static uint32_t replicas_with(const struct redis_member *member, uint64_t offset)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < LOCK_NODES_MAX; i++) {
        count += (member->online >> i & 1) != 0 && member->acked[i] >= offset ? 1 : 0;
    }
    return count;
}

static uint32_t waiting_wake(const struct redis_service *service, uint32_t pair)
{
    return service->node_count * service->resource_count + pair;
}

static void waiting_arm(const struct redis_service *service, uint32_t pair,
                        struct server_door *door)
{
    const struct redis_waiting *waiting = waiting_at(service, pair);
    int64_t true_ns = TIME_NEVER;
    if (waiting->count > 0) {
        true_ns = clock_true(&door->nodes[pair / service->client_count].wall, waiting->until_ns);
        true_ns = true_ns < door->true_ns ? door->true_ns : true_ns;
    }
    door->arm(door, waiting_wake(service, pair), true_ns);
}

/* Answer the WAIT; what came behind it is carried out, up to another one. */
static void waiting_end(struct redis_service *service, uint32_t pair, struct lock_reply reply,
                        struct server_door *door)
{
    struct redis_waiting was = *waiting_at(service, pair);
    ASSERT(was.count > 0);
    waiting_at(service, pair)->count = 0;
    waiting_arm(service, pair, door);
    door->answer(door, &was.asks[0], reply, SERVER_NO_EVENT);
    for (uint32_t i = 1; i < was.count; i++) {
        if (!redis_replicas_ask(service, &was.asks[i], door)) {
            redis_service_carry_out(service, &was.asks[i], door);
        }
    }
}

/* The question stands in the stream itself, and its answer is about what stands before it. */
static void ask_how_far(const struct redis_service *service, uint32_t node,
                        struct server_door *door)
{
    struct redis_member *member = member_of(service, node);
    member->offset++;
    for (uint32_t i = 0; i < service->node_count; i++) {
        if ((member->online >> i & 1) != 0) {
            tell(node, i, REDIS_HOW_FAR, 0, door);
        }
    }
}

static void wait_asked(struct redis_service *service, const struct server_ask *ask,
                       struct server_door *door)
{
    struct redis_member *member = member_of(service, ask->node);
    struct redis_waiting *waiting = waiting_at(service, pair_of(service, ask->node, ask->client));
    const struct redis_written *written = written_of(service, ask);
    uint64_t offset = written->connection == ask->connection ? written->offset : 0;
    uint32_t count = replicas_with(member, offset);
    note_written(service, ask);
    if (!is_primary(service, ask->node) || count >= (uint64_t)ask->command.number) {
        bool may = is_primary(service, ask->node); /* "cannot be used with replica instances" */
        struct lock_reply reply = {.type = may ? LOCK_REPLY_NUMBER : LOCK_REPLY_ERROR,
                                   .number = may ? count : 0};
        door->answer(door, ask, reply, SERVER_NO_EVENT);
        return;
    }
    waiting->count = 1;
    waiting->offset = offset;
    waiting->until_ns = redis_wall_of(door, ask->node) + ask->command.ttl_ms * NS_PER_MS;
    waiting->asks[0] = *ask;
    waiting_arm(service, pair_of(service, ask->node, ask->client), door);
    ask_how_far(service, ask->node, door);
}

bool redis_replicas_ask(struct redis_service *service, const struct server_ask *ask,
                        struct server_door *door)
{
    struct redis_waiting *waiting = waiting_at(service, pair_of(service, ask->node, ask->client));
    if (waiting->count > 0 && waiting->asks[0].connection != ask->connection) {
        waiting->count = 0; /* its connection is gone, and what came by it */
        waiting_arm(service, pair_of(service, ask->node, ask->client), door);
    }
    if (waiting->count > 0) {
        if (waiting->count < REDIS_WAITING_MAX) {
            waiting->asks[waiting->count++] = *ask;
        }
        return true;
    }
    if (ask->command.kind == REDIS_WAIT) {
        wait_asked(service, ask, door);
        return true;
    }
    return false;
}

void redis_replicas_wake(struct redis_service *service, uint32_t wake, struct server_door *door)
{
    uint32_t pair = wake - service->node_count * service->resource_count;
    uint32_t pairs = service->node_count * service->client_count;
    if (pair >= pairs) {
        redis_sentinels_wake(service, pair - pairs, door);
        return;
    }
    const struct redis_waiting *waiting = waiting_at(service, pair);
    const struct redis_member *member = member_of(service, pair / service->client_count);
    ASSERT(waiting->count > 0);
    struct lock_reply reply = {.type = LOCK_REPLY_NUMBER,
                               .number = replicas_with(member, waiting->offset)};
    waiting_end(service, pair, reply, door);
}

void redis_replicas_bent(struct redis_service *service, uint32_t node, struct server_door *door)
{
    for (uint32_t client = 0; client < service->client_count; client++) {
        waiting_arm(service, pair_of(service, node, client), door);
    }
}

static void acked(struct redis_service *service, const struct server_message *message,
                  struct server_door *door)
{
    struct redis_member *member = member_of(service, message->to);
    member->acked[message->from] = (uint64_t)message->number[0];
    for (uint32_t client = 0; client < service->client_count; client++) {
        uint32_t pair = pair_of(service, message->to, client);
        const struct redis_waiting *waiting = waiting_at(service, pair);
        uint32_t count = replicas_with(member, waiting->offset);
        if (waiting->count > 0 && count >= (uint64_t)waiting->asks[0].command.number) {
            struct lock_reply reply = {.type = LOCK_REPLY_NUMBER, .number = count};
            waiting_end(service, pair, reply, door);
        }
    }
}

/* ---- what nodes hear ------------------------------------------------------------------------- */

/* "Force our replicas to resync with us as well": those that follow this one ask anew. */
static void begin_streams(const struct redis_service *service, uint32_t node,
                          struct server_door *door)
{
    for (uint32_t i = 0; i < service->node_count; i++) {
        if (i != node && member_of(service, i)->master == node) {
            member_of(service, node)->online &= ~(1u << i);
            tell(i, node, REDIS_ASKS, 0, door);
        }
    }
}

/* From whom it follows; its own replicas hear of it through it. */
static void heard_stream(struct redis_service *service, const struct server_message *message,
                         struct server_door *door)
{
    struct redis_member *member = member_of(service, message->to);
    struct redis_model *model = redis_of(service, message->to);
    uint32_t words = message->kind & CELL_WORDS;
    struct redis_cell cell = cell_told(message);
    if (words == REDIS_BEGINS) {
        for (uint32_t i = 0; i < service->resource_count; i++) {
            redis_model_put(model, i, &(struct redis_cell){0}, door->true_ns);
        }
    } else if (words == REDIS_HAS || words == REDIS_WROTE) {
        redis_model_put(model, message->index, &cell, door->true_ns);
        if (words == REDIS_WROTE) {
            feed(service, message->to, message->index, door);
        }
    } else {
        if (words == REDIS_ENDS) {
            member->offset = (uint64_t)message->number[0];
            member->linked = 1;
            begin_streams(service, message->to, door);
        }
        tell(message->to, message->from, REDIS_SO_FAR, member->offset, door);
        if (words == REDIS_HOW_FAR) {
            ask_how_far(service, message->to, door);
        }
    }
}

void redis_replicas_hear(void *state, const struct server_message *message,
                         struct server_door *door)
{
    struct redis_service *service = state;
    uint32_t words = message->kind & CELL_WORDS;
    bool follows = member_of(service, message->from)->master == message->to;
    bool serves = is_primary(service, message->to) || member_of(service, message->to)->linked != 0;
    if (words == REDIS_ASKS && follows) {
        if (!serves) { /* "-NOMASTERLINK": it begins when it is in step itself */
            return;
        }
        begin_stream(service, message->to, message->from, door);
    } else if (words == REDIS_SO_FAR && follows) {
        acked(service, message, door);
    } else if (member_of(service, message->to)->master == message->from) {
        heard_stream(service, message, door);
    }
}

void redis_replicas_link(void *state, uint32_t a, uint32_t b, bool up, struct server_door *door)
{
    struct redis_service *service = state;
    for (int turn = 0; turn < 2; turn++) {
        uint32_t replica = turn == 0 ? a : b;
        uint32_t master = turn == 0 ? b : a;
        if (member_of(service, replica)->master != master) {
            continue;
        }
        if (up) {
            tell(replica, master, REDIS_ASKS, 0, door);
        } else {
            member_of(service, master)->online &= ~(1u << replica);
            member_unlink(member_of(service, replica), door->true_ns);
        }
    }
}

/* ---- who follows whom ------------------------------------------------------------------------ */

/* Nothing waits any more; whoever did is told why, NULL: they hear that the node is gone. */
static void waiting_forget(struct redis_service *service, uint32_t node,
                           const struct lock_reply *refusal, struct server_door *door)
{
    for (uint32_t client = 0; client < service->client_count; client++) {
        uint32_t pair = pair_of(service, node, client);
        struct redis_waiting *waiting = waiting_at(service, pair);
        if (waiting->count > 0 && refusal != NULL) {
            door->answer(door, &waiting->asks[0], *refusal, SERVER_NO_EVENT);
        }
        waiting->count = 0;
        waiting_arm(service, pair, door);
    }
}

void redis_follow(struct redis_service *service, uint32_t node, struct server_door *door)
{
    struct redis_member *member = member_of(service, node);
    member_of(service, member->master)->online &= ~(1u << node);
    member->online = 0;
    member_unlink(member, door->true_ns);
    member->master = service->told;
    redis_model_follow(redis_of(service, node), true);
    /* "UNBLOCKED force unblock from blocking operation, instance state changed (master ->
     * replica?)", and the connection is closed behind it. */
    waiting_forget(service, node, &(struct lock_reply){.type = LOCK_REPLY_ERROR}, door);
    tell(node, service->told, REDIS_ASKS, 0, door);
}

void redis_replicas_reach(void *state, struct server_door *door)
{
    struct redis_service *service = state;
    if (redis_is_watched(service)) {
        redis_sentinels_look(service, door);
        return;
    }
    for (uint32_t i = 0; service->replica_count > 0 && i < service->node_count; i++) {
        bool told = member_of(service, i)->master == service->told;
        if (!told && door->reaches(door, i, service->told) &&
            door->reaches(door, service->told, i)) {
            redis_follow(service, i, door);
        }
    }
}

void redis_replicas_stop(struct redis_service *service, uint32_t node, struct server_door *door)
{
    if (service->told == node) {
        for (uint32_t i = 0; i < service->resource_count; i++) {
            struct redis_cell cell = *redis_told_cell(service, i);
            void *kept = service->models + service->kept_at;
            ((struct redis_cell *)kept)[i] = cell;
        }
    }
    waiting_forget(service, node, NULL, door);
    member_of(service, node)->online = 0;
    member_of(service, node)->linked = 0;
    member_of(service, node)->unlinked_ns = -1;
    member_of(service, node)->offset = 0;
    service->down |= UINT64_C(1) << node;
}

void redis_replicas_start(struct redis_service *service, uint32_t node)
{
    service->down &= ~(UINT64_C(1) << node);
    struct redis_member *member = member_of(service, node);
    if (!redis_is_watched(service)) { /* it is started as what it is to be now, else as it was */
        member->master = service->told;
    }
    redis_model_follow(redis_of(service, node), member->master != node);
}

void redis_replicas_promote(struct redis_service *service, const struct server_turn *turn,
                            struct server_door *door)
{
    struct redis_member *member = member_of(service, turn->node);
    if (!is_primary(service, turn->node)) { /* else it is what it is told to be */
        member_of(service, member->master)->online &= ~(1u << turn->node);
        member->master = turn->node;
        member->online = 0;
        redis_model_follow(redis_of(service, turn->node), false);
        begin_streams(service, turn->node, door);
    }
    service->told = turn->node;
    service->fault = turn->fault;
    redis_replicas_reach(service, door);
}
