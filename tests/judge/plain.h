/*
 * plain.h: a second judge of the run checks, as slow and plain as it can be.
 *
 * Written from docs/CHECKS.md alone: each function below is the paragraph of its check, over the
 * whole history in an array, with a loop for every "a" and "another" of the sentence. It shares no
 * code with checker/ and keeps nothing between two events, so that it cannot share a mistake of a
 * ledger or of a step. Only verdicts, not blame.
 */
#ifndef TESTS_JUDGE_PLAIN_H
#define TESTS_JUDGE_PLAIN_H

#include "history/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum plain { PLAIN_NOTHING, PLAIN_PASS, PLAIN_FAIL };

struct plain_history {
    const struct history_header *header;
    const struct history_event *events;
    size_t count;
};

/* A stretch of time in which a client had something: [begin, end). */
struct plain_span {
    int64_t begin_ns;
    int64_t end_ns;
    int32_t process;
    uint32_t resource;
    size_t grant; /* index of the event that it goes back to */
};

enum { PLAIN_SPANS_MAX = 512 };

struct plain_spans {
    struct plain_span list[PLAIN_SPANS_MAX];
    size_t count;
};

static inline enum plain plain_worse(enum plain a, enum plain b)
{
    return a > b ? a : b;
}

static inline bool plain_is(const struct history_event *e, enum history_f f, enum history_type type)
{
    return e->kind == HISTORY_OP && e->f == (uint8_t)f && e->type == (uint8_t)type;
}

static inline bool plain_granted(const struct history_event *e)
{
    return plain_is(e, HISTORY_ACQUIRE, HISTORY_OK);
}

static inline void plain_add(struct plain_spans *spans, struct plain_span span)
{
    if (spans->count < PLAIN_SPANS_MAX) {
        spans->list[spans->count++] = span;
    }
}

/* ---- leases ------------------------------------------------------------------------------------
 * "A lease runs from the grant's return to the earliest of: release asked, loss notified, promised
 * end (until, in true time; an extension and a moved clock change it). [...] The lease of a client
 * that was killed still runs to its promised end; without one it ends with the client." */

static inline size_t plain_grant_end(const struct plain_history *h, size_t grant);

/* "The lock object: each acquire has an owner of its own." */
static inline bool plain_objects(const struct plain_history *h)
{
    return h->header->ownership == OWNERSHIP_OBJECT;
}

/* Which of its client's grants event `i` gives back, extends or tells the loss of: the one that it
 * names, if that is held, else the last one. */
static inline size_t plain_given_back(const struct plain_history *h, size_t i)
{
    const struct history_event *e = &h->events[i];
    size_t last = h->count;
    for (size_t k = i; k-- > 0;) {
        const struct history_event *g = &h->events[k];
        if (!plain_granted(g) || g->process != e->process || g->resource != e->resource) {
            continue;
        }
        last = last == h->count ? k : last;
        bool named =
            (e->flags & HISTORY_HAS_VALUE) != 0 && history_value_equal(&g->value, &e->value);
        if (named && plain_grant_end(h, k) >= i) {
            return k;
        }
    }
    return last;
}

/* The next event that ends what was granted: it is given back, its loss is told, or its client is
 * granted the same again, where that is one owner; count if none. */
static inline size_t plain_grant_end(const struct plain_history *h, size_t grant)
{
    const struct history_event *g = &h->events[grant];
    for (size_t i = grant + 1; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->process != g->process || e->resource != g->resource) {
            continue;
        }
        bool over = plain_is(e, HISTORY_RELEASE, HISTORY_INVOKE) ||
                    (e->kind == HISTORY_NOTICE && e->f == HISTORY_LOST);
        bool other = plain_objects(h) && !history_value_equal(&e->value, &g->value);
        if (over && (!other || plain_given_back(h, i) == grant)) {
            return i;
        }
        if (plain_granted(e) && !other) {
            return i;
        }
    }
    return h->count;
}

static inline bool plain_promises(const struct plain_history *h, const struct history_event *e)
{
    return h->header->promises_validity && (e->flags & HISTORY_HAS_UNTIL) != 0;
}

/* When the client died, behind `from` and before `last`; INT64_MAX if it did not. */
static inline int64_t plain_killed_ns(const struct plain_history *h, int32_t process, size_t from,
                                      size_t last)
{
    for (size_t i = from; i < last; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind == HISTORY_CLIENT && e->f == HISTORY_CLIENT_KILLED && e->process == process) {
            return e->time_ns;
        }
    }
    return INT64_MAX;
}

/* Until when a client that was granted the lock takes it for its own, be its lease over or not: it
 * releases, is told of the loss, or dies. */
static inline size_t plain_kept_until(const struct plain_history *h, size_t grant)
{
    size_t end = plain_grant_end(h, grant);
    for (size_t i = grant; i < end; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind == HISTORY_CLIENT && e->f == HISTORY_CLIENT_KILLED &&
            e->process == h->events[grant].process) {
            return i;
        }
    }
    return end;
}

/* A new end that has passed already takes nothing back of what was promised until now. */
static inline int64_t plain_moved_ns(int64_t until_ns, const struct history_event *to)
{
    int64_t kept_ns = until_ns < to->time_ns ? until_ns : to->time_ns;
    return to->until_ns > kept_ns ? to->until_ns : kept_ns;
}

/* Whether event `e` moves the end of what this grant promised: an extension that tells of one, or a
 * clock that was set. */
static inline bool plain_moves(const struct plain_history *h, size_t grant,
                               const struct history_event *e)
{
    bool extended = plain_is(e, HISTORY_EXTEND, HISTORY_OK) && plain_promises(h, e);
    bool moved = e->kind == HISTORY_LEASE && h->header->promises_validity;
    bool other = plain_objects(h) && (e->flags & HISTORY_HAS_VALUE) != 0 &&
                 !history_value_equal(&e->value, &h->events[grant].value) &&
                 plain_given_back(h, (size_t)(e - h->events)) != grant;
    return e->process == h->events[grant].process && e->resource == h->events[grant].resource &&
           (extended || moved) && !other;
}

/* Until when this grant is promised behind event `last`; INT64_MAX if that was never told. */
static inline int64_t plain_promised_ns(const struct plain_history *h, size_t grant, size_t last)
{
    bool promised = plain_promises(h, &h->events[grant]);
    int64_t until_ns = promised ? h->events[grant].until_ns : INT64_MAX;
    for (size_t i = grant + 1; i <= last; i++) {
        if (plain_moves(h, grant, &h->events[i])) {
            until_ns = plain_moved_ns(until_ns, &h->events[i]);
        }
    }
    return until_ns;
}

/* The stretches of one grant: one, or more where an extension came behind the promised end. */
static inline void plain_lease(const struct plain_history *h, size_t grant,
                               struct plain_spans *spans)
{
    const struct history_event *g = &h->events[grant];
    size_t last = plain_grant_end(h, grant);
    int64_t stop_ns = last < h->count ? h->events[last].time_ns : INT64_MAX;
    bool promised = plain_promises(h, g);
    int64_t until_ns = promised ? g->until_ns : INT64_MAX;
    int64_t begin_ns = g->time_ns;
    for (size_t i = grant + 1; i < last; i++) {
        const struct history_event *e = &h->events[i];
        if (!plain_moves(h, grant, e)) {
            continue;
        }
        if (until_ns <= e->time_ns) { /* it had run out: what is promised now is a new stretch */
            plain_add(spans,
                      (struct plain_span){begin_ns, until_ns, g->process, g->resource, grant});
            begin_ns = e->time_ns;
        }
        until_ns = plain_moved_ns(until_ns, e);
        promised = true;
    }
    if (!promised) {
        until_ns = plain_killed_ns(h, g->process, grant, last);
    }
    until_ns = until_ns < stop_ns ? until_ns : stop_ns;
    if (until_ns > begin_ns) { /* a promise of no time is no lease */
        plain_add(spans, (struct plain_span){begin_ns, until_ns, g->process, g->resource, grant});
    }
}

static inline void plain_leases(const struct plain_history *h, struct plain_spans *spans)
{
    spans->count = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (plain_granted(&h->events[i])) {
            plain_lease(h, i, spans);
        }
    }
}

/* Is `a` but a moment, and in the midst of `b`? */
static inline bool plain_moment_in(const struct plain_span *a, const struct plain_span *b)
{
    return a->begin_ns == a->end_ns && b->begin_ns < a->begin_ns && a->begin_ns < b->end_ns;
}

/* "An owner meets itself nowhere": a client, or (`objects`) what each grant was given to. */
static inline bool plain_meet(const struct plain_span *a, const struct plain_span *b, bool objects)
{
    bool apart = a->process != b->process || (objects && a->grant != b->grant);
    int64_t begin_ns = a->begin_ns > b->begin_ns ? a->begin_ns : b->begin_ns;
    int64_t end_ns = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
    bool inside = begin_ns < end_ns || plain_moment_in(a, b) || plain_moment_in(b, a);
    return apart && a->resource == b->resource && inside;
}

/* Did two of different clients overlap? "That only touch do not overlap." */
static inline enum plain plain_overlap(const struct plain_spans *spans, bool any, bool objects)
{
    for (size_t i = 0; i < spans->count; i++) {
        for (size_t k = i + 1; k < spans->count; k++) {
            if (plain_meet(&spans->list[i], &spans->list[k], objects)) {
                return PLAIN_FAIL;
            }
        }
    }
    return any ? PLAIN_PASS : PLAIN_NOTHING;
}

static inline bool plain_any_grant(const struct plain_history *h)
{
    for (size_t i = 0; i < h->count; i++) {
        if (plain_granted(&h->events[i])) {
            return true;
        }
    }
    return false;
}

/* `exclusion`: did two leases, as promised to the holders, overlap in true time? */
static inline enum plain plain_exclusion(const struct plain_history *h)
{
    static struct plain_spans leases;
    plain_leases(h, &leases);
    return plain_overlap(&leases, plain_any_grant(h), plain_objects(h));
}

/* ---- sections ---------------------------------------------------------------------------------
 */

static inline void plain_section(const struct plain_history *h, size_t enter,
                                 struct plain_spans *spans)
{
    const struct history_event *in = &h->events[enter];
    int64_t end_ns = INT64_MAX;
    for (size_t i = enter + 1; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        bool left = e->kind == HISTORY_SECTION && e->resource == in->resource;
        bool killed = e->kind == HISTORY_CLIENT && e->f == HISTORY_CLIENT_KILLED;
        if (e->process == in->process && (left || killed)) {
            end_ns = e->time_ns;
            break;
        }
    }
    plain_add(spans, (struct plain_span){in->time_ns, end_ns, in->process, in->resource, enter});
}

/* `section_exclusion`: "a client enters its section while another is inside". */
static inline enum plain plain_section_exclusion(const struct plain_history *h)
{
    static struct plain_spans sections;
    bool any = false;
    sections.count = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (h->events[i].kind == HISTORY_SECTION && h->events[i].f == HISTORY_ENTER) {
            any = true;
            plain_section(h, i, &sections);
        }
    }
    return plain_overlap(&sections, any, false);
}

/* ---- the guarded store ------------------------------------------------------------------------
 */

/* The grant under which a client writes: its last one; count if it has none. */
static inline size_t plain_grant_of(const struct plain_history *h, size_t write)
{
    size_t found = h->count;
    for (size_t i = 0; i < write; i++) {
        if (plain_granted(&h->events[i]) && h->events[i].process == h->events[write].process &&
            h->events[i].resource == h->events[write].resource) {
            found = i;
        }
    }
    return found;
}

/* "A fence is above 0; any other is none." */
static inline bool plain_fenced(const struct history_event *e)
{
    return plain_granted(e) && (e->flags & HISTORY_HAS_FENCE) != 0 && e->fence > 0;
}

/* Is the grant of `a` older than that of `b`? "By fence, else by order of the grants." */
static inline bool plain_older(const struct plain_history *h, size_t a, size_t b)
{
    size_t one = plain_grant_of(h, a);
    size_t other = plain_grant_of(h, b);
    if (one == h->count || other == h->count) {
        return false;
    }
    const struct history_event *x = &h->events[one];
    const struct history_event *y = &h->events[other];
    if (plain_fenced(x) && plain_fenced(y)) {
        return x->fence < y->fence;
    }
    return one < other;
}

/* `store_integrity`: "an accepted write whose basis is not the version that it overwrote; or an
 * accepted write under an older grant [...] behind one under a newer grant. With value_check only
 * the first counts." */
static inline enum plain plain_store_integrity(const struct plain_history *h)
{
    enum plain verdict = PLAIN_NOTHING;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *write = &h->events[i];
        if (!plain_is(write, HISTORY_WRITE, HISTORY_OK)) {
            continue;
        }
        verdict = plain_worse(verdict, PLAIN_PASS);
        if (write->basis != write->version - 1) {
            return PLAIN_FAIL;
        }
        for (size_t k = 0; k < h->count && !h->header->value_check; k++) {
            if (plain_is(&h->events[k], HISTORY_WRITE, HISTORY_OK) &&
                h->events[k].resource == write->resource && h->events[k].version < write->version &&
                plain_older(h, i, k)) {
                return PLAIN_FAIL;
            }
        }
    }
    return verdict;
}

/* ---- fences -----------------------------------------------------------------------------------
 */

/* When the acquire was asked for whose answer event `i` is. */
static inline int64_t plain_asked_ns(const struct plain_history *h, size_t i)
{
    for (size_t k = i; k-- > 0;) {
        const struct history_event *e = &h->events[k];
        if (e->process == h->events[i].process && e->resource == h->events[i].resource &&
            plain_is(e, (enum history_f)h->events[i].f, HISTORY_INVOKE)) {
            return e->time_ns;
        }
    }
    return INT64_MIN;
}

/* No fault before event `last` takes keys (of a node's process, an eviction), stops a node, or sets
 * a clock or its rate. */
static inline bool plain_leases_are_sure(const struct plain_history *h, size_t last)
{
    for (size_t i = 0; i < last; i++) {
        const struct history_event *fault = &h->events[i];
        enum fault_kind kind = (enum fault_kind)fault->fault_kind;
        if (fault->kind == HISTORY_FAULT &&
            (fault_is(kind, FAULT_OF_PROCESS) || kind == FAULT_FAILOVER || kind == FAULT_EVICT ||
             kind == FAULT_CLOCK_JUMP || kind == FAULT_CLOCK_RATE ||
             (kind == FAULT_PAUSE && fault->process < 0))) {
            return false;
        }
    }
    return true;
}

/* "Which was being given back before this one returned with a lease that ran": with its promise, or
 * within a ttl of its asking; no fault that takes keys, stops nodes or sets clocks before. */
static inline bool plain_came_first(const struct plain_history *h, size_t early, size_t late)
{
    size_t back = plain_kept_until(h, early);
    const struct history_event *e = &h->events[late];
    bool runs = plain_promises(h, e) ? e->until_ns > e->time_ns
                                     : e->time_ns - plain_asked_ns(h, late) < h->header->ttl_ns;
    return runs && plain_leases_are_sure(h, late) && back < h->count &&
           plain_is(&h->events[back], HISTORY_RELEASE, HISTORY_INVOKE) &&
           h->events[back].time_ns < e->time_ns;
}

/* `fence_order`: "a grant whose fence is not larger than that of a grant which returned before this
 * one was asked for, or [...] being given back before this one returned; or two grants with the
 * same fence". */
static inline enum plain plain_fence_order(const struct plain_history *h)
{
    enum plain verdict = PLAIN_NOTHING;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *late = &h->events[i];
        if (!plain_fenced(late)) {
            continue;
        }
        verdict = plain_worse(verdict, PLAIN_PASS);
        for (size_t k = 0; k < i; k++) {
            const struct history_event *early = &h->events[k];
            if (!plain_fenced(early) || early->resource != late->resource) {
                continue;
            }
            bool behind = early->time_ns < plain_asked_ns(h, i) || plain_came_first(h, k, i);
            if (early->fence == late->fence || (behind && late->fence <= early->fence)) {
                return PLAIN_FAIL;
            }
        }
    }
    return verdict;
}

/* ---- linearizable -----------------------------------------------------------------------------
 */

/* The lease of this grant is empty: promised until it was over. */
static inline bool plain_empty(const struct plain_history *h, size_t grant)
{
    const struct history_event *g = &h->events[grant];
    return plain_promises(h, g) && g->until_ns <= g->time_ns;
}

/* "An extension, whose lease runs on, reached behind the next grant": another was granted between
 * the grant and the extension's return. */
static inline bool plain_extended_behind(const struct plain_history *h, size_t extend)
{
    const struct history_event *e = &h->events[extend];
    size_t mine = plain_grant_of(h, extend);
    if (mine == h->count || plain_grant_end(h, mine) < extend) {
        return false;
    }
    if (plain_promised_ns(h, mine, extend) <= e->time_ns) {
        return false;
    }
    for (size_t i = mine + 1; i < extend; i++) {
        const struct history_event *other = &h->events[i];
        if (plain_granted(other) && other->process != e->process &&
            other->resource == e->resource && other->time_ns < e->time_ns && !plain_empty(h, i)) {
            return true;
        }
    }
    return false;
}

/* `linearizable`: "a client was granted the lock while another surely held it [...]; or an
 * extension reached behind the next grant". */
static inline enum plain plain_linearizable(const struct plain_history *h)
{
    enum plain verdict = plain_exclusion(h);
    for (size_t i = 0; i < h->count; i++) {
        if (plain_is(&h->events[i], HISTORY_EXTEND, HISTORY_OK) && plain_extended_behind(h, i)) {
            return PLAIN_FAIL;
        }
    }
    return verdict;
}

#endif
