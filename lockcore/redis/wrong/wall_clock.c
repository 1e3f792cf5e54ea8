/* wall_clock.c: measures the attempt by the time of day. */
#include "lockcore/redis/redlock.h"

static int64_t wall_clock_ns(const struct lock_event *event)
{
    return event->wall_ns;
}

static const struct redlock_rules rules = {.clock_ns = wall_clock_ns};

const struct lock_algorithm algorithm_wrong_wall_clock = {
    REDLOCK_ALGORITHM,
    .name = "wrong/wall-clock",
    .about = "measures the attempt by the wall clock, which can be set back",
    .source = "redlock-py 1.0.8, time.time() around the attempt",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
