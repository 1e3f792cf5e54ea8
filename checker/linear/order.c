/* order.c: the sequential lock once more, with plain arrays. */
#include "checker/linear/order.h"

#include "base/arena.h"

struct walk {
    const struct linear_options *options;
    uint32_t *held; /* by identity */
    uint32_t holders;
    int64_t fence, highest;
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

static bool walk_step(struct walk *walk, const struct operation *operation)
{
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
