/*
 * clock.h: one actor's clock: a straight line over true time, until a fault bends it.
 *
 *     local(t) = local_ns + (t - true_ns) * rate_ppm / 1e6
 *
 * A jump or a new rate begins a new segment. A wall clock jumps, a monotonic one only changes its
 * rate. Integers only.
 */
#ifndef HARNESS_SIM_CLOCK_H
#define HARNESS_SIM_CLOCK_H

#include "base/duration.h"

#include <stdint.h>

enum { CLOCK_RATE_SOUND_PPM = 1000000 };

struct clock {
    int64_t true_ns;  /* where the segment begins */
    int64_t local_ns; /* what the clock shows there */
    int64_t rate_ppm; /* >= 0; 0: it stands */
};

/* What the clock shows at a true time of its segment. */
static inline int64_t clock_local(const struct clock *clock, int64_t true_ns)
{
    int64_t elapsed_ns = true_ns - clock->true_ns;
    if (clock->rate_ppm == CLOCK_RATE_SOUND_PPM) {
        return clock->local_ns + elapsed_ns;
    }
    int64_t whole = elapsed_ns / CLOCK_RATE_SOUND_PPM * clock->rate_ppm;
    int64_t rest = elapsed_ns % CLOCK_RATE_SOUND_PPM * clock->rate_ppm / CLOCK_RATE_SOUND_PPM;
    return clock->local_ns + whole + rest;
}

/* The first true time at which the clock shows `local_ns` or more; TIME_NEVER if it stands. */
int64_t clock_true(const struct clock *clock, int64_t local_ns);

void clock_jump(struct clock *clock, int64_t true_ns, int64_t amount_ns);
void clock_set_rate(struct clock *clock, int64_t true_ns, int64_t rate_ppm);

#endif
