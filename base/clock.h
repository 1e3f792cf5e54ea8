/*
 * clock.h: one clock that may be wrong: a straight line over a sound one, until it is bent.
 *
 *     struct clock clock = CLOCK_SOUND;
 *     clock_jump(&clock, now_ns, 3600 * NS_PER_S);
 *     clock_local(&clock, now_ns)         shows an hour more
 *
 *     local(t) = local_ns + (t - true_ns) * rate_ppm / 1e6
 *
 * `true` is the clock that it is told by: a world's true time, a machine's own clock. A jump or a
 * new rate begins a new segment; a rate moves nothing that is shown already. Integers only: what is
 * shown is rounded down, and clock_true is its exact inverse. Plain data of 24 bytes; the reading
 * half calls nothing, because a preloaded library uses it inside an allocator's start.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/duration.h"

#include <stdint.h>

__extension__ typedef __int128 clock_product;

enum { CLOCK_RATE_SOUND_PPM = 1000000 };

struct clock {
    int64_t true_ns;  /* where the segment begins */
    int64_t local_ns; /* what the clock shows there */
    int64_t rate_ppm; /* >= 0; 0: it stands */
};

#define CLOCK_SOUND ((struct clock){0, 0, CLOCK_RATE_SOUND_PPM})

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
static inline int64_t clock_true(const struct clock *clock, int64_t local_ns)
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

/* From `true_ns` on, which must not be before the segment's beginning, it shows so much more. */
void clock_jump(struct clock *clock, int64_t true_ns, int64_t amount_ns);

/* From `true_ns` on it runs at this rate. */
void clock_set_rate(struct clock *clock, int64_t true_ns, int64_t rate_ppm);

#endif
