/* service.c: redis-servers as a service: each node a store of its own; what happens to each key is
 * told. */
#include "servers/redis/service.h"
#include "servers/redis/redis.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

_Static_assert((int)LOCK_COMMAND_NAME_BYTES == (int)HISTORY_COMMAND_BYTES,
               "a name fits into an event");

static struct redis_model *model_of(struct redis_service *service, uint32_t node)
{
    ASSERT(node < service->node_count);
    return redis_of(service, node);
}

static size_t model_stride(const struct server_shape *shape)
{
    struct redis_shape one = {shape->resource_count, shape->disk_writes_max,
                              shape->replica_writes_max};
    return (redis_model_bytes(&one) + 15) & ~(size_t)15;
}

static size_t service_bytes(const struct server_shape *shape)
{
    return sizeof(struct redis_service) + shape->node_count * model_stride(shape) +
           redis_replicas_bytes(shape);
}

static uint32_t service_wakes(const struct server_shape *shape)
{
    return shape->node_count * shape->resource_count + redis_replicas_wakes(shape);
}

static void service_init(void *state, const struct server_shape *shape)
{
    struct redis_service *service = state;
    struct redis_shape one = {shape->resource_count, shape->disk_writes_max,
                              shape->replica_writes_max};
    memset(service, 0, sizeof *service);
    service->dialect = shape->dialect;
    service->ttl_ns = shape->ttl_ns;
    service->node_count = shape->node_count;
    service->client_count = shape->client_count;
    service->resource_count = shape->resource_count;
    service->replica_count = shape->replica_count;
    service->stride = model_stride(shape);
    for (uint32_t node = 0; node < shape->node_count; node++) {
        redis_model_init(model_of(service, node), &one, (enum fsync_setting)shape->fsync);
    }
    if (service->replica_count > 0) {
        redis_replicas_init(service, shape);
    }
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint32_t key_wake(const struct redis_service *service, uint32_t node, uint32_t resource)
{
    return node * service->resource_count + resource;
}

/* What is told of a node. */
static const struct redis_cell *cell_of(struct redis_service *service, uint32_t node,
                                        uint32_t resource)
{
    return service->replica_count > 0 && service->told == node
               ? redis_told_cell(service, resource)
               : redis_model_cell(model_of(service, node), resource);
}

/* Make the end of a key's time pending. */
static void key_arm(struct redis_service *service, uint32_t node, uint32_t resource,
                    struct server_door *door)
{
    if (!redis_is_told(service, node)) {
        return;
    }
    const struct redis_cell *cell = cell_of(service, node, resource);
    int64_t true_ns = TIME_NEVER;
    if (cell->present && cell->expires) {
        true_ns = clock_true(&door->nodes[node].wall, redis_cell_end_ns(cell));
    }
    if (true_ns != TIME_NEVER && true_ns < door->true_ns) {
        true_ns = door->true_ns;
    }
    door->arm(door, key_wake(service, node, resource), true_ns);
}

static void service_bent(void *state, uint32_t node, struct server_door *door)
{
    struct redis_service *service = state;
    for (uint32_t resource = 0; resource < service->resource_count; resource++) {
        key_arm(service, node, resource, door);
    }
    if (service->replica_count > 0) {
        redis_replicas_bent(service, node, door);
    }
}

static void event_own(struct history_event *event, const struct redis_cell *cell)
{
    if (cell->present) {
        memcpy(event->owner.bytes, cell->value.bytes, sizeof event->owner.bytes);
        event->flags |= HISTORY_HAS_OWNER;
    }
}

static void event_until(struct history_event *event, const struct server_door *door,
                        const struct redis_cell *cell)
{
    if (cell->present && cell->expires) {
        event->until_ns = clock_true(&door->nodes[event->node].wall, redis_cell_end_ns(cell));
        event->flags |= HISTORY_HAS_UNTIL;
    }
}

/* Why a key's time is up now: a sound clock keeps the date to a millisecond or two. */
static void expiry_cause(const struct redis_service *service, const struct server_door *door,
                         const struct redis_cell *cell, struct history_event *event)
{
    const struct server_node *node = &door->nodes[event->node];
    int64_t off_ns = door->true_ns - cell->sound_ns;
    if (off_ns >= -2 * NS_PER_MS && off_ns <= 2 * NS_PER_MS) {
        event->cause = CAUSE_TTL;
        return;
    }
    bool jumped = node->jumped_ns >= cell->sound_ns - service->ttl_ns;
    event->cause = jumped ? CAUSE_CLOCK_JUMP : CAUSE_CLOCK_RATE;
    event->fault = jumped ? node->jump_fault : node->rate_fault;
}

static void key_remove(struct redis_service *service, struct redis_model *model, uint32_t node,
                       uint32_t resource, struct server_door *door)
{
    if (service->replica_count == 0) {
        redis_model_remove(model, resource, door->true_ns);
        return;
    }
    if (redis_is_down(service, node)) { /* its file may have lost it, or not */
        redis_told_cell(service, resource)->present = false;
    }
    if (redis_model_cell(model, resource)->present) {
        redis_model_remove(model, resource, door->true_ns);
    }
    if (!redis_is_down(service, node)) {
        redis_replicate(service, node, resource, door);
    }
}

static void key_expire(struct redis_service *service, uint32_t node, uint32_t resource,
                       struct server_door *door)
{
    struct redis_model *model = model_of(service, node);
    struct redis_cell cell = *cell_of(service, node, resource);
    struct history_event event = server_key_event(HISTORY_KEY_EXPIRED, node, resource);
    event_own(&event, &cell);
    expiry_cause(service, door, &cell, &event);
    key_remove(service, model, node, resource, door);
    if (redis_is_told(service, node)) {
        door->arm(door, key_wake(service, node, resource), TIME_NEVER);
        (void)door->record(door, &event);
    }
}

int64_t redis_wall_of(const struct server_door *door, uint32_t node)
{
    return clock_local(&door->nodes[node].wall, door->true_ns);
}

static void service_wake(void *state, uint32_t wake, struct server_door *door)
{
    struct redis_service *service = state;
    uint32_t node = wake / service->resource_count;
    uint32_t resource = wake % service->resource_count;
    if (node >= service->node_count) {
        redis_replicas_wake(service, wake, door);
        return;
    }
    const struct redis_cell *cell = cell_of(service, node, resource);
    ASSERT(cell->present);
    ASSERT(redis_cell_expired(cell, redis_wall_of(door, node)));
    key_expire(service, node, resource, door);
}

/* Tell that a resource's key is gone, or back, by a turn. */
static void key_turned(const struct server_turn *turn, enum history_f f, uint32_t resource,
                       const struct redis_cell *cell, struct server_door *door)
{
    struct history_event event = server_key_event(f, turn->node, resource);
    event.fault = turn->fault;
    event.cause = turn->cause;
    event_own(&event, cell);
    if (f == HISTORY_KEY_BACK) {
        event_until(&event, door, cell);
    }
    (void)door->record(door, &event);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Tell what a command did to the key; gives the event's number. */
static uint64_t command_tell(struct redis_service *service, const struct server_ask *ask,
                             const struct redis_answer *answer, struct server_door *door)
{
    struct history_event event =
        server_key_event((enum history_f)answer->f, ask->node, ask->resource);
    event.process = (int32_t)ask->client;
    memcpy(event.command, lock_dialect_row(service->dialect, ask->command.kind)->name,
           sizeof event.command);
    event.sent_ns = ask->sent_ns;
    memcpy(event.value.bytes, ask->command.value.bytes, sizeof event.value.bytes);
    event.flags |= HISTORY_HAS_SENT | HISTORY_HAS_VALUE;
    event_own(&event, &answer->before);
    if (answer->f == HISTORY_KEY_SET || answer->f == HISTORY_KEY_EXTENDED) {
        event_until(&event, door, redis_model_cell(model_of(service, ask->node), ask->resource));
    }
    if (answer->f == HISTORY_KEY_DELETED || answer->f == HISTORY_KEY_EXTENDED) {
        bool own = history_value_equal(&event.value, &event.owner);
        bool deleted = answer->f == HISTORY_KEY_DELETED;
        event.cause = own ? (deleted ? CAUSE_RELEASED : CAUSE_NONE) : CAUSE_FOREIGN;
    }
    if (answer->reply.type == LOCK_REPLY_NUMBER && answer->f == HISTORY_KEY_SET) {
        event.fence = answer->reply.number;
        event.flags |= HISTORY_HAS_FENCE;
    }
    return door->record(door, &event);
}

static bool moves_the_end(const struct redis_answer *answer)
{
    return answer->f != HISTORY_NODE_ERROR && answer->f != HISTORY_KEY_REFUSED &&
           answer->f != HISTORY_KEY_KEPT;
}

/* A node that nobody follows any more sets a key: the store has it no longer than that. */
static uint64_t command_tell_aside(struct redis_service *service, const struct server_ask *ask,
                                   const struct redis_answer *answer, struct server_door *door)
{
    if (answer->f == HISTORY_NODE_ERROR) {
        return command_tell(service, ask, answer, door);
    }
    if (answer->f != HISTORY_KEY_SET) {
        return SERVER_NO_EVENT;
    }
    uint64_t event = command_tell(service, ask, answer, door);
    struct server_turn turn = {ask->node, service->fault, CAUSE_FAILOVER};
    key_turned(&turn, HISTORY_KEY_LOST, ask->resource,
               redis_model_cell(model_of(service, ask->node), ask->resource), door);
    return event;
}

void redis_service_carry_out(struct redis_service *service, const struct server_ask *ask,
                             struct server_door *door)
{
    struct redis_model *model = model_of(service, ask->node);
    struct redis_ask asked = {.command = &ask->command,
                              .resource = ask->resource,
                              .true_ns = door->true_ns,
                              .wall_ns = redis_wall_of(door, ask->node)};
    if (redis_cell_expired(redis_model_cell(model, ask->resource), asked.wall_ns)) {
        key_expire(service, ask->node, ask->resource, door);
    }
    struct redis_answer answer;
    redis_model_command(model, &asked, &answer);
    uint64_t event = SERVER_NO_EVENT;
    if (answer.touched) {
        if (answer.f == HISTORY_NODE_ERROR) {
            door->refused(door, ask->node);
        }
        if (moves_the_end(&answer)) {
            key_arm(service, ask->node, ask->resource, door);
        }
        event = redis_is_told(service, ask->node) ? command_tell(service, ask, &answer, door)
                                                  : command_tell_aside(service, ask, &answer, door);
    }
    if (service->replica_count > 0) {
        bool wrote = answer.touched ? moves_the_end(&answer)
                                    : memcmp(&answer.before, redis_model_cell(model, ask->resource),
                                             sizeof answer.before) != 0; /* a counter alone */
        redis_replicas_asked(service, ask, wrote, door);
    }
    door->answer(door, ask, answer.reply, event);
}

static void service_ask(void *state, const struct server_ask *ask, struct server_door *door)
{
    struct redis_service *service = state;
    if (service->replica_count == 0 || !redis_replicas_ask(service, ask, door)) {
        redis_service_carry_out(service, ask, door);
    }
}

/* ---- stops and starts ------------------------------------------------------------------------ */

static bool same_key(const struct redis_cell *a, const struct redis_cell *b)
{
    return a->present == b->present && memcmp(&a->value, &b->value, sizeof a->value) == 0;
}

static uint32_t service_unsynced(void *state, uint32_t node, struct server_door *door)
{
    return redis_model_unsynced(model_of(state, node), door->true_ns);
}

static uint32_t service_stop(void *state, const struct server_turn *turn, enum server_stop how,
                             uint32_t kept, struct server_door *door)
{
    struct redis_service *service = state;
    struct redis_model *model = model_of(service, turn->node);
    uint32_t lost = 0;
    redis_model_prepare_stop(model, how, kept);
    if (service->replica_count > 0) {
        redis_replicas_stop(service, turn->node, door);
    }
    /* A store with replicas has lost nothing before one of them takes over, or it is back. */
    for (uint32_t i = 0; i < service->resource_count && service->replica_count == 0; i++) {
        const struct redis_cell *cell = redis_model_cell(model, i);
        const struct redis_cell *stored = redis_model_stored(model, i);
        bool same = same_key(cell, stored);
        bool shorter = same && stored->expires && stored->expire_ms < cell->expire_ms;
        if (cell->present && (!same || shorter)) {
            /* The key as it was before an extension may be back later: this one is gone. */
            key_turned(turn, HISTORY_KEY_LOST, i, cell, door);
            lost += same ? 0 : 1;
        }
    }
    redis_model_stop(model);
    return lost;
}

static void service_start(void *state, const struct server_turn *turn, struct server_door *door)
{
    struct redis_service *service = state;
    struct redis_model *model = model_of(service, turn->node);
    redis_model_start(model, door->true_ns);
    if (service->replica_count > 0 && turn->node == service->told) {
        for (uint32_t i = 0; i < service->resource_count; i++) {
            const struct redis_cell *kept = redis_told_cell(service, i);
            if (kept->present && !same_key(kept, redis_model_cell(model, i))) {
                key_turned(turn, HISTORY_KEY_LOST, i, kept, door);
            }
        }
    }
    if (service->replica_count > 0) {
        redis_replicas_start(service, turn->node);
        for (uint32_t i = 0; i < service->resource_count; i++) {
            key_arm(service, turn->node, i, door); /* what it kept may be gone, or be older */
        }
    }
    if (!redis_is_told(service, turn->node)) {
        return;
    }
    for (uint32_t i = 0; i < service->resource_count; i++) {
        if (redis_model_cell(model, i)->present) {
            key_turned(turn, HISTORY_KEY_BACK, i, redis_model_cell(model, i), door);
        }
    }
}

/* One of the nodes takes over: what it has the store has. */
uint32_t redis_service_promote(struct redis_service *service, const struct server_turn *turn,
                               struct server_door *door)
{
    struct server_turn gone = {service->told, turn->fault, turn->cause};
    int64_t wall_ns = redis_wall_of(door, turn->node);
    uint32_t lost = 0;
    for (uint32_t i = 0; i < service->resource_count; i++) {
        const struct redis_cell *before = redis_told_cell(service, i);
        const struct redis_cell *after = redis_model_cell(model_of(service, turn->node), i);
        door->arm(door, key_wake(service, service->told, i), TIME_NEVER);
        if (redis_cell_expired(after, wall_ns)) {
            redis_model_remove(model_of(service, turn->node), i, door->true_ns);
        }
        if (after->present) {
            key_turned(turn, HISTORY_KEY_BACK, i, after, door);
        }
        if (before->present) {
            key_turned(&gone, HISTORY_KEY_LOST, i, before, door);
            lost += same_key(before, after) ? 0 : 1;
        }
    }
    redis_replicas_promote(service, turn, door);
    return lost;
}

static uint32_t service_promote(void *state, const struct server_turn *turn, int64_t lag_ns,
                                struct server_door *door)
{
    struct redis_service *service = state;
    struct redis_model *model = model_of(service, turn->node);
    uint32_t lost = 0;
    if (service->replica_count > 0) {
        return service->told == turn->node ? SERVER_NOT_PROMOTED
                                           : redis_service_promote(service, turn, door);
    }
    redis_model_replica_catch_up(model, door->true_ns - lag_ns);
    for (uint32_t i = 0; i < service->resource_count; i++) {
        const struct redis_cell *before = redis_model_cell(model, i);
        const struct redis_cell *after = redis_model_replica(model, i);
        if (same_key(before, after)) {
            continue;
        }
        if (before->present) {
            key_turned(turn, HISTORY_KEY_LOST, i, before, door);
            lost++;
        }
        if (after->present) {
            key_turned(turn, HISTORY_KEY_BACK, i, after, door);
        }
    }
    redis_model_promote(model, door->true_ns);
    return lost;
}

static uint32_t service_evict(void *state, const struct server_turn *turn, struct server_door *door)
{
    struct redis_service *service = state;
    struct redis_model *model = model_of(service, turn->node);
    uint32_t evicted = 0;
    for (uint32_t i = 0; i < service->resource_count && redis_is_told(service, turn->node); i++) {
        const struct redis_cell *cell = redis_model_cell(model, i);
        if (cell->present) {
            struct redis_cell was = *cell;
            key_remove(service, model, turn->node, i, door);
            door->arm(door, key_wake(service, turn->node, i), TIME_NEVER);
            key_turned(turn, HISTORY_KEY_EVICTED, i, &was, door);
            evicted++;
        }
    }
    return evicted;
}

static void service_refuse(void *state, uint32_t node, const enum node_error *error)
{
    redis_model_refuse(model_of(state, node), error);
}

static void service_forget_scripts(void *state, uint32_t node)
{
    redis_model_flush_scripts(model_of(state, node));
}

const struct server_model redis_service = {
    .bytes = service_bytes,
    .wakes = service_wakes,
    .init = service_init,
    .ask = service_ask,
    .wake = service_wake,
    .bent = service_bent,
    .unsynced = service_unsynced,
    .stop = service_stop,
    .start = service_start,
    .promote = service_promote,
    .evict = service_evict,
    .refuse = service_refuse,
    .forget_scripts = service_forget_scripts,
    .hear = redis_replicas_hear,
    .link = redis_replicas_link,
    .reach = redis_replicas_reach,
};
