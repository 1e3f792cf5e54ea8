/* test_validity.c: no promise outlives the majority of keys behind it. */
#include "tests/checker/story.h"

#define CLIENT_1_HOLDS ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)

Test(validity, keys_that_outlive_the_promise_pass)
{
    struct check_result result =
        judge_lines("validity", HEADER CLIENT_1_HOLDS ENDED(1005, 1, "expired", "a", "ttl")
                                    ENDED(1005, 2, "expired", "a", "ttl"));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)1);
}

Test(validity, released_lease_promises_nothing_more)
{
    assert_verdict(judge_lines("validity", HEADER CLIENT_1_HOLDS FREE(500, 1) DELETED3(501, 1, "a")
                                               FREED(505, 1)),
                   VERDICT_PASS);
}

Test(validity, majority_that_breaks_as_its_holder_gives_it_back_passes)
{
    assert_verdict(judge_lines("validity",
                               HEADER CLIENT_1_HOLDS ENDED(500, 2, "key-lost", "a", "restart")
                                   FREE(500, 1) FREED(505, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("validity",
                               HEADER CLIENT_1_HOLDS ENDED(499, 2, "key-lost", "a", "restart")
                                   FREE(500, 1) FREED(505, 1)),
                   VERDICT_FAIL);
}

Test(validity, losing_a_key_beyond_the_majority_passes)
{
    assert_verdict(judge_lines("validity", HEADER ASK(1, 1) SET3(5, 1, "a", 1005)
                                               SET(5, 4, 1, "a", 1005) GRANT(10, 1, "a", 1000)
                                                   ENDED(500, 4, "expired", "a", "clock-jump")),
                   VERDICT_PASS);
}

Test(validity, losing_the_majority_inside_the_lease_fails_with_the_end_that_broke_it)
{
    struct check_result result =
        judge_lines("validity", HEADER CLIENT_1_HOLDS ENDED(400, 2, "expired", "a", "clock-jump"));
    assert_fails(result, BLAME_ASSUMPTION, ASSUMPTION_NODE_CLOCK);
    assert_evidence(result, 4, 5);
    cr_assert_eq(result.number[0], (int64_t)600000000);
    cr_assert_eq(result.number[1], (int64_t)2);
}

Test(validity, promise_longer_than_the_ttl_blames_the_library)
{
    assert_fails(judge_lines("validity",
                             HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1300)
                                 ENDED(1005, 1, "expired", "a", "ttl")),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
}

Test(validity, lease_that_is_over_when_granted_blames_the_library_though_the_client_was_paused)
{
    struct check_result result = judge_lines(
        "validity",
        HEADER ASK(1, 1) SET3(5, 1, "a", 1005) FAULT_OF_CLIENT(6, 1, "pause", "start", 1)
            ENDED(1005, 1, "expired", "a", "ttl") FAULT_OF_CLIENT(1500, 1, "pause", "end", 1)
                GRANT(1501, 1, "a", 1000));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.evidence_count, 1);
    cr_assert_eq(result.number[0], (int64_t)-501000000);
}

Test(validity, extension_to_a_time_that_has_passed_blames_the_library)
{
    struct check_result result =
        judge_lines("validity", HEADER CLIENT_1_HOLDS EXTEND(500, 1) EXTENDED(1600, 1, 1490));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.evidence_count, 2);
    cr_assert_eq(result.number[0], (int64_t)-110000000);
}

Test(validity, grant_with_its_majority_already_gone_fails)
{
    assert_fails(judge_lines("validity",
                             HEADER ASK(1, 1) SET3(5, 1, "a", 1005)
                                 ENDED(7, 1, "key-lost", "a", "restart") GRANT(10, 1, "a", 1000)),
                 BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE);
}

Test(validity, extension_without_a_majority_fails)
{
    struct check_result result = judge_lines(
        "validity", HEADER CLIENT_1_HOLDS EXTEND(990, 1) ENDED(1005, 1, "expired", "a", "ttl")
                        ENDED(1005, 2, "expired", "a", "ttl") EXTENDED(1010, 1, 2000));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.evidence_count, 3);
}

Test(validity, locks_that_promise_nothing_are_nothing_judged)
{
    assert_verdict(judge_lines("validity",
                               HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a")
                                   ENDED(400, 2, "expired", "a", "clock-jump")),
                   VERDICT_SKIPPED);
}

#define EXTENDED_ON(ms, n)                                                                         \
    ON(ms, n, "extended") ",'process':1,'value':'a','owner':'a','until':1401000000}\n"

/* The node comes back with the key as it was before the extension, which then ends early. */
Test(validity, without_events_of_nodes_no_key_is_missed)
{
    assert_verdict(judge_lines("validity", HEADER ASK(1, 1) GRANT(10, 1, "a", 1000)),
                   VERDICT_SKIPPED);
}

Test(validity, an_extension_that_a_restart_lost_blames_the_restart)
{
#define LOST_WHILE_AWAY(cause)                                                                     \
    HEADER CLIENT_1_HOLDS EXTEND(400, 1) EXTENDED_ON(401, 1) EXTENDED_ON(401, 2)                   \
        EXTENDED_ON(401, 3) EXTENDED(402, 1, 1390)                                                 \
            ON(500, 2, "key-back") ",'owner':'a','until':1005000000,'cause':'restart'}\n" ENDED(   \
                1005, 2, "expired", "a", cause)
    assert_fails(judge_lines("validity", LOST_WHILE_AWAY("ttl")), BLAME_ASSUMPTION,
                 ASSUMPTION_PERSISTENCE);
    assert_fails(judge_lines("validity", LOST_WHILE_AWAY("clock-rate")), BLAME_ASSUMPTION,
                 ASSUMPTION_PERSISTENCE);
}

/* What the lock did is not less for what had befallen it before. */
Test(validity, the_first_that_the_library_is_to_blame_for_is_told)
{
#define THEN(second)                                                                               \
    HEADER CLIENT_1_HOLDS ENDED(400, 2, "expired", "a", "clock-jump") FREE(500, 1)                 \
        DELETED3(501, 1, "a") FREED(505, 1) ASK(1101, 1) SET3(1105, 1, "b", 2105)                  \
            GRANT(1110, 1, "b", 2400) ENDED(2105, 1, "expired", "b", second)
    struct check_result result = judge_lines("validity", THEN("ttl"));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.violations, (uint64_t)2);
    cr_assert_eq(result.number[0], (int64_t)295000000);
    assert_evidence(result, 15, 16);
    result = judge_lines("validity", THEN("clock-jump"));
    assert_fails(result, BLAME_ASSUMPTION, ASSUMPTION_NODE_CLOCK);
    cr_assert_eq(result.violations, (uint64_t)2);
    assert_evidence(result, 4, 5);
}

/* ... or it would have been back like that, had it not run out while the node was down. */
Test(validity, a_key_that_runs_out_after_it_was_lost_was_lost_all_the_same)
{
    assert_fails(judge_lines("validity",
                             HEADER CLIENT_1_HOLDS ENDED(300, 1, "key-lost", "a", "restart")
                                 ENDED(400, 1, "expired", "a", "ttl")
                                     ENDED(500, 2, "key-lost", "a", "restart")),
                 BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE);
}

#define PROMISES(words)                                                                            \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'declared':true,'declares':[" words "]}\n"

/* Nobody waits for it to be over: the holder gives it back, or is told, in time. */
Test(validity, promise_beyond_its_keys_by_more_than_a_ttl_blames_the_library)
{
#define PROMISED(words, fault, until)                                                              \
    PROMISES(words)                                                                                \
    ASK(1, 1) fault SET3(5, 1, "a", 1005) GRANT(10, 1, "a", until) FREE(20, 1)
    static const char beyond[] = PROMISED("'validity'", "", 980000);
    struct check_result result = judge_lines("validity", beyond);
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[1], (int64_t)995000000);
    cr_assert_str_eq(headline("validity", beyond),
                     "validity: client 1's lease of r0 was promised for another 980 s, and "
                     "the majority of its keys had 995 ms");
#define A_NODE_FORGETS FAULT_OF_NODE(2, 1, "crash", "start", 5)
    assert_verdict(judge_lines("validity", PROMISED("'validity'", A_NODE_FORGETS, 2005)),
                   VERDICT_PASS);
    assert_fails(judge_lines("validity", PROMISED("'validity'", A_NODE_FORGETS, 2006)),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("validity", PROMISED("'validity','renew'", "", 980000)),
                   VERDICT_PASS);
    assert_verdict(
        judge_lines("validity", PROMISED("'validity'",
                                         FAULT_OF_CLIENT(2, 1, "clock_rate", "start", 1), 980000)),
        VERDICT_PASS);
}

/* Replies that took 250 ms: who counts from them promises so much more than there is. */
Test(validity, promise_beyond_its_keys_by_a_tenth_of_a_ttl_is_enough_where_no_fault_explains_it)
{
    assert_verdict(judge_lines("validity", PROMISED("'validity'", "", 1105)), VERDICT_PASS);
    assert_fails(judge_lines("validity", PROMISED("'validity'", "", 1106)), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_verdict(judge_lines("validity", PROMISED("'validity','renew'", "", 1255)), VERDICT_PASS);
#define IS_EXPLAINED_BY(fault)                                                                     \
    assert_verdict(judge_lines("validity", PROMISED("'validity'", fault, 1255)), VERDICT_PASS)
    IS_EXPLAINED_BY(A_NODE_FORGETS);
    IS_EXPLAINED_BY(FAULT_OF_CLIENT(2, 1, "pause", "start", 1));
    IS_EXPLAINED_BY(FAULT_OF_CLIENT(2, 1, "clock_jump", "start", 1));
    assert_fails(
        judge_lines("validity",
                    PROMISED("'validity'", FAULT_OF_CLIENT(2, 1, "latency", "start", 1), 1255)),
        BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("validity", PROMISES("'validity'") ASK(1, 1) SET3(5, 1, "a", 1005)
                                               GRANT_BETWEEN(10, 1, "a", 1101, 1255)),
                   VERDICT_PASS);
}

/* It may have been we who kept the program from saying at once what it had computed. */
Test(validity, promise_beyond_its_keys_is_unknown_where_its_program_stood_still_for_as_long)
{
#define ANSWERED_LATE(length)                                                                      \
    PROMISES("'validity'")                                                                         \
    ASK(1, 1) SET3(5, 1, "a", 1005) STOOD_STILL_OF(300, 1, length) GRANT(310, 1, "a", 1255)
    assert_verdict(judge_lines("validity", ANSWERED_LATE(250)), VERDICT_UNKNOWN);
    assert_verdict(judge_lines("validity", ANSWERED_LATE(249)), VERDICT_FAIL);
}

/* An extension that gave its keys a ttl from when it was asked, and promises one from its answer.
 */
Test(validity, extension_beyond_its_keys_blames_the_library)
{
#define LONGER(n)                                                                                  \
    ON(401, n, "extended") ",'process':1,'value':'a','owner':'a','until':1401000000}\n"
#define EXTENDED_TO(until)                                                                         \
    PROMISES("'validity'")                                                                         \
    ASK(1, 1)                                                                                      \
    SET3(5, 1, "a", 1005)                                                                          \
    GRANT(10, 1, "a", 1000)                                                                        \
    EXTEND(400, 1) LONGER(1) LONGER(2) LONGER(3) EXTENDED(650, 1, until) FREE(660, 1)
    assert_verdict(judge_lines("validity", EXTENDED_TO(1501)), VERDICT_PASS);
    struct check_result result = judge_lines("validity", EXTENDED_TO(1650));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)1000000000);
    cr_assert_eq(result.number[1], (int64_t)751000000);
}

/* A node has keys of many locks: that one of them is given back at that moment excuses no other. */
Test(validity, majorities_that_break_at_one_moment_are_told_apart)
{
#define R1_KEY(ms, n, f) AT(ms) "'kind':'node','node':" #n ",'f':'" f "','resource':'r1'"
#define R1_SET(n)        R1_KEY(6, n, "set") ",'process':2,'value':'b','until':1006000000}\n"
#define R1_LOST(n)       R1_KEY(20, n, "key-lost") ",'owner':'b','cause':'restart'}\n"
#define BOTH_BREAK                                                                                 \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005)                                                         \
        AT(5) "'process':2,'type':'invoke','f':'acquire','resource':'r1'}\n" R1_SET(1) R1_SET(2)   \
            R1_SET(3) AT(9) "'process':2,'type':'ok','f':'acquire','resource':'r1','value':'b',"   \
                            "'until':1000000000}\n" GRANT(10, 1, "a", 1000)                        \
                                ENDED(20, 1, "key-lost", "a", "restart") R1_LOST(1)
    assert_fails(judge_lines("validity", BOTH_BREAK FREE(20, 1) FREED(21, 1)), BLAME_ASSUMPTION,
                 ASSUMPTION_PERSISTENCE);
    assert_verdict(
        judge_lines(
            "validity",
            BOTH_BREAK FREE(20, 1)
                AT(20) "'process':2,'type':'invoke','f':'release','resource':'r1'}\n" FREED(21, 1)),
        VERDICT_PASS);
}

/* It was told lost at its end, while it was under way: what is promised now is none of that. */
Test(validity, extension_that_comes_behind_the_notice_of_loss_counts_by_its_own_end)
{
#define TOLD_LOST                                                                                  \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 900) EXTEND(890, 1) LOST(900, 1)
    assert_verdict(judge_lines("validity", TOLD_LOST EXTENDED(910, 1, 1800)), VERDICT_PASS);
    assert_verdict(
        judge_lines("validity", TOLD_LOST OP(910, 1, "ok", "extend") "}\n" RUN_ENDS(2000)),
        VERDICT_PASS);
    assert_fails(judge_lines("validity", TOLD_LOST EXTENDED(910, 1, 905)), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
}

/* Of two that one client holds, each an owner of its own, an extension names which. */
Test(validity, extension_is_judged_by_the_grant_that_it_names)
{
#define HOLDS_TWO                                                                                  \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'owner':'object'}\n" ASK(1, 1) GRANT(10, 1, "a", 1000) ASK(20, 1)           \
        GRANT(21, 1, "b", 30)
#define EXTENDED_OF(ms, v, end)                                                                    \
    EXTEND(ms, 1) OP(ms, 1, "ok", "extend") ",'value':'" v "','until':" #end "000000}\n"
    assert_verdict(judge_lines("validity", HOLDS_TWO EXTENDED_OF(50, "a", 1200)), VERDICT_SKIPPED);
    assert_verdict(judge_lines("validity", HOLDS_TWO EXTENDED_OF(50, "a", 40)), VERDICT_FAIL);
    assert_verdict(judge_lines("answer_consistency",
                               HOLDS_TWO FREE(40, 1) FREED(41, 1) EXTENDED_OF(50, "a", 1200)),
                   VERDICT_PASS);
}

/* What it held was lost, and it is granted it anew under another value: that begins by itself. */
Test(validity, another_value_behind_a_loss_is_a_grant_of_its_own)
{
#define COUNTS                                                                                     \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true,'declared':true,"                                  \
    "'declares':['reentrant','validity','notice']}\n"
#define EXPIRED3(ms, v)                                                                            \
    ENDED(ms, 1, "expired", v, "ttl")                                                              \
    ENDED(ms, 2, "expired", v, "ttl") ENDED(ms, 3, "expired", v, "ttl")
#define ANEW(told)                                                                                 \
    COUNTS ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990) EXPIRED3(1005, "a") ASK(1100, 1) \
        told SET3(1110, 1, "b", 2110) GRANT(1115, 1, "b", 2090) FREE(1500, 1)                      \
            DELETED3(1505, 1, "b") FREED(1510, 1) FREE(1520, 1) RELEASE_FAILS(1525, 1)             \
                RUN_ENDS(3000)
    assert_verdict(judge_lines("validity", ANEW(LOST(1105, 1))), VERDICT_PASS);
    assert_verdict(judge_lines("validity", ANEW("")), VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", ANEW(LOST(1105, 1))), VERDICT_PASS);
    assert_verdict(judge_lines("no_leak", ANEW(LOST(1105, 1))), VERDICT_PASS);
}

/* It said yes in time, but its client's program had been stopped by then, and heard of it later. */
#define HEARD_LATE(since)                                                                          \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) FAULT_OF_CLIENT(6, 1, "pause", "start", 1)              \
        EXPIRED3(1005, "a") ASK(1090, 2) SET3(1095, 2, "b", 2095) GRANT(1100, 2, "b", 2090)        \
            ENTER(1101, 2) FAULT_OF_CLIENT(1500, 1, "pause", "end", 1)                             \
                OP(1502, 1, "ok", "acquire") ",'value':'a','until':990000000" since                \
                                             "}\n" ENTER(1503, 1) LEAVE(1510, 1) LEAVE(1520, 2)

Test(validity, grant_that_was_said_in_time_and_heard_late_is_the_holders)
{
    assert_fails(judge_lines("validity", HEARD_LATE("")), BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("validity", HEARD_LATE(",'since':7000000")), VERDICT_PASS);
    assert_fails(judge_lines("validity", HEARD_LATE(",'since':991000000")), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_fails(judge_lines("section_exclusion", HEARD_LATE(",'since':7000000")), BLAME_ASSUMPTION,
                 ASSUMPTION_CLIENT_PAUSE);
    assert_verdict(judge_lines("exclusion", HEARD_LATE(",'since':7000000")), VERDICT_PASS);
    assert_verdict(judge_lines("loss_notice", HEARD_LATE(",'since':7000000")), VERDICT_PASS);
}

/* Several stood still, and hear of their grants in another order than they were given. */
Test(validity, grants_are_in_the_order_in_which_they_were_said)
{
#define SAID(ms, p, v, since)                                                                      \
    OP(ms, p, "ok", "acquire") ",'value':'" v "','until':900000000,'since':" since "}\n"
#define SAID_IN_TURN(since)                                                                        \
    "{'format':'picklock-history','version':1,'clients':3,'ttl':1000000000,'bound':500000000,"     \
    "'promises_validity':true}\n" ASK(1, 1) ASK(2, 2) ASK(3, 3) SAID(50, 1, "a", "30000000")       \
        SAID(60, 2, "b", "20000000") SAID(70, 3, "c", since)
    assert_verdict(judge_lines("exclusion", SAID_IN_TURN("10000000")), VERDICT_FAIL);
    assert_verdict(judge_lines("exclusion", SAID_IN_TURN("0")), VERDICT_FAIL);
    assert_verdict(judge_lines("exclusion", SAID_IN_TURN("90000000")), VERDICT_FAIL); /* not yet */
}
