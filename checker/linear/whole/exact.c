/* exact.c: leases that the server ends by itself, between ttl and ttl + drift after the grant. */
#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/whole/whole.h"

#include <stdlib.h>

/*
 * P2b. Each grant is a job: it starts at some a in [start_min, start_max] and ends at end(a), which
 * never falls as a grows, so for a given order the leftmost starts are the best. A job that must
 * hold for some time whatever its start (end(start_min) > start_max: its acquire took less than the
 * ttl) can be ordered with another such job in one way only, by start_max. The rest is for the
 * frontier engine: with mixed lengths it is sequencing with release times and deadlines, which is
 * NP-hard.
 */

struct job {
    int64_t start_min, start_max;
    int64_t ended;  /* by a release: a known time, else INT64_MAX */
    int64_t length; /* it ends this much after its start at the earliest; 0 for a point */
    const struct operation *take;
    const struct operation *free;
};

struct jobs {
    struct job *list;
    size_t count;
};

static int64_t job_end(const struct job *job, int64_t start)
{
    int64_t end = job->length < INT64_MAX / 2 - start ? start + job->length : INT64_MAX;
    end = end < job->ended ? end : job->ended;
    return end > start ? end : start;
}

static int64_t time_called(const struct operation *operation)
{
    return operation->called / 2;
}

static int64_t time_returned(const struct operation *operation)
{
    return operation->returned == POSITION_NEVER ? INT64_MAX / 4 : (operation->returned - 1) / 2;
}

static enum whole_verdict refuse(struct whole *whole, enum linear_reason reason,
                                 const struct operation *const operations[3])
{
    whole->finding =
        (struct linear_finding){.reason = (uint8_t)reason, .grade = GRADE_NOT_LINEARIZABLE};
    for (int i = 0; i < 3; i++) {
        if (operations[i] != NULL) {
            whole->finding.operations[whole->finding.count++] = operations[i]->invoke;
        }
    }
    return WHOLE_ILLEGAL;
}

/* The operations of one identity: sorted by call, `take` among them. */
struct family {
    const struct operation *take, *free;
    const struct operation *again; /* another release that succeeded */
    int64_t unknown_release;       /* called at, or INT64_MAX */
};

/* False if one job does not say it: somebody looked, an extension, an identity that holds again. */
static bool family_add(struct family *family, const struct operation *operation)
{
    switch ((enum operation_kind)operation->kind) {
    case OPERATION_TAKE:
    case OPERATION_MAYBE_TAKE:
        if (family->take != NULL) {
            return false;
        }
        family->take = operation;
        return true;
    case OPERATION_FREE:
        family->again = family->free != NULL ? operation : NULL;
        family->free = family->free != NULL ? family->free : operation;
        return true;
    case OPERATION_MAYBE_FREE:
        if (time_called(operation) < family->unknown_release) {
            family->unknown_release = time_called(operation);
        }
        return true;
    case OPERATION_NOT_HELD:
        return true; /* in the second pass, when the rest is known */
    case OPERATION_BUSY:
    case OPERATION_EXTEND:
    case OPERATION_MAYBE_EXTEND:
    case OPERATION_SEEN_FREE:
    case OPERATION_SEEN_HELD:
    case OPERATION_SEEN_OWNER:
        return false;
    case OPERATION_KINDS:
        break;
    }
    UNREACHABLE();
}

/* The job of a family; false if it need not have held at all. */
static bool job_of(const struct whole *whole, const struct family *family, struct job *job)
{
    int64_t ttl = whole->options->ttl_ns;
    int64_t latest = ttl + whole->options->drift_ns;
    const struct operation *take = family->take;
    const struct operation *free = family->free;
    if (take->kind == OPERATION_MAYBE_TAKE && free == NULL) {
        return false;
    }
    *job = (struct job){.start_min = time_called(take),
                        .start_max = time_returned(take),
                        .ended = family->unknown_release,
                        .length = ttl,
                        .take = take,
                        .free = free};
    if (free != NULL) {
        int64_t proven = time_called(free);
        int64_t earliest = proven - latest;
        job->start_min = earliest > job->start_min ? earliest : job->start_min;
        job->start_max =
            time_returned(free) < job->start_max ? time_returned(free) : job->start_max;
        job->ended = proven;
        job->length = INT64_MAX / 2;
        if (take->kind == OPERATION_MAYBE_TAKE) {
            job->start_min = proven > job->start_min ? proven : job->start_min;
        }
    }
    return true;
}

/* A release was told "not held": before the grant took effect, or when the lease was over. False if
 * it can have been either, which no single job can say. */
static bool job_bound(const struct whole *whole, struct job *job, const struct operation *told)
{
    if (job->ended <= time_returned(told)) {
        return true;
    }
    bool can_precede = told->called < job->take->returned;
    bool can_follow =
        job->free == NULL && job->start_min <= time_returned(told) - whole->options->ttl_ns;
    if (can_precede && can_follow) {
        return false;
    }
    if (can_precede) {
        int64_t earliest = time_called(told);
        job->start_min = earliest > job->start_min ? earliest : job->start_min;
        return true;
    }
    int64_t latest = can_follow ? time_returned(told) - whole->options->ttl_ns : INT64_MIN / 4;
    job->start_max = latest < job->start_max ? latest : job->start_max;
    return true;
}

static int compare_jobs(const void *left, const void *right)
{
    const struct job *a = left;
    const struct job *b = right;
    if (a->start_max != b->start_max) {
        return a->start_max < b->start_max ? -1 : 1;
    }
    return (a->start_min > b->start_min) - (a->start_min < b->start_min);
}

/* Leftmost, by start_max: exact where every job has a part that it must hold. */
static enum whole_verdict place_in_order(struct whole *whole, const struct jobs *jobs)
{
    int64_t free_from = INT64_MIN / 2;
    for (size_t i = 0; i < jobs->count; i++) {
        const struct job *job = &jobs->list[i];
        int64_t start = job->start_min > free_from ? job->start_min : free_from;
        if (start > job->start_max) {
            const struct job *before = i > 0 ? &jobs->list[i - 1] : job;
            return refuse(whole, LINEAR_NO_ORDER,
                          (const struct operation *[3]){before->take, before->free, job->take});
        }
        free_from = job_end(job, start);
    }
    return WHOLE_LEGAL;
}

/* What a job holds whatever its start, [start_max, end(start_min)], must not meet another's. */
static enum whole_verdict check_forced(struct whole *whole, const struct jobs *jobs)
{
    const struct job *before = NULL; /* of those so far the one whose forced part ends last */
    for (size_t i = 0; i < jobs->count; i++) {
        const struct job *job = &jobs->list[i];
        int64_t end = job_end(job, job->start_min);
        if (end <= job->start_max) {
            continue;
        }
        int64_t held_until = before == NULL ? INT64_MIN : job_end(before, before->start_min);
        if (held_until > job->start_max) {
            return refuse(whole, LINEAR_TWO_HOLDS,
                          (const struct operation *[3]){before->take, before->free, job->take});
        }
        before = job;
    }
    return WHOLE_LEGAL;
}

static enum whole_verdict place(struct whole *whole, struct jobs *jobs)
{
    bool ordered = true;
    for (size_t i = 0; i < jobs->count; i++) {
        const struct job *job = &jobs->list[i];
        if (job->start_min > job->start_max) {
            return refuse(whole, LINEAR_NO_ORDER,
                          (const struct operation *[3]){job->take, job->free, NULL});
        }
        ordered = ordered && job_end(job, job->start_min) > job->start_max;
    }
    if (jobs->count > 0) {
        qsort(jobs->list, jobs->count, sizeof jobs->list[0], compare_jobs);
    }
    if (ordered) {
        return place_in_order(whole, jobs);
    }
    if (check_forced(whole, jobs) == WHOLE_ILLEGAL) {
        return WHOLE_ILLEGAL; /* whatever the order of the others */
    }
    return WHOLE_NOT_FOR_ME;
}

static enum whole_verdict make_jobs(struct whole *whole, struct family *families,
                                    uint32_t identities, struct jobs *jobs, size_t *job_index)
{
    for (uint32_t i = 0; i < identities; i++) {
        families[i].unknown_release = INT64_MAX;
    }
    for (size_t i = 0; i < whole->count; i++) {
        struct operation *operation = &whole->operations[i];
        if (!family_add(&families[operation->identity], operation)) {
            return WHOLE_NOT_FOR_ME;
        }
    }
    for (uint32_t i = 0; i < identities; i++) {
        struct family *family = &families[i];
        if (family->again != NULL) {
            return refuse(whole, LINEAR_RELEASED_TWICE,
                          (const struct operation *[3]){family->take, family->free, family->again});
        }
        bool early = family->free != NULL &&
                     (family->take == NULL || family->free->returned < family->take->called);
        if (early) {
            return refuse(whole, LINEAR_NEVER_ACQUIRED,
                          (const struct operation *[3]){family->free, NULL, NULL});
        }
        job_index[i] = SIZE_MAX;
        if (family->take != NULL && job_of(whole, family, &jobs->list[jobs->count])) {
            job_index[i] = jobs->count++;
        }
    }
    for (size_t i = 0; i < whole->count; i++) {
        size_t at = job_index[whole->operations[i].identity];
        if (whole->operations[i].kind == OPERATION_NOT_HELD && at != SIZE_MAX) {
            if (!job_bound(whole, &jobs->list[at], &whole->operations[i])) {
                return WHOLE_NOT_FOR_ME;
            }
        }
    }
    return WHOLE_LEGAL;
}

enum whole_verdict exact_judge(struct whole *whole)
{
    struct arena arena = arena_empty(whole->options->bytes_max);
    uint32_t identities = 1;
    for (size_t i = 0; i < whole->count; i++) {
        uint32_t identity = whole->operations[i].identity;
        identities = identity >= identities ? identity + 1 : identities;
    }
    struct family *families = arena_take(&arena, identities * sizeof *families);
    size_t *job_index = arena_take(&arena, identities * sizeof *job_index);
    struct jobs jobs = {.list = arena_take(&arena, identities * sizeof(struct job))};
    enum whole_verdict verdict = WHOLE_UNKNOWN;
    whole->limit = LINEAR_LIMIT_BYTES;
    if (families != NULL && job_index != NULL && jobs.list != NULL) {
        verdict = make_jobs(whole, families, identities, &jobs, job_index);
        verdict = verdict == WHOLE_LEGAL ? place(whole, &jobs) : verdict;
    }
    arena_release(&arena);
    return verdict;
}
