/* machine_clock.c: the machine's own clocks. */
#include "base/machine_clock.h"

#include "base/assert.h"
#include "base/duration.h"

#include <time.h>

static int64_t clock_read(clockid_t clock)
{
    struct timespec now;
    int code = clock_gettime(clock, &now);
    ASSERT(code == 0);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t monotonic_ns(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

int64_t realtime_ns(void)
{
    return clock_read(CLOCK_REALTIME);
}
