/* plain_exercised.h: of the second judge, `exercised`. */
#ifndef TESTS_JUDGE_PLAIN_EXERCISED_H
#define TESTS_JUDGE_PLAIN_EXERCISED_H

#include "tests/judge/plain_faults.h"

/* Is the key that event `set` made, or brought back, there behind event `from`? */
static inline bool plain_stays(const struct plain_history *h, size_t set, size_t from)
{
    for (size_t i = set + 1; i <= from; i++) {
        const struct history_event *e = &h->events[i];
        if ((plain_gone(e) || plain_key(e, HISTORY_KEY_SET)) && e->node == h->events[set].node &&
            e->resource == h->events[set].resource) {
            return false;
        }
    }
    return true;
}

/* Until when the client is in the section that it enters at event `enter`: it leaves, or dies. */
static inline size_t plain_inside_until(const struct plain_history *h, size_t enter)
{
    size_t i = enter + 1;
    for (; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        bool killed = e->kind == HISTORY_CLIENT && e->f == HISTORY_CLIENT_KILLED;
        bool left = e->kind == HISTORY_SECTION && e->resource == h->events[enter].resource;
        if (e->process == h->events[enter].process && (killed || left)) {
            break;
        }
    }
    return i;
}

/* "The auditor counts for nobody." */
static inline bool plain_is_auditor(const struct plain_history *h, int32_t process)
{
    for (size_t i = 0; i < h->count && process >= 0; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind == HISTORY_OP && e->process == process && (e->flags & HISTORY_AUDIT) != 0) {
            return true;
        }
    }
    return false;
}

/* Does some client hold the lock between two events, ask for it or give it back, or have keys that
 * are yet to go? By their order: what follows at the same time comes too late. */
static inline bool plain_matters(const struct plain_history *h, size_t from, size_t to)
{
    for (size_t i = 0; i < to; i++) {
        const struct history_event *e = &h->events[i];
        bool held = plain_granted(e) && plain_kept_until(h, i) > from;
        bool call = e->kind == HISTORY_OP && e->type == HISTORY_INVOKE && plain_back(h, i) > from;
        bool there = plain_key(e, HISTORY_KEY_SET) || plain_key(e, HISTORY_KEY_BACK);
        bool inside =
            e->kind == HISTORY_SECTION && e->f == HISTORY_ENTER && plain_inside_until(h, i) > from;
        if ((held || call || inside || (there && plain_stays(h, i, from))) &&
            !plain_is_auditor(h, e->process)) {
            return true;
        }
    }
    return false;
}

/* Fault number `fault`: did it strike, show an effect and end, and did it matter? */
static inline bool plain_struck(const struct plain_history *h, int32_t fault)
{
    bool effect = false;
    bool struck = false;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind != HISTORY_FAULT || e->fault != fault) {
            continue;
        }
        effect = effect || e->f == HISTORY_FAULT_EFFECT;
        if (plain_begins(e)) {
            struck = true;
            size_t over = plain_fault_over(h, i);
            uint8_t life = fault_trait_of((enum fault_kind)e->fault_kind)->life;
            bool lasts = life == FAULT_LASTS && e->fault_kind != FAULT_LOSE_REPLY;
            if ((over == h->count && lasts) ||
                !plain_matters(h, i, life == FAULT_STAYS ? h->count : over)) {
                return false;
            }
        }
    }
    return struck && effect;
}

/* Does the lease of a grant still run when event `i` comes? */
static inline bool plain_runs(const struct plain_history *h, const struct plain_spans *leases,
                              size_t grant, size_t i)
{
    for (size_t k = 0; k < leases->count; k++) {
        const struct plain_span *s = &leases->list[k];
        if (s->grant == grant && s->begin_ns <= h->events[i].time_ns &&
            h->events[i].time_ns <= s->end_ns) {
            return plain_grant_end(h, grant) > i;
        }
    }
    return false;
}

/* "No client asked while another asked or held." */
static inline bool plain_contended(const struct plain_history *h, const struct plain_spans *leases)
{
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        for (size_t k = 0; k < i && plain_is(e, HISTORY_ACQUIRE, HISTORY_INVOKE); k++) {
            const struct history_event *o = &h->events[k];
            if (o->process == e->process || o->resource != e->resource) {
                continue;
            }
            if ((plain_is(o, HISTORY_ACQUIRE, HISTORY_INVOKE) && plain_back(h, k) > i) ||
                (plain_granted(o) && plain_runs(h, leases, k, i))) {
                return true;
            }
        }
    }
    return false;
}

/* How many resources the client of event `i` holds when it comes. */
static inline int plain_held_at_once(const struct plain_history *h,
                                     const struct plain_spans *leases, size_t i)
{
    int held = 0;
    for (uint32_t resource = 0; resource < 8; resource++) {
        size_t grant = h->count;
        for (size_t k = 0; k <= i; k++) {
            const struct history_event *e = &h->events[k];
            bool mine = plain_granted(e) && e->process == h->events[i].process;
            grant = mine && e->resource == resource ? k : grant;
        }
        for (size_t k = 0; k < leases->count && grant < h->count; k++) {
            const struct plain_span *s = &leases->list[k];
            held += s->grant == grant && s->begin_ns <= h->events[i].time_ns &&
                            h->events[i].time_ns < s->end_ns && plain_grant_end(h, grant) > i
                        ? 1
                        : 0;
        }
    }
    return held;
}

/* Did the client of answer `i` ask for what it held, and surely held all the time? */
static inline bool plain_asked_again(const struct plain_history *h,
                                     const struct plain_spans *leases, size_t i)
{
    size_t asked = plain_invoke_of(h, i);
    size_t grant = plain_grant_of(h, asked);
    for (size_t k = 0; k < leases->count && grant < h->count; k++) {
        const struct plain_span *s = &leases->list[k];
        if (s->grant == grant && plain_grant_end(h, grant) > asked &&
            plain_promised_ns(h, grant, asked) > h->events[i].time_ns) {
            return true;
        }
    }
    return false;
}

/* "No client held as many locks at once as each was to, or acquired what it held for sure." */
static inline bool plain_did_as_told(const struct plain_history *h,
                                     const struct plain_spans *leases)
{
    bool again = h->header->again == 0;
    bool at_once = h->header->at_once <= 1;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind != HISTORY_OP || e->f != HISTORY_ACQUIRE || e->type == HISTORY_INVOKE) {
            continue;
        }
        again = again || (e->type != HISTORY_INFO && plain_asked_again(h, leases, i));
        at_once = at_once || plain_held_at_once(h, leases, i) >= h->header->at_once;
    }
    return again && at_once;
}

/* `exercised`: were there grants, contention, and did every fault strike while it mattered? Here
 * "nothing" is what the page calls unknown. */
static inline enum plain plain_exercised(const struct plain_history *h)
{
    static struct plain_spans leases;
    plain_leases(h, &leases);
    if (!plain_any_grant(h) || !plain_did_as_told(h, &leases) ||
        (h->header->client_count > 1 && !plain_contended(h, &leases))) {
        return PLAIN_NOTHING;
    }
    for (size_t i = 0; i < h->count; i++) {
        if (plain_begins(&h->events[i]) && !plain_struck(h, h->events[i].fault)) {
            return PLAIN_NOTHING;
        }
    }
    for (int32_t fault = 0; fault < h->header->fault_count; fault++) {
        if (!plain_struck(h, fault)) {
            return PLAIN_NOTHING;
        }
    }
    return PLAIN_PASS;
}

#endif
