/*
 * crowd.h: the sweep as events arrive: the holds of a semaphore, up to k at a time.
 *
 * Cores and points are those of chain.h. A core may begin, and a point needs a place, where fewer
 * than k cores hold. No two cores begin or end at one place, so a window in which k hold all the
 * time is one in which the same k do. Both are therefore one question about a window (of a core:
 * where it begins): at most k - 1 cores that began before it may end behind it.
 *
 * It is asked when the window ends. Ends move later, but only to the right: from the call of a
 * release that had no effect to that of another, or to never. So what is left of the answer is kept
 * as a limit: how many more ends may move over it. An end moves from a release that is under way or
 * of unknown outcome: an edge. Every move begins at an edge and ends at one or behind all, so
 * between two edges only the strictest limits matter, and before the first none does. Memory is by
 * releases under way or unknown.
 */
#ifndef CHECKER_LINEAR_CROWD_H
#define CHECKER_LINEAR_CROWD_H

#include "checker/linear/steps/chain.h"

#define CROWD_NONE UINT32_MAX

struct crowd_node {
    int64_t at;   /* position of the release's call, or of the window's end */
    int64_t from; /* limit: cores that began before it count; NEVER: all that can still move */
    uint64_t by[LINEAR_OPERATIONS_SHOWN]; /* limit: whose window it is, and acquires that count */
    uint32_t room;                        /* limit: how many more ends may move over it */
    uint32_t older, newer;                /* in the order of `at`; newer also of free ones */
    uint8_t reason;                       /* limit: LINEAR_TOO_MANY, LINEAR_POINT_INSIDE */
    bool is_edge;
    bool helped; /* limit: an acquire of `by` had two releases, and the one that counts is left out
                  */
};

/* Of one lock. */
struct crowd {
    uint32_t oldest, newest; /* nodes; the oldest is an edge */
    uint32_t last; /* the newest open core: whose release was not called, or CHAIN_NO_HOLD */
    uint32_t open; /* how many */
};

/* Nodes of all locks. */
struct crowd_pool {
    struct crowd_node *nodes; /* owned */
    uint32_t count, room, free;
};

struct linear;
struct stream_slot;

struct crowd crowd_empty(void);

/* The acquire of the slot returned ok. */
void crowd_grant(struct linear *linear, const struct stream_slot *slot, int64_t returned,
                 struct linear_finding *finding);
/* A release of the slot's hold was called, which is noted there. */
void crowd_release_called(struct linear *linear, struct stream_slot *slot);
/* It returned; `before` is the hold as it was until then. */
void crowd_release_returned(struct linear *linear, const struct stream_slot *slot,
                            const struct linear_hold *before, const struct linear_moment *release,
                            struct linear_finding *finding);

#endif
