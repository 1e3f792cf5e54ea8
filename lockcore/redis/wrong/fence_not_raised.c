/* fence_not_raised.c: a fence that no majority remembers. */
#include "lockcore/redis/redlock.h"

static const struct redlock_rules rules = {.set_kind = REDIS_SET_FENCE};

const struct lock_algorithm algorithm_wrong_fence_not_raised = {
    REDLOCK_ALGORITHM,
    .name = "wrong/fence-not-raised",
    .about = "grants with the highest fence seen, without writing it back to a majority",
    .source = "reads of Attiya, Bar-Noy and Dolev 1995 without the write-back phase",
    .fenced = true,
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
