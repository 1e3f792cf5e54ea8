/* spins.c: before its next attempt it asks to be woken at once, and does nothing but that then. */
#include "lockcore/redis/redlock.h"

static int64_t spins_wake_ns(const struct lock *lock)
{
    return lock->state == LOCK_STATE_WAITING ? lock->start_ns : redlock_wake_ns(lock);
}

static void spins_step(struct lock *lock, const struct lock_event *event,
                       struct lock_effects *effects)
{
    if (event->type != LOCK_EVENT_TIMER || lock->state != LOCK_STATE_WAITING) {
        redlock_step(lock, event, effects);
    }
}

const struct lock_algorithm algorithm_wrong_spins = {
    .dialect = &redis_dialect,
    .moves = redlock_moves,
    .step = spins_step,
    .wake_ns = spins_wake_ns,
    .assert_valid = redlock_assert_valid,
    .reply_words = 1,
    .name = "wrong/spins",
    .about = "asks to be woken at once for its next attempt, for ever, and never makes it",
    .source = "a timer that is armed again for a time that has passed",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &redlock_documented,
};
