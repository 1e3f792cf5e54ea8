/* cleanup_acquired_only.c: after a refused attempt releases only where it was granted. */
#include "lockcore/redis/redlock.h"

static uint32_t agreed_nodes(const struct lock *lock)
{
    return lock_quorum_seen(lock)->agreed;
}

static const struct redlock_rules rules = {.refused_release = agreed_nodes};

const struct lock_algorithm algorithm_wrong_cleanup_acquired_only = {
    REDLOCK_ALGORITHM,
    .name = "wrong/cleanup-acquired-only",
    .about = "after a refused attempt releases only on the nodes that said yes",
    .source = "Redisson #1606, RedissonMultiLock",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
