/* extend_creates.c: an extension sets the key anew where it is gone. */
#include "lockcore/redis/redlock.h"

static const struct redlock_rules rules = {.extend_kind = REDIS_SET_EXPIRE};

const struct lock_algorithm algorithm_wrong_extend_creates = {
    REDLOCK_ALGORITHM,
    .name = "wrong/extend-creates",
    .about = "an extension creates the key again where it was lost",
    .source = "RedLock.net #48; redsync WithSetNXOnExtend; redlock-rb #36",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
