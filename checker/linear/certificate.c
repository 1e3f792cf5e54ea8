/* certificate.c: tries every order of at most four operations. */
#include "checker/linear/certificate.h"

#include "base/assert.h"

#include <string.h>

struct trial {
    int holder; /* the witness whose acquire took the lock last, or -1 */
    int others; /* semaphore: how many more hold */
    int depth;
    int64_t fence, highest, time_ns, held_from_ns;
    unsigned released; /* acquires whose hold is over, by release or in time */
};

static bool same_owner(const struct linear_options *options, const struct linear_witness *a,
                       const struct linear_witness *b)
{
    bool reentrant =
        options->model == LINEAR_REENTRANT || options->model == LINEAR_REENTRANT_FENCED;
    const struct history_event *x = &a->invoke;
    const struct history_event *y = &b->invoke;
    bool names_x = a->ended && ((x->flags | a->end.flags) & HISTORY_HAS_VALUE) != 0;
    bool names_y = (x->flags & HISTORY_HAS_VALUE) != 0 || names_x;
    if (names_y && !reentrant && !options->by_owner) {
        bool late_x = (x->flags & HISTORY_HAS_VALUE) == 0;
        bool late_y = (y->flags & HISTORY_HAS_VALUE) == 0;
        return history_value_equal(late_x ? &a->end.value : &x->value,
                                   late_y ? &b->end.value : &y->value);
    }
    if ((x->flags & HISTORY_HAS_OWNER) != 0 && (y->flags & HISTORY_HAS_OWNER) != 0) {
        return history_value_equal(&x->owner, &y->owner);
    }
    return x->process == y->process;
}

static bool is_over(const struct linear_options *options, const struct linear_witness *take,
                    struct trial *trial)
{
    if (options->model == LINEAR_LEASE_EXACT) {
        int64_t earliest = trial->held_from_ns + options->ttl_ns;
        trial->time_ns = trial->time_ns > earliest ? trial->time_ns : earliest;
        return true;
    }
    if (options->model != LINEAR_LEASE || !take->ended || take->end.type != HISTORY_OK) {
        return false;
    }
    bool promised = (take->end.flags & HISTORY_HAS_UNTIL) != 0;
    if (!promised && options->ttl_ns == 0) {
        return false;
    }
    int64_t until =
        promised ? take->end.until_ns : take->invoke.time_ns + options->ttl_ns - options->drift_ns;
    trial->time_ns = trial->time_ns > until ? trial->time_ns : until;
    return true;
}

static bool try_acquire(const struct linear_options *options,
                        const struct linear_witness *witnesses, int i, struct trial *trial)
{
    const struct linear_witness *take = &witnesses[i];
    int64_t fence = take->ended && take->end.type == HISTORY_OK ? take->end.fence : 0;
    bool fenced = options->model == LINEAR_FENCED || options->model == LINEAR_REENTRANT_FENCED;
    bool reentrant =
        options->model == LINEAR_REENTRANT || options->model == LINEAR_REENTRANT_FENCED;
    bool again =
        reentrant && trial->holder >= 0 && same_owner(options, &witnesses[trial->holder], take);
    bool full = trial->holder >= 0 &&
                (options->model != LINEAR_SEMAPHORE || trial->others + 1 >= (int)options->permits);
    if (full && !again && !is_over(options, &witnesses[trial->holder], trial)) {
        return false;
    }
    bool too_deep = options->depth_max > 0 && trial->depth >= (int)options->depth_max;
    if (again && too_deep) {
        return false;
    }
    if (fenced && fence != 0) {
        bool kept = again && fence == trial->fence;
        if (!kept && (fence <= trial->highest || (again && trial->fence != 0))) {
            return false;
        }
        trial->highest = fence > trial->highest ? fence : trial->highest;
        trial->fence = fence;
    } else if (!again) {
        trial->fence = 0;
    }
    trial->others += options->model == LINEAR_SEMAPHORE && trial->holder >= 0 ? 1 : 0;
    trial->depth = again ? trial->depth + 1 : 1;
    trial->holder = again ? trial->holder : i;
    trial->held_from_ns = trial->time_ns;
    return true;
}

/* A failed release that counts as done. */
static bool is_forgiven(const struct linear_options *options, const struct linear_witness *witness)
{
    return options->failed_release == LINEAR_RELEASE_DONE &&
           witness->end.cause != CAUSE_NOT_HOLDING;
}

static bool try_release(const struct linear_options *options,
                        const struct linear_witness *witnesses, int i, struct trial *trial)
{
    bool not_held = witnesses[i].ended && witnesses[i].end.type == HISTORY_FAIL &&
                    !is_forgiven(options, &witnesses[i]);
    bool mine =
        trial->holder >= 0 && (options->model == LINEAR_MUTEX ||
                               same_owner(options, &witnesses[trial->holder], &witnesses[i]));
    if (not_held) {
        return !mine || is_over(options, &witnesses[trial->holder], trial);
    }
    if (mine) {
        trial->depth--;
        trial->holder = trial->depth > 0 ? trial->holder : -1;
        return true;
    }
    return false;
}

static bool is_optional(const struct linear_options *options, const struct linear_witness *witness)
{
    if (!witness->ended || witness->end.type == HISTORY_INFO) {
        return true;
    }
    if (witness->end.type != HISTORY_FAIL) {
        return false;
    }
    uint8_t cause = witness->end.cause;
    if (witness->invoke.f == HISTORY_ACQUIRE) {
        return options->refused_acquire == LINEAR_REFUSED_NOTHING ||
               (cause != CAUSE_NONE && cause != CAUSE_NO_QUORUM);
    }
    bool other = cause != CAUSE_NONE && cause != CAUSE_NOT_HOLDING;
    return !is_forgiven(options, witness) &&
           (options->failed_release != LINEAR_RELEASE_NOT_HELD || other);
}

/* Whether the witnesses in `order` (TRIAL_SKIP leaves one out) happen legally one by one. */
static bool is_legal(const struct linear_options *options, const struct linear_witness *witnesses,
                     const int *order, int count)
{
    struct trial trial = {.holder = -1, .time_ns = INT64_MIN};
    for (int at = 0; at < count; at++) {
        const struct linear_witness *witness = &witnesses[order[at]];
        for (int later = at + 1; later < count; later++) {
            const struct linear_witness *other = &witnesses[order[later]];
            bool open = !other->ended || other->end.type == HISTORY_INFO;
            if (!open && other->end.time_ns < witness->invoke.time_ns) {
                return false;
            }
        }
        if (witness->invoke.time_ns > trial.time_ns) {
            trial.time_ns = witness->invoke.time_ns;
        }
        bool refused = witness->ended && witness->end.type == HISTORY_FAIL;
        bool done = witness->invoke.f == HISTORY_RELEASE
                        ? try_release(options, witnesses, order[at], &trial)
                    : refused ? trial.holder >= 0
                              : try_acquire(options, witnesses, order[at], &trial);
        bool open = !witness->ended || witness->end.type == HISTORY_INFO;
        if (!done || (!open && trial.time_ns > witness->end.time_ns)) {
            return false;
        }
    }
    return true;
}

bool linear_certificate_holds(const struct linear_options *options,
                              const struct linear_witness *witnesses, int count)
{
    ASSERT(count >= 0 && count <= LINEAR_OPERATIONS_SHOWN);
    for (unsigned chosen = 0; chosen < 1u << count; chosen++) {
        bool enough = true;
        for (int i = 0; i < count; i++) {
            enough = enough && ((chosen >> i & 1) != 0 || is_optional(options, &witnesses[i]));
        }
        for (int code = 0; code < 4 * 4 * 4 * 4 && enough; code++) {
            int order[LINEAR_OPERATIONS_SHOWN];
            int length = 0;
            unsigned seen = 0;
            bool orderly = true;
            for (int place = 0; place < count; place++) {
                int i = code >> (2 * place) & 3;
                orderly = orderly && i < count && (seen >> i & 1) == 0;
                seen |= 1u << i;
                if (orderly && (chosen >> i & 1) != 0) {
                    order[length++] = i;
                }
            }
            if (orderly && is_legal(options, witnesses, order, length)) {
                return false;
            }
        }
    }
    return count > 0;
}
