/* tokens.c: a service whose every grant is a greater token: only the tokens have an order. */
#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/whole/whole.h"

#include <stdlib.h>

/* A token that was given at the end of an operation. */
struct given {
    const struct operation *take;
    size_t operation;
    int64_t place; /* where it can happen at the earliest */
};

static int compare_tokens(const void *left, const void *right)
{
    const struct operation *a = ((const struct given *)left)->take;
    const struct operation *b = ((const struct given *)right)->take;
    if (a->fence != b->fence) {
        return a->fence < b->fence ? -1 : 1;
    }
    return (a->called > b->called) - (a->called < b->called);
}

static int compare_places(const void *left, const void *right)
{
    const struct given *a = left;
    const struct given *b = right;
    if (a->place != b->place) {
        return a->place < b->place ? -1 : 1;
    }
    return compare_tokens(left, right);
}

static enum whole_verdict refuse(struct whole *whole, const struct given *first,
                                 const struct given *second)
{
    finding_begin(&whole->finding, LINEAR_FENCE_ORDER, GRADE_NOT_LINEARIZABLE);
    finding_add(&whole->finding, first->take->invoke);
    finding_add(&whole->finding, second->take->invoke);
    return WHOLE_ILLEGAL;
}

/* By tokens, each as early as it can be: behind its call and all smaller ones. */
static enum whole_verdict place_all(struct whole *whole, struct given *list, size_t count)
{
    const struct given *latest = NULL; /* of the smaller ones, the one that was called last */
    for (size_t i = 0; i < count; i++) {
        struct given *given = &list[i];
        if (i > 0 && list[i - 1].take->fence == given->take->fence) {
            return refuse(whole, &list[i - 1], given);
        }
        if (latest != NULL && latest->take->called > given->take->returned) {
            return refuse(whole, given, latest);
        }
        latest = latest == NULL || given->take->called > latest->take->called ? given : latest;
        given->place = latest->take->called;
    }
    return WHOLE_LEGAL;
}

enum whole_verdict tokens_judge(struct whole *whole)
{
    struct arena arena = arena_empty(whole->options->bytes_max);
    struct given *list = arena_take(&arena, (whole->count + 1) * sizeof *list);
    size_t count = 0, others = 0;
    whole->limit = LINEAR_LIMIT_BYTES;
    if (list == NULL) {
        arena_release(&arena);
        return WHOLE_UNKNOWN;
    }
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *take = &whole->operations[i];
        struct given given = {.take = take, .operation = i, .place = take->called};
        bool known = take->kind == OPERATION_TAKE;
        if (known && take->fence != 0) {
            list[count++] = given;
        } else if (known) {
            list[whole->count - ++others] = given;
        }
    }
    qsort(list, count, sizeof *list, compare_tokens);
    enum whole_verdict verdict = place_all(whole, list, count);
    for (size_t i = 0; i < others; i++) {
        list[count + i] = list[whole->count - others + i];
    }
    qsort(list, count + others, sizeof *list, compare_places);
    for (size_t i = 0; i < count + others && whole->order != NULL; i++) {
        whole->order[whole->order_count++] = list[i].operation;
    }
    arena_release(&arena);
    return verdict;
}

enum whole_verdict fences_judge(struct whole *whole)
{
    struct arena arena = arena_empty(whole->options->bytes_max);
    struct given *list = arena_take(&arena, (whole->count + 1) * sizeof *list);
    size_t count = 0;
    for (size_t i = 0; i < whole->count && list != NULL; i++) {
        const struct operation *take = &whole->operations[i];
        if (take->kind == OPERATION_TAKE && take->fence != 0) {
            list[count++] = (struct given){.take = take, .operation = i, .place = take->called};
        }
    }
    if (count > 0) {
        qsort(list, count, sizeof *list, compare_tokens);
    }
    enum whole_verdict verdict = WHOLE_NOT_FOR_ME;
    const struct given *latest = NULL; /* of all smaller ones, the one that was called last */
    for (size_t begin = 0, i = 0; i < count && verdict != WHOLE_ILLEGAL; i++) {
        for (; list[begin].take->fence < list[i].take->fence; begin++) {
            bool later = latest == NULL || list[begin].take->called > latest->take->called;
            latest = later ? &list[begin] : latest;
        }
        if (latest != NULL && latest->take->called > list[i].take->returned) {
            verdict = refuse(whole, &list[i], latest);
        }
    }
    arena_release(&arena);
    return verdict;
}
