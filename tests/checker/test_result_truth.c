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

#define LISTENED                                                                                   \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true"

Test(result_truth, grant_of_which_the_nodes_had_nothing_to_tell_fails)
{
    static const char *const twice =
        ASK(1, 1) GRANT(10, 1, "a", 1000) ASK(11, 2) GRANT(12, 2, "b", 1002);
    char lines[2048];
    snprintf(lines, sizeof lines, "%s,'tapped':true}\n%s", LISTENED, twice);
    assert_fails(judge_lines("result_truth", lines), BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_fails(judge_lines("exclusion", lines), BLAME_LIBRARY, ASSUMPTION_NONE);
    snprintf(lines, sizeof lines, "%s,'unwatched':'it refuses MONITOR'}\n%s", LISTENED, twice);
    assert_verdict(judge_lines("result_truth", lines), VERDICT_UNKNOWN);
    assert_fails(judge_lines("exclusion", lines), BLAME_NONE, ASSUMPTION_NONE);
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

/* A node that starts anew with an older key has the newer one no more, though nobody said so. */
Test(result_truth, key_that_another_came_back_over_is_gone)
{
#define BACK(n) ON(30, n, "key-back") ",'owner':'z','cause':'restart'}\n"
    assert_verdict(judge_lines("result_truth", HEADER CLIENT_1_HOLDS BACK(1) BACK(2) BACK(3)
                                                   FREE(50, 1) FREED(55, 1)),
                   VERDICT_PASS);
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

#define ERROR(ms, n, p, v)                                                                         \
    ON(ms, n, "node-error") ",'process':" #p ",'value':'" v "','owner':'" v "'}\n"

/* Its lease ran out while it gave it back, and it said so. */
Test(result_truth, not_held_is_honest_of_what_was_told_lost_before_the_answer)
{
    assert_verdict(judge_lines("result_truth",
                               HEADER CLIENT_1_HOLDS FREE(50, 1) LOST(53, 1) RELEASE_FAILS(55, 1)),
                   VERDICT_PASS);
    assert_fails(judge_lines("result_truth",
                             HEADER CLIENT_1_HOLDS FREE(50, 1) LOST(53, 2) RELEASE_FAILS(55, 1)),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
}

Test(result_truth, not_held_passes_where_a_node_answered_with_an_error)
{
    assert_verdict(judge_lines("result_truth", HEADER CLIENT_1_HOLDS FREE(50, 1)
                                                   ERROR(51, 1, 1, "a") RELEASE_FAILS(55, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth",
                               HEADER CLIENT_1_HOLDS FREE(50, 1) ERROR(51, 1, 1, "a") FREED(55, 1)),
                   VERDICT_FAIL);
}

Test(result_truth, an_error_that_was_not_in_the_way_of_the_release_excuses_nothing)
{
    /* Before the release; of another client; and of a command that was sent once more. */
    assert_verdict(judge_lines("result_truth", HEADER CLIENT_1_HOLDS ERROR(40, 1, 1, "a")
                                                   FREE(50, 1) RELEASE_FAILS(55, 1)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("result_truth", HEADER CLIENT_1_HOLDS FREE(50, 1)
                                                   ERROR(51, 1, 2, "a") RELEASE_FAILS(55, 1)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("result_truth", HEADER CLIENT_1_HOLDS SET(20, 4, 1, "a", 1020)
                                                   FREE(50, 1) ERROR(51, 4, 1, "a")
                                                       DELETED(52, 4, 1, "a") RELEASE_FAILS(55, 1)),
                   VERDICT_FAIL);
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

/* The network is slow: what deletes it was sent before the keys ran out. */
Test(result_truth, deletion_that_was_on_its_way_is_no_key_that_was_kept)
{
#define CAME_TO_1(sent)                                                                            \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) REFUSE(10, 1) ENDED(1005, 1, "expired", "a", "ttl")     \
        ENDED(1005, 2, "expired", "a", "ttl")                                                      \
            ON(1200, 1, "kept") ",'process':1,'value':'a','sent':" #sent "000000}\n"
    assert_verdict(judge_lines("result_truth", CAME_TO_1(1005)), VERDICT_SKIPPED);
    assert_verdict(judge_lines("result_truth", CAME_TO_1(1006)), VERDICT_FAIL);
}

/* Whoever is late refuses late, and its deletions are on their way when the keys run out. */
Test(result_truth, late_client_that_refuses_as_its_keys_run_out_is_not_blamed)
{
#define REFUSES_AT_1000(late)                                                                      \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) REFUSE(1000, 1)                                         \
        late ENDED(1005, 1, "expired", "a", "ttl") ENDED(1005, 2, "expired", "a", "ttl")
    assert_verdict(judge_lines("result_truth", REFUSES_AT_1000("")), VERDICT_FAIL);
    assert_verdict(judge_lines("result_truth", REFUSES_AT_1000(STOOD_STILL_OF(1000, 2, 900))),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("result_truth", REFUSES_AT_1000(STOOD_STILL_OF(1000, 1, 900))),
                   VERDICT_UNKNOWN);
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

/* A client of one value lost an answer, cleaned up, and asked again: that was before its grant. */
Test(result_truth, extension_of_keys_that_were_set_twice_before_the_grant_passes)
{
    assert_verdict(judge_lines("result_truth",
                               HEADER ASK(1, 1) SET3(2, 1, "a", 1002) DELETED3(3, 1, "a")
                                   SET3(4, 1, "a", 1004) GRANT(5, 1, "a", 900) EXTEND(100, 1)
                                       EXTENDED(105, 1, 1090)),
                   VERDICT_PASS);
}

Test(result_truth, extension_that_was_not_done_says_nothing_of_keys)
{
#define REMADE(end)                                                                                \
    HEADER CLIENT_1_HOLDS ENDED(400, 1, "evicted", "a", "eviction") EXTEND(500, 1)                 \
        SET(501, 1, 1, "a", 1505) end
    struct check_result result = judge_lines(
        "result_truth", REMADE(OP(505, 1, "fail", "extend") ",'cause':'not-holding'}\n"));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)1, "the grant");
    assert_verdict(judge_lines("result_truth", REMADE(UNKNOWN(505, 1, "extend"))), VERDICT_PASS);
}

Test(result_truth, extension_of_keys_that_stayed_passes)
{
    assert_verdict(judge_lines("result_truth",
                               HEADER CLIENT_1_HOLDS SET(20, 4, 1, "a", 1020)
                                   ENDED(400, 1, "evicted", "a", "eviction") EXTEND(500, 1)
                                       SET(501, 1, 1, "a", 1505) EXTENDED(505, 1, 1490)),
                   VERDICT_PASS);
}

/* ---- what an earlier acquire of unknown outcome explains ---- */

#define LATE_SET(ms, n, v, from)                                                                   \
    ON(ms, n, "set")                                                                               \
    ",'process':1,'value':'" v "','until':2000000000,'sent':" #from "000000}\n"
#define AGAIN_AFTER(end, from)                                                                     \
    HEADER ASK(1, 1) end ASK(60, 1) LATE_SET(61, 1, "a", from) LATE_SET(61, 2, "a", from)          \
        LATE_SET(61, 3, "a", from) REFUSE(70, 1) ENDED(2000, 1, "expired", "a", "ttl")             \
            ENDED(2000, 2, "expired", "a", "ttl") ENDED(2000, 3, "expired", "a", "ttl")

Test(result_truth, refusal_behind_an_acquire_of_unknown_outcome_is_honest)
{
    cr_assert_neq(judge_lines("result_truth", AGAIN_AFTER(UNKNOWN(50, 1, "acquire"), 5)).verdict,
                  VERDICT_FAIL);
    cr_assert_neq(judge_lines("no_leak", AGAIN_AFTER(UNKNOWN(50, 1, "acquire"), 5)).verdict,
                  VERDICT_FAIL);
    /* What it sent for this acquire, or after one that it knew the end of, it has to clean up. */
    assert_verdict(judge_lines("result_truth", AGAIN_AFTER(UNKNOWN(50, 1, "acquire"), 60)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("result_truth", AGAIN_AFTER(REFUSE(50, 1), 5)), VERDICT_FAIL);
    assert_verdict(judge_lines("no_leak", AGAIN_AFTER(REFUSE(50, 1), 5)), VERDICT_FAIL);
}

#define REENTRANT                                                                                  \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'declared':true,'declares':['reentrant']}\n"
#define TWICE_HELD                                                                                 \
    REENTRANT ASK(1, 1) SET3(1, 1, "a", 901) GRANT_OPEN(2, 1, "a") ASK(3, 1) GRANT_OPEN(4, 1, "a")

Test(result_truth, inner_release_that_takes_the_keys_along_fails)
{
    static const char freed[] = TWICE_HELD FREE(5, 1) DELETED3(6, 1, "a") FREED(7, 1);
    struct check_result result = judge_lines("result_truth", freed);
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("result_truth", freed),
                     "result_truth: client 1 gave r0 back once, which it held several times, and "
                     "3 nodes deleted its key");
}

Test(result_truth, inner_release_that_leaves_the_keys_and_an_outer_one_that_does_not_pass)
{
    assert_verdict(judge_lines("result_truth", TWICE_HELD FREE(5, 1) FREED(6, 1) FREE(7, 1)
                                                   DELETED3(8, 1, "a") FREED(9, 1)),
                   VERDICT_PASS);
    assert_fails(
        judge_lines("result_truth", TWICE_HELD FREE(5, 1) FREED(6, 1) FREE(7, 1) FREED(9, 1)),
        BLAME_LIBRARY, ASSUMPTION_NONE);
}

/* The node answered the first release with an error, or never: the lock may still count it. */
Test(result_truth, release_behind_one_that_was_not_heard_of_is_not_judged)
{
#define GIVEN_TWICE(first)                                                                         \
    REENTRANT ASK(1, 1) SET3(1, 1, "a", 901) GRANT_OPEN(2, 1, "a") FREE(3, 1) first ASK(5, 1)      \
        GRANT_OPEN(6, 1, "a") FREE(7, 1) FREED(8, 1)
    assert_verdict(judge_lines("result_truth", GIVEN_TWICE(UNKNOWN(4, 1, "release"))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth",
                               GIVEN_TWICE(DELETED3(4, 1, "a") FREED(4, 1) SET3(5, 1, "a", 901))),
                   VERDICT_FAIL);
}

/* What it held had run out: the lock counts from one again, and nobody can say which it is. */
Test(result_truth, release_of_what_was_set_anew_in_between_is_not_judged)
{
    assert_verdict(
        judge_lines("result_truth",
                    REENTRANT ASK(1, 1) SET3(1, 1, "a", 901) GRANT_OPEN(2, 1, "a")
                        ENDED(901, 1, "expired", "a", "ttl") ENDED(901, 2, "expired", "a", "ttl")
                            ENDED(901, 3, "expired", "a", "ttl") ASK(950, 1) SET3(951, 1, "a", 1900)
                                GRANT_OPEN(952, 1, "a") FREE(960, 1) DELETED3(961, 1, "a")
                                    FREED(962, 1) FREE(963, 1) RELEASE_FAILS(964, 1)),
        VERDICT_PASS);
}

/* The same where the end had been promised, and had passed: the lock may count that it had it. */
Test(result_truth, release_of_what_was_set_anew_behind_a_promise_is_not_judged)
{
#define ANEW(header)                                                                               \
    header ASK(1, 1) SET3(1, 1, "a", 901) GRANT(2, 1, "a", 900)                                    \
        ENDED(901, 1, "expired", "a", "ttl") ENDED(901, 2, "expired", "a", "ttl")                  \
            ENDED(901, 3, "expired", "a", "ttl") ASK(950, 1) SET3(951, 1, "a", 1900)               \
                GRANT(952, 1, "a", 1900) FREE(960, 1) FREED(962, 1)
    assert_verdict(judge_lines("result_truth", ANEW(REENTRANT)), VERDICT_PASS);
    assert_fails(judge_lines("result_truth", ANEW(HEADER)), BLAME_LIBRARY, ASSUMPTION_NONE);
}

/* What nobody heard of may have been granted: the lock counts it, and one release gives one back.
 */
Test(result_truth, release_behind_an_acquire_that_was_not_heard_of_is_not_judged)
{
#define TAKEN_TWICE(first)                                                                         \
    REENTRANT ASK(1, 1) SET3(1, 1, "a", 901) first ASK(3, 1) GRANT_OPEN(4, 1, "a") FREE(5, 1)      \
        FREED(6, 1)
#define ONCE_MORE ASK(7, 1) GRANT_OPEN(8, 1, "a") FREE(9, 1) FREED(10, 1)
    assert_verdict(judge_lines("result_truth", TAKEN_TWICE(UNKNOWN(2, 1, "acquire"))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", TAKEN_TWICE(UNKNOWN(2, 1, "acquire")) ONCE_MORE),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", TAKEN_TWICE(REFUSE(2, 1))), VERDICT_FAIL);
}

/* It promises no end: that an extension is done says that there was something to extend. */
#define EXTENDED_OPEN(ms, p) OP(ms, p, "ok", "extend") "}\n"
#define GONE3(ms)                                                                                  \
    ENDED(ms, 1, "expired", "a", "ttl")                                                            \
    ENDED(ms, 2, "expired", "a", "ttl") ENDED(ms, 3, "expired", "a", "ttl")

#define MORE(ms, n)                                                                                \
    ON(ms, n, "extended") ",'process':1,'value':'a','owner':'a','until':1300000000}\n"
#define MORE3(ms) MORE(ms, 1) MORE(ms, 2) MORE(ms, 3)

Test(result_truth, extension_done_of_keys_that_were_gone_when_it_was_asked_fails)
{
    static const char gone[] = REENTRANT ASK(1, 1) SET3(1, 1, "a", 901) GRANT_OPEN(2, 1, "a")
        GONE3(901) EXTEND(950, 1) EXTENDED_OPEN(960, 1);
    assert_fails(judge_lines("result_truth", gone), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("result_truth", gone),
                     "result_truth: client 1's extension of r0 said done, but from when it was "
                     "asked only 0 of the 2 keys that make a majority were there");
    assert_verdict(judge_lines("result_truth",
                               REENTRANT ASK(1, 1) SET3(1, 1, "a", 901) GRANT_OPEN(2, 1, "a")
                                   GONE3(901) ASK(902, 2) SET3(903, 2, "b", 1803) EXTEND(950, 1)
                                       EXTENDED_OPEN(960, 1)),
                   VERDICT_FAIL);
}

Test(result_truth, extension_done_of_keys_that_were_there_at_some_moment_of_it_passes)
{
    assert_verdict(judge_lines("result_truth",
                               REENTRANT ASK(1, 1) SET3(1, 1, "a", 901) GRANT_OPEN(2, 1, "a")
                                   EXTEND(900, 1) MORE3(900) GONE3(901) EXTENDED_OPEN(960, 1)),
                   VERDICT_PASS);
}

/* A lock that says of itself that it extends. */
#define EXTENDS             LISTENED ",'declared':true,'declares':['validity','extend']}\n"
#define HELD_3              ASK(1, 1) SET3(1, 1, "a", 1001) GRANT(2, 1, "a", 990)
#define NOT_EXTENDED(ms, p) OP(ms, p, "fail", "extend") ",'cause':'not-holding'}\n"

Test(result_truth, extension_done_where_too_few_nodes_gave_a_key_more_time_fails)
{
    static const char none[] = EXTENDS HELD_3 EXTEND(300, 1) EXTENDED(303, 1, 1290);
    assert_fails(judge_lines("result_truth", none), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("result_truth", none),
                     "result_truth: client 1's extension of r0 said done, but only 0 of the 3 "
                     "nodes that make a majority gave its key more time");
}

/* It was done; there was no need; no more was promised; a node that a fault struck may not have
 * told. */
Test(result_truth, extension_done_where_a_majority_gave_a_key_more_time_passes)
{
    assert_verdict(judge_lines("result_truth", EXTENDS HELD_3 EXTEND(300, 1) MORE(301, 1) MORE(
                                                   301, 2) MORE(301, 3) EXTENDED(303, 1, 1290)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", EXTENDS HELD_3 EXTEND(3, 1) EXTENDED(5, 1, 990)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", EXTENDS HELD_3 EXTEND(300, 1) EXTENDED(305, 1, 990)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth",
                               EXTENDS HELD_3 EXTEND(300, 1) MORE(301, 1) MORE(301, 2)
                                   FAULT_OF_NODE(302, 1, "crash", "start", 3)
                                       EXTENDED(303, 1, 1290)),
                   VERDICT_PASS);
}

/* It had nothing to do yet, and looked at no node: it promises what was promised before. */
Test(result_truth, extension_that_promises_no_more_need_give_no_key_more_time)
{
#define GONE_BY_100                                                                                \
    ENDED(100, 1, "evicted", "a", "eviction")                                                      \
    ENDED(100, 2, "evicted", "a", "eviction") ENDED(100, 3, "evicted", "a", "eviction")
#define PROMISES(until) EXTENDS HELD_3 GONE_BY_100 EXTEND(300, 1) EXTENDED(303, 1, until)
    assert_verdict(judge_lines("result_truth", PROMISES(990)), VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", PROMISES(1000)), VERDICT_PASS);
    assert_fails(judge_lines("result_truth", PROMISES(1001)), BLAME_LIBRARY, ASSUMPTION_NONE);
}

Test(result_truth, extension_refused_of_what_is_held_for_long_yet_fails)
{
    static const char refused[] = EXTENDS HELD_3 EXTEND(300, 1) NOT_EXTENDED(303, 1);
    assert_fails(judge_lines("result_truth", refused), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("result_truth", refused),
                     "result_truth: client 1 was refused more time for r0, but a majority of nodes "
                     "kept its key for another 698 ms");
}

/* Little was left; it took long; it was told lost; one was done before; a fault was there. */
Test(result_truth, extension_refused_for_a_reason_passes)
{
    assert_verdict(judge_lines("result_truth", EXTENDS HELD_3 EXTEND(600, 1) NOT_EXTENDED(603, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", EXTENDS HELD_3 EXTEND(300, 1) NOT_EXTENDED(350, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth",
                               EXTENDS HELD_3 EXTEND(300, 1) LOST(301, 1) NOT_EXTENDED(303, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth",
                               EXTENDS HELD_3 EXTEND(300, 1) MORE3(301) EXTENDED(303, 1, 1290)
                                   EXTEND(400, 1) NOT_EXTENDED(403, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth",
                               EXTENDS HELD_3 FAULT_OF_NODE(200, 3, "latency", "start", 1)
                                   EXTEND(300, 1) NOT_EXTENDED(303, 1)),
                   VERDICT_PASS);
}

/* A set of a key that shows no value of its own: all nodes, one after the other. */
#define SET3_BARE(ms, asked, end)                                                                  \
    SET_BARE(ms, 1, asked, end) SET_BARE(ms, 2, asked, end) SET_BARE(ms, 3, asked, end)
#define SET_BARE(ms, n, asked, end)                                                                \
    ON(ms, n, "set") ",'process':1,'until':" #end "000000,'sent':" #asked "000000}\n"
#define DELETED_BARE(ms, n) ON(ms, n, "deleted") ",'process':1,'cause':'released'}\n"

/* A member of a sorted set, the mode of a hash: what an acquire of unknown outcome sent comes when
 * the next is open, and so does what that one sent itself. */
Test(result_truth, grant_of_keys_without_a_value_is_not_tied_to_an_older_acquire)
{
#define LATE_SETS                                                                                  \
    HEADER ASK(1, 1) UNKNOWN(200, 1, "acquire") ASK(210, 1) SET3_BARE(300, 2, 1300)                \
        DELETED_BARE(301, 1) DELETED_BARE(301, 2) DELETED_BARE(301, 3)
    assert_verdict(
        judge_lines("result_truth", LATE_SETS SET3_BARE(302, 211, 1302) GRANT(310, 1, "b", 1200)),
        VERDICT_PASS);
    assert_fails(judge_lines("result_truth", LATE_SETS GRANT(310, 1, "b", 1200)), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
}
