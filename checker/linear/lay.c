/* lay.c: the legal order of a history that P1 passed: cores where they are, points in free places.
 */
#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/frontier.h"

#include <stdlib.h>

struct laid {
    const struct operation *take, *free; /* the release that ends it, of known or unknown outcome */
    const struct operation *maybe;       /* the earliest release of unknown outcome */
};

/* Where an operation goes; of equal positions, releases of cores come first, then one by one. */
struct position {
    int64_t at;
    uint32_t sequence;
    uint32_t operation;
};

struct laying {
    struct whole *whole;
    struct laid *laid; /* by identity */
    uint32_t identities;
    int64_t (*cores)[2];
    size_t core_count;
    struct position *positions;
    size_t count;
    uint32_t sequence;
};

static int compare_positions(const void *left, const void *right)
{
    const struct position *a = left;
    const struct position *b = right;
    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

static int compare_cores(const void *left, const void *right)
{
    const int64_t *a = left;
    const int64_t *b = right;
    return (a[0] > b[0]) - (a[0] < b[0]);
}

static void put(struct laying *laying, int64_t at, const struct operation *operation)
{
    laying->positions[laying->count++] =
        (struct position){.at = at,
                          .sequence = laying->sequence++,
                          .operation = (uint32_t)(operation - laying->whole->operations)};
}

/* False where identities are shared, or anything is seen of the lock but "not held". */
static bool sort_out(struct laying *laying)
{
    const struct whole *whole = laying->whole;
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        struct laid *laid = &laying->laid[operation->identity];
        bool take = operation->kind == OPERATION_TAKE || operation->kind == OPERATION_MAYBE_TAKE;
        bool free = operation->kind == OPERATION_FREE;
        if ((operation_is_observer(operation) && operation->kind != OPERATION_NOT_HELD) ||
            (take && laid->take != NULL) || (free && laid->free != NULL)) {
            return false;
        }
        laid->take = take ? operation : laid->take;
        laid->free = free ? operation : laid->free;
        bool maybe = operation->kind == OPERATION_MAYBE_FREE && laid->maybe == NULL;
        laid->maybe = maybe ? operation : laid->maybe;
    }
    for (uint32_t i = 0; i < laying->identities; i++) {
        struct laid *laid = &laying->laid[i];
        laid->free = laid->free != NULL ? laid->free : laid->maybe;
        if (laid->take == NULL && laid->free != NULL && laid->free->kind == OPERATION_FREE) {
            return false;
        }
    }
    return true;
}

static bool has_core(const struct laid *laid)
{
    return laid->take != NULL && laid->take->kind == OPERATION_TAKE &&
           (laid->free == NULL || laid->free->called > laid->take->returned);
}

static bool has_point(const struct laid *laid)
{
    return laid->take != NULL && !has_core(laid) && laid->free != NULL &&
           (laid->take->kind == OPERATION_TAKE || laid->free->kind == OPERATION_FREE);
}

/* False if two cores overlap: then nothing can be laid. */
static bool lay_cores(struct laying *laying)
{
    for (uint32_t i = 0; i < laying->identities; i++) {
        const struct laid *laid = &laying->laid[i];
        if (!has_core(laid)) {
            continue;
        }
        int64_t end = laid->free == NULL ? POSITION_NEVER : laid->free->called;
        laying->cores[laying->core_count][0] = laid->take->returned;
        laying->cores[laying->core_count++][1] = end;
        put(laying, laid->take->returned, laid->take);
        if (laid->free != NULL) {
            put(laying, end, laid->free);
        }
    }
    if (laying->core_count > 0) {
        qsort(laying->cores, laying->core_count, sizeof laying->cores[0], compare_cores);
    }
    for (size_t i = 1; i < laying->core_count; i++) {
        if (laying->cores[i - 1][1] > laying->cores[i][0]) {
            return false;
        }
    }
    return true;
}

/* The first place from `from` on that is in no core. */
static int64_t free_place(const struct laying *laying, int64_t from)
{
    size_t low = 0;
    size_t high = laying->core_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (laying->cores[middle][0] < from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && laying->cores[low - 1][1] > from ? laying->cores[low - 1][1] : from;
}

static bool lay_points(struct laying *laying)
{
    for (uint32_t i = 0; i < laying->identities; i++) {
        const struct laid *laid = &laying->laid[i];
        if (!has_point(laid)) {
            continue;
        }
        int64_t from =
            laid->take->called > laid->free->called ? laid->take->called : laid->free->called;
        int64_t to = laid->take->returned < laid->free->returned ? laid->take->returned
                                                                 : laid->free->returned;
        int64_t at = free_place(laying, from);
        if (at > to) {
            return false;
        }
        put(laying, at, laid->take);
        put(laying, at, laid->free);
    }
    return true;
}

static bool lay_answers(struct laying *laying)
{
    const struct whole *whole = laying->whole;
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *told = &whole->operations[i];
        const struct laid *laid = &laying->laid[told->identity];
        if (told->kind != OPERATION_NOT_HELD) {
            continue;
        }
        bool inside = has_core(laid) && laid->take->returned < told->called &&
                      (laid->free == NULL || laid->free->called > told->called);
        int64_t at = !inside              ? told->called
                     : laid->free == NULL ? POSITION_NEVER
                                          : laid->free->called;
        if (at > told->returned) {
            return false;
        }
        put(laying, at, told);
    }
    return true;
}

enum whole_verdict lay_judge(struct whole *whole)
{
    struct arena arena = arena_empty(whole->options->bytes_max);
    struct laying laying = {.whole = whole, .identities = 1};
    for (size_t i = 0; i < whole->count; i++) {
        uint32_t identity = whole->operations[i].identity;
        laying.identities = identity >= laying.identities ? identity + 1 : laying.identities;
    }
    laying.laid = arena_take(&arena, laying.identities * sizeof *laying.laid);
    laying.cores = arena_take(&arena, laying.identities * sizeof *laying.cores);
    laying.positions = arena_take(&arena, (whole->count + 1) * sizeof *laying.positions);
    enum whole_verdict verdict = WHOLE_NOT_FOR_ME;
    bool ready = laying.laid != NULL && laying.cores != NULL && laying.positions != NULL;
    if (ready && sort_out(&laying) && lay_cores(&laying) && lay_points(&laying) &&
        lay_answers(&laying)) {
        if (laying.count > 0) {
            qsort(laying.positions, laying.count, sizeof laying.positions[0], compare_positions);
        }
        for (size_t i = 0; i < laying.count; i++) {
            whole->order[whole->order_count++] = laying.positions[i].operation;
        }
        verdict = WHOLE_LEGAL;
    }
    arena_release(&arena);
    return verdict;
}
