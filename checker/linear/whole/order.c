/* order.c: the sequential lock once more, with plain arrays. */
#include "checker/linear/whole/order.h"

#include "base/arena.h"

struct walk {
    const struct linear_options *options;
    uint32_t *held; /* by identity */
    uint32_t holders;
    int64_t fence, highest;
    /* Of leases only. */
    const struct operation *holder;
    int64_t end; /* of the holder's promise */
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

/* Wait until the lease may be over; false if it never is. */
static bool lease_wait(struct walk *walk)
{
    bool silent = walk->options->model == LINEAR_LEASE_REFRESHED;
    if (walk->end == POSITION_NEVER) {
        return silent;
    }
    walk->now = walk->end > walk->now ? walk->end : walk->now;
    return true;
}

static void lease_begin(struct walk *walk, const struct operation *take)
{
    bool over = walk->options->model == LINEAR_LEASE && take->until < walk->now;
    walk->holder = over ? NULL : take;
    walk->end = take->until;
}

/* Whether the release says nothing: an end that was promised to its caller is reached. */
static bool lease_says_nothing(struct walk *walk, const struct operation *release)
{
    if (walk->options->model != LINEAR_LEASE || release->kind != OPERATION_FREE ||
        release->until > release->returned) {
        return false;
    }
    walk->now = release->until > walk->now ? release->until : walk->now;
    return true;
}

static bool lease_step(struct walk *walk, const struct operation *operation)
{
    walk->now = operation->called > walk->now ? operation->called : walk->now;
    bool over = walk->options->model == LINEAR_LEASE && walk->end < walk->now;
    walk->holder = over ? NULL : walk->holder;
    bool mine = walk->holder != NULL && walk->holder->identity == operation->identity;
    bool legal = false;
    switch ((enum operation_kind)operation->kind) {
    case OPERATION_TAKE:
    case OPERATION_MAYBE_TAKE:
        legal = walk->holder == NULL || lease_wait(walk);
        lease_begin(walk, operation);
        break;
    case OPERATION_FREE:
    case OPERATION_MAYBE_FREE:
        legal = mine || lease_says_nothing(walk, operation);
        walk->holder = mine ? NULL : walk->holder;
        break;
    case OPERATION_EXTEND:
    case OPERATION_MAYBE_EXTEND:
        legal = mine;
        if (walk->end == POSITION_NEVER ||
            (operation->until != POSITION_NEVER && operation->until > walk->end)) {
            walk->end = operation->until;
        }
        break;
    case OPERATION_NOT_HELD:
        legal = !mine || lease_wait(walk);
        walk->holder = mine ? NULL : walk->holder;
        break;
    case OPERATION_BUSY:
    case OPERATION_SEEN_HELD:
        legal = walk->holder != NULL;
        break;
    case OPERATION_SEEN_FREE:
        legal = walk->holder == NULL || lease_wait(walk);
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

/* There is no place for one who holds `mine` times. */
static bool is_refused(const struct walk *walk, uint32_t mine)
{
    const struct linear_options *options = walk->options;
    bool nests = options->model == LINEAR_REENTRANT || options->model == LINEAR_REENTRANT_FENCED;
    if (nests && mine > 0) {
        return options->depth_max > 0 && mine >= options->depth_max;
    }
    return walk->holders >= (options->model == LINEAR_SEMAPHORE ? options->permits : 1);
}

static bool walk_step(struct walk *walk, const struct operation *operation)
{
    uint8_t model = walk->options->model;
    if (model == LINEAR_LEASE || model == LINEAR_LEASE_REFRESHED) {
        return lease_step(walk, operation);
    }
    if (model == LINEAR_TOKENS) {
        bool grows = operation->fence == 0 || operation->fence > walk->highest;
        walk->highest = operation->fence == 0 ? walk->highest : operation->fence;
        return grows;
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
        return is_refused(walk, mine);
    case OPERATION_NOT_HELD:
        return mine == 0;
    case OPERATION_SEEN_FREE:
        return walk->holders == 0;
    case OPERATION_SEEN_HELD:
        return walk->holders > 0;
    case OPERATION_SEEN_OWNER:
        return mine > 0;
    case OPERATION_EXTEND:
    case OPERATION_MAYBE_EXTEND:
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
    walk.now = INT64_MIN;
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
