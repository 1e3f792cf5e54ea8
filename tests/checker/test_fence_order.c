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
