/* frontier_parts.c: which few may contradict each other alone, where all that is followed dies. */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

enum { CHOSEN_HOLDERS = 6, LAST_LOOKED_AT = 64 };

static void part_choose(struct part *part, uint32_t identity, uint32_t most)
{
    for (uint32_t i = 0; i < part->count; i++) {
        if (part->chosen[i] == identity) {
            return;
        }
    }
    if (part->count < most && identity != HOLDER_NOBODY && identity != HOLDER_GHOST &&
        identity != HOLDER_ETERNAL && identity != HOLDER_RESERVE) {
        part->chosen[part->count++] = identity;
    }
}

/* Who asked for what fitted nowhere, who held the lock then, and who did something last. */
struct part frontier_part_near(const struct frontier *frontier)
{
    const struct config_set *last = &frontier->next; /* they were expanded, and all failed */
    const struct operation *operations = frontier->whole->operations;
    uint32_t due = frontier->by_return[frontier->next_return];
    struct part part = {.count = 0};
    part_choose(&part, operations[due].identity, PART_CHOSEN_MAX);
    for (uint32_t i = 0; i < last->count && i < LAST_LOOKED_AT; i++) {
        for (uint32_t j = 0; j < last->holders; j++) {
            part_choose(&part, config_at(last, i)->state.holders[j], CHOSEN_HOLDERS);
        }
    }
    part.near = part.count;
    for (size_t i = frontier->next_return; i-- > 0 && part.count < PART_CHOSEN_MAX;) {
        const struct operation *operation = &operations[frontier->by_return[i]];
        if (!operation_is_observer(operation)) {
            part_choose(&part, operation->identity, PART_CHOSEN_MAX);
        }
    }
    return part;
}

/* Whether at some moment of it, for sure, nobody but its caller held. */
static bool is_alone(const struct linear_options *options, const struct operation *operation)
{
    switch ((enum operation_kind)operation->kind) {
    case OPERATION_TAKE:
    case OPERATION_SEEN_OWNER:
        return true;
    case OPERATION_FREE: /* a lease that is over says nothing */
    case OPERATION_EXTEND:
        return options->model != LINEAR_LEASE;
    case OPERATION_MAYBE_TAKE:
    case OPERATION_MAYBE_FREE:
    case OPERATION_MAYBE_EXTEND:
    case OPERATION_BUSY:
    case OPERATION_NOT_HELD:
    case OPERATION_SEEN_FREE:
    case OPERATION_SEEN_HELD:
        return false;
    case OPERATION_KINDS:
        break;
    }
    UNREACHABLE();
}

static bool is_chosen(const struct part *part, uint32_t identity)
{
    for (uint32_t i = 0; i < part->count; i++) {
        if (part->chosen[i] == identity) {
            return true;
        }
    }
    return false;
}

bool frontier_part_of(const struct part *part, const struct linear_options *options,
                      struct operation *operation)
{
    bool nests = options->model == LINEAR_REENTRANT || options->model == LINEAR_REENTRANT_FENCED;
    if (part->sightless) {
        return !operation_is_observer(operation);
    }
    if (operation->kind == OPERATION_SEEN_HELD || operation->kind == OPERATION_SEEN_FREE) {
        return operation->kind == OPERATION_SEEN_FREE;
    }
    if (!is_chosen(part, operation->identity)) {
        bool alone = options->model != LINEAR_SEMAPHORE && is_alone(options, operation);
        operation->kind = OPERATION_SEEN_FREE;
        return alone;
    }
    if (operation->kind == OPERATION_BUSY) { /* another may have held, who is left out */
        operation->kind = OPERATION_NOT_HELD;
        return nests && options->depth_max == 0;
    }
    return true;
}
