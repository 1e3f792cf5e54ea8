/* redlock_rules.c: the rules of Redlock, each beside the sentence that it comes from. */
#include "lockcore/redis/redlock.h"

/* "a random string ... We can assume it's 20 bytes from /dev/urandom", unique "across all clients
 * and all lock requests": fresh for every attempt, so that a late or repeated release can only
 * delete what its own attempt set. */
static struct lock_value documented_value(const struct lock_event *event)
{
    struct lock_value value;
    for (uint32_t i = 0; i < LOCK_VALUE_BYTES; i++) {
        value.bytes[i] = (uint8_t)(event->random[i / 8] >> (8 * (i % 8)));
    }
    return value;
}

/* "we should use monotonic clocks": the time of day may be set back in the middle of an attempt. */
static int64_t documented_clock_ns(const struct lock_event *event)
{
    return event->now_ns;
}

/* "SET resource_name my_random_value NX PX 30000": one command sets key and ttl. */
static enum lock_answer documented_set_answer(const struct lock *lock,
                                              const struct lock_event *event,
                                              struct lock_effects *effects)
{
    (void)effects;
    return round_read(lock, event);
}

/* "the majority of the instances (at least 3)": N/2 + 1 of the nodes configured. */
static uint32_t documented_quorum(const struct lock *lock)
{
    return lock_quorum(lock_votes(&lock->config));
}

/* "computes how much time elapsed in order to acquire the lock, by subtracting from the current
 * time the timestamp obtained in step 1". */
static int64_t documented_elapsed_ns(const struct lock *lock, int64_t clock_ns)
{
    int64_t elapsed_ns;
    return __builtin_sub_overflow(clock_ns, lock->start_ns, &elapsed_ns) ? DURATION_NS_MAX
                                                                         : elapsed_ns;
}

/* "minus ... some clock drift": the share that was configured, and 2 ms as the reference libraries
 * add, "to account for Redis expires precision". */
static int64_t documented_drift_ns(const struct lock_config *config)
{
    int64_t million = 1000000;
    int64_t share_ns = config->ttl_ns / million * config->drift_ppm +
                       config->ttl_ns % million * config->drift_ppm / million;
    return share_ns + 2 * NS_PER_MS;
}

/* "the total time elapsed to acquire the lock is less than lock validity time". */
static bool documented_grant_stands(int64_t validity_ns)
{
    return validity_ns > 0;
}

/* "extend the lock into the majority of instances, and within the validity time". */
static bool documented_extension_stands(const struct lock *lock, int64_t validity_ns,
                                        int64_t now_ns)
{
    return validity_ns > 0 && now_ns < lock->until_ns;
}

/* "it will try to unlock all the instances (even the instances it believed it was not able to
 * lock)": the reply may be what was lost, not the request. */
static uint32_t documented_refused_release(const struct lock *lock)
{
    return round_nodes(lock);
}

/* None: a lease that could not be made longer still holds to its end. */
static uint32_t documented_unextended_release(const struct lock *lock)
{
    (void)lock;
    return 0;
}

/* "it should try again after a random delay in order to try to desynchronize multiple clients". */
static int64_t documented_jitter_ns(const struct lock_config *config, uint64_t random)
{
    return lock_jitter_ns(config, random);
}

const struct redlock_rules redlock_documented = {
    .set_kind = REDIS_SET,
    .extend_kind = REDIS_COMPARE_EXPIRE,
    .release_kind = REDIS_COMPARE_DELETE,
    .release_unanswered = LOCK_TOLD_UNKNOWN,
    .value = documented_value,
    .clock_ns = documented_clock_ns,
    .set_answer = documented_set_answer,
    .quorum = documented_quorum,
    .elapsed_ns = documented_elapsed_ns,
    .drift_ns = documented_drift_ns,
    .grant_stands = documented_grant_stands,
    .extension_stands = documented_extension_stands,
    .refused_release = documented_refused_release,
    .unextended_release = documented_unextended_release,
    .jitter_ns = documented_jitter_ns,
};
