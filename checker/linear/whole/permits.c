/* permits.c: a semaphore whose grants can be told apart: never more than k cores at a time. For
 * what crowd.c cannot tell as events arrive. */
#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/whole/whole.h"

#include <stdlib.h>

/* Cores and points are those of chain.h; here up to k cores may overlap, and a point needs a place
 * where fewer do. O(n log n). */
struct grant {
    const struct operation *take, *free;
    int64_t unknown_release; /* position of the earliest call, or POSITION_NEVER */
};

struct edge {
    int64_t at;
    int32_t change; /* +1, -1 */
    uint32_t identity;
};

struct sweep {
    struct whole *whole;
    struct grant *grants; /* by identity */
    uint32_t identities;
    struct edge *edges;
    size_t edge_count;
    int64_t (*full)[2]; /* where k cores overlap: from, to */
    size_t full_count;
};

static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left;
    const struct edge *b = right;
    return a->at != b->at ? (a->at < b->at ? -1 : 1) : a->change - b->change;
}

static enum whole_verdict refuse(struct whole *whole, enum linear_reason reason,
                                 const struct operation *const operations[4])
{
    whole->finding =
        (struct linear_finding){.reason = (uint8_t)reason, .grade = GRADE_NOT_LINEARIZABLE};
    for (int i = 0; i < 4; i++) {
        if (operations[i] != NULL) {
            whole->finding.operations[whole->finding.count++] = operations[i]->invoke;
        }
    }
    return WHOLE_ILLEGAL;
}

static int64_t core_end(const struct grant *grant)
{
    return grant->free != NULL ? grant->free->called : grant->unknown_release;
}

static bool has_core(const struct grant *grant)
{
    return grant->take != NULL && grant->take->kind == OPERATION_TAKE &&
           core_end(grant) > grant->take->returned;
}

/* Sort the operations into grants. */
static enum whole_verdict sort_out(struct sweep *sweep)
{
    struct whole *whole = sweep->whole;
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        struct grant *grant = &sweep->grants[operation->identity];
        bool take = operation->kind == OPERATION_TAKE || operation->kind == OPERATION_MAYBE_TAKE;
        if (operation->kind == OPERATION_BUSY || operation->kind > OPERATION_NOT_HELD ||
            (take && grant->take != NULL)) {
            return WHOLE_NOT_FOR_ME;
        }
        if (take) {
            grant->take = operation;
        }
    }
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        struct grant *grant = &sweep->grants[operation->identity];
        if (operation->kind == OPERATION_FREE && grant->free != NULL) {
            return refuse(whole, LINEAR_RELEASED_TWICE,
                          (const struct operation *[4]){grant->take, grant->free, operation});
        } else if (operation->kind == OPERATION_FREE) {
            grant->free = operation;
        } else if (operation->kind == OPERATION_MAYBE_FREE &&
                   operation->called < grant->unknown_release) {
            grant->unknown_release = operation->called;
        }
    }
    for (uint32_t i = 0; i < sweep->identities; i++) {
        const struct grant *grant = &sweep->grants[i];
        if (grant->free != NULL &&
            (grant->take == NULL || grant->free->returned < grant->take->called)) {
            return refuse(whole, LINEAR_NEVER_ACQUIRED, (const struct operation *[4]){grant->free});
        }
    }
    return WHOLE_LEGAL;
}

static enum whole_verdict check_not_held(struct sweep *sweep)
{
    struct whole *whole = sweep->whole;
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *told = &whole->operations[i];
        const struct grant *grant = &sweep->grants[told->identity];
        bool held = told->kind == OPERATION_NOT_HELD && has_core(grant) &&
                    grant->take->returned < told->called && core_end(grant) > told->returned;
        if (held) {
            return refuse(whole, LINEAR_NOT_HELD_WHILE_HELD,
                          (const struct operation *[4]){grant->take, told, grant->free});
        }
    }
    return WHOLE_LEGAL;
}

/* The grants whose cores contain `at`, up to four. */
static enum whole_verdict refuse_crowd(struct sweep *sweep, int64_t at)
{
    const struct operation *crowd[4] = {NULL};
    int count = 0;
    for (uint32_t i = 0; i < sweep->identities && count < 4; i++) {
        const struct grant *grant = &sweep->grants[i];
        if (has_core(grant) && grant->take->returned <= at && core_end(grant) > at) {
            crowd[count++] = grant->take;
        }
    }
    return refuse(sweep->whole, LINEAR_TOO_MANY, crowd);
}

static enum whole_verdict sweep_cores(struct sweep *sweep)
{
    uint32_t permits = sweep->whole->options->permits;
    for (uint32_t i = 0; i < sweep->identities; i++) {
        const struct grant *grant = &sweep->grants[i];
        if (has_core(grant)) {
            sweep->edges[sweep->edge_count++] =
                (struct edge){.at = grant->take->returned, .change = 1, .identity = i};
            sweep->edges[sweep->edge_count++] =
                (struct edge){.at = core_end(grant), .change = -1, .identity = i};
        }
    }
    if (sweep->edge_count > 0) {
        qsort(sweep->edges, sweep->edge_count, sizeof sweep->edges[0], compare_edges);
    }
    uint32_t held = 0;
    for (size_t i = 0; i < sweep->edge_count; i++) {
        const struct edge *edge = &sweep->edges[i];
        bool was_full = held == permits;
        held = edge->change > 0 ? held + 1 : held - 1;
        if (held > permits) {
            return refuse_crowd(sweep, edge->at);
        }
        if (held == permits) {
            sweep->full[sweep->full_count][0] = edge->at;
            sweep->full[sweep->full_count++][1] = POSITION_NEVER;
        } else if (was_full) {
            sweep->full[sweep->full_count - 1][1] = edge->at;
        }
    }
    return WHOLE_LEGAL;
}

/* The last stretch of k cores that begins before `from` must not reach behind `to`. */
static bool point_fits(const struct sweep *sweep, int64_t from, int64_t to)
{
    size_t low = 0;
    size_t high = sweep->full_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sweep->full[middle][0] < from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 || sweep->full[low - 1][1] < to;
}

static enum whole_verdict place_points(struct sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->identities; i++) {
        const struct grant *grant = &sweep->grants[i];
        bool must =
            grant->take != NULL && (grant->free != NULL || grant->take->kind == OPERATION_TAKE);
        if (!must || has_core(grant)) {
            continue;
        }
        int64_t end = core_end(grant);
        int64_t from = grant->take->called > end ? grant->take->called : end;
        int64_t to = grant->take->returned;
        to = grant->free != NULL && grant->free->returned < to ? grant->free->returned : to;
        if (!point_fits(sweep, from, to)) {
            return refuse(sweep->whole, LINEAR_POINT_INSIDE,
                          (const struct operation *[4]){grant->take, grant->free});
        }
    }
    return WHOLE_LEGAL;
}

enum whole_verdict permits_judge(struct whole *whole)
{
    if (whole->options->order) {
        return WHOLE_NOT_FOR_ME; /* the search keeps an order */
    }
    struct arena arena = arena_empty(whole->options->bytes_max);
    struct sweep sweep = {.whole = whole, .identities = 1};
    for (size_t i = 0; i < whole->count; i++) {
        uint32_t identity = whole->operations[i].identity;
        sweep.identities = identity >= sweep.identities ? identity + 1 : sweep.identities;
    }
    sweep.grants = arena_take(&arena, sweep.identities * sizeof *sweep.grants);
    sweep.edges = arena_take(&arena, 2 * sweep.identities * sizeof *sweep.edges);
    sweep.full = arena_take(&arena, 2 * sweep.identities * sizeof *sweep.full);
    whole->limit = LINEAR_LIMIT_BYTES;
    enum whole_verdict verdict = WHOLE_UNKNOWN;
    if (sweep.grants != NULL && sweep.edges != NULL && sweep.full != NULL) {
        for (uint32_t i = 0; i < sweep.identities; i++) {
            sweep.grants[i].unknown_release = POSITION_NEVER;
        }
        verdict = sort_out(&sweep);
        verdict = verdict == WHOLE_LEGAL ? check_not_held(&sweep) : verdict;
        verdict = verdict == WHOLE_LEGAL ? sweep_cores(&sweep) : verdict;
        verdict = verdict == WHOLE_LEGAL ? place_points(&sweep) : verdict;
    }
    arena_release(&arena);
    return verdict;
}
