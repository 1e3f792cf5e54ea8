/* frontier_moves.c: one thing happens in one configuration of the frontier engine. */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

#include <string.h>

static void remember(struct frontier *frontier, struct config *config, uint32_t operation)
{
    if (!frontier->whole->options->order) {
        return;
    }
    if (frontier->trail_count == frontier->trail_room) {
        uint32_t room = frontier->trail_room == 0 ? 1024 : 2 * frontier->trail_room;
        struct trail *grown = NULL;
        if (room < UINT32_MAX / 2 &&
            room * sizeof *grown <= frontier->whole->options->bytes_max / 2) {
            grown = memory_resize(frontier->trail, room * sizeof *grown);
        }
        if (grown == NULL) {
            frontier->exhausted = true;
            return;
        }
        frontier->trail = grown;
        frontier->trail_room = room;
    }
    frontier->trail[frontier->trail_count] =
        (struct trail){.operation = operation, .before = config->trail};
    config->trail = frontier->trail_count++;
}

/* ---- counters of unknown operations -----------------------------------------------------------
 */

static uint64_t *counter(const struct frontier *frontier, struct config *config, uint32_t track,
                         enum unknown_kind kind)
{
    return &config->words[frontier->slot_words + 2 * track + (kind == UNKNOWN_EXTEND ? 1 : 0)];
}

static uint32_t used_of(const struct frontier *frontier, const struct config *config,
                        uint32_t track, enum unknown_kind kind)
{
    uint64_t word =
        config->words[frontier->slot_words + 2 * track + (kind == UNKNOWN_EXTEND ? 1 : 0)];
    return (uint32_t)(kind == UNKNOWN_FREE ? word >> 32 : word);
}

uint32_t frontier_count_left(const struct frontier *frontier, const struct config *config,
                             const struct someone *who, enum unknown_kind kind)
{
    return who->track == NO_TRACK ? 0
                                  : who->called[kind] - used_of(frontier, config, who->track, kind);
}

/* Whether one is left that was called by `position`; the earliest called are used first. */
bool frontier_has_left(const struct frontier *frontier, const struct config *config,
                       const struct someone *who, enum unknown_kind kind, int64_t position)
{
    if (who->track == NO_TRACK) {
        return false;
    }
    uint32_t used = used_of(frontier, config, who->track, kind);
    return used < who->called[kind] && frontier->unknown_calls[who->first[kind] + used] <= position;
}

void frontier_use(const struct frontier *frontier, struct config *config, uint32_t track,
                  enum unknown_kind kind)
{
    *counter(frontier, config, track, kind) += kind == UNKNOWN_FREE ? (uint64_t)1 << 32 : 1;
}

/* ---- one move ---------------------------------------------------------------------------------
 */

/* What is seen may cost neither time nor a lease that is over. */
static bool is_seen_for_nothing(const struct config *before, const struct lock_state *after)
{
    return before->state.low == after->low && before->state.high == after->high &&
           before->state.holders[0] == after->holders[0] && before->state.now >= after->now;
}

/* An acquire that must have happened, and holds for no time at all by now: it only needs room. */
static bool is_passing(const struct frontier *frontier, const struct operation *take)
{
    return frontier->clocked && take->kind == OPERATION_TAKE &&
           take->until <= frontier->rules.passed;
}

void frontier_absorb(struct frontier *frontier, struct config *config)
{
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config->words[w];
        for (; open != 0; open &= open - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(open);
            const struct operation *seen = in_slot(frontier, slot);
            if (!operation_is_observer(seen) && !is_passing(frontier, seen)) {
                continue;
            }
            struct lock_state state = config->state;
            if (state_apply(&state, &frontier->rules, seen) &&
                is_seen_for_nothing(config, &state)) {
                config->state = state;
                place(config, slot);
                remember(frontier, config, frontier->slot_operation[slot]);
            }
        }
    }
}

void frontier_copy(struct frontier *frontier, const struct config *config)
{
    memcpy(frontier->scratch, config, config_bytes(frontier->now.words));
    bool room = frontier->rules.room == 1
                    ? config->state.holders[0] == HOLDER_NOBODY
                    : state_holder_count(&config->state) < frontier->rules.room;
    if (room && frontier->moments && frontier->position > config->free_at) {
        frontier->scratch->free_at = frontier->position;
    }
}

void frontier_put(struct frontier *frontier, struct config_set *set, uint32_t *first_open)
{
    uint32_t at;
    frontier->scratch->life = CONFIG_OPEN;
    if (is_exact(frontier)) {
        frontier_even_out(frontier, frontier->scratch);
    }
    if (!config_set_put(set, frontier->scratch, &at)) {
        frontier->exhausted = true;
        return;
    }
    if (at != UINT32_MAX && first_open != NULL && at < *first_open) {
        *first_open = at;
    }
}

/* Fences grow: those that are smaller come first, or never. */
bool frontier_is_overtaken(const struct frontier *frontier, const struct config *config,
                           const struct operation *take)
{
    if (!frontier->rules.fenced || take->fence == 0 || take->kind != OPERATION_TAKE) {
        return false;
    }
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config->words[w];
        for (; open != 0; open &= open - 1) {
            const struct operation *other =
                in_slot(frontier, 64 * w + (uint32_t)__builtin_ctzll(open));
            if (other->kind == OPERATION_TAKE && other->fence != 0 && other->fence < take->fence) {
                return true;
            }
        }
    }
    return false;
}

bool frontier_happen(struct frontier *frontier, struct config *config, uint32_t slot)
{
    struct lock_state state = config->state;
    if (!state_apply(&state, &frontier->rules, in_slot(frontier, slot))) {
        return false;
    }
    config->state = state;
    place(config, slot);
    remember(frontier, config, frontier->slot_operation[slot]);
    frontier_absorb(frontier, config);
    return true;
}

bool frontier_try(struct frontier *frontier, uint32_t at, uint32_t slot)
{
    const struct config *config = config_at(&frontier->now, at);
    const struct operation *operation = in_slot(frontier, slot);
    if (!state_has_place(&config->state, &frontier->rules, (enum operation_kind)operation->kind,
                         operation->identity) ||
        frontier_is_overtaken(frontier, config, operation)) {
        return false;
    }
    frontier_copy(frontier, config);
    return frontier_happen(frontier, frontier->scratch, slot);
}

static const uint8_t unknown_operation[UNKNOWN_KINDS] = {OPERATION_MAYBE_TAKE, OPERATION_MAYBE_FREE,
                                                         OPERATION_MAYBE_EXTEND};

/* Try an unknown operation of someone who is still tracked. */
bool frontier_try_unknown(struct frontier *frontier, uint32_t at, uint32_t track,
                          enum unknown_kind kind)
{
    uint32_t owner = track == NO_TRACK ? NO_TRACK : frontier->track_owner[track];
    const struct config *config = config_at(&frontier->now, at);
    if (owner == NO_TRACK ||
        !state_has_place(&config->state, &frontier->rules,
                         (enum operation_kind)unknown_operation[kind], owner + 1) ||
        !frontier_has_left(frontier, config, &frontier->someone[owner], kind, POSITION_NEVER)) {
        return false;
    }
    const struct someone *who = &frontier->someone[owner];
    uint32_t used = used_of(frontier, config, track, kind);
    struct operation unknown = {.kind = unknown_operation[kind],
                                .identity = owner + 1,
                                .called = frontier->unknown_calls[who->first[kind] + used],
                                .returned = POSITION_NEVER,
                                .until = POSITION_NEVER};
    frontier_copy(frontier, config);
    if (!state_apply(&frontier->scratch->state, &frontier->rules, &unknown)) {
        return false;
    }
    frontier_use(frontier, frontier->scratch, track, kind);
    if (frontier_is_doomed(frontier, frontier->scratch, owner, kind)) {
        return false;
    }
    frontier->scratch->spent += is_mutex(frontier) ? 1 : 0;
    remember(frontier, frontier->scratch,
             (uint32_t)frontier->whole->count + UNKNOWN_KINDS * owner + kind);
    frontier_absorb(frontier, frontier->scratch);
    return true;
}

/* A ghost takes the lock or lets it go. */
bool frontier_try_ghost(struct frontier *frontier, uint32_t at, uint32_t ghost,
                        enum unknown_kind kind)
{
    if (is_mutex(frontier)) {
        return false; /* its unknown operations are all counted */
    }
    const struct config *config = config_at(&frontier->now, at);
    bool takes = kind == UNKNOWN_TAKE;
    bool there = ghost == HOLDER_GHOST ? config->spent < frontier->ghosts
                                       : config->eternal < frontier->eternals;
    bool again = frontier->rules.nests && state_is_held_by(&config->state, ghost);
    int64_t called = frontier->rules.timed ? frontier->ghost_called : INT64_MIN;
    if (takes && there && ghost == HOLDER_ETERNAL && is_exact(frontier)) {
        called = frontier->eternal_calls[config->eternal];
    }
    struct operation unknown = {.kind = unknown_operation[kind],
                                .identity = ghost,
                                .called = called,
                                .returned = POSITION_NEVER,
                                .until = POSITION_NEVER};
    frontier_copy(frontier, config);
    if ((takes && (!there || again)) ||
        !state_apply(&frontier->scratch->state, &frontier->rules, &unknown)) {
        return false;
    }
    frontier->scratch->spent += takes && ghost == HOLDER_GHOST ? 1 : 0;
    frontier->scratch->eternal += takes && ghost == HOLDER_ETERNAL ? 1 : 0;
    frontier_absorb(frontier, frontier->scratch);
    return true;
}

bool frontier_try_expire(struct frontier *frontier, uint32_t at)
{
    frontier_copy(frontier, config_at(&frontier->now, at));
    if (!state_expire(&frontier->scratch->state, &frontier->rules)) {
        return false;
    }
    frontier_absorb(frontier, frontier->scratch);
    return true;
}

bool frontier_try_vanish(struct frontier *frontier, uint32_t at)
{
    frontier_copy(frontier, config_at(&frontier->now, at));
    if (!state_is_held_by(&frontier->scratch->state, HOLDER_WILD)) {
        return false;
    }
    state_vanish(&frontier->scratch->state, &frontier->rules);
    frontier_absorb(frontier, frontier->scratch);
    return true;
}

/* A pending operation of one kind and identity that was called by `position` and is not placed: the
 * one that is due first; NO_SLOT if there is none. */
uint32_t frontier_find(const struct frontier *frontier, const struct config *config,
                       enum operation_kind kind, uint32_t identity, int64_t position)
{
    uint32_t found = NO_SLOT;
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config->words[w];
        for (; open != 0; open &= open - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(open);
            const struct operation *operation = in_slot(frontier, slot);
            bool fits = operation->kind == kind && operation->identity == identity &&
                        operation->called <= position;
            if (fits &&
                (found == NO_SLOT || operation->returned < in_slot(frontier, found)->returned)) {
                found = slot;
            }
        }
    }
    return found;
}
