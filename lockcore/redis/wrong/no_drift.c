/* no_drift.c: leaves no room for clocks that run at different rates. */
#include "lockcore/redis/redlock.h"

static int64_t no_drift_ns(const struct lock_config *config)
{
    (void)config;
    return 0;
}

static const struct redlock_rules rules = {.drift_ns = no_drift_ns};

const struct lock_algorithm algorithm_wrong_no_drift = {
    REDLOCK_ALGORITHM,
    .name = "wrong/no-drift",
    .about = "takes nothing off the validity for clock drift",
    .source = "Redisson RedissonRedLock, which has no drift term",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
