/* release_ignores_error.c: says released, whatever the nodes answered. */
#include "lockcore/redis/redlock.h"

static const struct redlock_rules rules = {.release_unanswered = LOCK_TOLD_RELEASED};

const struct lock_algorithm algorithm_wrong_release_ignores_error = {
    REDLOCK_ALGORITHM,
    .name = "wrong/release-ignores-error",
    .about = "tells its caller released when too few nodes have answered the release",
    .source = "redlock-py 1.0.8, unlock errors swallowed; Curator #1193",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
