/* plain_faults.h: of the second judge, `fault_tolerance`. */
#ifndef TESTS_JUDGE_PLAIN_FAULTS_H
#define TESTS_JUDGE_PLAIN_FAULTS_H

#include "base/assert.h"
#include "tests/judge/plain_keys.h"

/* ---- fault_tolerance --------------------------------------------------------------------------
 */

/* The event that ends the fault that begins with event `start`; count if none does. */
static inline size_t plain_fault_over(const struct plain_history *h, size_t start)
{
    size_t i = start + 1;
    while (i < h->count &&
           (h->events[i].kind != HISTORY_FAULT || h->events[i].f != HISTORY_FAULT_END ||
            h->events[i].fault != h->events[start].fault)) {
        i++;
    }
    return i;
}

/* Something that goes on from one event to another. */
struct plain_stretch {
    size_t from;
    size_t to;
};

enum { PLAIN_STRETCHES_MAX = 4096 };

struct plain_stretches {
    struct plain_stretch list[PLAIN_STRETCHES_MAX];
    size_t count;
};

static inline void plain_goes_on(struct plain_stretches *stretches, size_t from, size_t to)
{
    ASSERT(stretches->count < PLAIN_STRETCHES_MAX);
    stretches->list[stretches->count++] = (struct plain_stretch){from, to};
}

/* Every fault, from the event that begins it to the one that ends it. */
static inline void plain_all_faults(const struct plain_history *h, struct plain_stretches *faults)
{
    faults->count = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (plain_begins(&h->events[i])) {
            plain_goes_on(faults, i, plain_fault_over(h, i));
        }
    }
}

static inline bool plain_strikes_all(const struct history_event *e)
{
    return e->process == HISTORY_NOBODY && e->node == HISTORY_NO_NODE && e->nodes == 0 &&
           e->clients[1] == e->clients[0];
}

/* A client is healthy behind event `now` that no fault of its own touches, and that faults of nodes
 * and of its links leave a majority; of a service whose nodes are one store "a client must reach
 * all that are", so that any fault of its links is its own. */
static inline bool plain_healthy(const struct plain_history *h,
                                 const struct plain_stretches *faults, int32_t client, size_t now)
{
    uint64_t touched = 0;
    bool service = history_stores(h->header) < h->header->node_count;
    for (size_t i = 0; i < faults->count; i++) {
        const struct history_event *e = &h->events[faults->list[i].from];
        if (now < faults->list[i].from || faults->list[i].to <= now) {
            continue;
        }
        bool link = fault_is((enum fault_kind)e->fault_kind, FAULT_ON_LINK);
        bool its = history_fault_names_client(e, client);
        if (plain_strikes_all(e) || (its && (!link || service))) {
            return false;
        }
        for (int32_t node = 0; node < h->header->node_count; node++) {
            bool cut = !link || (its && history_links_cut((enum history_links)e->links,
                                                          h->header->node_count, client, node));
            touched |= cut && history_fault_names_node(e, node) ? UINT64_C(1) << node : 0;
        }
    }
    return h->header->node_count - __builtin_popcountll(touched) > h->header->node_count / 2;
}

/* "An extension or a release of a healthy client did not come back within ttl + bound": it was
 * healthy for so long, without a break. */
static inline bool plain_never_back(const struct plain_history *h,
                                    const struct plain_stretches *faults, size_t invoke)
{
    int64_t waited_ns = 0;
    for (size_t i = invoke; i + 1 < h->count; i++) {
        const struct history_event *e = &h->events[i];
        bool killed = e->kind == HISTORY_CLIENT && e->f == HISTORY_CLIENT_KILLED;
        if (i > invoke && e->process == h->events[invoke].process &&
            (e->kind == HISTORY_OP || killed)) {
            return false;
        }
        bool healthy = plain_healthy(h, faults, h->events[invoke].process, i);
        waited_ns = healthy ? waited_ns + h->events[i + 1].time_ns - e->time_ns : 0;
        if (waited_ns > h->header->ttl_ns + h->header->bound_ns) {
            return true;
        }
    }
    return false;
}

/* The answer to the ask that event `invoke` is; count if none came. */
static inline size_t plain_back(const struct plain_history *h, size_t invoke)
{
    size_t back = invoke + 1;
    while (back < h->count && (h->events[back].kind != HISTORY_OP ||
                               h->events[back].process != h->events[invoke].process)) {
        back++;
    }
    return back;
}

/* When the resource came free for good before `now_ns`, at `since_ns` at the earliest; INT64_MAX
 * where somebody holds it now. */
static inline int64_t plain_free_since(const struct plain_spans *leases, uint32_t resource,
                                       int64_t since_ns, int64_t now_ns)
{
    int64_t free_ns = since_ns;
    for (size_t k = 0; k < leases->count; k++) {
        const struct plain_span *s = &leases->list[k];
        if (s->resource != resource || s->begin_ns > now_ns) {
            continue;
        }
        if (s->end_ns > now_ns) {
            return INT64_MAX;
        }
        free_ns = s->end_ns > free_ns ? s->end_ns : free_ns;
    }
    return free_ns;
}

/* The event of the client's death, behind `from`; count if it lives. */
static inline size_t plain_killed(const struct plain_history *h, int32_t process, size_t from)
{
    size_t i = from;
    while (i < h->count &&
           (h->events[i].kind != HISTORY_CLIENT || h->events[i].f != HISTORY_CLIENT_KILLED ||
            h->events[i].process != process)) {
        i++;
    }
    return i;
}

/* Every ask for the resource, while it may be answered: to its answer, or the death of who asked.
 */
static inline void plain_all_asks(const struct plain_history *h, uint32_t resource,
                                  struct plain_stretches *asks)
{
    asks->count = 0;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_is(e, HISTORY_ACQUIRE, HISTORY_INVOKE) && e->resource == resource) {
            size_t back = plain_back(h, i);
            size_t killed = plain_killed(h, e->process, i);
            plain_goes_on(asks, i, back < killed ? back : killed);
        }
    }
}

/* How many that are alive and healthy ask behind event `last`. */
static inline int plain_asked_for(const struct plain_history *h,
                                  const struct plain_stretches *faults,
                                  const struct plain_stretches *asks, size_t last)
{
    int asking = 0;
    for (size_t i = 0; i < asks->count; i++) {
        const struct plain_stretch *ask = &asks->list[i];
        asking += ask->from <= last && last < ask->to &&
                  plain_healthy(h, faults, h->events[ask->from].process, last);
    }
    return asking;
}

/* "Several ask, some of them have keys, and none has a majority": the most that one has. */
static inline int plain_most_keys(const struct plain_history *h, const struct plain_stretches *asks,
                                  uint32_t resource, size_t last)
{
    int most = 0;
    for (size_t i = 0; i < asks->count; i++) {
        const struct plain_stretch *ask = &asks->list[i];
        int keys = 0;
        for (int32_t node = 0; ask->from <= last && last < ask->to && node < h->header->node_count;
             node++) {
            struct plain_held held = plain_holds(h, last, node, resource);
            keys += held.there && held.process == h->events[ask->from].process ? 1 : 0;
        }
        most = keys > most ? keys : most;
    }
    return most;
}

/* What asking in vain is held against. */
struct plain_around {
    struct plain_spans leases;
    struct plain_stretches faults;
    struct plain_stretches asks;
};

/* "A client that a fault keeps from hearing so": its last acquire is open, or its outcome unknown.
 */
static inline bool plain_wonders(const struct plain_history *h, int32_t client, size_t last)
{
    size_t i = last + 1;
    while (i > 0 && (h->events[i - 1].kind != HISTORY_OP || h->events[i - 1].process != client ||
                     h->events[i - 1].f != HISTORY_ACQUIRE)) {
        i--;
    }
    return i > 0 &&
           (h->events[i - 1].type == HISTORY_INVOKE || h->events[i - 1].type == HISTORY_INFO);
}

/* How many keys are of such clients, which live; where keys have no end, of whom a fault touches.
 */
static inline int plain_unheard(const struct plain_history *h, const struct plain_stretches *faults,
                                uint32_t resource, size_t last)
{
    int keys = 0;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        struct plain_held held = plain_holds(h, last, node, resource);
        keys += held.there && held.process >= 0 &&
                (h->header->endless || plain_wonders(h, held.process, last)) &&
                plain_killed(h, held.process, 0) > last &&
                !plain_healthy(h, faults, held.process, last);
    }
    return keys;
}

/* Whether what passes behind event `last` counts: somebody asks, the votes are not split, none of a
 * re-entrant lock has it without knowing, and none of an endless one while a fault is upon him. */
static inline bool plain_counts(const struct plain_history *h, const struct plain_around *around,
                                uint32_t resource, size_t last)
{
    int asking = plain_asked_for(h, &around->faults, &around->asks, last);
    int most = asking > 1 ? plain_most_keys(h, &around->asks, resource, last) : 0;
    bool again = h->header->declared && (h->header->declares >> DECLARES_REENTRANT & 1u) != 0;
    bool unheard = (again || h->header->endless) &&
                   plain_unheard(h, &around->faults, resource, last) >= plain_majority(h);
    return asking > 0 && !unheard && (most == 0 || most >= plain_majority(h));
}

/* "Until what a delay held back has come": delays that have ended before event `last`, each for as
 * long behind its end as all that had begun by then delay. */
static inline int64_t plain_late_until(const struct plain_history *h,
                                       const struct plain_stretches *faults, size_t last)
{
    int64_t until_ns = 0;
    for (size_t i = 0; i < faults->count; i++) {
        const struct plain_stretch *over = &faults->list[i];
        uint8_t kind = h->events[over->from].fault_kind;
        bool slow = kind == FAULT_SLOW;
        if ((!slow && kind != FAULT_LATENCY && kind != FAULT_DELAY_COMMAND) || over->to > last) {
            continue;
        }
        int64_t late_ns = h->events[over->to].time_ns;
        if (slow) { /* its step goes on for as long */
            late_ns += h->events[over->from].number[0];
            until_ns = late_ns > until_ns ? late_ns : until_ns;
            continue;
        }
        for (size_t k = 0; k < faults->count; k++) {
            const struct history_event *e = &h->events[faults->list[k].from];
            bool delays = e->fault_kind == FAULT_LATENCY || e->fault_kind == FAULT_DELAY_COMMAND;
            late_ns += delays && faults->list[k].from < over->to ? e->number[0] : 0;
        }
        until_ns = late_ns > until_ns ? late_ns : until_ns;
    }
    return until_ns;
}

/* How long in all somebody asked in vain, between two events that begin the count anew. */
static inline int64_t plain_vain_ns(const struct plain_history *h,
                                    const struct plain_around *around, uint32_t resource,
                                    size_t from, size_t to)
{
    int64_t vain_ns = 0;
    for (size_t i = from; i < to; i++) {
        int64_t end_ns = h->events[i + 1].time_ns;
        if (plain_counts(h, around, resource, i)) {
            int64_t late_ns = plain_late_until(h, &around->faults, i);
            int64_t begin_ns = h->events[i].time_ns;
            int64_t free_ns = plain_free_since(&around->leases, resource,
                                               late_ns > begin_ns ? late_ns : begin_ns, end_ns - 1);
            vain_ns = free_ns > h->events[i].time_ns ? 0 : vain_ns; /* it was held meanwhile */
            vain_ns += free_ns < end_ns ? end_ns - free_ns : 0;
        }
    }
    return vain_ns;
}

/* "A grant, a client that is killed, of a service whose nodes are one store, and every fault that
 * begins or ends start the count anew; so is the end of the run." */
static inline bool plain_in_vain(const struct plain_history *h, const struct plain_around *around,
                                 uint32_t resource)
{
    size_t from = 0;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        bool granted = plain_granted(e) && e->resource == resource;
        bool fault = e->kind == HISTORY_FAULT && e->f != HISTORY_FAULT_EFFECT;
        bool queued = e->kind == HISTORY_CLIENT && e->f == HISTORY_CLIENT_KILLED &&
                      history_stores(h->header) < h->header->node_count;
        if (granted || fault || queued || i + 1 == h->count) {
            if (plain_vain_ns(h, around, resource, from, i) >
                h->header->ttl_ns + h->header->bound_ns) {
                return true;
            }
            from = i;
        }
    }
    return false;
}

/* "Nobody held the lock, no node had a key of it, no fault was in force since a ttl before, and
 * what was on its way when a delay ended has come", behind event `now`; a key was seen before. */
static inline bool plain_all_is_free(const struct plain_history *h,
                                     const struct plain_around *around, uint32_t resource,
                                     size_t now)
{
    int64_t now_ns = h->events[now].time_ns;
    bool seen = false;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        if (plain_holds(h, now, node, resource).there) {
            return false;
        }
    }
    for (size_t i = 0; i <= now; i++) {
        const struct history_event *e = &h->events[i];
        seen = seen || (plain_key(e, HISTORY_KEY_SET) && e->resource == resource &&
                        e->process != HISTORY_NOBODY);
        if (plain_begins(e) &&
            (fault_trait_of((enum fault_kind)e->fault_kind)->life == FAULT_STAYS ||
             plain_fault_end_ns(h, i) >= now_ns - h->header->ttl_ns)) {
            return false;
        }
    }
    return seen && plain_late_until(h, &around->faults, now) <= now_ns &&
           plain_free_since(&around->leases, resource, 0, now_ns) != INT64_MAX;
}

/* Was the acquire that event `back` answers given up? */
static inline bool plain_given_up(const struct plain_history *h, size_t back)
{
    bool given_up = false;
    for (size_t i = plain_invoke_of(h, back); i < back; i++) {
        const struct history_event *e = &h->events[i];
        given_up = given_up || (e->kind == HISTORY_CLIENT && e->f == HISTORY_GIVEN_UP &&
                                e->process == h->events[back].process);
    }
    return given_up;
}

/* "Whoever asked was refused, or told that it is unknown, ten times or more in a row, the first
 * asked longer than ttl + bound before the last answer", while nothing of it changed. */
static inline bool plain_refuses_all(const struct plain_history *h,
                                     const struct plain_around *around, size_t first)
{
    const struct history_event *ask = &h->events[first];
    int refused = 0;
    for (size_t i = first + 1; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        bool its = e->resource == ask->resource;
        bool changed = plain_key(e, HISTORY_KEY_SET) || plain_key(e, HISTORY_KEY_BACK) ||
                       plain_gone(e) || plain_granted(e);
        if ((its && changed) || (e->kind == HISTORY_FAULT && e->f != HISTORY_FAULT_EFFECT)) {
            return false;
        }
        bool no = plain_is(e, HISTORY_ACQUIRE, HISTORY_FAIL) ||
                  plain_is(e, HISTORY_ACQUIRE, HISTORY_INFO);
        if (!its || !no) {
            continue;
        }
        if (plain_free_since(&around->leases, e->resource, 0, e->time_ns) == INT64_MAX) {
            return false;
        }
        refused += plain_given_up(h, i) ? 0 : 1;
        if (refused >= 10 && e->time_ns - ask->time_ns > h->header->ttl_ns + h->header->bound_ns) {
            return true;
        }
    }
    return false;
}

/* `fault_tolerance`: with a majority healthy, do grants go on? */
static inline enum plain plain_fault_tolerance(const struct plain_history *h)
{
    static struct plain_around around;
    plain_leases(h, &around.leases);
    plain_all_faults(h, &around.faults);
    if (h->header->ttl_ns == 0 || h->header->node_count == 0) {
        return PLAIN_NOTHING;
    }
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        bool call = plain_is(e, HISTORY_EXTEND, HISTORY_INVOKE) ||
                    plain_is(e, HISTORY_RELEASE, HISTORY_INVOKE);
        bool livelock = e->kind == HISTORY_PHASE && e->cause == CAUSE_LIVELOCK;
        bool refused = plain_is(e, HISTORY_ACQUIRE, HISTORY_INVOKE) &&
                       plain_all_is_free(h, &around, e->resource, i) &&
                       plain_refuses_all(h, &around, i);
        if (livelock || refused || (call && plain_never_back(h, &around.faults, i))) {
            return PLAIN_FAIL;
        }
    }
    for (uint32_t resource = 0; resource < 8; resource++) {
        plain_all_asks(h, resource, &around.asks);
        if (around.asks.count > 0 && plain_in_vain(h, &around, resource)) {
            return PLAIN_FAIL;
        }
    }
    return PLAIN_PASS;
}

#endif
