/* extend_fail_unlocks.c: a failed extension releases the lease that still holds. */
#include "lockcore/redis/redlock.h"

static const struct redlock_rules rules = {.unextended_release = lock_all_nodes};

const struct lock_algorithm algorithm_wrong_extend_fail_unlocks = {
    REDLOCK_ALGORITHM,
    .name = "wrong/extend-fail-unlocks",
    .about = "deletes all keys when an extension fails, though the lease still holds",
    .source = "node-redlock 4.2.0 extend(); redlock-rb, rslock and aioredlock alike",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
