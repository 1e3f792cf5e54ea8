/* zero_jitter.c: all clients try again after the same delay. */
#include "lockcore/redlock.h"

static int64_t no_jitter_ns(const struct lock_config *config, uint64_t random)
{
    (void)config;
    (void)random;
    return 0;
}

static const struct redlock_rules rules = {REDLOCK_RULES, .jitter_ns = no_jitter_ns};

const struct lock_algorithm algorithm_wrong_zero_jitter = {
    .name = "wrong/zero-jitter",
    .about = "tries again after a fixed delay, so that clients split the nodes again and again",
    .source = "redlock-py 1.0.8, a fixed 0.2 s",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
    .step = redlock_step,
};
