/* plain_truth.h: of the second judge, whether what a lock answered is what it did. */
#ifndef TESTS_JUDGE_PLAIN_TRUTH_H
#define TESTS_JUDGE_PLAIN_TRUTH_H

#include "tests/judge/plain_keys.h"

/* Had a client a key of this resource on this node at any moment from event `from` to `to`? */
static inline bool plain_had(const struct plain_history *h, size_t from, size_t to, int32_t node,
                             const struct history_event *g)
{
    for (size_t i = from; i <= to; i++) {
        struct plain_held held = plain_holds(h, i, node, g->resource);
        if (held.there && (held.process == g->process || held.process == HISTORY_NOBODY)) {
            return true;
        }
    }
    return false;
}

/* "Extended, where no end is promised, although from when it was asked to its answer less than a
 * majority had a key of its client", of what had a majority of them before. */
static inline bool plain_extended_gone(const struct plain_history *h, size_t extended)
{
    size_t grant = plain_grant_of(h, extended);
    int majority = h->header->node_count / 2 + 1;
    if (h->header->promises_validity || grant == h->count || plain_grant_end(h, grant) < extended ||
        plain_sets(h, 0, extended, &h->events[grant]) < majority) {
        return false;
    }
    int had = 0;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        had += plain_had(h, plain_invoke_of(h, extended), extended, node, &h->events[grant]);
    }
    return had < majority;
}

static inline bool plain_untrue(const struct plain_history *h, size_t i)
{
    const struct history_event *e = &h->events[i];
    int majority = h->header->node_count / 2 + 1;
    if (e->f == HISTORY_RELEASE && plain_release_untrue(h, i)) {
        return true;
    }
    if (plain_granted(e)) {
        int sets = plain_sets(h, 0, i, e);
        return (sets > 0 ? sets : plain_set_others(h, i)) < majority;
    }
    if (plain_is(e, HISTORY_RELEASE, HISTORY_OK)) {
        size_t grant = plain_grant_of(h, i);
        return grant < h->count && plain_holding(h, i, grant) >= majority;
    }
    if (plain_is(e, HISTORY_RELEASE, HISTORY_FAIL)) {
        size_t grant = plain_grant_of(h, i);
        return grant < h->count && plain_holding(h, i, grant) >= majority &&
               !plain_released_before(h, grant, i) &&
               !plain_touched(h, e->process, plain_invoke_of(h, i), i);
    }
    if (plain_is(e, HISTORY_ACQUIRE, HISTORY_FAIL)) {
        return plain_kept_to_its_ttl(h, i);
    }
    return plain_is(e, HISTORY_EXTEND, HISTORY_OK) &&
           (plain_set_anew(h, i) || plain_extended_gone(h, i));
}

/* `result_truth`: did the lock's answer contradict its effect? */
static inline enum plain plain_result_truth(const struct plain_history *h)
{
    enum plain verdict = PLAIN_NOTHING;
    for (size_t i = 0; i < h->count; i++) {
        if (h->events[i].kind != HISTORY_OP) {
            continue;
        }
        verdict = plain_worse(verdict, PLAIN_PASS);
        if (plain_untrue(h, i)) {
            return PLAIN_FAIL;
        }
    }
    return verdict;
}

#endif
