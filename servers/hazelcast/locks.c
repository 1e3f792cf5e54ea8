/* locks.c: what a Hazelcast cluster does with invocations on its FencedLocks. */
#include "servers/hazelcast/locks.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

/* An invocation, and the copy that carries it out. */
struct call {
    struct grid *grid;
    uint32_t copy;
    const struct server_ask *ask;
    struct server_door *door;
};

void grid_copy_clear(struct grid *grid, uint32_t copy)
{
    memset(grid_lock_at(grid, copy, 0), 0, grid_copy_bytes(grid));
    grid->log[copy] = 0;
    for (uint32_t i = 0; i < grid->resource_count; i++) {
        grid_lock_at(grid, copy, i)->holder = GRID_NOBODY;
    }
}

/* ---- what is told ---------------------------------------------------------------------------- */

static bool is_shown(const struct grid *grid, uint32_t copy, uint32_t resource,
                     const struct lock_value *value)
{
    const struct grid_shown *shown = &grid->shown[resource];
    return shown->held && shown->copy == copy && memcmp(&shown->value, value, sizeof *value) == 0;
}

/* A key is gone that no command took: it is not shown any more. */
static void shown_end(struct grid *grid, uint32_t resource, struct history_event *event,
                      struct server_door *door)
{
    struct grid_shown *shown = &grid->shown[resource];
    ASSERT(shown->held);
    memcpy(event->owner.bytes, shown->value.bytes, sizeof event->owner.bytes);
    event->flags |= HISTORY_HAS_OWNER;
    shown->held = false;
    (void)door->record(door, event);
}

static void shown_lost(struct grid *grid, uint32_t resource, enum history_cause cause,
                       struct server_door *door)
{
    struct history_event event = server_key_event(HISTORY_KEY_LOST, GRID_STORE, resource);
    event.cause = (uint8_t)cause;
    shown_end(grid, resource, &event, door);
}

void grid_copy_gone(struct grid *grid, uint32_t copy, enum history_cause cause,
                    struct server_door *door)
{
    for (uint32_t i = 0; i < grid->resource_count; i++) {
        if (grid->shown[i].held && grid->shown[i].copy == copy) {
            shown_lost(grid, i, cause, door);
        }
    }
    for (uint32_t i = 0; i < grid_session_count(grid); i++) {
        door->arm(door, copy * grid_session_count(grid) + i, TIME_NEVER);
    }
    grid_copy_clear(grid, copy);
}

static struct history_event event_of(const struct call *call, enum history_f f,
                                     const struct lock_value *owner)
{
    return server_command_event(call->grid->dialect, call->ask, GRID_STORE, f, owner);
}

static void event_until(struct history_event *event, const struct call *call,
                        const struct grid_session *session)
{
    uint32_t keeper = grid_keeper(call->grid, call->copy);
    event->until_ns = clock_true(&call->door->nodes[keeper].wall, session->end_ns[keeper]);
    event->ttl_ns = session->ttl_ns;
    event->flags |= HISTORY_HAS_UNTIL | HISTORY_HAS_TTL;
}

static void answer(const struct call *call, enum lock_reply_type type, int64_t number,
                   uint64_t event)
{
    struct lock_reply reply = {.type = (uint8_t)type, .number = number};
    call->door->answer(call->door, call->ask, reply, event);
}

static const struct lock_value *holder_of(const struct call *call)
{
    uint32_t holder = grid_lock_at(call->grid, call->copy, call->ask->resource)->holder;
    return holder == GRID_NOBODY ? NULL : &grid_session_at(call->grid, call->copy, holder)->value;
}

static void refuse(const struct call *call)
{
    struct history_event event = event_of(call, HISTORY_KEY_REFUSED, holder_of(call));
    answer(call, LOCK_REPLY_NO, 0, call->door->record(call->door, &event));
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* The bit of an invocation among those that are known; 0: so long ago that nobody asks again. */
static uint64_t invocation_bit(struct grid_session *session, int64_t number)
{
    int64_t ahead = number - session->newest;
    if (ahead > 0) {
        session->entered = ahead < 64 ? session->entered << ahead : 0;
        session->refused = ahead < 64 ? session->refused << ahead : 0;
        session->newest = number;
        return 1;
    }
    return ahead > -64 ? UINT64_C(1) << -ahead : 0;
}

/* "Assigns the lock to the endpoint": its fence is where the invocation stands in the log. */
static void grant(const struct call *call, uint32_t number, int64_t place)
{
    struct grid *grid = call->grid;
    uint32_t resource = call->ask->resource;
    struct grid_session *session = grid_session_at(grid, call->copy, number);
    struct grid_lock *lock = grid_lock_at(grid, call->copy, resource);
    ASSERT(lock->holder == GRID_NOBODY);
    *lock = (struct grid_lock){
        .holder = number,
        .fence = place,
        .count = 1,
    };
    session->entered |= invocation_bit(session, call->ask->command.number);
    if (grid->shown[resource].held) { /* in another part of the cluster */
        ASSERT(grid->copies > 1);
        shown_lost(grid, resource, CAUSE_SPLIT, call->door);
    }
    grid->shown[resource] = (struct grid_shown){true, call->copy, session->value};
    struct history_event event = event_of(call, HISTORY_KEY_SET, NULL);
    event_until(&event, call, session);
    event.fence = place;
    event.flags |= HISTORY_HAS_FENCE;
    answer(call, LOCK_REPLY_NUMBER, place, call->door->record(call->door, &event));
}

/* The lock is free: whoever waits longest gets it. */
static void lock_pass_on(struct grid *grid, uint32_t copy, uint32_t resource,
                         struct server_door *door)
{
    uint32_t next = GRID_NOBODY;
    uint32_t each = grid->client_count * GRID_SESSIONS;
    for (uint32_t i = resource * each; i < (resource + 1) * each; i++) {
        const struct grid_session *session = grid_session_at(grid, copy, i);
        bool first =
            session->open && session->waits &&
            (next == GRID_NOBODY || session->place < grid_session_at(grid, copy, next)->place);
        next = first ? i : next;
    }
    grid_lock_at(grid, copy, resource)->holder = GRID_NOBODY;
    if (next != GRID_NOBODY) {
        struct grid_session *session = grid_session_at(grid, copy, next);
        session->waits = false;
        struct call call = {grid, copy, &session->ask, door};
        grant(&call, next, session->place);
        grid_session_arm(grid, copy, next, door);
    }
}

static void wait_end(struct grid *grid, uint32_t copy, struct grid_session *session,
                     struct server_door *door)
{
    ASSERT(session->waits);
    session->waits = false;
    struct call call = {grid, copy, &session->ask, door};
    refuse(&call);
}

void grid_wait_over(struct grid *grid, uint32_t copy, uint32_t number, struct server_door *door)
{
    struct grid_session *session = grid_session_at(grid, copy, number);
    session->refused |= invocation_bit(session, session->ask.command.number);
    wait_end(grid, copy, session, door);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static uint32_t session_find(const struct call *call, bool open)
{
    struct grid *grid = call->grid;
    const struct server_ask *ask = call->ask;
    uint32_t first = (ask->resource * grid->client_count + ask->client) * GRID_SESSIONS;
    for (uint32_t i = first; i < first + GRID_SESSIONS; i++) {
        const struct grid_session *session = grid_session_at(grid, call->copy, i);
        bool ours = memcmp(&session->value, &ask->command.value, sizeof session->value) == 0;
        if (session->open == open && (!open || ours)) {
            return i;
        }
    }
    return GRID_NOBODY;
}

static void session_remove(struct grid *grid, uint32_t copy, uint32_t number,
                           struct server_door *door)
{
    uint32_t resource = number / (grid->client_count * GRID_SESSIONS);
    struct grid_session *session = grid_session_at(grid, copy, number);
    if (session->waits) {
        grid_wait_over(grid, copy, number, door);
    }
    bool held = grid_lock_at(grid, copy, resource)->holder == number;
    memset(session, 0, sizeof *session);
    door->arm(door, copy * grid_session_count(grid) + number, TIME_NEVER);
    if (held) {
        lock_pass_on(grid, copy, resource, door);
    }
}

void grid_session_end(struct grid *grid, uint32_t copy, uint32_t number,
                      const struct server_turn *why, struct server_door *door)
{
    uint32_t resource = number / (grid->client_count * GRID_SESSIONS);
    const struct grid_session *session = grid_session_at(grid, copy, number);
    bool held = grid_lock_at(grid, copy, resource)->holder == number;
    if (held && is_shown(grid, copy, resource, &session->value)) {
        struct history_event event = server_key_event(HISTORY_KEY_EXPIRED, GRID_STORE, resource);
        event.cause = why->cause;
        event.fault = why->fault;
        shown_end(grid, resource, &event, door);
    }
    session_remove(grid, copy, number, door);
}

/* Hazelcast counts in whole seconds. */
static int64_t ttl_of(const struct server_ask *ask)
{
    return (ask->command.ttl_ms + 999) / 1000 * NS_PER_S;
}

/* "An operation with a valid session ID is accepted as a new session heartbeat." What its lock
 * promises with it. */
static uint64_t session_beat(const struct call *call, uint32_t number)
{
    struct grid *grid = call->grid;
    struct grid_session *session = grid_session_at(grid, call->copy, number);
    grid_session_extend(grid, call->copy, session, call->door);
    grid_session_arm(grid, call->copy, number, call->door);
    bool held = grid_lock_at(grid, call->copy, call->ask->resource)->holder == number;
    if (!held || !is_shown(grid, call->copy, call->ask->resource, &session->value)) {
        return SERVER_NO_EVENT;
    }
    struct history_event event = event_of(call, HISTORY_KEY_EXTENDED, &session->value);
    event_until(&event, call, session);
    return call->door->record(call->door, &event);
}

/* ---- invocations ----------------------------------------------------------------------------- */

static void create_session(const struct call *call)
{
    uint32_t number = session_find(call, false);
    if (session_find(call, true) != GRID_NOBODY) {
        answer(call, LOCK_REPLY_NO, 0, SERVER_NO_EVENT); /* by a question before this one */
        return;
    }
    if (number == GRID_NOBODY) {
        answer(call, LOCK_REPLY_ERROR, 0, SERVER_NO_EVENT); /* more than we follow */
        return;
    }
    *grid_session_at(call->grid, call->copy, number) = (struct grid_session){
        .open = true,
        .value = call->ask->command.value,
        .ttl_ns = ttl_of(call->ask),
    };
    (void)session_beat(call, number);
    answer(call, LOCK_REPLY_YES, 0, SERVER_NO_EVENT);
}

/* It joins the queue. */
static void wait_begin(const struct call *call, uint32_t number)
{
    struct grid_session *session = grid_session_at(call->grid, call->copy, number);
    session->waits = true;
    session->ask = *call->ask;
    session->place = call->grid->log[call->copy];
    grid_wait_set(call->grid, session, call->ask->command.ttl_ms * NS_PER_MS, call->door);
    grid_session_arm(call->grid, call->copy, number, call->door);
}

/* Another has the lock. Whoever asks anew, also without waiting, "has stopped waiting for response
 * of the previous invocation". */
static void queue(const struct call *call, uint32_t number)
{
    struct grid_session *session = grid_session_at(call->grid, call->copy, number);
    int64_t invocation = call->ask->command.number;
    if (session->waits && session->ask.command.number == invocation) {
        session->ask = *call->ask;
        return;
    }
    if (session->waits) {
        wait_end(call->grid, call->copy, session, call->door);
    }
    if (call->ask->command.ttl_ms > 0) {
        wait_begin(call, number);
    } else {
        session->refused |= invocation_bit(session, invocation);
        refuse(call);
    }
}

/* "Lock count is incremented if the endpoint already holds the lock ... If the invocation uid is
 * same with one of the previous invocations ... memorized result ... is returned." */
static void try_lock(const struct call *call)
{
    uint32_t number = session_find(call, true);
    struct grid_lock *lock = grid_lock_at(call->grid, call->copy, call->ask->resource);
    if (number == GRID_NOBODY) {
        refuse(call); /* SessionExpiredException */
        return;
    }
    struct grid_session *session = grid_session_at(call->grid, call->copy, number);
    uint64_t told = session_beat(call, number);
    uint64_t bit = invocation_bit(session, call->ask->command.number);
    if ((session->refused & bit) != 0) {
        refuse(call);
    } else if (lock->holder == number) {
        lock->count += (session->entered & bit) == 0 ? 1 : 0;
        session->entered |= bit;
        answer(call, LOCK_REPLY_NUMBER, lock->fence, told);
    } else if (lock->holder == GRID_NOBODY) {
        grant(call, number, call->grid->log[call->copy]);
    } else {
        queue(call, number);
    }
}

static void heartbeat(const struct call *call)
{
    uint32_t number = session_find(call, true);
    if (number == GRID_NOBODY) {
        answer(call, LOCK_REPLY_NO, 0, SERVER_NO_EVENT);
        return;
    }
    int64_t ttl_ms = grid_session_at(call->grid, call->copy, number)->ttl_ns / NS_PER_MS;
    answer(call, LOCK_REPLY_NUMBER, ttl_ms, session_beat(call, number));
}

/* Once for each time that it has entered, and the session is closed: so it is free, whatever the
 * count was. */
static void unlock(const struct call *call)
{
    struct grid *grid = call->grid;
    uint32_t number = session_find(call, true);
    uint32_t resource = call->ask->resource;
    bool ours = number != GRID_NOBODY && grid_lock_at(grid, call->copy, resource)->holder == number;
    bool shown = ours && is_shown(grid, call->copy, resource, &call->ask->command.value);
    struct history_event event =
        event_of(call, shown ? HISTORY_KEY_DELETED : HISTORY_KEY_KEPT, holder_of(call));
    event.cause = shown ? CAUSE_RELEASED : CAUSE_NONE;
    bool known = shown || !ours; /* in another part of the cluster the history knows no key */
    uint64_t told = known ? call->door->record(call->door, &event) : SERVER_NO_EVENT;
    grid->shown[resource].held = grid->shown[resource].held && !shown;
    if (number != GRID_NOBODY) {
        session_remove(grid, call->copy, number, call->door);
    }
    answer(call, ours ? LOCK_REPLY_YES : LOCK_REPLY_NO, 0, told);
}

void grid_ask(void *state, const struct server_ask *ask, struct server_door *door)
{
    struct grid *grid = state;
    struct call call = {grid, grid_copy_of(grid, ask->node), ask, door};
    if (call.copy == GRID_NOBODY) {
        return; /* whoever asks waits in vain */
    }
    grid->log[call.copy]++;
    switch ((enum hazelcast_command)ask->command.kind) {
    case HAZELCAST_CREATE_SESSION:
        create_session(&call);
        return;
    case HAZELCAST_TRY_LOCK:
        try_lock(&call);
        return;
    case HAZELCAST_HEARTBEAT:
        heartbeat(&call);
        return;
    case HAZELCAST_UNLOCK:
        unlock(&call);
        return;
    case HAZELCAST_NONE:
    case HAZELCAST_COMMANDS:
        break;
    }
    UNREACHABLE();
}
