/* test_section_exclusion.c: two clients must not be inside the section at once; and why they were.
 */
#include "tests/checker/story.h"

#define CLIENT_1_HOLDS ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000) ENTER(11, 1)
#define KEYS_EXPIRE                                                                                \
    ENDED(1005, 1, "expired", "a", "ttl")                                                          \
    ENDED(1005, 2, "expired", "a", "ttl") ENDED(1005, 3, "expired", "a", "ttl")
#define CLIENT_2_GETS ASK(1100, 2) SET3(1101, 2, "b", 2101) GRANT(1105, 2, "b", 2090) ENTER(1106, 2)

Test(section_exclusion, one_after_the_other_passes)
{
    assert_verdict(judge_lines("section_exclusion", HEADER CLIENT_1_HOLDS LEAVE(500, 1) FREE(501, 1)
                                                        FREED(505, 1) CLIENT_2_GETS LEAVE(1200, 2)),
                   VERDICT_PASS);
}

Test(section_exclusion, leaving_when_the_other_enters_passes)
{
    assert_verdict(judge_lines("section_exclusion",
                               HEADER CLIENT_1_HOLDS KEYS_EXPIRE CLIENT_2_GETS LEAVE(1106, 1)),
                   VERDICT_PASS);
}

Test(section_exclusion, nobody_entered_is_nothing_judged)
{
    assert_verdict(judge_lines("section_exclusion", HEADER ASK(1, 1) GRANT(10, 1, "a", 1000)),
                   VERDICT_SKIPPED);
}

Test(section_exclusion, paused_holder_fails_and_blames_the_pause)
{
    struct check_result result = judge_lines(
        "section_exclusion",
        HEADER CLIENT_1_HOLDS FAULT_OF_CLIENT(20, 1, "pause", "start", 1)
            KEYS_EXPIRE CLIENT_2_GETS FAULT_OF_CLIENT(2000, 1, "pause", "end", 1) LEAVE(2001, 1));
    assert_fails(result, BLAME_ASSUMPTION, ASSUMPTION_CLIENT_PAUSE);
    assert_evidence(result, 5, 15);
    cr_assert_eq(result.number[0], (int64_t)1095000000);
}

Test(section_exclusion, section_longer_than_the_lease_is_an_assumption)
{
    assert_fails(judge_lines("section_exclusion",
                             HEADER CLIENT_1_HOLDS KEYS_EXPIRE CLIENT_2_GETS LEAVE(2001, 1)),
                 BLAME_ASSUMPTION, ASSUMPTION_SECTION);
}

Test(section_exclusion, lease_that_was_over_when_granted_blames_the_library)
{
    assert_fails(
        judge_lines("section_exclusion",
                    HEADER ASK(1, 1) SET3(5, 1, "a", 1005)
                        FAULT_OF_CLIENT(6, 1, "pause", "start", 1)
                            KEYS_EXPIRE CLIENT_2_GETS FAULT_OF_CLIENT(1500, 1, "pause", "end", 1)
                                GRANT(1501, 1, "a", 1000) ENTER(1502, 1)),
        BLAME_LIBRARY, ASSUMPTION_NONE);
}

Test(section_exclusion, overlapping_leases_carry_their_blame_over)
{
    assert_fails(judge_lines("section_exclusion",
                             HEADER CLIENT_1_HOLDS ENDED(100, 3, "key-lost", "a", "restart") ASK(
                                 200, 2) SET(201, 3, 2, "b", 1201) SET(201, 4, 2, "b", 1201)
                                 SET(201, 5, 2, "b", 1201) GRANT(205, 2, "b", 1190) ENTER(206, 2)),
                 BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE);
}

Test(section_exclusion, killed_client_is_inside_no_more)
{
    assert_verdict(judge_lines("section_exclusion",
                               HEADER CLIENT_1_HOLDS KILLED(20, 1) KEYS_EXPIRE CLIENT_2_GETS),
                   VERDICT_PASS);
}

/* ---- owners ---- */

Test(section_exclusion, client_does_not_meet_itself)
{
    assert_verdict(judge_lines("section_exclusion",
                               HEADER ASK(1, 1) GRANT(2, 1, "a", 900) ENTER(3, 1) ENTER(4, 1)
                                   LEAVE(5, 1) LEAVE(6, 1) RUN_ENDS(7)),
                   VERDICT_PASS);
}

#define THREADS(owner)                                                                             \
    "{'format':'picklock-history','version':1,'clients':4,'threads':2,'declared':true,"            \
    "'declares':['reentrant'],'owner':'" owner "'}\n"
#define BOTH_IN(p, q)                                                                              \
    ASK(1, p)                                                                                      \
    GRANT_OPEN(2, p, "a") ENTER(3, p) ASK(4, q) GRANT_OPEN(5, q, "b") ENTER(6, q) RUN_ENDS(9)

Test(section_exclusion, threads_of_one_program_are_one_owner_unless_the_lock_says_otherwise)
{
    static const char *const checks[] = {"exclusion", "section_exclusion", "linearizable"};
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        assert_verdict(judge_lines(checks[i], THREADS("process") BOTH_IN(1, 2)), VERDICT_PASS);
        assert_verdict(judge_lines(checks[i], THREADS("process") BOTH_IN(2, 3)), VERDICT_FAIL);
        assert_verdict(judge_lines(checks[i], THREADS("thread") BOTH_IN(1, 2)), VERDICT_FAIL);
        assert_verdict(judge_lines(checks[i], THREADS("object") BOTH_IN(1, 2)), VERDICT_FAIL);
    }
}

/* Two threads of one owner were inside, and the one that came first has left. */
Test(section_exclusion, who_is_still_inside_is_the_one_that_is_met)
{
    struct check_result result = judge_lines(
        "section_exclusion", THREADS("process") ASK(1, 1) GRANT_OPEN(2, 1, "a") ENTER(3, 1)
                                 ASK(4, 2) GRANT_OPEN(5, 2, "b") ENTER(6, 2) LEAVE(7, 1) ASK(8, 3)
                                     GRANT_OPEN(9, 3, "c") ENTER(10, 3) RUN_ENDS(20));
    assert_verdict(result, VERDICT_FAIL);
    assert_evidence(result, 5, 9);
}
