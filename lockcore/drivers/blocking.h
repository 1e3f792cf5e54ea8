/*
 * blocking.h: a lock in calls that wait: for programs without an event loop.
 *
 *     blocking_open(addresses, &config, &locks, why)
 *     if (blocking_acquire(locks, "door", &lease) == LOCK_TOLD_GRANTED) {
 *         ... while blocking_left_ns(&lease) > 0 the door is ours ...
 *         blocking_release(&lease);
 *     }
 *     blocking_close(locks)
 *
 * Over locks.h, on a loop of its own that runs only inside these calls: nobody calls back to say
 * that a lease has run out, so ask blocking_left_ns before every change. Several leases may be held
 * at once; one thread only.
 */
#ifndef LOCKCORE_DRIVERS_BLOCKING_H
#define LOCKCORE_DRIVERS_BLOCKING_H

#include "lockcore/drivers/locks.h"

struct blocking_locks;

/* One grant, or the reason why there is none. */
struct blocking_lease {
    struct blocking_locks *locks;
    struct redis_lock *lock; /* NULL: nothing is held */
    struct lock_value value; /* what stands in the nodes' keys */
    int64_t fence;           /* > 0, or 0 where the algorithm has none */
    int64_t until_ns;        /* the lease's end on CLOCK_MONOTONIC */
    enum lock_reason reason; /* of a refusal; see lock_reason_sentence */
};

/*
 * Connect, and wait until a quorum of the nodes is up, at most a second.
 *
 *   addresses  in   config->node_count of "host:port", "[v6]:port" or "/unix/socket".
 *   config     in   See redis_locks_config.
 *
 * Fails with ERROR_USAGE (an address or the configuration), ERROR_ENVIRONMENT (too few nodes are
 * up) or ERROR_IO.
 */
LOCKCORE_API MUST_USE struct result blocking_open(const char *const *addresses,
                                                  const struct lock_config *config,
                                                  struct blocking_locks **locks, struct text *why);

/* GRANTED, or REFUSED after all retries. `lease` is filled either way. */
LOCKCORE_API enum lock_told blocking_acquire(struct blocking_locks *locks, const char *resource,
                                             struct blocking_lease *lease);

/* EXTENDED, counted from now, or NOT_EXTENDED: the lease stands as it was. */
LOCKCORE_API enum lock_told blocking_extend(struct blocking_lease *lease);

/* RELEASED, NOT_HELD (it had run out) or UNKNOWN (too few nodes answered). Nothing is held after.
 */
LOCKCORE_API enum lock_told blocking_release(struct blocking_lease *lease);

/* What is left of the lease, in nanoseconds; at most 0 if it has run out or is not held. */
LOCKCORE_API int64_t blocking_left_ns(const struct blocking_lease *lease);

/* Give everything back. Releases that are unanswered get one more node timeout. */
LOCKCORE_API void blocking_close(struct blocking_locks *locks);

#endif
