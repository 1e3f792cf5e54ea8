/* plain_deadlock.h: of the second judge, `deadlock_freedom`. */
#ifndef TESTS_JUDGE_PLAIN_DEADLOCK_H
#define TESTS_JUDGE_PLAIN_DEADLOCK_H

#include "tests/judge/plain_keys.h"

/* Until when a fault that had begun by event `last` goes on, and what delays of the run held back
 * may come; INT64_MAX where one that lasts has no end. */
static inline int64_t plain_comes_until(const struct plain_history *h, size_t last)
{
    int64_t until_ns = 0;
    for (size_t i = 0; i <= last; i++) {
        const struct history_event *e = &h->events[i];
        if (!plain_begins(e)) {
            continue;
        }
        bool lasts = fault_trait_of((enum fault_kind)e->fault_kind)->life == FAULT_LASTS;
        int64_t end_ns = plain_fault_over_ns(h, i);
        if ((lasts || end_ns != INT64_MAX) && end_ns > until_ns) {
            until_ns = end_ns;
        }
    }
    return until_ns;
}

/* "From the first ask behind the heal, or from the heal where an older ask is granted before there
 * is one, to the first grant to anybody": longer than ttl + bound. "What comes last may be a place
 * in a queue: the wait begins then at the earliest, and where a fault goes on behind the heal, when
 * it is over." */
static inline enum plain plain_deadlock_of(const struct plain_history *h, size_t heal,
                                           uint32_t resource)
{
    int64_t limit_ns = h->header->ttl_ns + h->header->bound_ns;
    int64_t from_ns = INT64_MAX;
    for (size_t i = heal + 1; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        bool key = plain_key(e, HISTORY_KEY_SET) || plain_key(e, HISTORY_KEY_EXTENDED);
        if (e->resource == resource && key && from_ns != INT64_MAX &&
            e->time_ns <= plain_comes_until(h, i)) {
            from_ns = e->time_ns;
        }
        if (e->kind != HISTORY_OP || e->resource != resource) {
            continue;
        }
        if (plain_is(e, HISTORY_ACQUIRE, HISTORY_INVOKE) && from_ns == INT64_MAX) {
            from_ns = e->time_ns;
        }
        if (plain_granted(e)) {
            int64_t since_ns = from_ns == INT64_MAX ? h->events[heal].time_ns : from_ns;
            int64_t come_ns = plain_comes_until(h, i);
            since_ns = come_ns > since_ns ? come_ns : since_ns;
            return e->time_ns - since_ns > limit_ns ? PLAIN_FAIL : PLAIN_PASS;
        }
    }
    if (from_ns == INT64_MAX) {
        return PLAIN_NOTHING;
    }
    int64_t come_ns = plain_comes_until(h, h->count - 1);
    from_ns = come_ns > from_ns ? come_ns : from_ns;
    return h->events[h->count - 1].time_ns - from_ns > limit_ns ? PLAIN_FAIL : PLAIN_NOTHING;
}

static inline enum plain plain_deadlock_freedom(const struct plain_history *h)
{
    size_t heal = h->count;
    for (size_t i = 0; i < h->count; i++) {
        if (h->events[i].kind == HISTORY_PHASE && h->events[i].f == HISTORY_HEALED) {
            heal = i;
        }
    }
    enum plain verdict = PLAIN_NOTHING;
    for (uint32_t resource = 0; heal < h->count && h->header->ttl_ns > 0 && resource < 8;
         resource++) {
        verdict = plain_worse(verdict, plain_deadlock_of(h, heal, resource));
    }
    return verdict;
}

#endif
