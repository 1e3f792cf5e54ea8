/* owed.h: the commands that a connection has not answered yet, in order: a growing ring. */
#ifndef LOCKCORE_DRIVERS_OWED_H
#define LOCKCORE_DRIVERS_OWED_H

#include "base/arena.h"
#include "base/assert.h"
#include "lockcore/lock.h"

enum { OWED_MIN = 64 }; /* entries of a new ring; a power of two */

struct owed {
    uint64_t tag;
    struct lock_command command;
};

struct owed_ring {
    struct owed *entries; /* owned; `count_max` of them, a power of two */
    uint32_t first;
    uint32_t count;
    uint32_t count_max;
};

/* False if there is no memory. */
static inline bool owed_push(struct owed_ring *ring, uint64_t tag,
                             const struct lock_command *command)
{
    if (ring->count == ring->count_max) {
        uint32_t count_max = ring->count_max == 0 ? OWED_MIN : 2 * ring->count_max;
        struct owed *grown = memory_resize(ring->entries, count_max * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        for (uint32_t i = 0; i < ring->first; i++) { /* unroll what had wrapped around */
            grown[ring->count_max + i] = grown[i];
        }
        ring->entries = grown;
        ring->count_max = count_max;
    }
    uint32_t at = (ring->first + ring->count) & (ring->count_max - 1);
    ring->entries[at] = (struct owed){tag, *command};
    ring->count++;
    return true;
}

/* The command that is answered next; NULL if none is owed. */
static inline const struct lock_command *owed_first(const struct owed_ring *ring)
{
    return ring->count == 0 ? NULL : &ring->entries[ring->first].command;
}

static inline struct owed owed_shift(struct owed_ring *ring)
{
    ASSERT(ring->count > 0);
    struct owed owed = ring->entries[ring->first];
    ring->first = (ring->first + 1) & (ring->count_max - 1);
    ring->count--;
    return owed;
}

#endif
