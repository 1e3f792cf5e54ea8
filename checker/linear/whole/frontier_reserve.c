/*
 * frontier_reserve.c: exact leases, where somebody saw that the lock was held: whose events are
 * over may have held it still, or may hold it later, if operations of his are of unknown outcome.
 * Who he was makes no difference any more, only what he can do:
 *
 *   - he holds: he can let go, if any of his releases is left, and extend so many times;
 *   - he does not, and his one acquire is left: then he can take the lock once, with all his
 *     releases and extensions; a second release would be worth nothing;
 *   - he does not, and no acquire is left: nothing.
 *
 * So he goes into the *reserve*, once nothing can happen before his last call. There are few kinds
 * of him: whether he can let go, and how often he can extend. A configuration that used one is as
 * rich as one that used another who can do more. By Hall's condition that is so of all that were
 * used if of each set of kinds that has with a kind all that can do more, no more were used: these
 * sets are counted. (A set is given by how many extensions he must have who can let go, and he who
 * cannot.)
 */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

/* Of such sets there are 14 and the empty one; two stand in a word. The last word says what a
 * holder from the reserve cannot do: let go; extensions of RESERVE_EXTENDS - 1. */
enum { UPPER_SETS = 14, LAST_WORD = RESERVE_WORDS - 1 };

_Static_assert(2 * LAST_WORD == UPPER_SETS, "two in a word");

static bool can_let_go(uint32_t kind)
{
    return kind >= RESERVE_EXTENDS;
}

static uint32_t extends_of(uint32_t kind)
{
    return kind % RESERVE_EXTENDS;
}

static uint32_t kind_of(const struct someone *who)
{
    ASSERT(who->called[UNKNOWN_EXTEND] < RESERVE_EXTENDS);
    return (who->called[UNKNOWN_FREE] > 0 ? RESERVE_EXTENDS : 0) + who->called[UNKNOWN_EXTEND];
}

static uint64_t *words_of(const struct frontier *frontier, struct config *config)
{
    return &config->words[frontier->slot_words + 2 * frontier->track_count];
}

static uint64_t half(uint32_t set)
{
    return set % 2 == 0 ? 1 : (uint64_t)1 << 32;
}

/* One of the kind has taken the lock. */
static void use(const struct frontier *frontier, struct config *config, uint32_t kind)
{
    uint32_t set = 0;
    for (uint32_t with = 0; with <= RESERVE_EXTENDS; with++) {
        for (uint32_t without = with; without <= RESERVE_EXTENDS && set < UPPER_SETS; without++) {
            if (extends_of(kind) >= (can_let_go(kind) ? with : without)) {
                words_of(frontier, config)[set / 2] += half(set);
            }
            set++;
        }
    }
    ASSERT(set == UPPER_SETS);
}

/* How many of the set of those who can extend so many times, if they can let go, or if not. */
static uint32_t used_of(const struct frontier *frontier, struct config *config, uint32_t with,
                        uint32_t without)
{
    ASSERT(with <= without);
    uint32_t set = 0;
    for (uint32_t i = 0; i < with; i++) {
        set += RESERVE_EXTENDS + 1 - i;
    }
    set += without - with;
    uint64_t word = set < UPPER_SETS ? words_of(frontier, config)[set / 2] : 0;
    return (uint32_t)(set % 2 == 0 ? word : word >> 32);
}

static bool is_left(const struct frontier *frontier, struct config *config, uint32_t kind)
{
    uint32_t least = extends_of(kind);
    uint32_t used = can_let_go(kind) ? used_of(frontier, config, least, RESERVE_EXTENDS) -
                                           used_of(frontier, config, least + 1, RESERVE_EXTENDS)
                                     : used_of(frontier, config, 0, least) -
                                           used_of(frontier, config, 0, least + 1);
    ASSERT(used <= frontier->reserve[kind]);
    return used < frontier->reserve[kind];
}

/* Who holds is from the reserve, and can do so much. */
static void set_holder(const struct frontier *frontier, struct config *config, bool lets_go,
                       uint32_t extends)
{
    uint64_t cannot = RESERVE_EXTENDS - 1 - extends;
    words_of(frontier, config)[LAST_WORD] = (lets_go ? 0 : 1) | cannot << 32;
}

/* ---- into the reserve ------------------------------------------------------------------------ */

/* In one configuration, he who is counted in `track`. */
static void fill_one(const struct frontier *frontier, struct config *config, uint32_t track)
{
    uint32_t owner = frontier->track_owner[track];
    const struct someone *who = &frontier->someone[owner];
    uint64_t *words = &config->words[frontier->slot_words + 2 * track];
    uint32_t frees = who->called[UNKNOWN_FREE] - (uint32_t)(words[0] >> 32);
    uint32_t extends = who->called[UNKNOWN_EXTEND] - (uint32_t)words[1];
    if ((uint32_t)words[0] > 0) {
        use(frontier, config, kind_of(who));
    }
    if (state_is_held_by(&config->state, owner + 1)) {
        state_rename(&config->state, owner + 1, HOLDER_RESERVE);
        set_holder(frontier, config, frees > 0, extends);
    }
    words[0] = words[1] = 0;
}

static void fill_with(struct frontier *frontier, uint32_t track)
{
    struct someone *who = &frontier->someone[frontier->track_owner[track]];
    ASSERT(who->called[UNKNOWN_TAKE] <= 1);
    frontier->reserve[kind_of(who)] += who->called[UNKNOWN_TAKE];
    config_set_clear(&frontier->next);
    for (uint32_t i = 0; i < frontier->now.count && !frontier->exhausted; i++) {
        if (config_at(&frontier->now, i)->life != CONFIG_DEAD) {
            frontier_copy(frontier, config_at(&frontier->now, i));
            fill_one(frontier, frontier->scratch, track);
            frontier_put(frontier, &frontier->next, NULL);
        }
    }
    config_set_swap(&frontier->now, &frontier->next);
    frontier->track_owner[track] = NO_TRACK;
    who->track = NO_TRACK;
}

void frontier_fill_reserve(struct frontier *frontier)
{
    for (uint32_t track = 0; track < frontier->track_count && frontier->reserve_words > 0;
         track++) {
        uint32_t owner = frontier->track_owner[track];
        if (owner != NO_TRACK && is_for_reserve(frontier, &frontier->someone[owner])) {
            fill_with(frontier, track);
        }
    }
}

/* ---- what he does ---------------------------------------------------------------------------- */

static const uint8_t operations[UNKNOWN_KINDS] = {OPERATION_MAYBE_TAKE, OPERATION_MAYBE_FREE,
                                                  OPERATION_MAYBE_EXTEND};

/* He who holds, in scratch, does it, if he still can. */
static bool act(struct frontier *frontier, enum unknown_kind what)
{
    struct config *config = frontier->scratch;
    uint64_t cannot = words_of(frontier, config)[LAST_WORD];
    bool lets_go = (uint32_t)cannot == 0;
    uint32_t extends = RESERVE_EXTENDS - 1 - (uint32_t)(cannot >> 32);
    if (what == UNKNOWN_EXTEND) {
        set_holder(frontier, config, lets_go, extends > 0 ? extends - 1 : 0);
        return extends > 0;
    }
    return lets_go;
}

bool frontier_try_reserve(struct frontier *frontier, uint32_t at, enum unknown_kind what,
                          uint32_t kind)
{
    frontier_copy(frontier, config_at(&frontier->now, at));
    struct config *config = frontier->scratch;
    bool wild = state_is_held_by(&config->state, HOLDER_WILD);
    const struct operation operation = {.kind = operations[what],
                                        .identity = HOLDER_RESERVE,
                                        .called = INT64_MIN / 2,
                                        .returned = POSITION_NEVER,
                                        .until = POSITION_NEVER};
    if (what == UNKNOWN_TAKE || (wild && what == UNKNOWN_EXTEND)) {
        /* Or he had it before, who may be anybody. */
        if (!is_left(frontier, config, kind)) {
            return false;
        }
        use(frontier, config, kind);
        if (wild) {
            state_rename(&config->state, HOLDER_WILD, HOLDER_RESERVE);
        }
        set_holder(frontier, config, can_let_go(kind), extends_of(kind));
    }
    bool mine = what == UNKNOWN_TAKE || state_is_held_by(&config->state, HOLDER_RESERVE);
    if (!mine || (what != UNKNOWN_TAKE && !act(frontier, what)) ||
        !state_apply(&config->state, &frontier->rules, &operation)) {
        return false;
    }
    frontier_absorb(frontier, config);
    return true;
}

void frontier_even_out(const struct frontier *frontier, struct config *config)
{
    uint32_t holder = config->state.holders[0];
    for (uint32_t track = 0; track < frontier->track_count; track++) {
        uint32_t owner = frontier->track_owner[track];
        uint64_t *words = &config->words[frontier->slot_words + 2 * track];
        if (owner != NO_TRACK && frontier->someone[owner].left == 0 && holder != owner + 1 &&
            (uint32_t)words[0] == frontier->someone[owner].called[UNKNOWN_TAKE]) {
            words[0] = (uint32_t)words[0];
            words[1] = 0;
        }
    }
    if (frontier->reserve_words == 0) {
        return;
    }
    if (holder != HOLDER_NOBODY && holder <= frontier->someone_count &&
        frontier->someone[holder - 1].left == 0 &&
        frontier->someone[holder - 1].track == NO_TRACK) {
        state_rename(&config->state, holder, HOLDER_RESERVE);
        set_holder(frontier, config, false, 0);
    } else if (holder != HOLDER_RESERVE) {
        words_of(frontier, config)[LAST_WORD] = 0;
    }
}
