/* test_linearizable.c: the check over a run's leases, and what the header of a check promises. */
#include "tests/checker/story.h"

#define CLIENT_1_HOLDS ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)

Test(linearizable, leases_one_after_the_other_pass)
{
    struct check_result result = judge_lines(
        "linearizable", HEADER CLIENT_1_HOLDS FREE(500, 1) FREED(505, 1) ASK(506, 2)
                            GRANT(520, 2, "b", 1500) ASK(1400, 1) GRANT(1500, 1, "c", 2500));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)3);
}

Test(linearizable, a_second_grant_inside_a_lease_fails)
{
    struct check_result result =
        judge_lines("linearizable", HEADER CLIENT_1_HOLDS ASK(20, 2) GRANT(30, 2, "b", 1500));
    assert_verdict(result, VERDICT_FAIL);
    cr_assert_eq(result.evidence_count, 2);
}

Test(linearizable, a_release_asked_at_the_very_time_of_the_grant_comes_first)
{
    assert_verdict(judge_lines("linearizable", HEADER CLIENT_1_HOLDS ASK(500, 2) GRANT(
                                                   600, 2, "b", 1600) FREE(600, 1) FREED(601, 1)),
                   VERDICT_PASS);
}

Test(linearizable, a_promise_that_was_over_when_it_arrived_holds_nothing)
{
    assert_verdict(
        judge_lines("linearizable", HEADER CLIENT_1_HOLDS ASK(20, 2) GRANT(30, 2, "b", 25)),
        VERDICT_PASS);
}
