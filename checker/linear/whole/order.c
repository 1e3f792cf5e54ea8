/* order.c: the sequential lock once more, with plain arrays. */
#include "checker/linear/whole/order.h"

#include "base/arena.h"

struct walk {
    const struct linear_options *options;
    uint32_t *held; /* by identity */
    uint32_t holders;
    int64_t fence, highest;
    /* Of leases only. */
    const struct operation **take; /* by identity: the grant, once it is in the order */
    const struct operation **free; /* by identity: the release that succeeded */
    const struct operation *holder;
    int64_t now; /* the earliest time of what comes next */
};

static bool walk_take(struct walk *walk, const struct operation *take)
{
    bool reentrant =
        walk->options->model == LINEAR_REENTRANT || walk->options->model == LINEAR_REENTRANT_FENCED;
    bool fenced =
        walk->options->model == LINEAR_FENCED || walk->options->model == LINEAR_REENTRANT_FENCED;
    bool again = reentrant && walk->held[take->identity] > 0;
    uint32_t room = walk->options->model == LINEAR_SEMAPHORE ? walk->options->permits : 1;
    if (!again && walk->holders >= room) {
        return false;
    }
    if (again && walk->options->depth_max > 0 &&
        walk->held[take->identity] >= walk->options->depth_max) {
        return false;
    }
    int64_t before = again ? walk->fence : 0;
    if (fenced && take->fence != 0 && take->fence != before) {
        if (before != 0 || take->fence <= walk->highest) {
            return false;
        }
        walk->highest = take->fence;
        before = take->fence;
    }
    walk->fence = before;
    walk->holders += again ? 0 : 1;
    walk->held[take->identity]++;
    return true;
}

static bool walk_free(struct walk *walk, uint32_t identity)
{
    if (walk->held[identity] == 0) {
        return false;
    }
    walk->held[identity]--;
    bool reentrant =
        walk->options->model == LINEAR_REENTRANT || walk->options->model == LINEAR_REENTRANT_FENCED;
    walk->holders -= reentrant && walk->held[identity] > 0 ? 0 : 1;
    return true;
}

/* ---- leases: each operation happens as early as it can, for no lease's end waits for that ------
 */

/* From when on the lease may be over. A release that succeeded in time shows that it was not, and a
 * promise that was over before it arrived held for no known time. */
static int64_t lease_end(const struct walk *walk, const struct operation *take)
{
    const struct operation *free = walk->free[take->identity];
    bool in_time =
        free != NULL && (free->returned <= take->until || free->returned <= take->returned);
    if (take->kind == OPERATION_MAYBE_TAKE || in_time) {
        return POSITION_NEVER;
    }
    bool early = free != NULL && free->called < take->returned;
    return take->until < take->returned && !early ? take->called : take->until;
}

/* Wait until the lease may be over; false if it never is. */
static bool lease_wait(struct walk *walk, const struct operation *take)
{
    int64_t end = lease_end(walk, take);
    walk->now = end > walk->now ? end : walk->now;
    return end != POSITION_NEVER;
}

static bool lease_step(struct walk *walk, const struct operation *operation)
{
    bool mine = walk->holder != NULL && walk->holder->identity == operation->identity;
    const struct operation *take = walk->take[operation->identity];
    walk->now = operation->called > walk->now ? operation->called : walk->now;
    bool legal = false;
    switch ((enum operation_kind)operation->kind) {
    case OPERATION_TAKE:
    case OPERATION_MAYBE_TAKE:
        legal = walk->holder == NULL || lease_wait(walk, walk->holder);
        walk->holder = operation;
        walk->take[operation->identity] = operation;
        break;
    case OPERATION_FREE:
    case OPERATION_MAYBE_FREE:
        legal = mine || (take != NULL && lease_wait(walk, take));
        walk->holder = mine ? NULL : walk->holder;
        break;
    case OPERATION_NOT_HELD:
        legal = !mine || lease_wait(walk, walk->holder);
        walk->holder = mine ? NULL : walk->holder;
        break;
    case OPERATION_BUSY:
    case OPERATION_SEEN_HELD:
        legal = walk->holder != NULL;
        break;
    case OPERATION_SEEN_FREE:
        legal = walk->holder == NULL || lease_wait(walk, walk->holder);
        walk->holder = NULL;
        break;
    case OPERATION_SEEN_OWNER:
        legal = mine;
        break;
    case OPERATION_KINDS:
        break;
    }
    return legal && walk->now <= operation->returned;
}

static bool walk_leases(struct walk *walk, const struct whole *whole, struct arena *arena,
                        uint32_t identities)
{
    walk->now = INT64_MIN;
    walk->take = arena_take(arena, identities * sizeof(const struct operation *));
    walk->free = arena_take(arena, identities * sizeof(const struct operation *));
    for (size_t i = 0; i < whole->count && walk->free != NULL; i++) {
        if (whole->operations[i].kind == OPERATION_FREE) {
            walk->free[whole->operations[i].identity] = &whole->operations[i];
        }
    }
    return walk->take != NULL && walk->free != NULL;
}

static bool walk_step(struct walk *walk, const struct operation *operation)
{
    if (walk->options->model == LINEAR_LEASE) {
        return lease_step(walk, operation);
    }
    uint32_t mine = walk->held[operation->identity];
    switch ((enum operation_kind)operation->kind) {
    case OPERATION_TAKE:
    case OPERATION_MAYBE_TAKE:
        return walk_take(walk, operation);
    case OPERATION_FREE:
    case OPERATION_MAYBE_FREE:
        return walk_free(walk, operation->identity);
    case OPERATION_BUSY:
        return walk->holders >=
                   (walk->options->model == LINEAR_SEMAPHORE ? walk->options->permits : 1) &&
               (mine == 0 || (walk->options->model != LINEAR_REENTRANT &&
                              walk->options->model != LINEAR_REENTRANT_FENCED));
    case OPERATION_NOT_HELD:
        return mine == 0;
    case OPERATION_SEEN_FREE:
        return walk->holders == 0;
    case OPERATION_SEEN_HELD:
        return walk->holders > 0;
    case OPERATION_SEEN_OWNER:
        return mine > 0;
    case OPERATION_KINDS:
        break;
    }
    return false;
}

bool order_holds(const struct whole *whole)
{
    uint32_t identities = 1;
    size_t wanted = 0;
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        identities = operation->identity >= identities ? operation->identity + 1 : identities;
        wanted += operation_is_unknown(operation) ? 0 : 1;
    }
    struct arena arena = arena_empty(whole->options->bytes_max);
    struct walk walk = {.options = whole->options};
    walk.held = arena_take(&arena, identities * sizeof *walk.held);
    bool *seen = arena_take(&arena, whole->count + 1);
    bool holds = walk.held != NULL && seen != NULL;
    if (walk.options->model == LINEAR_LEASE) {
        holds = holds && walk_leases(&walk, whole, &arena, identities);
    }
    int64_t latest_call = INT64_MIN;
    for (size_t i = 0; i < whole->order_count && holds; i++) {
        const struct operation *operation = &whole->operations[whole->order[i]];
        latest_call = operation->called > latest_call ? operation->called : latest_call;
        holds = !seen[whole->order[i]] && operation->returned >= latest_call &&
                walk_step(&walk, operation);
        seen[whole->order[i]] = true;
        wanted -= operation_is_unknown(operation) ? 0 : 1;
    }
    arena_release(&arena);
    return holds && wanted == 0;
}
