/* state.h: the sequential lock: what state an operation needs and what it leaves behind. */
#ifndef CHECKER_LINEAR_STATE_H
#define CHECKER_LINEAR_STATE_H

#include "checker/linear/whole/log.h"

enum {
    STATE_HOLDERS_MAX = 8, /* of a semaphore that is searched */
};

/* Holders without a name of their own; names of others are small. */
#define HOLDER_NOBODY  0u
#define HOLDER_GHOST   (UINT32_MAX - 1) /* an unknown acquire that an unknown release may end */
#define HOLDER_ETERNAL (UINT32_MAX - 2) /* an unknown acquire that nothing can end */

struct lock_state {
    int64_t fence;                       /* of the holder, 0 if unknown */
    int64_t highest;                     /* of all grants */
    uint32_t depth;                      /* reentrant */
    uint32_t holders[STATE_HOLDERS_MAX]; /* sorted; those behind the last are HOLDER_NOBODY */
};

/* Apply what `kind` by `identity` does; false, and no change, if the state does not allow it. */
bool state_apply(struct lock_state *state, const struct linear_options *options,
                 const struct operation *operation);

bool state_is_held_by(const struct lock_state *state, uint32_t identity);

#endif
