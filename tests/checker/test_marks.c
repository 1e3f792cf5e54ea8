/* test_marks.c: each event leaves the marks that the ledger's own change tells. */
#include "checker/report/marks.h"
#include "tests/checker/story.h"

static struct story story;

/* "lease+1000 section+ | lease-released", a bar between events. */
static const char *marks_of(const char *lines)
{
    static const char *const turns[] = {"+", ">", "-"};
    static char memory[4096];
    struct text text = text_over(memory, sizeof memory);
    story_read(&story, lines);
    struct marker *marker = marker_open(&story.header);
    cr_assert_not_null(marker);
    for (size_t i = 0; i < story.count; i++) {
        struct marks marks;
        marker_step(marker, &story.events[i], &marks);
        text_add(&text, "%s", i == 0 ? "" : "|");
        for (uint32_t k = 0; k < marks.count; k++) {
            const struct mark *mark = &marks.list[k];
            text_add(&text, " %s%s%s", mark_bar_name((enum mark_bar)mark->bar), turns[mark->turn],
                     mark_how_name((enum mark_how)mark->how));
            if (mark->turn != MARK_CLOSE && mark->until_ns != TIME_NEVER) {
                text_add(&text, "%d", (int)(mark->until_ns / 1000000));
            }
            if (mark->bar == MARK_KEY) {
                text_add(&text, "@%d", mark->node + 1);
            }
        }
    }
    marker_close(marker);
    return memory;
}

Test(marks, a_whole_turn)
{
    cr_assert_str_eq(marks_of(HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) GRANT(10, 1, "a", 1000)
                                  ENTER(11, 1) LEAVE(20, 1) FREE(20, 1) DELETED(21, 1, 1, "a")
                                      FREED(22, 1)),
                     " wait+| key+1005@1| lease+1000 wait-ok| section+| section-left|"
                     " lease-released wait+| key-deleted@1| wait-ok");
}

Test(marks, a_lease_that_has_run_out_is_not_released)
{
    cr_assert_str_eq(
        marks_of(HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) FREE(1500, 1) FREED(1501, 1)),
        " wait+| lease+1000 wait-ok| wait+| wait-ok");
}

Test(marks, an_extension_moves_the_end_and_a_late_one_begins_anew)
{
    cr_assert_str_eq(marks_of(HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) EXTEND(500, 1) EXTENDED(
                         501, 1, 1500) MOVED(600, 1, 1400) EXTEND(1450, 1) EXTENDED(1451, 1, 2400)),
                     " wait+| lease+1000 wait-ok| wait+| lease>1500 wait-ok| lease>1400| wait+|"
                     " lease+2400 wait-ok");
}

Test(marks, who_is_told_holds_no_more)
{
    cr_assert_str_eq(
        marks_of(HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) ENTER(11, 1) LOST(30, 1) LEAVE(31, 1)),
        " wait+| lease+1000 wait-ok| section+| lease-told| section-left");
}

Test(marks, the_dead_leave_and_keep_only_what_was_promised)
{
    cr_assert_str_eq(marks_of(HEADER ASK(1, 1) GRANT(10, 1, "a", 1000) ENTER(11, 1) KILLED(20, 1)
                                  ASK(30, 2) GRANT_OPEN(40, 2, "b") ENTER(41, 2) KILLED(50, 2)),
                     " wait+| lease+1000 wait-ok| section+| section-killed| wait+| lease+ wait-ok|"
                     " section+| lease-killed section-killed");
}

Test(marks, a_key_is_deleted_expired_taken_lost_or_replaced)
{
    cr_assert_str_eq(
        marks_of(HEADER SET(1, 1, 1, "a", 1001) SET(1, 2, 1, "a", 1001) SET(1, 3, 1, "a", 1001)
                     SET(1, 4, 1, "a", 1001) SET(1, 5, 1, "a", 1001) DELETED(2, 1, 1, "a")
                         DELETED_BLINDLY(3, 2, 2, "a") ENDED(4, 3, "key-lost", "a", "restart")
                             SET(5, 4, 2, "b", 1005) ENDED(1001, 5, "expired", "a", "ttl")),
        " key+1001@1| key+1001@2| key+1001@3| key+1001@4| key+1001@5| key-deleted@1|"
        " key-taken@2| key-lost@3| key-replaced@4 key+1005@4| key-expired@5");
}

Test(marks, a_jumped_clock_takes_a_key_that_should_have_lived)
{
    cr_assert_str_eq(
        marks_of(HEADER SET(1, 1, 1, "a", 1001) ENDED_BY(5, 1, "expired", "a", "clock-jump", 1)),
        " key+1001@1| key-lost@1");
}

Test(marks, a_refusal_and_an_unknown_outcome_end_the_waiting)
{
    cr_assert_str_eq(marks_of(HEADER ASK(1, 1) REFUSE(2, 1) ASK(3, 1) UNKNOWN(4, 1, "acquire")),
                     " wait+| wait-refused| wait+| wait-unknown");
}
