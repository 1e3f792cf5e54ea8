/* lease.c: a lease with a promised end, said in the words of an owner's lock for the search. */
#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/frontier.h"

#include <stdlib.h>

/* The one grant and the one release that succeeded, by identity. */
struct lease_names {
    struct operation **take;
    struct operation **free;
    uint32_t count;
};

static int compare_calls(const void *left, const void *right)
{
    const struct operation *a = left;
    const struct operation *b = right;
    return a->called != b->called ? (a->called < b->called ? -1 : 1)
                                  : (a->invoke > b->invoke) - (a->invoke < b->invoke);
}

/* From its promised end on a lease may be over, as if a release of unknown outcome were called. A
 * promise that was over before it arrived held for no known time. */
static struct operation expiry_of(const struct operation *take, const struct operation *free)
{
    bool early = free != NULL && free->called < take->returned;
    struct operation expiry = *take;
    expiry.kind = OPERATION_MAYBE_FREE;
    expiry.called = take->until < take->returned && !early ? take->called : take->until;
    expiry.returned = POSITION_NEVER;
    return expiry;
}

/* A release that succeeded when the promise may have been over need not have found the lock held.
 */
static bool is_soft(const struct operation *release, const struct operation *take)
{
    return take != NULL && take->until != POSITION_NEVER && release->returned > take->until &&
           release->returned > take->returned;
}

static enum whole_verdict lease_rewrite(struct whole *whole, struct operation *rewritten,
                                        struct lease_names *names)
{
    size_t count = 0;
    for (size_t i = 0; i < whole->count; i++) {
        struct operation *operation = &whole->operations[i];
        if (operation->kind == OPERATION_TAKE) {
            if (names->take[operation->identity] != NULL) {
                whole->limit = LINEAR_LIMIT_VALUE_SHARED;
                return WHOLE_UNKNOWN;
            }
            names->take[operation->identity] = operation;
        }
    }
    for (size_t i = 0; i < whole->count; i++) {
        bool undone = whole->operations[i].kind == OPERATION_MAYBE_FREE &&
                      names->free[whole->operations[i].identity] != NULL;
        if (undone) {
            continue; /* the release that succeeded proves that this one had no effect */
        }
        rewritten[count] = whole->operations[i];
        struct operation *take = names->take[rewritten[count].identity];
        if (rewritten[count].kind == OPERATION_FREE && is_soft(&rewritten[count], take)) {
            rewritten[count].kind = OPERATION_MAYBE_FREE;
            rewritten[count].returned = POSITION_NEVER;
        }
        count++;
        const struct operation *free = names->free[whole->operations[i].identity];
        bool ends = free == NULL || is_soft(free, take);
        if (whole->operations[i].kind == OPERATION_TAKE && ends &&
            whole->operations[i].until != POSITION_NEVER) {
            rewritten[count++] = expiry_of(&whole->operations[i], free);
        }
    }
    qsort(rewritten, count, sizeof *rewritten, compare_calls);
    struct linear_options owner = *whole->options;
    owner.model = LINEAR_OWNER;
    owner.order = false; /* the order would name operations that are not there */
    struct whole plain = {.options = &owner, .operations = rewritten, .count = count};
    enum whole_verdict verdict = frontier_judge(&plain);
    whole->finding = plain.finding;
    whole->limit = plain.limit;
    whole->frontier_peak = plain.frontier_peak;
    return verdict;
}

/* One grant has one end: two releases that succeeded contradict each other, expired or not. */
static bool is_released_twice(struct whole *whole, struct lease_names *names)
{
    for (size_t i = 0; i < whole->count; i++) {
        struct operation *operation = &whole->operations[i];
        if (operation->kind != OPERATION_FREE) {
            continue;
        }
        struct operation **first = &names->free[operation->identity];
        if (*first != NULL) {
            whole->finding = (struct linear_finding){
                .reason = LINEAR_RELEASED_TWICE,
                .grade = GRADE_NOT_LINEARIZABLE,
                .count = 2,
                .operations = {(*first)->invoke, operation->invoke},
            };
            return true;
        }
        *first = operation;
    }
    return false;
}

enum whole_verdict lease_judge(struct whole *whole)
{
    struct arena arena = arena_empty(whole->options->bytes_max);
    struct lease_names names = {0};
    for (size_t i = 0; i < whole->count; i++) {
        uint32_t identity = whole->operations[i].identity;
        names.count = identity >= names.count ? identity + 1 : names.count;
    }
    names.take = arena_take(&arena, names.count * sizeof(struct operation *));
    names.free = arena_take(&arena, names.count * sizeof(struct operation *));
    struct operation *rewritten = arena_take(&arena, 2 * whole->count * sizeof *rewritten);
    enum whole_verdict verdict = WHOLE_UNKNOWN;
    whole->limit = LINEAR_LIMIT_BYTES;
    if (names.take != NULL && names.free != NULL && rewritten != NULL) {
        verdict = is_released_twice(whole, &names) ? WHOLE_ILLEGAL
                                                   : lease_rewrite(whole, rewritten, &names);
    }
    arena_release(&arena);
    return verdict;
}
