/* frontier_expand.c: what can happen before what is due: everything, or what is in its way. */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

/* In a mutex, pending operations of a kind differ only in when they are due: the first will do. */
static bool is_worth_trying(const struct frontier *frontier, const struct config *config,
                            uint32_t slot)
{
    const struct operation *operation = in_slot(frontier, slot);
    if (operation_is_observer(operation) && !frontier->rules.timed) {
        return false; /* placed as soon as it can be */
    }
    if (!is_mutex(frontier)) {
        return true;
    }
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config->words[w];
        for (; open != 0; open &= open - 1) {
            const struct operation *other =
                in_slot(frontier, 64 * w + (uint32_t)__builtin_ctzll(open));
            if (other->kind == operation->kind && other->returned < operation->returned) {
                return false;
            }
        }
    }
    return true;
}

/* Somebody in the reserve does it. */
static void let_reserve(struct frontier *frontier, uint32_t at, enum unknown_kind what,
                        uint32_t *first_open)
{
    for (uint32_t kind = 0; kind < RESERVE_KINDS && frontier->reserve_words > 0; kind++) {
        if (frontier_try_reserve(frontier, at, what, kind)) {
            frontier_put(frontier, &frontier->now, first_open);
        }
    }
}

static void expand_full(struct frontier *frontier, uint32_t at, uint32_t due, uint32_t *first_open)
{
    const struct first first = frontier_first(frontier, at);
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config_at(&frontier->now, at)->words[w];
        for (; open != 0; open &= open - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(open);
            if (slot != due && is_worth_trying(frontier, config_at(&frontier->now, at), slot) &&
                !frontier_can_wait(frontier, at, &first, slot) &&
                frontier_try(frontier, at, slot)) {
                frontier_put(frontier, &frontier->now, first_open);
            }
        }
    }
    for (uint32_t i = 0; i < UNKNOWN_KINDS * frontier->track_count; i++) {
        uint32_t owner = frontier->track_owner[i / UNKNOWN_KINDS];
        enum unknown_kind kind = (enum unknown_kind)(i % UNKNOWN_KINDS);
        if (owner != NO_TRACK &&
            !frontier_unknown_can_wait(frontier, at, &first, owner + 1, kind) &&
            frontier_try_unknown(frontier, at, i / UNKNOWN_KINDS, kind)) {
            frontier_put(frontier, &frontier->now, first_open);
        }
    }
    if (frontier_try_expire(frontier, at)) {
        frontier_put(frontier, &frontier->now, first_open);
    }
    if (frontier_try_vanish(frontier, at)) {
        frontier_put(frontier, &frontier->now, first_open);
    }
    let_reserve(frontier, at, UNKNOWN_TAKE, first_open);
    let_reserve(frontier, at, UNKNOWN_FREE, first_open);
    let_reserve(frontier, at, UNKNOWN_EXTEND, first_open);
    const uint32_t ghosts[3] = {HOLDER_GHOST, HOLDER_GHOST, HOLDER_ETERNAL};
    for (uint32_t i = 0; i < 3; i++) {
        enum unknown_kind kind = i == 0 ? UNKNOWN_FREE : UNKNOWN_TAKE;
        if (!frontier_unknown_can_wait(frontier, at, &first, ghosts[i], kind) &&
            frontier_try_ghost(frontier, at, ghosts[i], kind)) {
            frontier_put(frontier, &frontier->now, first_open);
        }
    }
}

/* ---- what is in the way of one operation ------------------------------------------------------
 */

/* One pending operation of a kind and identity happens. */
static bool let_happen(struct frontier *frontier, uint32_t at, enum operation_kind kind,
                       uint32_t identity, uint32_t *first_open)
{
    uint32_t slot =
        frontier_find(frontier, config_at(&frontier->now, at), kind, identity, POSITION_NEVER);
    if (slot == NO_SLOT || !frontier_try(frontier, at, slot)) {
        return false;
    }
    frontier_put(frontier, &frontier->now, first_open);
    return true;
}

/* What was seen happens first, though it costs time. */
static void let_see(struct frontier *frontier, uint32_t at, uint32_t due, uint32_t *first_open)
{
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config_at(&frontier->now, at)->words[w];
        for (; open != 0; open &= open - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(open);
            const struct operation *seen = in_slot(frontier, slot);
            if (slot != due && operation_is_observer(seen) && frontier_try(frontier, at, slot)) {
                frontier_put(frontier, &frontier->now, first_open);
            }
        }
    }
}

/* He who holds many times cannot let go of all of them by now, and nobody sees of how many. */
static bool is_too_deep(const struct frontier *frontier, const struct config *config,
                        uint32_t holder)
{
    if (!state_hides_depth(&frontier->rules) || holder > frontier->someone_count) {
        return false;
    }
    uint32_t frees =
        frontier_count_left(frontier, config, &frontier->someone[holder - 1], UNKNOWN_FREE);
    for (uint32_t w = 0; w < frontier->slot_words && frees < config->state.depth; w++) {
        uint64_t open = frontier->slots_used[w] & ~config->words[w];
        for (; open != 0; open &= open - 1) {
            const struct operation *pending =
                in_slot(frontier, 64 * w + (uint32_t)__builtin_ctzll(open));
            frees += pending->kind == OPERATION_FREE && pending->identity == holder ? 1 : 0;
        }
    }
    return frees < config->state.depth;
}

/* One holder lets go. */
static void let_go(struct frontier *frontier, uint32_t at, uint32_t holder, uint32_t *first_open)
{
    uint8_t model = frontier->rules.options->model;
    if (is_too_deep(frontier, config_at(&frontier->now, at), holder)) {
        return;
    }
    (void)let_happen(frontier, at, OPERATION_EXTEND, holder, first_open);
    if (frontier_try_expire(frontier, at)) {
        frontier_put(frontier, &frontier->now, first_open);
        if (model == LINEAR_LEASE) {
            return; /* a release can say nothing from now on, so none is wasted */
        }
    }
    if (holder == HOLDER_RESERVE) {
        let_reserve(frontier, at, UNKNOWN_FREE, first_open);
        return;
    }
    if (holder == HOLDER_GHOST || holder == HOLDER_ETERNAL) {
        if (holder == HOLDER_GHOST && frontier_try_ghost(frontier, at, holder, UNKNOWN_FREE)) {
            frontier_put(frontier, &frontier->now, first_open);
        }
        return;
    }
    uint32_t slot = frontier_find(frontier, config_at(&frontier->now, at), OPERATION_FREE, holder,
                                  POSITION_NEVER);
    bool freed =
        slot != NO_SLOT
            ? frontier_try(frontier, at, slot)
            : frontier_try_unknown(frontier, at, frontier->someone[holder - 1].track, UNKNOWN_FREE);
    if (freed) {
        frontier_put(frontier, &frontier->now, first_open);
    }
}

/* Whether all that a holder can let go with may wait. */
static bool can_hold_on(const struct frontier *frontier, uint32_t at, const struct first *first,
                        uint32_t holder)
{
    uint32_t slot = frontier_find(frontier, config_at(&frontier->now, at), OPERATION_FREE, holder,
                                  POSITION_NEVER);
    return slot != NO_SLOT ? frontier_can_wait(frontier, at, first, slot)
                           : frontier_unknown_can_wait(frontier, at, first, holder, UNKNOWN_FREE);
}

/* `only`, or all holders if it is HOLDER_NOBODY. */
static void clear_way(struct frontier *frontier, uint32_t at, uint32_t only, uint32_t *first_open)
{
    const struct first first = frontier_first(frontier, at);
    uint32_t last = HOLDER_NOBODY;
    for (uint32_t i = 0; i < frontier->now.holders; i++) {
        uint32_t holder = config_at(&frontier->now, at)->state.holders[i];
        if (holder == HOLDER_NOBODY) {
            return;
        }
        if (holder != last &&
            (only == HOLDER_NOBODY ? !can_hold_on(frontier, at, &first, holder) : holder == only)) {
            let_go(frontier, at, holder, first_open);
        }
        last = holder;
    }
}

/* Somebody takes the lock: `only`, or anyone if it is HOLDER_NOBODY. */
static void let_take(struct frontier *frontier, uint32_t at, uint32_t only, uint32_t *first_open)
{
    const struct first first = frontier_first(frontier, at);
    bool any = only == HOLDER_NOBODY;
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config_at(&frontier->now, at)->words[w];
        for (; open != 0; open &= open - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(open);
            const struct operation *take = in_slot(frontier, slot);
            bool takes = take->kind == OPERATION_TAKE || take->kind == OPERATION_MAYBE_TAKE;
            bool fits =
                any ? !frontier_can_wait(frontier, at, &first, slot) : take->identity == only;
            if (takes && fits && frontier_try(frontier, at, slot)) {
                frontier_put(frontier, &frontier->now, first_open);
            }
        }
    }
    for (uint32_t i = 0; i < frontier->track_count; i++) {
        uint32_t owner = frontier->track_owner[i];
        bool fits = any ? owner != NO_TRACK && !frontier_unknown_can_wait(frontier, at, &first,
                                                                          owner + 1, UNKNOWN_TAKE)
                        : owner + 1 == only;
        if (fits && frontier_try_unknown(frontier, at, i, UNKNOWN_TAKE)) {
            frontier_put(frontier, &frontier->now, first_open);
        }
    }
    if (any) {
        let_reserve(frontier, at, UNKNOWN_TAKE, first_open);
    }
    const uint32_t ghosts[2] = {HOLDER_GHOST, HOLDER_ETERNAL};
    for (uint32_t i = 0; i < 2 && any; i++) {
        if (!frontier_unknown_can_wait(frontier, at, &first, ghosts[i], UNKNOWN_TAKE) &&
            frontier_try_ghost(frontier, at, ghosts[i], UNKNOWN_TAKE)) {
            frontier_put(frontier, &frontier->now, first_open);
        }
    }
}

/* The grant with the smallest fence below that of `take` comes before it. */
static void let_smaller_fences(struct frontier *frontier, uint32_t at, uint32_t due,
                               uint32_t *first_open)
{
    const struct config *config = config_at(&frontier->now, at);
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config_at(&frontier->now, at)->words[w];
        for (; open != 0; open &= open - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(open);
            const struct operation *other = in_slot(frontier, slot);
            config = config_at(&frontier->now, at);
            if (slot == due || other->kind != OPERATION_TAKE || other->fence == 0 ||
                frontier_is_overtaken(frontier, config, other)) {
                continue;
            }
            if (frontier_try(frontier, at, slot)) {
                frontier_put(frontier, &frontier->now, first_open);
            }
            if (frontier_try_late(frontier, at, slot)) {
                frontier_put(frontier, &frontier->now, first_open);
            }
        }
    }
}

/* The holder's lease lasts, by an extension of unknown outcome. */
static void let_last(struct frontier *frontier, uint32_t at, uint32_t *first_open)
{
    uint32_t holder = config_at(&frontier->now, at)->state.holders[0];
    if (!is_exact(frontier) || holder == HOLDER_NOBODY || holder == HOLDER_GHOST ||
        holder == HOLDER_ETERNAL) {
        return;
    }
    if (holder == HOLDER_RESERVE) {
        let_reserve(frontier, at, UNKNOWN_EXTEND, first_open);
        return;
    }
    (void)let_happen(frontier, at, OPERATION_EXTEND, holder, first_open);
    if (frontier_try_unknown(frontier, at, frontier->someone[holder - 1].track, UNKNOWN_EXTEND)) {
        frontier_put(frontier, &frontier->now, first_open);
    }
}

static void expand_lazy(struct frontier *frontier, uint32_t at, uint32_t due, uint32_t *first_open)
{
    const struct operation *wanted = in_slot(frontier, due);
    const struct config *config = config_at(&frontier->now, at);
    bool mine = state_is_held_by(&config->state, wanted->identity);
    bool again = mine && frontier->rules.nests;
    if (frontier->rules.timed) {
        let_see(frontier, at, due, first_open);
        let_last(frontier, at, first_open);
    }
    if (frontier->rules.fenced) {
        let_smaller_fences(frontier, at, due, first_open);
    }
    switch ((enum operation_kind)wanted->kind) {
    case OPERATION_TAKE:
        clear_way(frontier, at, again ? wanted->identity : HOLDER_NOBODY, first_open);
        return; /* all of them: somebody may have seen fewer hold */
    case OPERATION_FREE:
    case OPERATION_EXTEND:
    case OPERATION_SEEN_OWNER:
        if (again && wanted->kind == OPERATION_FREE && frontier->nests) {
            let_take(frontier, at, wanted->identity, first_open);
        } else if (!mine || frontier->rules.timed || frontier->whole->entangled) {
            let_take(frontier, at, wanted->identity, first_open);
            clear_way(frontier, at, HOLDER_NOBODY, first_open);
        }
        return;
    case OPERATION_BUSY:
    case OPERATION_SEEN_HELD:
        let_take(frontier, at, HOLDER_NOBODY, first_open);
        clear_way(frontier, at, again ? wanted->identity : HOLDER_NOBODY, first_open);
        return;
    case OPERATION_SEEN_FREE:
        clear_way(frontier, at, HOLDER_NOBODY, first_open);
        return;
    case OPERATION_NOT_HELD:
        clear_way(frontier, at, wanted->identity, first_open);
        return;
    case OPERATION_MAYBE_TAKE:
    case OPERATION_MAYBE_FREE:
    case OPERATION_MAYBE_EXTEND:
    case OPERATION_KINDS:
        break;
    }
    UNREACHABLE();
}

void frontier_expand(struct frontier *frontier, uint32_t at, uint32_t due, uint32_t *first_open)
{
    if (frontier->way == FRONTIER_LAZY && due == NO_SLOT) {
        clear_way(frontier, at, HOLDER_NOBODY, first_open);
    } else if (frontier->way == FRONTIER_LAZY) {
        expand_lazy(frontier, at, due, first_open);
    } else {
        expand_full(frontier, at, due, first_open);
    }
}
