/* quorum_reachable.c: takes a majority of the nodes that can be reached. */
#include "lockcore/redis/redlock.h"

static uint32_t majority_of_reachable(const struct lock *lock)
{
    return lock_quorum(lock_count(lock->pending | lock_quorum_seen(lock)->agreed |
                                  lock_quorum_seen(lock)->refused));
}

static const struct redlock_rules rules = {.quorum = majority_of_reachable};

const struct lock_algorithm algorithm_wrong_quorum_reachable = {
    REDLOCK_ALGORITHM,
    .name = "wrong/quorum-reachable",
    .about = "asks for a majority of the nodes that answer, not of those configured",
    .source = "Redis documentation: majority of N; the mistake behind split brains such as "
              "Hazelcast #2576",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
