/* config.c: a hash set over an array. */
#include "checker/linear/whole/config.h"

#include "base/arena.h"
#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

enum { STATE_CLASSES = 256 };

static uint64_t stir(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t config_hash(const struct config_set *set, const struct config *config)
{
    const struct lock_state *state = &config->state;
    uint64_t hash = set->settled ? 0 : state->depth;
    hash = stir(hash, (uint64_t)state->fence);
    hash = stir(hash, (uint64_t)state->highest);
    hash = stir(hash, (uint64_t)state->end);
    for (uint32_t i = 0; i < set->holders; i++) {
        hash = stir(hash, state->holders[i]);
    }
    for (uint32_t i = 0; i < set->key_words; i++) {
        hash = stir(hash, config->words[i]);
    }
    return table_mix(hash);
}

/*
 * How deep an owner holds is what was placed and used of his, so who used less of the same can get
 * as deep as who used more, by what the other one used, and in between does not let go: while
 * nothing is due he is as rich, however deep.
 */
static bool config_equal(const struct config_set *set, const struct config *a,
                         const struct config *b)
{
    return (set->settled || a->state.depth == b->state.depth) && a->state.fence == b->state.fence &&
           a->state.highest == b->state.highest && a->state.end == b->state.end &&
           memcmp(a->state.holders, b->state.holders, set->holders * sizeof(uint32_t)) == 0 &&
           memcmp(a->words, b->words, set->key_words * sizeof(uint64_t)) == 0;
}

/* Whether no half of any of `a`'s counters is greater. They are gone through in pieces: within one
 * there is nothing to guess. */
static bool counters_as_low(const uint64_t *a, const uint64_t *b, uint32_t count)
{
    enum { PIECE = 8 };
    for (uint32_t begin = 0; begin < count; begin += PIECE) {
        uint32_t end = count - begin < PIECE ? count : begin + PIECE;
        uint64_t greater = 0;
        for (uint32_t i = begin; i < end; i++) {
            greater |= (b[i] >> 32) - (a[i] >> 32);
            greater |= (b[i] & UINT32_MAX) - (a[i] & UINT32_MAX);
        }
        if (greater >> 63 != 0) {
            return false;
        }
    }
    return true;
}

/* Whether `a` used no more than `b` of anything, had room as lately, and has as much time. */
static bool config_as_rich(const struct config_set *set, const struct config *a,
                           const struct config *b)
{
    bool rich = a->spent <= b->spent && a->eternal <= b->eternal && a->free_at >= b->free_at &&
                a->state.now <= b->state.now && a->state.low <= b->state.low &&
                a->state.high >= b->state.high;
    return rich && counters_as_low(a->words + set->key_words, b->words + set->key_words,
                                   set->words - set->key_words);
}

static void config_set_index(struct config_set *set)
{
    uint32_t *index = set->index;
    memset(index, 0, ((size_t)set->index_mask + 1) * sizeof *index);
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t at = (uint32_t)config_hash(set, config_at(set, i)) & set->index_mask;
        while (index[at] != 0) {
            at = (at + 1) & set->index_mask;
        }
        index[at] = i + 1;
    }
}

static bool config_set_grow(struct config_set *set)
{
    uint32_t room = set->room == 0 ? 64 : 2 * set->room;
    size_t bytes = room * config_bytes(set->words);
    if (set->room >= (uint32_t)1 << 28 || bytes + 2 * room * sizeof(uint32_t) > set->bytes_max) {
        return false;
    }
    unsigned char *items = memory_resize(set->items, bytes);
    if (items == NULL) {
        return false;
    }
    set->items = items;
    uint32_t *index = memory_resize(set->index, 2 * room * sizeof *index);
    if (index == NULL) {
        return false;
    }
    set->index = index;
    set->room = room;
    set->index_mask = 2 * room - 1;
    config_set_index(set);
    return true;
}

bool config_set_put(struct config_set *set, const struct config *config, uint32_t *at)
{
    *at = UINT32_MAX;
    if (set->count == set->room && !config_set_grow(set)) {
        return false;
    }
    uint32_t place = (uint32_t)config_hash(set, config) & set->index_mask;
    for (; set->index[place] != 0; place = (place + 1) & set->index_mask) {
        struct config *old = config_at(set, set->index[place] - 1);
        if (old->life == CONFIG_DEAD || !config_equal(set, old, config)) {
            continue;
        }
        if (config_as_rich(set, old, config)) {
            return true; /* and none of the others is poorer, or it would not be here */
        }
        if (!config_as_rich(set, config, old)) {
            continue;
        }
        if (*at == UINT32_MAX) {
            *at = set->index[place] - 1;
            memcpy(old, config, config_bytes(set->words));
        } else {
            old->life = CONFIG_DEAD;
        }
    }
    if (*at != UINT32_MAX) {
        return true;
    }
    *at = set->count++;
    set->index[place] = set->count;
    memcpy(config_at(set, *at), config, config_bytes(set->words));
    return true;
}

/* What it used up, for choosing between configurations that cannot be compared. */
static uint64_t config_cost(const struct config_set *set, const struct config *config)
{
    uint64_t cost = (uint64_t)config->spent + config->eternal;
    for (uint32_t i = set->key_words; i < set->words; i++) {
        cost += (uint32_t)config->words[i] + (config->words[i] >> 32);
    }
    uint64_t placed = 0;
    for (uint32_t i = 0; i < set->key_words; i++) {
        placed += (uint64_t)__builtin_popcountll(config->words[i]);
    }
    return 4096 * cost + 4095 - (placed < 4095 ? placed : 4095);
}

/* Where it stands among the others. */
struct standing {
    uint64_t cost;
    uint32_t at;
    uint32_t rank; /* among those in its state */
};

static int compare_cost(const void *left, const void *right)
{
    const struct standing *a = left;
    const struct standing *b = right;
    return a->cost != b->cost ? (a->cost < b->cost ? -1 : 1) : (a->at > b->at) - (a->at < b->at);
}

static int compare_rank(const void *left, const void *right)
{
    const struct standing *a = left;
    const struct standing *b = right;
    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : compare_cost(left, right);
}

static uint32_t state_class(const struct config_set *set, const struct config *config)
{
    uint64_t hash = (uint64_t)config->state.end;
    for (uint32_t i = 0; i < set->holders; i++) {
        hash = stir(hash, config->state.holders[i]);
    }
    return (uint32_t)(table_mix(hash) % STATE_CLASSES);
}

bool config_set_narrow(struct config_set *set, uint32_t width)
{
    uint32_t seen[STATE_CLASSES] = {0};
    uint32_t alive = 0;
    struct standing *list = memory_resize(NULL, ((size_t)set->count + 1) * sizeof *list);
    for (uint32_t i = 0; i < set->count && list != NULL; i++) {
        struct config *config = config_at(set, i);
        if (config->life != CONFIG_DEAD) {
            list[alive++] = (struct standing){.cost = config_cost(set, config), .at = i};
        }
    }
    bool narrows = alive > width;
    if (narrows) {
        qsort(list, alive, sizeof *list, compare_cost);
    }
    for (uint32_t i = 0; i < alive && narrows; i++) {
        list[i].rank = seen[state_class(set, config_at(set, list[i].at))]++;
    }
    if (narrows) {
        qsort(list, alive, sizeof *list, compare_rank);
    }
    for (uint32_t i = width; i < alive; i++) {
        config_at(set, list[i].at)->life = CONFIG_DEAD;
    }
    memory_release(list);
    return narrows;
}

void config_set_swap(struct config_set *now, struct config_set *next)
{
    ASSERT(!now->settled && now->words == next->words);
    bool settled = next->settled;
    struct config_set swapped = *now;
    *now = *next;
    *next = swapped;
    now->settled = false;
    next->settled = settled;
    if (settled && now->count > 0) {
        config_set_index(now); /* by depth, too */
    }
}

void config_set_clear(struct config_set *set)
{
    if (set->count > 0) {
        memset(set->index, 0, ((size_t)set->index_mask + 1) * sizeof *set->index);
    }
    set->count = 0;
}

void config_set_release(struct config_set *set)
{
    memory_release(set->items);
    memory_release(set->index);
    *set = (struct config_set){0};
}
