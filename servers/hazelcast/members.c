/* members.c: who leads a CP group, or which parts a cluster has, while its members come and go. */
#include "servers/hazelcast/grid.h"
#include "servers/hazelcast/locks.h"

#include "base/assert.h"

#include <string.h>

static uint64_t bit_of(uint32_t node)
{
    return UINT64_C(1) << node;
}

static int64_t mono_ns(const struct server_door *door, uint32_t node)
{
    return clock_local(&door->nodes[node].mono, door->true_ns);
}

bool grid_is_there(const struct grid *grid, uint32_t node)
{
    return ((grid->down | grid->frozen) >> node & 1) == 0;
}

/* Of the group as it was agreed on, also of those that are gone. */
static bool has_majority(const struct grid *grid, uint32_t node)
{
    uint64_t with = grid->knows & ~(grid->down | grid->frozen | grid->apart[node]);
    uint32_t size = (uint32_t)__builtin_popcountll(grid->group);
    return grid_is_there(grid, node) && (grid->knows >> node & 1) != 0 &&
           (uint32_t)__builtin_popcountll(with) >= lock_quorum(size);
}

bool grid_leader_serves(const struct grid *grid)
{
    return grid->leader != GRID_NOBODY && has_majority(grid, grid->leader);
}

bool grid_copy_serves(const struct grid *grid, uint32_t copy)
{
    if (grid->copies == 1) {
        return grid_leader_serves(grid);
    }
    return grid_is_there(grid, copy) && grid->primary[copy] == copy;
}

uint32_t grid_copy_of(const struct grid *grid, uint32_t node)
{
    uint32_t server = grid->copies == 1 ? grid->leader : grid->primary[node];
    bool served = server != GRID_NOBODY && (grid->apart[node] >> server & 1) == 0 &&
                  grid_copy_serves(grid, grid->copies == 1 ? 0 : server);
    return !served ? GRID_NOBODY : grid->copies == 1 ? 0 : server;
}

/* ---- a group --------------------------------------------------------------------------------- */

/* "all CP state/data are lost": a fresh group, which knows nothing. */
static void group_begins_anew(struct grid *grid, struct server_door *door)
{
    grid_copy_gone(grid, 0, CAUSE_RESTART, door);
    grid->knows = grid->group;
}

/* Whoever is back and knows nothing is made a member again by those who know. */
static void members_admit(struct grid *grid, struct server_door *door)
{
    uint64_t away = grid->down | grid->frozen;
    uint32_t knowing = (uint32_t)__builtin_popcountll(grid->knows);
    bool lost = knowing < lock_quorum((uint32_t)__builtin_popcountll(grid->group));
    if (lost && (grid->group & away) == 0) {
        group_begins_anew(grid, door);
    }
    uint64_t back = grid->group & ~(grid->knows | away);
    for (uint32_t node = 0; back != 0 && node < grid->node_count; node++) {
        if ((back >> node & 1) != 0 && grid_leader_serves(grid) &&
            (grid->apart[node] >> grid->leader & 1) == 0) {
            grid->knows |= bit_of(node);
            grid_catch_up(grid, node, door);
        }
    }
}

static void leader_look(struct grid *grid, struct server_door *door)
{
    members_admit(grid, door);
    if (grid_leader_serves(grid)) {
        return;
    }
    if (grid->leader != GRID_NOBODY) {
        grid->before = grid->leader;
        grid->leader = GRID_NOBODY;
    }
    for (uint32_t i = 1; i <= grid->node_count; i++) {
        uint32_t node = (grid->before + i) % grid->node_count;
        if (has_majority(grid, node)) {
            grid->leader = node;
            grid->looks_ns[0] = mono_ns(door, node);
            grid_sessions_shift(grid);
            members_admit(grid, door);
            return;
        }
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Each part by the first member that is in it. */
static void parts_find(const struct grid *grid, uint32_t part[LOCK_NODES_MAX])
{
    for (uint32_t node = 0; node < grid->node_count; node++) {
        part[node] = grid_is_there(grid, node) ? node : GRID_NOBODY;
        for (uint32_t other = 0; other < node && part[node] == node; other++) {
            bool joined = part[other] == other && (grid->apart[node] >> other & 1) == 0;
            part[node] = joined ? other : node;
        }
    }
}

/* Whose state goes on in a part: that of the most of its members, as they were before. */
static uint32_t part_state(const struct grid *grid, const uint32_t part[LOCK_NODES_MAX],
                           uint32_t first)
{
    uint32_t most = 0;
    uint32_t found = GRID_NOBODY;
    for (uint32_t state = 0; state < grid->node_count; state++) {
        uint32_t count = 0;
        for (uint32_t node = 0; node < grid->node_count; node++) {
            count += part[node] == first && grid->primary[node] == state;
        }
        found = count > most ? state : found;
        most = count > most ? count : most;
    }
    return found;
}

/* It goes on with all that was known, but nobody who waits elsewhere. */
static void copy_take(struct grid *grid, uint32_t from, uint32_t to)
{
    memcpy(grid_lock_at(grid, to, 0), grid_lock_at(grid, from, 0), grid_copy_bytes(grid));
    grid->log[to] = grid->log[from];
    for (uint32_t i = 0; i < grid_session_count(grid); i++) {
        grid_session_at(grid, to, i)->waits = false;
    }
    for (uint32_t i = 0; i < grid->resource_count && !grid_is_there(grid, from); i++) {
        struct grid_shown *shown = &grid->shown[i];
        shown->copy = shown->held && shown->copy == from ? to : shown->copy;
    }
}

static void parts_look(struct grid *grid, struct server_door *door)
{
    uint32_t part[LOCK_NODES_MAX];
    uint32_t primary[LOCK_NODES_MAX];
    parts_find(grid, part);
    for (uint32_t node = 0; node < grid->node_count; node++) {
        uint32_t state = part[node] != node ? GRID_NOBODY : part_state(grid, part, node);
        bool stays = state != GRID_NOBODY && part[state] == node;
        primary[node] = part[node] != node ? part[node] : stays ? state : node;
        if (part[node] == node && state != GRID_NOBODY && !stays) {
            grid_copy_gone(grid, node, CAUSE_SPLIT, door);
            copy_take(grid, state, node);
        }
    }
    for (uint32_t node = 0; node < grid->node_count; node++) {
        uint32_t first = part[node];
        uint32_t now = first == GRID_NOBODY ? GRID_NOBODY : primary[first];
        bool was = grid->primary[node] == node;
        grid->looks_ns[node] = now == node && !was ? mono_ns(door, node) : grid->looks_ns[node];
        primary[node] = first == node ? primary[node] : now;
        if (was && now != node) {
            grid_copy_gone(grid, node, CAUSE_SPLIT, door);
        }
    }
    memcpy(grid->primary, primary, sizeof grid->primary);
}

/* What it answered from the others have too, if there are any. */
static void part_member_gone(struct grid *grid, uint32_t node, struct server_door *door)
{
    bool kept = false;
    for (uint32_t other = 0; other < grid->node_count; other++) {
        kept |= other != node && grid->primary[other] == node;
    }
    if (grid->primary[node] == node && !kept) {
        grid_copy_gone(grid, node, CAUSE_RESTART, door);
    }
    grid->primary[node] = GRID_NOBODY;
}

/* ---- both ------------------------------------------------------------------------------------ */

void grid_elect(struct grid *grid, struct server_door *door)
{
    if (grid->copies == 1) {
        leader_look(grid, door);
    } else {
        parts_look(grid, door);
    }
    grid_rearm(grid, door);
}

/* A member went or came: after a while it is seen who can lead. */
static void members_turned(struct grid *grid, struct server_door *door)
{
    bool calm = grid->copies == 1 && grid_leader_serves(grid);
    if (calm) {
        members_admit(grid, door);
    }
    door->arm(door, grid_election_wake(grid), calm ? TIME_NEVER : door->true_ns + GRID_ELECTION_NS);
    grid_rearm(grid, door);
}

void grid_reach(void *state, struct server_door *door)
{
    struct grid *grid = state;
    for (uint32_t a = 0; a < grid->node_count; a++) {
        uint64_t apart = 0;
        for (uint32_t b = 0; b < grid->node_count; b++) {
            bool reached = a == b || (door->reaches(door, a, b) && door->reaches(door, b, a));
            apart |= reached ? 0 : bit_of(b);
        }
        if ((grid->apart[a] & ~apart) != 0) {
            grid_catch_up(grid, a, door);
        }
        grid->apart[a] = apart;
    }
    members_turned(grid, door);
}

void grid_froze(void *state, uint32_t node, bool frozen, struct server_door *door)
{
    struct grid *grid = state;
    grid->frozen = frozen ? grid->frozen | bit_of(node) : grid->frozen & ~bit_of(node);
    if (!frozen) {
        grid_catch_up(grid, node, door);
    }
    members_turned(grid, door);
}

/* One that leaves in the clean way takes leave of the group, if that can agree to it. */
uint32_t grid_stop(void *state, const struct server_turn *turn, enum server_stop how, uint32_t kept,
                   struct server_door *door)
{
    struct grid *grid = state;
    (void)kept;
    bool leaves = how == SERVER_STOP_CLEAN && grid_leader_serves(grid);
    grid->group &= leaves ? ~bit_of(turn->node) : UINT64_MAX;
    grid->knows &= ~bit_of(turn->node);
    grid->down |= bit_of(turn->node);
    if (grid->copies > 1) {
        part_member_gone(grid, turn->node, door);
    }
    members_turned(grid, door);
    return 0;
}

void grid_start(void *state, const struct server_turn *turn, struct server_door *door)
{
    struct grid *grid = state;
    grid->down &= ~bit_of(turn->node);
    bool wanted = (uint32_t)__builtin_popcountll(grid->group) < grid->group_size;
    grid->group |= wanted ? bit_of(turn->node) : 0;
    members_turned(grid, door);
}
