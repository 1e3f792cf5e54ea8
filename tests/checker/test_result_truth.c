/* test_result_truth.c: the lock's answer says what it did. */
#include "tests/checker/story.h"

#define CLIENT_1_HOLDS ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)

Test(result_truth, grant_with_a_majority_and_full_release_pass)
{
    struct check_result result = judge_lines("result_truth", HEADER CLIENT_1_HOLDS FREE(50, 1)
                                                                 DELETED3(51, 1, "a") FREED(55, 1));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)2);
}

Test(result_truth, grant_without_a_majority_fails)
{
    struct check_result result =
        judge_lines("result_truth", HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) SET(5, 2, 1, "a", 1005)
                                        GRANT(10, 1, "a", 1000));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_evidence(result, 1, 3);
    cr_assert_eq(result.number[0], (int64_t)2);
    cr_assert_eq(result.number[1], (int64_t)3);
}

Test(result_truth, key_lost_before_the_answer_was_set_all_the_same)
{
    assert_verdict(judge_lines("result_truth",
                               HEADER ASK(1, 1) SET3(5, 1, "a", 1005)
                                   ENDED(7, 1, "key-lost", "a", "restart") GRANT(10, 1, "a", 1000)),
                   VERDICT_PASS);
}

Test(result_truth, release_that_left_a_majority_of_keys_fails)
{
    struct check_result result =
        judge_lines("result_truth",
                    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) SET(5, 4, 1, "a", 1005)
                        GRANT(10, 1, "a", 1000) FREE(50, 1) DELETED(51, 1, 1, "a") FREED(55, 1));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_evidence(result, 1, 8);
}

Test(result_truth, deletion_that_a_restart_undid_is_an_assumption)
{
    assert_fails(
        judge_lines(
            "result_truth",
            HEADER CLIENT_1_HOLDS FREE(50, 1) DELETED3(51, 1, "a")
                ON(52, 1, "key-back") ",'owner':'a'}\n" ON(52, 2, "key-back") ",'owner':'a'}\n" ON(
                    52, 3, "key-back") ",'owner':'a'}\n" FREED(55, 1)),
        BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE);
}

Test(result_truth, not_held_although_a_majority_was_there_fails)
{
    assert_verdict(
        judge_lines("result_truth", HEADER CLIENT_1_HOLDS FREE(50, 1) RELEASE_FAILS(55, 1)),
        VERDICT_FAIL);
    assert_verdict(judge_lines("result_truth",
                               HEADER CLIENT_1_HOLDS FAULT_OF_CLIENT(40, 1, "partition", "start", 1)
                                   FREE(50, 1) RELEASE_FAILS(55, 1)),
                   VERDICT_PASS);
}

Test(result_truth, refused_acquire_that_keeps_a_majority_to_its_ttl_fails)
{
    struct check_result result =
        judge_lines("result_truth", HEADER ASK(1, 1) SET3(5, 1, "a", 1005) REFUSE(10, 1)
                                        ENDED(1005, 1, "expired", "a", "ttl")
                                            ENDED(1005, 2, "expired", "a", "ttl"));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)995000000);
}

Test(result_truth, without_node_events_nothing_is_judged)
{
    assert_verdict(judge_lines("result_truth", HEADER ASK(1, 1) GRANT(10, 1, "a", 1000)),
                   VERDICT_SKIPPED);
}

Test(result_truth, extension_that_sets_lost_keys_anew_fails)
{
    struct check_result result = judge_lines(
        "result_truth", HEADER CLIENT_1_HOLDS ENDED(400, 1, "evicted", "a", "eviction")
                            EXTEND(500, 1) SET(501, 1, 1, "a", 1505) EXTENDED(505, 1, 1490));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)2);
}

Test(result_truth, extension_of_keys_that_stayed_passes)
{
    assert_verdict(judge_lines("result_truth",
                               HEADER CLIENT_1_HOLDS SET(20, 4, 1, "a", 1020)
                                   ENDED(400, 1, "evicted", "a", "eviction") EXTEND(500, 1)
                                       SET(501, 1, 1, "a", 1505) EXTENDED(505, 1, 1490)),
                   VERDICT_PASS);
}
