/* mutate.h: what is left of a run's history when an event is dropped, moved, swapped, delayed,
 * changed or given to another. */
#ifndef TESTS_JUDGE_MUTATE_H
#define TESTS_JUDGE_MUTATE_H

#include "base/random.h"
#include "tests/judge/plain_faults.h"
#include "tests/sim/sim_fixture.h"

static struct history_event mutant[FIXTURE_EVENTS_MAX];

/* Put an event where another is, at its time. */
static void move(size_t from, size_t to)
{
    struct history_event kept = mutant[from];
    kept.time_ns = mutant[to].time_ns;
    if (to > from) {
        memmove(&mutant[from], &mutant[from + 1], (to - from) * sizeof mutant[0]);
    } else {
        memmove(&mutant[to + 1], &mutant[to], (from - to) * sizeof mutant[0]);
    }
    mutant[to] = kept;
}

static void swap(size_t i, size_t k)
{
    struct history_event one = mutant[i];
    struct history_event other = mutant[k];
    int64_t one_ns = one.time_ns;
    one.time_ns = other.time_ns;
    other.time_ns = one_ns;
    mutant[i] = other;
    mutant[k] = one;
}

/* What a client was told: done, not done or unknown; of a grant, with a promise and a fence. */
static void tell(struct random_stream *stream, struct history_event *e)
{
    if (e->kind != HISTORY_OP || e->type == HISTORY_INVOKE) {
        return;
    }
    if (e->type == HISTORY_OK && random_below(stream, 2) == 0) {
        e->flags &=
            (uint16_t) ~(random_below(stream, 2) == 0 ? HISTORY_HAS_UNTIL : HISTORY_HAS_FENCE);
    } else if (e->f != HISTORY_ACQUIRE || e->type == HISTORY_OK) {
        e->type = (uint8_t)(HISTORY_OK + random_below(stream, 3));
    }
}

/* Take a whole operation out, from its asking to its answer: a release that was never asked for, so
 * that its client holds what it asks for next. Gives how many events are left. */
static size_t forget(size_t i, size_t count)
{
    struct plain_history h = {NULL, mutant, count};
    if (mutant[i].kind != HISTORY_OP || mutant[i].type != HISTORY_INVOKE) {
        return count;
    }
    size_t back = plain_back(&h, i);
    if (back < count) {
        memmove(&mutant[back], &mutant[back + 1], (count - back - 1) * sizeof mutant[0]);
        count--;
    }
    memmove(&mutant[i], &mutant[i + 1], (count - i - 1) * sizeof mutant[0]);
    return count - 1;
}

/* Take whole faults out (bit n: fault n), and what they did. Gives how many events are left. */
static size_t forget_faults(uint64_t faults, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t fault = mutant[i].fault;
        bool its = fault >= 0 && fault < 64 && (faults >> fault & 1) != 0;
        mutant[left] = mutant[i];
        left += its ? 0 : 1;
    }
    return left;
}

/* Take every call of one sort out: what came of them at the nodes a lock did by itself. Gives how
 * many events are left. */
static size_t forget_calls(enum history_f f, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        bool its = mutant[i].kind == HISTORY_OP && mutant[i].f == (uint8_t)f;
        mutant[left] = mutant[i];
        left += its ? 0 : 1;
    }
    return left;
}

/* Nobody is promised an end. Gives how many events are left. */
static size_t forget_promises(size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        bool promise = mutant[i].kind == HISTORY_OP;
        mutant[left] = mutant[i];
        mutant[left].index = left;
        mutant[left].flags &= promise ? (uint16_t)~HISTORY_HAS_UNTIL : UINT16_MAX;
        left += mutant[i].kind == HISTORY_LEASE ? 0 : 1;
    }
    return left;
}

/* Keys of one value go early, where others came and found them. Gives which was the first; count if
 * none did. */
static size_t take_keys(struct random_stream *stream, size_t from, size_t count, bool evicted)
{
    size_t first = count;
    for (size_t i = from > 0 ? from : 1; i < count; i++) {
        struct history_event *e = &mutant[i];
        bool found = plain_key(e, HISTORY_KEY_REFUSED) || plain_key(e, HISTORY_KEY_KEPT);
        struct plain_history h = {NULL, mutant, i};
        struct plain_held held = plain_holds(&h, i - 1, e->node, e->resource);
        if (!found || !held.there || !plain_same(&held.value, &e->owner) ||
            (first < count && !plain_same(&mutant[first].owner, &e->owner)) ||
            random_below(stream, 4) == 0) {
            continue;
        }
        first = first < count ? first : i;
        e->f = evicted ? HISTORY_KEY_EVICTED : HISTORY_KEY_EXPIRED;
        e->cause = evicted ? CAUSE_EVICTION : CAUSE_TTL;
        e->flags = HISTORY_HAS_OWNER;
        e->process = HISTORY_NOBODY;
        memset(e->command, 0, sizeof e->command);
        memset(&e->value, 0, sizeof e->value);
    }
    return first;
}

/* A fault that throws keys out stands before event `i`, and is over. Gives how many events are
 * left. */
static size_t add_eviction(size_t i, size_t count, int32_t fault)
{
    struct history_event event = {
        .time_ns = mutant[i].time_ns,
        .kind = HISTORY_FAULT,
        .f = HISTORY_FAULT_START,
        .fault_kind = FAULT_EVICT,
        .process = HISTORY_NOBODY,
        .node = 0,
        .fault = fault,
    };
    memmove(&mutant[i + 2], &mutant[i], (count - i) * sizeof mutant[0]);
    mutant[i] = event;
    event.f = HISTORY_FAULT_END;
    mutant[i + 1] = event;
    return count + 2;
}

/* A key that is not there is neither given more time nor deleted, and does not end. Gives how many
 * events are left. */
static size_t settle_keys(size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        struct history_event e = mutant[i];
        if (plain_gone(&e) || plain_key(&e, HISTORY_KEY_EXTENDED)) {
            struct plain_history h = {NULL, mutant, left};
            struct plain_held held = {.there = false};
            if (left > 0) {
                held = plain_holds(&h, left - 1, e.node, e.resource);
            }
            if (!held.there || !plain_same(&held.value, &e.owner)) {
                continue;
            }
        }
        mutant[left++] = e;
    }
    return left;
}

/* A client is told that it lost the lock, instead of what it read or wrote. Gives how many events
 * are left. */
static size_t tell_loss(size_t i, size_t count)
{
    bool guarded = mutant[i].f == HISTORY_READ || mutant[i].f == HISTORY_WRITE;
    if (!guarded || mutant[i].kind != HISTORY_OP || mutant[i].type != HISTORY_INVOKE) {
        return count;
    }
    struct history_event notice = {
        .time_ns = mutant[i].time_ns,
        .kind = HISTORY_NOTICE,
        .f = HISTORY_LOST,
        .flags = mutant[i].flags & HISTORY_HAS_VALUE,
        .process = mutant[i].process,
        .node = HISTORY_NO_NODE,
        .fault = HISTORY_NO_FAULT,
        .resource = mutant[i].resource,
        .value = mutant[i].value,
    };
    struct plain_history h = {NULL, mutant, count};
    size_t back = plain_back(&h, i);
    mutant[i] = notice;
    if (back < count) {
        memmove(&mutant[back], &mutant[back + 1], (count - back - 1) * sizeof mutant[0]);
        count--;
    }
    return count;
}

enum change { DROP, MOVE, SWAP, DELAY, RENUMBER, GIVE, TELL, CHANGES };

/* Change one event; gives how many are left. */
static size_t change(struct random_stream *stream, size_t count)
{
    size_t i = random_below(stream, count);
    switch ((enum change)random_below(stream, CHANGES)) {
    case DROP:
        memmove(&mutant[i], &mutant[i + 1], (count - i - 1) * sizeof mutant[0]);
        return count - 1;
    case MOVE:
        move(i, random_below(stream, count));
        return count;
    case SWAP:
        swap(i, i + 1 < count ? i + 1 : i - 1);
        return count;
    case DELAY: { /* and all that follows */
        int64_t by_ns = (int64_t)random_below(stream, 5 * NS_PER_S);
        int64_t from_ns = mutant[i].time_ns;
        for (size_t k = i; k < count; k++) {
            mutant[k].time_ns += by_ns;
            mutant[k].sent_ns += mutant[k].sent_ns >= from_ns ? by_ns : 0;
            mutant[k].replied_ns += mutant[k].replied_ns >= from_ns ? by_ns : 0;
        }
        return count;
    }
    case RENUMBER:
        if (mutant[i].fence > 0) { /* a node's clock in microseconds */
            mutant[i].fence -= (int64_t)random_below(stream, 1000000);
        }
        mutant[i].until_ns += (int64_t)random_below(stream, 2 * NS_PER_S) - NS_PER_S;
        mutant[i].basis += (int64_t)random_below(stream, 3) - 1;
        return count;
    case GIVE:
        if (mutant[i].process >= 0 && mutant[i].kind != HISTORY_FAULT) {
            mutant[i].process = (int32_t)random_below(stream, 3);
        }
        return count;
    case TELL:
        tell(stream, &mutant[i]);
        return count;
    case CHANGES:
        break;
    }
    UNREACHABLE();
}

/* One or two changes of a run's history, into `mutant`. Gives how many events are left. */
static size_t mutate(struct random_stream *stream, const struct history_event *events, size_t count)
{
    memcpy(mutant, events, count * sizeof mutant[0]);
    uint64_t changes = 1 + random_below(stream, 2);
    for (uint64_t n = 0; n < changes; n++) {
        count = change(stream, count);
    }
    for (size_t i = 0; i < count; i++) {
        mutant[i].index = i;
    }
    return count;
}

/* Fewer faults, keys that are thrown out or run out, renewals that nobody asked for, and a client
 * that is told of a loss, into `mutant`, which has so many events. Gives how many are left. */
static size_t mutate_losses(struct random_stream *stream, int32_t fault_count, size_t count)
{
    int32_t evicts = fault_count > 0 ? (int32_t)random_below(stream, (uint64_t)fault_count) : 0;
    uint64_t forgotten = random_word(stream) | UINT64_C(1) << evicts;
    count = forget_faults(forgotten, count);
    for (uint64_t n = random_below(stream, 3); n > 0; n--) {
        bool evicted = random_below(stream, 2) == 0 && evicts >= 0;
        size_t first = take_keys(stream, random_below(stream, count), count, evicted);
        if (evicted && first < count && random_below(stream, 8) > 0) {
            count = add_eviction(first, count, evicts);
            evicts = -1;
        }
    }
    count = settle_keys(count);
    count = random_below(stream, 2) == 0 ? forget_calls(HISTORY_EXTEND, count) : count;
    size_t told = count;
    for (size_t tried = random_below(stream, 3) == 0 ? count : 0; tried > 0 && told == count;) {
        told = tell_loss(random_below(stream, count), count);
        tried--;
    }
    count = told;
    if (random_below(stream, 2) == 0) {
        count = forget_calls(HISTORY_READ, count);
        count = forget_calls(HISTORY_WRITE, count);
    }
    for (size_t i = 0; i < count; i++) {
        mutant[i].index = i;
    }
    return count;
}

#endif
