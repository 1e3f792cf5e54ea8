/* test_deadlock_freedom.c: after the heal the lock is free again within ttl + bound. */
#include "tests/checker/story.h"

#define AUDIT(ms)         OP(ms, 3, "invoke", "acquire") ",'audit':true}\n"
#define AUDIT_GRANTED(ms) OP(ms, 3, "ok", "acquire") ",'audit':true}\n"
#define AUDIT_REFUSED(ms) OP(ms, 3, "fail", "acquire") ",'audit':true}\n"

Test(deadlock_freedom, grant_within_ttl_and_bound_passes)
{
    struct check_result result =
        judge_lines("deadlock_freedom", HEADER HEALED_AT(1000) AUDIT(1001) AUDIT_REFUSED(2000)
                                            AUDIT(2010) AUDIT_GRANTED(2501) RUN_ENDS(2600));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)1);
}

Test(deadlock_freedom, late_grant_fails_with_the_wait)
{
    struct check_result result =
        judge_lines("deadlock_freedom", HEADER HEALED_AT(1000) AUDIT(1001) AUDIT_REFUSED(2000)
                                            AUDIT(2010) AUDIT_GRANTED(2502) RUN_ENDS(2600));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)1501000000);
    cr_assert_eq(result.number[1], (int64_t)1500000000);
}

Test(deadlock_freedom, key_that_never_expires_fails_and_is_named)
{
    struct check_result result = judge_lines(
        "deadlock_freedom", HEADER ASK(1, 1) SET_ENDLESS(5, 1, 1, "a") KILLED(6, 1) HEALED_AT(1000)
                                AUDIT(1001) AUDIT_REFUSED(9000) RUN_ENDS(9001));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.evidence_count, 4);
    cr_assert_eq(result.evidence[0], (uint64_t)1);
    cr_assert_eq(result.evidence[1], (uint64_t)3);
    cr_assert_eq(result.evidence[3], (uint64_t)6);
}

Test(deadlock_freedom, run_that_ends_early_is_unknown)
{
    assert_verdict(judge_lines("deadlock_freedom", HEADER HEALED_AT(1000) AUDIT(1001)
                                                       AUDIT_REFUSED(2000) RUN_ENDS(2001)),
                   VERDICT_UNKNOWN);
}

Test(deadlock_freedom, without_a_heal_nothing_is_judged)
{
    assert_verdict(judge_lines("deadlock_freedom", HEADER ASK(1, 1) GRANT(2, 1, "a", 1000)),
                   VERDICT_SKIPPED);
}

Test(deadlock_freedom, each_resource_is_waited_for)
{
#define OF_R1(ms, p, t) AT(ms) "'process':" #p ",'type':'" t "','f':'acquire','resource':'r1'}\n"
#define TWO_RESOURCES                                                                              \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'resources':2,"                \
    "'ttl':1000000000,'bound':500000000}\n"
    struct check_result result = judge_lines(
        "deadlock_freedom", TWO_RESOURCES HEALED_AT(5) ASK(10, 1) OF_R1(10, 2, "invoke")
                                GRANT_OPEN(20, 1, "a") OF_R1(1600, 2, "ok") RUN_ENDS(3000));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.judged, (uint64_t)2);
    cr_assert_eq(result.number[0], (int64_t)1590000000);
    result =
        judge_lines("deadlock_freedom", TWO_RESOURCES HEALED_AT(5) ASK(10, 1) OF_R1(10, 2, "invoke")
                                            GRANT_OPEN(20, 1, "a") RUN_ENDS(3000));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)2990000000, "it was never granted");
}

Test(deadlock_freedom, unknown_ttl_is_not_judged)
{
    assert_verdict(judge_lines("deadlock_freedom",
                               "{'format':'picklock-history','version':1,'nodes':5}\n" HEALED_AT(5)
                                   ASK(10, 1) GRANT_OPEN(90000, 1, "a") RUN_ENDS(90001)),
                   VERDICT_SKIPPED);
    assert_verdict(judge_lines("deadlock_freedom",
                               "{'format':'picklock-history','version':1,'nodes':5}\n" HEALED_AT(5)
                                   ASK(10, 1) RUN_ENDS(90001)),
                   VERDICT_SKIPPED);
}

/* A key that was on its way when the delay ended stays for a ttl behind that. */
Test(deadlock_freedom, what_a_delay_held_back_is_waited_for)
{
#define DELAYED(ms, f)                                                                             \
    FAULT_LINE(ms, 1, "latency", f) ",'process':2,'node':1,'numbers':[500000000,0]}\n"
#define HELD_BACK(came, granted)                                                                   \
    HEADER DELAYED(1, "start") DELAYED(1000, "end") HEALED_AT(1000) AUDIT(1001)                    \
        SET(came, 1, 2, "a", 2499) AUDIT_GRANTED(granted) RUN_ENDS(3300)
    assert_verdict(judge_lines("deadlock_freedom", HELD_BACK(1499, 2999)), VERDICT_PASS);
    assert_verdict(judge_lines("deadlock_freedom", HELD_BACK(1499, 3001)), VERDICT_FAIL);
    assert_verdict(judge_lines("deadlock_freedom", HELD_BACK(1501, 3001)), VERDICT_FAIL);
#define QUEUED(granted)                                                                            \
    HEADER DELAYED(1, "start") DELAYED(1000, "end") HEALED_AT(1000) AUDIT(1001)                    \
        AUDIT_GRANTED(granted) RUN_ENDS(3300)
    /* No node tells of a place in a queue. */
    assert_verdict(judge_lines("deadlock_freedom", QUEUED(3000)), VERDICT_PASS);
    assert_verdict(judge_lines("deadlock_freedom", QUEUED(3001)), VERDICT_FAIL);
}

/* Where a tool tells of a heal while a fault goes on, nothing is healed yet. */
Test(deadlock_freedom, fault_that_goes_on_behind_the_heal_is_waited_for)
{
#define CUT(ms, f)    FAULT_LINE(ms, 1, "partition", f) ",'nodes':[1,3]}\n"
#define GOES_ON(rest) HEADER CUT(1, "start") HEALED_AT(1000) AUDIT(1001) rest RUN_ENDS(9000)
    assert_verdict(judge_lines("deadlock_freedom", GOES_ON(AUDIT_GRANTED(5000) CUT(5001, "end"))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("deadlock_freedom", GOES_ON(CUT(3500, "end") AUDIT_GRANTED(5000))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("deadlock_freedom", GOES_ON(CUT(3500, "end") AUDIT_GRANTED(5001))),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("deadlock_freedom", GOES_ON("")), VERDICT_UNKNOWN);
    /* One that has no end is over when it has struck. */
#define JUMPED HEADER FAULT_LINE(1, 1, "clock_jump", "start") ",'node':1,'numbers':[1,0]}\n"
    assert_verdict(judge_lines("deadlock_freedom", JUMPED HEALED_AT(1000) AUDIT(1001)
                                                       AUDIT_GRANTED(5000) RUN_ENDS(9000)),
                   VERDICT_FAIL);
}
