/* test_late.c: what may be our own lateness is unknown; what is wrong by more is still wrong. */
#include "checker/ledger/ledger.h"
#include "tests/checker/story.h"

#define DECLARING(words)                                                                           \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'declared':true,'declares':[" words "]}\n"

/* Client 1 is promised the lock until 1000 ms; client 2 is granted it at 900 ms. */
#define MEET_BY_100_MS(late)                                                                       \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) late GRANT(10, 1, "a", 1000) ASK(890, 2)                \
        SET(895, 4, 2, "b", 1900) GRANT(900, 2, "b", 1850) RUN_ENDS(2000)

static void assert_late(struct check_result result, int64_t ms)
{
    assert_verdict(result, VERDICT_UNKNOWN);
    cr_assert_eq(result.reason, CHECK_REASON_LATE);
    cr_assert_eq(result.number[0], ms * 1000000);
    cr_assert_eq(result.violations, (uint64_t)0);
    cr_assert_eq(result.blame, BLAME_NONE);
}

Test(late, overlap_of_less_than_the_stamp_may_be_late_is_unknown)
{
    assert_fails(judge_lines("exclusion", MEET_BY_100_MS("")), BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_late(judge_lines("exclusion", MEET_BY_100_MS(STOOD_STILL(8, "loop", 200))), 200);
    assert_late(judge_lines("linearizable", MEET_BY_100_MS(STOOD_STILL(8, "loop", 200))), 200);
    cr_assert_str_eq(headline("exclusion", MEET_BY_100_MS(STOOD_STILL(8, "loop", 200))),
                     "exclusion: the run itself stood still for 200 ms, and what looked wrong may "
                     "be its doing");
}

Test(late, overlap_of_more_than_the_stamp_may_be_late_fails)
{
    assert_verdict(judge_lines("exclusion", MEET_BY_100_MS(STOOD_STILL(8, "loop", 90))),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("linearizable", MEET_BY_100_MS(STOOD_STILL(8, "loop", 90))),
                   VERDICT_FAIL);
}

/* Far from the stamp that matters, a loop's standstill moves no lease; a clock's step does. */
Test(late, what_stood_still_elsewhere_excuses_nothing)
{
    static const char elsewhere[] = HEADER ASK(1, 1) GRANT(10, 1, "a", 1000)
        STOOD_STILL(700, "loop", 200) ASK(890, 2) GRANT(900, 2, "b", 1850) RUN_ENDS(2000);
    assert_verdict(judge_lines("exclusion", elsewhere), VERDICT_FAIL);
    static const char step[] = HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)
        STOOD_STILL(700, "clock-step", 200) ASK(890, 2) SET3(895, 2, "b", 1895)
            GRANT(900, 2, "b", 1850) RUN_ENDS(2000);
    assert_late(judge_lines("exclusion", step), 200);
}

/* The recorder says so when it is awake again, which may be behind what it found. */
Test(late, lateness_that_is_told_behind_the_finding_takes_it_back)
{
    assert_late(judge_lines("exclusion",
                            HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)
                                ASK(890, 2) SET(895, 4, 2, "b", 1900) GRANT(900, 2, "b", 1850)
                                    FREE(901, 1) STOOD_STILL(950, "suspend", 500) RUN_ENDS(2000)),
                500);
}

Test(late, another_violation_that_rests_on_nothing_late_still_fails)
{
    struct check_result result =
        judge_lines("exclusion", HEADER ASK(1, 1) SET3(5, 1, "a", 1005) STOOD_STILL(8, "loop", 200)
                                     GRANT(10, 1, "a", 1000) ASK(890, 2) SET(895, 4, 2, "b", 1900)
                                         GRANT(900, 2, "b", 1850) FREE(1000, 1) FREED(1001, 1)
                                             ASK(1500, 1) GRANT(1510, 1, "c", 2500) RUN_ENDS(3000));
    assert_verdict(result, VERDICT_FAIL);
    cr_assert_eq(result.violations, (uint64_t)1);
    assert_evidence(result, 8, 12);
}

/* ---- promises that are intervals ---- */

Test(late, promise_that_may_be_over_is_no_overlap)
{
    static const char may_be[] = HEADER ASK(1, 1) GRANT_BETWEEN(10, 1, "a", 850, 1000) ASK(890, 2)
        GRANT(900, 2, "b", 1850) RUN_ENDS(2000);
    assert_verdict(judge_lines("exclusion", may_be), VERDICT_PASS);
    assert_verdict(judge_lines("linearizable", may_be), VERDICT_PASS);
    static const char is[] = HEADER ASK(1, 1) GRANT_BETWEEN(10, 1, "a", 950, 1000) ASK(890, 2)
        GRANT(900, 2, "b", 1850) RUN_ENDS(2000);
    assert_verdict(judge_lines("exclusion", is), VERDICT_FAIL);
    assert_verdict(judge_lines("linearizable", is), VERDICT_FAIL);
    cr_assert_eq(judge_lines("exclusion", is).number[0], (int64_t)50000000);
}

/* Whatever moment such a promise counts from is within the interval: no stamp of ours matters. */
Test(late, promise_with_its_earliest_end_bears_any_lateness_of_ours)
{
    assert_verdict(judge_lines("exclusion", HEADER ASK(1, 1) STOOD_STILL(9, "loop", 500)
                                                GRANT_BETWEEN(10, 1, "a", 950, 1000) ASK(890, 2)
                                                    GRANT(900, 2, "b", 1850) RUN_ENDS(2000)),
                   VERDICT_FAIL);
}

Test(late, promise_is_spent_only_at_its_latest_reading)
{
    static const char spent[] = HEADER ASK(1, 1) GRANT_BETWEEN(1010, 1, "a", 900, 1000);
    static const char may_be[] =
        HEADER ASK(1, 1) SET3(5, 1, "a", 1105) GRANT_BETWEEN(1010, 1, "a", 900, 1100);
    assert_fails(judge_lines("validity", spent), BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("validity", may_be), VERDICT_PASS);
}

Test(late, key_that_ends_within_the_interval_breaks_no_promise)
{
#define BROKEN_AT(ms)                                                                              \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_BETWEEN(10, 1, "a", 900, 1000)                    \
        ENDED(ms, 1, "expired", "a", "ttl")
    assert_verdict(judge_lines("validity", BROKEN_AT(950)), VERDICT_PASS);
    assert_verdict(judge_lines("validity", BROKEN_AT(850)), VERDICT_FAIL);
}

/* ---- sections ---- */

/* The promise of client 1 runs on when client 2 enters: that it leaves at once does not matter. */
Test(late, two_that_meet_for_an_instant_are_judged_where_a_promise_was_to_run_on)
{
    assert_fails(judge_lines("section_exclusion",
                             HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)
                                 ENTER(11, 1) ASK(290, 2) SET(295, 4, 2, "b", 1295)
                                     STOOD_STILL(296, "loop", 5) GRANT(300, 2, "b", 1290)
                                         ENTER(301, 2) FREE(302, 1) LEAVE(302, 1) RUN_ENDS(2000)),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
}

/* It left 30 ms behind its lease, and we stood still for 40 ms of its section. */
Test(late, section_that_we_held_up_is_not_too_long)
{
#define TOO_LONG(length)                                                                           \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000) ENTER(11, 1)                    \
        STOOD_STILL(700, "loop", length) ASK(1006, 2) SET3(1010, 2, "b", 2010)                     \
            GRANT(1029, 2, "b", 2000) ENTER(1030, 2) LEAVE(1031, 1) RUN_ENDS(3000)
    assert_late(judge_lines("section_exclusion", TOO_LONG(40)), 40);
    assert_fails(judge_lines("section_exclusion", TOO_LONG(20)), BLAME_ASSUMPTION,
                 ASSUMPTION_SECTION);
}

/* ---- locks without promises ---- */

#define OUTLASTED(words, late)                                                                     \
    DECLARING(words)                                                                               \
    ASK(1, 1)                                                                                      \
    SET3(5, 1, "a", 1005)                                                                          \
    GRANT_OPEN(10, 1, "a")                                                                         \
    late ENDED(1005, 1, "expired", "a", "ttl") ENDED(1005, 2, "expired", "a", "ttl")               \
        ENDED(1005, 3, "expired", "a", "ttl") ASK(1010, 2) SET3(1015, 2, "b", 2015)                \
            GRANT_OPEN(1031, 2, "b") RUN_ENDS(2000)

Test(late, lock_without_promises_whose_section_outlasts_its_ttl_is_an_assumption)
{
    assert_fails(judge_lines("exclusion", OUTLASTED("", "")), BLAME_ASSUMPTION, ASSUMPTION_SECTION);
    assert_fails(judge_lines("linearizable", OUTLASTED("", "")), BLAME_ASSUMPTION,
                 ASSUMPTION_SECTION);
    assert_late(judge_lines("exclusion", OUTLASTED("", STOOD_STILL(500, "loop", 40))), 40);
    assert_verdict(judge_lines("exclusion", OUTLASTED("", STOOD_STILL(500, "loop", 20))),
                   VERDICT_FAIL);
}

Test(late, lock_that_says_that_it_renews_has_to)
{
    assert_fails(judge_lines("exclusion", OUTLASTED("'renew'", "")), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_verdict(judge_lines("exclusion", OUTLASTED("'renew'", STOOD_STILL(500, "loop", 40))),
                   VERDICT_FAIL);
    assert_late(judge_lines("exclusion", OUTLASTED("'renew'", STOOD_STILL(900, "loop", 600))), 600);
}

/* Client 1 renews by itself, and could not; it is told so by its lock, behind its keys' end. */
#define RAN_OUT_AT_1005                                                                            \
    ENDED(1005, 1, "expired", "a", "ttl")                                                          \
    ENDED(1005, 2, "expired", "a", "ttl")                                                          \
    ENDED(1005, 3, "expired", "a", "ttl")
#define WATCHDOG                                                                                   \
    DECLARING("'renew','notice'")                                                                  \
    ASK(1, 1)                                                                                      \
    SET3(5, 1, "a", 1005)                                                                          \
    GRANT_OPEN(10, 1, "a")                                                                         \
    ENTER(11, 1)                                                                                   \
    ASK(900, 2) RAN_OUT_AT_1005 SET3(1006, 2, "b", 2006) GRANT_OPEN(1007, 2, "b") ENTER(1008, 2)
#define OUT_OF_2    LEAVE(1009, 2) FREE(1010, 2) DELETED3(1011, 2, "b") FREED(1012, 2)
#define MEETINGS(X) X("exclusion") X("linearizable") X("section_exclusion")

/* Its process had stood still for longer than its notice was late. */
Test(late, notice_that_came_late_by_less_than_its_process_stood_still_blames_nobody)
{
#define TOLD_AT_1012(late) WATCHDOG late LOST(1012, 1) LEAVE(1012, 1) RUN_ENDS(2000)
#define IS_DOUBTED(check)                                                                          \
    assert_late(judge_lines(check, TOLD_AT_1012(STOOD_STILL_OF(1011, 1, 42))), 42);                \
    assert_late(judge_lines(check, TOLD_AT_1012("") STOOD_STILL_OF(2001, 1, 1500)), 1500);         \
    assert_fails(judge_lines(check, TOLD_AT_1012("")), BLAME_LIBRARY, ASSUMPTION_NONE);            \
    assert_fails(judge_lines(check, TOLD_AT_1012(STOOD_STILL_OF(1011, 1, 3))), BLAME_LIBRARY,      \
                 ASSUMPTION_NONE);                                                                 \
    assert_fails(judge_lines(check, TOLD_AT_1012(STOOD_STILL_OF(1011, 2, 42))), BLAME_LIBRARY,     \
                 ASSUMPTION_NONE);
    MEETINGS(IS_DOUBTED)
}

/* It stood still until a fault stopped it, which then held the notice back. */
Test(late, notice_that_a_fault_held_back_as_well_blames_nobody)
{
#define STOPPED_TO_1300(late)                                                                      \
    WATCHDOG late FAULT_LINE(1010, 1, "pause", "start") ",'process':1}\n" FAULT_LINE(              \
        1300, 1, "pause", "end") ",'process':1}\n" LOST(1300, 1) LEAVE(1300, 1) RUN_ENDS(2000)
    assert_late(judge_lines("loss_notice", STOPPED_TO_1300(STOOD_STILL_OF(1009, 1, 4))), 4);
    assert_fails(judge_lines("loss_notice", STOPPED_TO_1300(STOOD_STILL_OF(1009, 1, 2))),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_fails(judge_lines("loss_notice", STOPPED_TO_1300("")), BLAME_LIBRARY, ASSUMPTION_NONE);
}

/* Its program came to say it late, and we to hear it: together longer than either. */
Test(late, notice_that_was_held_up_twice_blames_nobody)
{
    assert_late(judge_lines("loss_notice",
                            TOLD_AT_1012(STOOD_STILL_OF(1010, 1, 3) STOOD_STILL(1012, "loop", 3))),
                6);
    assert_fails(judge_lines("loss_notice",
                             TOLD_AT_1012(STOOD_STILL_OF(1010, 1, 2) STOOD_STILL(1012, "loop", 2))),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
}

/* However soon the second is done: the first went on for long. */
Test(late, notice_that_came_much_later_than_its_process_stood_still_is_the_locks)
{
#define TOLD_AT_1300(late) WATCHDOG late LOST(1300, 1) LEAVE(1300, 1) RUN_ENDS(2000)
#define IS_SURE(check)                                                                             \
    assert_fails(judge_lines(check, TOLD_AT_1300(STOOD_STILL_OF(1011, 1, 42))), BLAME_LIBRARY,     \
                 ASSUMPTION_NONE);                                                                 \
    assert_fails(judge_lines(check, TOLD_AT_1300(OUT_OF_2 STOOD_STILL_OF(1100, 1, 42))),           \
                 BLAME_LIBRARY, ASSUMPTION_NONE);                                                  \
    assert_fails(judge_lines(check, TOLD_AT_1300("") STOOD_STILL_OF(2001, 1, 42)), BLAME_LIBRARY,  \
                 ASSUMPTION_NONE);                                                                 \
    assert_fails(judge_lines(check, WATCHDOG STOOD_STILL_OF(1011, 1, 42) RUN_ENDS(2000)),          \
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    MEETINGS(IS_SURE)
}

/* What one holder is excused for excuses no other. */
Test(late, holder_that_was_told_late_hides_no_other_violation)
{
#define IS_COUNTED(check)                                                                          \
    do {                                                                                           \
        struct check_result result =                                                               \
            judge_lines(check, WATCHDOG STOOD_STILL_OF(1010, 1, 42) LOST(1012, 1) LEAVE(1012, 1)   \
                                   ASK(1020, 1) SET3(1021, 1, "c", 2021) GRANT_OPEN(1022, 1, "c")  \
                                       ENTER(1023, 1) RUN_ENDS(1900));                             \
        assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);                                      \
        cr_assert_eq(result.violations, (uint64_t)1);                                              \
    } while (0);
    MEETINGS(IS_COUNTED)
}

/* What was written behind the other's grant: as late as that. */
Test(late, write_that_came_late_by_less_than_its_process_stood_still_blames_nobody)
{
#define WROTE_AT(ms, late) WATCHDOG WRITE(1009, 2, 0, 1) late WRITE(ms, 1, 0, 2) RUN_ENDS(2000)
    assert_late(judge_lines("store_integrity", WROTE_AT(1012, STOOD_STILL_OF(1011, 1, 42))), 42);
    assert_fails(judge_lines("store_integrity", WROTE_AT(1300, STOOD_STILL_OF(1011, 1, 42))),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
}

Test(late, keys_that_went_before_their_ttl_are_the_locks)
{
    assert_fails(judge_lines("exclusion",
                             DECLARING("") ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a")
                                 ENDED(205, 1, "expired", "a", "ttl")
                                     ENDED(205, 2, "expired", "a", "ttl")
                                         ENDED(205, 3, "expired", "a", "ttl") ASK(210, 2)
                                             SET3(215, 2, "b", 415) GRANT_OPEN(220, 2, "b")),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
}

/* ---- waits and keys ---- */

Test(late, wait_that_was_too_long_by_less_than_we_stood_still_is_unknown)
{
#define VAIN_FOR_1600(late) HEADER ASK(10, 1) late GRANT(1610, 1, "a", 2500)
    assert_verdict(judge_lines("fault_tolerance", VAIN_FOR_1600("")), VERDICT_FAIL);
    assert_late(judge_lines("fault_tolerance", VAIN_FOR_1600(STOOD_STILL(300, "loop", 60)
                                                                 STOOD_STILL(900, "loop", 60))),
                120);
    assert_verdict(judge_lines("fault_tolerance", VAIN_FOR_1600(STOOD_STILL(900, "loop", 60))),
                   VERDICT_FAIL);
#define WAITED_120(p)                                                                              \
    AT(900)                                                                                        \
    "'kind':'late','f':'stood-still','cause':'scheduler','process':" #p                            \
    ",'numbers':[120000000,120000000]}\n"
    assert_late(judge_lines("fault_tolerance", VAIN_FOR_1600(WAITED_120(1))), 120);
    assert_verdict(judge_lines("fault_tolerance", VAIN_FOR_1600(WAITED_120(2))), VERDICT_FAIL);
    static const char before[] =
        HEADER ASK(10, 1) ASK(20, 2) WAITED_120(1) REFUSE(950, 1) GRANT(1610, 2, "b", 2500);
    assert_late(judge_lines("fault_tolerance", before), 120);
    /* Whoever asked before is no more, or was held up when it had the lock. */
    static const char killed[] =
        HEADER ASK(10, 1) WAITED_120(1) KILLED(1000, 1) ASK(1000, 2) GRANT(1610, 2, "b", 2500);
    assert_late(judge_lines("fault_tolerance", killed), 120);
    assert_late(judge_lines("fault_tolerance",
                            HEADER ASK(10, 1) WAITED_120(1) KILLED(1611, 1) RUN_ENDS(1700)),
                120);
    static const char held[] =
        HEADER ASK(1, 1) GRANT(10, 1, "a", 100) ASK(20, 2) WAITED_120(1) GRANT(1701, 2, "b", 2500);
    assert_late(judge_lines("fault_tolerance", held), 120);
    static const char else_late[] =
        HEADER ASK(1, 1) GRANT(10, 1, "a", 100) ASK(20, 2) WAITED_120(3) GRANT(1701, 2, "b", 2500);
    assert_verdict(judge_lines("fault_tolerance", else_late), VERDICT_FAIL);
#define FREE_AFTER_1600(late)                                                                      \
    HEADER HEALED_AT(5) ASK(10, 1) late GRANT(1610, 1, "a", 2500) RUN_ENDS(3000)
    assert_verdict(judge_lines("deadlock_freedom", FREE_AFTER_1600("")), VERDICT_FAIL);
    assert_late(judge_lines("deadlock_freedom", FREE_AFTER_1600(STOOD_STILL(900, "loop", 200))),
                200);
}

/* Who asks first behind the heal, and who is answered last: they may be what the wait waits for. */
Test(late, lock_that_is_free_too_late_by_less_than_who_asks_stood_still_is_unknown)
{
    assert_late(judge_lines("deadlock_freedom", FREE_AFTER_1600(WAITED_120(1))), 120);
    assert_verdict(judge_lines("deadlock_freedom", FREE_AFTER_1600(WAITED_120(2))), VERDICT_FAIL);
    assert_verdict(judge_lines("deadlock_freedom", FREE_AFTER_1600(STOOD_STILL_OF(900, 1, 90))),
                   VERDICT_FAIL);
#define FREE_FOR_ANOTHER(late)                                                                     \
    HEADER HEALED_AT(5) ASK(10, 1) ASK(20, 2) late GRANT(1610, 2, "b", 2500) RUN_ENDS(3000)
    assert_late(judge_lines("deadlock_freedom", FREE_FOR_ANOTHER(WAITED_120(1))), 120);
    assert_late(judge_lines("deadlock_freedom", FREE_FOR_ANOTHER(WAITED_120(2))), 120);
    assert_verdict(judge_lines("deadlock_freedom", FREE_FOR_ANOTHER(WAITED_120(3))), VERDICT_FAIL);
#define FREE_FOR_NOBODY(late)                                                                      \
    HEADER HEALED_AT(5) ASK(10, 1) ASK(20, 2) late REFUSE(950, 2) RUN_ENDS(1600)
    assert_verdict(judge_lines("deadlock_freedom", FREE_FOR_NOBODY("")), VERDICT_FAIL);
    assert_late(judge_lines("deadlock_freedom", FREE_FOR_NOBODY(WAITED_120(1))), 120);
    assert_late(judge_lines("deadlock_freedom", FREE_FOR_NOBODY(WAITED_120(2))), 120);
}

/* It was too long by 100 ms, which turned out to be our doing; but it went on for two seconds. */
Test(late, wait_that_goes_on_behind_a_doubt_is_judged_as_a_whole)
{
#define VAIN_AGAIN(late)                                                                           \
    HEADER ASK(10, 1) REFUSE(1600, 1) ASK(1600, 1) late REFUSE(1650, 1) ASK(1650, 1)               \
        REFUSE(1900, 1) RUN_ENDS(2000)
    assert_verdict(judge_lines("fault_tolerance", VAIN_AGAIN("")), VERDICT_FAIL);
    assert_late(judge_lines("fault_tolerance", HEADER ASK(10, 1) REFUSE(1600, 1)
                                                   STOOD_STILL(1610, "loop", 200) RUN_ENDS(2000)),
                200);
    static const char whole[] = VAIN_AGAIN(STOOD_STILL(1610, "loop", 200));
    struct check_result result = judge_lines("fault_tolerance", whole);
    assert_verdict(result, VERDICT_FAIL);
    cr_assert_eq(result.number[0], (int64_t)1890000000);
    assert_late(judge_lines("fault_tolerance", VAIN_AGAIN(STOOD_STILL(1610, "loop", 400))), 400);
}

Test(late, key_is_not_left_behind_where_we_held_up_its_delete)
{
#define LEFT(late)                                                                                 \
    HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) REFUSE(50, 1)                                         \
        late ENDED(1005, 1, "expired", "a", "ttl") RUN_ENDS(3000)
    assert_verdict(judge_lines("no_leak", LEFT(STOOD_STILL(500, "loop", 300))), VERDICT_FAIL);
    assert_late(judge_lines("no_leak", LEFT(STOOD_STILL(1004, "loop", 960))), 960);
}

/* The client has to see that it is to delete, to make a new connection, perhaps, and to send; the
 * node to do it: each of these may be late, and the network slow. */
Test(late, deletion_that_did_not_come_is_late_by_all_that_was)
{
#define LATE_TWICE(length) STOOD_STILL_OF(450, 1, length) STOOD_STILL_OF(900, 1, length)
#define LEFT_ON_1(late)                                                                            \
    HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) REFUSE(50, 1)                                         \
        late ENDED(1005, 1, "expired", "a", "ttl") RUN_ENDS(3000)
    assert_verdict(judge_lines("no_leak", LEFT_ON_1("")), VERDICT_FAIL);
    assert_late(judge_lines("no_leak", LEFT_ON_1(LATE_TWICE(360))), 720);
    assert_verdict(judge_lines("no_leak", LEFT_ON_1(LATE_TWICE(350))), VERDICT_FAIL);

#define KEPT_ON_3(late)                                                                            \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) REFUSE(50, 1)                                           \
        late ENDED(1005, 1, "expired", "a", "ttl") RUN_ENDS(3000)
    assert_verdict(judge_lines("result_truth", KEPT_ON_3("")), VERDICT_FAIL);
    assert_late(judge_lines("result_truth", KEPT_ON_3(LATE_TWICE(360))), 720);
    assert_verdict(judge_lines("result_truth", KEPT_ON_3(LATE_TWICE(350))), VERDICT_FAIL);
}

/* So it is by all that one node waited; of two nodes by the longer. */
Test(late, deletion_that_did_not_come_is_late_by_all_that_a_node_waited)
{
#define WAITED(ms, n, length)                                                                      \
    AT(ms)                                                                                         \
    "'kind':'late','node':" #n ",'f':'stood-still','cause':'scheduler','numbers':[" #length        \
    "000000," #length "000000]}\n"
    assert_late(judge_lines("no_leak", LEFT_ON_1(WAITED(450, 1, 360) WAITED(900, 1, 360))), 720);
    assert_verdict(judge_lines("no_leak", LEFT_ON_1(WAITED(450, 1, 350) WAITED(900, 1, 350))),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("no_leak", LEFT_ON_1(WAITED(450, 1, 360) WAITED(900, 2, 360))),
                   VERDICT_FAIL);
}

Test(late, what_a_node_did_not_tell_is_not_held_against_the_lock)
{
#define WITHOUT_KEYS(late) HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) late GRANT(10, 1, "a", 900)
    assert_verdict(judge_lines("result_truth", WITHOUT_KEYS("")), VERDICT_FAIL);
    assert_late(judge_lines("result_truth", WITHOUT_KEYS(STOOD_STILL(9, "tap", 3))), 3);
    assert_late(judge_lines("validity", WITHOUT_KEYS(STOOD_STILL(9, "tap", 3))), 3);
}

/* Of one client it holds up nobody else. */
Test(late, process_that_got_no_processor_is_late_alone)
{
#define OF(p)                                                                                      \
    "{'time':8000000,'kind':'late','f':'stood-still','cause':'scheduler','process':" #p            \
    ",'numbers':[200000000,0]}\n"
    assert_late(judge_lines("exclusion", MEET_BY_100_MS(OF(1))), 200);
    assert_verdict(judge_lines("exclusion", MEET_BY_100_MS(OF(2))), VERDICT_FAIL);
}

/* More than are told apart: the oldest are put together, and nothing late is forgotten. */
Test(late, nothing_late_is_forgotten)
{
    static char lines[STORY_BYTES_MAX];
    struct text text = text_over(lines, sizeof lines);
    text_add(&text, "%s",
             HEADER ASK(1, 1) SET3(5, 1, "a", 1005) STOOD_STILL(8, "loop", 200)
                 GRANT(10, 1, "a", 1000));
    for (int i = 0; i < 3 * LEDGER_STANDSTILLS / 2; i++) {
        text_add(&text,
                 "{'time':%d000000,'kind':'late','f':'stood-still','cause':'loop',"
                 "'numbers':[2000000,0]}\n",
                 20 + 10 * i);
    }
    text_add(&text, "%s",
             ASK(890, 2) SET(895, 4, 2, "b", 1900) GRANT(900, 2, "b", 1850) RUN_ENDS(2000));
    cr_assert_not(text.cut);
    assert_late(judge_lines("exclusion", lines), 200);
}

#define SAID_LATE(waited)                                                                          \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true,'declared':true,'declares':['validity']}\n" ASK(   \
        1, 1) SET3(5, 1, "a", 1005) AT(1030) "'kind':'late','process':1,'f':'stood-still','cause'" \
                                             ":'scheduler','numbers':[" #waited "000000," #waited  \
                                             "000000]}\n" GRANT(1030, 1, "a", 1000)

/* A library that had no processor between its promise and its answer computed the one in time. */
Test(late, promise_that_was_over_when_it_was_said_for_want_of_a_processor_is_unknown)
{
    assert_verdict(judge_lines("validity", SAID_LATE(60)), VERDICT_UNKNOWN);
    assert_fails(judge_lines("validity", SAID_LATE(20)), BLAME_LIBRARY, ASSUMPTION_NONE);
}
