/* single.c: one node, one key: the simple lock that the Redis documentation begins with. */
#include "lockcore/redis/redlock.h"

const struct lock_algorithm algorithm_single = {
    REDLOCK_ALGORITHM,
    .name = "single",
    .about = "one node: SET NX PX with a random value, released by compare-and-delete",
    .source = "Redis documentation, Correct Implementation with a Single Instance",
    .nodes_min = 1,
    .nodes_max = 1,
    .rules = &redlock_documented,
};
