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

/* ---- what moves the end of a lease ---- */

Test(linearizable, extension_moves_the_end)
{
    static const char extended[] = HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) EXTEND(900, 1)
        EXTENDED(905, 1, 1900) ASK(1100, 2) GRANT(1105, 2, "b", 2100) RUN_ENDS(3000);
    static const char refused[] = HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) EXTEND(900, 1)
        UNKNOWN(905, 1, "extend") ASK(1100, 2) GRANT(1105, 2, "b", 2100) RUN_ENDS(3000);
    assert_verdict(judge_lines("linearizable", extended), VERDICT_FAIL);
    assert_verdict(judge_lines("linearizable", refused), VERDICT_PASS);
}

/* Client 1 held from its grant to the new end, and client 2 held and released in between. */
Test(linearizable, extension_that_reaches_behind_anothers_grant_fails)
{
    struct check_result result =
        judge_lines("linearizable", HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) EXTEND(990, 1)
                                        ASK(1100, 2) GRANT(1105, 2, "b", 2100) FREE(1110, 2)
                                            FREED(1111, 2) EXTENDED(1200, 1, 2200) RUN_ENDS(3000));
    assert_verdict(result, VERDICT_FAIL);
    cr_assert_eq(result.evidence_count, 3);
    assert_verdict(judge_lines("exclusion",
                               HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) EXTEND(990, 1) ASK(1100, 2)
                                   GRANT(1105, 2, "b", 2100) FREE(1110, 2) FREED(1111, 2)
                                       EXTENDED(1200, 1, 2200) RUN_ENDS(3000)),
                   VERDICT_PASS);
    /* Its own grant in between is nobody else's. */
    assert_verdict(judge_lines("linearizable", HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) ASK(1100, 1)
                                                   GRANT(1105, 1, "b", 2100) EXTEND(1110, 1)
                                                       EXTENDED(1200, 1, 2200) RUN_ENDS(3000)),
                   VERDICT_PASS);
}

Test(linearizable, notice_of_loss_ends_a_lease)
{
    assert_verdict(judge_lines("linearizable",
                               HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) LOST(300, 1) ASK(400, 2)
                                   GRANT(405, 2, "b", 1400) RUN_ENDS(3000)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("linearizable",
                               HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) ASK(400, 2)
                                   GRANT(405, 2, "b", 1400) LOST(500, 1) RUN_ENDS(3000)),
                   VERDICT_FAIL);
}

Test(linearizable, lease_that_the_holders_clock_moved_is_judged_where_it_is)
{
    assert_verdict(judge_lines("linearizable",
                               HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) MOVED(400, 1, 5000)
                                   ASK(1100, 2) GRANT(1105, 2, "b", 2100) RUN_ENDS(6000)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("linearizable",
                               HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) MOVED(400, 1, 600)
                                   ASK(700, 2) GRANT(705, 2, "b", 1700) RUN_ENDS(6000)),
                   VERDICT_PASS);
    /* It was over, and its holder's clock went back: both were promised it from then on. */
    assert_verdict(judge_lines("linearizable",
                               HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) ASK(1100, 2)
                                   GRANT(1105, 2, "b", 2100) MOVED(1200, 1, 2000) RUN_ENDS(6000)),
                   VERDICT_FAIL);
}

/* ---- the dead ---- */

Test(linearizable, lease_of_the_dead_ends_by_the_rules_of_its_kind_in_every_check)
{
    static const char *const checks[] = {"exclusion", "linearizable", "section_exclusion",
                                         "loss_notice"};
#define DEAD(grant)                                                                                \
    HEADER ASK(1, 1) grant ENTER(11, 1) KILLED(300, 1) ASK(400, 2) GRANT_OPEN(405, 2, "b")         \
        ENTER(406, 2) LEAVE(420, 2) FREE(421, 2) FREED(422, 2) RUN_ENDS(3000)
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        cr_assert_neq(judge_lines(checks[i], DEAD(GRANT_OPEN(10, 1, "a"))).verdict, VERDICT_FAIL,
                      "%s", checks[i]);
        bool leases = i < 2;
        cr_assert_eq(judge_lines(checks[i], DEAD(GRANT(10, 1, "a", 1000))).verdict == VERDICT_FAIL,
                     leases, "%s", checks[i]);
    }
}

/* ---- drift ---- */

/* A key went 5 % early by its node's clock: the lock's fault where it says that it bears that. */
Test(linearizable, drift_is_held_against_what_the_lock_says_that_it_bears)
{
#define DRIFTED(ppm)                                                                               \
    "{'format':'picklock-history','version':1,'nodes':1,'clients':2,'ttl':1000000000,"             \
    "'drift_ppm':" ppm                                                                             \
    "}\n" FAULT_LINE(1, 1, "clock_rate", "start") ",'node':1,'numbers':[1050000,0]}\n" ASK(2, 1)   \
        SET(5, 1, 1, "a", 1005) GRANT(10, 1, "a", 990)                                             \
            ENDED_BY(955, 1, "expired", "a", "clock-rate", 1) ASK(960, 2)                          \
                SET(961, 1, 2, "b", 1961) GRANT(965, 2, "b", 1950) RUN_ENDS(3000)
    static const char *const checks[] = {"exclusion", "linearizable", "validity"};
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        assert_fails(judge_lines(checks[i], DRIFTED("100000")), BLAME_LIBRARY, ASSUMPTION_NONE);
        assert_fails(judge_lines(checks[i], DRIFTED("10000")), BLAME_ASSUMPTION,
                     ASSUMPTION_NODE_CLOCK);
        assert_fails(judge_lines(checks[i], DRIFTED("0")), BLAME_ASSUMPTION, ASSUMPTION_NODE_CLOCK);
    }
}

/* ---- without events of nodes nobody is blamed ---- */

Test(linearizable, without_events_of_nodes_nobody_is_blamed)
{
    static const char *const checks[] = {"exclusion", "linearizable", "section_exclusion",
                                         "loss_notice"};
    static const char blind[] = HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) ENTER(11, 1) ASK(400, 2)
        GRANT(405, 2, "b", 1400) ENTER(406, 2) RUN_ENDS(3000);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        assert_fails(judge_lines(checks[i], blind), BLAME_NONE, ASSUMPTION_NONE);
    }
    assert_verdict(judge_lines("validity", blind), VERDICT_SKIPPED);
}
