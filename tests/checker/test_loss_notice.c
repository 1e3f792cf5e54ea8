/* test_loss_notice.c: a holder is told before another could be granted. */
#include "tests/checker/story.h"

#define CLIENT_1_INSIDE ASK(1, 1) GRANT(10, 1, "a", 1000) ENTER(11, 1)
#define CLIENT_2_GETS   ASK(1100, 2) GRANT(1105, 2, "b", 2090)

Test(loss_notice, notice_before_anothers_grant_passes)
{
    struct check_result result = judge_lines("loss_notice", HEADER CLIENT_1_INSIDE LOST(1000, 1)
                                                                CLIENT_2_GETS LEAVE(1500, 1));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)1);
}

Test(loss_notice, leaving_in_time_passes)
{
    assert_verdict(judge_lines("loss_notice", HEADER CLIENT_1_INSIDE LEAVE(900, 1) CLIENT_2_GETS),
                   VERDICT_PASS);
}

Test(loss_notice, late_notice_fails_with_how_late)
{
    struct check_result result =
        judge_lines("loss_notice", HEADER CLIENT_1_INSIDE CLIENT_2_GETS LOST(1305, 1));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)200000000);
    cr_assert_eq(result.evidence_count, 3);
    cr_assert_eq(result.evidence[0], (uint64_t)1);
    cr_assert_eq(result.evidence[1], (uint64_t)4);
    cr_assert_eq(result.evidence[2], (uint64_t)5);
}

Test(loss_notice, holder_that_is_never_told_fails)
{
    assert_verdict(judge_lines("loss_notice", HEADER CLIENT_1_INSIDE CLIENT_2_GETS LEAVE(1305, 1)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("loss_notice", HEADER CLIENT_1_INSIDE CLIENT_2_GETS RUN_ENDS(1305)),
                   VERDICT_FAIL);
}

/* A section that outlasts its promise, without any fault, of a lock that declares this. */
#define OUTSTAYS(declares)                                                                         \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'resources':1,"                \
    "'ttl':1000000000,'promises_validity':true,'declared':true,'declares':[" declares              \
    "]}\n" CLIENT_1_INSIDE CLIENT_2_GETS LEAVE(1305, 1)

Test(loss_notice, a_lock_that_declares_no_notice_need_not_give_one)
{
    assert_fails(judge_lines("loss_notice", OUTSTAYS("'validity'")), BLAME_ASSUMPTION,
                 ASSUMPTION_SECTION);
    assert_fails(judge_lines("loss_notice", OUTSTAYS("'validity','notice'")), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
}

Test(loss_notice, a_lock_that_promises_nothing_is_to_tell_where_it_declares_that)
{
#define NEVER_TELLS(declares)                                                                      \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'declared':true,'declares':[" declares "]}\n" ASK(1, 1) SET3(5, 1, "a", 1005)                 \
        GRANT_OPEN(10, 1, "a") ENTER(11, 1) ENDED(1005, 1, "expired", "a", "ttl")                  \
            ENDED(1005, 2, "expired", "a", "ttl") ASK(1100, 2) SET3(1102, 2, "b", 2102)            \
                GRANT_OPEN(1105, 2, "b") LEAVE(1305, 1)
    assert_fails(judge_lines("loss_notice", NEVER_TELLS("'notice'")), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_verdict(judge_lines("loss_notice", NEVER_TELLS("")), VERDICT_SKIPPED);
}

/* The next renewal finds that the keys are gone. */
Test(loss_notice, lock_that_renews_and_gives_notice_tells_of_keys_that_were_thrown_out)
{
#define TELLS(words, faults, end)                                                                  \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,'bound':"     \
    "500000000,'faults':2,'declared':true,'declares':['renew'" words "],'renew_every':300000000}"  \
    "\n" ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a") ENTER(11, 1) faults end
#define THROWN_OUT(n)    ENDED(200, n, "evicted", "a", "eviction")
#define EVICT(word)      FAULT_OF_NODE(200, 1, "evict", word, 1)
#define EVICTS           EVICT("start") EVICT("end")
#define TWO_THROWN_OUT   EVICTS THROWN_OUT(1) THROWN_OUT(2)
#define ANOTHER_STOPS(p) FAULT_OF_CLIENT(505, 2, "pause", "start", p)
    static const char late[] = TELLS(",'notice'", TWO_THROWN_OUT, LOST(660, 1));
    assert_fails(judge_lines("loss_notice", late), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("loss_notice", late),
                     "loss_notice: client 1's keys of r0 were thrown out, which the next renewal "
                     "finds, and it was not told for 460 ms");
    assert_fails(judge_lines("loss_notice",
                             TELLS(",'notice'", TWO_THROWN_OUT ANOTHER_STOPS(2), FREE(660, 1))),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    /* A renewal that sets them anew does not know who had the lock meanwhile. */
    assert_fails(judge_lines("loss_notice", TELLS(",'notice'",
                                                  TWO_THROWN_OUT SET(300, 1, 1, "a", 1300)
                                                      SET(300, 2, 1, "a", 1300),
                                                  FREE(660, 1))),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    /* Soon; a majority stays; its client stood still; it tells of nothing; our own lateness. */
    assert_verdict(judge_lines("loss_notice", TELLS(",'notice'", TWO_THROWN_OUT, LOST(640, 1))),
                   VERDICT_PASS);
    assert_verdict(
        judge_lines("loss_notice", TELLS(",'notice'", EVICTS THROWN_OUT(1), FREE(660, 1))),
        VERDICT_PASS);
    assert_verdict(judge_lines("loss_notice",
                               TELLS(",'notice'", TWO_THROWN_OUT ANOTHER_STOPS(1), LOST(660, 1))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("loss_notice", TELLS("", TWO_THROWN_OUT, LOST(660, 1))),
                   VERDICT_PASS);
    /* It acquired again what it held. */
#define ACQUIRES_AGAIN ASK(20, 1) GRANT_OPEN(25, 1, "a")
    assert_verdict(judge_lines("loss_notice", TELLS(",'notice','reentrant'",
                                                    ACQUIRES_AGAIN TWO_THROWN_OUT, LOST(660, 1))),
                   VERDICT_PASS);
    /* Another fault, which was over when the lease was extended; an extension behind it. */
#define EXTENDS EXTEND(150, 1) OP(155, 1, "ok", "extend") "}\n"
    assert_fails(
        judge_lines("loss_notice", TELLS(",'notice'", EXTENDS TWO_THROWN_OUT, LOST(660, 1))),
        BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("loss_notice", TELLS(",'notice'",
                                                    FAULT_OF_CLIENT(100, 2, "pause", "start", 1)
                                                        FAULT_OF_CLIENT(120, 2, "pause", "end", 1)
                                                            EXTENDS TWO_THROWN_OUT,
                                                    LOST(660, 1))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("loss_notice",
                               TELLS(",'notice'",
                                     TWO_THROWN_OUT EXTEND(200, 1) OP(205, 1, "ok", "extend") "}\n",
                                     LOST(660, 1))),
                   VERDICT_PASS);
    assert_verdict(
        judge_lines("loss_notice",
                    TELLS(",'notice'", TWO_THROWN_OUT STOOD_STILL(600, "loop", 200), LOST(660, 1))),
        VERDICT_UNKNOWN);
}

Test(loss_notice, lock_that_told_of_a_loss_renews_no_more)
{
#define RENEWED ON(500, 1, "extended") ",'process':1,'value':'a','owner':'a','until':1500000000}\n"
#define KEEPS(end, asked, from, faults)                                                            \
    TELLS(",'notice'", RENEWED faults, end)                                                        \
    asked ON(1650, 1, "extended") ",'process':1,'value':'a','owner':'a','sent':" #from             \
                                  "000000,'until':2650000000}\n"
    static const char keeps[] = KEEPS(LOST(900, 1), , 1401, );
    assert_fails(judge_lines("loss_notice", keeps), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("loss_notice", keeps),
                     "loss_notice: client 1 was told that it had lost r0, and asked for nothing "
                     "since, and the lock gave its key more time after another 501 ms");
    /* Sent before, or soon behind it; its client asked; it stood still; there was no notice. */
    assert_verdict(judge_lines("loss_notice", KEEPS(LOST(900, 1), , 1400, )), VERDICT_PASS);
    assert_verdict(judge_lines("loss_notice", KEEPS(LOST(900, 1), EXTEND(1000, 1), 1401, )),
                   VERDICT_PASS);
    assert_verdict(judge_lines("loss_notice", KEEPS(LOST(900, 1), , 1401, ANOTHER_STOPS(1))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("loss_notice", KEEPS("", , 1401, )), VERDICT_PASS);
}

Test(loss_notice, paused_holder_cannot_be_told)
{
    assert_fails(judge_lines("loss_notice",
                             HEADER CLIENT_1_INSIDE FAULT_OF_CLIENT(20, 1, "pause", "start", 1)
                                 CLIENT_2_GETS FAULT_OF_CLIENT(1300, 1, "pause", "end", 1)
                                     LOST(1305, 1)),
                 BLAME_ASSUMPTION, ASSUMPTION_CLIENT_PAUSE);
}

/* What rests on a fault of the run needs no clock of ours to be wrong by. */
Test(loss_notice, notice_that_is_late_for_a_fault_is_no_lateness_of_ours)
{
    assert_fails(judge_lines("loss_notice",
                             HEADER CLIENT_1_INSIDE FAULT_OF_CLIENT(20, 1, "pause", "start", 1)
                                 CLIENT_2_GETS FAULT_OF_CLIENT(1300, 1, "pause", "end", 1)
                                     STOOD_STILL_OF(1304, 1, 250) LOST(1305, 1)),
                 BLAME_ASSUMPTION, ASSUMPTION_CLIENT_PAUSE);
}

Test(loss_notice, library_that_promises_and_tells_nothing_is_not_judged)
{
    assert_verdict(judge_lines("loss_notice",
                               "{'format':'picklock-history','version':1,'clients':2}\n" ASK(1, 1)
                                   GRANT_OPEN(10, 1, "a") ENTER(11, 1) ASK(20, 2)
                                       GRANT_OPEN(30, 2, "b") LEAVE(40, 1)),
                   VERDICT_SKIPPED);
}

Test(loss_notice, the_dead_need_not_be_told)
{
    assert_verdict(judge_lines("loss_notice",
                               HEADER CLIENT_1_INSIDE KILLED(20, 1) CLIENT_2_GETS RUN_ENDS(1305)),
                   VERDICT_PASS);
}

Test(loss_notice, holder_that_enters_after_anothers_grant_was_not_told)
{
    assert_fails(judge_lines("loss_notice",
                             HEADER ASK(1, 1) GRANT(10, 1, "a", 1000)
                                 FAULT_OF_CLIENT(11, 1, "pause", "start", 1)
                                     CLIENT_2_GETS FAULT_OF_CLIENT(1300, 1, "pause", "end", 1)
                                         ENTER(1301, 1) LEAVE(1400, 1)),
                 BLAME_ASSUMPTION, ASSUMPTION_CLIENT_PAUSE);
}

Test(loss_notice, notice_at_the_very_time_of_anothers_grant_is_in_time)
{
    assert_verdict(judge_lines("loss_notice",
                               HEADER CLIENT_1_INSIDE CLIENT_2_GETS LOST(1105, 1) LEAVE(1500, 1)),
                   VERDICT_PASS);
}

/* It left by itself, soon behind the other's grant: it may have been given no processor before. */
Test(loss_notice, holder_that_leaves_late_by_less_than_it_stood_still_blames_nobody)
{
#define LEAVES_AT(ms, late)                                                                        \
    HEADER CLIENT_1_INSIDE ASK(1001, 2) GRANT(1005, 2, "b", 1990) late LEAVE(ms, 1)
    assert_fails(judge_lines("loss_notice", LEAVES_AT(1045, "")), BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("loss_notice", LEAVES_AT(1045, STOOD_STILL_OF(1044, 1, 42))),
                   VERDICT_UNKNOWN);
    assert_verdict(judge_lines("loss_notice", LEAVES_AT(1045, STOOD_STILL_OF(1044, 2, 42))),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("loss_notice", LEAVES_AT(1345, STOOD_STILL_OF(1044, 1, 42))),
                   VERDICT_FAIL);
}

/* ---- notices that are false ---- */

Test(loss_notice, notice_of_a_loss_that_was_none_fails)
{
#define TOLD_AT(ms, before)                                                                        \
    HEADER before ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990) ENTER(11, 1) LOST(ms, 1)  \
        LEAVE(ms, 1)
    struct check_result result = judge_lines("loss_notice", TOLD_AT(300, ""));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)705000000);
    cr_assert_str_eq(headline("loss_notice", TOLD_AT(300, "")),
                     "loss_notice: client 1 was told that it had lost r0, but a majority of nodes "
                     "had its key, for another 705 ms");
}

/* What counts is how long a majority was to stay, whatever order the keys are in. */
Test(loss_notice, false_notice_is_measured_by_the_key_that_makes_the_majority)
{
#define KEYS_UNTIL(one, two, three, four)                                                          \
    HEADER ASK(1, 1) SET(5, 1, 1, "a", one) SET(5, 2, 1, "a", two) SET(5, 3, 1, "a", three)        \
        SET(5, 4, 1, "a", four) GRANT(10, 1, "a", 990) ENTER(11, 1) LOST(300, 1) LEAVE(300, 1)
    struct check_result result = judge_lines("loss_notice", KEYS_UNTIL(505, 1005, 905, 1005));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)605000000);
    assert_verdict(judge_lines("loss_notice", KEYS_UNTIL(505, 705, 1005, 1005)), VERDICT_PASS);
    assert_verdict(judge_lines("loss_notice", KEYS_UNTIL(1005, 1005, 705, 505)), VERDICT_PASS);
}

/* Its nodes may have told of the end of its keys, and we not have heard of it. */
Test(loss_notice, false_notice_may_be_our_own_lateness_with_its_keys)
{
    assert_verdict(judge_lines("loss_notice", TOLD_AT(300, "") STOOD_STILL(301, "tap", 9)),
                   VERDICT_UNKNOWN);
    assert_verdict(judge_lines("loss_notice", TOLD_AT(300, "") STOOD_STILL(301, "loop", 290)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("loss_notice", TOLD_AT(300, "") STOOD_STILL(1000, "loop", 900)),
                   VERDICT_UNKNOWN);
}

/* A lock that gives up early, that cannot see its nodes, or whose keys are gone, tells the truth.
 */
Test(loss_notice, notice_of_a_loss_that_may_be_one_passes)
{
    assert_verdict(judge_lines("loss_notice", TOLD_AT(600, "")), VERDICT_PASS);
    assert_verdict(
        judge_lines("loss_notice",
                    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990) ENTER(11, 1)
                        WITH(300, "notice", 1, "lost") ",'value':'old'}\n" LEAVE(300, 1)),
        VERDICT_PASS);
    assert_verdict(
        judge_lines("loss_notice", TOLD_AT(300, FAULT_OF_NODE(1, 1, "stall", "start", 4))),
        VERDICT_PASS);
    assert_verdict(judge_lines("loss_notice",
                               HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990)
                                   ENTER(11, 1) ENDED(200, 1, "evicted", "a", "eviction")
                                       LOST(300, 1) LEAVE(300, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("loss_notice",
                               HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 290)
                                   ENTER(11, 1) LOST(300, 1) LEAVE(300, 1)),
                   VERDICT_PASS);
}

/* A fault that was over when the lease was extended may have been the reason all the same. */
Test(loss_notice, notice_behind_a_fault_since_the_lease_was_asked_for_may_be_true)
{
#define EXTENDED_THEN_TOLD(faults)                                                                 \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990) ENTER(11, 1)                     \
        faults EXTEND(40, 1) EXTENDED(45, 1, 995) LOST(300, 1) LEAVE(300, 1)
    assert_fails(judge_lines("loss_notice", EXTENDED_THEN_TOLD("")), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_verdict(judge_lines("loss_notice",
                               EXTENDED_THEN_TOLD(FAULT_OF_CLIENT(20, 1, "pause", "start", 1)
                                                      FAULT_OF_CLIENT(30, 1, "pause", "end", 1))),
                   VERDICT_PASS);
}

/* It is inside by a grant that nobody heard of, and lost nothing. */
Test(loss_notice, what_was_given_back_is_believed_no_more)
{
    assert_verdict(judge_lines("loss_notice",
                               HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) FREE(20, 1) FREED(21, 1)
                                   ASK(22, 2) GRANT(23, 2, "b", 1000) FREE(30, 2) FREED(31, 2)
                                       ENTER(40, 1) LEAVE(50, 1) RUN_ENDS(60)),
                   VERDICT_SKIPPED);
}

/* Its renewals went on behind the end that was promised with the grant, until the key was thrown
 * out: it was told with the next one. */
Test(loss_notice, key_that_was_thrown_out_behind_a_renewal_is_no_section_that_was_too_long)
{
#define RENEWED_THEN(cause)                                                                        \
    "{'format':'picklock-history','version':1,'nodes':1,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true,'declared':true,"                                  \
    "'declares':['validity','renew','notice'],'renew_every':333000000}\n" ASK(1, 1) SET(           \
        5, 1, 1, "a", 1005) GRANT(10, 1, "a", 990) ENTER(11, 1)                                    \
        ON(600, 1, "extended") ",'process':1,'value':'a','owner':'a','until':1600000000}\n" ENDED( \
            900, 1, "evicted", "a", cause) ASK(1010, 2) SET(1015, 1, 2, "b", 2015)                 \
            GRANT(1020, 2, "b", 2000) LOST(1033, 1) LEAVE(1034, 1) RUN_ENDS(3000)
    assert_fails(judge_lines("loss_notice", RENEWED_THEN("eviction")), BLAME_DEPLOYMENT,
                 ASSUMPTION_MEMORY);
}

/* The last renewal waits for nodes that are cut off, beyond the end of the lease. */
Test(loss_notice, lock_that_renews_tells_when_its_keys_have_run_out_whoever_asks)
{
#define RENEWS(words)                                                                              \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'declared':true,'declares':['renew','notice'" words "]}\n"
#define RUNS_OUT(n) ENDED(1005, n, "expired", "a", "ttl")
#define CUT_OFF(before, cause, end)                                                                \
    RENEWS("")                                                                                     \
    ASK(1, 1)                                                                                      \
    SET3(5, 1, "a", 1005)                                                                          \
    GRANT_OPEN(10, 1, "a")                                                                         \
    ENTER(11, 1) before RUNS_OUT(1) ENDED(1005, 2, "expired", "a", cause) end
    struct check_result result = judge_lines("loss_notice", CUT_OFF("", "ttl", LOST(1106, 1)));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)101000000);
    cr_assert_str_eq(headline("loss_notice", CUT_OFF("", "ttl", LOST(1106, 1))),
                     "loss_notice: client 1's keys of r0 had run out, so that another could be "
                     "granted it, and it was not told for 101 ms");
    assert_fails(judge_lines("loss_notice", CUT_OFF("", "ttl", LEAVE(1106, 1))), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_fails(judge_lines("loss_notice", CUT_OFF("", "ttl", RUN_ENDS(1106))), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_fails(judge_lines("loss_notice", CUT_OFF(FAULT_OF_CLIENT(20, 1, "partition", "start", 1),
                                                    "ttl", LOST(1106, 1))),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
#define TOLD_IN_TIME(story) assert_verdict(judge_lines("loss_notice", story), VERDICT_PASS)
    TOLD_IN_TIME(CUT_OFF("", "ttl", LOST(1105, 1)));
    TOLD_IN_TIME(CUT_OFF("", "ttl", LEAVE(1105, 1) FREE(1300, 1)));
    TOLD_IN_TIME(CUT_OFF("", "clock-jump", LOST(1106, 1)));
    TOLD_IN_TIME(CUT_OFF(FAULT_OF_CLIENT(20, 1, "pause", "start", 1), "ttl", LOST(1106, 1)));
    TOLD_IN_TIME(CUT_OFF(FAULT_OF_NODE(20, 1, "failover", "start", 1), "ttl", LOST(1106, 1)));
    /* One key of three: nobody else can be granted it. */
    TOLD_IN_TIME(RENEWS("") ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a") ENTER(11, 1)
                     RUNS_OUT(1) LOST(1500, 1));
    assert_verdict(
        judge_lines("loss_notice", CUT_OFF("", "ttl", STOOD_STILL(1010, "loop", 5) LOST(1109, 1))),
        VERDICT_UNKNOWN);
    TOLD_IN_TIME(RENEWS(",'reentrant'") ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a")
                     ENTER(11, 1) ACQUIRES_AGAIN RUNS_OUT(1) RUNS_OUT(2) LOST(1106, 1));
    /* Who enters late was not inside before. */
#define ENTERS_LATE                                                                                \
    RENEWS("")                                                                                     \
    ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a") RUNS_OUT(1) RUNS_OUT(2) ENTER(1100, 1)
    TOLD_IN_TIME(ENTERS_LATE LOST(1200, 1));
    result = judge_lines("loss_notice", ENTERS_LATE LOST(1201, 1));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)101000000);
}

/* Its renewals stopped with it, or with its section, or failed: what it promised is what counts. */
Test(loss_notice, holder_that_was_stopped_behind_its_renewals_was_stopped)
{
#define STOPPED_THEN                                                                               \
    "{'format':'picklock-history','version':1,'nodes':1,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true,'declared':true,'faults':1,"                       \
    "'declares':['validity','renew','notice'],'renew_every':333000000}\n" ASK(1, 1)                \
        SET(5, 1, 1, "a", 1005) GRANT(10, 1, "a", 990) ENTER(11, 1)                                \
            ON(600, 1, "extended") ",'process':1,'value':'a','owner':'a','until':1600000000}"      \
                                   "\n" FAULT_OF_CLIENT(700, 1, "pause", "start", 1)               \
                                       ENDED(1600, 1, "expired", "a", "ttl") ASK(1610, 2)          \
                                           SET(1615, 1, 2, "b", 2615) GRANT(1620, 2, "b", 2600)    \
                                               FAULT_OF_CLIENT(2000, 1, "pause", "end", 1)         \
                                                   LOST(2001, 1) LEAVE(2002, 1) RUN_ENDS(3000)
    assert_fails(judge_lines("loss_notice", STOPPED_THEN), BLAME_ASSUMPTION,
                 ASSUMPTION_CLIENT_PAUSE);
}
