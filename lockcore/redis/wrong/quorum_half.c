/* quorum_half.c: takes half of the nodes for a majority. */
#include "lockcore/redis/redlock.h"

static uint32_t half(const struct lock *lock)
{
    uint32_t nodes = lock->config.node_count / 2;
    return nodes == 0 ? 1 : nodes;
}

static const struct redlock_rules rules = {.quorum = half};

const struct lock_algorithm algorithm_wrong_quorum_half = {
    REDLOCK_ALGORITHM,
    .name = "wrong/quorum-half",
    .about = "asks for N/2 nodes, without the one more",
    .source = "off by one in the quorum; Redis documentation: N/2+1",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
