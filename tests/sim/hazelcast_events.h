/* hazelcast_events.h: what befalls sessions of both: clocks that jump, leaders that lose
 * their office by it, waits and sessions that end. */
#ifndef TESTS_SIM_HAZELCAST_EVENTS_H
#define TESTS_SIM_HAZELCAST_EVENTS_H

#include "tests/sim/hazelcast_rig.h"

#include <stdlib.h>

/* ---- who asks whom --------------------------------------------------------------------------- */

/* Each asks one of the members that are there, by turns; who does so already goes on. */
static inline void rig_attach(struct rig *rig)
{
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        struct rig_row *row = &rig->rows[of];
        uint32_t node = of % RIG_NODES_MAX;
        while ((rig->away >> node & 1) != 0) {
            node = (node + 1) % RIG_NODES_MAX;
        }
        if (row->lines[0].connection != NULL && row->node == node) {
            continue;
        }
        rig_lines_close(row);
        row->node = node;
        for (uint32_t i = 0; i < RIG_LINES; i++) {
            rig_line_open(rig, of, i);
        }
    }
}

/* Both know the same of all locks. */
static inline void rig_look_around(struct rig *rig)
{
    uint32_t leader = rig_leader(rig);
    for (uint32_t resource = 0; resource < RIG_RESOURCES && !rig->failed; resource++) {
        rig_compare_lock(rig, leader, resource);
    }
}

/* ---- who leads ------------------------------------------------------------------------------- */

/* Which of those that can is elected is chance: the model takes who was. */
static inline void rig_model_elect(struct rig *rig, uint32_t leader)
{
    struct grid *grid = rig_grid(rig);
    grid->leader = GRID_NOBODY;
    grid->before = (leader + RIG_NODES_MAX - 1) % RIG_NODES_MAX;
    rig_model_wake(rig, grid_election_wake(grid));
    if (grid->leader != leader) {
        rig_differs(rig, "member %u leads, in the model it cannot", leader + 1);
    }
}

/* A leader that stood still for too long has a successor, also if nobody meant it to. */
static inline void rig_follow_leader(struct rig *rig)
{
    uint32_t leader = rig_leader(rig);
    uint32_t before = rig_grid(rig)->leader;
    if (before == leader) {
        return;
    }
    bool stood = before != GRID_NOBODY && (rig->away >> before & 1) == 0;
    if (stood) {
        hazelcast_grid.froze(rig->model, before, true, &rig->door);
    }
    rig_model_elect(rig, leader);
    if (stood) {
        hazelcast_grid.froze(rig->model, before, false, &rig->door);
    }
}

/* ---- sessions that end ----------------------------------------------------------------------- */

/* A member whose fellow's clock jumped takes what it hears from there for overdue, and refuses it,
 * until they have agreed on the time anew. */
static inline void rig_wait_agreed(struct rig *rig)
{
    int64_t first_ms;
    int64_t last_ms;
    do {
        first_ms = INT64_MAX;
        last_ms = INT64_MIN;
        rig_nap(20 * NS_PER_MS);
        for (uint32_t node = 0; node < RIG_NODES_MAX; node++) {
            char line[RIG_LOOK_BYTES] = "";
            rig_member_ask(rig, node, "cluster-clock\n", line);
            int64_t ms = strtoll(line + 1, NULL, 10);
            first_ms = ms < first_ms ? ms : first_ms;
            last_ms = ms > last_ms ? ms : last_ms;
        }
    } while (last_ms - first_ms > 60 * 1000);
}

static inline void rig_jump(struct rig *rig, uint32_t node, int64_t jump_ns)
{
    rig_model_time(rig);
    clock_jump(&rig->clocks[node].wall, rig->door.true_ns, jump_ns);
    node_clock_set(&rig->members.nodes[node], jump_ns, CLOCK_PAGE_PPM);
    hazelcast_grid.bent(rig->model, node, &rig->door);
    rig_wait_agreed(rig);
}

/* What the model has to do by itself for a session, if its time has come: of what was due before
 * the model was told, at the next look. */
static inline void rig_model_end(struct rig *rig, uint32_t of, bool (*over)(struct rig *, uint32_t))
{
    uint32_t number = rig_session_number(rig, of);
    rig_model_time(rig);
    if (rig->due_ns[number] > rig->door.true_ns + GRID_LOOK_NS) {
        rig_differs(rig, "row %u: Hazelcast is %" PRId64 " ms early", of,
                    (rig->due_ns[number] - rig->door.true_ns) / NS_PER_MS);
        return;
    }
    for (int i = 0; i < 2 && !over(rig, of); i++) {
        rig_model_wake(rig, number);
    }
    if (!over(rig, of)) {
        rig_differs(rig, "row %u: Hazelcast ends what the model does not", of);
    }
}

static inline bool rig_is_over(struct rig *rig, uint32_t of)
{
    return rig_session_number(rig, of) == GRID_NOBODY;
}

static inline bool rig_waits_no_more(struct rig *rig, uint32_t of)
{
    const struct grid_session *session = rig_session(rig, of);
    return session == NULL || !session->waits;
}

/* What the leader knows of a lock; false: another leads now, and nobody's clock says what it did.
 */
static inline bool rig_look_by_leader(struct rig *rig, uint32_t resource, struct rig_look *look)
{
    uint32_t leader;
    do {
        rig_nap(5 * NS_PER_MS);
        leader = rig_leader(rig);
    } while (!rig_look_at(rig, leader, resource, look));
    return leader == rig_grid(rig)->leader;
}

/* The cluster ends the waits of two rows of a lock, so that one is left. */
static inline bool rig_give_up(struct rig *rig, uint32_t first, uint32_t second)
{
    struct rig_look look = {.waiting = UINT32_MAX};
    do {
        if (!rig_look_by_leader(rig, rig_resource(first), &look) && look.waiting > 1) {
            return false;
        }
    } while (look.waiting > 1);
    rig_model_end(rig, first, rig_waits_no_more);
    rig_model_end(rig, second, rig_waits_no_more);
    rig->given_up += 2;
    return true;
}

/* The session of a row is over in the cluster: so it is in the model, if its time has come. */
static inline bool rig_expire(struct rig *rig, uint32_t of)
{
    struct rig_look look;
    bool led = true;
    int64_t end_ns = loop_now_ns() + RIG_WAIT_MS * NS_PER_MS;
    cr_assert_not(rig_is_over(rig, of));
    do {
        cr_assert_lt(loop_now_ns(), end_ns, "a session is to be over, and Hazelcast has it");
        if (!led) {
            return false;
        }
        led = rig_look_by_leader(rig, rig_resource(of), &look);
    } while (rig_has(look.sessions, &rig->rows[of].value));
    rig_model_end(rig, of, rig_is_over);
    rig->expired++;
    return true;
}

/* ---- the beginning and the end --------------------------------------------------------------- */

static inline void rig_open(struct rig *rig, int64_t ttl_ns)
{
    struct rig_look look;
    memset(rig, 0, sizeof *rig);
    if (getenv("PICKLOCK_HAZELCAST") == NULL) {
        (void)fprintf(stderr,
                      "hazelcast_differential: skipped: real members whose clocks jump stand "
                      "still now and then; make hazelcast-differential runs it\n");
        cr_skip_test("it is run by itself");
    }
    members_need(SERVER_KIND_hazelcast, "hazelcast_differential");
    members_open(&rig->members, SERVER_KIND_hazelcast, RIG_NODES_MAX, ttl_ns, true);
    members_start(&rig->members, 7);
    if (!rig_look_at(rig, 0, 0, &look)) {
        (void)fprintf(stderr, "hazelcast_differential: skipped: adapters/hazelcast was built from "
                              "older sources: make adapters\n");
        cr_skip_test("its members cannot say what they know");
    }
    rig_model_init(rig);
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        rig->rows[of].value = rig_value(rig); /* that there never was */
    }
    rig_attach(rig);
}

static inline void rig_close(struct rig *rig)
{
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        rig_lines_close(&rig->rows[of]);
    }
    members_close(&rig->members);
}

#endif
