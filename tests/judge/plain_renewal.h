/* plain_renewal.h: of the second judge, whether a lock renews its leases as it says. */
#ifndef TESTS_JUDGE_PLAIN_RENEWAL_H
#define TESTS_JUDGE_PLAIN_RENEWAL_H

#include "tests/judge/plain_conduct.h"

/* The grant that the client of event `i` holds just before it: "from its grant until its release is
 * asked or its loss is told"; count if there is none. */
static inline size_t plain_lease_held(const struct plain_history *h, size_t i)
{
    size_t ask = plain_last_ask(h, i);
    size_t grant = ask < h->count ? plain_last_answer(h, ask, i, HISTORY_ACQUIRE) : h->count;
    if (grant == h->count || h->events[grant].type != HISTORY_OK ||
        (h->events[grant].flags & HISTORY_HAS_UNTIL) == 0) {
        return h->count;
    }
    for (size_t k = grant + 1; k < i; k++) {
        const struct history_event *e = &h->events[k];
        if (e->process == h->events[i].process &&
            (plain_is(e, HISTORY_RELEASE, HISTORY_INVOKE) || e->kind == HISTORY_NOTICE)) {
            return h->count;
        }
    }
    return grant;
}

/* Whether event `k` gave the lease of `grant` more time. */
static inline bool plain_renews(const struct plain_history *h, size_t grant, size_t k)
{
    const struct history_event *e = &h->events[k];
    return plain_key(e, HISTORY_KEY_EXTENDED) && e->process == h->events[grant].process &&
           plain_same(&e->value, &h->events[grant].value);
}

/* The newest renewal before event `i` that says when it was sent, and up to when its key was to be;
 * count if there is none. */
static inline size_t plain_newest_renewal(const struct plain_history *h, size_t grant, size_t i)
{
    size_t found = h->count;
    for (size_t k = grant; k < i; k++) {
        const struct history_event *e = &h->events[k];
        bool told = (e->flags & HISTORY_HAS_SENT) != 0 && (e->flags & HISTORY_HAS_UNTIL) != 0 &&
                    (e->flags & HISTORY_HAS_TTL) != 0;
        if (plain_renews(h, grant, k) && told &&
            (found == h->count || e->sent_ns > h->events[found].sent_ns)) {
            found = k;
        }
    }
    return found;
}

/* What gave the lease time last before event `i`, or told of it: the grant at first. */
static inline size_t plain_last_kept(const struct plain_history *h, size_t grant, size_t i)
{
    size_t kept = grant;
    for (size_t k = grant; k < i; k++) {
        bool told = h->events[k].kind == HISTORY_LEASE &&
                    h->events[k].process == h->events[grant].process &&
                    h->events[k].fault == HISTORY_NO_FAULT;
        kept = told || plain_renews(h, grant, k) ? k : kept;
    }
    return kept;
}

/* So many "ttls" behind the end of the last fault; INT64_MAX: one goes on at event `i`, or stays,
 * or stopped the client since its lease was given time. */
static inline int64_t plain_calm_ns(const struct plain_history *h, size_t grant, size_t i, int ttls)
{
    int64_t calm_ns = 0;
    int64_t kept_ns = h->events[plain_last_kept(h, grant, i)].time_ns;
    for (size_t k = 0; k <= i; k++) {
        const struct history_event *e = &h->events[k];
        if (!plain_begins(e)) {
            continue;
        }
        enum fault_kind kind = (enum fault_kind)e->fault_kind;
        bool stopped = (kind == FAULT_PAUSE || kind == FAULT_SLOW || kind == FAULT_KILL) &&
                       history_fault_names_client(e, h->events[grant].process) &&
                       plain_fault_end_ns(h, k) >= kept_ns;
        int64_t over_ns = plain_fault_over_ns(h, k);
        if (stopped || fault_trait_of(kind)->life == FAULT_STAYS ||
            over_ns >= h->events[i].time_ns) {
            return INT64_MAX;
        }
        over_ns += ttls * h->header->ttl_ns;
        calm_ns = over_ns > calm_ns ? over_ns : calm_ns;
    }
    return calm_ns;
}

/* 6: a section of the grant is entered again that was left, and "no fault explains it". */
static inline bool plain_left_for_nothing(const struct plain_history *h, size_t grant, size_t i)
{
    size_t last = h->count;
    for (size_t k = 0; k < i; k++) {
        const struct history_event *e = &h->events[k];
        if (e->kind == HISTORY_LATE) {
            return false;
        }
        last = k >= grant && e->kind == HISTORY_SECTION && e->process == h->events[i].process
                   ? k
                   : last;
    }
    return h->events[i].f == HISTORY_ENTER && last < h->count &&
           h->events[last].f == HISTORY_LEAVE &&
           plain_calm_ns(h, grant, i, 2) <= h->events[last].time_ns;
}

/* What was promised last before event `i`. */
static inline int64_t plain_promised_until(const struct plain_history *h, size_t grant, size_t i)
{
    int64_t until_ns = h->events[grant].until_ns;
    for (size_t k = grant; k < i; k++) {
        const struct history_event *e = &h->events[k];
        bool moved = e->kind == HISTORY_LEASE && e->process == h->events[grant].process;
        until_ns = moved ? e->until_ns : until_ns;
    }
    return until_ns;
}

/* 7: "its loss is told more than 1 ms before the end that was promised last, and the service has
 * its key". */
static inline bool plain_lost_for_nothing(const struct plain_history *h, size_t grant, size_t i)
{
    const struct history_event *e = &h->events[i];
    struct plain_held held = plain_holds(h, i, 0, e->resource);
    return e->kind == HISTORY_NOTICE && history_stores(h->header) == 1 && held.there &&
           plain_same(&held.value, &h->events[grant].value) &&
           plain_promised_until(h, grant, i) - e->time_ns > HISTORY_LATE_NOTED_NS;
}

/* 1: "no more time for longer than `renew_every` and a tenth of a ttl". */
static inline bool plain_renewed_late(const struct plain_history *h, size_t grant, size_t i)
{
    int64_t kept_ns = h->events[plain_last_kept(h, grant, i)].time_ns;
    int64_t calm_ns = plain_calm_ns(h, grant, i, 1);
    int64_t from_ns = calm_ns > kept_ns ? calm_ns : kept_ns;
    return h->header->tries < INT32_MAX && calm_ns < h->events[i].time_ns &&
           h->events[i].time_ns - from_ns > h->header->renew_every_ns + h->header->ttl_ns / 10;
}

/* 5: "a promise that ends sooner than the key less the allowance and the time that it was under
 * way", by the promise that was told last. */
static inline bool plain_promised_less(const struct plain_history *h, size_t grant, size_t i)
{
    size_t newest = plain_newest_renewal(h, grant, i);
    if (newest == h->count) {
        return false;
    }
    const struct history_event *e = &h->events[newest];
    int64_t until_ns = plain_promised_until(h, grant, i);
    int64_t key_ns = e->until_ns - h->header->allowance_ns;
    return e->ttl_ns == h->header->ttl_ns && (e->flags & HISTORY_HAS_REPLIED) != 0 &&
           h->events[i].time_ns - e->replied_ns > HISTORY_LATE_NOTED_NS &&
           key_ns - (e->time_ns - e->sent_ns) - until_ns > HISTORY_LATE_NOTED_NS;
}

/* "A fault of a clock ever was, or one that stops the client since it asked." */
static inline bool plain_untimely(const struct plain_history *h, size_t ask, size_t i)
{
    for (size_t k = 0; k <= i; k++) {
        const struct history_event *e = &h->events[k];
        enum fault_kind kind = (enum fault_kind)e->fault_kind;
        if (!plain_begins(e)) {
            continue;
        }
        bool stops = (kind == FAULT_PAUSE || kind == FAULT_SLOW || kind == FAULT_KILL) &&
                     history_fault_names_client(e, h->events[ask].process) &&
                     plain_fault_end_ns(h, k) >= h->events[ask].time_ns;
        if (stops || kind == FAULT_CLOCK_JUMP || kind == FAULT_CLOCK_RATE) {
            return true;
        }
    }
    return false;
}

/* 3 and 4: a renewed promise that has ended, or ends too late. */
static inline bool plain_renewed_badly(const struct plain_history *h, size_t grant, size_t i)
{
    const struct history_event *e = &h->events[i];
    size_t ask = plain_last_ask(h, i);
    if (e->fault != HISTORY_NO_FAULT || (e->flags & HISTORY_HAS_UNTIL_LEAST) != 0 ||
        plain_untimely(h, ask, i)) {
        return false;
    }
    size_t newest = plain_newest_renewal(h, grant, i);
    int64_t now_ns = e->time_ns + h->header->ttl_ns - h->header->allowance_ns;
    int64_t key_ns =
        newest < h->count ? h->events[newest].until_ns - h->header->allowance_ns : now_ns;
    bool sound = plain_sound(h, h->events[ask].time_ns, i);
    int64_t most_ns = sound || key_ns > now_ns ? key_ns : now_ns;
    return e->until_ns <= e->time_ns || e->until_ns > most_ns;
}

static inline bool plain_breaks_renewal(const struct plain_history *h, size_t i)
{
    const struct history_event *e = &h->events[i];
    size_t grant = e->process >= 0 ? plain_lease_held(h, i) : h->count;
    if (grant == h->count) {
        return false;
    }
    if (e->kind == HISTORY_LEASE) {
        return plain_renewed_badly(h, grant, i);
    }
    if (e->kind == HISTORY_SECTION) {
        return plain_left_for_nothing(h, grant, i);
    }
    bool renews = plain_renews(h, grant, i);
    bool releases = plain_is(e, HISTORY_RELEASE, HISTORY_INVOKE);
    if (!renews && !releases && e->kind != HISTORY_NOTICE) {
        return false;
    }
    if (plain_renewed_late(h, grant, i) || plain_lost_for_nothing(h, grant, i)) {
        return true;
    }
    if (!plain_sound(h, h->events[plain_last_ask(h, i)].time_ns, i)) {
        return false;
    }
    if (e->kind != HISTORY_NOTICE && plain_promised_less(h, grant, i)) {
        return true;
    }
    size_t newest = plain_newest_renewal(h, grant, i);
    bool told = (e->flags & HISTORY_HAS_SENT) != 0 && (e->flags & HISTORY_HAS_UNTIL) != 0 &&
                (e->flags & HISTORY_HAS_TTL) != 0;
    return renews && told && newest < h->count &&
           e->time_ns - e->sent_ns <= h->header->ttl_ns / 50 &&
           e->sent_ns - h->events[newest].sent_ns <
               h->header->renew_every_ns - h->header->ttl_ns / 50;
}

static inline enum plain plain_renewal(const struct plain_history *h)
{
    bool says = h->header->renew_every_ns > 0 && h->header->tries > 0 && !h->header->declared;
    bool fails = false;
    for (size_t i = 0; i < h->count && says; i++) {
        fails = fails || ((h->events[i].flags & HISTORY_AUDIT) == 0 && plain_breaks_renewal(h, i));
    }
    return fails ? PLAIN_FAIL : PLAIN_NOTHING;
}

#endif
