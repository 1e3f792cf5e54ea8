/* plain_keys.h: of the second judge, the checks that ask what became of a lock's keys. */
#ifndef TESTS_JUDGE_PLAIN_KEYS_H
#define TESTS_JUDGE_PLAIN_KEYS_H

#include "tests/judge/plain.h"

/* A fault that loses but one reply is over sooner. */
#define PLAIN_ONE_REPLY_NS INT64_C(10000000)

/* Whether the lock says of itself that it does this. */
static inline bool plain_declares(const struct plain_history *h, enum history_declares what)
{
    return h->header->declared && (h->header->declares >> what & 1) != 0;
}

/* "A majority is nodes / 2 + 1 of the nodes that the header counts; of a service whose nodes are
 * one store that one is it." */
static inline int plain_majority(const struct plain_history *h)
{
    return history_stores(h->header) / 2 + 1;
}

/* The invoke whose answer event `end` is. */
static inline size_t plain_invoke_of(const struct plain_history *h, size_t end)
{
    size_t found = end;
    for (size_t i = 0; i < end; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind == HISTORY_OP && e->type == HISTORY_INVOKE &&
            e->process == h->events[end].process) {
            found = i;
        }
    }
    return found;
}

/* When a fault ended; INT64_MAX if it did not. */
static inline int64_t plain_fault_end_ns(const struct plain_history *h, size_t start)
{
    for (size_t i = start + 1; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind == HISTORY_FAULT && e->f == HISTORY_FAULT_END &&
            e->fault == h->events[start].fault) {
            return e->time_ns;
        }
    }
    return INT64_MAX;
}

static inline bool plain_begins(const struct history_event *e)
{
    return e->kind == HISTORY_FAULT && e->f == HISTORY_FAULT_START;
}

/* ---- keys -------------------------------------------------------------------------------------
 */

static inline bool plain_key(const struct history_event *e, enum history_f f)
{
    return e->kind == HISTORY_NODE && e->f == (uint8_t)f;
}

static inline bool plain_same(const struct history_value *a, const struct history_value *b)
{
    return history_value_equal(a, b);
}

/* Who set the key that holds `value` on this node, as event `before` found it; HISTORY_NOBODY if
 * nobody is known. */
static inline int32_t plain_setter(const struct plain_history *h, size_t before,
                                   const struct history_value *value)
{
    int32_t setter = HISTORY_NOBODY;
    for (size_t i = 0; i < before; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_key(e, HISTORY_KEY_SET) && e->node == h->events[before].node &&
            e->resource == h->events[before].resource && plain_same(&e->value, value)) {
            setter = e->process;
        }
    }
    return setter;
}

/* "Of threads of one program, a command that names the value of the key is no other's." */
static inline bool plain_same_program(const struct plain_history *h, int32_t one, int32_t other)
{
    int32_t threads = h->header->thread_count;
    return threads > 1 && one / threads == other / threads;
}

/* `ownership`: "a command deleted, extended or overwrote a key that another client had set. Where
 * the client that set it is unknown, the value that the command named decides." */
static inline enum plain plain_ownership(const struct plain_history *h)
{
    enum plain verdict = PLAIN_NOTHING;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        bool changed = plain_key(e, HISTORY_KEY_DELETED) || plain_key(e, HISTORY_KEY_EXTENDED) ||
                       plain_key(e, HISTORY_KEY_SET);
        if (!changed || (e->flags & HISTORY_HAS_OWNER) == 0) {
            continue;
        }
        verdict = plain_worse(verdict, PLAIN_PASS);
        int32_t setter = plain_setter(h, i, &e->owner);
        bool named = (e->flags & HISTORY_HAS_VALUE) != 0 && !plain_same(&e->value, &e->owner);
        bool known = setter != HISTORY_NOBODY && e->process != HISTORY_NOBODY;
        bool guessed = known && !named && (e->flags & HISTORY_HAS_VALUE) != 0 &&
                       plain_same_program(h, setter, e->process);
        if (known ? setter != e->process && !guessed : named) {
            return PLAIN_FAIL;
        }
    }
    return verdict;
}

/* What a node's key holds: whose it is and with which value. */
struct plain_held {
    bool there;
    int32_t process;
    struct history_value value;
};

static inline bool plain_gone(const struct history_event *e)
{
    return plain_key(e, HISTORY_KEY_DELETED) || plain_key(e, HISTORY_KEY_EXPIRED) ||
           plain_key(e, HISTORY_KEY_LOST) || plain_key(e, HISTORY_KEY_EVICTED);
}

static inline struct plain_held plain_holds(const struct plain_history *h, size_t last,
                                            int32_t node, uint32_t resource)
{
    for (size_t i = last + 1; i-- > 0;) {
        const struct history_event *e = &h->events[i];
        if (e->kind != HISTORY_NODE || e->node != node || e->resource != resource) {
            continue;
        }
        if (plain_key(e, HISTORY_KEY_SET)) {
            return (struct plain_held){true, e->process, e->value};
        }
        if (plain_key(e, HISTORY_KEY_BACK)) {
            return (struct plain_held){true, plain_setter(h, i, &e->owner), e->owner};
        }
        if (plain_gone(e)) {
            break;
        }
    }
    return (struct plain_held){.process = HISTORY_NOBODY};
}

/* On how many nodes the key of this grant is there behind event `last`. */
static inline int plain_holding(const struct plain_history *h, size_t last, size_t grant)
{
    const struct history_event *g = &h->events[grant];
    int holding = 0;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        struct plain_held held = plain_holds(h, last, node, g->resource);
        holding +=
            held.there && held.process == g->process && plain_same(&held.value, &g->value) ? 1 : 0;
    }
    return holding;
}

/* `validity`: "a majority that broke while the lease ran": it was there when an event of that time
 * came, and is not behind it. One that was gone before the lease was renewed did not break then. */
static inline bool plain_broke(const struct plain_history *h, const struct plain_span *lease)
{
    int majority = plain_majority(h);
    for (size_t i = lease->grant + 1; i < h->count; i++) {
        bool inside =
            h->events[i].time_ns >= lease->begin_ns && h->events[i].time_ns < lease->end_ns;
        if (inside && plain_holding(h, i, lease->grant) < majority &&
            plain_holding(h, i - 1, lease->grant) >= majority) {
            return true;
        }
    }
    return false;
}

/* When the key on this node ends, as the node told last by event `last`; INT64_MAX: never, or it
 * did not tell. */
static inline int64_t plain_key_until_ns(const struct plain_history *h, size_t last, int32_t node,
                                         uint32_t resource)
{
    int64_t until_ns = INT64_MAX;
    for (size_t i = 0; i <= last; i++) {
        const struct history_event *e = &h->events[i];
        if (e->node == node && e->resource == resource &&
            (plain_key(e, HISTORY_KEY_SET) || plain_key(e, HISTORY_KEY_EXTENDED) ||
             plain_key(e, HISTORY_KEY_BACK))) {
            until_ns = (e->flags & HISTORY_HAS_UNTIL) != 0 ? e->until_ns : INT64_MAX;
        }
    }
    return until_ns;
}

/* Was a fault of this client's clock, or (`any`) one that stops it, in force from `from_ns` to
 * event `last`? */
static inline bool plain_hindered(const struct plain_history *h, int32_t client, int64_t from_ns,
                                  size_t last, bool any)
{
    for (size_t i = 0; i < last; i++) {
        const struct history_event *e = &h->events[i];
        bool clock = e->fault_kind == FAULT_CLOCK_JUMP || e->fault_kind == FAULT_CLOCK_RATE;
        bool stops = e->fault_kind == FAULT_PAUSE || e->fault_kind == FAULT_SLOW;
        if (plain_begins(e) && (clock || (any && stops)) && e->process == client &&
            plain_fault_end_ns(h, i) >= from_ns) {
            return true;
        }
    }
    return false;
}

/* "A promise, of a lock that declares what it is and does not renew, that ends later, at its
 * earliest reading, than the majority of its keys [...]: by more than a ttl, if no fault had set
 * its client's clock since it was asked for; by more than a tenth of one, if no fault yet had taken
 * keys, stopped a node or set a clock, and none stopped its client since then." */
static inline bool plain_beyond(const struct plain_history *h, size_t told, size_t grant,
                                int64_t until_ns)
{
    const struct history_event *e = &h->events[told];
    int64_t ttl_ns = h->header->ttl_ns;
    int64_t asked_ns = h->events[plain_invoke_of(h, told)].time_ns;
    if (!h->header->declared || plain_declares(h, DECLARES_RENEW) || ttl_ns == 0 ||
        plain_hindered(h, e->process, asked_ns, told, false)) {
        return false;
    }
    bool least = (e->flags & HISTORY_HAS_UNTIL_LEAST) != 0 && e->until_least_ns < until_ns;
    int64_t end_ns = least ? e->until_least_ns : until_ns;
    bool calm =
        plain_leases_are_sure(h, told) && !plain_hindered(h, e->process, asked_ns, told, true);
    int ends_too_early = 0;
    for (int32_t node = 0; node < history_stores(h->header); node++) {
        struct plain_held held = plain_holds(h, told, node, e->resource);
        bool its = held.there && held.process == h->events[grant].process &&
                   plain_same(&held.value, &h->events[grant].value);
        int64_t key_ns = plain_key_until_ns(h, told, node, e->resource);
        ends_too_early += !its || key_ns < end_ns - (calm ? ttl_ns / 10 : ttl_ns) ? 1 : 0;
    }
    return ends_too_early > history_stores(h->header) - plain_majority(h);
}

static inline enum plain plain_validity(const struct plain_history *h)
{
    static struct plain_spans leases;
    enum plain verdict = PLAIN_NOTHING;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (!plain_granted(e) && !plain_is(e, HISTORY_EXTEND, HISTORY_OK)) {
            continue;
        }
        size_t grant = plain_granted(e) ? i : plain_given_back(h, i);
        bool known = grant < h->count && (grant == i || plain_grant_end(h, grant) > i);
        int64_t until_ns = plain_promises(h, e) ? e->until_ns
                           : known              ? plain_promised_ns(h, grant, i)
                                                : INT64_MAX;
        if (until_ns == INT64_MAX || grant == h->count) {
            continue;
        }
        verdict = PLAIN_PASS;
        if (until_ns <= e->time_ns || (known && (plain_holding(h, i, grant) < plain_majority(h) ||
                                                 plain_beyond(h, i, grant, until_ns)))) {
            return PLAIN_FAIL;
        }
    }
    plain_leases(h, &leases);
    for (size_t i = 0; i < leases.count && verdict == PLAIN_PASS; i++) {
        if (plain_promises(h, &h->events[leases.list[i].grant]) &&
            plain_broke(h, &leases.list[i])) {
            return PLAIN_FAIL;
        }
    }
    return verdict;
}

/* ---- result_truth -----------------------------------------------------------------------------
 */

static inline bool plain_set_by(const struct history_event *e, int32_t process, uint32_t resource,
                                const struct history_value *value)
{
    return plain_key(e, HISTORY_KEY_SET) && e->process == process && e->resource == resource &&
           plain_same(&e->value, value);
}

/* On how many nodes this client set the key with this value, from event `from` to event `to`. */
static inline int plain_sets(const struct plain_history *h, size_t from, size_t to,
                             const struct history_event *of)
{
    uint64_t nodes = 0;
    for (size_t i = from; i <= to && i < h->count; i++) {
        if (plain_set_by(&h->events[i], of->process, of->resource, &of->value)) {
            nodes |= UINT64_C(1) << h->events[i].node;
        }
    }
    return __builtin_popcountll(nodes);
}

/* When what a fault did is over: "what was on its way when a delay ended still comes late", by all
 * the delays until then. */
static inline int64_t plain_fault_over_ns(const struct plain_history *h, size_t start)
{
    int64_t end_ns = plain_fault_end_ns(h, start);
    enum fault_kind kind = (enum fault_kind)h->events[start].fault_kind;
    bool ended = end_ns != INT64_MAX && (kind == FAULT_LATENCY || kind == FAULT_DELAY_COMMAND);
    int64_t late_ns = 0;
    for (size_t i = 0; ended && i < h->count && h->events[i].time_ns <= end_ns; i++) {
        const struct history_event *e = &h->events[i];
        bool delays = e->fault_kind == FAULT_LATENCY || e->fault_kind == FAULT_DELAY_COMMAND;
        late_ns += plain_begins(e) && delays ? e->number[0] : 0;
    }
    return end_ns + late_ns;
}

/* Was a fault that names this client in force at any time from event `from` to event `to`? */
static inline bool plain_touched(const struct plain_history *h, int32_t process, size_t from,
                                 size_t to)
{
    for (size_t i = 0; i <= to; i++) {
        if (plain_begins(&h->events[i]) && history_fault_names_client(&h->events[i], process) &&
            plain_fault_over_ns(h, i) >= h->events[from].time_ns) {
            return true;
        }
    }
    return false;
}

/* The same, or one that names this node; "one lost reply is no excuse". */
static inline bool plain_excused(const struct plain_history *h, int32_t process, int32_t node,
                                 size_t from, size_t to)
{
    for (size_t i = 0; i <= to; i++) {
        const struct history_event *e = &h->events[i];
        if (!plain_begins(e)) {
            continue;
        }
        int64_t end_ns = plain_fault_end_ns(h, i);
        bool one_reply =
            e->fault_kind == FAULT_LOSE_REPLY && end_ns - e->time_ns < PLAIN_ONE_REPLY_NS;
        bool named = history_fault_names_client(e, process) || history_fault_names_node(e, node);
        if (named && !one_reply && plain_fault_over_ns(h, i) >= h->events[from].time_ns) {
            return true;
        }
    }
    return false;
}

/* Where a client first set a key with this value. */
static inline size_t plain_first_set(const struct plain_history *h, const struct history_event *set)
{
    for (size_t i = 0; i < h->count; i++) {
        if (plain_set_by(&h->events[i], set->process, set->resource, &set->value)) {
            return i;
        }
    }
    return h->count;
}

/* Until the end of a key by event `end`, a majority had the key of `set`: now one less. */
static inline bool plain_keeps_majority(const struct plain_history *h, size_t end,
                                        const struct history_event *set)
{
    int holding = 0;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        struct plain_held held = plain_holds(h, end, node, set->resource);
        holding +=
            held.there && held.process == set->process && plain_same(&held.value, &set->value) ? 1
                                                                                               : 0;
    }
    return holding == plain_majority(h) - 1;
}

/* "Its delete was sent before": a command of who set the key, with its value, that came to its node
 * within a ttl behind event `gone`, and was sent by then. */
static inline bool plain_under_way(const struct plain_history *h, const struct history_event *set,
                                   int32_t node, size_t gone)
{
    int64_t gone_ns = h->events[gone].time_ns;
    for (size_t i = gone + 1; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if ((plain_key(e, HISTORY_KEY_KEPT) || plain_key(e, HISTORY_KEY_DELETED)) &&
            e->node == node && e->resource == set->resource && e->process == set->process &&
            plain_same(&e->value, &set->value) && (e->flags & HISTORY_HAS_SENT) != 0 &&
            e->sent_ns <= gone_ns &&
            (h->header->ttl_ns == 0 || e->time_ns - gone_ns <= h->header->ttl_ns)) {
            return true;
        }
    }
    return false;
}

/* "The first release of this grant", of which no loss was told: was an earlier one answered, or a
 * loss told, up to event `last`? */
static inline bool plain_released_before(const struct plain_history *h, size_t grant, size_t last)
{
    const struct history_event *e = &h->events[last];
    for (size_t i = grant + 1; i < last; i++) {
        const struct history_event *other = &h->events[i];
        bool released = other->kind == HISTORY_OP && other->f == HISTORY_RELEASE &&
                        other->type != HISTORY_INVOKE;
        bool told = other->kind == HISTORY_NOTICE && other->f == HISTORY_LOST &&
                    i < plain_invoke_of(h, last);
        if ((released || told) && other->process == e->process && other->resource == e->resource) {
            return true;
        }
    }
    return false;
}

/* Did the key of event `granted` on this node go and come again by a set, from the grant to event
 * `last`? */
static inline bool plain_remade(const struct plain_history *h, size_t granted, size_t last,
                                int32_t node)
{
    const struct history_event *grant = &h->events[granted];
    bool set = false;
    for (size_t i = 0; i <= last; i++) {
        const struct history_event *e = &h->events[i];
        if (e->node != node || !plain_set_by(e, grant->process, grant->resource, &grant->value)) {
            continue;
        }
        struct plain_held held = i > 0 ? plain_holds(h, i - 1, node, grant->resource)
                                       : (struct plain_held){.there = false};
        if (set && i > granted && !(held.there && plain_same(&held.value, &grant->value))) {
            return true;
        }
        set = true;
    }
    return false;
}

/* "Extended, but keys of the majority were gone and had to be set anew." */
static inline bool plain_set_anew(const struct plain_history *h, size_t extended)
{
    size_t grant = plain_grant_of(h, extended);
    if (grant == h->count || plain_grant_end(h, grant) < extended) {
        return false;
    }
    const struct history_event *g = &h->events[grant];
    int majority = plain_majority(h);
    int stayed = 0;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        struct plain_held held = plain_holds(h, extended, node, g->resource);
        bool ours = held.there && held.process == g->process && plain_same(&held.value, &g->value);
        stayed += ours && !plain_remade(h, grant, extended, node) ? 1 : 0;
    }
    return plain_holding(h, extended, grant) >= majority && stayed < majority;
}

/* Where no node was sent the value that was told, the keys go by who set them: on how many nodes
 * did this client set one for the acquire that event `grant` ends? */
static inline int plain_set_others(const struct plain_history *h, size_t grant)
{
    uint64_t nodes = 0;
    for (size_t i = plain_invoke_of(h, grant); i < grant; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_key(e, HISTORY_KEY_SET) && e->process == h->events[grant].process &&
            e->resource == h->events[grant].resource) {
            nodes |= UINT64_C(1) << e->node;
        }
    }
    return __builtin_popcountll(nodes);
}

/* "No fault was in force and nobody stood still" since event `from`; a clock that was set stays so.
 */
static inline bool plain_quiet(const struct plain_history *h, size_t from, size_t last)
{
    for (size_t i = 0; i <= last; i++) {
        const struct history_event *e = &h->events[i];
        bool stays =
            plain_begins(e) && fault_trait_of((enum fault_kind)e->fault_kind)->life == FAULT_STAYS;
        if ((e->kind == HISTORY_LATE && i > from) || stays ||
            (plain_begins(e) && plain_fault_end_ns(h, i) >= h->events[from].time_ns)) {
            return false;
        }
    }
    return true;
}

#endif
