/* plain_conduct.h: of the second judge, whether the lock goes about it as it says. */
#ifndef TESTS_JUDGE_PLAIN_CONDUCT_H
#define TESTS_JUDGE_PLAIN_CONDUCT_H

#include "tests/judge/plain_keys.h"

#include <string.h>

/* "No fault was in force since a ttl before": from then until event `last`. */
static inline bool plain_sound(const struct plain_history *h, int64_t from_ns, size_t last)
{
    for (size_t i = 0; i <= last; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_begins(e) &&
            (fault_trait_of((enum fault_kind)e->fault_kind)->life == FAULT_STAYS ||
             plain_fault_over_ns(h, i) >= from_ns - h->header->ttl_ns)) {
            return false;
        }
    }
    return true;
}

/* The acquire that the client of event `i` asked last; count if there is none. */
static inline size_t plain_last_ask(const struct plain_history *h, size_t i)
{
    size_t found = h->count;
    for (size_t k = 0; k < i; k++) {
        const struct history_event *e = &h->events[k];
        bool asks = plain_is(e, HISTORY_ACQUIRE, HISTORY_INVOKE);
        if (asks && e->process == h->events[i].process && (e->flags & HISTORY_AUDIT) == 0) {
            found = k;
        }
    }
    return found;
}

/* Its last answer between the events `ask` and `i`, of this kind; count if there is none. */
static inline size_t plain_last_answer(const struct plain_history *h, size_t ask, size_t i,
                                       enum history_f f)
{
    size_t found = h->count;
    for (size_t k = ask; k < i; k++) {
        const struct history_event *e = &h->events[k];
        if (e->kind == HISTORY_OP && e->f == (uint8_t)f && e->type != HISTORY_INVOKE &&
            e->process == h->events[ask].process) {
            found = k;
        }
    }
    return found;
}

/* The extension that it asked since and that is under way at event `i`; count if there is none. */
static inline size_t plain_extending(const struct plain_history *h, size_t ask, size_t i)
{
    size_t found = h->count;
    for (size_t k = ask; k < i; k++) {
        const struct history_event *e = &h->events[k];
        if (e->kind == HISTORY_OP && e->f == HISTORY_EXTEND &&
            e->process == h->events[ask].process) {
            found = e->type == HISTORY_INVOKE ? k : h->count;
        }
    }
    return found;
}

/* Whether event `i` tells of a command of a client, when that was sent, and with what value, and
 * all is well. */
static inline bool plain_told_well(const struct plain_history *h, size_t i)
{
    const struct history_event *e = &h->events[i];
    size_t ask = plain_last_ask(h, i);
    bool told = (e->flags & HISTORY_HAS_SENT) != 0 && (e->flags & HISTORY_HAS_VALUE) != 0;
    return e->kind == HISTORY_NODE && told && ask < h->count && e->process >= 0 &&
           plain_sound(h, h->events[ask].time_ns, i);
}

static inline bool plain_frees(const struct history_event *e)
{
    return strstr(e->command, "delete") != NULL;
}

static inline bool plain_asks_node(const struct history_event *e)
{
    return !plain_frees(e) && (plain_key(e, HISTORY_KEY_SET) || plain_key(e, HISTORY_KEY_REFUSED));
}

/* What a client had asked a node for last before its ask; NULL if nothing. */
static inline const struct history_value *plain_asked_last(const struct plain_history *h,
                                                           size_t ask)
{
    for (size_t i = ask; i-- > 0;) {
        const struct history_event *e = &h->events[i];
        if (e->process == h->events[ask].process && plain_asks_node(e) && plain_told_well(h, i)) {
            return &e->value;
        }
    }
    return NULL;
}

/* The attempts of the acquire that was asked at `ask`, as they were seen until event `last`: each
 * has a value of its own (or, with one for all, is sent later than all before), that no acquire
 * before had asked for last, and was sent later than the one before. */
struct plain_attempts {
    int count;
    size_t begins[PLAIN_SPANS_MAX];   /* the first event of each */
    int64_t sent_ns[PLAIN_SPANS_MAX]; /* when the first command of each was sent */
    uint64_t replied;                 /* nodes whose answer to the newest is back */
    int64_t replied_ns;
    bool room; /* for one that nobody saw: a delay before the first, two between two */
};

static inline void plain_all_attempts(const struct plain_history *h, size_t ask, size_t last,
                                      struct plain_attempts *tries)
{
    const struct history_value *older = plain_asked_last(h, ask);
    tries->count = 0;
    tries->room = false;
    for (size_t i = ask; i <= last; i++) {
        const struct history_event *e = &h->events[i];
        if (e->process != h->events[ask].process || !plain_asks_node(e) || !plain_told_well(h, i) ||
            e->sent_ns < h->events[ask].time_ns || tries->count == PLAIN_SPANS_MAX ||
            (older != NULL && plain_same(older, &e->value))) {
            continue;
        }
        int newest = tries->count - 1;
        bool same = newest >= 0 && plain_same(&h->events[tries->begins[newest]].value, &e->value) &&
                    !(h->header->one_value && e->sent_ns > tries->sent_ns[newest]);
        if (!same && newest >= 0 && e->sent_ns <= tries->sent_ns[newest]) {
            continue;
        }
        if (!same) {
            int64_t delay_ns = h->header->retry_delay_ns;
            int64_t over_ns = newest < 0            ? h->events[ask].time_ns
                              : tries->replied != 0 ? tries->replied_ns
                                                    : tries->sent_ns[newest];
            tries->room =
                tries->room || e->sent_ns - over_ns >= (newest < 0 ? delay_ns : 2 * delay_ns);
            newest = tries->count++;
            tries->begins[newest] = i;
            tries->sent_ns[newest] = e->sent_ns;
            tries->replied = 0;
            tries->replied_ns = 0;
        }
        tries->sent_ns[newest] =
            e->sent_ns < tries->sent_ns[newest] ? e->sent_ns : tries->sent_ns[newest];
        if ((e->flags & HISTORY_HAS_REPLIED) != 0) {
            tries->replied |= UINT64_C(1) << e->node;
            tries->replied_ns =
                e->replied_ns > tries->replied_ns ? e->replied_ns : tries->replied_ns;
        }
    }
}

/* "An attempt more than `tries`, or sooner than `retry_delay` behind the one before." */
static inline bool plain_tries_badly(const struct plain_history *h, size_t ask, size_t i)
{
    static struct plain_attempts before;
    static struct plain_attempts now;
    plain_all_attempts(h, ask, i - 1, &before);
    plain_all_attempts(h, ask, i, &now);
    if (now.count == before.count) {
        return false;
    }
    int64_t gap_ns = now.sent_ns[now.count - 1] -
                     (before.count > 0 ? before.sent_ns[before.count - 1] : INT64_MIN / 2);
    return now.count > h->header->tries || gap_ns < h->header->retry_delay_ns;
}

/* "A promise that ends later, or sooner, than a ttl less the allowance behind when it was asked
 * for." */
static inline bool plain_promises_badly(const struct plain_history *h,
                                        const struct history_event *e, int64_t from_ns,
                                        int64_t to_ns)
{
    int64_t length_ns = h->header->ttl_ns - h->header->allowance_ns;
    bool real = strcmp(h->header->world, "real") == 0;
    int64_t noted_ns = (real ? 3 : 1) * HISTORY_LATE_NOTED_NS;
    return plain_promises(h, e) &&
           (e->until_ns > to_ns + length_ns || e->until_ns < from_ns + length_ns - noted_ns);
}

static inline bool plain_acquires_badly(const struct plain_history *h, size_t answer)
{
    static struct plain_attempts tries;
    const struct history_event *e = &h->events[answer];
    size_t ask = plain_last_ask(h, answer);
    if (ask == h->count || !plain_sound(h, h->events[ask].time_ns, answer) ||
        plain_last_answer(h, ask, answer, HISTORY_ACQUIRE) < h->count) {
        return false;
    }
    plain_all_attempts(h, ask, answer, &tries);
    int newest = tries.count - 1;
    if (e->type == HISTORY_FAIL) {
        return tries.count > 0 && !tries.room &&
               __builtin_popcountll(tries.replied) >= history_stores(h->header) &&
               tries.count < h->header->tries && tries.replied_ns <= e->time_ns &&
               e->time_ns - tries.replied_ns < h->header->retry_delay_ns;
    }
    if (e->type != HISTORY_OK || newest < 0 ||
        !plain_same(&h->events[tries.begins[newest]].value, &e->value)) {
        return false;
    }
    int64_t from_ns =
        newest > 0 ? tries.sent_ns[newest - 1] + h->header->retry_delay_ns : h->events[ask].time_ns;
    bool unseen =
        h->header->one_value && e->time_ns - tries.sent_ns[newest] >= h->header->retry_delay_ns;
    int64_t to_ns = h->header->tries == INT32_MAX || unseen ? e->time_ns : tries.sent_ns[newest];
    return plain_promises_badly(h, e, from_ns, to_ns);
}

static inline bool plain_extends_badly(const struct plain_history *h, size_t answer)
{
    const struct history_event *e = &h->events[answer];
    size_t ask = plain_last_ask(h, answer);
    size_t grant = ask < h->count ? plain_last_answer(h, ask, answer, HISTORY_ACQUIRE) : h->count;
    if (grant == h->count || h->events[grant].type != HISTORY_OK ||
        !plain_same(&h->events[grant].value, &e->value)) {
        return false;
    }
    int done = 0;
    for (size_t i = grant; i <= answer; i++) {
        const struct history_event *other = &h->events[i];
        done += plain_is(other, HISTORY_EXTEND, HISTORY_OK) && other->process == e->process &&
                plain_same(&other->value, &e->value);
    }
    if (e->type == HISTORY_FAIL) {
        return e->cause == CAUSE_EXTEND_LIMIT && done < h->header->extends;
    }
    size_t asked = plain_extending(h, ask, answer);
    if (e->type != HISTORY_OK || asked == h->count) {
        return e->type == HISTORY_OK && done > h->header->extends;
    }
    int64_t sent_ns = INT64_MAX;
    for (size_t i = asked; i < answer; i++) {
        const struct history_event *key = &h->events[i];
        if (plain_key(key, HISTORY_KEY_EXTENDED) && key->process == e->process &&
            !plain_frees(key) && plain_told_well(h, i) &&
            key->sent_ns >= h->events[asked].time_ns && key->sent_ns < sent_ns) {
            sent_ns = key->sent_ns;
        }
    }
    return done > h->header->extends ||
           (sent_ns < INT64_MAX && plain_sound(h, h->events[ask].time_ns, answer) &&
            plain_promises_badly(h, e, h->events[asked].time_ns, sent_ns));
}

/* "Behind the answer": a command that was sent more than a fiftieth of a ttl behind the last one,
 * while nothing is asked. */
static inline bool plain_chatters(const struct plain_history *h, size_t ask, size_t i)
{
    size_t acquired = plain_last_answer(h, ask, i, HISTORY_ACQUIRE);
    size_t extended = plain_last_answer(h, ask, i, HISTORY_EXTEND);
    if (acquired == h->count || plain_extending(h, ask, i) < h->count) {
        return false;
    }
    size_t last = extended < h->count && extended > acquired ? extended : acquired;
    return h->events[i].sent_ns - h->events[last].time_ns > h->header->ttl_ns / 50;
}

/* "A release that a node had answered, and its client had the answer, is sent there again." */
static inline bool plain_frees_again(const struct plain_history *h, size_t i)
{
    const struct history_event *e = &h->events[i];
    size_t last = h->count;
    for (size_t k = 0; k < i; k++) {
        const struct history_event *other = &h->events[k];
        if (other->process == e->process && other->node == e->node && plain_frees(other) &&
            plain_told_well(h, k)) {
            last = k;
        }
    }
    return last < h->count && history_stores(h->header) == h->header->node_count &&
           (h->events[last].flags & HISTORY_HAS_REPLIED) != 0 &&
           plain_same(&h->events[last].value, &e->value) &&
           e->sent_ns - h->events[last].replied_ns > h->header->ttl_ns / 50 &&
           plain_sound(h, h->events[last].replied_ns, i);
}

static inline bool plain_misconducts(const struct plain_history *h, size_t i)
{
    const struct history_event *e = &h->events[i];
    if (e->kind == HISTORY_OP && e->type != HISTORY_INVOKE) {
        return (e->f == HISTORY_ACQUIRE && plain_acquires_badly(h, i)) ||
               (e->f == HISTORY_EXTEND && plain_extends_badly(h, i));
    }
    if (e->kind != HISTORY_NODE || !plain_told_well(h, i)) {
        return false;
    }
    size_t ask = plain_last_ask(h, i);
    bool answered = plain_last_answer(h, ask, i, HISTORY_ACQUIRE) < h->count;
    if (plain_frees(e)) {
        return plain_frees_again(h, i);
    }
    if (plain_key(e, HISTORY_KEY_EXTENDED)) {
        return plain_last_answer(h, ask, i, HISTORY_EXTEND) == h->count &&
               h->header->renew_every_ns == 0 && plain_chatters(h, ask, i);
    }
    return plain_asks_node(e) &&
           (answered ? plain_chatters(h, ask, i) : plain_tries_badly(h, ask, i));
}

static inline enum plain plain_conduct(const struct plain_history *h)
{
    bool fails = false;
    for (size_t i = 0; i < h->count && h->header->tries > 0; i++) {
        fails = fails || ((h->events[i].flags & HISTORY_AUDIT) == 0 && plain_misconducts(h, i));
    }
    return fails ? PLAIN_FAIL : PLAIN_NOTHING;
}

#endif
