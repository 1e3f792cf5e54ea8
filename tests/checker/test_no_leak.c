/* test_no_leak.c: a refused acquire leaves no keys behind. */
#include "tests/checker/story.h"

#define REFUSED_WITH_A_KEY ASK(1, 1) SET(5, 1, 1, "a", 1005) REFUSE(50, 1)

Test(no_leak, refused_acquire_that_cleans_up_passes)
{
    struct check_result result =
        judge_lines("no_leak", HEADER REFUSED_WITH_A_KEY DELETED(55, 1, 1, "a") RUN_ENDS(3000));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)1);
}

Test(no_leak, key_left_to_expire_fails)
{
    struct check_result result = judge_lines(
        "no_leak", HEADER REFUSED_WITH_A_KEY ENDED(1005, 1, "expired", "a", "ttl") RUN_ENDS(3000));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.evidence_count, 3);
    cr_assert_eq(result.evidence[0], (uint64_t)1);
    cr_assert_eq(result.evidence[1], (uint64_t)2);
    cr_assert_eq(result.evidence[2], (uint64_t)3);
    cr_assert_eq(result.number[0], (int64_t)1000000000);
}

Test(no_leak, key_that_stays_to_the_end_fails)
{
    assert_verdict(judge_lines("no_leak", HEADER ASK(1, 1) SET_ENDLESS(5, 1, 1, "a") REFUSE(50, 1)
                                              RUN_ENDS(3000)),
                   VERDICT_FAIL);
}

Test(no_leak, key_of_a_grant_may_expire)
{
    assert_verdict(judge_lines("no_leak",
                               HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)
                                   ENDED(1005, 1, "expired", "a", "ttl")),
                   VERDICT_PASS);
}

Test(no_leak, failed_attempt_of_a_granted_acquire_leaks_too)
{
    assert_verdict(judge_lines("no_leak",
                               HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) SET3(200, 1, "b", 1200)
                                   GRANT(210, 1, "b", 1190) ENDED(1005, 4, "expired", "a", "ttl")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("no_leak",
                               HEADER ASK(1, 1) SET(5, 4, 1, "a", 1005) SET3(200, 1, "b", 1200)
                                   GRANT(210, 1, "b", 1190) ENDED(1005, 4, "expired", "a", "ttl")),
                   VERDICT_FAIL);
}

Test(no_leak, fault_meanwhile_excuses)
{
    assert_verdict(judge_lines("no_leak", HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) FAULT_OF_CLIENT(
                                              20, 1, "partition", "start", 1) REFUSE(50, 1)
                                              ENDED(1005, 1, "expired", "a", "ttl")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("no_leak", HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) FAULT_OF_NODE(
                                              20, 1, "stall", "start", 2) REFUSE(50, 1)
                                              ENDED(1005, 1, "expired", "a", "ttl")),
                   VERDICT_FAIL);
}

Test(no_leak, delete_that_came_before_the_set_was_a_clean_up)
{
    assert_verdict(judge_lines("no_leak",
                               HEADER ASK(1, 1) KEPT(4, 1, 1, "a") SET(5, 1, 1, "a", 1005)
                                   REFUSE(50, 1) ENDED(1005, 1, "expired", "a", "ttl")),
                   VERDICT_PASS);
}

Test(no_leak, acquire_of_unknown_outcome_is_not_judged)
{
    assert_verdict(judge_lines("no_leak",
                               HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) UNKNOWN(50, 1, "acquire")
                                   ENDED(1005, 1, "expired", "a", "ttl")),
                   VERDICT_SKIPPED);
}
