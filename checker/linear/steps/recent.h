/*
 * recent.h: the latest operations of a lock, from which a fail that is found as events arrive picks
 * the few that contradict each other.
 *
 * A lock keeps a block of them while operations are under way on it that they may overlap.
 */
#ifndef CHECKER_LINEAR_RECENT_H
#define CHECKER_LINEAR_RECENT_H

#include "checker/linear/steps/chain.h"

enum { RECENT_OPERATIONS = 16 };

/* What an operation did and when: struct operation, without what a blind mutex never asks. */
struct recent_operation {
    int64_t called;
    int64_t returned; /* POSITION_NEVER where the outcome is unknown */
    uint64_t invoke;
    uint8_t kind; /* enum operation_kind */
};

struct recent_block {
    struct recent_operation items[RECENT_OPERATIONS];
    uint32_t added; /* in all; the oldest are overwritten */
    uint32_t next_free;
};

/* Blocks of all locks. A lock names its own by index + 1; 0 is none. */
struct recent_pool {
    struct recent_block *blocks; /* owned */
    uint32_t count, room, free;
};

struct linear;

void recent_add(struct linear *linear, uint32_t *block, const struct recent_operation *operation);
/* Give the block back if all its others returned before `last`, which is known anyway, was called.
 */
void recent_forget(struct linear *linear, uint32_t *block, const struct recent_operation *last);

/*
 * Remember a violation, of which the algorithm knows only these two operations: the one that fits
 * nowhere and the one in its way (invoke CHAIN_NO_OPERATION: none).
 */
void recent_find(struct linear *linear, uint32_t resource, uint32_t block,
                 const struct recent_operation named[2]);

#endif
