/*
 * turns.h: P3 as events arrive: a mutex that anyone may release, so acquires and releases only have
 * to take turns.
 *
 * Nothing happens until an operation is due: it returned ok and has not happened yet. If the lock's
 * state is in its way, one opposite operation must have happened before it: of those under way the
 * one that is due first (by exchange no other is better), else one of unknown outcome. Which one
 * that is only the future tells, so it is noted as an `early` operation. The first to return ok of
 * those that were called before an early one was it, and has nothing left to do: of all uses of it
 * the earliest is the one, since both sides agree on who comes first.
 *
 * A refused operation was none of them. So an early operation is kept only while those under way
 * that were called before it outnumber the early ones up to it: there are never more of them than
 * operations under way. One that finds none left must be of unknown outcome, and takes the one that
 * was called last, since an older one serves more; if there is none, no order is legal (Hall's
 * condition: what can serve an early operation can serve every later one).
 */
#ifndef CHECKER_LINEAR_TURNS_H
#define CHECKER_LINEAR_TURNS_H

#include "checker/linear/steps/recent.h"

#define TURNS_NONE UINT32_MAX

/* An operation that happened before it is known which one it is. */
struct turns_early {
    struct recent_operation due;    /* it made room for this one: it was called before its return */
    struct recent_operation before; /* what was in the way of that, if anything ever happened */
    uint32_t pending; /* operations of its side under way that were called before it */
    uint32_t unknown; /* ... of unknown outcome, not used yet, called since the early one before */
    uint32_t next;    /* in order; also of free ones */
};

struct turns_side {
    uint32_t pending; /* operations under way */
    uint32_t unknown; /* of unknown outcome, not used yet, called since the last early one */
    uint32_t early;   /* how many there are */
    uint32_t first, last;
};

/* Of one lock. */
struct turns {
    struct turns_side sides[2];       /* acquires, releases */
    struct recent_operation happened; /* what was due last; invoke CHAIN_NO_OPERATION: nothing */
    uint32_t recent;                  /* block of the latest operations */
    bool locked;
};

/* Early operations of all locks. */
struct turns_pool {
    struct turns_early *items; /* owned */
    uint32_t count, room, free;
};

struct linear;
struct stream_slot;
struct stream_return;

struct turns turns_empty(void);
void turns_call(struct linear *linear, const struct stream_slot *slot);
void turns_return(struct linear *linear, const struct stream_slot *slot,
                  const struct stream_return *returned);

#endif
