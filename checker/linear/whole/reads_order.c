/* reads_order.c: the legal order that P6 found: edges as late as they can be, the rest around them.
 */
#include "base/assert.h"
#include "checker/linear/whole/reads_inside.h"

#include <stdlib.h>

/* Of operations that happen just before the same event. */
enum turn { TURN_SEES_OLD, TURN_FREE, TURN_SEES_NOBODY, TURN_TAKE, TURN_SEES_NEW };

/* Where an operation goes: before the event at `at`; then by turn, then as they were put. */
struct place {
    int64_t at;
    uint64_t rank;
    uint32_t operation;
};

struct laying {
    const struct reads *reads;
    struct place *places;
    size_t count;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static void put(struct laying *laying, uint32_t operation, int64_t at, enum turn turn)
{
    uint64_t rank = (uint64_t)turn << 32 | laying->count;
    laying->places[laying->count++] =
        (struct place){.at = at, .rank = rank, .operation = operation};
}

static void lay_holds(struct laying *laying)
{
    const struct reads *reads = laying->reads;
    for (uint32_t i = 1; i + 1 < reads->hold_count; i++) {
        const struct hold *hold = &reads->holds[i];
        if (hold->start.before != POSITION_NEVER) {
            put(laying, hold->take, hold->start.before, TURN_TAKE);
        }
        if (hold->end.before != POSITION_NEVER) {
            put(laying, hold->free, hold->end.before, TURN_FREE);
        }
    }
}

/* A place in the window where none of the list holds. */
static int64_t place_apart(const struct reads *reads, const struct hold_list *list,
                           const int64_t window[2])
{
    uint32_t at = list_find(reads, list, window[0]);
    for (uint32_t i = at; i <= at + 1 && i <= list->count + 1; i++) {
        const struct edge *end = &reads->holds[list_at(reads, list, i - 1)].end;
        const struct edge *start = &reads->holds[list_at(reads, list, i)].start;
        if (end->before <= window[1] && start->before > window[0]) {
            return start->before < window[1] ? start->before : window[1];
        }
    }
    UNREACHABLE();
}

static void lay_held(struct laying *laying, const struct hold_list *list, uint32_t operation)
{
    const struct reads *reads = laying->reads;
    const struct operation *seen = &reads->whole->operations[operation];
    uint32_t at = list_find(reads, list, seen->called);
    const struct hold *hold = &reads->holds[list_at(reads, list, at - 1)];
    if (hold->end.before <= seen->called) {
        hold = &reads->holds[list_at(reads, list, at)];
        ASSERT(hold->start.before <= seen->returned);
    }
    bool ends = hold->end.before <= seen->returned;
    put(laying, operation, ends ? hold->end.before : seen->returned,
        ends ? TURN_SEES_OLD : TURN_SEES_NEW);
}

static void lay_observers(struct laying *laying)
{
    const struct reads *reads = laying->reads;
    struct hold_list all = list_of_all(reads);
    for (uint32_t i = 0; i < reads->whole->count; i++) {
        const struct operation *operation = &reads->whole->operations[i];
        struct hold_list own = list_of(reads, operation->identity);
        const int64_t window[2] = {operation->called, operation->returned};
        if (operation->kind == OPERATION_SEEN_FREE) {
            put(laying, i, place_apart(reads, &all, window), TURN_SEES_NOBODY);
        } else if (operation->kind == OPERATION_NOT_HELD) {
            put(laying, i, place_apart(reads, &own, window), TURN_SEES_NOBODY);
        } else if (operation_is_observer(operation)) {
            lay_held(laying, operation->kind == OPERATION_SEEN_OWNER ? &own : &all, i);
        }
    }
}

static void lay_points(struct laying *laying)
{
    const struct reads *reads = laying->reads;
    struct hold_list all = list_of_all(reads);
    for (uint32_t i = 0; i < reads->identities; i++) {
        const struct token *token = &reads->tokens[i];
        if (!token->point) {
            continue;
        }
        int64_t window[2];
        point_window(reads, token, window);
        int64_t at = place_apart(reads, &all, window);
        put(laying, token->take, at, TURN_SEES_NOBODY);
        put(laying, token_end(token), at, TURN_SEES_NOBODY);
    }
}

enum whole_verdict reads_lay(struct reads *reads)
{
    struct whole *whole = reads->whole;
    struct laying laying = {.reads = reads};
    laying.places = arena_take(&reads->arena, (whole->count + 1) * sizeof *laying.places);
    if (laying.places == NULL) {
        return WHOLE_UNKNOWN;
    }
    lay_holds(&laying);
    lay_points(&laying);
    lay_observers(&laying);
    ASSERT(laying.count <= whole->count);
    if (laying.count > 0) {
        qsort(laying.places, laying.count, sizeof laying.places[0], compare_places);
    }
    for (size_t i = 0; i < laying.count; i++) {
        whole->order[whole->order_count++] = laying.places[i].operation;
    }
    return WHOLE_LEGAL;
}
