/* frontier_plan.c: what the frontier engine finds out before it goes through the events. */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

static int compare_returns(const void *left, const void *right, void *context)
{
    const struct whole *whole = context;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    int64_t x = whole->operations[a].returned;
    int64_t y = whole->operations[b].returned;
    return x != y ? (x < y ? -1 : 1) : (a > b) - (a < b);
}

uint32_t *whole_by_return(struct whole *whole, size_t *count)
{
    uint32_t *list = memory_resize(NULL, (whole->count + 1) * sizeof *list);
    *count = 0;
    for (size_t i = 0; list != NULL && i < whole->count; i++) {
        if (whole->operations[i].returned != POSITION_NEVER) {
            list[(*count)++] = (uint32_t)i;
        }
    }
    if (list != NULL) {
        qsort_r(list, *count, sizeof *list, compare_returns, whole);
    }
    return list;
}

/* ---- what is known before the sweep ------------------------------------------------------- */

static uint32_t someone_of(struct frontier *frontier, struct table *table, uint32_t identity)
{
    if (is_mutex(frontier)) {
        identity = 0;
    }
    uint64_t hash = table_mix((uint64_t)identity + 1);
    struct table_walk walk = table_walk_begin(table, hash);
    uint32_t found = table_walk_next(table, &walk);
    if (found != TABLE_NONE) {
        return found; /* the hash of a 32-bit number is one to one */
    }
    if (!table_put(table, hash, frontier->someone_count, SIZE_MAX)) {
        frontier->exhausted = true;
        return 0;
    }
    frontier->someone[frontier->someone_count] =
        (struct someone){.track = NO_TRACK, .busy = INT64_MIN};
    return frontier->someone_count++;
}

static bool is_leased(const struct frontier *frontier)
{
    return frontier->rules.options->model == LINEAR_LEASE;
}

/* What all operations together say. */
static void learn(struct frontier *frontier, const struct operation *operation)
{
    bool seen = operation->kind == OPERATION_BUSY || operation->kind == OPERATION_SEEN_HELD;
    bool early = is_leased(frontier) && operation->kind == OPERATION_TAKE &&
                 operation->until < operation->returned;
    frontier->observed = frontier->observed || seen;
    frontier->seen_free = frontier->seen_free || operation->kind == OPERATION_SEEN_FREE ||
                          operation->kind == OPERATION_NOT_HELD;
    frontier->nests = frontier->nests || seen || operation->kind == OPERATION_SEEN_OWNER ||
                      operation->kind == OPERATION_EXTEND ||
                      (frontier->rules.fenced && operation->fence != 0);
    frontier->early = frontier->early || early;
    frontier->whole->entangled = frontier->whole->entangled || early;
    frontier->optional =
        frontier->optional || (is_leased(frontier) && operation->kind == OPERATION_MAYBE_TAKE);
}

static void name_owners(struct frontier *frontier)
{
    struct table table = {0};
    struct whole *whole = frontier->whole;
    whole->entangled = false;
    for (size_t i = 0; i < whole->count && !frontier->exhausted; i++) {
        struct operation *operation = &whole->operations[i];
        frontier->owners[i] = someone_of(frontier, &table, operation->identity);
        operation->identity = frontier->owners[i] + 1;
        struct someone *owner = &frontier->someone[frontier->owners[i]];
        bool unknown = operation_is_unknown(operation);
        owner->events += unknown ? 1 : 2;
        whole->entangled = whole->entangled || operation->called <= owner->busy;
        owner->busy =
            unknown || operation->returned < owner->busy ? owner->busy : operation->returned;
        owner->takes +=
            operation->kind == OPERATION_TAKE || operation->kind == OPERATION_MAYBE_TAKE ? 1 : 0;
        if (unknown) {
            owner->maybe[unknown_kind(operation)]++;
        }
        learn(frontier, operation);
    }
    for (uint32_t i = 0; i < frontier->someone_count; i++) {
        struct someone *who = &frontier->someone[i];
        bool exact = is_exact(frontier) && frontier->observed;
        bool lingers = who->maybe[UNKNOWN_FREE] > 0 || who->maybe[UNKNOWN_EXTEND] > 0;
        who->nameless = exact && who->maybe[UNKNOWN_EXTEND] < RESERVE_EXTENDS &&
                        (who->maybe[UNKNOWN_TAKE] == 0 || who->takes == 1);
        who->for_good = is_mutex(frontier) || (exact && lingers) || whole->options->order ||
                        (frontier->optional && frontier->observed);
    }
    frontier->reserve_words = is_exact(frontier) && frontier->observed ? RESERVE_WORDS : 0;
    bool seen = frontier->nests || frontier->seen_free;
    frontier->clocked = seen && (frontier->optional || frontier->early);
    table_release(&table);
}

/* When the unknown operations of each identity were called, by kind, in order. */
static void list_unknown(struct frontier *frontier)
{
    const struct whole *whole = frontier->whole;
    uint32_t place = 0;
    for (size_t i = 0; i < whole->count; i++) {
        if (is_counted(frontier, &whole->operations[i])) {
            frontier->someone[frontier->owners[i]].called[unknown_kind(&whole->operations[i])]++;
            place++;
        }
    }
    frontier->unknown_calls = frontier_take(frontier, (place + 1) * sizeof(int64_t));
    frontier->eternal_calls = frontier_take(frontier, (place + 1) * sizeof(int64_t));
    place = 0;
    for (uint32_t i = 0; i < frontier->someone_count; i++) {
        for (int kind = 0; kind < UNKNOWN_KINDS; kind++) {
            frontier->someone[i].first[kind] = place;
            place += frontier->someone[i].called[kind];
            frontier->someone[i].called[kind] = 0;
        }
    }
    for (size_t i = 0; i < whole->count && !frontier->exhausted; i++) {
        const struct operation *operation = &whole->operations[i];
        struct someone *who = &frontier->someone[frontier->owners[i]];
        if (is_counted(frontier, operation)) {
            enum unknown_kind kind = unknown_kind(operation);
            frontier->unknown_calls[who->first[kind] + who->called[kind]++] = operation->called;
        }
    }
    for (uint32_t i = 0; i < frontier->someone_count; i++) {
        memset(frontier->someone[i].called, 0, sizeof frontier->someone[i].called);
    }
}

/* From where on a release of a lease says nothing: the promised end of some acquire of its caller,
 * asked for before it returned and not refused, is reached. */
static void note_ends(struct frontier *frontier)
{
    struct whole *whole = frontier->whole;
    size_t call = 0;
    for (uint32_t i = 0; i < frontier->someone_count; i++) {
        frontier->someone[i].busy = POSITION_NEVER;
    }
    for (size_t i = 0; i < frontier->return_count; i++) {
        uint32_t returned = frontier->by_return[i];
        for (; call < whole->count &&
               whole->operations[call].called <= whole->operations[returned].returned;
             call++) {
            const struct operation *take = &whole->operations[call];
            struct someone *who = &frontier->someone[frontier->owners[call]];
            bool takes = take->kind == OPERATION_TAKE || take->kind == OPERATION_MAYBE_TAKE;
            who->busy = takes && take->promised < who->busy ? take->promised : who->busy;
        }
        if (whole->operations[returned].kind == OPERATION_FREE) {
            whole->operations[returned].until = frontier->someone[frontier->owners[returned]].busy;
        }
    }
}

/* Those among `first` and who stands behind him who can go into the reserve do; returns how many.
 */
static uint32_t leave_for_reserve(struct frontier *frontier, uint32_t *first)
{
    uint32_t gone = 0;
    for (uint32_t *at = first; *at != NO_OWNER;) {
        struct someone *who = &frontier->someone[*at];
        if (is_for_reserve(frontier, who)) {
            who->track = NO_TRACK;
            *at = who->next;
            gone++;
        } else {
            at = &who->next;
        }
    }
    return gone;
}

/* How many pending operations and counters there are at most at a time. */
static void size_configs(struct frontier *frontier)
{
    struct whole *whole = frontier->whole;
    uint32_t pending = 0, pending_max = 1, tracked = 0, tracked_max = 1;
    uint32_t waiting = NO_OWNER;
    size_t next_return = 0;
    frontier->floor = INT64_MIN;
    for (uint32_t i = 0; i < frontier->someone_count; i++) {
        frontier->someone[i].left = frontier->someone[i].events;
    }
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        while (next_return < frontier->return_count) {
            uint32_t r = frontier->by_return[next_return];
            if (whole->operations[r].returned > operation->called) {
                break;
            }
            struct someone *owner = &frontier->someone[frontier->owners[r]];
            owner->left--;
            bool ends = is_over(frontier, owner);
            tracked -= ends ? 1 : 0;
            owner->track = ends ? NO_TRACK : owner->track;
            pending--;
            next_return++;
            int64_t called = whole->operations[r].called;
            frontier->floor = called > frontier->floor ? called : frontier->floor;
            tracked -= leave_for_reserve(frontier, &waiting);
        }
        struct someone *owner = &frontier->someone[frontier->owners[i]];
        owner->left--;
        if (!is_counted(frontier, operation)) {
            pending++;
        } else if (owner->track == NO_TRACK) {
            tracked++;
            owner->track = 0;
            if (owner->nameless) {
                owner->next = waiting;
                waiting = frontier->owners[i];
            }
        }
        owner->asked = operation_is_unknown(operation) ? operation->called : owner->asked;
        pending_max = pending > pending_max ? pending : pending_max;
        tracked_max = tracked > tracked_max ? tracked : tracked_max;
        if (is_over(frontier, owner)) {
            tracked--;
            owner->track = NO_TRACK;
        }
    }
    for (uint32_t i = 0; i < frontier->someone_count; i++) {
        frontier->someone[i].track = NO_TRACK;
        frontier->someone[i].left = frontier->someone[i].events;
    }
    frontier->slot_words = (pending_max + 63) / 64;
    frontier->track_count = tracked_max;
}

void *frontier_take(struct frontier *frontier, size_t bytes)
{
    void *piece = arena_take(&frontier->arena, bytes);
    if (piece == NULL) {
        frontier->exhausted = true;
    }
    return piece;
}

void frontier_prepare(struct frontier *frontier)
{
    size_t count = frontier->whole->count;
    frontier->owners = frontier_take(frontier, count * sizeof *frontier->owners);
    frontier->someone = frontier_take(frontier, (count + 1) * sizeof *frontier->someone);
    frontier->operation_slot = frontier_take(frontier, count * sizeof *frontier->operation_slot);
    frontier->by_return = whole_by_return(frontier->whole, &frontier->return_count);
    if (frontier->exhausted || frontier->by_return == NULL) {
        frontier->exhausted = true;
        return;
    }
    name_owners(frontier);
    list_unknown(frontier);
    if (is_leased(frontier)) {
        note_ends(frontier);
    }
    size_configs(frontier);
    frontier_look_ahead(frontier);
    frontier_list_to_come(frontier);
    if (frontier->clocked) {
        frontier_list_ends(frontier);
    }
    uint32_t slots = 64 * frontier->slot_words;
    frontier->slot_operation = frontier_take(frontier, slots * sizeof *frontier->slot_operation);
    frontier->slots_used =
        frontier_take(frontier, frontier->slot_words * sizeof *frontier->slots_used);
    frontier->kept = frontier_take(frontier, frontier->slot_words * sizeof *frontier->kept);
    frontier->loose = frontier_take(frontier, frontier->slot_words * sizeof *frontier->loose);
    frontier->track_owner =
        frontier_take(frontier, frontier->track_count * sizeof *frontier->track_owner);
    uint32_t words = frontier->slot_words + 2 * frontier->track_count + frontier->reserve_words;
    frontier->scratch = frontier_take(frontier, config_bytes(words));
    if (frontier->exhausted) {
        return;
    }
    frontier->now.words = frontier->next.words = words;
    frontier->now.key_words = frontier->next.key_words = frontier->slot_words;
    frontier->now.holders = frontier->next.holders = frontier->rules.room;
    frontier->now.bytes_max = frontier->next.bytes_max = frontier->whole->options->bytes_max / 2;
    frontier->next.settled = state_hides_depth(&frontier->rules);
    frontier_restart(frontier);
    uint32_t at;
    frontier->scratch->trail = UINT32_MAX;
    frontier->scratch->free_at = INT64_MIN;
    frontier->scratch->state.now = frontier->rules.timed ? INT64_MIN / 4 : 0;
    frontier->scratch->state.end = POSITION_NEVER;
    frontier->exhausted = !config_set_put(&frontier->now, frontier->scratch, &at);
}

void frontier_restart(struct frontier *frontier)
{
    frontier->call = frontier->next_return = frontier->next_until = 0;
    frontier_restart_to_come(frontier);
    frontier->rules.passed = INT64_MIN;
    frontier->position = INT64_MIN;
    frontier->ghosts = frontier->eternals = 0;
    frontier->floor = INT64_MIN;
    memset(frontier->reserve, 0, sizeof frontier->reserve);
    memset(frontier->slots_used, 0, frontier->slot_words * sizeof *frontier->slots_used);
    for (uint32_t i = 0; i < frontier->track_count; i++) {
        frontier->track_owner[i] = NO_TRACK;
    }
    for (uint32_t i = 0; i < frontier->someone_count; i++) {
        struct someone *who = &frontier->someone[i];
        who->track = NO_TRACK;
        who->left = who->events;
        memset(who->called, 0, sizeof who->called);
    }
    config_set_clear(&frontier->now);
    config_set_clear(&frontier->next);
}
