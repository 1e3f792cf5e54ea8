/* test_ttl_truth.c: the ttl that was set is the ttl that was asked. */
#include "tests/checker/story.h"

/* The node says what it gave the key, on its own clock. */
#define SET_TTL(ms, n, p, v, the_ttl)                                                              \
    ON(ms, n, "set")                                                                               \
    ",'process':" #p ",'value':'" v "','until':9000000000,'ttl':" #the_ttl "000000}\n"
#define EXTENDED_TTL(ms, n, p, v, the_ttl)                                                         \
    ON(ms, n, "extended")                                                                          \
    ",'process':" #p ",'value':'" v "','owner':'" v "','until':9000000000,'ttl':" #the_ttl         \
    "000000}\n"
#define GRANTED_WITH(the_ttl)                                                                      \
    HEADER ASK(1, 1) SET_TTL(5, 1, 1, "a", the_ttl) SET_TTL(5, 2, 1, "a", the_ttl)                 \
        SET_TTL(5, 3, 1, "a", the_ttl) GRANT(10, 1, "a", 900)

Test(ttl_truth, ttl_that_was_asked_passes)
{
    struct check_result result = judge_lines("ttl_truth", GRANTED_WITH(1000));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)3);
    assert_verdict(judge_lines("ttl_truth", GRANTED_WITH(999)), VERDICT_PASS);
    assert_verdict(judge_lines("ttl_truth", GRANTED_WITH(1009)), VERDICT_PASS);
    assert_verdict(judge_lines("ttl_truth", GRANTED_WITH(1099)), VERDICT_PASS); /* for drift */
}

Test(ttl_truth, shorter_or_longer_ttl_fails)
{
    struct check_result result = judge_lines("ttl_truth", GRANTED_WITH(900));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_evidence(result, 1, 4);
    cr_assert_str_eq(
        headline("ttl_truth", GRANTED_WITH(900)),
        "ttl_truth: client 1 was granted r0 at 10 ms by a key on node 1 that was given "
        "900 ms; the ttl that was asked is 1 s");
    assert_verdict(judge_lines("ttl_truth", GRANTED_WITH(1)), VERDICT_FAIL);
    assert_verdict(judge_lines("ttl_truth", GRANTED_WITH(1100)), VERDICT_FAIL);
    assert_verdict(judge_lines("ttl_truth", GRANTED_WITH(1000000)), VERDICT_FAIL);
}

/* Whoever sets the moment at which it ends has a key for less where the network is slow. */
Test(ttl_truth, less_is_honest_of_a_key_that_ends_a_ttl_behind_the_question)
{
#define SLOWLY(the_ttl) HEADER ASK(1, 1) SET_TTL(300, 1, 1, "a", the_ttl) GRANT(310, 1, "a", 900)
    assert_verdict(judge_lines("ttl_truth", SLOWLY(701)), VERDICT_PASS);
    assert_verdict(judge_lines("ttl_truth", SLOWLY(692)), VERDICT_PASS); /* 1 % */
    assert_verdict(judge_lines("ttl_truth", SLOWLY(690)), VERDICT_FAIL);
    assert_verdict(judge_lines("ttl_truth", SLOWLY(701) EXTEND(400, 1) EXTENDED_TTL(
                                                500, 2, 1, "a", 900) EXTENDED(505, 1, 1300)),
                   VERDICT_PASS);
}

Test(ttl_truth, key_that_never_expires_fails)
{
    static const char endless[] = HEADER ASK(1, 1) SET_ENDLESS(5, 1, 1, "a")
        SET_ENDLESS(5, 2, 1, "a") SET_ENDLESS(5, 3, 1, "a") GRANT(10, 1, "a", 900);
    struct check_result result = judge_lines("ttl_truth", endless);
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("ttl_truth", endless),
                     "ttl_truth: client 1 was granted r0 at 10 ms by a key on node 1 that never "
                     "expires; the ttl that was asked is 1 s");
}

/* On the way to a grant a lock may set what it likes: what counts is what it has then. */
Test(ttl_truth, ttl_that_was_put_right_before_the_grant_passes)
{
    assert_verdict(judge_lines("ttl_truth", HEADER ASK(1, 1) SET_ENDLESS(5, 1, 1, "a") EXTENDED_TTL(
                                                6, 1, 1, "a", 1000) GRANT(10, 1, "a", 900)),
                   VERDICT_PASS);
}

Test(ttl_truth, extension_to_another_ttl_fails)
{
#define EXTENDED_WITH(the_ttl)                                                                     \
    GRANTED_WITH(1000)                                                                             \
    EXTEND(500, 1) EXTENDED_TTL(501, 1, 1, "a", the_ttl) EXTENDED(505, 1, 1490)
    assert_verdict(judge_lines("ttl_truth", EXTENDED_WITH(1000)), VERDICT_PASS);
    assert_verdict(judge_lines("ttl_truth", EXTENDED_WITH(1500)), VERDICT_PASS); /* added to it */
    assert_verdict(judge_lines("ttl_truth", EXTENDED_WITH(500)), VERDICT_FAIL);
    assert_verdict(judge_lines("ttl_truth", EXTENDED_WITH(2500)), VERDICT_FAIL);
}

/* Told of its loss before the answer came: what its keys have then is nobody's promise. */
Test(ttl_truth, extension_of_what_was_lost_meanwhile_is_not_judged)
{
    struct check_result result =
        judge_lines("ttl_truth", GRANTED_WITH(1000) EXTEND(500, 1) EXTENDED_TTL(501, 1, 1, "a", 500)
                                     LOST(503, 1) EXTENDED(505, 1, 1490));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)3, "the grant");
}

/* ... which the extension before it gave time to. */
Test(ttl_truth, key_that_the_last_extension_did_not_reach_passes)
{
    assert_verdict(judge_lines("ttl_truth", EXTENDED_WITH(1500) EXTEND(600, 1) EXTENDED_TTL(
                                                601, 2, 1, "a", 1500) EXTENDED(605, 1, 1590)),
                   VERDICT_PASS);
}

/* A node that starts anew has it with what was left of its ttl then. */
Test(ttl_truth, key_that_a_node_brought_back_is_not_judged)
{
    struct check_result result = judge_lines(
        "ttl_truth", GRANTED_WITH(1000) ENDED(100, 1, "key-lost", "a", "restart")
                         ON(110, 1, "key-back") ",'owner':'a','until':400000000,'cause':'restart'}"
                                                "\n" EXTEND(120, 1) EXTENDED(125, 1, 390));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)5, "of three keys two of the extension");
}

Test(ttl_truth, whole_seconds_may_be_rounded_up)
{
#define ASKED_1500(the_ttl)                                                                        \
    "{'format':'picklock-history','version':1,'nodes':1,'clients':2,'ttl':1500000000}\n" ASK(1, 1) \
        SET_TTL(5, 1, 1, "a", the_ttl) GRANT(10, 1, "a", 900)
    assert_verdict(judge_lines("ttl_truth", ASKED_1500(2000)), VERDICT_PASS);
    assert_verdict(judge_lines("ttl_truth", ASKED_1500(1000)), VERDICT_FAIL);
    assert_verdict(judge_lines("ttl_truth", ASKED_1500(1700)), VERDICT_FAIL);
    assert_verdict(judge_lines("ttl_truth", ASKED_1500(3000)), VERDICT_FAIL);
}

/* Where no node tells the ttl, the expiry does, unless its clock was tampered with. */
Test(ttl_truth, clock_of_a_node_that_was_tampered_with_tells_nothing)
{
    assert_verdict(
        judge_lines("ttl_truth", HEADER ASK(1, 1) SET(5, 1, 1, "a", 705) GRANT(10, 1, "a", 600)),
        VERDICT_FAIL);
    assert_verdict(judge_lines("ttl_truth",
                               HEADER FAULT_OF_NODE(1, 1, "clock_jump", "start", 1) ASK(1, 1)
                                   SET(5, 1, 1, "a", 705) GRANT(10, 1, "a", 600)),
                   VERDICT_SKIPPED);
}

Test(ttl_truth, unknown_ttl_is_not_judged)
{
    assert_verdict(judge_lines("ttl_truth",
                               "{'format':'picklock-history','version':1,'nodes':1}\n" ASK(1, 1)
                                   SET_TTL(5, 1, 1, "a", 20) GRANT(10, 1, "a", 900)),
                   VERDICT_SKIPPED);
}
