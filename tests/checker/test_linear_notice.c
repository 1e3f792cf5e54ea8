/* test_linear_notice.c: leases that are told lost, moved by a clock, or extended, judged as events
 * arrive. */
#include "tests/checker/notation.h"

/* Something that nobody asked for: at a time, of a value. */
struct unasked {
    int64_t time_ns;
    enum history_kind kind; /* a notice, or a lease that moved: until then */
    char value;
    int64_t until_ns;
};

static struct history_event unasked_event(const struct unasked *unasked)
{
    return (struct history_event){
        .time_ns = unasked->time_ns,
        .kind = (uint8_t)unasked->kind,
        .f = (uint8_t)(unasked->kind == HISTORY_NOTICE ? HISTORY_LOST : HISTORY_MOVED),
        .flags = HISTORY_HAS_VALUE,
        .value = {.bytes = {(uint8_t)unasked->value}},
        .until_ns = unasked->until_ns};
}

static struct linear_result judge_once(const struct linear_options *options,
                                       const struct notation *notation,
                                       const struct unasked *unasked)
{
    struct linear *linear = linear_open(options);
    cr_assert_not_null(linear);
    for (int i = 0; i < notation->count; i++) {
        if (unasked != NULL && notation->events[i].time_ns > unasked->time_ns) {
            struct history_event told = unasked_event(unasked);
            linear_event(linear, &told);
            unasked = NULL;
        }
        linear_event(linear, &notation->events[i]);
    }
    linear_finish(linear);
    struct linear_result result = *linear_result(linear);
    linear_close(linear);
    return result;
}

/* The verdict of the model `lease`, with what nobody asked for told in between. */
static enum verdict verdict_of(const char *line, const struct unasked *unasked)
{
    struct linear_options options = linear_options_default(LINEAR_LEASE);
    struct notation notation;
    notation_read(line, &notation);
    struct linear_result result = judge_once(&options, &notation, unasked);
    if (result.again) {
        options.log_bytes_max = (size_t)1 << 24;
        result = judge_once(&options, &notation, unasked);
    }
    return (enum verdict)result.verdict;
}

#define NOTICE(at)       (&(struct unasked){at, HISTORY_NOTICE, 'x', 0})
#define MOVED(at, until) (&(struct unasked){at, HISTORY_LEASE, 'x', until})

Test(linear_notice, a_notice_ends_the_lease_that_it_names)
{
    const char *two = "a1.x:0-1/100 a2.y:60-61/160";
    cr_expect_eq(verdict_of(two, NULL), VERDICT_FAIL);
    cr_expect_eq(verdict_of(two, NOTICE(50)), VERDICT_PASS);
    cr_expect_eq(verdict_of("a1.x:0-1/100 a2.y:60-61/160 r2.y:80-81", NOTICE(70)), VERDICT_FAIL,
                 "too late");
    struct unasked other = {50, HISTORY_NOTICE, 'z', 0};
    cr_expect_eq(verdict_of(two, &other), VERDICT_FAIL, "of a lease that nobody has");
}

Test(linear_notice, a_notice_gives_no_time)
{
    cr_expect_eq(verdict_of("a1.x:0-1/40 a2.y:45-46/160", NOTICE(43)), VERDICT_PASS);
    cr_expect_eq(verdict_of("a1.x:0-1/40 a2.y:41-46/160 r1.x:60-61", NOTICE(50)), VERDICT_PASS);
}

Test(linear_notice, a_lease_that_a_clock_moved_ends_where_it_is_now)
{
    const char *two = "a1.x:0-1/100 a2.y:60-61/160";
    cr_expect_eq(verdict_of(two, MOVED(20, 50)), VERDICT_PASS);
    cr_expect_eq(verdict_of(two, MOVED(20, 70)), VERDICT_FAIL);
    cr_expect_eq(verdict_of("a1.x:0-1/100 a2.y:150-151/260", MOVED(20, 200)), VERDICT_FAIL);
    cr_expect_eq(verdict_of("a1.x:0-1/100 a2.y:150-151/260", NULL), VERDICT_PASS);
}

Test(linear_notice, an_extension_moves_the_end_and_never_shortens_it)
{
    cr_expect_eq(verdict_of("a1.x:0-1/100 e1.x:50-51/200 a2.y:150-151/260", NULL), VERDICT_FAIL);
    cr_expect_eq(verdict_of("a1.x:0-1/100 e1.x:50-51/60 a2.y:80-81/180", NULL), VERDICT_FAIL);
    cr_expect_eq(verdict_of("a1.x:0-1/100 e1.x:50-51/120 a2.y:130-131/230", NULL), VERDICT_PASS);
    cr_expect_eq(verdict_of("a1.x:0-1/100 e1.x:50-51/120 a2.y:110-111/230", NULL), VERDICT_FAIL);
    cr_expect_eq(verdict_of("a1.x:0-1/100 e1.x:50-51:f a2.y:110-111/230", NULL), VERDICT_PASS);
}

/* Its promise was over when it came, so that it held nothing; what is extended was held. */
Test(linear_notice, what_was_extended_was_held_all_the_time)
{
    cr_expect_eq(verdict_of("a1.x:0-5/3 a2.y:50-51/150", NULL), VERDICT_PASS);
    cr_expect_eq(verdict_of("a1.x:0-5/3 e1.x:10-11/100 a2.y:50-51/150", NULL), VERDICT_FAIL);
    cr_expect_eq(verdict_of("a1.x:0-5/3 e1.x:10-11/40 a2.y:50-51/150", NULL), VERDICT_PASS);
}

/* One process holds again when its lease has run out: what it extends is the later one. */
Test(linear_notice, an_extension_is_of_the_last_lease_of_its_caller)
{
    cr_expect_eq(verdict_of("a1:0-1/10 a1:20-21/30 e1:25-26/35", NULL), VERDICT_PASS);
    cr_expect_eq(verdict_of("a1:0-1/10 a2:20-21/30 a1:40-41/50 e1:45-46/55", NULL), VERDICT_PASS);
    cr_expect_eq(verdict_of("a1:0-1/10 a1:20-21/30 e1:25-26/60 a2:50-51/90", NULL), VERDICT_FAIL);
    cr_expect_eq(verdict_of("a1:0-1/10 a1:20-21/30 e1:25-26/40 a2:50-51/90", NULL), VERDICT_PASS);
    cr_expect_eq(verdict_of("e2@o:0-6/40 a1@o:2-4/5 a3:10-11/50", NULL), VERDICT_PASS,
                 "what was asked for before the lease was granted");
    cr_expect_eq(verdict_of("a1.x:0-1/9 r1.x:2-3 e1.x:5-6/90 a2.y:20-21/30", NULL), VERDICT_PASS,
                 "let go before");
}

/* An end that its caller was promised is reached, though a later one is promised by now. */
Test(linear_notice, a_release_says_nothing_once_the_first_promised_end_is_reached)
{
    cr_expect_eq(verdict_of("a1.x:0-1/10 e1.x:5-6/30 r1.x:12-13 r1.x:15-16", NULL), VERDICT_PASS);
    cr_expect_eq(verdict_of("a1.x:0-1/10 e1.x:5-6/30 r1.x:7-8 r1.x:8-9", NULL), VERDICT_FAIL);
}
