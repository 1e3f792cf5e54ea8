/* no_cleanup.c: leaves the keys of a refused attempt behind. */
#include "lockcore/redis/redlock.h"

static uint32_t no_nodes(const struct lock *lock)
{
    (void)lock;
    return 0;
}

static const struct redlock_rules rules = {.refused_release = no_nodes};

const struct lock_algorithm algorithm_wrong_no_cleanup = {
    REDLOCK_ALGORITHM,
    .name = "wrong/no-cleanup",
    .about = "releases nothing after a refused attempt",
    .source = "node-redlock 5.0.0-beta.2, PR #369: no release between retries; rslock TtlExceeded",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
