/* extend_any_owner.c: extends with PEXPIRE, whoever owns the key. */
#include "lockcore/redis/redlock.h"

static const struct redlock_rules rules = {.extend_kind = REDIS_EXPIRE};

const struct lock_algorithm algorithm_wrong_extend_any_owner = {
    REDLOCK_ALGORITHM,
    .name = "wrong/extend-any-owner",
    .about = "extends with a plain PEXPIRE, also when the key is another's by now",
    .source = "Redisson RedissonMultiLock, PEXPIRE without owner test after the locks are taken",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
