/* cell.c: what a Chubby cell does with commands, time and the loss of its members. */
#include "servers/chubby/cell.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

uint32_t cell_session_count(const struct cell *cell)
{
    return cell->resource_count * cell->client_count * CELL_SESSIONS;
}

struct cell_session *cell_session_at(struct cell *cell, uint32_t number)
{
    ASSERT(number < cell_session_count(cell));
    struct cell_session *sessions = (void *)&cell->locks[cell->resource_count];
    return &sessions[number];
}

static uint32_t resource_of(const struct cell *cell, uint32_t number)
{
    return number / (cell->client_count * CELL_SESSIONS);
}

uint32_t cell_election_wake(const struct cell *cell)
{
    return cell_session_count(cell);
}

static size_t cell_bytes(const struct server_shape *shape)
{
    size_t sessions = (size_t)shape->resource_count * shape->client_count * CELL_SESSIONS;
    return sizeof(struct cell) + shape->resource_count * sizeof(struct cell_lock) +
           sessions * sizeof(struct cell_session);
}

static uint32_t cell_wakes(const struct server_shape *shape)
{
    return shape->resource_count * shape->client_count * CELL_SESSIONS + 1;
}

static void cell_init(void *state, const struct server_shape *shape)
{
    enum { ELECTIONS_IN_A_LEASE = 6 }; /* "elections typically take a few seconds", of 12 */
    struct cell *cell = state;
    memset(cell, 0, cell_bytes(shape));
    cell->dialect = shape->dialect;
    cell->ttl_ns = shape->ttl_ns;
    cell->election_ns = shape->ttl_ns / ELECTIONS_IN_A_LEASE;
    cell->node_count = shape->node_count;
    cell->client_count = shape->client_count;
    cell->resource_count = shape->resource_count;
    for (uint32_t i = 0; i < shape->resource_count; i++) {
        cell->locks[i].holder = CELL_NOBODY;
        cell->locks[i].free_ns = INT64_MIN;
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

int64_t cell_clock(const struct cell *cell, const struct server_door *door)
{
    ASSERT(cell->master != CELL_NOBODY);
    return clock_local(&door->nodes[cell->master].mono, door->true_ns);
}

/* A quarter of the lease before the end that its client knows. */
static int64_t answer_ns(const struct cell_session *session)
{
    return session->told_ns - session->ttl_ns / 4;
}

static void session_arm(struct cell *cell, uint32_t number, struct server_door *door)
{
    const struct cell_session *session = cell_session_at(cell, number);
    int64_t true_ns = TIME_NEVER;
    if (session->open && cell_master_serves(cell)) {
        int64_t local_ns = session->waits ? answer_ns(session) : session->end_ns;
        local_ns = local_ns < session->end_ns ? local_ns : session->end_ns;
        true_ns = clock_true(&door->nodes[cell->master].mono, local_ns);
        true_ns = true_ns < door->true_ns ? door->true_ns : true_ns;
    }
    door->arm(door, number, true_ns);
}

void cell_rearm(struct cell *cell, struct server_door *door)
{
    for (uint32_t i = 0; i < cell_session_count(cell); i++) {
        if (cell_session_at(cell, i)->open) {
            session_arm(cell, i, door);
        }
    }
}

void cell_session_extend(struct cell *cell, struct cell_session *session,
                         const struct server_door *door)
{
    session->end_ns = cell_clock(cell, door) + session->ttl_ns;
    session->sound_ns = door->true_ns + session->ttl_ns;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static void event_until(struct history_event *event, const struct cell *cell,
                        const struct cell_session *session, const struct server_door *door)
{
    event->until_ns = clock_true(&door->nodes[cell->master].mono, session->end_ns);
    event->ttl_ns = session->ttl_ns;
    event->flags |= HISTORY_HAS_UNTIL | HISTORY_HAS_TTL;
}

static struct history_event command_event(const struct cell *cell, const struct server_ask *ask,
                                          enum history_f f, const struct lock_value *owner)
{
    return server_command_event(cell->dialect, ask, CELL_STORE, f, owner);
}

static void answer(struct server_door *door, const struct server_ask *ask,
                   enum lock_reply_type type, int64_t number, uint64_t event)
{
    struct lock_reply reply = {.type = (uint8_t)type, .number = number};
    door->answer(door, ask, reply, event);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static uint32_t session_find(struct cell *cell, const struct server_ask *ask)
{
    uint32_t first = (ask->resource * cell->client_count + ask->client) * CELL_SESSIONS;
    for (uint32_t i = first; i < first + CELL_SESSIONS; i++) {
        struct cell_session *session = cell_session_at(cell, i);
        if (session->open &&
            memcmp(&session->value, &ask->command.value, sizeof session->value) == 0) {
            return i;
        }
    }
    return CELL_NOBODY;
}

static uint32_t session_place(struct cell *cell, const struct server_ask *ask)
{
    uint32_t first = (ask->resource * cell->client_count + ask->client) * CELL_SESSIONS;
    for (uint32_t i = first; i < first + CELL_SESSIONS; i++) {
        if (!cell_session_at(cell, i)->open) {
            return i;
        }
    }
    return CELL_NOBODY;
}

static void session_remove(struct cell *cell, uint32_t number, struct server_door *door)
{
    memset(cell_session_at(cell, number), 0, sizeof(struct cell_session));
    door->arm(door, number, TIME_NEVER);
}

/* The session is over: "the lock-delay" begins for the lock that it held. */
static void session_expire(struct cell *cell, uint32_t number, struct server_door *door)
{
    struct cell_session *session = cell_session_at(cell, number);
    struct cell_lock *lock = &cell->locks[resource_of(cell, number)];
    if (session->waits) {
        answer(door, &session->keep, LOCK_REPLY_NO, 0, SERVER_NO_EVENT);
    }
    if (lock->holder == number) {
        lock->holder = CELL_NOBODY;
        lock->free_ns = session->end_ns + lock->delay_ns;
        lock->last = session->value;
        struct history_event event =
            server_key_event(HISTORY_KEY_EXPIRED, CELL_STORE, resource_of(cell, number));
        memcpy(event.owner.bytes, session->value.bytes, sizeof event.owner.bytes);
        event.flags |= HISTORY_HAS_OWNER;
        int64_t off_ns = door->true_ns - session->sound_ns;
        bool sound = off_ns >= -2 * NS_PER_MS && off_ns <= 2 * NS_PER_MS;
        event.cause = sound ? CAUSE_TTL : CAUSE_CLOCK_RATE;
        event.fault = sound ? HISTORY_NO_FAULT : door->nodes[cell->master].rate_fault;
        (void)door->record(door, &event);
    }
    session_remove(cell, number, door);
}

/* "the master typically blocks the RPC until the client's previous lease interval is close to
 * expiring", then extends it and says for how long, counted from when the KeepAlive came. */
static void keep_answer(struct cell *cell, uint32_t number, struct server_door *door)
{
    struct cell_session *session = cell_session_at(cell, number);
    struct cell_lock *lock = &cell->locks[resource_of(cell, number)];
    uint64_t told = SERVER_NO_EVENT;
    cell_session_extend(cell, session, door);
    session->told_ns = session->end_ns;
    session->waits = false;
    if (lock->holder == number) {
        struct history_event event =
            command_event(cell, &session->keep, HISTORY_KEY_EXTENDED, &session->value);
        event_until(&event, cell, session, door);
        told = door->record(door, &event);
    }
    int64_t length_ms = (session->end_ns - session->came_ns) / NS_PER_MS;
    answer(door, &session->keep, LOCK_REPLY_NUMBER, length_ms, told);
    session_arm(cell, number, door);
}

static void cell_wake_session(struct cell *cell, uint32_t number, struct server_door *door)
{
    struct cell_session *session = cell_session_at(cell, number);
    ASSERT(session->open);
    if (!cell_master_serves(cell)) {
        return;
    }
    int64_t local_ns = cell_clock(cell, door);
    if (session->waits && local_ns >= answer_ns(session) && local_ns <= session->end_ns) {
        keep_answer(cell, number, door);
    } else if (local_ns >= session->end_ns) {
        session_expire(cell, number, door);
    } else {
        session_arm(cell, number, door);
    }
}

/* ---- commands -------------------------------------------------------------------------------- */

static void cell_open(struct cell *cell, const struct server_ask *ask, struct server_door *door)
{
    uint32_t number = session_find(cell, ask);
    number = number == CELL_NOBODY ? session_place(cell, ask) : number;
    if (number == CELL_NOBODY) {
        answer(door, ask, LOCK_REPLY_ERROR, 0, SERVER_NO_EVENT); /* too many of this client */
        return;
    }
    struct cell_session *session = cell_session_at(cell, number);
    session->open = true;
    session->value = ask->command.value;
    session->ttl_ns = ask->command.ttl_ms * NS_PER_MS;
    cell_session_extend(cell, session, door);
    session->told_ns = session->end_ns;
    session_arm(cell, number, door);
    answer(door, ask, LOCK_REPLY_YES, 0, SERVER_NO_EVENT);
}

static void cell_acquire(struct cell *cell, const struct server_ask *ask, struct server_door *door)
{
    struct cell_lock *lock = &cell->locks[ask->resource];
    uint32_t number = session_find(cell, ask);
    bool ours = number != CELL_NOBODY && lock->holder == number;
    bool delayed = lock->holder == CELL_NOBODY && cell_clock(cell, door) < lock->free_ns;
    if (ours) {
        answer(door, ask, LOCK_REPLY_NUMBER, lock->generation, SERVER_NO_EVENT);
        return;
    }
    if (number == CELL_NOBODY || lock->holder != CELL_NOBODY || delayed) {
        const struct lock_value *owner = lock->holder != CELL_NOBODY
                                             ? &cell_session_at(cell, lock->holder)->value
                                         : delayed ? &lock->last
                                                   : NULL;
        struct history_event event = command_event(cell, ask, HISTORY_KEY_REFUSED, owner);
        answer(door, ask, LOCK_REPLY_NO, 0, door->record(door, &event));
        return;
    }
    lock->holder = number;
    lock->generation++;
    lock->delay_ns = ask->command.ttl_ms * NS_PER_MS;
    struct history_event event = command_event(cell, ask, HISTORY_KEY_SET, NULL);
    event_until(&event, cell, cell_session_at(cell, number), door);
    event.fence = lock->generation;
    event.flags |= HISTORY_HAS_FENCE;
    answer(door, ask, LOCK_REPLY_NUMBER, lock->generation, door->record(door, &event));
}

static void cell_keep(struct cell *cell, const struct server_ask *ask, struct server_door *door)
{
    uint32_t number = session_find(cell, ask);
    if (number == CELL_NOBODY) {
        answer(door, ask, LOCK_REPLY_NO, 0, SERVER_NO_EVENT);
        return;
    }
    struct cell_session *session = cell_session_at(cell, number);
    session->waits = true; /* one that waited before is answered by this one */
    session->keep = *ask;
    session->came_ns = cell_clock(cell, door);
    session_arm(cell, number, door);
}

static void cell_release(struct cell *cell, const struct server_ask *ask, struct server_door *door)
{
    uint32_t number = session_find(cell, ask);
    struct cell_lock *lock = &cell->locks[ask->resource];
    bool ours = number != CELL_NOBODY && lock->holder == number;
    const struct lock_value *owner =
        lock->holder == CELL_NOBODY ? NULL : &cell_session_at(cell, lock->holder)->value;
    struct history_event event =
        command_event(cell, ask, ours ? HISTORY_KEY_DELETED : HISTORY_KEY_KEPT, owner);
    event.cause = ours ? CAUSE_RELEASED : CAUSE_NONE;
    uint64_t told = door->record(door, &event);
    if (ours) {
        lock->holder = CELL_NOBODY; /* given back: there is no lock-delay */
    }
    if (number != CELL_NOBODY) {
        session_remove(cell, number, door);
    }
    answer(door, ask, ours ? LOCK_REPLY_YES : LOCK_REPLY_NO, 0, told);
}

static void cell_ask(void *state, const struct server_ask *ask, struct server_door *door)
{
    struct cell *cell = state;
    if (ask->node != cell->master || !cell_master_serves(cell)) { /* without a majority: nobody's */
        answer(door, ask, LOCK_REPLY_ERROR, 0, SERVER_NO_EVENT);
        return;
    }
    switch ((enum chubby_command)ask->command.kind) {
    case CHUBBY_OPEN:
        cell_open(cell, ask, door);
        return;
    case CHUBBY_ACQUIRE:
        cell_acquire(cell, ask, door);
        return;
    case CHUBBY_KEEP_ALIVE:
        cell_keep(cell, ask, door);
        return;
    case CHUBBY_RELEASE:
        cell_release(cell, ask, door);
        return;
    case CHUBBY_COMMANDS:
        break;
    }
    UNREACHABLE();
}

/* ---- the model ------------------------------------------------------------------------------- */

static void cell_wake(void *state, uint32_t wake, struct server_door *door)
{
    struct cell *cell = state;
    if (wake == cell_election_wake(cell)) {
        cell_elect(cell, door);
    } else {
        cell_wake_session(cell, wake, door);
    }
}

static void cell_bent(void *state, uint32_t node, struct server_door *door)
{
    struct cell *cell = state;
    if (node == cell->master) {
        cell_rearm(cell, door);
    }
}

/* What was answered stands in the logs of a majority. */
static uint32_t cell_unsynced(void *state, uint32_t node, struct server_door *door)
{
    (void)state;
    (void)node;
    (void)door;
    return 0;
}

static const struct server_model model = {
    .bytes = cell_bytes,
    .wakes = cell_wakes,
    .init = cell_init,
    .ask = cell_ask,
    .wake = cell_wake,
    .bent = cell_bent,
    .froze = cell_froze,
    .reach = cell_reach,
    .unsynced = cell_unsynced,
    .stop = cell_stop,
    .start = cell_start,
};

const struct server_kind server_kind_chubby = {
    .name = "chubby",
    .dialect = &chubby_dialect,
    .model = &model,
    .one_store = true,
};
