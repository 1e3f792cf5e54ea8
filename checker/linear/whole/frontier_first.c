/*
 * frontier_first.c: semaphores: of what can happen now, what may as well wait for something else.
 *
 * In a semaphore the others see only how many hold, so two of a kind can change places (exchange
 * argument). Let the grant B happen at t, and A, which is pending and due first of all, at t' > t.
 * With A at t and B at t' as many hold at any time, and t' is in time for B as well: it is due
 * later than A, or never. What is left is what is asked of the two alone: B must be held still at
 * t', so nothing may end it before, and nobody may have seen its owner; nobody may have told A's
 * owner that he holds nothing. Who let go goes the other way round: nobody may have seen the owner
 * of A, or told that of B that he holds nothing. So B is not tried, and one order is left of all
 * that those who wait could happen in: thirty who ask for fifteen permits at a time, one of whom is
 * refused, are 15 states, not 10^8.
 *
 * If A's hold has no length and is placed late, it can begin and end at t as well, before B; if the
 * release A ended such a hold, the grant of that follows A at t. And what can wait waits for
 * something that is tried itself, so a legal order is never missed.
 */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

#include <string.h>

static enum to_come to_come_of(uint8_t kind)
{
    switch (kind) {
    case OPERATION_FREE:
    case OPERATION_MAYBE_FREE:
        return TO_COME_END;
    case OPERATION_NOT_HELD:
        return TO_COME_MISSED;
    case OPERATION_SEEN_OWNER:
        return TO_COME_SEEN;
    default:
        return TO_COME_KINDS;
    }
}

/* From the last operation to the first: which is the next one of its kind and owner. */
void frontier_list_to_come(struct frontier *frontier)
{
    const struct whole *whole = frontier->whole;
    if (frontier->rules.room == 1) {
        return;
    }
    size_t owners = TO_COME_KINDS * (size_t)frontier->someone_count;
    uint32_t *next = frontier_take(frontier, (whole->count + 1) * sizeof *next);
    uint32_t *first = frontier_take(frontier, (owners + 1) * sizeof *first);
    uint32_t *to_come = frontier_take(frontier, (owners + 1) * sizeof *to_come);
    if (frontier->exhausted) {
        return;
    }
    for (size_t i = 0; i < owners; i++) {
        first[i] = NO_OPERATION;
    }
    for (size_t i = whole->count; i-- > 0;) {
        enum to_come kind = to_come_of(whole->operations[i].kind);
        if (kind != TO_COME_KINDS) {
            uint32_t *before = &first[TO_COME_KINDS * frontier->owners[i] + kind];
            next[i] = *before;
            *before = (uint32_t)i;
        }
    }
    frontier->first_of_kind = first;
    frontier->next_of_kind = next;
    frontier->to_come = to_come;
}

void frontier_restart_to_come(struct frontier *frontier)
{
    if (frontier->to_come != NULL) {
        memcpy(frontier->to_come, frontier->first_of_kind,
               TO_COME_KINDS * frontier->someone_count * sizeof *frontier->to_come);
    }
}

void frontier_pass_to_come(struct frontier *frontier, uint32_t operation)
{
    enum to_come kind = to_come_of(frontier->whole->operations[operation].kind);
    if (frontier->to_come != NULL && kind != TO_COME_KINDS) {
        uint32_t *at = &frontier->to_come[TO_COME_KINDS * frontier->owners[operation] + kind];
        ASSERT(*at == operation);
        *at = frontier->next_of_kind[operation];
    }
}

/* Whether one of the kind may happen by `until`, of someone: it is pending, or will be called. */
static bool may_come(const struct frontier *frontier, const struct config *config, uint32_t owner,
                     enum to_come kind, int64_t until)
{
    uint32_t next = frontier->to_come[TO_COME_KINDS * owner + kind];
    if (next != NO_OPERATION && frontier->whole->operations[next].called <= until) {
        return true;
    }
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config->words[w];
        for (; open != 0; open &= open - 1) {
            const struct operation *pending =
                in_slot(frontier, 64 * w + (uint32_t)__builtin_ctzll(open));
            if (pending->identity == owner + 1 && to_come_of(pending->kind) == kind) {
                return true;
            }
        }
    }
    return false;
}

/* Whether a permit that someone takes now is his until then at least. */
static bool lasts(const struct frontier *frontier, const struct config *config, uint32_t owner,
                  int64_t until)
{
    uint32_t held = 0;
    for (uint32_t i = 0; i < frontier->rules.room; i++) {
        held += config->state.holders[i] == owner + 1 ? 1 : 0;
    }
    return frontier_count_left(frontier, config, &frontier->someone[owner], UNKNOWN_FREE) <= held &&
           !may_come(frontier, config, owner, TO_COME_END, until) &&
           !may_come(frontier, config, owner, TO_COME_SEEN, until);
}

/* What is pending, of the kind, and due first of those that others may wait for. */
static uint32_t find_first(const struct frontier *frontier, const struct config *config,
                           enum operation_kind kind)
{
    bool takes = kind == OPERATION_TAKE;
    uint32_t first = NO_SLOT;
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config->words[w];
        for (; open != 0; open &= open - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(open);
            const struct operation *pending = in_slot(frontier, slot);
            bool earlier =
                pending->kind == kind && !is_loose(frontier, slot) &&
                (first == NO_SLOT || pending->returned < in_slot(frontier, first)->returned) &&
                (takes || state_is_held_by(&config->state, pending->identity));
            if (earlier && !may_come(frontier, config, pending->identity - 1,
                                     takes ? TO_COME_MISSED : TO_COME_SEEN, pending->returned)) {
                first = slot;
            }
        }
    }
    return first;
}

struct first frontier_first(const struct frontier *frontier, uint32_t at)
{
    const struct config *config = config_at(&frontier->now, at);
    struct first first = {.take = NO_SLOT, .free = NO_SLOT};
    if (frontier->to_come != NULL) {
        first.take = find_first(frontier, config, OPERATION_TAKE);
        first.free = find_first(frontier, config, OPERATION_FREE);
    }
    return first;
}

bool frontier_can_wait(const struct frontier *frontier, uint32_t at, const struct first *first,
                       uint32_t slot)
{
    const struct operation *operation = in_slot(frontier, slot);
    bool takes = operation->kind == OPERATION_TAKE;
    uint32_t before = takes ? first->take : first->free;
    if (before == NO_SLOT || before == slot || !(takes || operation->kind == OPERATION_FREE) ||
        in_slot(frontier, before)->returned > operation->returned) {
        return false;
    }
    return frontier_unknown_can_wait(frontier, at, first, operation->identity,
                                     takes ? UNKNOWN_TAKE : UNKNOWN_FREE);
}

bool frontier_unknown_can_wait(const struct frontier *frontier, uint32_t at,
                               const struct first *first, uint32_t identity, enum unknown_kind kind)
{
    const struct config *config = config_at(&frontier->now, at);
    uint32_t before = kind == UNKNOWN_TAKE ? first->take : first->free;
    if (before == NO_SLOT || kind == UNKNOWN_EXTEND) {
        return false;
    }
    int64_t until = in_slot(frontier, before)->returned;
    if (identity > frontier->someone_count) { /* nobody asks for him by name */
        return identity == HOLDER_ETERNAL || kind == UNKNOWN_FREE;
    }
    return kind == UNKNOWN_TAKE ? lasts(frontier, config, identity - 1, until)
                                : !may_come(frontier, config, identity - 1, TO_COME_MISSED, until);
}
