/* fenced_redlock.c: Redlock whose grants carry a fence that a majority of the nodes remembers. */
#include "lockcore/redis/redlock.h"

/*
 * Each node counts the grants in the script that sets the key. The highest count of a majority is
 * the fence, and it is written back to a majority before the lock counts as granted. Any later
 * grant asks a majority too, which shares a node with this one, and so counts higher.
 */
static const struct redlock_rules rules = {.set_kind = REDIS_SET_FENCE,
                                           .raise_kind = REDIS_RAISE_FENCE};

const struct lock_algorithm algorithm_fenced_redlock = {
    REDLOCK_ALGORITHM,
    .name = "fenced_redlock",
    .about = "redlock with a fence: the highest count of a majority, written back to a majority",
    .source = "Kleppmann 2016, How to do distributed locking; Attiya, Bar-Noy and Dolev 1995",
    .fenced = true,
    .asks_more = true,
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
