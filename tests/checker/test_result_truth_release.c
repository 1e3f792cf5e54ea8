/* test_result_truth_release.c: what a release answered, held against what it did. */
#include "tests/checker/story.h"

#define CLIENT_1_HOLDS ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)

#define KEPT3(ms, p, v) KEPT(ms, 1, p, v) KEPT(ms, 2, p, v) KEPT(ms, 3, p, v)
#define HELD_5                                                                                     \
    ASK(1, 1)                                                                                      \
    SET3(5, 1, "a", 1005) SET(5, 4, 1, "a", 1005) SET(5, 5, 1, "a", 1005) GRANT(10, 1, "a", 990)
#define DELETED5(ms, p, v) DELETED3(ms, p, v) DELETED(ms, 4, p, v) DELETED(ms, 5, p, v)

#define HEARD(ms, n, p, v, back)                                                                   \
    ON(ms, n, "deleted")                                                                           \
    ",'process':" #p ",'value':'" v "','owner':'" v "','cause':'released','sent':20000000,"        \
    "'replied':" #back "000000}\n"
#define HEARD5(ms, p, v, back)                                                                     \
    HEARD(ms, 1, p, v, back)                                                                       \
    HEARD(ms, 2, p, v, back) HEARD(ms, 3, p, v, back) HEARD(ms, 4, p, v, 23) HEARD(ms, 5, p, v, 23)

Test(result_truth, release_left_unknown_though_all_nodes_carried_it_out_fails)
{
    static const char unknown[] =
        HEADER HELD_5 FREE(20, 1) HEARD5(22, 1, "a", 23) UNKNOWN(25, 1, "release");
    assert_fails(judge_lines("result_truth", unknown), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("result_truth", unknown),
                     "result_truth: client 1's release of r0 was left unknown, but all 5 nodes had "
                     "carried it out");
}

/* What its first release freed says nothing of how the second one went. */
Test(result_truth, second_release_of_a_grant_may_be_left_unknown)
{
    assert_verdict(judge_lines("result_truth",
                               HEADER HELD_5 FREE(20, 1) HEARD5(22, 1, "a", 23) FREED(24, 1)
                                   FREE(30, 1) UNKNOWN(35, 1, "release")),
                   VERDICT_PASS);
}

/* Some libraries tell nothing of any release: so it is judged of one that told of another. */
Test(result_truth, release_left_unknown_by_a_library_that_tells_nothing_is_not_judged)
{
#define SILENT                                                                                     \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'declared':true,'declares':['validity']}\n"
    assert_verdict(judge_lines("result_truth", SILENT HELD_5 FREE(20, 1) HEARD5(22, 1, "a", 23)
                                                   UNKNOWN(25, 1, "release")),
                   VERDICT_PASS);
    assert_fails(judge_lines("result_truth",
                             SILENT ASK(1, 2) SET3(2, 2, "b", 1002) GRANT(3, 2, "b", 990) FREE(4, 2)
                                 DELETED3(5, 2, "b") FREED(6, 2) ASK(7, 1) SET3(8, 1, "a", 1008)
                                     SET(8, 4, 1, "a", 1008) SET(8, 5, 1, "a", 1008)
                                         GRANT(10, 1, "a", 990) FREE(20, 1) HEARD5(22, 1, "a", 23)
                                             UNKNOWN(25, 1, "release")),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
}

#define OWN                                                                                        \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true,'tries':4,'world':"

/* Whatever it asked the nodes. In the real world an answer may be late, or be missed. */
Test(result_truth, release_of_our_own_lock_left_unknown_without_a_fault_fails)
{
    static const char unknown[] =
        OWN "'sim'}\n" CLIENT_1_HOLDS FREE(20, 1) UNKNOWN(425, 1, "release");
    assert_fails(judge_lines("result_truth", unknown), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("result_truth", unknown),
                     "result_truth: client 1's release of r0 was left unknown without a fault, "
                     "when 0 nodes had carried it out");
    assert_verdict(judge_lines("result_truth", OWN "'real'}\n" CLIENT_1_HOLDS FREE(20, 1)
                                                   UNKNOWN(425, 1, "release")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", OWN "'sim'}\n" CLIENT_1_HOLDS FAULT_OF_NODE(
                                                   15, 1, "lose_reply", "start", 1) FREE(20, 1)
                                                   UNKNOWN(425, 1, "release")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth",
                               OWN "'sim'}\n" CLIENT_1_HOLDS FREE(20, 1) STOOD_STILL(24, "loop", 2)
                                   UNKNOWN(425, 1, "release")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", OWN "'sim'}\n" CLIENT_1_HOLDS FREE(20, 1) HEARD(
                                                   22, 1, 1, "a", 424) UNKNOWN(425, 1, "release")),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("result_truth", OWN "'sim'}\n" CLIENT_1_HOLDS FREE(20, 1) HEARD(
                                                   22, 1, 1, "a", 426) UNKNOWN(425, 1, "release")),
                   VERDICT_PASS);
}

/* The lock sent its set to this node twice, and its release deleted what was there by then. */
Test(result_truth, set_that_a_fault_held_back_until_behind_the_delete_was_not_kept)
{
#define ONE_NODE "{'format':'picklock-history','version':1,'nodes':1,'ttl':1000000000}\n"
#define SLOW     FAULT_OF_CLIENT(1, 1, "latency", "start", 1)
#define HELD_1   ASK(2, 1) SET(5, 1, 1, "a", 1005) GRANT(10, 1, "a", 990)
#define AGAIN    ON(60, 1, "set") ",'process':1,'value':'a','until':1600000000,'sent':3000000}\n"
    const char *late = ONE_NODE SLOW HELD_1 FREE(50, 1) DELETED(52, 1, 1, "a") AGAIN FREED(65, 1);
    assert_verdict(judge_lines("result_truth", late), VERDICT_PASS);
    /* It was kept where nothing held the set back, or it came before the release was asked. */
    const char *calm = ONE_NODE HELD_1 FREE(50, 1) DELETED(52, 1, 1, "a") AGAIN FREED(65, 1);
    assert_verdict(judge_lines("result_truth", calm), VERDICT_FAIL);
    const char *before = ONE_NODE SLOW HELD_1 AGAIN FREE(66, 1) FREED(70, 1);
    assert_verdict(judge_lines("result_truth", before), VERDICT_FAIL);
}

/* Our own lock says "not held" only where its nodes said so, whatever it told its client before. */
Test(result_truth, release_of_our_own_lock_told_not_held_though_a_majority_has_it_fails)
{
#define PAUSED(from, to)                                                                           \
    FAULT_OF_CLIENT(from, 1, "pause", "start", 1) FAULT_OF_CLIENT(to, 1, "pause", "end", 1)
    static const char *const lines[] = {
        CLIENT_1_HOLDS LOST(15, 1) FREE(20, 1) RELEASE_FAILS(25, 1),
        CLIENT_1_HOLDS FREE(20, 1) PAUSED(21, 23) RELEASE_FAILS(25, 1),
    };
    char whole[4096];
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        (void)snprintf(whole, sizeof whole, OWN "'sim'}\n%s", lines[i]);
        assert_fails(judge_lines("result_truth", whole), BLAME_LIBRARY, ASSUMPTION_NONE);
        cr_assert_str_eq(headline("result_truth", whole),
                         "result_truth: client 1's release of r0 said that nothing was held, but 3 "
                         "nodes have its key");
        (void)snprintf(whole, sizeof whole, OWN "'real'}\n%s", lines[i]);
        assert_verdict(judge_lines("result_truth", whole), VERDICT_PASS);
    }
    /* ... but what was given back before may be on its way. */
    assert_verdict(judge_lines("result_truth", OWN
                               "'sim'}\n" CLIENT_1_HOLDS FAULT_OF_NODE(12, 1, "lose_reply", "start",
                                                                       1) LOST(15, 1) FREE(20, 1)
                                   UNKNOWN(21, 1, "release") FREE(22, 1) RELEASE_FAILS(22, 1)),
                   VERDICT_PASS);
}

/* A node that did not, a fault, or our own standstill: then it could not know. */
Test(result_truth, release_left_unknown_for_a_reason_passes)
{
    assert_verdict(judge_lines("result_truth", HEADER HELD_5 FREE(20, 1) DELETED3(22, 1, "a")
                                                   UNKNOWN(25, 1, "release")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", HEADER HELD_5 FREE(20, 1) HEARD5(22, 1, "a", 29)
                                                   UNKNOWN(25, 1, "release")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", HEADER HELD_5 FREE(20, 1) DELETED5(22, 1, "a")
                                                   UNKNOWN(25, 1, "release")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth",
                               HEADER HELD_5 FAULT_OF_NODE(15, 1, "latency", "start", 1) FREE(20, 1)
                                   HEARD5(22, 1, "a", 23) UNKNOWN(25, 1, "release")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth",
                               HEADER HELD_5 FREE(20, 1) HEARD5(22, 1, "a", 23)
                                   STOOD_STILL(24, "loop", 2) UNKNOWN(25, 1, "release")),
                   VERDICT_PASS);
}

/* The deletion of the release before, of which nothing was heard, is still under way. */
Test(result_truth, not_held_is_honest_of_what_was_given_back_before)
{
    assert_verdict(judge_lines("result_truth",
                               HEADER CLIENT_1_HOLDS FREE(20, 1) UNKNOWN(40, 1, "release")
                                   FREE(41, 1) RELEASE_FAILS(42, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", HEADER CLIENT_1_HOLDS FREE(20, 1) UNKNOWN(
                                                   40, 1, "release") FREE(41, 1) FREED(42, 1)),
                   VERDICT_FAIL);
}

/* Of two deletions, of which the first one's answer was lost, the second finds nothing. */
Test(result_truth, not_held_although_the_release_itself_deleted_the_keys_fails)
{
    struct check_result result = judge_lines(
        "result_truth", HEADER CLIENT_1_HOLDS FAULT_OF_NODE(15, 1, "lose_reply", "start", 1)
                            FREE(20, 1) DELETED3(22, 1, "a") RELEASE_FAILS(42, 1));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)3);
    cr_assert_str_eq(headline("result_truth", HEADER CLIENT_1_HOLDS FREE(20, 1) DELETED3(22, 1, "a")
                                                  RELEASE_FAILS(42, 1)),
                     "result_truth: client 1's release of r0 said that nothing was held, but it "
                     "had deleted 3 of the keys itself");
    assert_verdict(judge_lines("result_truth",
                               HEADER CLIENT_1_HOLDS FREE(20, 1) DELETED(22, 1, 1, "a")
                                   DELETED(22, 2, 1, "a") RELEASE_FAILS(42, 1)),
                   VERDICT_PASS);
}

/* A holder that is careful tells of the loss before the key runs out. */
Test(result_truth, not_held_is_honest_of_what_was_told_lost_before)
{
    assert_verdict(judge_lines("result_truth",
                               HEADER CLIENT_1_HOLDS LOST(40, 1) FREE(50, 1) RELEASE_FAILS(55, 1)),
                   VERDICT_PASS);
}

Test(result_truth, release_told_done_by_a_majority_that_had_no_key_fails)
{
#define GONE(header)                                                                               \
    header ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990)                                  \
        ENDED(15, 1, "evicted", "a", "eviction") ENDED(15, 2, "evicted", "a", "eviction")          \
            ENDED(15, 3, "evicted", "a", "eviction") FREE(20, 1) KEPT3(22, 1, "a") FREED(25, 1)
    assert_fails(judge_lines("result_truth", GONE(HEADER)), BLAME_LIBRARY, ASSUMPTION_NONE);
    /* Of another's lock only its own words tell what it means by ok. */
    assert_verdict(
        judge_lines("result_truth", GONE("{'format':'picklock-history','version':1,'nodes':5,"
                                         "'clients':2,'ttl':1000000000,'declared':true}\n")),
        VERDICT_PASS);
    /* Deleted by a first release whose reply was lost, and missed by the second. */
    assert_verdict(judge_lines("result_truth",
                               HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990)
                                   FREE(20, 1) DELETED3(21, 1, "a") KEPT3(22, 1, "a") FREED(25, 1)),
                   VERDICT_PASS);
}
