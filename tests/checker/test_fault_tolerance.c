/* test_fault_tolerance.c: with a majority healthy, grants go on. */
#include "tests/checker/story.h"

#define VAIN(from, to, p) ASK(from, p) REFUSE(to, p)

Test(fault_tolerance, grants_with_a_minority_down_pass)
{
    struct check_result result =
        judge_lines("fault_tolerance", HEADER FAULT_OF_NODE(1, 1, "crash", "start", 1)
                                           FAULT_OF_NODE(1, 2, "crash", "start", 2) VAIN(10, 500, 1)
                                               ASK(510, 2) GRANT(600, 2, "b", 1500));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)1);
}

Test(fault_tolerance, asking_in_vain_with_a_minority_down_fails)
{
    struct check_result result =
        judge_lines("fault_tolerance", HEADER ASK(1, 2) GRANT(2, 2, "b", 3) FREE(3, 2) FREED(3, 2)
                                           FAULT_OF_NODE(5, 1, "crash", "start", 1) VAIN(10, 800, 1)
                                               VAIN(1000, 1800, 1));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_evidence(result, 5, 8);
    cr_assert_eq(result.number[0], (int64_t)1590000000);
}

Test(fault_tolerance, late_grant_after_a_gap_fails)
{
    assert_verdict(judge_lines("fault_tolerance", HEADER ASK(10, 1) GRANT(1600, 1, "a", 2500)),
                   VERDICT_FAIL);
}

Test(fault_tolerance, acquire_that_hangs_to_the_end_fails)
{
    assert_verdict(judge_lines("fault_tolerance", HEADER ASK(10, 1) RUN_ENDS(1600)), VERDICT_FAIL);
}

Test(fault_tolerance, with_a_majority_down_nothing_is_expected)
{
    assert_verdict(judge_lines("fault_tolerance", HEADER FAULT_OF_NODE(1, 1, "crash", "start", 1)
                                                      FAULT_OF_NODE(1, 2, "crash", "start", 2)
                                                          FAULT_OF_NODE(1, 3, "crash", "start", 3)
                                                              VAIN(10, 5000, 1) RUN_ENDS(5001)),
                   VERDICT_SKIPPED);
}

Test(fault_tolerance, waiting_for_another_who_holds_is_not_in_vain)
{
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER ASK(1, 2) GRANT(2, 2, "b", 1000) EXTEND(900, 2)
                                   EXTENDED(901, 2, 3000) ASK(910, 1) FREE(2900, 2) FREED(2901, 2)
                                       GRANT(3000, 1, "a", 4000)),
                   VERDICT_PASS);
}

Test(fault_tolerance, partitioned_client_is_no_witness)
{
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER FAULT_OF_CLIENT(1, 1, "partition", "start", 1)
                                   VAIN(10, 5000, 1) ASK(5001, 2) GRANT(5010, 2, "b", 6000)),
                   VERDICT_PASS);
}

Test(fault_tolerance, fault_that_ends_starts_the_count_anew)
{
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER FAULT_OF_NODE(1, 1, "crash", "start", 1) ASK(10, 1)
                                   FAULT_OF_NODE(1000, 1, "crash", "end", 1)
                                       GRANT(2400, 1, "a", 3000)),
                   VERDICT_PASS);
}
