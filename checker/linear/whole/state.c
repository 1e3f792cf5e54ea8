/* state.c: the rules of each model, one operation at a time. */
#include "checker/linear/whole/state.h"

#include "base/assert.h"

bool state_is_held_by(const struct lock_state *state, uint32_t identity)
{
    for (int i = 0; i < STATE_HOLDERS_MAX; i++) {
        if (state->holders[i] == identity) {
            return true;
        }
    }
    return false;
}

static uint32_t holder_count(const struct lock_state *state)
{
    uint32_t count = 0;
    while (count < STATE_HOLDERS_MAX && state->holders[count] != HOLDER_NOBODY) {
        count++;
    }
    return count;
}

static void holder_add(struct lock_state *state, uint32_t identity)
{
    uint32_t at = holder_count(state);
    ASSERT(at < STATE_HOLDERS_MAX);
    while (at > 0 && state->holders[at - 1] > identity) {
        state->holders[at] = state->holders[at - 1];
        at--;
    }
    state->holders[at] = identity;
}

static void holder_remove(struct lock_state *state, uint32_t identity)
{
    uint32_t at = 0;
    while (state->holders[at] != identity) {
        at++;
        ASSERT(at < STATE_HOLDERS_MAX);
    }
    for (; at + 1 < STATE_HOLDERS_MAX; at++) {
        state->holders[at] = state->holders[at + 1];
    }
    state->holders[STATE_HOLDERS_MAX - 1] = HOLDER_NOBODY;
}

static bool is_reentrant(const struct linear_options *options)
{
    return options->model == LINEAR_REENTRANT || options->model == LINEAR_REENTRANT_FENCED;
}

static bool is_fenced(const struct linear_options *options)
{
    return options->model == LINEAR_FENCED || options->model == LINEAR_REENTRANT_FENCED;
}

static uint32_t permits_of(const struct linear_options *options)
{
    return options->model == LINEAR_SEMAPHORE ? options->permits : 1;
}

static bool apply_take(struct lock_state *state, const struct linear_options *options,
                       uint32_t identity, int64_t fence)
{
    bool again = is_reentrant(options) && state_is_held_by(state, identity);
    if (!again && holder_count(state) >= permits_of(options)) {
        return false;
    }
    if (again && options->depth_max > 0 && state->depth >= options->depth_max) {
        return false;
    }
    if (is_fenced(options) && fence != 0) {
        bool same = again && state->fence == fence;
        bool grows = fence > state->highest && (!again || state->fence == 0);
        if (!same && !grows) {
            return false;
        }
        state->fence = fence;
        state->highest = grows ? fence : state->highest;
    } else if (!again) {
        state->fence = 0;
    }
    if (is_reentrant(options)) {
        state->depth = again ? state->depth + 1 : 1;
    }
    if (!again) {
        holder_add(state, identity);
    }
    return true;
}

static bool apply_free(struct lock_state *state, const struct linear_options *options,
                       uint32_t identity)
{
    if (options->model == LINEAR_MUTEX) {
        identity = state->holders[0];
    }
    if (identity == HOLDER_NOBODY || !state_is_held_by(state, identity)) {
        return false;
    }
    if (is_reentrant(options) && state->depth > 1) {
        state->depth--;
        return true;
    }
    holder_remove(state, identity);
    state->depth = 0;
    state->fence = 0;
    return true;
}

/* A refused acquire found no place for itself. */
static bool is_busy(const struct lock_state *state, const struct linear_options *options,
                    uint32_t identity)
{
    bool again = is_reentrant(options) && state_is_held_by(state, identity);
    return !again && holder_count(state) >= permits_of(options);
}

bool state_apply(struct lock_state *state, const struct linear_options *options,
                 const struct operation *operation)
{
    bool held = state->holders[0] != HOLDER_NOBODY;
    bool blind = options->model == LINEAR_MUTEX;
    switch ((enum operation_kind)operation->kind) {
    case OPERATION_TAKE:
    case OPERATION_MAYBE_TAKE:
        return apply_take(state, options, operation->identity, operation->fence);
    case OPERATION_FREE:
    case OPERATION_MAYBE_FREE:
        return apply_free(state, options, operation->identity);
    case OPERATION_BUSY:
        return is_busy(state, options, operation->identity);
    case OPERATION_NOT_HELD:
        return blind ? !held : !state_is_held_by(state, operation->identity);
    case OPERATION_SEEN_FREE:
        return !held;
    case OPERATION_SEEN_HELD:
        return held;
    case OPERATION_SEEN_OWNER:
        return blind ? held : state_is_held_by(state, operation->identity);
    case OPERATION_KINDS:
        break;
    }
    UNREACHABLE();
}
