/* plain_leak.h: of the second judge, `no_leak` and `ttl_truth`. */
#ifndef TESTS_JUDGE_PLAIN_LEAK_H
#define TESTS_JUDGE_PLAIN_LEAK_H

#include "tests/judge/plain_keys.h"

/* ---- no_leak ----------------------------------------------------------------------------------
 */

/* When the client sent the command of this set: known, or when it came at the latest. */
static inline int64_t plain_sent_ns(const struct history_event *set)
{
    return (set->flags & HISTORY_HAS_SENT) != 0 ? set->sent_ns : set->time_ns;
}

/* The acquire that an attempt with the value of `set` belongs to: asked for before the first set
 * with it was sent; count if none. */
static inline size_t plain_acquire_of(const struct plain_history *h, size_t set)
{
    const struct history_event *s = &h->events[set];
    int64_t sent_ns = s->time_ns;
    for (size_t i = 0; i < h->count; i++) {
        if (plain_set_by(&h->events[i], s->process, s->resource, &s->value) &&
            plain_sent_ns(&h->events[i]) < sent_ns) {
            sent_ns = plain_sent_ns(&h->events[i]);
        }
    }
    size_t found = h->count;
    for (size_t i = 0; i < set; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_is(e, HISTORY_ACQUIRE, HISTORY_INVOKE) && e->process == s->process &&
            e->resource == s->resource && e->time_ns <= sent_ns) {
            found = i;
        }
    }
    return found;
}

/* The answer to the operation that event `invoke` asks for; count if none came. */
static inline size_t plain_answer_of(const struct plain_history *h, size_t invoke)
{
    for (size_t i = invoke + 1; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind == HISTORY_OP && e->process == h->events[invoke].process &&
            e->resource == h->events[invoke].resource) {
            return i;
        }
    }
    return h->count;
}

/* "Behind its own delete, which had overtaken it": a command of its client that named its value
 * was there before. */
static inline bool plain_overtaken(const struct plain_history *h, size_t set)
{
    const struct history_event *s = &h->events[set];
    for (size_t i = 0; i < set; i++) {
        const struct history_event *e = &h->events[i];
        if ((plain_key(e, HISTORY_KEY_KEPT) || plain_key(e, HISTORY_KEY_DELETED)) &&
            e->node == s->node && e->resource == s->resource && e->process == s->process &&
            plain_same(&e->value, &s->value)) {
            return true;
        }
    }
    return false;
}

/* Was the key of `set` left there by what the client was told, when it went at `gone_ns`? Its lock
 * knew at `known_ns` at the latest. */
static inline bool plain_left(const struct plain_history *h, size_t set, int64_t gone_ns,
                              int64_t *known_ns)
{
    const struct history_event *s = &h->events[set];
    *known_ns = s->time_ns;
    size_t asked = plain_acquire_of(h, set);
    size_t answer = asked < h->count ? plain_answer_of(h, asked) : h->count;
    if (answer == h->count || h->events[answer].type == HISTORY_INFO) {
        return false;
    }
    const struct history_event *a = &h->events[answer];
    if (!plain_granted(a) || !plain_same(&a->value, &s->value)) {
        *known_ns = a->time_ns > s->time_ns ? a->time_ns : s->time_ns;
        return a->time_ns <= gone_ns;
    }
    bool service = history_stores(h->header) < h->header->node_count;
    int64_t unknown_ns = INT64_MAX;
    for (size_t i = answer + 1; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->process != s->process || e->resource != s->resource || e->kind != HISTORY_OP) {
            continue;
        }
        if (plain_is(e, HISTORY_RELEASE, HISTORY_INVOKE) && i < set) {
            return true;
        }
        bool done = plain_is(e, HISTORY_RELEASE, HISTORY_OK);
        bool unknown = plain_is(e, HISTORY_RELEASE, HISTORY_INFO) && !service;
        if (e->time_ns <= gone_ns && (done || unknown)) {
            unknown_ns = e->time_ns;
        }
        if (done || e->f == HISTORY_ACQUIRE) {
            break;
        }
    }
    if (unknown_ns != INT64_MAX) {
        *known_ns = unknown_ns;
        return gone_ns - unknown_ns > h->header->ttl_ns / 4;
    }
    return plain_overtaken(h, set);
}

/* All the latencies up to event `last`. */
static inline int64_t plain_latency_ns(const struct plain_history *h, size_t last)
{
    int64_t latency_ns = 0;
    for (size_t i = 0; i <= last && i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        latency_ns += plain_begins(e) && e->fault_kind == FAULT_LATENCY ? e->number[0] : 0;
    }
    return latency_ns;
}

/* "One of its node or link held it back, from when it was sent until it came." */
static inline bool plain_held_back(const struct plain_history *h, size_t set)
{
    const struct history_event *s = &h->events[set];
    for (size_t i = 0; i < set; i++) {
        const struct history_event *e = &h->events[i];
        bool link = fault_is(e->fault_kind, FAULT_ON_LINK);
        if (plain_begins(e) && (!link || history_fault_names_client(e, s->process)) &&
            history_fault_names_node(e, s->node) && plain_fault_over_ns(h, i) >= plain_sent_ns(s)) {
            return true;
        }
    }
    return false;
}

/* "A fault touched its client, its node, a link of its client or all of them since it was set; or
 * one of its node or link held it back, from when it was sent until it came. A latency does not,
 * beyond two round trips of all of them and half a ttl after its lock knew, but of our own
 * locks, where it was given more time since." */
static inline bool plain_leak_excused(const struct plain_history *h, size_t set, size_t last,
                                      int64_t known_ns)
{
    const struct history_event *s = &h->events[set];
    bool kept = false;
    for (size_t i = set; i < last && !h->header->declared; i++) {
        const struct history_event *e = &h->events[i];
        bool more = (plain_key(e, HISTORY_KEY_SET) || plain_key(e, HISTORY_KEY_EXTENDED)) &&
                    e->node == s->node && e->resource == s->resource;
        kept = kept || (more && e->time_ns > known_ns);
    }
    int64_t late_ns = h->events[last].time_ns - known_ns;
    bool too_late = !kept && late_ns > 2 * plain_latency_ns(h, last) + h->header->ttl_ns / 2;
    for (size_t i = 0; i <= last && i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (!plain_begins(e) || (too_late && e->fault_kind == FAULT_LATENCY)) {
            continue;
        }
        int64_t end_ns = plain_fault_over_ns(h, i);
        bool link = fault_is(e->fault_kind, FAULT_ON_LINK);
        bool client = history_fault_names_client(e, s->process);
        bool node = history_fault_names_node(e, s->node);
        if (link && !client) {
            continue;
        }
        bool all = e->process == HISTORY_NOBODY && e->node == HISTORY_NO_NODE &&
                   e->clients[1] == e->clients[0] && e->nodes == 0;
        if ((client || node || all) && end_ns >= s->time_ns) {
            return true;
        }
        if (node && end_ns >= plain_sent_ns(s) && e->time_ns <= s->time_ns) {
            return true;
        }
    }
    return false;
}

/* "A fault that was over": when the last was that touched its client, its node, a link of its
 * client or all of them, and what it held back had come. INT64_MAX where the client was killed,
 * slow or shown another time since the key was set. "A single lost reply is no excuse." */
static inline int64_t plain_leak_over_ns(const struct plain_history *h, size_t set, size_t last)
{
    const struct history_event *s = &h->events[set];
    int64_t over_ns = 0;
    for (size_t i = 0; i <= last && i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (!plain_begins(e)) {
            continue;
        }
        bool client = history_fault_names_client(e, s->process);
        bool node = history_fault_names_node(e, s->node);
        bool all = e->process == HISTORY_NOBODY && e->node == HISTORY_NO_NODE &&
                   e->clients[1] == e->clients[0] && e->nodes == 0;
        bool link = fault_is(e->fault_kind, FAULT_ON_LINK);
        bool other_time = e->fault_kind == FAULT_KILL || e->fault_kind == FAULT_SLOW ||
                          e->fault_kind == FAULT_CLOCK_JUMP || e->fault_kind == FAULT_CLOCK_RATE;
        int64_t end_ns = plain_fault_over_ns(h, i);
        bool one_reply = e->fault_kind == FAULT_LOSE_REPLY &&
                         plain_fault_end_ns(h, i) - e->time_ns < PLAIN_ONE_REPLY_NS;
        /* "As long again, a second at most, until a node that was gone is connected to." */
        if (fault_is(e->fault_kind, FAULT_OF_PROCESS) && end_ns != INT64_MAX) {
            int64_t lasted_ns = end_ns - e->time_ns;
            end_ns += lasted_ns < NS_PER_S ? lasted_ns : NS_PER_S;
        }
        if (client && other_time && end_ns >= s->time_ns) {
            return INT64_MAX;
        }
        if (!one_reply && (client || all || (node && !link)) && end_ns > over_ns) {
            over_ns = end_ns;
        }
    }
    return over_ns;
}

/* When the release of what this set was granted as was asked; its own sending if it was not. */
static inline int64_t plain_leak_asked_ns(const struct plain_history *h, size_t set)
{
    const struct history_event *s = &h->events[set];
    size_t asked = plain_acquire_of(h, set);
    size_t answer = asked < h->count ? plain_answer_of(h, asked) : h->count;
    bool granted = answer < h->count && plain_granted(&h->events[answer]) &&
                   plain_same(&h->events[answer].value, &s->value);
    for (size_t i = answer; granted && i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_is(e, HISTORY_RELEASE, HISTORY_INVOKE) && e->process == s->process &&
            e->resource == s->resource) {
            return e->time_ns;
        }
    }
    return plain_sent_ns(s);
}

/* "What a release did not get an answer to is sent again every `resend`, for a ttl." */
static inline bool plain_not_sent_again(const struct plain_history *h, size_t set, size_t last,
                                        int64_t known_ns)
{
    const struct history_event *s = &h->events[set];
    const struct history_header *header = h->header;
    bool own = header->resend_ns > 0 && !header->declared && strcmp(header->world, "sim") == 0 &&
               history_stores(header) == header->node_count;
    if (!own || plain_overtaken(h, set) || plain_key(s, HISTORY_KEY_BACK)) {
        return false;
    }
    int64_t from_ns = plain_leak_over_ns(h, set, last);
    from_ns = from_ns > known_ns ? from_ns : known_ns;
    from_ns = from_ns > s->time_ns ? from_ns : s->time_ns;
    int64_t to_ns = plain_leak_asked_ns(h, set) + header->ttl_ns;
    to_ns = to_ns < h->events[last].time_ns ? to_ns : h->events[last].time_ns;
    return from_ns < to_ns && to_ns - from_ns > 2 * header->resend_ns + header->ttl_ns / 4;
}

/* The life of the key that event `set` made: how it ends. */
static inline bool plain_leaks(const struct plain_history *h, size_t set)
{
    const struct history_event *s = &h->events[set];
    if (s->process == HISTORY_NOBODY || plain_killed_ns(h, s->process, 0, h->count) != INT64_MAX) {
        return false;
    }
    int64_t known_ns = 0;
    for (size_t i = set + 1; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind != HISTORY_NODE || e->node != s->node || e->resource != s->resource) {
            continue;
        }
        if (plain_key(e, HISTORY_KEY_SET) ||
            (plain_gone(e) && !plain_key(e, HISTORY_KEY_EXPIRED))) {
            return false;
        }
        if (plain_key(e, HISTORY_KEY_EXPIRED)) {
            return e->cause == CAUSE_TTL && plain_left(h, set, e->time_ns, &known_ns) &&
                   (!plain_leak_excused(h, set, i, known_ns) ||
                    plain_not_sent_again(h, set, i, known_ns)) &&
                   !plain_under_way(h, s, s->node, i);
        }
    }
    int64_t end_ns = h->events[h->count - 1].time_ns;
    return end_ns - s->time_ns > h->header->ttl_ns && plain_left(h, set, end_ns, &known_ns) &&
           (!plain_leak_excused(h, set, h->count - 1, known_ns) ||
            plain_not_sent_again(h, set, h->count - 1, known_ns));
}

/* `no_leak`: did an acquire that was not granted, or a release, leave keys behind? */
static inline enum plain plain_no_leak(const struct plain_history *h)
{
    enum plain verdict = PLAIN_NOTHING;
    for (size_t i = 0; i < h->count; i++) {
        if (plain_key(&h->events[i], HISTORY_KEY_SET)) {
            verdict = PLAIN_PASS;
            if (plain_leaks(h, i)) {
                return PLAIN_FAIL;
            }
        }
    }
    return verdict;
}

/* ---- ttl_truth --------------------------------------------------------------------------------
 */

static inline bool plain_clock_set(const struct plain_history *h, int32_t node, size_t last)
{
    for (size_t i = 0; i <= last; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_begins(e) && fault_is(e->fault_kind, FAULT_OF_CLOCK) &&
            history_fault_names_node(e, node)) {
            return true;
        }
    }
    return false;
}

/* What gave this node's key of `grant` its ttl last, up to event `last`; count if it is not there.
 */
static inline size_t plain_ttl_from(const struct plain_history *h, int32_t node, size_t last,
                                    const struct history_event *grant)
{
    struct plain_held held = plain_holds(h, last, node, grant->resource);
    size_t found = h->count;
    if (!held.there || held.process != grant->process || !plain_same(&held.value, &grant->value)) {
        return found;
    }
    for (size_t i = 0; i <= last; i++) {
        const struct history_event *e = &h->events[i];
        bool gives = plain_key(e, HISTORY_KEY_SET) || plain_key(e, HISTORY_KEY_EXTENDED);
        bool back = plain_key(e, HISTORY_KEY_BACK); /* with what was left of another ttl */
        if ((gives || back) && e->node == node && e->resource == grant->resource) {
            found = back ? h->count : i;
        }
    }
    return found;
}

/* The next whole second. */
static inline int64_t plain_rounded_ns(int64_t ns)
{
    return (ns + 999999999) / 1000000000 * 1000000000;
}

/* "1 %, or 3 ms if that is more; longer by less than a tenth; rounding up to whole seconds; an
 * extension that adds to what is left, up to two ttls"; "less, of a key that ends a ttl behind when
 * it was asked for, or later, or that this operation did not reach". What `e` gave, as the answer
 * at `last` finds it. */
static inline bool plain_ttl_false(const struct plain_history *h, const struct history_event *e,
                                   size_t last)
{
    bool extended = !plain_granted(&h->events[last]);
    size_t asked = plain_invoke_of(h, last);
    int64_t asked_ns = h->header->ttl_ns;
    int64_t slack_ns = asked_ns / 100 > 3000000 ? asked_ns / 100 : 3000000;
    int64_t most_ns = extended && plain_key(e, HISTORY_KEY_EXTENDED) ? 2 * asked_ns : asked_ns;
    bool known = (e->flags & HISTORY_HAS_TTL) != 0;
    if (e->until_ns == 0 && !known) {
        return true; /* it never expires */
    }
    int64_t ttl_ns = known ? e->ttl_ns : e->until_ns - e->time_ns;
    int64_t off_ns = ttl_ns - plain_rounded_ns(most_ns);
    bool far = ttl_ns >= most_ns + asked_ns / 10 && ttl_ns > most_ns + slack_ns;
    bool longer = far && (off_ns > slack_ns || off_ns <= -slack_ns);
    int64_t end_ns = h->events[asked].time_ns + asked_ns - slack_ns;
    bool timely = e->time_ns + ttl_ns >= end_ns || e < &h->events[asked];
    return longer || (ttl_ns < asked_ns - slack_ns && !timely);
}

/* `ttl_truth`: "a key of a grant, when it is granted or extended, whose ttl is shorter or longer
 * than the one that was asked, or that never expires". */
static inline enum plain plain_ttl_truth(const struct plain_history *h)
{
    enum plain verdict = PLAIN_NOTHING;
    bool asks = h->header->ttl_ns > 0 && !h->header->endless;
    for (size_t i = 0; i < h->count && asks; i++) {
        const struct history_event *e = &h->events[i];
        if (!plain_granted(e) && !plain_is(e, HISTORY_EXTEND, HISTORY_OK)) {
            continue;
        }
        size_t grant = plain_granted(e) ? i : plain_grant_of(h, i);
        if (grant == h->count || (grant < i && plain_grant_end(h, grant) < i)) {
            continue;
        }
        for (int32_t node = 0; node < h->header->node_count; node++) {
            size_t from = plain_ttl_from(h, node, i, &h->events[grant]);
            if (from == h->count || plain_clock_set(h, node, i)) {
                continue;
            }
            verdict = PLAIN_PASS;
            if (plain_ttl_false(h, &h->events[from], i)) {
                return PLAIN_FAIL;
            }
        }
    }
    return verdict;
}

#endif
