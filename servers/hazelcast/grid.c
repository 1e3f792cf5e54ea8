/* grid.c: a Hazelcast cluster in memory: its CP sessions, and the time that ends them. */
#include "servers/hazelcast/grid.h"

#include "base/assert.h"
#include "base/duration.h"
#include "servers/hazelcast/locks.h"

#include <assert.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

static_assert(_Alignof(struct grid_shown) % _Alignof(struct grid_lock) == 0 &&
                  _Alignof(struct grid_lock) % _Alignof(struct grid_session) == 0,
              "each may begin where the one before it ends");
static_assert(sizeof(struct grid_session) % _Alignof(struct grid_lock) == 0,
              "and the next copy may, too");

static size_t copy_bytes(uint32_t resource_count, uint32_t client_count)
{
    size_t sessions = (size_t)resource_count * client_count * GRID_SESSIONS;
    return resource_count * sizeof(struct grid_lock) + sessions * sizeof(struct grid_session);
}

static uint32_t copies_of(const struct server_shape *shape)
{
    return shape->consensus == CONSENSUS_NONE ? shape->node_count : 1;
}

uint32_t grid_session_count(const struct grid *grid)
{
    return grid->resource_count * grid->client_count * GRID_SESSIONS;
}

size_t grid_copy_bytes(const struct grid *grid)
{
    return copy_bytes(grid->resource_count, grid->client_count);
}

struct grid_lock *grid_lock_at(struct grid *grid, uint32_t copy, uint32_t resource)
{
    ASSERT(copy < grid->copies);
    ASSERT(resource < grid->resource_count);
    char *copies = (void *)&grid->shown[grid->resource_count];
    struct grid_lock *locks = (void *)(copies + copy * grid_copy_bytes(grid));
    return &locks[resource];
}

struct grid_session *grid_session_at(struct grid *grid, uint32_t copy, uint32_t number)
{
    ASSERT(number < grid_session_count(grid));
    struct grid_lock *locks = grid_lock_at(grid, copy, 0);
    struct grid_session *sessions = (void *)&locks[grid->resource_count];
    return &sessions[number];
}

static uint32_t session_wake_number(const struct grid *grid, uint32_t copy, uint32_t number)
{
    return copy * grid_session_count(grid) + number;
}

uint32_t grid_election_wake(const struct grid *grid)
{
    return grid->copies * grid_session_count(grid);
}

static uint32_t grid_wakes(const struct server_shape *shape)
{
    return copies_of(shape) * shape->resource_count * shape->client_count * GRID_SESSIONS + 1;
}

static size_t grid_bytes(const struct server_shape *shape)
{
    return sizeof(struct grid) + shape->resource_count * sizeof(struct grid_shown) +
           copies_of(shape) * copy_bytes(shape->resource_count, shape->client_count);
}

/* "group-size ... must be an odd number between 3 and 7". */
static uint64_t group_of(uint32_t node_count)
{
    uint32_t size = node_count > 7 ? 7 : node_count;
    size -= size > 2 && size % 2 == 0 ? 1 : 0;
    return (UINT64_C(1) << size) - 1;
}

static void grid_init(void *state, const struct server_shape *shape)
{
    struct grid *grid = state;
    memset(grid, 0, grid_bytes(shape));
    grid->dialect = shape->dialect;
    grid->node_count = shape->node_count;
    grid->client_count = shape->client_count;
    grid->resource_count = shape->resource_count;
    grid->copies = copies_of(shape);
    grid->group = group_of(shape->node_count);
    grid->group_size = (uint32_t)__builtin_popcountll(grid->group);
    grid->knows = grid->group;
    for (uint32_t copy = 0; copy < grid->copies; copy++) {
        grid_copy_clear(grid, copy);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

static int64_t wall_ns(const struct server_door *door, uint32_t node)
{
    return clock_local(&door->nodes[node].wall, door->true_ns);
}

uint32_t grid_keeper(const struct grid *grid, uint32_t copy)
{
    return grid->copies > 1 ? copy : grid->leader;
}

/* The first look from a true time on, of those that are `each_ns` apart. */
static int64_t look_ns(const struct grid *grid, uint32_t copy, int64_t true_ns, int64_t each_ns,
                       const struct server_door *door)
{
    const struct clock *mono = &door->nodes[grid_keeper(grid, copy)].mono;
    int64_t length_ns = clock_local(mono, true_ns) - grid->looks_ns[copy];
    int64_t looks = (length_ns + each_ns - 1) / each_ns;
    return clock_true(mono, grid->looks_ns[copy] + looks * each_ns);
}

/* The first look at which the wall clock of its keeper shows so late, but none before now. */
static int64_t seen_ns(const struct grid *grid, uint32_t copy, int64_t wall_end_ns, int64_t each_ns,
                       const struct server_door *door)
{
    int64_t over_ns = clock_true(&door->nodes[grid_keeper(grid, copy)].wall, wall_end_ns);
    over_ns = over_ns < door->true_ns ? door->true_ns : over_ns;
    return over_ns == TIME_NEVER ? over_ns : look_ns(grid, copy, over_ns, each_ns, door);
}

/* When an invocation that waits has waited for long enough. */
static int64_t wait_over_ns(const struct grid *grid, uint32_t copy,
                            const struct grid_session *session, const struct server_door *door)
{
    int64_t end_ns = session->wait_over_ns[grid_keeper(grid, copy)];
    int64_t seen = seen_ns(grid, copy, end_ns, GRID_WAITS_NS, door);
    return session->wait_end_ns < seen ? session->wait_end_ns : seen;
}

void grid_session_arm(struct grid *grid, uint32_t copy, uint32_t number, struct server_door *door)
{
    const struct grid_session *session = grid_session_at(grid, copy, number);
    int64_t true_ns = TIME_NEVER;
    if (session->open && grid_copy_serves(grid, copy)) {
        int64_t end_ns = session->end_ns[grid_keeper(grid, copy)];
        int64_t wait_ns = session->waits ? wait_over_ns(grid, copy, session, door) : TIME_NEVER;
        true_ns = seen_ns(grid, copy, end_ns, GRID_LOOK_NS, door);
        true_ns = wait_ns < true_ns ? wait_ns : true_ns;
        true_ns = true_ns < door->true_ns ? door->true_ns : true_ns;
    }
    door->arm(door, session_wake_number(grid, copy, number), true_ns);
}

void grid_rearm(struct grid *grid, struct server_door *door)
{
    for (uint32_t copy = 0; copy < grid->copies; copy++) {
        for (uint32_t i = 0; i < grid_session_count(grid); i++) {
            if (grid_session_at(grid, copy, i)->open) {
                grid_session_arm(grid, copy, i, door);
            }
        }
    }
}

static void end_move(struct grid_session *session, uint32_t node, const struct server_door *door)
{
    int64_t end_ns = wall_ns(door, node) + session->ttl_ns;
    session->end_ns[node] = end_ns > session->end_ns[node] ? end_ns : session->end_ns[node];
}

void grid_wait_set(struct grid *grid, struct grid_session *session, int64_t wait_ns,
                   const struct server_door *door)
{
    session->wait_ns = wait_ns;
    session->wait_end_ns = wait_ns <= GRID_TIMED_NS ? door->true_ns + wait_ns : TIME_NEVER;
    for (uint32_t node = 0; node < grid->node_count; node++) {
        session->wait_over_ns[node] = wall_ns(door, node) + wait_ns;
    }
}

/* Each member carries it out by its own clock; those that do not hear of it now do so later. */
void grid_session_extend(struct grid *grid, uint32_t copy, struct grid_session *session,
                         const struct server_door *door)
{
    uint64_t deaf = grid->down | grid->frozen | grid->apart[grid_keeper(grid, copy)];
    for (uint32_t node = 0; node < grid->node_count; node++) {
        if ((deaf >> node & 1) == 0) {
            end_move(session, node, door);
        }
    }
    session->sound_ns = door->true_ns + session->ttl_ns;
}

void grid_catch_up(struct grid *grid, uint32_t node, const struct server_door *door)
{
    for (uint32_t copy = 0; copy < grid->copies; copy++) {
        for (uint32_t i = 0; i < grid_session_count(grid); i++) {
            struct grid_session *session = grid_session_at(grid, copy, i);
            if (session->open) {
                end_move(session, node, door);
                session->wait_over_ns[node] = wall_ns(door, node) + session->wait_ns;
            }
        }
    }
}

void grid_sessions_shift(struct grid *grid)
{
    for (uint32_t i = 0; i < grid_session_count(grid); i++) {
        struct grid_session *session = grid_session_at(grid, 0, i);
        for (uint32_t node = 0; session->open && node < grid->node_count; node++) {
            session->end_ns[node] += GRID_HEARTBEAT_NS;
        }
        session->sound_ns += GRID_HEARTBEAT_NS;
    }
}

/* Why a session is over now: one that is not early was looked at late, or not at all. */
static struct server_turn expiry_cause(const struct grid *grid, uint32_t copy,
                                       const struct grid_session *session,
                                       const struct server_door *door)
{
    const struct server_node *node = &door->nodes[grid_keeper(grid, copy)];
    bool early = door->true_ns < session->sound_ns - 2 * NS_PER_MS;
    bool jumped = node->jumped_ns >= session->sound_ns - session->ttl_ns - GRID_HEARTBEAT_NS;
    return (struct server_turn){
        .node = grid_keeper(grid, copy),
        .cause = !early   ? CAUSE_TTL
                 : jumped ? CAUSE_CLOCK_JUMP
                          : CAUSE_CLOCK_RATE,
        .fault = !early   ? HISTORY_NO_FAULT
                 : jumped ? node->jump_fault
                          : node->rate_fault,
    };
}

/* ---- the model ------------------------------------------------------------------------------- */

static void session_wake(struct grid *grid, uint32_t copy, uint32_t number,
                         struct server_door *door)
{
    struct grid_session *session = grid_session_at(grid, copy, number);
    ASSERT(session->open);
    if (!grid_copy_serves(grid, copy)) {
        return;
    }
    uint32_t keeper = grid_keeper(grid, copy);
    int64_t now_ns = door->true_ns;
    if (session->end_ns[keeper] <= wall_ns(door, keeper) &&
        look_ns(grid, copy, now_ns, GRID_LOOK_NS, door) <= now_ns) {
        struct server_turn why = expiry_cause(grid, copy, session, door);
        grid_session_end(grid, copy, number, &why, door);
        return;
    }
    if (session->waits && wait_over_ns(grid, copy, session, door) <= now_ns) {
        grid_wait_over(grid, copy, number, door);
    }
    grid_session_arm(grid, copy, number, door);
}

static void grid_wake(void *state, uint32_t wake, struct server_door *door)
{
    struct grid *grid = state;
    uint32_t sessions = grid_session_count(grid);
    if (wake == grid_election_wake(grid)) {
        grid_elect(grid, door);
    } else {
        session_wake(grid, wake / sessions, wake % sessions, door);
    }
}

static void grid_bent(void *state, uint32_t node, struct server_door *door)
{
    (void)node;
    grid_rearm(state, door);
}

/* Nothing waits for a disk. */
static uint32_t grid_unsynced(void *state, uint32_t node, struct server_door *door)
{
    (void)state;
    (void)node;
    (void)door;
    return 0;
}

const struct server_model hazelcast_grid = {
    .bytes = grid_bytes,
    .wakes = grid_wakes,
    .init = grid_init,
    .ask = grid_ask,
    .wake = grid_wake,
    .bent = grid_bent,
    .froze = grid_froze,
    .reach = grid_reach,
    .unsynced = grid_unsynced,
    .stop = grid_stop,
    .start = grid_start,
};
