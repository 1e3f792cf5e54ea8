/* test_fence_order.c: fences are unique and grow in grant order. */
#include "tests/checker/story.h"

#define IN_TURN(first, second)                                                                     \
    ASK(1, 1)                                                                                      \
    GRANT_FENCE(2, 1, first) FREE(3, 1) FREED(4, 1) ASK(5, 2) GRANT_FENCE(6, 2, second)

Test(fence_order, growing_fences_pass)
{
    struct check_result result = judge_lines("fence_order", HEADER IN_TURN(7, 8));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)2);
}

Test(fence_order, falling_and_equal_fences_fail)
{
    struct check_result result = judge_lines("fence_order", HEADER IN_TURN(8, 7));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_evidence(result, 1, 5);
    result = judge_lines("fence_order", HEADER IN_TURN(8, 8));
    assert_verdict(result, VERDICT_FAIL);
    cr_assert_str_eq(headline("fence_order", HEADER IN_TURN(8, 7)),
                     "fence_order: client 2 was granted r0 at 6 ms with fence 7 after client 1 "
                     "with fence 8");
}

Test(fence_order, what_is_not_above_zero_is_no_fence)
{
    static const char *const stories[] = {HEADER IN_TURN(0, 7), HEADER IN_TURN(-5, 7),
                                          HEADER IN_TURN(8, -5), HEADER IN_TURN(8, 0)};
    for (size_t i = 0; i < sizeof stories / sizeof stories[0]; i++) {
        struct check_result result = judge_lines("fence_order", stories[i]);
        assert_verdict(result, VERDICT_PASS);
        cr_assert_eq(result.judged, (uint64_t)1);
    }
    assert_verdict(judge_lines("fence_order", HEADER IN_TURN(-5, -6)), VERDICT_SKIPPED);
}

Test(fence_order, concurrent_acquires_may_get_their_fences_in_either_order)
{
    assert_verdict(judge_lines("fence_order", HEADER ASK(1, 1) ASK(2, 2) GRANT_FENCE(3, 1, 8)
                                                  GRANT_FENCE(4, 2, 7)),
                   VERDICT_PASS);
}

Test(fence_order, concurrent_acquires_never_get_the_same_fence)
{
    struct check_result result = judge_lines(
        "fence_order", HEADER ASK(1, 1) ASK(2, 2) GRANT_FENCE(3, 1, 8) GRANT_FENCE(4, 2, 8));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_evidence(result, 2, 3);
}

/* Client 2 asked before client 1 was granted, and was let in when it had gone. */
#define IN_LINE(fault, first, second)                                                              \
    ASK(1, 1)                                                                                      \
    ASK(2, 2) fault GRANT_FENCE(3, 1, first) FREE(4, 1) FREED(5, 1) GRANT_FENCE(8, 2, second)

Test(fence_order, who_is_let_in_behind_another_has_the_larger_fence_whenever_it_asked)
{
    assert_verdict(judge_lines("fence_order", HEADER IN_LINE("", 7, 8)), VERDICT_PASS);
    struct check_result result = judge_lines("fence_order", HEADER IN_LINE("", 8, 7));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_evidence(result, 2, 5);
    /* Its own lease had to run then: else nobody knows which of the two held it first. */
    assert_verdict(judge_lines("fence_order", HEADER ASK(1, 1) ASK(2, 2) GRANT_FENCE(3, 1, 8)
                                                  FREE(4, 1) FREED(5, 1) GRANT_FENCE(1500, 2, 7)),
                   VERDICT_PASS);
    /* It was not being given back yet. */
    assert_verdict(judge_lines("fence_order", HEADER ASK(1, 1) ASK(2, 2) GRANT_FENCE(3, 1, 8)
                                                  GRANT_FENCE(8, 2, 7) FREE(9, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("fence_order", HEADER ASK(1, 1) ASK(2, 2) GRANT_FENCE(3, 1, 8)
                                                  FREE(8, 1) GRANT_FENCE(8, 2, 7)),
                   VERDICT_PASS);
}

Test(fence_order, leases_that_a_fault_may_have_broken_put_no_grants_in_order)
{
    assert_verdict(judge_lines("fence_order",
                               HEADER IN_LINE(FAULT_OF_NODE(2, 1, "clock_jump", "start", 1), 8, 7)),
                   VERDICT_PASS);
    assert_verdict(
        judge_lines("fence_order",
                    HEADER IN_LINE(FAULT_OF_CLIENT(2, 2, "clock_rate", "start", 1), 8, 7)),
        VERDICT_PASS);
    assert_verdict(judge_lines("fence_order",
                               HEADER IN_LINE(FAULT_OF_CLIENT(2, 2, "pause", "start", 1), 8, 7)),
                   VERDICT_FAIL);
    assert_verdict(
        judge_lines("fence_order", HEADER IN_LINE(STOOD_STILL(2, "suspend", 2000), 8, 7)),
        VERDICT_UNKNOWN);
}

Test(fence_order, counters_lost_with_a_nodes_memory_are_an_assumption)
{
    assert_fails(judge_lines("fence_order", HEADER ASK(1, 1) GRANT_FENCE(2, 1, 8) FREE(3, 1) FREED(
                                                4, 1) FAULT_OF_NODE(5, 1, "power_loss", "start", 1)
                                                ASK(6, 2) GRANT_FENCE(7, 2, 1)),
                 BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE);
}

Test(fence_order, counters_that_a_node_evicted_are_the_deployments)
{
    assert_fails(judge_lines("fence_order", HEADER ASK(1, 1) GRANT_FENCE(2, 1, 8) FREE(3, 1)
                                                FREED(4, 1) FAULT_OF_NODE(5, 1, "evict", "start", 1)
                                                    ASK(6, 2) GRANT_FENCE(7, 2, 1)),
                 BLAME_DEPLOYMENT, ASSUMPTION_MEMORY);
}

Test(fence_order, grants_without_fences_are_nothing_judged)
{
    assert_verdict(judge_lines("fence_order", HEADER ASK(1, 1) GRANT(2, 1, "a", 1000)),
                   VERDICT_SKIPPED);
}

/* What returns at the very time at which another asks overlaps it. */
Test(fence_order, grant_and_ask_at_one_time_are_in_no_order)
{
    assert_verdict(judge_lines("fence_order", HEADER ASK(1, 1) GRANT_FENCE(5, 1, 7) ASK(5, 2)
                                                  GRANT_FENCE(8, 2, 6)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("fence_order", HEADER ASK(1, 1) GRANT_FENCE(5, 1, 7) ASK(6, 2)
                                                  GRANT_FENCE(8, 2, 6)),
                   VERDICT_FAIL);
    /* ... but what was granted before that time still comes first. */
    assert_verdict(judge_lines("fence_order",
                               HEADER ASK(1, 1) GRANT_FENCE(3, 1, 7) FREE(4, 1) FREED(4, 1)
                                   ASK(4, 1) GRANT_FENCE(5, 1, 8) ASK(5, 2) GRANT_FENCE(8, 2, 6)),
                   VERDICT_FAIL);
}

/* The release was lost: the owner met its own lock, and went on with it and its fence. */
#define DECLARES(features)                                                                         \
    "{'format':'picklock-history','version':1,'nodes':1,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'declared':true,'declares':[" features "]}\n"
#define SAME_AGAIN(features, p)                                                                    \
    DECLARES(features)                                                                             \
    ASK(1, 1)                                                                                      \
    GRANT_FENCE(2, 1, 7) FREE(3, 1) UNKNOWN(4, 1, "release") ASK(6, p) GRANT_FENCE(7, p, 7)

Test(fence_order, an_owner_that_may_hold_it_still_may_have_its_fence_again)
{
    assert_verdict(judge_lines("fence_order", SAME_AGAIN("'reentrant','fence'", 1)), VERDICT_PASS);
    assert_verdict(judge_lines("fence_order", SAME_AGAIN("'reentrant','fence'", 2)), VERDICT_FAIL);
    assert_verdict(judge_lines("fence_order", SAME_AGAIN("'fence'", 1)), VERDICT_FAIL);
}
