/* test_judge.c: the judge is one flat block, follows to its limits, and never passes beyond them.
 */
#include "tests/checker/story.h"

#define PAUSED_HOLDER                                                                              \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000) ENTER(11, 1)                    \
        FAULT_OF_CLIENT(20, 1, "pause", "start", 1) ENDED(1005, 1, "expired", "a", "ttl")          \
            ENDED(1005, 2, "expired", "a", "ttl") ENDED(1005, 3, "expired", "a", "ttl")            \
                ASK(1100, 2) SET3(1101, 2, "b", 2101) GRANT(1105, 2, "b", 2090) ENTER(1106, 2)     \
                    FAULT_OF_CLIENT(2000, 1, "pause", "end", 1) LEAVE(2001, 1) FREE(2002, 1)       \
                        FREED(2003, 1) LEAVE(2010, 2)

static struct story story;

/* A judge in memory of its own. */
static struct judge *judge_new(void)
{
    void *memory = memory_resize(NULL, judge_bytes(&story.header, JUDGE_ALL));
    cr_assert_not_null(memory);
    return judge_init(memory, &story.header, JUDGE_ALL);
}

Test(judge, copy_goes_on_as_the_original_does_from_every_event_on)
{
    story_read(&story, PAUSED_HOLDER);
    size_t bytes = judge_bytes(&story.header, JUDGE_ALL);
    struct judge *whole = judge_new();
    struct judge *copy = judge_new();
    struct judge *other = judge_new();
    for (size_t cut = 0; cut <= story.count; cut++) {
        judge_init(whole, &story.header, JUDGE_ALL);
        for (size_t i = 0; i < story.count; i++) {
            if (i == cut) {
                memcpy(copy, whole, bytes);
            }
            judge_event(whole, &story.events[i]);
        }
        if (cut == story.count) {
            memcpy(copy, whole, bytes);
        }
        memcpy(other, copy, bytes);
        for (size_t i = cut; i < story.count; i++) {
            judge_event(other, &story.events[i]);
        }
        judge_finish(whole);
        judge_finish(other);
        cr_assert_eq(memcmp(whole, other, bytes), 0, "cut at event %zu", cut);
        judge_init(other, &story.header, JUDGE_ALL);
    }
    memory_release(whole);
    memory_release(copy);
    memory_release(other);
}

Test(judge, failure_shows_while_the_run_goes_on)
{
    story_read(&story, PAUSED_HOLDER);
    struct judge *judge = judge_new();
    size_t at = 0;
    while (at < story.count && !judge_failed(judge)) {
        judge_event(judge, &story.events[at++]);
    }
    cr_assert(judge_failed(judge));
    cr_assert_eq(story.events[at - 1].time_ns, (int64_t)2001000000);
    memory_release(judge);
}

Test(judge, check_that_is_left_out_judges_nothing)
{
    story_read(&story, PAUSED_HOLDER);
    uint64_t only = judge_bit("exclusion");
    void *memory = memory_resize(NULL, judge_bytes(&story.header, only));
    struct judge *judge = judge_init(memory, &story.header, only);
    for (size_t i = 0; i < story.count; i++) {
        judge_event(judge, &story.events[i]);
    }
    judge_finish(judge);
    for (size_t i = 0; i < check_count(); i++) {
        bool is_it = strcmp(check_at(i)->name, "exclusion") == 0;
        cr_assert_eq(judge_result(judge, i)->verdict, is_it ? VERDICT_PASS : VERDICT_NOTHING);
    }
    memory_release(judge);
}

Test(judge, history_beyond_the_limits_is_unknown_and_no_pass)
{
    char lines[STORY_BYTES_MAX];
    struct text text = text_over(lines, sizeof lines);
    text_add(&text, "{'format':'picklock-history','version':1}\n");
    for (int i = 0; i < 9; i++) {
        text_add(&text, "{'time':%d,'process':1,'type':'invoke','f':'acquire','resource':'s%d'}\n",
                 2 * i, i);
        text_add(&text, "{'time':%d,'process':1,'type':'ok','f':'acquire','resource':'s%d'}\n",
                 2 * i + 1, i);
    }
    story_read(&story, lines);
    struct check_result result = story_judge(&story, "exclusion");
    assert_verdict(result, VERDICT_UNKNOWN);
    cr_assert_eq(result.reason, CHECK_REASON_LIMIT);
}

Test(judge, worse_verdict_wins)
{
    cr_assert_eq(verdict_worse(VERDICT_FAIL, VERDICT_UNKNOWN), VERDICT_FAIL);
    cr_assert_eq(verdict_worse(VERDICT_PASS, VERDICT_UNKNOWN), VERDICT_UNKNOWN);
    cr_assert_eq(verdict_worse(VERDICT_NOTHING, VERDICT_PASS), VERDICT_PASS);
}

Test(judge, names_find_their_check)
{
    for (size_t i = 0; i < check_count(); i++) {
        cr_assert_eq(check_find(check_at(i)->name), check_at(i));
        cr_assert_eq(judge_bit(check_at(i)->name), UINT64_C(1) << i);
    }
    cr_assert_null(check_find("luck"));
    cr_assert_eq(judge_bit("luck"), (uint64_t)0);
}
