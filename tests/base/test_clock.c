/* test_clock.c: a bent clock shows what it must, and says exactly when it will show a time. */
#include "base/clock.h"

#include "base/random.h"
#include "harness/real/preload/clock_page.h"

#include <criterion/criterion.h>
#include <signal.h>

static struct random_stream dice;

static int64_t below(int64_t bound)
{
    return (int64_t)random_below(&dice, (uint64_t)bound);
}

static int64_t some_rate_ppm(void)
{
    static const int64_t rates[] = {0, 1, 999999, 1000000, 1000001, 1010000, 990000, 7, 100000000};
    return rates[below(sizeof rates / sizeof rates[0])];
}

/* The first true time at which it shows that much: a nanosecond before, it shows less. */
static void true_is_first(const struct clock *clock, int64_t local_ns)
{
    int64_t true_ns = clock_true(clock, local_ns);
    if (true_ns == TIME_NEVER) {
        cr_assert_eq(clock->rate_ppm, 0);
        cr_assert(local_ns > clock->local_ns);
        return;
    }
    cr_assert(clock_local(clock, true_ns) >= local_ns, "%lld of rate %lld", (long long)local_ns,
              (long long)clock->rate_ppm);
    if (true_ns > clock->true_ns) {
        cr_assert(clock_local(clock, true_ns - 1) < local_ns, "%lld of rate %lld",
                  (long long)local_ns, (long long)clock->rate_ppm);
    }
}

Test(clock, says_exactly_when_it_will_show_a_time)
{
    dice = random_stream("clock", 1);
    struct clock clock = CLOCK_SOUND;
    int64_t now_ns = 0;
    for (int i = 0; i < 20000; i++) {
        true_is_first(&clock, clock.local_ns + below(10 * NS_PER_S) - NS_PER_S);
        now_ns += below(5 * NS_PER_S);
        int64_t shown_ns = clock_local(&clock, now_ns);
        if (below(2) == 0) {
            clock_set_rate(&clock, now_ns, some_rate_ppm());
            cr_assert_eq(clock_local(&clock, now_ns), shown_ns, "a rate moves nothing shown");
        } else {
            int64_t amount_ns = below(2 * NS_PER_S) - NS_PER_S;
            clock_jump(&clock, now_ns, amount_ns);
            cr_assert_eq(clock_local(&clock, now_ns), shown_ns + amount_ns);
        }
    }
}

Test(clock, a_standing_clock_shows_no_later_time_and_a_late_one_is_never)
{
    struct clock clock = {.true_ns = 5, .local_ns = 100, .rate_ppm = 0};
    cr_assert_eq(clock_local(&clock, INT64_MAX / 2), 100);
    cr_assert_eq(clock_true(&clock, 100), 5);
    cr_assert_eq(clock_true(&clock, 101), TIME_NEVER);
    clock.rate_ppm = 1;
    cr_assert_eq(clock_true(&clock, TIME_NEVER), TIME_NEVER);
    cr_assert_eq(clock_true(&clock, INT64_MAX / 2), TIME_NEVER, "beyond all time");
}

Test(clock, cannot_be_bent_before_its_segment, .signal = SIGABRT)
{
    struct clock clock = {.true_ns = 5, .rate_ppm = CLOCK_RATE_SOUND_PPM};
    clock_jump(&clock, 4, 1);
}

Test(clock, in_shared_memory_shows_the_same)
{
    dice = random_stream("clock page", 1);
    static struct clock_page page;
    struct clock clock = CLOCK_SOUND;
    int64_t now_ns = 0;
    cr_assert_eq(clock_page_shown(&page, 12345), 12345);
    for (int i = 0; i < 2000; i++) {
        now_ns += below(NS_PER_S);
        int64_t jump_ns = below(NS_PER_S) - NS_PER_S / 2;
        int64_t rate_ppm = some_rate_ppm();
        clock_page_set(&page, now_ns, jump_ns, rate_ppm);
        clock_jump(&clock, now_ns, jump_ns);
        clock_set_rate(&clock, now_ns, rate_ppm);
        int64_t later_ns = now_ns + below(NS_PER_S);
        cr_assert_eq(clock_page_shown(&page, later_ns), clock_local(&clock, later_ns));
        cr_assert_eq(clock_page_rate_ppm(&page), rate_ppm);
        int64_t shown_ns = clock.local_ns + below(NS_PER_S);
        cr_assert_eq(clock_page_sound(&page, shown_ns), clock_true(&clock, shown_ns));
    }
}
