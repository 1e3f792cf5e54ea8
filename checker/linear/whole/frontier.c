/* frontier.c: goes through the events of one lock and keeps every state it can be in. */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

#include <string.h>

/* Unknown acquires whose lease is over for all that can still happen need no slot any more. */
static void drop_optional(struct frontier *frontier, uint32_t due)
{
    const struct operation *operations = frontier->whole->operations;
    int64_t earliest = operations[frontier->slot_operation[due]].returned;
    for (uint32_t pass = 0; pass < 2 && frontier->optional && !frontier->clocked; pass++) {
        for (uint32_t w = 0; w < frontier->slot_words; w++) {
            uint64_t used = frontier->slots_used[w];
            for (; used != 0; used &= used - 1) {
                uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(used);
                const struct operation *operation = &operations[frontier->slot_operation[slot]];
                bool counts = operation->kind != OPERATION_MAYBE_TAKE && slot != due;
                if (pass == 0 && counts && operation->called < earliest) {
                    earliest = operation->called;
                } else if (pass == 1 && operation->kind == OPERATION_MAYBE_TAKE &&
                           operation->until < earliest) {
                    frontier->slots_used[w] &= ~((uint64_t)1 << (slot % 64));
                }
            }
        }
    }
}

/* Put what follows from placing `due` into the next set, without what needs no slot any more. */
static void put_next(struct frontier *frontier, const uint64_t *kept)
{
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        frontier->scratch->words[w] &= kept[w];
    }
    frontier_put(frontier, &frontier->next, NULL);
}

enum { STEPS_BETWEEN_LOOKS = 256 };

/* Time may be up. */
static void look_at_clock(struct frontier *frontier)
{
    const struct linear_options *options = frontier->whole->options;
    frontier->steps++;
    frontier->budget--;
    if (options->stop != NULL && frontier->steps % STEPS_BETWEEN_LOOKS == 0 &&
        options->stop(options->stop_context)) {
        frontier->exhausted = true;
        frontier->whole->limit = LINEAR_LIMIT_TIME;
    }
}

/* It can happen, but something else may have to come first: an owner who holds let go before it
 * took the lock again, or took it again before it let go; or others let go, where several may hold.
 */
static bool may_wait(const struct frontier *frontier, uint32_t at, uint32_t due)
{
    const struct operation *wanted = &frontier->whole->operations[frontier->slot_operation[due]];
    const struct lock_state *state = &config_at(&frontier->now, at)->state;
    if (frontier->rules.timed) {
        return true;
    }
    if (wanted->kind == OPERATION_TAKE) {
        return state_is_held_by(state, wanted->identity) ||
               (frontier->rules.room > 1 && frontier->seen_free);
    }
    return wanted->kind == OPERATION_FREE && !state_hides_depth(&frontier->rules) &&
           ((frontier->rules.nests && frontier->nests) || frontier->whole->entangled);
}

/* One configuration: does what is due happen, and what else can happen before it? */
static void settle_one(struct frontier *frontier, uint32_t at, uint32_t due, const uint64_t *kept,
                       uint32_t *first_open)
{
    bool placed = is_placed(config_at(&frontier->now, at), due);
    if (placed || is_loose(frontier, due)) {
        frontier_copy(frontier, config_at(&frontier->now, at));
        put_next(frontier, kept);
    }
    if (placed) {
        return;
    }
    if (frontier->rules.options->model == LINEAR_LEASE && frontier_try_expire(frontier, at)) {
        frontier_put(frontier, &frontier->now, first_open);
        if (frontier->way == FRONTIER_LAZY && !frontier->rules.timed) {
            return; /* nothing needs it any more: a release would say nothing */
        }
    }
    bool happens = frontier_try(frontier, at, due);
    if (happens) {
        put_next(frontier, kept);
    }
    if (frontier_try_late(frontier, at, due)) {
        put_next(frontier, kept);
    }
    if (!happens || frontier->way == FRONTIER_FULL || may_wait(frontier, at, due)) {
        frontier_expand(frontier, at, due, first_open);
    }
}

struct config *frontier_next_open(struct frontier *frontier, uint32_t *first_open)
{
    uint64_t width = frontier->width;
    while (*first_open < frontier->now.count && !frontier->exhausted) {
        struct config *config = config_at(&frontier->now, (*first_open)++);
        if (config->life != CONFIG_OPEN) {
            continue;
        }
        /* What was found first took the fewest detours. */
        uint64_t looked_at = *first_open;
        bool enough = (looked_at > 4 * width && frontier->next.count >= width) ||
                      looked_at > 64 * width || frontier->budget == 0;
        if (enough) {
            frontier->narrowed = true;
            return NULL;
        }
        config->life = CONFIG_EXPANDED;
        look_at_clock(frontier);
        return config;
    }
    return NULL;
}

void frontier_open(struct frontier *frontier, int64_t position)
{
    frontier->position = frontier->rules.due = position;
    config_set_clear(&frontier->next);
    for (uint32_t i = 0; i < frontier->now.count; i++) {
        struct config *config = config_at(&frontier->now, i);
        config->life = config->life == CONFIG_DEAD ? CONFIG_DEAD : CONFIG_OPEN;
    }
}

void frontier_close(struct frontier *frontier)
{
    const uint64_t *kept = frontier->kept;
    memcpy(frontier->slots_used, kept, frontier->slot_words * sizeof *kept);
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        frontier->loose[w] &= kept[w];
    }
    config_set_swap(&frontier->now, &frontier->next);
    if (frontier->now.count > frontier->whole->frontier_peak) {
        frontier->whole->frontier_peak = frontier->now.count;
    }
    if (frontier->now.count > frontier->width &&
        config_set_narrow(&frontier->now, frontier->width)) {
        frontier->narrowed = true;
    }
}

/* The operation in `due` returns: keep what follows from placing it by now. */
static void settle_return(struct frontier *frontier, uint32_t due)
{
    uint32_t first_open = 0;
    uint64_t *kept = frontier->kept;
    frontier_open(frontier, in_slot(frontier, due)->returned);
    /* What is seen while nothing changes is kept as it is; the set of slots is that of afterwards.
     */
    memcpy(kept, frontier->slots_used, frontier->slot_words * sizeof *kept);
    drop_optional(frontier, due);
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t after = frontier->slots_used[w];
        frontier->slots_used[w] = kept[w];
        kept[w] = after;
    }
    kept[due / 64] &= ~((uint64_t)1 << (due % 64));
    while (frontier_next_open(frontier, &first_open) != NULL) {
        settle_one(frontier, first_open - 1, due, kept, &first_open);
    }
    frontier_close(frontier);
}

/* What he holds is held by a ghost from now on, or by nobody if nobody can see it. Returns how many
 * of his releases are left. */
static uint32_t retire_holder(uint32_t frees, uint32_t identity, struct lock_state *state)
{
    while (state_is_held_by(state, identity)) {
        uint32_t depth = state->depth == 0 ? 1 : state->depth;
        bool ends = frees >= depth;
        frees -= ends ? depth : 0;
        state->depth = state->depth == 0 ? 0 : 1;
        state_rename(state, identity, ends ? HOLDER_GHOST : HOLDER_ETERNAL);
    }
    return frees;
}

/* The last event of someone is over: what is left of his unknown operations becomes ghosts. */
static void retire(struct frontier *frontier, uint32_t owner)
{
    struct someone *who = &frontier->someone[owner];
    uint32_t word = frontier->slot_words + 2 * who->track;
    uint32_t all_takes = who->called[UNKNOWN_TAKE];
    uint32_t all_frees = who->called[UNKNOWN_FREE];
    bool silent = frontier->rules.options->model == LINEAR_LEASE_REFRESHED;
    uint32_t most = all_takes < all_frees || silent ? all_takes : all_frees;
    most = frontier->observed ? most : 0;
    bool now_or_never = is_exact(frontier) && !frontier->observed;
    config_set_clear(&frontier->next);
    for (uint32_t i = 0; i < frontier->now.count && !frontier->exhausted; i++) {
        if (config_at(&frontier->now, i)->life == CONFIG_DEAD) {
            continue;
        }
        if (now_or_never && frontier_try_unknown(frontier, i, who->track, UNKNOWN_FREE)) {
            frontier->scratch->words[word] = frontier->scratch->words[word + 1] = 0;
            frontier_put(frontier, &frontier->next, NULL);
        }
        frontier_copy(frontier, config_at(&frontier->now, i));
        struct config *config = frontier->scratch;
        uint32_t used_takes = (uint32_t)config->words[word];
        uint32_t used_frees = (uint32_t)(config->words[word] >> 32);
        uint32_t frees = now_or_never ? 0 : all_frees - used_frees;
        frees = retire_holder(frees, owner + 1, &config->state);
        uint32_t takes = all_takes - used_takes;
        uint32_t left = takes < frees || silent ? takes : frees;
        config->spent += most > left ? most - left : 0;
        config->eternal += all_takes - (takes - left);
        config->words[word] = config->words[word + 1] = 0;
        frontier_put(frontier, &frontier->next, NULL);
    }
    frontier->ghosts += most;
    for (uint32_t i = 0; i < all_takes && frontier->observed; i++) {
        uint32_t at = frontier->eternals++;
        int64_t called = frontier->unknown_calls[who->first[UNKNOWN_TAKE] + i];
        for (; at > 0 && frontier->eternal_calls[at - 1] > called; at--) {
            frontier->eternal_calls[at] = frontier->eternal_calls[at - 1];
        }
        frontier->eternal_calls[at] = called;
    }
    config_set_swap(&frontier->now, &frontier->next);
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
    who->called[unknown_kind(&frontier->whole->operations[operation])]++;
    who->asked = frontier->whole->operations[operation].called;
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
        frontier_copy(frontier, config_at(&frontier->now, i));
        frontier_absorb(frontier, frontier->scratch);
        frontier_put(frontier, &frontier->next, NULL);
    }
    config_set_swap(&frontier->now, &frontier->next);
}

/* One more event of the owner of `operation` is over. */
static void count_event(struct frontier *frontier, uint32_t operation)
{
    struct someone *who = &frontier->someone[frontier->owners[operation]];
    ASSERT(who->left > 0);
    who->left--;
    if (is_over(frontier, who)) {
        retire(frontier, frontier->owners[operation]);
    }
}

bool frontier_advance(struct frontier *frontier)
{
    struct whole *whole = frontier->whole;
    if (frontier->next_return == frontier->return_count || frontier->exhausted) {
        return false;
    }
    uint32_t due = frontier->by_return[frontier->next_return];
    int64_t returned = whole->operations[due].returned;
    bool calls =
        frontier->call < whole->count && whole->operations[frontier->call].called < returned;
    if (frontier->clocked &&
        frontier_pass_end(frontier, calls ? whole->operations[frontier->call].called : returned)) {
        return true;
    }
    if (calls) {
        frontier->ghost_called = whole->operations[frontier->call].called;
        uint32_t operation = (uint32_t)frontier->call++;
        frontier_pass_to_come(frontier, operation);
        if (is_counted(frontier, &whole->operations[operation])) {
            call_unknown(frontier, operation);
        } else {
            call_known(frontier, operation);
        }
        count_event(frontier, operation);
        return true;
    }
    settle_return(frontier, frontier->operation_slot[due]);
    if (frontier->now.count == 0 && !frontier->replays) {
        return false;
    }
    count_event(frontier, due);
    if (whole->operations[due].called > frontier->floor) {
        frontier->floor = whole->operations[due].called;
    }
    frontier_fill_reserve(frontier);
    frontier->next_return++;
    return true;
}
