/* plain_answers.h: of the second judge, `answer_consistency`. */
#ifndef TESTS_JUDGE_PLAIN_ANSWERS_H
#define TESTS_JUDGE_PLAIN_ANSWERS_H

#include "tests/judge/plain_faults.h"

/* "What a fault may explain that was in force since the lease was asked for." */
static inline bool plain_may_be_a_fault(const struct plain_history *h, size_t grant, size_t last)
{
    int64_t asked_ns = plain_asked_ns(h, grant);
    for (size_t i = 0; i <= last; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_begins(e) &&
            (fault_trait_of((enum fault_kind)e->fault_kind)->life == FAULT_STAYS ||
             plain_fault_over_ns(h, i) >= asked_ns)) {
            return true;
        }
    }
    return false;
}

/* Does the client of event `i` hold the resource by a grant before it? Its grant; count if not. */
static inline size_t plain_holds_already(const struct plain_history *h, size_t i)
{
    static struct plain_spans spans;
    size_t grant = plain_grant_of(h, i);
    if (grant == h->count) {
        return h->count;
    }
    spans.count = 0;
    plain_lease(h, grant, &spans);
    int64_t now_ns = h->events[i].time_ns;
    bool ended = plain_grant_end(h, grant) < i;
    for (size_t k = 0; k < spans.count && !ended; k++) {
        if (spans.list[k].begin_ns <= now_ns && now_ns < spans.list[k].end_ns) {
            return grant;
        }
        if (spans.list[k].end_ns == now_ns && plain_grant_end(h, grant) == i) {
            return grant; /* nothing but this very answer ends it */
        }
    }
    return h->count;
}

/* "An extension that is told done although the release before it was, or the notice of its loss" */
static inline bool plain_extended_nothing(const struct plain_history *h, size_t extend)
{
    size_t grant = plain_given_back(h, extend);
    bool over = false;
    for (size_t i = grant; i < extend && plain_grant_end(h, grant) < extend; i++) {
        const struct history_event *e = &h->events[i];
        if (e->process == h->events[extend].process && e->resource == h->events[extend].resource) {
            over = over || plain_is(e, HISTORY_RELEASE, HISTORY_OK) || e->kind == HISTORY_NOTICE;
        }
    }
    return over && !plain_declares(h, DECLARES_REENTRANT) &&
           !plain_may_be_a_fault(h, grant, extend);
}

/* When a key of the grant was given more time last, until then; or else when it was granted. */
static inline int64_t plain_given_time(const struct plain_history *h, size_t grant,
                                       int64_t until_ns)
{
    const struct history_event *g = &h->events[grant];
    int64_t given_ns = g->time_ns;
    for (size_t i = grant + 1; i < h->count && h->events[i].time_ns <= until_ns; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_key(e, HISTORY_KEY_EXTENDED) && e->resource == g->resource &&
            plain_same(&e->owner, &g->value)) {
            given_ns = e->time_ns;
        }
    }
    return given_ns;
}

/* The nodes that a fault struck which may be in the way of a grant's client: all where one struck
 * it, or the nodes are one store. "Those of other clients alone are in nobody's way." */
static inline uint64_t plain_struck_nodes(const struct plain_history *h, size_t grant, size_t last)
{
    uint64_t struck = 0;
    for (size_t i = 0; i <= last; i++) {
        const struct history_event *e = &h->events[i];
        bool stays =
            plain_begins(e) && fault_trait_of((enum fault_kind)e->fault_kind)->life == FAULT_STAYS;
        if (!plain_begins(e) || (!stays && plain_fault_over_ns(h, i) < plain_asked_ns(h, grant))) {
            continue;
        }
        if (history_fault_names_client(e, h->events[grant].process) || plain_strikes_all(e)) {
            return UINT64_MAX;
        }
        for (int32_t node = 0; node < h->header->node_count; node++) {
            struck |= history_fault_names_node(e, node) ? UINT64_C(1) << node : 0;
        }
    }
    return struck != 0 && history_stores(h->header) < h->header->node_count ? UINT64_MAX : struck;
}

/* "A grant that was held until its client released it for longer than two times renew_every (or a
 * ttl) of whose majority of keys none was given more time, or for longer than a ttl behind the last
 * that was; or that was told lost two times renew_every behind it. Where a fault struck nodes, and
 * a majority is left, for no less than nine tenths of a ttl." */
static inline bool plain_never_renewed(const struct plain_history *h, size_t grant)
{
    int64_t every_ns = h->header->renew_every_ns;
    int64_t ttl_ns = h->header->ttl_ns;
    int64_t limit_ns = every_ns > 0 && 2 * every_ns < ttl_ns ? 2 * every_ns : ttl_ns;
    size_t last = plain_grant_end(h, grant);
    if (last == h->count || plain_granted(&h->events[last])) {
        return false;
    }
    uint64_t struck = plain_struck_nodes(h, grant, last);
    int left = struck == UINT64_MAX ? 0 : h->header->node_count - __builtin_popcountll(struck);
    int64_t end_ns = h->events[last].time_ns;
    int64_t given_ns = plain_given_time(h, grant, end_ns);
    bool told = h->events[last].kind == HISTORY_NOTICE;
    if (!told && given_ns > h->events[grant].time_ns) {
        limit_ns = ttl_ns;
    } else if (struck != 0 && limit_ns < ttl_ns - ttl_ns / 10) {
        limit_ns = ttl_ns - ttl_ns / 10;
    }
    return plain_sets(h, 0, last, &h->events[grant]) >= plain_majority(h) && limit_ns > 0 &&
           end_ns - given_ns > limit_ns && left >= plain_majority(h);
}

/* "Or that was told lost longer than one and a half renew_every after the last of the errors of
 * nodes, which were all the faults that were in force since it was asked for, and no key was given
 * more time since." */
static inline bool plain_renewed_no_more(const struct plain_history *h, size_t grant)
{
    size_t last = plain_grant_end(h, grant);
    int64_t over_ns = -1;
    for (size_t i = 0; i < last && last < h->count; i++) {
        const struct history_event *e = &h->events[i];
        int64_t end_ns = plain_begins(e) ? plain_fault_over_ns(h, i) : INT64_MIN;
        bool stays =
            plain_begins(e) && fault_trait_of((enum fault_kind)e->fault_kind)->life == FAULT_STAYS;
        if (!stays && end_ns < plain_asked_ns(h, grant)) {
            continue;
        }
        if (e->fault_kind != FAULT_REFUSE_WRITES || end_ns > h->events[last].time_ns) {
            return false;
        }
        over_ns = end_ns > over_ns ? end_ns : over_ns;
    }
    int64_t limit_ns = h->header->renew_every_ns + h->header->renew_every_ns / 2;
    return last < h->count && h->events[last].kind == HISTORY_NOTICE && limit_ns > 0 &&
           over_ns >= h->events[grant].time_ns &&
           plain_sets(h, 0, last, &h->events[grant]) >= plain_majority(h) &&
           plain_given_time(h, grant, h->events[last].time_ns) < over_ns &&
           h->events[last].time_ns - over_ns > limit_ns;
}

/* How often the client of event `i` holds the resource of a re-entrant lock before it: each release
 * gives back one. */
static inline int plain_depth(const struct plain_history *h, size_t i)
{
    int depth = 0;
    for (size_t k = 0; k < i; k++) {
        const struct history_event *e = &h->events[k];
        if (e->process == h->events[i].process && e->resource == h->events[i].resource) {
            depth += plain_granted(e) ? 1 : 0;
            depth -= plain_is(e, HISTORY_RELEASE, HISTORY_INVOKE) && depth > 0 ? 1 : 0;
        }
    }
    return depth;
}

/* Was this client ever told before that it lost the resource of event `i`? What a re-entrant lock
 * counts from then on stands nowhere. */
static inline bool plain_lost_before(const struct plain_history *h, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        const struct history_event *e = &h->events[k];
        if (e->kind == HISTORY_NOTICE && e->process == h->events[i].process &&
            e->resource == h->events[i].resource) {
            return true;
        }
    }
    return false;
}

/* Is anything granted to who holds it already, or was told of a loss before? */
static inline bool plain_any_nested(const struct plain_history *h)
{
    for (size_t i = 0; i < h->count; i++) {
        if (plain_granted(&h->events[i]) && (plain_depth(h, i) > 0 || plain_lost_before(h, i))) {
            return true;
        }
    }
    return false;
}

/* "Not judged: renewals of what its holder acquired again": of a re-entrant lock only a grant
 * counts that its client did not hold before. */
static inline bool plain_renews_in_vain(const struct plain_history *h, size_t grant)
{
    bool inner = plain_declares(h, DECLARES_REENTRANT) && plain_depth(h, grant) > 0;
    return !inner && (plain_never_renewed(h, grant) || plain_renewed_no_more(h, grant));
}

/* Would it make a difference whether some grant of a re-entrant lock was one more of what was held,
 * where nobody can say: its client may have lost it meanwhile? */
static inline bool plain_depth_is_unclear(const struct plain_history *h)
{
    for (size_t i = 0; i < h->count; i++) {
        bool unclear = plain_granted(&h->events[i]) &&
                       (plain_depth(h, i) > 0 || plain_lost_before(h, i)) &&
                       (plain_never_renewed(h, i) || plain_renewed_no_more(h, i));
        if (unclear) {
            return true;
        }
    }
    return false;
}

/* The event in which the key that its client set for a grant on a node went last, by event `last`;
 * count if there was none, or it never did. */
static inline size_t plain_went(const struct plain_history *h, size_t grant, size_t last,
                                int32_t node)
{
    const struct history_event *g = &h->events[grant];
    bool set = false;
    size_t went = h->count;
    for (size_t i = 0; i <= last && i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        set = set || (e->node == node && plain_set_by(e, g->process, g->resource, &g->value));
        bool its = plain_gone(e) && e->node == node && e->resource == g->resource &&
                   plain_same(&e->owner, &g->value);
        went = its ? i : went;
    }
    return set ? went : h->count;
}

/* "When so many of its keys had run out by their ttl that no majority was left"; one that was set
 * anew behind that had run out all the same. */
static inline bool plain_had_run_out(const struct plain_history *h, size_t grant, size_t last)
{
    int sets = plain_sets(h, 0, last, &h->events[grant]);
    int left = sets;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        size_t went = plain_went(h, grant, last, node);
        left -= went < h->count && h->events[went].f == HISTORY_KEY_EXPIRED ? 1 : 0;
    }
    return sets > 0 && left < plain_majority(h);
}

static inline bool plain_contradicts(const struct plain_history *h, size_t i)
{
    const struct history_event *e = &h->events[i];
    if (plain_granted(e)) {
        size_t held = plain_holds_already(h, i);
        bool again = held < h->count && h->header->declared &&
                     !plain_declares(h, DECLARES_REENTRANT) && !plain_may_be_a_fault(h, held, i) &&
                     !plain_had_run_out(h, held, i);
        bool endless = plain_declares(h, DECLARES_VALIDITY) && (e->flags & HISTORY_HAS_UNTIL) == 0;
        bool fenceless = plain_declares(h, DECLARES_FENCE) && !plain_fenced(e);
        return again || endless || fenceless ||
               (plain_declares(h, DECLARES_RENEW) && plain_renews_in_vain(h, i));
    }
    if (plain_is(e, HISTORY_ACQUIRE, HISTORY_FAIL)) {
        size_t held = plain_holds_already(h, i);
        return held < h->count && plain_declares(h, DECLARES_REENTRANT) &&
               !plain_may_be_a_fault(h, held, i) && !plain_had_run_out(h, held, i);
    }
    return plain_is(e, HISTORY_EXTEND, HISTORY_OK) && plain_extended_nothing(h, i);
}

/* `answer_consistency`: do the answers to a client contradict each other, or what is declared? */
static inline enum plain plain_answer_consistency(const struct plain_history *h)
{
    enum plain verdict = PLAIN_NOTHING;
    for (size_t i = 0; i < h->count; i++) {
        verdict = h->events[i].kind == HISTORY_OP ? plain_worse(verdict, PLAIN_PASS) : verdict;
        if (plain_contradicts(h, i)) {
            return PLAIN_FAIL;
        }
    }
    return verdict;
}

#endif
