/*
 * chain.h: the holds of one lock, in the only order that they can have had. Fast paths P1 (one
 * identity per acquire), P2a (leases with a promised end), P4 (fences), P5 (reentrant sessions).
 *
 *     acquire [asked .......... granted]
 *                                      core: held for sure
 *                                      |------------------|
 *                                                release  [called .......... returned]
 *
 * An ok acquire holds at least from its return to the first call of a release that took effect, or
 * to its promised end: its core. Cores cannot be moved, so their order is that of their starts, and
 * the history is legal only if they are disjoint. An unknown acquire whose release succeeded held
 * at a point between the two calls and the release's return, outside all cores; everything between
 * cores is free, so points do not disturb each other. docs/LINEARIZABLE.md has the proof.
 *
 * Events arrive in order, and a release's outcome is known only at its return. So a core is closed
 * at the call of a release, for the time being, and what came behind it is remembered as the bound
 * that its end must not pass if that release turns out to have done nothing: the next core, a point
 * or a "not held". The first bound is the tightest, so one per hold is enough.
 */
#ifndef CHECKER_LINEAR_CHAIN_H
#define CHECKER_LINEAR_CHAIN_H

#include "checker/linear/operation.h"

#define CHAIN_NO_HOLD UINT32_MAX

enum linear_grant { GRANT_NONE, GRANT_PENDING, GRANT_OK, GRANT_UNKNOWN };

struct linear_hold {
    int64_t asked;            /* position of the acquire's call */
    int64_t granted;          /* position of its ok return, else NEVER */
    int64_t released;         /* earliest call of a release that may have ended it, else NEVER */
    int64_t released_unknown; /* earliest call of a release that ended unknown, else NEVER */
    int64_t until;            /* position of the promised end, else NEVER */
    int64_t bound;            /* the end must not lie behind this, else NEVER */
    union {
        int64_t fence;    /* 0 where unknown */
        int64_t promised; /* lease: the end as it was granted, before it was moved */
        struct {          /* semaphore: the open cores beside it, in the order of their grants */
            uint32_t open_older, open_newer;
        };
    };
    uint64_t acquire; /* operations are named by the index of their invoke */
    uint64_t release; /* the one called at `released` */
    uint64_t bound_by[2];
    uint32_t logged;  /* the grant's place in the log, from 1; 0: not kept */
    uint32_t pending; /* operations under way on it */
    uint32_t clashes; /* acquires under way that found the identity in use */
    uint32_t depth;   /* reentrant: grants minus releases */
    uint8_t grant;    /* enum linear_grant */
    uint8_t bound_reason;
    bool released_ok;     /* `released` is the call of a release that succeeded */
    bool owner_uncertain; /* reentrant: its owner had an operation of unknown outcome */
    bool asked_again;     /* by another acquire of unknown outcome */
    bool in_chain;
    bool is_open; /* semaphore: one of the open cores (crowd.h) */
};

struct linear_chain {
    uint32_t last; /* the newest core while its end may still move, or CHAIN_NO_HOLD */
    int64_t fence_highest;
    uint64_t fence_acquire; /* who got the highest fence */
    uint64_t fence_release;
    bool unclear; /* the order of two holds cannot be told as events arrive: judge it otherwise */
};

/* One operation that returned. */
struct linear_moment {
    uint64_t invoke;
    int64_t called;
    int64_t returned;
    int64_t until; /* of an extension: the promised end that it gives */
};

static inline int64_t hold_end(const struct linear_hold *hold)
{
    return hold->released < hold->until ? hold->released : hold->until;
}

struct linear_chain chain_empty(void);
struct linear_hold hold_empty(void);

/* The acquire of `slot` returned ok; asked, fence and until are set. */
void chain_grant(struct linear_chain *chain, struct linear_hold *holds, uint32_t slot,
                 int64_t returned, struct linear_finding *finding);
/* The holder acquired again and got `fence`, or 0. */
void chain_grant_again(struct linear_chain *chain, struct linear_hold *hold, uint64_t invoke,
                       int64_t fence, struct linear_finding *finding);
/* A release was called that ends the hold if it takes effect. */
void chain_release_called(struct linear_chain *chain, struct linear_hold *hold, int64_t called,
                          uint64_t invoke);
void chain_release_ok(struct linear_chain *chain, struct linear_hold *holds, uint32_t slot,
                      const struct linear_moment *release, struct linear_finding *finding);
/* It had no effect; `others` is the earliest call of a release of this hold that is under way. */
void chain_release_void(struct linear_chain *chain, struct linear_hold *hold,
                        const struct linear_moment *release, int64_t others,
                        struct linear_finding *finding);
/* ... and it said that the lock was not held by its caller. */
void chain_release_not_held(struct linear_hold *hold, const struct linear_moment *release,
                            struct linear_finding *finding);
/* Its outcome stays unknown. */
void chain_release_unknown(struct linear_hold *hold, int64_t called);
/* The promised end moved to `extend->until`, by its invoke or unasked (CHAIN_NO_OPERATION). */
void chain_until(struct linear_hold *hold, const struct linear_moment *extend,
                 struct linear_finding *finding);

#endif
