/* second_clock.c: measures the attempt in whole seconds. */
#include "lockcore/redis/redlock.h"

static int64_t second_clock_ns(const struct lock_event *event)
{
    return event->now_ns / NS_PER_S * NS_PER_S;
}

static const struct redlock_rules rules = {.clock_ns = second_clock_ns};

const struct lock_algorithm algorithm_wrong_second_clock = {
    REDLOCK_ALGORITHM,
    .name = "wrong/second-clock",
    .about = "measures the attempt by a clock of whole seconds: 0.9 s count as none",
    .source = "redlock-cpp, (int)time(NULL) * 1000",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
