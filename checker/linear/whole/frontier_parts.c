/* frontier_parts.c: which few may contradict each other alone, where all that is followed dies. */
#include "checker/linear/whole/frontier_inside.h"

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

bool frontier_part_has(const struct part *part, const struct operation *operation)
{
    if (part->sightless) {
        return !operation_is_observer(operation);
    }
    if (operation->kind == OPERATION_BUSY || operation->kind == OPERATION_SEEN_HELD) {
        return false;
    }
    bool has = operation->kind == OPERATION_SEEN_FREE;
    for (uint32_t i = 0; i < part->count && !has; i++) {
        has = part->chosen[i] == operation->identity;
    }
    return has;
}
