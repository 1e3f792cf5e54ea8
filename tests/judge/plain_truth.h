/* plain_truth.h: of the second judge, whether what a lock answered is what it did. */
#ifndef TESTS_JUDGE_PLAIN_TRUTH_H
#define TESTS_JUDGE_PLAIN_TRUTH_H

#include "tests/judge/plain_conduct.h"
#include "tests/judge/plain_leak.h"
#include "tests/judge/plain_notice.h"

/* Had a client a key of this resource on this node at any moment from event `from` to `to`? */
static inline bool plain_had(const struct plain_history *h, size_t from, size_t to, int32_t node,
                             const struct history_event *g)
{
    for (size_t i = from; i <= to; i++) {
        struct plain_held held = plain_holds(h, i, node, g->resource);
        if (held.there && (held.process == g->process || held.process == HISTORY_NOBODY)) {
            return true;
        }
    }
    return false;
}

/* "Extended, where no end is promised, although from when it was asked to its answer less than a
 * majority had a key of its client", of what had a majority of them before. */
static inline bool plain_extended_gone(const struct plain_history *h, size_t extended)
{
    size_t grant = plain_grant_of(h, extended);
    int majority = plain_majority(h);
    if (h->header->promises_validity || grant == h->count || plain_grant_end(h, grant) < extended ||
        plain_sets(h, 0, extended, &h->events[grant]) < majority) {
        return false;
    }
    int had = 0;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        had += plain_had(h, plain_invoke_of(h, extended), extended, node, &h->events[grant]);
    }
    return had < majority;
}

/* Did this node give a key of the resource more time between two events? */
static inline bool plain_gave_time(const struct plain_history *h, size_t from, size_t to,
                                   int32_t node, uint32_t resource)
{
    for (size_t i = from + 1; i <= to; i++) {
        const struct history_event *e = &h->events[i];
        if ((plain_key(e, HISTORY_KEY_SET) || plain_key(e, HISTORY_KEY_EXTENDED)) &&
            e->node == node && e->resource == resource) {
            return true;
        }
    }
    return false;
}

/* "A ttl, less 1 %, from then on, or to the promised end", at its earliest reading: of what was
 * granted at `grant`, asked to be extended at `asked` and told so at `last`. */
static inline int64_t plain_wanted_ns(const struct plain_history *h, size_t grant, size_t asked,
                                      size_t last)
{
    const struct history_event *said = &h->events[last];
    int64_t ttl_ns = h->header->ttl_ns;
    int64_t wanted_ns = h->events[asked].time_ns + ttl_ns - ttl_ns / 100;
    if (!h->header->promises_validity) {
        return wanted_ns;
    }
    int64_t end_ns = plain_promised_ns(h, grant, last);
    if ((said->flags & HISTORY_HAS_UNTIL_LEAST) != 0 && said->until_least_ns < end_ns) {
        end_ns = said->until_least_ns;
    }
    return end_ns < wanted_ns ? end_ns : wanted_ns;
}

/* "A key that was to stay" until then, "or has no end": of anybody. */
static inline bool plain_lasts(const struct plain_history *h, int64_t wanted_ns, size_t last,
                               int32_t node, uint32_t resource)
{
    int64_t until_ns = -1;
    bool endless = false;
    for (size_t i = 0; i <= last; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind != HISTORY_NODE || e->node != node || e->resource != resource) {
            continue;
        }
        bool known = (e->flags & HISTORY_HAS_UNTIL) != 0;
        if (plain_key(e, HISTORY_KEY_SET)) {
            endless = !known || e->until_ns == TIME_NEVER;
        }
        endless = endless && !plain_key(e, HISTORY_KEY_EXTENDED);
        if (plain_key(e, HISTORY_KEY_SET) || plain_key(e, HISTORY_KEY_EXTENDED) ||
            plain_key(e, HISTORY_KEY_BACK)) {
            until_ns = known ? e->until_ns : 0;
        }
    }
    return plain_holds(h, last, node, resource).there && (endless || until_ns >= wanted_ns);
}

/* "An extension ok [...] although from when it was asked to its answer less than a majority of
 * nodes gave a key more time." */
static inline bool plain_extended_idly(const struct plain_history *h, size_t extended)
{
    size_t grant = plain_grant_of(h, extended);
    size_t asked = plain_invoke_of(h, extended);
    int majority = plain_majority(h);
    if (!h->header->declared || plain_declares(h, DECLARES_RENEW) || h->header->ttl_ns == 0 ||
        grant == h->count || plain_grant_end(h, grant) < extended ||
        plain_sets(h, 0, extended, &h->events[grant]) < majority) {
        return false;
    }
    /* "Nor is it judged of one that moves its promised end by no more than 1 % of a ttl." */
    if (h->header->promises_validity &&
        plain_promised_ns(h, grant, extended) - plain_promised_ns(h, grant, extended - 1) <=
            h->header->ttl_ns / 100) {
        return false;
    }
    int64_t wanted_ns = plain_wanted_ns(h, grant, asked, extended);
    int gave = 0;
    for (int32_t node = 0; node < h->header->node_count; node++) {
        gave += plain_gave_time(h, asked, extended, node, h->events[grant].resource) ||
                        plain_lasts(h, wanted_ns, extended, node, h->events[grant].resource) ||
                        plain_excused(h, h->events[grant].process, node, asked, extended)
                    ? 1
                    : 0;
    }
    return gave < majority;
}

/* "An extension fail, [...] answered within a fiftieth of a ttl, although its promise and the keys
 * of a majority were to stay for half a ttl or more, and no fault touched its client or a node." */
static inline bool plain_not_extended_untrue(const struct plain_history *h, size_t refused)
{
    size_t grant = plain_grant_of(h, refused);
    size_t asked = plain_invoke_of(h, refused);
    int64_t now_ns = h->events[refused].time_ns;
    int64_t ttl_ns = h->header->ttl_ns;
    if (!plain_declares(h, DECLARES_EXTEND) || plain_declares(h, DECLARES_REENTRANT) ||
        grant == h->count || plain_grant_end(h, grant) < refused ||
        now_ns - h->events[asked].time_ns >= ttl_ns / 50 ||
        plain_promised_ns(h, grant, refused) - now_ns < ttl_ns / 2 ||
        plain_to_stay(h, grant, refused) < plain_majority(h)) {
        return false;
    }
    for (size_t i = grant; i < refused; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_is(e, HISTORY_EXTEND, HISTORY_OK) && e->process == h->events[grant].process &&
            e->resource == h->events[grant].resource) {
            return false;
        }
    }
    for (int32_t node = 0; node < h->header->node_count; node++) {
        if (plain_excused(h, h->events[grant].process, node, plain_invoke_of(h, grant), refused)) {
            return false;
        }
    }
    return true;
}

/* "One of its node or link held it back, from when it was sent until it came": the newest set of
 * this value on this node before event `last`. */
static inline bool plain_late_set(const struct plain_history *h, const struct history_event *set,
                                  int32_t node, size_t last)
{
    for (size_t i = last; i-- > 0;) {
        const struct history_event *e = &h->events[i];
        if (e->node == node && plain_set_by(e, set->process, set->resource, &set->value)) {
            return plain_held_back(h, i);
        }
    }
    return false;
}

/* "Refused, but a majority kept the key to its ttl": of one value that was set meanwhile. */
static inline bool plain_kept_to_its_ttl(const struct plain_history *h, size_t refused)
{
    size_t asked = plain_invoke_of(h, refused);
    for (size_t i = asked; i < refused; i++) {
        const struct history_event *set = &h->events[i];
        if (!plain_key(set, HISTORY_KEY_SET) || set->process != h->events[refused].process ||
            set->resource != h->events[refused].resource) {
            continue;
        }
        for (size_t k = refused; k < h->count; k++) {
            const struct history_event *end = &h->events[k];
            if (plain_key(end, HISTORY_KEY_EXPIRED) && end->cause == CAUSE_TTL &&
                end->resource == set->resource && plain_same(&end->owner, &set->value) &&
                plain_keeps_majority(h, k, set) && !plain_under_way(h, set, end->node, k) &&
                !plain_late_set(h, set, end->node, k) &&
                !plain_excused(h, set->process, end->node, plain_first_set(h, set), k)) {
                return true;
            }
        }
    }
    return false;
}

/* On how many nodes was a release of this grant, asked for at event `asked`, carried out by event
 * `last`: with a key to delete, or (`without`) with none? */
static inline int plain_carried_out(const struct plain_history *h, size_t grant, size_t last,
                                    bool without)
{
    const struct history_event *g = &h->events[grant];
    uint64_t deleted = 0;
    uint64_t kept = 0;
    for (size_t i = plain_grant_end(h, grant); i <= last; i++) {
        const struct history_event *e = &h->events[i];
        bool its = e->kind == HISTORY_NODE && e->process == g->process &&
                   e->resource == g->resource && plain_same(&e->value, &g->value);
        deleted |= its && e->f == HISTORY_KEY_DELETED ? UINT64_C(1) << e->node : 0;
        kept |= its && e->f == HISTORY_KEY_KEPT ? UINT64_C(1) << e->node : 0;
    }
    return __builtin_popcountll(without ? kept & ~deleted : kept | deleted);
}

/* Whether the reply to each of those was back, and not only just now. */
static inline bool plain_all_back(const struct plain_history *h, size_t grant, size_t last)
{
    const struct history_event *g = &h->events[grant];
    for (size_t i = plain_grant_end(h, grant); i <= last; i++) {
        const struct history_event *e = &h->events[i];
        bool its = (plain_key(e, HISTORY_KEY_DELETED) || plain_key(e, HISTORY_KEY_KEPT)) &&
                   e->process == g->process && e->resource == g->resource &&
                   plain_same(&e->value, &g->value);
        bool heard = (e->flags & HISTORY_HAS_REPLIED) != 0 &&
                     e->replied_ns <= h->events[last].time_ns - HISTORY_LATE_NOTED_NS;
        if (its && !heard) {
            return false;
        }
    }
    return true;
}

/* "Release left unknown although every node carried it out, [...], or, of our own lock in the
 * simulator, although no fault was in force since a ttl before, [...] and although, in both, all
 * replies that nodes gave to it were back for a millisecond or more"; "release ok although a
 * majority had no key of the grant to delete." */
/* "Of our own lock in the simulator." */
static inline bool plain_timely(const struct plain_history *h)
{
    return h->header->tries > 0 && !h->header->declared && strcmp(h->header->world, "sim") == 0;
}

/* "A release was told ok or fail before" event `last`. */
static inline bool plain_tells(const struct plain_history *h, size_t last)
{
    for (size_t i = 0; i < last; i++) {
        if (plain_is(&h->events[i], HISTORY_RELEASE, HISTORY_OK) ||
            plain_is(&h->events[i], HISTORY_RELEASE, HISTORY_FAIL)) {
            return true;
        }
    }
    return false;
}

static inline bool plain_release_untrue(const struct plain_history *h, size_t i)
{
    size_t grant = plain_grant_of(h, i);
    if (grant == h->count || plain_grant_end(h, grant) > i ||
        !plain_is(&h->events[plain_grant_end(h, grant)], HISTORY_RELEASE, HISTORY_INVOKE)) {
        return false;
    }
    if (h->events[i].type == HISTORY_OK) {
        return !h->header->declared && plain_carried_out(h, grant, i, true) >= plain_majority(h);
    }
    bool heard = plain_carried_out(h, grant, i, false) == history_stores(h->header);
    bool own = plain_timely(h) && plain_sound(h, h->events[plain_invoke_of(h, grant)].time_ns, i);
    return h->events[i].type == HISTORY_INFO && (heard || own) && plain_all_back(h, grant, i) &&
           (!h->header->declared || plain_tells(h, i)) &&
           plain_grant_end(h, grant) == plain_invoke_of(h, i) &&
           plain_quiet(h, plain_invoke_of(h, i), i);
}

/* "Release `fail` although it deleted a majority of its keys itself, [...] of what was neither
 * released nor told lost before", of a lock that is our own. */
static inline bool plain_freed_itself(const struct plain_history *h, size_t failed)
{
    size_t grant = plain_grant_of(h, failed);
    if (h->header->declared || grant == h->count || plain_grant_end(h, grant) > failed ||
        plain_grant_end(h, grant) != plain_invoke_of(h, failed)) {
        return false;
    }
    uint64_t deleted = 0;
    for (size_t i = plain_invoke_of(h, failed); i < failed; i++) {
        const struct history_event *e = &h->events[i];
        bool its = plain_key(e, HISTORY_KEY_DELETED) && e->process == h->events[grant].process &&
                   e->resource == h->events[grant].resource &&
                   plain_same(&e->value, &h->events[grant].value);
        deleted |= its ? UINT64_C(1) << e->node : 0;
    }
    return __builtin_popcountll(deleted) >= plain_majority(h);
}

/* Whether it is not "the first release of this grant". */
static inline bool plain_released_twice(const struct plain_history *h, size_t grant, size_t last)
{
    for (size_t i = grant + 1; i < plain_invoke_of(h, last); i++) {
        const struct history_event *e = &h->events[i];
        if (plain_is(e, HISTORY_RELEASE, HISTORY_INVOKE) && e->process == h->events[last].process &&
            e->resource == h->events[last].resource) {
            return true;
        }
    }
    return false;
}

/* "One that came only behind the ask, held back by a fault": of the keys of this grant that nodes
 * have behind event `last`, which answers the release. */
static inline int plain_came_late(const struct plain_history *h, size_t grant, size_t last)
{
    const struct history_event *g = &h->events[grant];
    uint64_t late = 0;
    for (size_t i = 0; i < last; i++) {
        const struct history_event *e = &h->events[i];
        if (plain_set_by(e, g->process, g->resource, &g->value)) {
            bool its = i > plain_invoke_of(h, last) && plain_held_back(h, i);
            late &= ~(UINT64_C(1) << e->node);
            late |= its && plain_holds(h, last, e->node, g->resource).there ? UINT64_C(1) << e->node
                                                                            : 0;
        }
    }
    return __builtin_popcountll(late);
}

static inline bool plain_untrue(const struct plain_history *h, size_t i)
{
    const struct history_event *e = &h->events[i];
    int majority = plain_majority(h);
    if (e->f == HISTORY_RELEASE && plain_release_untrue(h, i)) {
        return true;
    }
    if (plain_granted(e)) {
        int sets = plain_sets(h, 0, i, e);
        return (sets > 0 ? sets : plain_set_others(h, i)) < majority;
    }
    if (plain_is(e, HISTORY_RELEASE, HISTORY_OK)) {
        size_t grant = plain_grant_of(h, i);
        return grant < h->count &&
               plain_holding(h, i, grant) - plain_came_late(h, grant, i) >= majority;
    }
    if (plain_is(e, HISTORY_RELEASE, HISTORY_FAIL) && plain_freed_itself(h, i)) {
        return true;
    }
    if (plain_is(e, HISTORY_RELEASE, HISTORY_FAIL)) {
        size_t grant = plain_grant_of(h, i);
        if (grant == h->count ||
            plain_holding(h, i, grant) - plain_came_late(h, grant, i) < majority) {
            return false;
        }
        return plain_timely(h) ? !plain_released_twice(h, grant, i)
                               : !plain_released_before(h, grant, i) &&
                                     !plain_touched(h, e->process, plain_invoke_of(h, i), i);
    }
    if (plain_is(e, HISTORY_ACQUIRE, HISTORY_FAIL)) {
        return plain_kept_to_its_ttl(h, i);
    }
    if (plain_is(e, HISTORY_EXTEND, HISTORY_FAIL)) {
        return plain_not_extended_untrue(h, i);
    }
    return plain_is(e, HISTORY_EXTEND, HISTORY_OK) &&
           (plain_set_anew(h, i) || plain_extended_gone(h, i) || plain_extended_idly(h, i));
}

/* `result_truth`: did the lock's answer contradict its effect? */
static inline enum plain plain_result_truth(const struct plain_history *h)
{
    enum plain verdict = PLAIN_NOTHING;
    for (size_t i = 0; i < h->count; i++) {
        if (h->events[i].kind != HISTORY_OP) {
            continue;
        }
        verdict = plain_worse(verdict, PLAIN_PASS);
        if (plain_untrue(h, i)) {
            return PLAIN_FAIL;
        }
    }
    return verdict;
}

#endif
