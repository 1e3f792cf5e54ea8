/* clock.c: bends a clock. */
#include "base/clock.h"

#include "base/assert.h"

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
