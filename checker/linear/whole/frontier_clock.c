/*
 * frontier_clock.c: promised ends, each as an event of its own.
 *
 * Where it is seen who holds, and promises can be over before they arrive, it counts *when* an
 * acquire happens: behind its promised end it holds for no time at all. So the promised ends are
 * gone through in order, with the calls and returns; everything that happens between two events can
 * happen at one moment, and no configuration has a time of its own. When an end passes
 *
 *   - the hold that was promised until then is over;
 *   - acquires with that end that have not happened yet can still hold for this one moment. Where
 *     there is room they do: that takes nothing from anyone, and those of unknown outcome are of no
 *     use afterwards. Where there is none, a holder may have let go before, but it is worth it only
 *     if somebody saw the one who acquires.
 */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

static int compare_ends(const void *left, const void *right, void *context)
{
    const struct whole *whole = context;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    int64_t x = whole->operations[a].until;
    int64_t y = whole->operations[b].until;
    return x != y ? (x < y ? -1 : 1) : (a > b) - (a < b);
}

static bool is_take(const struct operation *operation)
{
    return operation->kind == OPERATION_TAKE || operation->kind == OPERATION_MAYBE_TAKE;
}

void frontier_list_ends(struct frontier *frontier)
{
    struct whole *whole = frontier->whole;
    frontier->by_until = frontier_take(frontier, (whole->count + 1) * sizeof(uint32_t));
    frontier->ending = frontier_take(frontier, frontier->slot_words * sizeof(uint64_t));
    frontier->until_count = 0;
    for (size_t i = 0; i < whole->count && !frontier->exhausted; i++) {
        if (is_take(&whole->operations[i]) && whole->operations[i].until != POSITION_NEVER) {
            frontier->by_until[frontier->until_count++] = (uint32_t)i;
        }
    }
    if (!frontier->exhausted) {
        qsort_r(frontier->by_until, frontier->until_count, sizeof(uint32_t), compare_ends, whole);
    }
}

/* The acquires under way whose promise ends now; `kept` are the slots that are used afterwards. */
static void find_ending(struct frontier *frontier, int64_t end)
{
    const struct whole *whole = frontier->whole;
    memset(frontier->ending, 0, frontier->slot_words * sizeof *frontier->ending);
    memcpy(frontier->kept, frontier->slots_used, frontier->slot_words * sizeof *frontier->kept);
    for (; frontier->next_until < frontier->until_count; frontier->next_until++) {
        uint32_t operation = frontier->by_until[frontier->next_until];
        uint32_t slot = frontier->operation_slot[operation];
        uint64_t bit = (uint64_t)1 << (slot % 64);
        ASSERT(whole->operations[operation].until >= end);
        if (whole->operations[operation].until > end) {
            return;
        }
        if ((frontier->slots_used[slot / 64] & bit) != 0 &&
            frontier->slot_operation[slot] == operation) {
            bool optional = whole->operations[operation].kind == OPERATION_MAYBE_TAKE;
            frontier->ending[slot / 64] |= bit;
            frontier->kept[slot / 64] &= optional ? ~bit : ~(uint64_t)0;
        }
    }
}

/* What the configuration `at` is when the end has passed, unless more happened before. */
static void put_passed(struct frontier *frontier, uint32_t at)
{
    frontier_copy(frontier, config_at(&frontier->now, at));
    struct config *config = frontier->scratch;
    if (state_expire(&config->state, &frontier->rules)) {
        frontier_absorb(frontier, config);
    }
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t ending = frontier->ending[w] & ~config->words[w];
        for (; ending != 0; ending &= ending - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(ending);
            if (frontier_happen(frontier, config, slot)) {
                bool over = state_expire(&config->state, &frontier->rules);
                ASSERT(over);
                frontier_absorb(frontier, config);
            }
        }
        config->words[w] &= frontier->kept[w];
    }
    frontier_put(frontier, &frontier->next, NULL);
}

/* An observation under way that saw the one who acquires in `slot`; NO_SLOT if there is none. */
static uint32_t seen_in(const struct frontier *frontier, const struct config *config, uint32_t slot)
{
    return frontier_find(frontier, config, OPERATION_SEEN_OWNER, in_slot(frontier, slot)->identity,
                         POSITION_NEVER);
}

/* What may have happened before. */
static void expand_passing(struct frontier *frontier, uint32_t at, uint32_t *first_open)
{
    bool makes_room = false;
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t ending = frontier->ending[w] & ~config_at(&frontier->now, at)->words[w];
        for (; ending != 0; ending &= ending - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(ending);
            uint32_t seen = seen_in(frontier, config_at(&frontier->now, at), slot);
            makes_room = makes_room || seen != NO_SLOT || frontier->way == FRONTIER_FULL;
            if (seen != NO_SLOT && frontier_try_late(frontier, at, seen)) {
                frontier_put(frontier, &frontier->now, first_open);
            }
        }
    }
    if (makes_room) {
        frontier_expand(frontier, at, NO_SLOT, first_open);
    }
}

bool frontier_pass_end(struct frontier *frontier, int64_t position)
{
    if (frontier->next_until == frontier->until_count) {
        return false;
    }
    int64_t end = frontier->whole->operations[frontier->by_until[frontier->next_until]].until;
    if (end + 1 >= position) {
        return false; /* what is called or returns at the very moment comes first */
    }
    uint32_t first_open = 0;
    find_ending(frontier, end);
    frontier_open(frontier, end + 1);
    while (frontier_next_open(frontier, &first_open) != NULL) {
        put_passed(frontier, first_open - 1);
        expand_passing(frontier, first_open - 1, &first_open);
    }
    frontier->rules.passed = end;
    frontier_close(frontier);
    return true;
}
