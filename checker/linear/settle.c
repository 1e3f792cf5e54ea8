/* settle.c: judges what was kept of each resource, and adds to the result. */
#include "checker/linear/settle.h"

#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/whole/order.h"
#include "checker/linear/whole/whole.h"

#include <string.h>

static bool order_ready(struct linear *linear, size_t count)
{
    if (!linear->options.order) {
        return true;
    }
    size_t bytes = (linear->order_count + count + 1) * sizeof *linear->order;
    uint64_t *grown = memory_resize(linear->order, bytes);
    if (grown == NULL) {
        return false;
    }
    linear->order = grown;
    return true;
}

static const struct operation *named(const struct whole *whole, uint64_t invoke)
{
    for (size_t i = 0; i < whole->count; i++) {
        if (whole->operations[i].invoke == invoke) {
            return &whole->operations[i];
        }
    }
    return NULL;
}

/* Where the holder's own time is up, if it is a lease. */
static int64_t promised_end(const struct linear_options *options, const struct operation *take)
{
    return options->model == LINEAR_LEASE_EXACT ? take->called + 2 * options->ttl_ns : take->until;
}

/* Nobody gave the lock away: the first of the two was told that it holds, and had not asked for a
 * release when the second was told so. */
static bool is_definite(const struct linear *linear, const struct whole *whole)
{
    const struct linear_finding *finding = &whole->finding;
    uint8_t model = linear->options.model;
    if (finding->count != 2 || model == LINEAR_MUTEX || model == LINEAR_SEMAPHORE) {
        return false;
    }
    const struct operation *first = named(whole, finding->operations[0]);
    const struct operation *second = named(whole, finding->operations[1]);
    ASSERT(first != NULL && second != NULL);
    if (first->returned > second->returned) {
        const struct operation *swapped = first;
        first = second;
        second = swapped;
    }
    if (first->kind != OPERATION_TAKE || second->kind != OPERATION_TAKE ||
        first->name == second->name || promised_end(&linear->options, first) <= second->returned) {
        return false;
    }
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *free = &whole->operations[i];
        bool frees = free->kind == OPERATION_FREE || free->kind == OPERATION_MAYBE_FREE ||
                     free->kind == OPERATION_NOT_HELD;
        if (frees && free->name == first->name && free->called < second->returned &&
            free->returned > first->returned) {
            return false;
        }
    }
    for (size_t i = 0; i < linear->log.ask_count; i++) {
        const struct ask *ask = &linear->log.asks[i];
        if (ask->resource == first->resource && ask->name == first->name &&
            ask->called < second->returned && ask->returned > first->returned) {
            return false;
        }
    }
    return true;
}

/* The acquires and releases of a lock by identity: the last of each, and the one before each; from
 * 1, or 0. */
struct turns_taken {
    uint32_t *last_take, *last_free, *before;
};

static int64_t asked_or_granted(const struct operation *take)
{
    return take->kind == OPERATION_TAKE ? take->returned : take->called;
}

/* The last acquire of its caller that was granted before it was called, or is of unknown outcome;
 * NULL if there is none, or one that was let go before. */
static struct operation *extended_by(const struct turns_taken *turns, struct operation *operations,
                                     const struct operation *extend)
{
    uint32_t take = turns->last_take[extend->identity];
    while (take != 0 && asked_or_granted(&operations[take - 1]) >= extend->called) {
        take = turns->before[take];
    }
    uint32_t free = take == 0 ? 0 : turns->last_free[extend->identity];
    for (; free != 0 && operations[free - 1].called > operations[take - 1].called;
         free = turns->before[free]) {
        if (operations[free - 1].returned < extend->called) {
            return NULL;
        }
    }
    return take == 0 ? NULL : &operations[take - 1];
}

/* Extensions of a `lease` move ends, and are no operations then. */
static void move_ends(const struct turns_taken *turns, struct operation *operations, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        const struct operation one = operations[i];
        if (one.kind == OPERATION_EXTEND) {
            struct operation *take = extended_by(turns, operations, &one);
            bool later = take != NULL && one.until != POSITION_NEVER && one.until > take->until;
            if (later && one.returned > take->told) {
                take->until = one.until;
            }
            continue;
        }
        operations[kept++] = one;
        bool takes = one.kind == OPERATION_TAKE || one.kind == OPERATION_MAYBE_TAKE;
        if (takes || one.kind == OPERATION_FREE) {
            uint32_t *last = takes ? turns->last_take : turns->last_free;
            turns->before[kept] = last[one.identity];
            last[one.identity] = (uint32_t)kept;
        }
    }
    *count = kept;
}

/* False without memory for it. */
static bool ends_ready(const struct linear *linear, struct operation *operations, size_t *count)
{
    uint32_t identities = 0;
    for (size_t i = 0; i < *count; i++) {
        uint32_t identity = operations[i].identity;
        identities = identity > identities ? identity : identities;
    }
    if (linear->options.model != LINEAR_LEASE) {
        return true;
    }
    struct arena arena = arena_empty(linear->options.bytes_max);
    struct turns_taken turns = {
        arena_take(&arena, (identities + 1) * sizeof(uint32_t)),
        arena_take(&arena, (identities + 1) * sizeof(uint32_t)),
        arena_take(&arena, (*count + 1) * sizeof(uint32_t)),
    };
    bool ready = turns.last_take != NULL && turns.last_free != NULL && turns.before != NULL;
    if (ready && *count < UINT32_MAX) {
        memset(turns.last_take, 0, (identities + 1) * sizeof(uint32_t));
        memset(turns.last_free, 0, (identities + 1) * sizeof(uint32_t));
        move_ends(&turns, operations, count);
    }
    arena_release(&arena);
    return ready && *count < UINT32_MAX;
}

static enum whole_verdict judge(struct linear *linear, struct whole *whole, struct arena *arena,
                                bool *searched)
{
    bool ready = order_ready(linear, whole->count);
    if (linear->options.order && ready) {
        whole->order = arena_take(arena, (whole->count + 1) * sizeof *whole->order);
        ready = whole->order != NULL;
    }
    if (!ready) {
        whole->limit = LINEAR_LIMIT_BYTES;
        return WHOLE_UNKNOWN;
    }
    enum whole_verdict verdict = whole_judge(whole, searched);
    if (whole->frontier_peak > linear->result.frontier_peak) {
        linear->result.frontier_peak = whole->frontier_peak;
    }
    return verdict;
}

/* An acquire that named nobody is its process's, or else anybody's. */
static enum whole_verdict judge_named(struct linear *linear, struct whole *whole,
                                      struct arena *arena)
{
    bool searched = false, again = false;
    enum whole_verdict verdict = judge(linear, whole, arena, &searched);
    struct whole adopted = {.options = whole->options, .count = whole->count};
    if (verdict == WHOLE_ILLEGAL) {
        adopted.operations =
            log_adopt(&linear->log, whole->operations, &adopted.count, linear->reentrant, arena);
    }
    if (adopted.operations != NULL) {
        verdict = judge(linear, &adopted, arena, &again);
        *whole = adopted;
    }
    linear->result.frontier_count += searched || again ? 1 : 0;
    linear->result.fast_count += searched || again ? 0 : 1;
    return verdict;
}

static void judge_resource(struct linear *linear, size_t begin, size_t end)
{
    struct operation *operations = &linear->log.operations[begin];
    uint32_t resource = operations->resource;
    size_t count = end - begin;
    bool moved = ends_ready(linear, operations, &count);
    if (count == 0) {
        return; /* extensions alone say nothing */
    }
    struct whole whole = {.options = &linear->options,
                          .operations = operations,
                          .count = count,
                          .limit = LINEAR_LIMIT_BYTES};
    struct arena arena = arena_empty(linear->options.bytes_max);
    enum whole_verdict verdict = moved ? judge_named(linear, &whole, &arena) : WHOLE_UNKNOWN;
    if (verdict == WHOLE_ILLEGAL) {
        ASSERT(whole.finding.reason != LINEAR_LEGAL);
        linear->keys[resource].limit = LINEAR_LIMIT_NONE;
        if (linear->result.violations == 0) {
            whole_refine(&whole);
            whole.finding.grade =
                is_definite(linear, &whole) ? GRADE_DEFINITE : whole.finding.grade;
        }
        stream_find(linear, resource, &whole.finding);
    } else if (verdict == WHOLE_UNKNOWN) {
        linear->result.limit = whole.limit;
        linear->keys[resource].unsettled = true;
    }
    if (verdict == WHOLE_LEGAL && whole.order_count > 0) {
        ASSERT(order_holds(&whole));
    }
    for (size_t i = 0; i < whole.order_count && verdict == WHOLE_LEGAL; i++) {
        linear->order[linear->order_count++] = whole.operations[whole.order[i]].invoke;
    }
    arena_release(&arena);
}

bool settle_is_left(const struct linear *linear, uint32_t resource)
{
    const struct stream_key *key = &linear->keys[resource];
    bool all = !linear->judges || linear->options.order;
    return key->used && !key->violated && (all || key->limit != LINEAR_LIMIT_NONE);
}

void settle_resources(struct linear *linear)
{
    struct log *log = &linear->log;
    log_sort(log);
    size_t begin = 0;
    while (begin < log->count) {
        uint32_t resource = log->operations[begin].resource;
        size_t end = begin;
        while (end < log->count && log->operations[end].resource == resource) {
            end++;
        }
        if (settle_is_left(linear, resource)) {
            judge_resource(linear, begin, end);
        }
        begin = end;
    }
}
