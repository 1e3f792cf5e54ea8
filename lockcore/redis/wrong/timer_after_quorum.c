/* timer_after_quorum.c: counts the validity from the quorum, not from the first command. */
#include "lockcore/redis/redlock.h"

static int64_t nothing_elapsed(const struct lock *lock, int64_t clock_ns)
{
    (void)lock;
    (void)clock_ns;
    return 0;
}

static const struct redlock_rules rules = {.elapsed_ns = nothing_elapsed};

const struct lock_algorithm algorithm_wrong_timer_after_quorum = {
    REDLOCK_ALGORITHM,
    .name = "wrong/timer-after-quorum",
    .about = "starts to count the validity when the quorum is reached",
    .source = "node-redlock PR #167, issue #166",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
