/* test_replicas.c: WAIT counts the replicas that have said that they have it, and no others. */
#include "tests/sim/sim_fixture.h"

static struct fixture fixture;

#define WAITS_FOR_ITS_REPLICA                                                                      \
    "version: 1\nname: test\nabout: a test\nsource: the tests\n"                                   \
    "lock: {algorithm: single-wait, ttl: 6s, node_timeout: 500ms, "                                \
    "wait: {replicas: 1, timeout: 100ms}, retry: {count: 1, delay: 50ms, jitter: 0ms}}\n"          \
    "nodes: {replicas: 1}\nclients: {count: 1, hold: 20ms}\nduration: 5s\n"

static int acquires(enum history_type type)
{
    return count(&fixture, (struct wanted){.kind = IS(HISTORY_OP),
                                           .type = IS(type),
                                           .f = IS(HISTORY_ACQUIRE),
                                           .process = IS(0)});
}

/* Its key is set at the primary, and given back as WAIT answers 0. */
static void never_granted(const char *yaml)
{
    fixture_run(&fixture, yaml, 1);
    cr_assert_eq(acquires(HISTORY_OK), 0, "granted, though no replica has the key");
    cr_assert_gt(acquires(HISTORY_FAIL), 1);
    int set = count(&fixture, (struct wanted){.kind = IS(HISTORY_NODE), .f = IS(HISTORY_KEY_SET)});
    int deleted =
        count(&fixture, (struct wanted){.kind = IS(HISTORY_NODE), .f = IS(HISTORY_KEY_DELETED)});
    cr_assert_gt(set, 3);
    cr_assert_geq(deleted, set - 1);
    fixture_close(&fixture);
}

#define CUT(mode, direction)                                                                       \
    WAITS_FOR_ITS_REPLICA                                                                          \
    "faults:\n  - {at: 0s, do: partition, from: nodes 1, to: nodes 2, mode: " mode                 \
    ", direction: " direction "}\n" TAIL

Test(replicas, wait_is_answered_where_the_replica_can_be_reached)
{
    fixture_run(&fixture, WAITS_FOR_ITS_REPLICA TAIL, 1);
    cr_assert_gt(acquires(HISTORY_OK), 0);
    cr_assert_eq(acquires(HISTORY_FAIL), 0);
    fixture_close(&fixture);
}

Test(replicas, wait_finds_nobody_where_what_the_primary_writes_is_held)
{
    never_granted(CUT("hold", "request"));
}

Test(replicas, wait_finds_nobody_where_acknowledgements_are_held)
{
    never_granted(CUT("hold", "reply"));
}

Test(replicas, wait_finds_nobody_where_what_the_primary_writes_vanishes)
{
    never_granted(CUT("drop", "request"));
}

Test(replicas, wait_finds_nobody_where_the_link_is_refused)
{
    never_granted(
        WAITS_FOR_ITS_REPLICA
        "faults:\n  - {at: 0s, do: partition, from: nodes 1, to: nodes 2, mode: refuse}\n" TAIL);
}

#define HOLDS_TO_THE_END                                                                           \
    "version: 1\nname: test\nabout: a test\nsource: the tests\n"                                   \
    "lock: {algorithm: single, ttl: 2s, node_timeout: 500ms}\n"                                    \
    "nodes: {replicas: 1}\nclients: {count: 1, hold: 4s}\nduration: 8s\n"

/* What it would have forgotten at its date is gone with its memory. */
Test(replicas, a_primary_that_forgets_forgets_the_date_of_its_key_too)
{
    fixture_run(&fixture,
                HOLDS_TO_THE_END "faults:\n"
                                 "  - {on: client 1 after_granted, do: crash, target: nodes 1-2, "
                                 "for: 0s}\n" TAIL,
                1);
    cr_assert_gt(acquires(HISTORY_OK), 0);
    cr_assert_eq(
        count(&fixture, (struct wanted){.kind = IS(HISTORY_NODE), .f = IS(HISTORY_KEY_LOST)}), 1);
    cr_assert_eq(
        count(&fixture, (struct wanted){.kind = IS(HISTORY_NODE), .f = IS(HISTORY_KEY_EXPIRED)}),
        0);
    fixture_close(&fixture);
}
