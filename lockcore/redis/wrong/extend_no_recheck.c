/* extend_no_recheck.c: extends without a look at the clock after the replies. */
#include "lockcore/redis/redlock.h"

static bool any_extension(const struct lock *lock, int64_t validity_ns, int64_t now_ns)
{
    (void)lock;
    (void)validity_ns;
    (void)now_ns;
    return true;
}

static const struct redlock_rules rules = {.extension_stands = any_extension};

const struct lock_algorithm algorithm_wrong_extend_no_recheck = {
    REDLOCK_ALGORITHM,
    .name = "wrong/extend-no-recheck",
    .about = "does not ask, after the replies, whether the extension came in time",
    .source = "redsync PR #71; pottery 3.0.1 extend()",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
