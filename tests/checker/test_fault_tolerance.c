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

/* A database that recovers from a crash refuses its clients meanwhile. */
Test(fault_tolerance, server_that_took_long_to_start_is_not_the_locks_doing)
{
#define AFTER_A_RESTART(late)                                                                      \
    HEADER ASK(10, 1) FAULT_OF_NODE(20, 1, "crash", "start", 1)                                    \
        FAULT_OF_NODE(30, 1, "crash", "end", 1) late GRANT(1600, 1, "a", 2500)
    assert_verdict(judge_lines("fault_tolerance", AFTER_A_RESTART("")), VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance", AFTER_A_RESTART(STARTED(1500, 1, 1400))),
                   VERDICT_UNKNOWN);
    assert_verdict(judge_lines("fault_tolerance", AFTER_A_RESTART(STARTED(60, 1, 20))),
                   VERDICT_FAIL);
    cr_assert_str_eq(headline("fault_tolerance", AFTER_A_RESTART(STARTED(1500, 1, 1400))),
                     "fault_tolerance: a node's server was not up yet for 1.4 s, and what looked "
                     "wrong may be its doing");
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

/* ---- what had passed when a fault began or ended ---- */

Test(fault_tolerance, acquire_that_never_came_back_fails_though_the_heal_ends_every_fault)
{
    struct check_result result =
        judge_lines("fault_tolerance",
                    HEADER FAULT_OF_NODE(1, 1, "stall", "start", 1) ASK(10, 1)
                        FAULT_OF_NODE(1600, 1, "stall", "end", 1) HEALED_AT(1601) RUN_ENDS(1700));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)1590000000);
}

Test(fault_tolerance, fault_that_begins_does_not_take_back_what_was_too_long)
{
    assert_verdict(judge_lines("fault_tolerance", HEADER VAIN(10, 1600, 1) FAULT_OF_NODE(
                                                      1601, 1, "stall", "start", 1) RUN_ENDS(1700)),
                   VERDICT_FAIL);
}

/* Its links to nodes 2 and 3 show to be touched as well: then it waits for no majority. */
Test(fault_tolerance, who_is_touched_as_an_effect_shows_asks_in_vain_no_more)
{
#define LATE_LINK(ms, f, n) FAULT_LINE(ms, 1, "latency", f) ",'process':1,'node':" #n "}\n"
#define ASKS_ON(effects, tail)                                                                     \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':3,'ttl':1000000000,"             \
    "'bound':500000000}\n" LATE_LINK(1, "start", 1) ASK(10, 1) effects tail
    assert_verdict(judge_lines("fault_tolerance", ASKS_ON("", RUN_ENDS(1700))), VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance",
                               ASKS_ON(LATE_LINK(1400, "effect", 2) LATE_LINK(1400, "effect", 3),
                                       RUN_ENDS(1700))),
                   VERDICT_SKIPPED);
    /* Client 3 goes on asking where it has left off. */
    struct check_result result = judge_lines(
        "fault_tolerance", ASKS_ON(LATE_LINK(1400, "effect", 2) LATE_LINK(1400, "effect", 3),
                                   ASK(1500, 3) RUN_ENDS(1700)));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)1590000000);
}

/* A fault in force that shows what it does again and again leaves nothing new behind. */
Test(fault_tolerance, effects_of_a_fault_do_not_start_the_count_anew)
{
    static const char shown[] = HEADER FAULT_OF_NODE(1, 1, "latency", "start", 1) ASK(10, 1)
        FAULT_OF_NODE(700, 1, "latency", "effect", 1) FAULT_OF_NODE(1400, 1, "latency", "effect", 1)
            RUN_ENDS(1600);
    assert_verdict(judge_lines("fault_tolerance", shown), VERDICT_FAIL);
}

Test(fault_tolerance, time_without_a_healthy_majority_is_not_counted)
{
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER FAULT_OF_NODE(1, 1, "crash", "start", 1)
                                   FAULT_OF_NODE(1, 2, "crash", "start", 2)
                                       FAULT_OF_NODE(1, 3, "crash", "start", 3) ASK(10, 1)
                                           FAULT_OF_NODE(5000, 3, "crash", "end", 3)
                                               GRANT(6400, 1, "a", 7000)),
                   VERDICT_PASS);
}

/* ---- extensions and releases ---- */

#define HOLDS_1 ASK(1, 1) GRANT(2, 1, "a", 900)

Test(fault_tolerance, release_that_does_not_come_back_fails_with_how_long)
{
    struct check_result result =
        judge_lines("fault_tolerance", HEADER HOLDS_1 FREE(100, 1) RUN_ENDS(1700));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)1600000000);
    cr_assert_str_eq(headline("fault_tolerance", HEADER HOLDS_1 FREE(100, 1) RUN_ENDS(1700)),
                     "fault_tolerance: client 1's release of r0 did not come back for 1.6 s "
                     "although a majority of nodes was healthy; ttl + bound allow 1.5 s");
}

Test(fault_tolerance, extension_that_comes_back_too_late_fails)
{
    struct check_result result =
        judge_lines("fault_tolerance", HEADER HOLDS_1 EXTEND(100, 1) UNKNOWN(1700, 1, "extend"));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(
        judge_lines("fault_tolerance", HEADER HOLDS_1 EXTEND(100, 1) UNKNOWN(1500, 1, "extend")),
        VERDICT_PASS);
}

Test(fault_tolerance, faults_of_a_minority_excuse_no_release)
{
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER HOLDS_1 FREE(100, 1)
                                   FAULT_OF_NODE(900, 1, "stall", "start", 1)
                                       FAULT_OF_NODE(1500, 1, "stall", "end", 1) FREED(1700, 1)),
                   VERDICT_FAIL);
}

Test(fault_tolerance, release_of_a_stopped_client_or_without_a_majority_is_excused)
{
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER HOLDS_1 FREE(100, 1)
                                   FAULT_OF_CLIENT(200, 1, "pause", "start", 1)
                                       FAULT_OF_CLIENT(1500, 1, "pause", "end", 1) FREED(2900, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER HOLDS_1 FREE(100, 1)
                                   FAULT_LINE(200, 1, "crash", "start") "}\n" FREED(5000, 1)),
                   VERDICT_PASS);
}

/* The run kills whoever is not done when its time is up. */
Test(fault_tolerance, operation_that_hung_until_its_client_was_killed_fails)
{
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER HOLDS_1 EXTEND(100, 1) KILLED(1700, 1) RUN_ENDS(1800)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance", HEADER ASK(10, 1) KILLED(1600, 1) RUN_ENDS(1700)),
                   VERDICT_FAIL);
}

/* Whoever asks every moment is over the limit by a moment first, which may be ours. */
Test(fault_tolerance, doubtful_wait_that_goes_on_is_no_doubt_any_more)
{
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER VAIN(10, 800, 1) STOOD_STILL(900, "loop", 20)
                                   VAIN(901, 1521, 1) VAIN(1522, 1700, 1)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance", HEADER VAIN(10, 800, 1) STOOD_STILL(
                                                      900, "loop", 200) VAIN(901, 1621, 1)),
                   VERDICT_UNKNOWN);
}

Test(fault_tolerance, killed_clients_release_is_not_waited_for)
{
    assert_verdict(
        judge_lines("fault_tolerance", HEADER HOLDS_1 FREE(100, 1) KILLED(150, 1) RUN_ENDS(5000)),
        VERDICT_PASS);
}

/* A fault of two nodes touches these two, from its start on. */
Test(fault_tolerance, acquire_that_waits_for_a_frozen_minority_fails)
{
#define FREEZES(nodes)                                                                             \
    HEADER FAULT_LINE(1, 1, "pause", "start") ",'nodes':" nodes "}\n" ASK(10, 1)                   \
        FAULT_LINE(2600, 1, "pause", "end") "}\n" GRANT(2700, 1, "a", 3600) RUN_ENDS(5000)
    assert_fails(judge_lines("fault_tolerance", FREEZES("[1,2]")), BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("fault_tolerance", FREEZES("[1,2,3]")), VERDICT_PASS);
}

/* ---- who holds, who asks, what is known ---- */

Test(fault_tolerance, holders_promised_end_frees_the_lock_to_be_asked_for)
{
    assert_verdict(
        judge_lines("fault_tolerance", HEADER ASK(1, 2) GRANT(2, 2, "b", 1000) VAIN(10, 2400, 1)),
        VERDICT_PASS);
    struct check_result result =
        judge_lines("fault_tolerance", HEADER ASK(1, 2) GRANT(2, 2, "b", 1000) VAIN(10, 2600, 1));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)1600000000);
}

/* It is the holder's lease that matters, not that of one who was granted it before. */
Test(fault_tolerance, extension_to_a_time_that_has_passed_takes_no_time_back)
{
    struct check_result result =
        judge_lines("fault_tolerance", HEADER ASK(1, 2) GRANT(2, 2, "b", 3000) ASK(10, 1)
                                           EXTEND(1990, 2) EXTENDED(2000, 2, 500) FREE(2010, 2)
                                               FREED(2011, 2) GRANT(2400, 1, "a", 3400));
    assert_verdict(result, VERDICT_PASS);
}

Test(fault_tolerance, extension_to_a_time_that_has_passed_gives_no_time_back)
{
    struct check_result result =
        judge_lines("fault_tolerance", HEADER ASK(1, 2) GRANT(2, 2, "b", 500) ASK(10, 1)
                                           EXTEND(1990, 2) EXTENDED(2000, 2, 900) FREE(2010, 2)
                                               FREED(2011, 2) GRANT(2100, 1, "a", 3400));
    assert_verdict(result, VERDICT_FAIL);
    cr_assert_eq(result.number[0], (int64_t)1600000000);
}

Test(fault_tolerance, release_of_a_former_holder_frees_nothing)
{
    assert_verdict(judge_lines("fault_tolerance", HEADER ASK(1, 1) GRANT(2, 1, "a", 900) ASK(950, 2)
                                                      GRANT(960, 2, "b", 4000) FREE(961, 1)
                                                          FREED(962, 1) VAIN(970, 3900, 1)),
                   VERDICT_PASS);
}

Test(fault_tolerance, auditor_and_clients_are_asked_alike)
{
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER ASK(1, 2) GRANT(2, 2, "b", 3) FREE(4, 2) FREED(5, 2)
                                   VAIN(10, 900, 1) VAIN(900, 1700, 2)),
                   VERDICT_FAIL);
}

Test(fault_tolerance, unknown_ttl_or_nodes_are_not_judged)
{
    assert_verdict(
        judge_lines("fault_tolerance",
                    "{'format':'picklock-history','version':1,'nodes':5,'clients':2}\n" ASK(1, 1)
                        GRANT(2, 1, "a", 900) VAIN(950, 90000, 2)),
        VERDICT_SKIPPED);
    assert_verdict(judge_lines("fault_tolerance",
                               "{'format':'picklock-history','version':1,'nodes':5,"
                               "'clients':2,'bound':500000000}\n" ASK(1, 1) GRANT(2, 1, "a", 900)
                                   VAIN(950, 90000, 2)),
                   VERDICT_SKIPPED);
    assert_verdict(judge_lines("fault_tolerance",
                               "{'format':'picklock-history','version':1,'ttl':1000000000}\n" ASK(
                                   1, 1) GRANT(2, 1, "a", 900) VAIN(950, 90000, 2)),
                   VERDICT_SKIPPED);
}

/* ---- faults of several ---- */

#define FAULT_OF(ms, k, kind, f, whom) FAULT_LINE(ms, k, kind, f) "," whom "}\n"

/* Its start names them all: two of five nodes are no excuse, three are. */
Test(fault_tolerance, fault_of_several_nodes_excuses_those_that_it_names)
{
    static const char two[] = HEADER HOLDS_1 FAULT_OF(5, 1, "pause", "start", "'nodes':[1,2]")
        FREE(100, 1) RUN_ENDS(1700);
    static const char three[] = HEADER HOLDS_1 FAULT_OF(5, 1, "pause", "start", "'nodes':[1,2,3]")
        FREE(100, 1) RUN_ENDS(1700);
    assert_verdict(judge_lines("fault_tolerance", two), VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance", three), VERDICT_PASS);
}

#define SIX                                                                                        \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':6,'ttl':1000000000,"             \
    "'bound':500000000}\n"

Test(fault_tolerance, fault_of_several_clients_excuses_those_that_it_names)
{
#define STOPPED(whom)                                                                              \
    SIX HOLDS_1 FAULT_OF(5, 1, "pause", "start", "'clients':" whom) FREE(100, 1) RUN_ENDS(1700)
    assert_verdict(judge_lines("fault_tolerance", STOPPED("[1,3]")), VERDICT_PASS);
    assert_verdict(judge_lines("fault_tolerance", STOPPED("[2,4]")), VERDICT_FAIL);
}

/* A client that is cut off from a minority has a majority left; from a ring or a bridge, who knows.
 */
Test(fault_tolerance, links_to_a_minority_excuse_nothing)
{
#define CUT(whom)                                                                                  \
    HEADER HOLDS_1 FAULT_OF(5, 1, "partition", "start", "'process':1," whom) FREE(100, 1)          \
        RUN_ENDS(1700)
    assert_verdict(judge_lines("fault_tolerance", CUT("'nodes':[4,5]")), VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance", CUT("'nodes':[3,4,5]")), VERDICT_PASS);
    assert_verdict(judge_lines("fault_tolerance", CUT("'nodes':[4,5],'links':'ring'")),
                   VERDICT_PASS);
}

/* ---- split votes ---- */

#define TWO_ASK ASK(10, 1) ASK(11, 2) SET(12, 1, 1, "a", 1012) SET(13, 2, 2, "b", 1013)
/* Two that ask took a key each: chance decides who gets the rest, and how late. */
Test(fault_tolerance, time_in_which_votes_are_split_is_not_counted)
{
    assert_verdict(judge_lines("fault_tolerance", HEADER TWO_ASK GRANT(1700, 1, "c", 2600)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER TWO_ASK DELETED(40, 2, 2, "b") GRANT(1700, 1, "c", 2600)),
                   VERDICT_PASS);
}

/* The votes were split already when the fault ended that kept one of the two from counting. */
Test(fault_tolerance, votes_are_split_as_soon_as_a_fault_lets_two_ask)
{
#define TWO_BEHIND(ms)                                                                             \
    HEADER FAULT_OF_CLIENT(1, 1, "pause", "start", 2) TWO_ASK FAULT_OF_CLIENT(ms, 1, "pause",      \
                                                                              "end", 2)
    assert_verdict(judge_lines("fault_tolerance", TWO_BEHIND(20) GRANT(1700, 1, "c", 2600)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("fault_tolerance", TWO_BEHIND(20) DELETED(40, 2, 2, "b") DELETED(
                                                      41, 1, 1, "a") GRANT(1700, 1, "c", 2600)),
                   VERDICT_FAIL);
}

Test(fault_tolerance, clients_that_wait_without_keys_ask_in_vain)
{
    struct check_result result =
        judge_lines("fault_tolerance", HEADER TWO_ASK DELETED(40, 1, 1, "a") DELETED(41, 2, 2, "b")
                                           GRANT(1700, 1, "c", 2600));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)1661000000); /* 1690 ms but those from 12 to 41 */
}

/* Who has a majority has no votes to wait for, and who asks alone no rival. */
Test(fault_tolerance, asker_with_a_majority_or_without_a_rival_is_not_split)
{
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER ASK(10, 1) ASK(11, 2) SET3(12, 1, "a", 1012)
                                   SET(13, 4, 2, "b", 1013) GRANT(1700, 1, "a", 2600)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance", HEADER ASK(10, 1) SET(12, 1, 1, "a", 1012)
                                                      GRANT(1700, 1, "a", 2600)),
                   VERDICT_FAIL);
}

/* A fault shows what it does while client 2 still asks: client 2's lateness counts. */
Test(fault_tolerance, whoever_asks_still_when_a_fault_changes_may_have_been_late)
{
#define CHANGES_BEHIND(late)                                                                       \
    HEADER FAULT_OF_NODE(1, 1, "stall", "start", 1) ASK(10, 1) ASK(11, 2) GRANT(12, 1, "a", 20)    \
        FREE(21, 1) FREED(22, 1) late FAULT_OF_NODE(1700, 1, "stall", "end", 1)                    \
            GRANT(1800, 2, "b", 2700)
    assert_verdict(judge_lines("fault_tolerance", CHANGES_BEHIND("")), VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance", CHANGES_BEHIND(STOOD_STILL_OF(900, 2, 400))),
                   VERDICT_UNKNOWN);
}

/* Each acquire of a client whose replies are held gives its key the whole ttl anew. */
Test(fault_tolerance, re_entrant_key_of_a_client_that_a_fault_keeps_from_hearing_is_nobodys_fault)
{
#define DECLARING(words)                                                                           \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'declared':true,'declares':[" words "]}\n"
#define UNHEARD(words, end)                                                                        \
    DECLARING(words)                                                                               \
    FAULT_OF_CLIENT(1, 1, "partition", "start", 1)                                                 \
    ASK(2, 1)                                                                                      \
    SET3(3, 1, "a", 1003) UNKNOWN(400, 1, "acquire") end ASK(500, 1) ASK(501, 2) RUN_ENDS(2600)
#define ENDS FAULT_OF_CLIENT(410, 1, "partition", "end", 1)
    cr_assert_neq(judge_lines("fault_tolerance", UNHEARD("'reentrant'", "")).verdict, VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance", UNHEARD("'extend'", "")), VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance", UNHEARD("'reentrant'", ENDS)), VERDICT_FAIL);
}

/* An advisory lock is its session's, and no ttl ends that: whoever holds it may be stopped, or cut
 * off, for as long as a fault likes. */
Test(fault_tolerance, a_key_that_no_ttl_ends_is_its_holders_while_a_fault_is_upon_him)
{
#define ENDLESS(is)                                                                                \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'endless':" is "}\n"
#define HELD_BY_ONE(is, end)                                                                       \
    ENDLESS(is)                                                                                    \
    ASK(2, 1)                                                                                      \
    SET3(3, 1, "a", 1003) FAULT_OF_CLIENT(4, 1, "pause", "start", 1) end ASK(501, 2) RUN_ENDS(2600)
    cr_assert_neq(judge_lines("fault_tolerance", HELD_BY_ONE("true", "")).verdict, VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance", HELD_BY_ONE("false", "")), VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance",
                               HELD_BY_ONE("true", FAULT_OF_CLIENT(410, 1, "pause", "end", 1))),
                   VERDICT_FAIL);
}

/* What nobody's time ends stands in the way of others, not of whom it lets in at last. */
Test(fault_tolerance, an_endless_key_of_who_is_granted_it_kept_nobody_waiting)
{
#define LET_IN_AT_2600(p)                                                                          \
    ENDLESS("true")                                                                                \
    ASK(1, 2)                                                                                      \
    SET_ENDLESS(10, 1, p, "a")                                                                     \
    SET_ENDLESS(10, 2, p, "a")                                                                     \
    SET_ENDLESS(10, 3, p, "a") STOOD_STILL_OF(2599, 2, 2500) GRANT_OPEN(2600, 2, "a")
    assert_verdict(judge_lines("fault_tolerance", LET_IN_AT_2600(2)), VERDICT_UNKNOWN);
    assert_verdict(judge_lines("fault_tolerance", LET_IN_AT_2600(1)), VERDICT_FAIL);
}

/* Members of an ensemble may be long about an election, and say nothing of it. */
Test(fault_tolerance, an_ensemble_that_tells_nothing_may_have_had_no_leader)
{
#define ENSEMBLE(more)                                                                             \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'stores':1" more "}\n"
#define IN_VAIN(more) ENSEMBLE(more) ASK(501, 2) RUN_ENDS(2600)
    assert_verdict(judge_lines("fault_tolerance", IN_VAIN("")), VERDICT_FAIL);
    assert_verdict(judge_lines("fault_tolerance", IN_VAIN(",'unwatched':'it does not tell'")),
                   VERDICT_UNKNOWN);
}

#define DELAYED(ms, f)                                                                             \
    FAULT_LINE(ms, 1, "latency", f) ",'process':2,'node':1,'numbers':[1000000000,0]}\n"

/* A place in a queue that was on its way when the delay ended stays for a ttl behind that. */
Test(fault_tolerance, what_a_delay_held_back_may_come_as_late_as_it_delayed)
{
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER DELAYED(1, "start") DELAYED(2000, "end") VAIN(2001, 4400, 1)
                                   ASK(4401, 1) GRANT(4402, 1, "a", 5500)),
                   VERDICT_PASS);
    struct check_result result = judge_lines(
        "fault_tolerance", HEADER DELAYED(1, "start") DELAYED(2000, "end") VAIN(2001, 4600, 1));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)1600000000);
}

/* Who is slow is so until its step is over, as long as each of its steps is. */
Test(fault_tolerance, a_slow_client_may_be_so_for_a_step_more)
{
#define SLOW(ms, f) FAULT_LINE(ms, 1, "slow", f) ",'process':2,'numbers':[1000000000,0]}\n"
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER SLOW(1, "start") SLOW(2000, "end") VAIN(2001, 4400, 1)
                                   ASK(4401, 1) GRANT(4402, 1, "a", 5500)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("fault_tolerance",
                               HEADER SLOW(1, "start") SLOW(2000, "end") VAIN(2001, 4600, 1)),
                   VERDICT_FAIL);
}

/* A place in a queue stays for a ttl behind the end of whoever stands there. */
Test(fault_tolerance, a_client_that_is_killed_leaves_what_it_asked_for_for_a_ttl)
{
#define LEFT_AT_1000(header, until)                                                                \
    header ASK(1, 2) ASK(2, 1) KILLED(1000, 2) REFUSE(until, 1) RUN_ENDS(until)
    assert_verdict(judge_lines("fault_tolerance", LEFT_AT_1000(ENSEMBLE(""), 2400)),
                   VERDICT_SKIPPED);
    assert_verdict(judge_lines("fault_tolerance", LEFT_AT_1000(ENSEMBLE(""), 2600)), VERDICT_FAIL);
    /* Of nodes that are a store each, nobody stands in a queue. */
    assert_verdict(judge_lines("fault_tolerance", LEFT_AT_1000(HEADER, 2400)), VERDICT_FAIL);
}
