/*
 * locks.h: many locks over one set of links to redis nodes.
 *
 *     redis_locks_open(&options, &locks, why)
 *     lock = redis_lock_open(locks, &(struct redis_lock_options){"door", 4, told, context})
 *     redis_lock_acquire(lock)        -> told: GRANTED, or REFUSED
 *     redis_lock_extend(lock)         -> told: EXTENDED, or NOT_EXTENDED
 *                                     -> told, unasked: LOST
 *     redis_lock_release(lock)        -> told: RELEASED, NOT_HELD or UNKNOWN
 *     redis_lock_close(lock)
 *     redis_locks_close(locks, closed, data)
 *
 * All of it runs on the caller's libuv loop, in that loop's thread. A lease is good until until_ns
 * on CLOCK_MONOTONIC (uv_hrtime): whoever is about to change what the lock guards compares the two,
 * and checks the fence there where the lock has one, because a process can stop between any two
 * instructions. Values come from the operating system's randomness.
 */
#ifndef LOCKCORE_DRIVERS_LOCKS_H
#define LOCKCORE_DRIVERS_LOCKS_H

#include "lockcore/drivers/links.h"

struct redis_locks;
struct redis_lock;

struct redis_locks_options {
    struct uv_loop_s *loop;       /* kept until closed */
    const char *const *addresses; /* config.node_count of them: see links.h */
    struct lock_config config;    /* of all locks; see redis_locks_config */
};

struct redis_lock_options {
    const char *resource; /* copied */
    size_t resource_bytes;
    /* What became of what was asked, and LOST. `told` is a LOCK_EFFECT_TELL, borrowed for the call.
     * May ask this lock or another one for more; may close it. */
    void (*told)(void *context, struct redis_lock *lock, const struct lock_effect *told);
    void *context;
};

/* A usual configuration of "redlock": ttl 10 s, node timeout 50 ms, drift 1 %, 3 retries after 200
 * to 400 ms, 100 extensions. */
LOCKCORE_API struct lock_config redis_locks_config(uint32_t node_count);

/*
 * Make the links and start to connect.
 *
 * Fails with ERROR_USAGE (an address is none, or the configuration is impossible) or ERROR_IO.
 */
LOCKCORE_API MUST_USE struct result redis_locks_open(const struct redis_locks_options *options,
                                                     struct redis_locks **locks, struct text *why);

/* Make an idle lock on one resource; NULL if there is no memory. Two locks on one resource are two
 * clients: they exclude each other. */
LOCKCORE_API struct redis_lock *redis_lock_open(struct redis_locks *locks,
                                                const struct redis_lock_options *options);

/* Ask. Acquire: only while nothing is held or asked. Extend and release: only between a GRANTED and
 * its release. The answer comes through `told`, for extend possibly before the call returns. */
LOCKCORE_API void redis_lock_acquire(struct redis_lock *lock);
LOCKCORE_API void redis_lock_extend(struct redis_lock *lock);
LOCKCORE_API void redis_lock_release(struct redis_lock *lock);

LOCKCORE_API enum lock_state redis_lock_state(const struct redis_lock *lock);

/* Give an idle lock back. Releases that no node has answered yet are still sent again. */
LOCKCORE_API void redis_lock_close(struct redis_lock *lock);

/* Nodes whose link is up. */
LOCKCORE_API uint32_t redis_locks_up(const struct redis_locks *locks);

/* Locks that still have something to do: held, asked for, or with releases unanswered. */
LOCKCORE_API uint32_t redis_locks_busy(const struct redis_locks *locks);

/* Close everything, held or not (keys then stay until their ttl has run out). `closed` (or NULL) is
 * called from the loop when the memory is given back; no other callback comes after this call. */
LOCKCORE_API void redis_locks_close(struct redis_locks *locks, void (*closed)(void *data),
                                    void *data);

#endif
