/* monotonic.c: the machine's own clock. */
#include "base/monotonic.h"

#include "base/assert.h"
#include "base/duration.h"

#include <time.h>

int64_t monotonic_ns(void)
{
    struct timespec now;
    int code = clock_gettime(CLOCK_MONOTONIC, &now);
    ASSERT(code == 0);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}
