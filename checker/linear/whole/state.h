/* state.h: the sequential lock: what state an operation needs and what it leaves behind. */
#ifndef CHECKER_LINEAR_STATE_H
#define CHECKER_LINEAR_STATE_H

#include "checker/linear/whole/log.h"

enum {
    STATE_HOLDERS_MAX = 32, /* of a semaphore that is searched */
};

/* Holders without a name of their own; names of others are small. */
#define HOLDER_NOBODY  0u
#define HOLDER_GHOST   (UINT32_MAX - 1) /* an unknown acquire that an unknown release may end */
#define HOLDER_ETERNAL (UINT32_MAX - 2) /* an unknown acquire that nothing can end */
#define HOLDER_WILD    (UINT32_MAX - 3) /* anybody, or nobody: what a window begins with */
#define HOLDER_RESERVE (UINT32_MAX - 4) /* exact leases: one whose events are over */

/*
 * Times are those of the operations' positions. An exact lease was granted at some time in
 * [low, high], which what follows narrows down; nothing more can happen before `now`, which is 0 in
 * all other models and never behind what is due, so that a place in the order is a time as well.
 */
struct lock_state {
    int64_t low, high;
    int64_t now;
    int64_t fence;                       /* of the holder, 0 if unknown */
    int64_t highest;                     /* of all grants */
    int64_t end;                         /* leases: promised, POSITION_NEVER if nothing is */
    uint32_t depth;                      /* reentrant */
    uint32_t holders[STATE_HOLDERS_MAX]; /* sorted; those behind the last are HOLDER_NOBODY */
};

/* What the model makes of a lock, once and for all. */
struct state_rules {
    const struct linear_options *options;
    uint32_t room; /* for holders */
    bool nests;    /* an owner may acquire again */
    bool fenced;
    bool timed;     /* `now` counts: exact leases */
    bool wild;      /* a holder can be HOLDER_WILD */
    int64_t due;    /* nothing happens later than this for now: something else is due */
    int64_t passed; /* leases whose promised ends are gone through in order: the last of them */
};

struct state_rules state_rules(const struct linear_options *options);

/* Reentrant, and nobody sees how deep an owner holds, only whether he does. */
bool state_hides_depth(const struct state_rules *rules);

/* Whether an acquire could have a place, or a release or an extension a holder, as it is: a glance
 * that spares most of what cannot happen. */
bool state_has_place(const struct lock_state *state, const struct state_rules *rules,
                     enum operation_kind kind, uint32_t identity);

/* Apply what `kind` by `identity` does; false, and an undefined state, if it is not allowed. */
bool state_apply(struct lock_state *state, const struct state_rules *rules,
                 const struct operation *operation);

/* The holder's lease ends by itself by the time that something is due; false if it cannot. */
bool state_expire(struct lock_state *state, const struct state_rules *rules);

/* All that may hold is held by HOLDER_WILD; one of them lets go. */
void state_make_wild(struct lock_state *state, const struct state_rules *rules);
void state_vanish(struct lock_state *state, const struct state_rules *rules);

bool state_is_held_by(const struct lock_state *state, uint32_t identity);
uint32_t state_holder_count(const struct lock_state *state);
/* Another stands in the place of a holder. */
void state_rename(struct lock_state *state, uint32_t identity, uint32_t other);

#endif
