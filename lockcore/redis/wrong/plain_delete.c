/* plain_delete.c: releases with DEL, whoever owns the key. */
#include "lockcore/redis/redlock.h"

static const struct redlock_rules rules = {.release_kind = REDIS_DELETE};

const struct lock_algorithm algorithm_wrong_plain_delete = {
    REDLOCK_ALGORITHM,
    .name = "wrong/plain-delete",
    .about = "releases with a plain DEL, also when the key is another's by now",
    .source = "ShedLock Redis provider with safeUpdate=false; twentyhq/twenty #25661",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
