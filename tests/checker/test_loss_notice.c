/* test_loss_notice.c: a holder is told before another could be granted. */
#include "tests/checker/story.h"

#define CLIENT_1_INSIDE ASK(1, 1) GRANT(10, 1, "a", 1000) ENTER(11, 1)
#define CLIENT_2_GETS   ASK(1100, 2) GRANT(1105, 2, "b", 2090)

Test(loss_notice, notice_before_anothers_grant_passes)
{
    struct check_result result = judge_lines("loss_notice", HEADER CLIENT_1_INSIDE LOST(1000, 1)
                                                                CLIENT_2_GETS LEAVE(1500, 1));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)1);
}

Test(loss_notice, leaving_in_time_passes)
{
    assert_verdict(judge_lines("loss_notice", HEADER CLIENT_1_INSIDE LEAVE(900, 1) CLIENT_2_GETS),
                   VERDICT_PASS);
}

Test(loss_notice, late_notice_fails_with_how_late)
{
    struct check_result result =
        judge_lines("loss_notice", HEADER CLIENT_1_INSIDE CLIENT_2_GETS LOST(1305, 1));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)200000000);
    cr_assert_eq(result.evidence_count, 3);
    cr_assert_eq(result.evidence[0], (uint64_t)1);
    cr_assert_eq(result.evidence[1], (uint64_t)4);
    cr_assert_eq(result.evidence[2], (uint64_t)5);
}

Test(loss_notice, holder_that_is_never_told_fails)
{
    assert_verdict(judge_lines("loss_notice", HEADER CLIENT_1_INSIDE CLIENT_2_GETS LEAVE(1305, 1)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("loss_notice", HEADER CLIENT_1_INSIDE CLIENT_2_GETS RUN_ENDS(1305)),
                   VERDICT_FAIL);
}

Test(loss_notice, paused_holder_cannot_be_told)
{
    assert_fails(judge_lines("loss_notice",
                             HEADER CLIENT_1_INSIDE FAULT_OF_CLIENT(20, 1, "pause", "start", 1)
                                 CLIENT_2_GETS FAULT_OF_CLIENT(1300, 1, "pause", "end", 1)
                                     LOST(1305, 1)),
                 BLAME_ASSUMPTION, ASSUMPTION_CLIENT_PAUSE);
}

Test(loss_notice, library_that_promises_and_tells_nothing_is_not_judged)
{
    assert_verdict(judge_lines("loss_notice",
                               "{'format':'picklock-history','version':1,'clients':2}\n" ASK(1, 1)
                                   GRANT_OPEN(10, 1, "a") ENTER(11, 1) ASK(20, 2)
                                       GRANT_OPEN(30, 2, "b") LEAVE(40, 1)),
                   VERDICT_SKIPPED);
}

Test(loss_notice, the_dead_need_not_be_told)
{
    assert_verdict(judge_lines("loss_notice",
                               HEADER CLIENT_1_INSIDE KILLED(20, 1) CLIENT_2_GETS RUN_ENDS(1305)),
                   VERDICT_PASS);
}

Test(loss_notice, holder_that_enters_after_anothers_grant_was_not_told)
{
    assert_fails(judge_lines("loss_notice",
                             HEADER ASK(1, 1) GRANT(10, 1, "a", 1000)
                                 FAULT_OF_CLIENT(11, 1, "pause", "start", 1)
                                     CLIENT_2_GETS FAULT_OF_CLIENT(1300, 1, "pause", "end", 1)
                                         ENTER(1301, 1) LEAVE(1400, 1)),
                 BLAME_ASSUMPTION, ASSUMPTION_CLIENT_PAUSE);
}

Test(loss_notice, notice_at_the_very_time_of_anothers_grant_is_in_time)
{
    assert_verdict(judge_lines("loss_notice",
                               HEADER CLIENT_1_INSIDE CLIENT_2_GETS LOST(1105, 1) LEAVE(1500, 1)),
                   VERDICT_PASS);
}
