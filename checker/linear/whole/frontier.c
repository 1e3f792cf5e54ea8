/* frontier.c: goes through the events of one lock and keeps every state it can be in. */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

#include <string.h>

/* ---- configurations ----------------------------------------------------------------------- */

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

static bool is_placed(const struct config *config, uint32_t slot)
{
    return (config->words[slot / 64] >> (slot % 64) & 1) != 0;
}

static void place(struct config *config, uint32_t slot)
{
    config->words[slot / 64] |= (uint64_t)1 << (slot % 64);
}

/* Place every pending observer that the state satisfies: it can only be in the way later. */
static void absorb_observers(struct frontier *frontier, struct config *config)
{
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config->words[w];
        for (; open != 0; open &= open - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(open);
            uint32_t operation = frontier->slot_operation[slot];
            const struct operation *seen = &frontier->whole->operations[operation];
            if (operation_is_observer(seen) &&
                state_apply(&config->state, frontier->whole->options, seen)) {
                place(config, slot);
                remember(frontier, config, operation);
            }
        }
    }
}

/* Put the scratch configuration into `set`. An item that is new or better is still to expand. */
static void put_scratch(struct frontier *frontier, struct config_set *set, uint32_t *first_open)
{
    uint32_t at;
    frontier->scratch->life = CONFIG_OPEN;
    if (!config_set_put(set, frontier->scratch, &at)) {
        frontier->exhausted = true;
        return;
    }
    if (at != UINT32_MAX && first_open != NULL && at < *first_open) {
        *first_open = at;
    }
}

static void copy_to_scratch(struct frontier *frontier, const struct config *config)
{
    memcpy(frontier->scratch, config, config_bytes(frontier->now.words));
    bool is_free = config->state.holders[0] == HOLDER_NOBODY;
    if (frontier->late && is_free && frontier->position > config->free_at) {
        frontier->scratch->free_at = frontier->position;
    }
}

/* Try a pending operation behind the configuration `at` of `now`. */
static bool try_pending(struct frontier *frontier, uint32_t at, uint32_t slot)
{
    uint32_t operation = frontier->slot_operation[slot];
    const struct config *config = config_at(&frontier->now, at);
    struct lock_state state = config->state;
    if (!state_apply(&state, frontier->whole->options, &frontier->whole->operations[operation])) {
        return false;
    }
    copy_to_scratch(frontier, config);
    frontier->scratch->state = state;
    place(frontier->scratch, slot);
    remember(frontier, frontier->scratch, operation);
    absorb_observers(frontier, frontier->scratch);
    return true;
}

/* What is due can have been a hold of no length, with an unknown operation, when the lock was free.
 */
static bool try_late_point(struct frontier *frontier, uint32_t at, uint32_t slot)
{
    uint32_t index = frontier->slot_operation[slot];
    const struct operation *operation = &frontier->whole->operations[index];
    const struct someone *who = &frontier->someone[frontier->owners[index]];
    bool takes = operation->kind == OPERATION_TAKE;
    if (!frontier->late || who->track == NO_TRACK ||
        !(takes || operation->kind == OPERATION_FREE)) {
        return false;
    }
    copy_to_scratch(frontier, config_at(&frontier->now, at));
    uint64_t *used = &frontier->scratch->words[frontier->slot_words + who->track];
    bool left = takes ? *used >> 32 < who->frees : (uint32_t)*used < who->takes;
    if (!left || frontier->scratch->free_at < operation->called) {
        return false;
    }
    *used += takes ? (uint64_t)1 << 32 : 1;
    place(frontier->scratch, slot);
    return true;
}

/* Whether the grant of who holds has not returned. */
static bool holds_by_pending(const struct frontier *frontier, const struct config *config,
                             uint32_t identity)
{
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t placed = frontier->slots_used[w] & config->words[w];
        for (; placed != 0; placed &= placed - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(placed);
            const struct operation *operation =
                &frontier->whole->operations[frontier->slot_operation[slot]];
            if (operation->identity == identity && operation->kind == OPERATION_TAKE) {
                return true;
            }
        }
    }
    return false;
}

/* Try an unknown operation of someone who is still tracked. */
static bool try_unknown(struct frontier *frontier, uint32_t at, uint32_t track, bool frees)
{
    uint32_t owner = frontier->track_owner[track];
    if (owner == NO_TRACK) {
        return false;
    }
    const struct config *config = config_at(&frontier->now, at);
    uint64_t used = config->words[frontier->slot_words + track];
    uint32_t used_of_kind = (uint32_t)(frees ? used >> 32 : used);
    const struct someone *who = &frontier->someone[owner];
    if (used_of_kind >= (frees ? who->frees : who->takes)) {
        return false;
    }
    struct operation unknown = {.kind = frees ? OPERATION_MAYBE_FREE : OPERATION_MAYBE_TAKE,
                                .identity = owner + 1};
    if (frontier->late && (!frees || holds_by_pending(frontier, config, unknown.identity))) {
        return false;
    }
    struct lock_state state = config->state;
    if (!state_apply(&state, frontier->whole->options, &unknown)) {
        return false;
    }
    copy_to_scratch(frontier, config);
    frontier->scratch->state = state;
    frontier->scratch->words[frontier->slot_words + track] += frees ? (uint64_t)1 << 32 : 1;
    frontier->scratch->spent += is_mutex(frontier) ? 1 : 0;
    remember(frontier, frontier->scratch,
             (uint32_t)frontier->whole->count + 2 * owner + (frees ? 1 : 0));
    absorb_observers(frontier, frontier->scratch);
    return true;
}

/* A ghost takes the lock or lets it go. */
static bool try_ghost(struct frontier *frontier, uint32_t at, uint32_t ghost, bool frees)
{
    if (is_mutex(frontier)) {
        return false; /* its unknown operations are all counted */
    }
    const struct config *config = config_at(&frontier->now, at);
    bool there = ghost == HOLDER_GHOST ? config->spent < frontier->ghosts : config->eternal != 0;
    bool free_for_it = frontier->whole->options->model == LINEAR_SEMAPHORE ||
                       config->state.holders[0] == HOLDER_NOBODY;
    struct operation unknown = {.kind = frees ? OPERATION_MAYBE_FREE : OPERATION_MAYBE_TAKE,
                                .identity = ghost};
    struct lock_state state = config->state;
    if ((!frees && (!there || !free_for_it)) ||
        !state_apply(&state, frontier->whole->options, &unknown)) {
        return false;
    }
    copy_to_scratch(frontier, config);
    frontier->scratch->state = state;
    frontier->scratch->spent += !frees && ghost == HOLDER_GHOST ? 1 : 0;
    absorb_observers(frontier, frontier->scratch);
    return true;
}

/* ---- the sweep ---------------------------------------------------------------------------- */

/* In a mutex, pending operations of a kind differ only in when they are due: the first will do. */
static bool is_worth_trying(const struct frontier *frontier, const struct config *config,
                            uint32_t slot)
{
    const struct operation *operations = frontier->whole->operations;
    const struct operation *operation = &operations[frontier->slot_operation[slot]];
    if (operation_is_observer(operation)) {
        return false; /* placed as soon as it can be */
    }
    if (!is_mutex(frontier)) {
        return true;
    }
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config->words[w];
        for (; open != 0; open &= open - 1) {
            const struct operation *other =
                &operations[frontier->slot_operation[64 * w + (uint32_t)__builtin_ctzll(open)]];
            if (other->kind == operation->kind && other->returned < operation->returned) {
                return false;
            }
        }
    }
    return true;
}

/* Everything that can happen next in the configuration `at`, `due` itself apart. */
static void expand(struct frontier *frontier, uint32_t at, uint32_t due, uint32_t *first_open)
{
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config_at(&frontier->now, at)->words[w];
        for (; open != 0; open &= open - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(open);
            if (slot != due && is_worth_trying(frontier, config_at(&frontier->now, at), slot) &&
                try_pending(frontier, at, slot)) {
                put_scratch(frontier, &frontier->now, first_open);
            }
        }
    }
    for (uint32_t i = 0; i < 2 * frontier->track_count; i++) {
        if (try_unknown(frontier, at, i / 2, i % 2 == 0)) {
            put_scratch(frontier, &frontier->now, first_open);
        }
    }
    const uint32_t ghosts[3] = {HOLDER_GHOST, HOLDER_GHOST, HOLDER_ETERNAL};
    for (uint32_t i = 0; i < 3; i++) {
        if (try_ghost(frontier, at, ghosts[i], i == 0)) {
            put_scratch(frontier, &frontier->now, first_open);
        }
    }
}

/* The operation in `due` returns: keep what follows from placing it by now. */
static void settle_return(struct frontier *frontier, uint32_t due)
{
    uint32_t first_open = 0;
    frontier->position = frontier->whole->operations[frontier->slot_operation[due]].returned;
    config_set_clear(&frontier->next);
    for (uint32_t i = 0; i < frontier->now.count; i++) {
        struct config *config = config_at(&frontier->now, i);
        config->life = config->life == CONFIG_DEAD ? CONFIG_DEAD : CONFIG_OPEN;
    }
    while (first_open < frontier->now.count && !frontier->exhausted) {
        uint32_t at = first_open++;
        struct config *config = config_at(&frontier->now, at);
        if (config->life != CONFIG_OPEN) {
            continue;
        }
        config->life = CONFIG_EXPANDED;
        bool placed = is_placed(config, due);
        if (placed) {
            copy_to_scratch(frontier, config);
        }
        if (placed || try_pending(frontier, at, due)) {
            frontier->scratch->words[due / 64] &= ~((uint64_t)1 << (due % 64));
            put_scratch(frontier, &frontier->next, NULL);
        }
        if (!placed && try_late_point(frontier, at, due)) {
            frontier->scratch->words[due / 64] &= ~((uint64_t)1 << (due % 64));
            put_scratch(frontier, &frontier->next, NULL);
        }
        if (!placed) {
            expand(frontier, at, due, &first_open);
        }
    }
    frontier->slots_used[due / 64] &= ~((uint64_t)1 << (due % 64));
    struct config_set swapped = frontier->now;
    frontier->now = frontier->next;
    frontier->next = swapped;
    if (frontier->now.count > frontier->whole->frontier_peak) {
        frontier->whole->frontier_peak = frontier->now.count;
    }
}

/* What he holds is held by a ghost from now on. Returns how many of his releases are left. */
static uint32_t retire_holder(const struct someone *who, uint32_t identity, uint32_t used_frees,
                              struct lock_state *state)
{
    uint32_t frees = who->frees - used_frees;
    if (state_is_held_by(state, identity)) {
        uint32_t depth = state->depth == 0 ? 1 : state->depth;
        bool ends = frees >= depth;
        ASSERT(state->holders[0] == identity);
        state->holders[0] = ends ? HOLDER_GHOST : HOLDER_ETERNAL;
        state->depth = state->depth == 0 ? 0 : 1;
        state->fence = 0;
        frees -= ends ? depth : 0;
    }
    return frees;
}

/* The last event of someone is over: what is left of his unknown operations becomes ghosts. */
static void retire(struct frontier *frontier, uint32_t owner)
{
    struct someone *who = &frontier->someone[owner];
    uint32_t word = frontier->slot_words + who->track;
    uint32_t most = who->takes < who->frees ? who->takes : who->frees;
    most = frontier->observed ? most : 0;
    config_set_clear(&frontier->next);
    for (uint32_t i = 0; i < frontier->now.count && !frontier->exhausted; i++) {
        if (config_at(&frontier->now, i)->life == CONFIG_DEAD) {
            continue;
        }
        copy_to_scratch(frontier, config_at(&frontier->now, i));
        struct config *config = frontier->scratch;
        uint32_t used_takes = (uint32_t)config->words[word];
        uint32_t used_frees = (uint32_t)(config->words[word] >> 32);
        uint32_t frees = retire_holder(who, owner + 1, used_frees, &config->state);
        uint32_t takes = who->takes - used_takes;
        uint32_t left = takes < frees ? takes : frees;
        config->spent += most > left ? most - left : 0;
        config->eternal = frontier->observed && (config->eternal != 0 || takes > frees);
        config->words[word] = 0;
        put_scratch(frontier, &frontier->next, NULL);
    }
    frontier->ghosts += most;
    struct config_set swapped = frontier->now;
    frontier->now = frontier->next;
    frontier->next = swapped;
    frontier->track_owner[who->track] = NO_TRACK;
    who->track = NO_TRACK;
}

static void call_unknown(struct frontier *frontier, uint32_t operation)
{
    uint32_t owner = frontier->owners[operation];
    struct someone *who = &frontier->someone[owner];
    if (who->track == NO_TRACK) {
        uint32_t track = 0;
        while (frontier->track_owner[track] != NO_TRACK) {
            track++;
            ASSERT(track < frontier->track_count);
        }
        who->track = track;
        frontier->track_owner[track] = owner;
    }
    if (frontier->whole->operations[operation].kind == OPERATION_MAYBE_TAKE) {
        who->takes++;
    } else {
        who->frees++;
    }
}

static void call_known(struct frontier *frontier, uint32_t operation)
{
    uint32_t slot = 0;
    while ((frontier->slots_used[slot / 64] >> (slot % 64) & 1) != 0) {
        slot++;
        ASSERT(slot < 64 * frontier->slot_words);
    }
    frontier->slots_used[slot / 64] |= (uint64_t)1 << (slot % 64);
    frontier->slot_operation[slot] = operation;
    frontier->operation_slot[operation] = slot;
    if (!operation_is_observer(&frontier->whole->operations[operation])) {
        return;
    }
    config_set_clear(&frontier->next);
    for (uint32_t i = 0; i < frontier->now.count && !frontier->exhausted; i++) {
        if (config_at(&frontier->now, i)->life == CONFIG_DEAD) {
            continue;
        }
        copy_to_scratch(frontier, config_at(&frontier->now, i));
        absorb_observers(frontier, frontier->scratch);
        put_scratch(frontier, &frontier->next, NULL);
    }
    struct config_set swapped = frontier->now;
    frontier->now = frontier->next;
    frontier->next = swapped;
}

/* One more event of the owner of `operation` is over. */
static void count_event(struct frontier *frontier, uint32_t operation)
{
    struct someone *who = &frontier->someone[frontier->owners[operation]];
    ASSERT(who->left > 0);
    who->left--;
    if (is_over(who)) {
        retire(frontier, frontier->owners[operation]);
    }
}

/* The operation that fits nowhere, and the latest grants of those who held the lock before it. */
static void tell(struct whole *whole, const struct frontier *frontier, uint32_t due)
{
    struct linear_finding *finding = &whole->finding;
    *finding = (struct linear_finding){.reason = LINEAR_NO_ORDER,
                                       .grade = GRADE_NOT_LINEARIZABLE,
                                       .count = 1,
                                       .operations = {whole->operations[due].invoke}};
    for (size_t i = whole->count; i-- > 0 && finding->count < LINEAR_OPERATIONS_SHOWN;) {
        const struct operation *operation = &whole->operations[i];
        bool earlier = operation->called < whole->operations[due].returned && i != due;
        bool changes = operation->kind == OPERATION_TAKE || operation->kind == OPERATION_FREE;
        if (earlier && changes && operation->returned <= whole->operations[due].returned) {
            finding->operations[finding->count++] = operation->invoke;
        }
    }
    ASSERT(frontier->whole == whole);
}

static enum whole_verdict sweep(struct frontier *frontier)
{
    struct whole *whole = frontier->whole;
    size_t call = 0;
    size_t next_return = 0;
    while (next_return < frontier->return_count && !frontier->exhausted) {
        uint32_t due = frontier->by_return[next_return];
        int64_t returned = whole->operations[due].returned;
        if (call < whole->count && whole->operations[call].called < returned) {
            uint32_t operation = (uint32_t)call++;
            if (operation_is_unknown(&whole->operations[operation])) {
                call_unknown(frontier, operation);
            } else {
                call_known(frontier, operation);
            }
            count_event(frontier, operation);
            continue;
        }
        settle_return(frontier, frontier->operation_slot[due]);
        if (frontier->now.count == 0 && !frontier->exhausted) {
            tell(whole, frontier, due);
            return WHOLE_ILLEGAL;
        }
        count_event(frontier, due);
        next_return++;
    }
    whole->limit = LINEAR_LIMIT_BYTES;
    return frontier->exhausted ? WHOLE_UNKNOWN : WHOLE_LEGAL;
}

enum whole_verdict frontier_judge(struct whole *whole)
{
    const struct linear_options *options = whole->options;
    if (options->model == LINEAR_LEASE || options->model == LINEAR_LEASE_EXACT ||
        (options->model == LINEAR_SEMAPHORE && options->permits > STATE_HOLDERS_MAX) ||
        whole->count >= UINT32_MAX / 4) {
        whole->limit = LINEAR_LIMIT_MODEL;
        return WHOLE_UNKNOWN;
    }
    struct frontier frontier = {.whole = whole, .arena = arena_empty(options->bytes_max)};
    frontier_prepare(&frontier);
    whole->limit = LINEAR_LIMIT_BYTES;
    enum whole_verdict verdict = frontier.exhausted ? WHOLE_UNKNOWN : sweep(&frontier);
    if (verdict == WHOLE_LEGAL && options->order) {
        frontier_write_order(&frontier);
    }
    memory_release(frontier.by_return);
    memory_release(frontier.trail);
    config_set_release(&frontier.now);
    config_set_release(&frontier.next);
    arena_release(&frontier.arena);
    return verdict;
}
