/*
 * state.h: what the algorithms' files share to change a lock and to list effects.
 *
 * Inside lockcore only; an application needs lock.h alone.
 */
#ifndef LOCKCORE_STATE_H
#define LOCKCORE_STATE_H

#include "base/duration.h"
#include "base/random.h"
#include "lockcore/algorithms.h"
#include "lockcore/dialect.h"

/* One bit of a table of moves: lock_algorithm.moves. */
#define LOCK_TO(state) (1u << LOCK_STATE_##state)

/* Go to `state`; a move that the algorithm's table does not allow asserts. */
void lock_move(struct lock *lock, enum lock_state state);

/* The algorithm's own part, for it alone; at most LOCK_OWN_BYTES, aligned to 8, zero at first. */
static inline void *lock_own(struct lock *lock)
{
    return lock->own;
}

static inline const void *lock_own_const(const struct lock *lock)
{
    return lock->own;
}

/* Append one effect. The one that lock_tell gives back can be filled further. */
void lock_send(const struct lock *lock, uint32_t node_index, const struct lock_command *command,
               struct lock_effects *effects);
struct lock_effect *lock_tell(struct lock_effects *effects, enum lock_told told,
                              enum lock_reason reason, const struct lock_value *value);

/* Bits 0 .. node_count - 1. */
static inline uint32_t lock_all_nodes(const struct lock *lock)
{
    return (1u << lock->config.node_count) - 1u;
}

static inline uint32_t lock_bit(uint32_t node_index)
{
    return 1u << node_index;
}

static inline uint32_t lock_count(uint32_t nodes)
{
    uint32_t count = 0;
    for (; nodes != 0; nodes &= nodes - 1) {
        count++;
    }
    return count;
}

/* `ns` after `now_ns`; a clock near its end stops short of TIME_NEVER. */
static inline int64_t lock_time_after(int64_t now_ns, int64_t ns)
{
    int64_t sum_ns;
    return __builtin_add_overflow(now_ns, ns, &sum_ns) || sum_ns == TIME_NEVER ? TIME_NEVER - 1
                                                                               : sum_ns;
}

static inline int64_t lock_earlier(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* Up to the configured jitter, by a word of randomness. */
static inline int64_t lock_jitter_ns(const struct lock_config *config, uint64_t random)
{
    return (int64_t)(((random_product)random * ((uint64_t)config->retry_jitter_ns + 1)) >> 64);
}

/* Whole milliseconds for the wire, rounded up: a node must not forget before the client does. */
static inline int64_t lock_ttl_ms(const struct lock_config *config)
{
    return (config->ttl_ns + NS_PER_MS - 1) / NS_PER_MS;
}

#endif
