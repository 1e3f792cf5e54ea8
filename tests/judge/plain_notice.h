/* plain_notice.h: of the second judge, `loss_notice`. */
#ifndef TESTS_JUDGE_PLAIN_NOTICE_H
#define TESTS_JUDGE_PLAIN_NOTICE_H

#include "tests/judge/plain_lost.h"

static inline bool plain_notices(const struct plain_history *h)
{
    bool notices = h->header->promises_validity || plain_declares(h, DECLARES_NOTICE);
    for (size_t i = 0; i < h->count; i++) {
        notices = notices || h->events[i].kind == HISTORY_NOTICE;
    }
    return notices;
}

/* The last section of this grant's client: was it inside at `time_ns`, by event `last`? */
static inline bool plain_inside(const struct plain_history *h, size_t grant, size_t last)
{
    const struct history_event *g = &h->events[grant];
    bool inside = false;
    for (size_t i = grant; i <= last && i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->process != g->process) {
            continue;
        }
        if (e->kind == HISTORY_SECTION && e->resource == g->resource) {
            inside = e->f == HISTORY_ENTER;
        } else if (e->kind == HISTORY_CLIENT && e->f == HISTORY_CLIENT_KILLED) {
            inside = false;
        }
    }
    return inside;
}

static inline bool plain_told(const struct plain_history *h, size_t grant, size_t last)
{
    const struct history_event *g = &h->events[grant];
    for (size_t i = grant; i <= last && i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->process == g->process && e->resource == g->resource &&
            (e->kind == HISTORY_NOTICE || plain_is(e, HISTORY_RELEASE, HISTORY_INVOKE))) {
            return true;
        }
    }
    return false;
}

/* The last event at the time of event `i`: what happens at one moment has no order. */
static inline size_t plain_moment_end(const struct plain_history *h, size_t i)
{
    while (i + 1 < h->count && h->events[i + 1].time_ns == h->events[i].time_ns) {
        i++;
    }
    return i;
}

/* "Nobody waits for a notice to the dead": it was killed before it was told, left or released. */
static inline bool plain_dies_first(const struct plain_history *h, size_t one, size_t from)
{
    const struct history_event *g = &h->events[one];
    for (size_t i = from + 1; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->process != g->process) {
            continue;
        }
        if (e->kind == HISTORY_CLIENT && e->f == HISTORY_CLIENT_KILLED) {
            return true;
        }
        bool same = e->resource == g->resource;
        if (same && ((e->kind == HISTORY_SECTION && e->f == HISTORY_LEAVE) ||
                     e->kind == HISTORY_NOTICE || plain_is(e, HISTORY_RELEASE, HISTORY_INVOKE))) {
            return false;
        }
    }
    return false;
}

/* Holder `one` is inside, or enters, behind the grant `other`, and was not told. */
static inline bool plain_untold(const struct plain_history *h, size_t one, size_t other)
{
    size_t last = plain_moment_end(h, other);
    if (plain_inside(h, one, other) && plain_inside(h, one, last) && !plain_told(h, one, last)) {
        return !plain_dies_first(h, one, last);
    }
    for (size_t i = other + 1; i < h->count && i < plain_grant_end(h, one); i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind == HISTORY_SECTION && e->f == HISTORY_ENTER &&
            e->process == h->events[one].process && e->resource == h->events[one].resource &&
            plain_grant_of(h, i) == one && !plain_told(h, one, i)) {
            return !plain_dies_first(h, one, i);
        }
    }
    return false;
}

/* On how many nodes is this grant's key to stay for half a ttl or more, behind event `last`? */
static inline int plain_to_stay(const struct plain_history *h, size_t grant, size_t last)
{
    int staying = 0;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        size_t from = plain_ttl_from(h, node, last, &h->events[grant]);
        int64_t until_ns = from < h->count ? h->events[from].until_ns : -1;
        int64_t left_ns = until_ns == 0 ? INT64_MAX : until_ns - h->events[last].time_ns;
        staying += left_ns > 0 && left_ns >= h->header->ttl_ns / 2 ? 1 : 0;
    }
    return staying;
}

/* "A notice of loss that is false: it came before the promised end, no fault was in force since the
 * lease was asked for, and the keys of a majority were to stay for half a ttl or more." */
static inline bool plain_told_falsely(const struct plain_history *h, size_t notice)
{
    const struct history_event *e = &h->events[notice];
    size_t grant = plain_grant_of(h, notice);
    if (e->kind != HISTORY_NOTICE || e->f != HISTORY_LOST || h->header->ttl_ns == 0 ||
        grant == h->count || plain_grant_end(h, grant) != notice ||
        ((e->flags & HISTORY_HAS_VALUE) != 0 && !plain_same(&e->value, &h->events[grant].value))) {
        return false;
    }
    return plain_promised_ns(h, grant, notice) > e->time_ns &&
           plain_quiet(h, plain_invoke_of(h, grant), notice) &&
           !plain_may_be_a_fault(h, grant, notice) &&
           plain_to_stay(h, grant, notice) >= plain_majority(h);
}

/* `loss_notice`: "a client inside its section, neither told nor leaving, when another is granted
 * the resource; or a client that enters its section afterwards and was not told". */
static inline enum plain plain_loss_notice(const struct plain_history *h)
{
    enum plain verdict = PLAIN_NOTHING;
    for (size_t one = 0; one < h->count && plain_notices(h); one++) {
        if (plain_told_falsely(h, one) || plain_renewed_when_lost(h, one)) {
            return PLAIN_FAIL;
        }
        if (!plain_granted(&h->events[one])) {
            continue;
        }
        verdict = PLAIN_PASS;
        if (plain_out_untold(h, one) || plain_ran_out_untold(h, one)) {
            return PLAIN_FAIL;
        }
        size_t end = plain_grant_end(h, one);
        for (size_t other = one + 1; other < h->count && other < end; other++) {
            const struct history_event *e = &h->events[other];
            if (plain_granted(e) && e->process != h->events[one].process &&
                e->resource == h->events[one].resource && plain_untold(h, one, other)) {
                return PLAIN_FAIL;
            }
        }
    }
    return verdict;
}

#endif
