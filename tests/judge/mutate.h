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

#endif
