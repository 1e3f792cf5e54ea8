/* redlock_rules.c: the rules of Redlock, each beside the sentence that it comes from. */
#include "lockcore/redlock.h"

#include "base/assert.h"
#include "base/random.h"

/* "a random string ... We can assume it's 20 bytes from /dev/urandom", unique "across all clients
 * and all lock requests": fresh for every attempt, so that a late or repeated release can only
 * delete what its own attempt set. */
struct lock_value redlock_value(const struct lock_event *event)
{
    struct lock_value value;
    for (uint32_t i = 0; i < LOCK_VALUE_BYTES; i++) {
        value.bytes[i] = (uint8_t)(event->random[i / 8] >> (8 * (i % 8)));
    }
    return value;
}

/* "we should use monotonic clocks": the time of day may be set back in the middle of an attempt. */
int64_t redlock_clock_ns(const struct lock_event *event)
{
    return event->now_ns;
}

/* "SET resource_name my_random_value NX PX 30000": one command sets key and ttl. */
enum lock_answer redlock_set_answer(const struct lock *lock, const struct lock_event *event,
                                    struct lock_effects *effects)
{
    (void)lock;
    (void)effects;
    return round_read(event);
}

/* "the majority of the instances (at least 3)": N/2 + 1 of the nodes configured. */
uint32_t redlock_quorum(const struct lock *lock)
{
    return lock_quorum(lock->config.node_count);
}

/* "computes how much time elapsed in order to acquire the lock, by subtracting from the current
 * time the timestamp obtained in step 1". */
int64_t redlock_elapsed_ns(const struct lock *lock, int64_t clock_ns)
{
    int64_t elapsed_ns;
    return __builtin_sub_overflow(clock_ns, lock->start_ns, &elapsed_ns) ? DURATION_NS_MAX
                                                                         : elapsed_ns;
}

/* "minus ... some clock drift": the share that was configured, and 2 ms as the reference libraries
 * add, "to account for Redis expires precision". */
int64_t redlock_drift_ns(const struct lock_config *config)
{
    int64_t million = 1000000;
    int64_t share_ns = config->ttl_ns / million * config->drift_ppm +
                       config->ttl_ns % million * config->drift_ppm / million;
    return share_ns + 2 * NS_PER_MS;
}

/* "the total time elapsed to acquire the lock is less than lock validity time". */
bool redlock_grant_stands(int64_t validity_ns)
{
    return validity_ns > 0;
}

/* "extend the lock into the majority of instances, and within the validity time". */
bool redlock_extension_stands(const struct lock *lock, int64_t validity_ns, int64_t now_ns)
{
    return validity_ns > 0 && now_ns < lock->until_ns;
}

/* "it will try to unlock all the instances (even the instances it believed it was not able to
 * lock)": the reply may be what was lost, not the request. */
uint32_t redlock_refused_release(const struct lock *lock)
{
    return lock_all_nodes(lock);
}

/* None: a lease that could not be made longer still holds to its end. */
uint32_t redlock_unextended_release(const struct lock *lock)
{
    (void)lock;
    return 0;
}

/* "it should try again after a random delay in order to try to desynchronize multiple clients". */
int64_t redlock_jitter_ns(const struct lock_config *config, uint64_t random)
{
    ASSERT(config->retry_jitter_ns >= 0);
    uint64_t bound = (uint64_t)config->retry_jitter_ns + 1;
    return (int64_t)(((random_product)random * bound) >> 64);
}
