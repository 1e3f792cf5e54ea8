/* no_recheck.c: grants without a look at the clock after the replies. */
#include "lockcore/redis/redlock.h"

static bool any_validity(int64_t validity_ns)
{
    (void)validity_ns;
    return true;
}

static const struct redlock_rules rules = {.grant_stands = any_validity};

const struct lock_algorithm algorithm_wrong_no_recheck = {
    REDLOCK_ALGORITHM,
    .name = "wrong/no-recheck",
    .about = "does not ask, after the replies, whether any validity is left",
    .source = "Kleppmann 2016, How to do distributed locking; node-redlock 5.0.0-beta.2, PR #369",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
