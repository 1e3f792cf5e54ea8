/* plain_lost.h: of the second judge, what `loss_notice` asks of locks that say of themselves that
 * they renew, and that they tell of a loss. */
#ifndef TESTS_JUDGE_PLAIN_LOST_H
#define TESTS_JUDGE_PLAIN_LOST_H

#include "tests/judge/plain_answers.h"
#include "tests/judge/plain_faults.h"
#include "tests/judge/plain_leak.h"

/* "What was acquired again": before it, or behind it, with nothing given back and no loss told. */
static inline bool plain_again(const struct plain_history *h, size_t grant)
{
    size_t end = plain_grant_end(h, grant);
    bool again = end < h->count && plain_granted(&h->events[end]);
    for (size_t i = 0; i < grant; i++) {
        again = again || (plain_granted(&h->events[i]) && plain_grant_end(h, i) == grant);
    }
    return again;
}

/* Was this client killed between two events? "Not judged: a client that is killed before it is
 * told, leaves or releases." */
static inline bool plain_dies(const struct plain_history *h, int32_t process, size_t from,
                              size_t to)
{
    size_t dead = from;
    for (size_t i = from; i < to; i++) {
        const struct history_event *e = &h->events[i];
        bool its = e->kind == HISTORY_CLIENT && e->f == HISTORY_CLIENT_KILLED;
        dead = its && e->process == process ? i + 1 : dead;
    }
    return dead > from;
}

/* ---- thrown out ------------------------------------------------------------------------------ */

/* When nodes had thrown out "so many of a grant's keys that no majority was left", by event
 * `last`: the last of those; -1: they had not. "One that was set anew and went otherwise since does
 * not count." */
static inline int64_t plain_thrown_out_ns(const struct plain_history *h, size_t grant, size_t last)
{
    int left = plain_sets(h, 0, last, &h->events[grant]);
    int64_t out_ns = -1;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        size_t went = plain_went(h, grant, last, node);
        if (went < h->count && h->events[went].f == HISTORY_KEY_EVICTED) {
            left--;
            out_ns = h->events[went].time_ns > out_ns ? h->events[went].time_ns : out_ns;
        }
    }
    return left < plain_majority(h) ? out_ns : -1;
}

/* Was a fault in force of what strikes the client of this grant or a node, from when that was asked
 * for until event `last`: an eviction, or (`other`) any other? */
static inline bool plain_fault_struck(const struct plain_history *h, size_t grant, size_t last,
                                      bool other)
{
    for (size_t i = 0; i < last; i++) {
        const struct history_event *e = &h->events[i];
        if (!plain_begins(e) || (e->fault_kind != FAULT_EVICT) != other) {
            continue;
        }
        bool strikes =
            plain_strikes_all(e) || history_fault_names_client(e, h->events[grant].process);
        for (int32_t node = 0; node < h->header->node_count; node++) {
            strikes = strikes || history_fault_names_node(e, node);
        }
        bool stays = fault_trait_of((enum fault_kind)e->fault_kind)->life == FAULT_STAYS;
        if (strikes && (stays || plain_fault_over_ns(h, i) >= plain_asked_ns(h, grant))) {
            return true;
        }
    }
    return false;
}

/* Was an extension of this grant done that had been asked at `from_ns` or later? */
static inline bool plain_extended_since(const struct plain_history *h, size_t grant,
                                        int64_t from_ns)
{
    for (size_t i = grant + 1; i < plain_grant_end(h, grant); i++) {
        const struct history_event *e = &h->events[i];
        if (plain_is(e, HISTORY_EXTEND, HISTORY_OK) && e->process == h->events[grant].process &&
            e->resource == h->events[grant].resource && plain_asked_ns(h, i) >= from_ns) {
            return true;
        }
    }
    return false;
}

/* "Nodes threw out so many of a grant's keys that no majority was left, no other fault was in force
 * [...], and its client was told later than one and a half renew_every behind that, or not until it
 * released it." */
static inline bool plain_out_untold(const struct plain_history *h, size_t grant)
{
    int64_t every_ns = h->header->renew_every_ns;
    size_t end = plain_grant_end(h, grant);
    if (!plain_declares(h, DECLARES_RENEW) || !plain_declares(h, DECLARES_NOTICE) ||
        every_ns == 0 || end == h->count || plain_again(h, grant) ||
        plain_dies(h, h->events[grant].process, grant, end)) {
        return false;
    }
    int64_t out_ns = plain_thrown_out_ns(h, grant, end);
    return out_ns >= 0 && h->events[end].time_ns - out_ns > every_ns + every_ns / 2 &&
           plain_fault_struck(h, grant, end, false) && !plain_fault_struck(h, grant, end, true) &&
           !plain_extended_since(h, grant, out_ns);
}

/* ---- renewed when it was lost ---------------------------------------------------------------- */

/* Had the client asked for anything between two events, or had a fault stopped it or set its clock?
 */
static inline bool plain_asked_or_stopped(const struct plain_history *h, size_t notice, size_t last)
{
    const struct history_event *n = &h->events[notice];
    for (size_t i = 0; i < last; i++) {
        const struct history_event *e = &h->events[i];
        bool asks = i > notice && e->kind == HISTORY_OP && e->type == HISTORY_INVOKE &&
                    e->process == n->process;
        bool clock = e->fault_kind == FAULT_CLOCK_JUMP || e->fault_kind == FAULT_CLOCK_RATE;
        bool stops = e->fault_kind == FAULT_PAUSE || e->fault_kind == FAULT_SLOW;
        bool struck = plain_begins(e) && (clock || stops) &&
                      history_fault_names_client(e, n->process) &&
                      plain_fault_end_ns(h, i) >= n->time_ns;
        if (asks || struck) {
            return true;
        }
    }
    return false;
}

/* "A key was given more time by a command that was sent later than renew_every, or half a ttl if
 * that is more, behind the notice that it is lost; its client had asked for nothing since, and no
 * fault stopped it or set its clock." */
static inline bool plain_renewed_when_lost(const struct plain_history *h, size_t notice)
{
    const struct history_event *n = &h->events[notice];
    size_t grant = plain_grant_of(h, notice);
    if (!plain_declares(h, DECLARES_NOTICE) || n->kind != HISTORY_NOTICE || n->f != HISTORY_LOST ||
        grant == h->count) {
        return false;
    }
    int64_t half_ns = h->header->ttl_ns / 2;
    int64_t every_ns = h->header->renew_every_ns;
    int64_t limit_ns = every_ns > half_ns ? every_ns : half_ns;
    for (size_t i = notice + 1; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_key(e, HISTORY_KEY_EXTENDED) && e->process == n->process &&
            e->resource == n->resource && plain_same(&e->owner, &h->events[grant].value) &&
            (e->flags & HISTORY_HAS_SENT) != 0 && e->sent_ns - n->time_ns > limit_ns &&
            !plain_asked_or_stopped(h, notice, i)) {
            return true;
        }
    }
    return false;
}

/* ---- run out --------------------------------------------------------------------------------- */

/* When the last key of this grant ran out by its ttl by event `last`, if so many did that another
 * could be granted it, and none went otherwise; -1: they did not. */
static inline int64_t plain_ran_out_ns(const struct plain_history *h, size_t grant, size_t last)
{
    const struct history_event *g = &h->events[grant];
    int64_t last_ns = -1;
    int kept = 0;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        struct plain_held held = plain_holds(h, last, node, g->resource);
        if (held.there && held.process == g->process && plain_same(&held.value, &g->value)) {
            kept++;
            continue;
        }
        size_t gone = plain_went(h, grant, last, node);
        if (gone == h->count) {
            continue; /* it never had one there */
        }
        const struct history_event *e = &h->events[gone];
        if (e->f != HISTORY_KEY_EXPIRED || e->cause != CAUSE_TTL) {
            return -1;
        }
        last_ns = e->time_ns > last_ns ? e->time_ns : last_ns;
    }
    return history_stores(h->header) - kept >= plain_majority(h) ? last_ns : -1;
}

/* Its client, inside since `entered_ns`, was so until event `last` for too long; "not judged where
 * a fault stopped the client since it asked, or set its clock, or any fault yet took keys, stopped
 * a node or set a clock". */
static inline bool plain_stays_in(const struct plain_history *h, size_t grant, size_t last,
                                  int64_t entered_ns)
{
    int64_t gone_ns = plain_ran_out_ns(h, grant, last);
    int64_t from_ns = gone_ns > entered_ns ? gone_ns : entered_ns;
    return gone_ns >= 0 && h->events[last].time_ns - from_ns > h->header->ttl_ns / 10 &&
           plain_leases_are_sure(h, last) &&
           !plain_hindered(h, h->events[grant].process, plain_asked_ns(h, grant), last, true);
}

/* "Its client was inside its section for more than a tenth of a ttl behind the last of them before
 * it was told or left." */
static inline bool plain_ran_out_untold(const struct plain_history *h, size_t grant)
{
    const struct history_event *g = &h->events[grant];
    if (!plain_declares(h, DECLARES_RENEW) || !plain_declares(h, DECLARES_NOTICE) ||
        plain_again(h, grant)) {
        return false;
    }
    int64_t entered_ns = -1;
    bool over = false;
    for (size_t i = grant + 1; i < h->count && !over; i++) {
        const struct history_event *e = &h->events[i];
        bool its = e->process == g->process;
        bool same = its && e->resource == g->resource;
        bool section = same && e->kind == HISTORY_SECTION;
        if (its && e->kind == HISTORY_CLIENT && e->f == HISTORY_CLIENT_KILLED) {
            return false;
        }
        over = (same && (e->kind == HISTORY_NOTICE || plain_granted(e) ||
                         plain_is(e, HISTORY_RELEASE, HISTORY_INVOKE))) ||
               i + 1 == h->count;
        bool left = section && e->f == HISTORY_LEAVE;
        if ((left || over) && entered_ns >= 0 && plain_stays_in(h, grant, i, entered_ns)) {
            return true;
        }
        entered_ns = section ? (left ? -1 : e->time_ns) : entered_ns;
    }
    return false;
}

#endif
