/* lease.c: a lease with a promised end, said in the words of an owner's lock for the search. */
#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/whole/whole.h"

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
    expiry.name = 0;
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

/* The operations in the words of an owner's lock; `name` is an operation's own place, from 1. */
static size_t lease_rewrite(const struct whole *whole, struct operation *rewritten,
                            const struct lease_names *names)
{
    size_t count = 0;
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        const struct operation *take = names->take[operation->identity];
        const struct operation *free = names->free[operation->identity];
        if (operation->kind == OPERATION_MAYBE_FREE && free != NULL) {
            continue; /* the release that succeeded proves that this one had no effect */
        }
        rewritten[count] = *operation;
        rewritten[count].name = (uint32_t)i + 1;
        if (operation->kind == OPERATION_FREE && is_soft(operation, take)) {
            rewritten[count].kind = OPERATION_MAYBE_FREE;
            rewritten[count].returned = POSITION_NEVER;
        }
        count++;
        bool ends = free == NULL || is_soft(free, take);
        if (operation->kind == OPERATION_TAKE && ends && operation->until != POSITION_NEVER) {
            rewritten[count++] = expiry_of(operation, free);
        }
    }
    qsort(rewritten, count, sizeof *rewritten, compare_calls);
    return count;
}

/* A release that succeeded and is not in the order yet, and where it comes. */
struct late {
    size_t place;
    int64_t called;
    size_t operation;
};

static int compare_late(const void *left, const void *right)
{
    const struct late *a = left;
    const struct late *b = right;
    if (a->place != b->place) {
        return a->place < b->place ? -1 : 1;
    }
    return (a->called > b->called) - (a->called < b->called);
}

/* Behind the last operation that returned before the lease was over and the release was called. */
static size_t late_place(const struct whole *whole, const int64_t *earliest, size_t operation,
                         const struct lease_names *names)
{
    const struct operation *release = &whole->operations[operation];
    const struct operation *take = names->take[release->identity];
    int64_t from = release->called > take->until ? release->called : take->until;
    from = take->returned + 1 > from ? take->returned + 1 : from;
    size_t low = 0;
    size_t high = whole->order_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (earliest[middle] < from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Put those releases into the order that need not have found the lock held. */
static bool lay_late(struct whole *whole, struct arena *arena, const struct lease_names *names)
{
    size_t count = whole->order_count;
    int64_t *earliest = arena_take(arena, (count + 1) * sizeof *earliest);
    struct late *late = arena_take(arena, (whole->count + 1) * sizeof *late);
    bool *seen = arena_take(arena, whole->count + 1);
    if (earliest == NULL || late == NULL || seen == NULL) {
        return false;
    }
    earliest[count] = POSITION_NEVER; /* of those from a place on, the first return */
    for (size_t i = count; i-- > 0;) {
        int64_t returned = whole->operations[whole->order[i]].returned;
        earliest[i] = returned < earliest[i + 1] ? returned : earliest[i + 1];
        seen[whole->order[i]] = true;
    }
    size_t late_count = 0;
    for (size_t i = 0; i < whole->count; i++) {
        if (whole->operations[i].kind == OPERATION_FREE && !seen[i]) {
            late[late_count++] = (struct late){.place = late_place(whole, earliest, i, names),
                                               .called = whole->operations[i].called,
                                               .operation = i};
        }
    }
    qsort(late, late_count, sizeof *late, compare_late);
    whole->order_count = count + late_count;
    for (size_t to = whole->order_count, from = count; late_count > 0; to--) {
        bool here = late[late_count - 1].place == from;
        whole->order[to - 1] = here ? late[--late_count].operation : whole->order[--from];
    }
    return true;
}

/*
 * The order of the given operations from that of the rewritten ones. Where a release that succeeded
 * stands for the end of a lease, it may stand behind its own return, or in front of what returned
 * before it was called: then it is left for later.
 */
static void take_over(struct whole *whole, struct whole *plain)
{
    int64_t last_call = INT64_MIN;
    size_t count = 0;
    for (size_t i = 0; i < plain->order_count; i++) {
        uint32_t name = plain->operations[plain->order[i]].name;
        const struct operation *operation = name == 0 ? NULL : &whole->operations[name - 1];
        if (operation != NULL && operation->returned >= last_call) {
            last_call = operation->called > last_call ? operation->called : last_call;
            plain->order[count++] = name - 1;
        }
    }
    int64_t first_return = POSITION_NEVER;
    size_t left = count;
    for (size_t i = count; i-- > 0;) {
        const struct operation *operation = &whole->operations[plain->order[i]];
        if (operation->called <= first_return) {
            first_return = operation->returned < first_return ? operation->returned : first_return;
            plain->order[--left] = plain->order[i];
        }
    }
    for (size_t i = left; i < count; i++) {
        whole->order[whole->order_count++] = plain->order[i];
    }
}

/* Decide the rewritten operations, and lay the order of the given ones. */
static enum whole_verdict lease_decide(struct whole *whole, struct whole *plain,
                                       struct arena *arena, const struct lease_names *names)
{
    if (whole->order != NULL) {
        plain->order = arena_take(arena, (plain->count + 1) * sizeof *plain->order);
        if (plain->order == NULL) {
            return WHOLE_UNKNOWN;
        }
    }
    enum whole_verdict verdict = plain->order == NULL ? WHOLE_NOT_FOR_ME : reads_judge(plain);
    verdict = verdict == WHOLE_NOT_FOR_ME ? frontier_judge(plain) : verdict;
    whole->finding = plain->finding;
    whole->limit = plain->limit;
    whole->frontier_peak = plain->frontier_peak;
    if (verdict == WHOLE_LEGAL && plain->order != NULL) {
        take_over(whole, plain);
    }
    bool laid = verdict != WHOLE_LEGAL || plain->order == NULL || lay_late(whole, arena, names);
    return laid ? verdict : WHOLE_UNKNOWN;
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

/* False if two grants share an identity. */
static bool name_takes(const struct whole *whole, struct lease_names *names)
{
    for (size_t i = 0; i < whole->count; i++) {
        struct operation *operation = &whole->operations[i];
        if (operation->kind == OPERATION_TAKE) {
            if (names->take[operation->identity] != NULL) {
                return false;
            }
            names->take[operation->identity] = operation;
        }
    }
    return true;
}

static enum whole_verdict lease_settle(struct whole *whole, struct arena *arena,
                                       struct lease_names *names, struct operation *rewritten)
{
    if (is_released_twice(whole, names)) {
        return WHOLE_ILLEGAL;
    }
    if (!name_takes(whole, names)) {
        whole->limit = LINEAR_LIMIT_VALUE_SHARED;
        return WHOLE_UNKNOWN;
    }
    struct linear_options owner = *whole->options;
    owner.model = LINEAR_OWNER;
    struct whole plain = {.options = &owner, .operations = rewritten};
    plain.count = lease_rewrite(whole, rewritten, names);
    return lease_decide(whole, &plain, arena, names);
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
        verdict = lease_settle(whole, &arena, &names, rewritten);
    }
    arena_release(&arena);
    return verdict;
}
