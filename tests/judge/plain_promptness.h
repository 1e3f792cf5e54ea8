/* plain_promptness.h: of the second judge, whether answers are told when they are decided. */
#ifndef TESTS_JUDGE_PLAIN_PROMPTNESS_H
#define TESTS_JUDGE_PLAIN_PROMPTNESS_H

#include "tests/judge/plain_conduct.h"

/* What is known of an operation when it is answered: its nodes' replies, or, of an acquire, those
 * to its newest attempt. */
struct plain_replies {
    size_t ask;
    bool named;
    struct history_value value;
    size_t from; /* the event with which that attempt began */
    int attempts;
};

/* "It has done what was asked", or "it has not"; neither: it is no reply to such an operation. */
static inline bool plain_did(const struct history_event *e, enum history_f f)
{
    return f == HISTORY_ACQUIRE  ? plain_key(e, HISTORY_KEY_SET)
           : f == HISTORY_EXTEND ? plain_key(e, HISTORY_KEY_EXTENDED)
                                 : plain_key(e, HISTORY_KEY_DELETED);
}

static inline bool plain_did_not(const struct history_event *e, enum history_f f)
{
    return f == HISTORY_ACQUIRE ? plain_key(e, HISTORY_KEY_REFUSED)
                                : plain_key(e, HISTORY_KEY_KEPT);
}

/* Whether event `k` is what became of a command of the operation that event `ask` asks. */
static inline bool plain_is_of(const struct plain_history *h, size_t ask, size_t k)
{
    const struct history_event *e = &h->events[k];
    enum history_f f = (enum history_f)h->events[ask].f;
    return e->process == h->events[ask].process && (plain_did(e, f) || plain_did_not(e, f)) &&
           (e->flags & HISTORY_HAS_SENT) != 0 && (e->flags & HISTORY_HAS_VALUE) != 0 &&
           e->sent_ns >= h->events[ask].time_ns;
}

/* "An attempt begins with what was sent later than all before, and names another value, or any."
 * Later than all of the attempt before, whose commands are sent last. */
static inline struct plain_replies plain_newest(const struct plain_history *h, size_t ask, size_t i)
{
    struct plain_replies newest = {.ask = ask, .from = ask};
    if (h->events[ask].f != HISTORY_ACQUIRE) {
        newest.named = true;
        newest.value = h->events[ask].value;
        return newest;
    }
    int64_t last_ns = INT64_MIN;
    for (size_t k = ask; k < i; k++) {
        const struct history_event *e = &h->events[k];
        if (!plain_is_of(h, ask, k)) {
            continue;
        }
        bool other = !newest.named || !plain_same(&newest.value, &e->value);
        if (e->sent_ns > last_ns && (other || h->header->one_value)) {
            newest.named = true;
            newest.value = e->value;
            newest.from = k;
            newest.attempts++;
        }
        bool its = plain_same(&newest.value, &e->value);
        last_ns = its && e->sent_ns > last_ns ? e->sent_ns : last_ns;
    }
    return newest;
}

/* When the reply of this node was back, and what it says; INT64_MAX: none was, or it was asked more
 * than once. */
static inline int64_t plain_only_reply_ns(const struct plain_history *h, size_t i,
                                          const struct plain_replies *of, int32_t node, bool *did)
{
    int64_t back_ns = INT64_MAX;
    int asked = 0;
    for (size_t k = of->from; k < i; k++) {
        const struct history_event *e = &h->events[k];
        if (plain_is_of(h, of->ask, k) && e->node == node && of->named &&
            plain_same(&of->value, &e->value)) {
            asked++;
            back_ns = (e->flags & HISTORY_HAS_REPLIED) != 0 ? e->replied_ns : INT64_MAX;
            *did = plain_did(e, (enum history_f)h->events[of->ask].f);
        }
    }
    return asked == 1 ? back_ns : INT64_MAX;
}

/* When enough nodes had done it, or had not; INT64_MAX if that never was. */
static inline int64_t plain_decided_ns(const struct plain_history *h, size_t i,
                                       const struct plain_replies *of, bool done)
{
    int stores = history_stores(h->header);
    int majority = stores / 2 + 1;
    int needed = done ? majority : stores - majority + 1;
    int64_t decided_ns = INT64_MAX;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        bool did = false;
        int64_t at_ns = plain_only_reply_ns(h, i, of, node, &did);
        int alike = 0;
        for (int32_t other = 0; other < h->header->node_count && at_ns < INT64_MAX; other++) {
            bool other_did = false;
            int64_t other_ns = plain_only_reply_ns(h, i, of, other, &other_did);
            alike += other_ns <= at_ns && other_did == done ? 1 : 0;
        }
        if (at_ns < decided_ns && did == done && alike >= needed) {
            decided_ns = at_ns;
        }
    }
    return decided_ns;
}

/* "There may be another attempt, which reached no node." */
static inline bool plain_another_attempt(const struct plain_history *h, size_t i,
                                         const struct plain_replies *of)
{
    const struct history_event *e = &h->events[i];
    int64_t begun_ns = INT64_MAX;
    for (size_t k = of->from; k < i; k++) {
        const struct history_event *own = &h->events[k];
        bool its = plain_is_of(h, of->ask, k) && plain_same(&of->value, &own->value);
        begun_ns = its && own->sent_ns < begun_ns ? own->sent_ns : begun_ns;
    }
    bool own = e->type == HISTORY_OK && !h->header->one_value && plain_same(&of->value, &e->value);
    return e->f == HISTORY_ACQUIRE && of->attempts < h->header->tries && !own &&
           (begun_ns == INT64_MAX || e->time_ns - begun_ns >= h->header->retry_delay_ns);
}

/* "A client that a pause or slow touched since a ttl before the operation was asked." */
static inline bool plain_stopped(const struct plain_history *h, size_t ask, size_t i)
{
    for (size_t k = 0; k <= i; k++) {
        const struct history_event *e = &h->events[k];
        if (plain_begins(e) && (e->fault_kind == FAULT_PAUSE || e->fault_kind == FAULT_SLOW) &&
            history_fault_names_client(e, h->events[ask].process) &&
            plain_fault_end_ns(h, k) >= h->events[ask].time_ns - h->header->ttl_ns) {
            return true;
        }
    }
    return false;
}

static inline bool plain_told_late(const struct plain_history *h, size_t ask, size_t i)
{
    const struct history_event *e = &h->events[i];
    bool apart = history_stores(h->header) == h->header->node_count;
    if (plain_stopped(h, ask, i) || (!apart && !plain_sound(h, h->events[ask].time_ns, i))) {
        return false;
    }
    struct plain_replies of = plain_newest(h, ask, i);
    bool done_decides =
        e->f != HISTORY_ACQUIRE || (e->type == HISTORY_OK && h->header->set_decides);
    int64_t decided_ns = plain_decided_ns(h, i, &of, false);
    int64_t done_ns = done_decides ? plain_decided_ns(h, i, &of, true) : INT64_MAX;
    decided_ns = done_ns < decided_ns ? done_ns : decided_ns;
    return decided_ns < e->time_ns && !plain_another_attempt(h, i, &of);
}

static inline enum plain plain_promptness(const struct plain_history *h)
{
    bool says =
        h->header->tries > 0 && !h->header->declared && strcmp(h->header->world, "sim") == 0;
    for (size_t ask = 0; ask < h->count && says; ask++) {
        const struct history_event *e = &h->events[ask];
        if (e->kind != HISTORY_OP || e->type != HISTORY_INVOKE || e->process < 0 ||
            (e->f != HISTORY_ACQUIRE && e->f != HISTORY_EXTEND && e->f != HISTORY_RELEASE)) {
            continue;
        }
        size_t i = plain_back(h, ask);
        if (i < h->count && h->events[i].f == e->f && plain_told_late(h, ask, i)) {
            return PLAIN_FAIL;
        }
    }
    return PLAIN_NOTHING;
}

#endif
