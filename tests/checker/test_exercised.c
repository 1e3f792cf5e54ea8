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

#define STRIKES(ms, k, kind)                                                                       \
    FAULT_OF_NODE(ms, k, kind, "start", 1)                                                         \
    FAULT_OF_NODE(ms, k, kind, "effect", 1) FAULT_OF_NODE(ms, k, kind, "end", 1)
#define AT_REST                                                                                    \
    CONTENDED FREE(5, 1) FREED(6, 1) /* client 1 is back, client 2 was refused: nobody is busy */

Test(exercised, fault_that_strikes_when_all_clients_rest_is_unknown)
{
    struct check_result result = judge_lines("exercised", FAULTY AT_REST STRIKES(7, 1, "crash"));
    assert_verdict(result, VERDICT_UNKNOWN);
    cr_assert_eq(result.number[0], (int64_t)1);
    cr_assert_str_eq(headline("exercised", FAULTY AT_REST STRIKES(7, 1, "crash")),
                     "exercised: fault 1: crash of node 1 struck at 7 ms, when nobody held the "
                     "lock, asked for it or gave it back");
    assert_verdict(
        judge_lines("exercised", FAULTY AT_REST STRIKES(7, 1, "crash") ASK(8, 1) REFUSE(9, 1)),
        VERDICT_UNKNOWN);
}

Test(exercised, fault_matters_while_somebody_holds_or_asks_or_releases)
{
    assert_verdict(judge_lines("exercised", FAULTY CONTENDED STRIKES(5, 1, "crash") FREE(6, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("exercised", FAULTY STRIKES(1, 1, "crash") CONTENDED),
                   VERDICT_UNKNOWN);
    assert_verdict(
        judge_lines("exercised", FAULTY CONTENDED FREE(5, 1) STRIKES(6, 1, "crash") FREED(7, 1)),
        VERDICT_PASS);
    assert_verdict(
        judge_lines("exercised", FAULTY AT_REST ASK(7, 2) STRIKES(8, 1, "crash") REFUSE(9, 2)),
        VERDICT_PASS);
    assert_verdict(judge_lines("exercised", FAULTY AT_REST ENTER(7, 2) STRIKES(8, 1, "crash")),
                   VERDICT_PASS);
}

Test(exercised, fault_matters_while_the_keys_of_a_refused_acquire_are_yet_to_go)
{
    assert_verdict(judge_lines("exercised",
                               FAULTY CONTENDED FREE(5, 1) FREED(6, 1) ASK(7, 2)
                                   SET(8, 1, 2, "b", 1008) REFUSE(9, 2) STRIKES(10, 1, "crash")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("exercised", FAULTY CONTENDED FREE(5, 1) FREED(6, 1) ASK(7, 2)
                                                SET(8, 1, 2, "b", 1008) REFUSE(9, 2)
                                                    DELETED(10, 1, 2, "b") STRIKES(10, 1, "crash")),
                   VERDICT_UNKNOWN);
}

Test(exercised, fault_that_lasts_or_stays_matters_from_the_next_operation_on)
{
    assert_verdict(judge_lines("exercised", FAULTY FAULT_OF_NODE(1, 1, "stall", "start", 1)
                                                CONTENDED FAULT_OF_NODE(5, 1, "stall", "effect", 1)
                                                    FAULT_OF_NODE(5, 1, "stall", "end", 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("exercised", FAULTY STRIKES(1, 1, "script_flush") CONTENDED),
                   VERDICT_PASS);
    assert_verdict(judge_lines("exercised", FAULTY STRIKES(1, 1, "clock_jump") CONTENDED),
                   VERDICT_PASS);
    assert_verdict(judge_lines("exercised", FAULTY AT_REST STRIKES(7, 1, "clock_jump")),
                   VERDICT_UNKNOWN);
    /* The auditor's question comes when all is over, and its keys keep nobody busy. */
    assert_verdict(judge_lines("exercised",
                               FAULTY AT_REST OP(8, 3, "invoke", "acquire") ",'audit':true}\n" SET(
                                   9, 1, 3, "c", 1009) STRIKES(10, 1, "crash")),
                   VERDICT_UNKNOWN);
    assert_verdict(judge_lines("exercised", FAULTY AT_REST STRIKES(7, 1, "clock_jump")
                                                OP(8, 3, "invoke", "acquire") ",'audit':true}\n"),
                   VERDICT_UNKNOWN);
}

#define GRANT_OF_R1(ms, v)                                                                         \
    AT(ms)                                                                                         \
    "'process':1,'type':'invoke','f':'acquire','resource':'r1'}\n" AT(                             \
        ms) "'process':1,'type':'ok','f':'acquire','resource':'r1','value':'" v                    \
            "','until':900000000}\n"

Test(exercised, what_was_to_be_held_at_once_must_have_been)
{
#define AT_ONCE(tail)                                                                              \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':1,'resources':2,"                \
    "'ttl':1000000000,'bound':500000000,'at_once':2}\n" ASK(1, 1) GRANT(2, 1, "a", 900) tail
    static const char one[] = AT_ONCE(FREE(10, 1) FREED(11, 1) GRANT_OF_R1(20, "b"));
    assert_verdict(judge_lines("exercised", AT_ONCE(GRANT_OF_R1(20, "b"))), VERDICT_PASS);
    assert_verdict(judge_lines("exercised", one), VERDICT_UNKNOWN);
    cr_assert_str_eq(headline("exercised", one),
                     "exercised: no client held as many locks at once as it was to: 1 at most");
}

Test(exercised, what_was_to_be_acquired_again_must_have_been_while_it_was_held)
{
#define AGAIN(tail)                                                                                \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':1,'ttl':1000000000,"             \
    "'bound':500000000,'again':1}\n" ASK(1, 1) GRANT(2, 1, "a", 900) tail
    assert_verdict(judge_lines("exercised", AGAIN(ASK(3, 1) REFUSE(4, 1))), VERDICT_PASS);
    assert_verdict(judge_lines("exercised", AGAIN(ASK(3, 1) REFUSE(901, 1))), VERDICT_UNKNOWN);
    assert_verdict(judge_lines("exercised", AGAIN(FREE(3, 1) FREED(4, 1) ASK(5, 1) REFUSE(6, 1))),
                   VERDICT_UNKNOWN);
}
