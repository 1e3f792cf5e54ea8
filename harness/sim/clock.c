/* clock.c: bends a clock, and asks when it will show a time. */
#include "harness/sim/clock.h"

#include "base/assert.h"

__extension__ typedef __int128 clock_product;

int64_t clock_true(const struct clock *clock, int64_t local_ns)
{
    if (local_ns == TIME_NEVER) {
        return TIME_NEVER;
    }
    if (local_ns <= clock->local_ns) {
        return clock->true_ns;
    }
    if (clock->rate_ppm == 0) {
        return TIME_NEVER;
    }
    int64_t ahead_ns = local_ns - clock->local_ns;
    if (clock->rate_ppm == CLOCK_RATE_SOUND_PPM) {
        return clock->true_ns + ahead_ns;
    }
    clock_product scaled = (clock_product)ahead_ns * CLOCK_RATE_SOUND_PPM;
    clock_product wait = (scaled + clock->rate_ppm - 1) / clock->rate_ppm;
    clock_product at = wait + clock->true_ns;
    return at > INT64_MAX ? TIME_NEVER : (int64_t)at;
}

void clock_jump(struct clock *clock, int64_t true_ns, int64_t amount_ns)
{
    ASSERT(true_ns >= clock->true_ns);
    clock->local_ns = clock_local(clock, true_ns) + amount_ns;
    clock->true_ns = true_ns;
}

void clock_set_rate(struct clock *clock, int64_t true_ns, int64_t rate_ppm)
{
    ASSERT(true_ns >= clock->true_ns);
    ASSERT(rate_ppm >= 0);
    clock->local_ns = clock_local(clock, true_ns);
    clock->true_ns = true_ns;
    clock->rate_ppm = rate_ppm;
}
