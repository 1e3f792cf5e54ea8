/* constant_value.c: every client sets the same value. */
#include "lockcore/redis/redlock.h"

static struct lock_value constant_value(const struct lock_event *event)
{
    (void)event;
    return (struct lock_value){.bytes = {'l', 'o', 'c', 'k', 'e', 'd'}};
}

static const struct redlock_rules rules = {.value = constant_value};

const struct lock_algorithm algorithm_wrong_constant_value = {
    REDLOCK_ALGORITHM,
    .name = "wrong/constant-value",
    .about = "uses one constant value, so that nobody can tell whose key it is",
    .source = "ShedLock SQL locked_by=hostname; discussions of SET key 1 NX",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
