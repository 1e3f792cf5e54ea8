/* test_gap.c: a lock that refuses at once whoever asks is caught, though hardly anybody waits. */
#include "tests/checker/story.h"

#define HELD_ONCE                                                                                  \
    HEADER ASK(1, 1) SET3(2, 1, "a", 1002) GRANT(3, 1, "a", 990) FREE(10, 1) DELETED3(11, 1, "a")  \
        FREED(12, 1)

/* Client 2 is refused `times` times from 100 ms on, and once more at `last_ms`. */
static const char *refuses(const char *before, int times, const char *meanwhile, int last_ms)
{
    static char lines[8192];
    size_t used = (size_t)snprintf(lines, sizeof lines, "%s", before);
    for (int i = 0; i <= times; i++) {
        int ms = i == times ? last_ms : 100 + 100 * i;
        used += (size_t)snprintf(lines + used, sizeof lines - used,
                                 "%s{'time':%d000000,'process':2,'type':'invoke','f':'acquire',"
                                 "'resource':'r0'}\n{'time':%d000000,'process':2,'type':'fail',"
                                 "'f':'acquire','resource':'r0','cause':'no-quorum'}\n",
                                 i == times ? meanwhile : "", ms, ms + 1);
    }
    return lines;
}

/* Who refuses at once is hardly ever asked: it is not the time of the asking that tells. */
Test(gap, a_free_lock_that_refuses_whoever_asks_again_and_again_blames_the_library)
{
    const char *refused = refuses(HELD_ONCE, 9, "", 1600);
    struct check_result result = judge_lines("fault_tolerance", refused);
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)1501000000);
    cr_assert_str_eq(headline("fault_tolerance", refused),
                     "fault_tolerance: r0 was refused whoever asked for it, again and again, for "
                     "1.501 s although nobody held it, no node had a key of it, and there was no "
                     "fault; ttl + bound allow 1.5 s");
    assert_verdict(judge_lines("fault_tolerance", refuses(HELD_ONCE, 9, "", 1599)), VERDICT_PASS);
    assert_verdict(judge_lines("fault_tolerance", refuses(HELD_ONCE, 8, "", 1600)), VERDICT_PASS);
}

static void is_excused(const char *before, const char *meanwhile)
{
    assert_verdict(judge_lines("fault_tolerance", refuses(before, 9, meanwhile, 1600)),
                   VERDICT_PASS);
}

Test(gap, refusals_count_only_while_nothing_else_can_be_why)
{
    /* A fault, a ttl before the first, or meanwhile. */
    is_excused(HELD_ONCE FAULT_OF_CLIENT(20, 1, "pause", "start", 1)
                   FAULT_OF_CLIENT(30, 1, "pause", "end", 1),
               "");
    is_excused(HELD_ONCE, FAULT_OF_CLIENT(1400, 1, "pause", "start", 1));
    /* A key that was set, whoever did it, or was there. */
    is_excused(HELD_ONCE, SET(1400, 1, 2, "b", 2400));
    is_excused(HELD_ONCE SET(50, 4, 3, "c", 2050), "");
    is_excused(HELD_ONCE, ASK(1400, 3) GRANT(1401, 3, "c", 1402));
    /* Nobody can say which keys are the lock's, where none was ever seen. */
    is_excused(HEADER ASK(1, 1) GRANT(3, 1, "a", 90) FREE(10, 1) FREED(12, 1), "");
    assert_verdict(
        judge_lines("fault_tolerance", refuses(HELD_ONCE, 9, STOOD_STILL(1500, "loop", 60), 1600)),
        VERDICT_UNKNOWN);
}

/* Who answers at once waits for nobody: what stood still now and then is not added up. */
Test(gap, refusals_at_once_are_excused_by_no_lateness_that_is_shorter_than_they_went_on)
{
#define LATE_OFTEN(cause)                                                                          \
    STOOD_STILL(1100, cause, 60)                                                                   \
    STOOD_STILL(1200, cause, 60) STOOD_STILL(1300, cause, 60) STOOD_STILL(1400, cause, 60)
    const char *at_once = refuses(HELD_ONCE, 9, LATE_OFTEN("scheduler"), 1699);
    assert_fails(judge_lines("fault_tolerance", at_once), BLAME_LIBRARY, ASSUMPTION_NONE);
    /* By as long as one of them, or if nodes may have been silent. */
    assert_verdict(
        judge_lines("fault_tolerance", refuses(HELD_ONCE, 9, LATE_OFTEN("scheduler"), 1659)),
        VERDICT_UNKNOWN);
    assert_verdict(judge_lines("fault_tolerance", refuses(HELD_ONCE, 9, LATE_OFTEN("tap"), 1699)),
                   VERDICT_UNKNOWN);
    /* Nine at once, and others that were waited for. */
    const char *waited = refuses(
        HELD_ONCE, 7,
        ASK(1000, 3) REFUSE(1021, 3) LATE_OFTEN("scheduler") ASK(1410, 3) REFUSE(1431, 3), 1699);
    assert_verdict(judge_lines("fault_tolerance", waited), VERDICT_UNKNOWN);
}
