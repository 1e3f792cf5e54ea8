/* test_store_integrity.c: no update is lost, no stale write accepted. */
#include "tests/checker/story.h"

#define CLIENT_1_HOLDS ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)
#define CLIENT_2_GETS                                                                              \
    ENDED(1005, 1, "expired", "a", "ttl")                                                          \
    ENDED(1005, 2, "expired", "a", "ttl")                                                          \
    ENDED(1005, 3, "expired", "a", "ttl")                                                          \
    ASK(1100, 2) SET3(1101, 2, "b", 2101) GRANT(1105, 2, "b", 2090)
#define GUARDED_BY_VALUE                                                                           \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'promises_validity':true,'value_check':true}\n"

Test(store_integrity, writes_on_what_was_read_pass)
{
    struct check_result result =
        judge_lines("store_integrity",
                    HEADER CLIENT_1_HOLDS READ(20, 1, 0) WRITE(30, 1, 0, 1) READ(40, 1, 1)
                        WRITE(50, 1, 1, 2) CLIENT_2_GETS READ(1110, 2, 2) WRITE(1120, 2, 2, 3));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)3);
}

Test(store_integrity, lost_update_fails_with_both_writes)
{
    struct check_result result =
        judge_lines("store_integrity",
                    HEADER CLIENT_1_HOLDS READ(20, 1, 0) FAULT_OF_CLIENT(25, 1, "pause", "start", 1)
                        CLIENT_2_GETS READ(1110, 2, 0) WRITE(1120, 2, 0, 1)
                            FAULT_OF_CLIENT(1500, 1, "pause", "end", 1) WRITE(1501, 1, 0, 2));
    assert_fails(result, BLAME_ASSUMPTION, ASSUMPTION_CLIENT_PAUSE);
    assert_evidence(result, 19, 22);
    cr_assert_eq(result.number[0], (int64_t)2);
    cr_assert_eq(result.number[1], (int64_t)0);
}

Test(store_integrity, lost_update_shows_also_when_answers_come_out_of_order)
{
    struct check_result result = judge_lines(
        "store_integrity",
        HEADER ASK(1, 1) GRANT(2, 1, "a", 1000) ASK(3, 2) GRANT(4, 2, "b", 1000)
            OP(10, 1, "invoke", "write") "}\n" OP(10, 2, "invoke", "write") "}\n" OP(
                12, 2, "ok",
                "write") ",'basis':0,'version':2}\n" OP(13, 1, "ok",
                                                        "write") ",'basis':0,'version':1}\n");
    assert_verdict(result, VERDICT_FAIL);
}

Test(store_integrity, stale_write_is_not_saved_by_reading_first)
{
    struct check_result result =
        judge_lines("store_integrity", HEADER CLIENT_1_HOLDS CLIENT_2_GETS READ(1110, 2, 0) WRITE(
                                           1120, 2, 0, 1) READ(1130, 1, 1) WRITE(1140, 1, 1, 2));
    assert_fails(result, BLAME_ASSUMPTION, ASSUMPTION_SECTION);
    assert_evidence(result, 16, 20);
}

/* The counter began anew: who came later has the smaller fence, and its write is the stale one. */
Test(store_integrity, fences_that_a_restart_lowered_are_no_fault_of_the_lock)
{
#define LOWERED(fault)                                                                             \
    HEADER ASK(1, 1) GRANT_FENCE(2, 1, 8) READ(3, 1, 0) WRITE(4, 1, 0, 1) FREE(5, 1) FREED(6, 1)   \
        fault ASK(10, 2) GRANT_FENCE(11, 2, 1) READ(12, 2, 1) WRITE(13, 2, 1, 2)
    assert_fails(
        judge_lines("store_integrity", LOWERED(FAULT_OF_NODE(7, 1, "crash", "start", 1)
                                                   FAULT_OF_NODE(8, 1, "crash", "end", 1))),
        BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE);
    struct check_result result = judge_lines("store_integrity", LOWERED(""));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_evidence(result, 5, 13);
}

/* Clocks took the keys of client 1, which was granted the lock at one time with client 2: who of
 * them counted first is nobody's bug. */
#define FENCED(ms, p, v, end, the_fence)                                                           \
    OP(ms, p, "ok", "acquire")                                                                     \
    ",'value':'" v "','until':" #end "000000,'fence':" #the_fence "}\n"
#define JUMPED(n)                                                                                  \
    FAULT_OF_NODE(3, n, "clock_jump", "start", n) ENDED_BY(3, n, "expired", "a", "clock-jump", n)

Test(store_integrity, fences_of_two_that_asked_at_one_time_accuse_nobody)
{
    struct check_result result = judge_lines(
        "store_integrity",
        HEADER ASK(1, 1) SET3(2, 1, "a", 1002) JUMPED(1) JUMPED(2) JUMPED(3) ASK(4, 2)
            SET3(5, 2, "b", 1005) FENCED(8, 2, "b", 990, 2) FENCED(9, 1, "a", 990, 1) READ(10, 1, 0)
                READ(10, 2, 0) WRITE(11, 2, 0, 1) READ(12, 1, 1) WRITE(13, 1, 1, 2));
    assert_fails(result, BLAME_ASSUMPTION, ASSUMPTION_NODE_CLOCK);
}

Test(store_integrity, store_that_checks_values_lets_in_whoever_read_last)
{
    assert_verdict(judge_lines("store_integrity",
                               GUARDED_BY_VALUE CLIENT_1_HOLDS CLIENT_2_GETS READ(1110, 2, 0)
                                   WRITE(1120, 2, 0, 1) READ(1130, 1, 1) WRITE(1140, 1, 1, 2)),
                   VERDICT_PASS);
}

Test(store_integrity, refused_and_unknown_writes_are_not_judged)
{
    assert_verdict(
        judge_lines(
            "store_integrity",
            HEADER CLIENT_1_HOLDS OP(20, 1, "invoke", "write") ",'basis':0}\n" OP(
                21, 1, "fail",
                "write") ",'basis':0,'cause':'stale-fence'}\n" OP(22, 1, "invoke",
                                                                  "write") ",'basis':0}"
                                                                           "\n" UNKNOWN(23, 1,
                                                                                        "writ"
                                                                                        "e")),
        VERDICT_SKIPPED);
}

/* A restart took a key of client 1's majority, so that client 2 got a majority of its own. */
#define CLIENT_2_GETS_AFTER_A_RESTART                                                              \
    FAULT_OF_NODE(200, 1, "power_loss", "start", 1)                                                \
    ENDED_BY(200, 1, "key-lost", "a", "restart", 1)                                                \
    FAULT_OF_NODE(200, 1, "power_loss", "end", 1)                                                  \
    ASK(300, 2)                                                                                    \
    SET(301, 1, 2, "b", 1301)                                                                      \
    SET(301, 4, 2, "b", 1301)                                                                      \
    SET(301, 5, 2, "b", 1301) GRANT(305, 2, "b", 1290) READ(310, 2, 0) WRITE(320, 2, 0, 1)

Test(store_integrity, keys_that_end_when_both_were_granted_excuse_nobody_and_accuse_nobody)
{
    struct check_result result = judge_lines(
        "store_integrity",
        HEADER CLIENT_1_HOLDS CLIENT_2_GETS_AFTER_A_RESTART ENDED(1005, 2, "expired", "a", "ttl")
            ENDED(1005, 3, "expired", "a", "ttl") WRITE(1010, 1, 0, 2));
    assert_fails(result, BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE);
}

Test(store_integrity, keys_that_ended_before_the_second_grant_accuse_the_library)
{
    struct check_result result =
        judge_lines("store_integrity", HEADER CLIENT_1_HOLDS ENDED(150, 2, "expired", "a", "ttl")
                                           CLIENT_2_GETS_AFTER_A_RESTART WRITE(330, 1, 0, 2));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
}

/* Refused eight times since, each time with one key set: the grant of client 2 is forgotten. */
static const char *late_writer(const char *others_grant)
{
    static char lines[STORY_BYTES_MAX];
    struct text text = text_over(lines, sizeof lines);
    text_add(&text, "%s%s%s",
             HEADER CLIENT_1_HOLDS READ(20, 1, 0) FAULT_OF_CLIENT(25, 1, "pause", "start", 1),
             others_grant, READ(1110, 2, 0) WRITE(1120, 2, 0, 1));
    text_add(&text, "%s", FREE(1130, 2) DELETED3(1131, 2, "b") FREED(1132, 2));
    for (const char *value = "cdefghij"; *value != '\0'; value++) {
        text_add(&text,
                 ASK(1200, 2) SET(1200, 4, 2, "%c", 9000) DELETED(1200, 4, 2, "%c") REFUSE(1200, 2),
                 *value, *value, *value);
    }
    text_add(&text, "%s", FAULT_OF_CLIENT(1500, 1, "pause", "end", 1) WRITE(1501, 1, 0, 2));
    return lines;
}

Test(store_integrity, late_writer_is_blamed_also_where_the_others_grant_is_forgotten)
{
    assert_fails(judge_lines("store_integrity", late_writer(CLIENT_2_GETS)), BLAME_ASSUMPTION,
                 ASSUMPTION_CLIENT_PAUSE);
    /* It was granted at the very moment at which the writer's lease was over; and before. */
    assert_fails(judge_lines("store_integrity", late_writer(ASK(900, 2) GRANT(1000, 2, "b", 2090))),
                 BLAME_ASSUMPTION, ASSUMPTION_CLIENT_PAUSE);
    assert_fails(judge_lines("store_integrity", late_writer(ASK(900, 2) GRANT(999, 2, "b", 2090))),
                 BLAME_NONE, ASSUMPTION_NONE);
}

#define BACK_ON_2                                                                                  \
    ON(300, 2, "key-back") ",'owner':'a','until':1005000000,'cause':'restart','fault':2}\n"

/* Node 1 forgot client 1's key and node 2 was down with it: that it comes back changes nothing. */
Test(store_integrity, a_key_that_was_out_of_reach_is_no_broken_promise)
{
    struct check_result result = judge_lines(
        "store_integrity",
        HEADER CLIENT_1_HOLDS ENDED_BY(100, 1, "key-lost", "a", "restart", 1) ASK(200, 2)
            SET(201, 1, 2, "b", 1201) SET(201, 4, 2, "b", 1201) SET(201, 5, 2, "b", 1201)
                GRANT(205, 2, "b", 1190) READ(210, 2, 0) WRITE(220, 2, 0, 1)
                    ON(300, 2, "key-back") ",'owner':'a','until':1005000000,'cause':'restart','"
                                           "fault':2}\n" READ(310, 1, 1) WRITE(320, 1, 1, 2));
    assert_fails(result, BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE);
}

/* It read a version that is not there any more when it writes: what made it is lost. */
Test(store_integrity, basis_above_the_version_overwritten_is_a_lost_update)
{
    struct check_result result =
        judge_lines("store_integrity", HEADER ASK(1, 1) GRANT(2, 1, "a", 900) WRITE(3, 1, 0, 1)
                                           WRITE(4, 1, 1, 2) WRITE(5, 1, 2, 3) WRITE(6, 1, 3, 3));
    assert_verdict(result, VERDICT_FAIL);
}

/* However many writes there were: the last eight are searched for the lost one. */
Test(store_integrity, lost_update_is_found_behind_many_writes)
{
    static char lines[STORY_BYTES_MAX];
    struct text text = text_over(lines, sizeof lines);
    text_add(&text, "%s", HEADER ASK(1, 1) GRANT_OPEN(2, 1, "a"));
    for (int i = 0; i < 70; i++) {
        text_add(&text,
                 "{'time':%d000000,'process':1,'type':'invoke','f':'write','resource':'r0',"
                 "'basis':%d}\n{'time':%d000000,'process':1,'type':'ok','f':'write',"
                 "'resource':'r0','basis':%d,'version':%d}\n",
                 3 + i, i, 3 + i, i, i + 1);
    }
    text_add(&text, "%s", WRITE(100, 1, 68, 71));
    cr_assert_not(text.cut);
    struct check_result result = judge_lines("store_integrity", lines);
    assert_verdict(result, VERDICT_FAIL);
    cr_assert_eq(result.judged, (uint64_t)71);
    assert_evidence(result, 2 + 2 * 69 + 1, 2 + 2 * 70 + 1); /* version 70 was lost, not 69 */
}

#define TWO_THREADS(owner)                                                                         \
    "{'format':'picklock-history','version':1,'clients':4,'threads':2,'declared':true,"            \
    "'declares':['reentrant'],'owner':'" owner "'}\n"
#define BOTH_WRITE(p, q)                                                                           \
    ASK(1, p)                                                                                      \
    GRANT_OPEN(2, p, "a")                                                                          \
    READ(3, p, 0) ASK(4, q) GRANT_OPEN(5, q, "b") READ(6, q, 0) WRITE(7, q, 0, 1) WRITE(8, p, 0, 2)

Test(store_integrity, threads_of_one_owner_lose_each_others_updates_by_themselves)
{
    assert_verdict(judge_lines("store_integrity", TWO_THREADS("process") BOTH_WRITE(1, 2)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("store_integrity", TWO_THREADS("process") BOTH_WRITE(2, 3)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("store_integrity", TWO_THREADS("thread") BOTH_WRITE(1, 2)),
                   VERDICT_FAIL);
}
