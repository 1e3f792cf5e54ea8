/* members.c: who is there of a Chubby cell, and who is its master. */
#include "servers/chubby/cell.h"

#include "base/assert.h"

/* Bit n: member n does not run. */
static uint64_t members_idle(const struct cell *cell)
{
    return cell->down | cell->frozen;
}

/* ... or is of no use to the others. */
static uint64_t members_away(const struct cell *cell)
{
    return members_idle(cell) | cell->cut;
}

static bool majority_is_there(const struct cell *cell)
{
    uint32_t away = (uint32_t)__builtin_popcountll(members_away(cell));
    return cell->node_count - away >= lock_quorum(cell->node_count);
}

/* Writes are "acknowledged when the write has reached a majority of the replicas in the cell"
 * (2.1). */
bool cell_master_serves(const struct cell *cell)
{
    return cell->master != CELL_NOBODY && (members_away(cell) >> cell->master & 1) == 0 &&
           majority_is_there(cell);
}

/* KeepAlives that waited at a master that is none any more are answered by nobody. */
static void master_steps_down(struct cell *cell)
{
    cell->before = cell->master;
    cell->master = CELL_NOBODY;
    for (uint32_t i = 0; i < cell_session_count(cell); i++) {
        cell_session_at(cell, i)->waits = false;
    }
}

/* "extends the leases to the full lease that the previous master may have been using". */
static void master_elected(struct cell *cell, struct server_door *door)
{
    ASSERT(majority_is_there(cell));
    uint32_t node = cell->before;
    do {
        node = (node + 1) % cell->node_count;
    } while ((members_away(cell) >> node & 1) != 0);
    cell->master = node;
    for (uint32_t i = 0; i < cell->resource_count; i++) {
        struct cell_lock *lock = &cell->locks[i];
        if (lock->free_ns != INT64_MIN) { /* how much of it is over is not known to the new one */
            lock->free_ns = cell_clock(cell, door) + lock->delay_ns;
        }
    }
    for (uint32_t i = 0; i < cell_session_count(cell); i++) {
        struct cell_session *session = cell_session_at(cell, i);
        if (session->open) {
            cell_session_extend(cell, session, door);
            session->told_ns = INT64_MIN / 2;
        }
    }
    cell_rearm(cell, door);
}

void cell_elect(struct cell *cell, struct server_door *door)
{
    if (cell_master_serves(cell)) {
        return;
    }
    if (cell->master != CELL_NOBODY) {
        master_steps_down(cell);
    }
    if (majority_is_there(cell)) {
        master_elected(cell, door);
    }
}

/* A member went or came: when the master's lease is over, it is seen who can be one. */
static void member_turned(struct cell *cell, struct server_door *door)
{
    bool calm = cell_master_serves(cell);
    door->arm(door, cell_election_wake(cell),
              calm ? TIME_NEVER : door->true_ns + cell->election_ns);
    cell_rearm(cell, door);
}

void cell_froze(void *state, uint32_t node, bool frozen, struct server_door *door)
{
    struct cell *cell = state;
    uint64_t bit = UINT64_C(1) << node;
    cell->frozen = frozen ? cell->frozen | bit : cell->frozen & ~bit;
    member_turned(cell, door);
}

/* Whoever its links leave no majority is cut off from the others, and does nothing without them. */
void cell_reach(void *state, struct server_door *door)
{
    struct cell *cell = state;
    for (uint32_t node = 0; node < cell->node_count; node++) {
        uint32_t company = cell->node_count;
        for (uint32_t other = 0; other < cell->node_count; other++) {
            bool run = ((members_idle(cell) >> node | members_idle(cell) >> other) & 1) == 0 &&
                       other != node;
            company -=
                run && !(door->reaches(door, node, other) && door->reaches(door, other, node));
        }
        if ((company < lock_quorum(cell->node_count)) != ((cell->cut >> node & 1) != 0)) {
            cell->cut ^= UINT64_C(1) << node;
            member_turned(cell, door);
        }
    }
}

uint32_t cell_stop(void *state, const struct server_turn *turn, enum server_stop how, uint32_t kept,
                   struct server_door *door)
{
    struct cell *cell = state;
    (void)how;
    (void)kept;
    if (turn->node == cell->master) {
        master_steps_down(cell);
    }
    cell->down |= UINT64_C(1) << turn->node;
    member_turned(cell, door);
    return 0;
}

void cell_start(void *state, const struct server_turn *turn, struct server_door *door)
{
    struct cell *cell = state;
    cell->down &= ~(UINT64_C(1) << turn->node);
    member_turned(cell, door);
}
