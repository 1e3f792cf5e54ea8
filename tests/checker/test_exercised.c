/* test_exercised.c: a run that tried nothing is no pass. */
#include "tests/checker/story.h"

#define FAULTY    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'faults':1}\n"
#define CONTENDED ASK(1, 1) ASK(2, 2) GRANT_OPEN(3, 1, "a") REFUSE(4, 2)

Test(exercised, grants_and_contention_pass)
{
    assert_verdict(judge_lines("exercised", HEADER CONTENDED), VERDICT_PASS);
}

Test(exercised, asking_while_another_holds_is_contention)
{
    assert_verdict(
        judge_lines("exercised", HEADER ASK(1, 1) GRANT(3, 1, "a", 1000) ASK(4, 2) REFUSE(5, 2)),
        VERDICT_PASS);
}

Test(exercised, no_grant_is_unknown)
{
    struct check_result result = judge_lines("exercised", HEADER ASK(1, 1) REFUSE(4, 1));
    assert_verdict(result, VERDICT_UNKNOWN);
}

Test(exercised, empty_history_is_unknown)
{
    assert_verdict(judge_lines("exercised", HEADER), VERDICT_UNKNOWN);
}

Test(exercised, clients_that_never_met_are_unknown)
{
    assert_verdict(judge_lines("exercised", HEADER ASK(1, 1) GRANT(3, 1, "a", 1000) FREE(5, 1)
                                                FREED(6, 1) ASK(7, 2) GRANT(8, 2, "b", 1000)),
                   VERDICT_UNKNOWN);
}

Test(exercised, the_auditors_grant_does_not_count)
{
    assert_verdict(
        judge_lines("exercised", HEADER OP(1, 3, "invoke", "acquire") ",'audit':true}\n" OP(
                                     2, 3, "ok", "acquire") ",'audit':true}\n"),
        VERDICT_UNKNOWN);
}

Test(exercised, fault_that_did_not_strike_is_unknown)
{
    struct check_result result = judge_lines("exercised", FAULTY CONTENDED);
    assert_verdict(result, VERDICT_UNKNOWN);
    cr_assert_eq(result.number[0], (int64_t)1);
}

Test(exercised, fault_needs_an_effect_and_an_end)
{
    assert_verdict(judge_lines("exercised",
                               FAULTY CONTENDED FAULT_OF_CLIENT(5, 1, "pause", "start", 1)
                                   FAULT_OF_CLIENT(7, 1, "pause", "end", 1)),
                   VERDICT_UNKNOWN);
    assert_verdict(judge_lines("exercised",
                               FAULTY CONTENDED FAULT_OF_CLIENT(5, 1, "pause", "start", 1)
                                   FAULT_OF_CLIENT(6, 1, "pause", "effect", 1)),
                   VERDICT_UNKNOWN);
    assert_verdict(judge_lines("exercised",
                               FAULTY CONTENDED FAULT_OF_CLIENT(5, 1, "pause", "start", 1)
                                   FAULT_OF_CLIENT(6, 1, "pause", "effect", 1)
                                       FAULT_OF_CLIENT(7, 1, "pause", "end", 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("exercised",
                               FAULTY CONTENDED FAULT_OF_CLIENT(5, 1, "kill", "start", 1)
                                   FAULT_OF_CLIENT(5, 1, "kill", "effect", 1)),
                   VERDICT_PASS);
}
