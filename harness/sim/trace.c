/* trace.c: hashes events as they pass, and finds where two runs part. */
#include "harness/sim/trace.h"

#include "base/assert.h"

#include <string.h>

static inline uint64_t trace_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    return hash ^ (hash >> 32);
}

/* Every byte of it: an event has no padding. */
static uint64_t trace_hash(uint64_t hash, const struct history_event *event)
{
    uint64_t words[sizeof *event / sizeof(uint64_t)];
    _Static_assert(sizeof words == sizeof *event, "whole words");
    memcpy(words, event, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        hash = trace_mix(hash, words[i]);
    }
    return hash;
}

static void trace_mark(struct trace *trace)
{
    if (trace->mark_count == TRACE_MARKS_MAX) {
        /* Keep every second mark. */
        for (uint32_t i = 0; i < TRACE_MARKS_MAX / 2; i++) {
            trace->marks[i] = trace->marks[2 * i + 1];
        }
        trace->mark_count = TRACE_MARKS_MAX / 2;
        trace->distance *= 2;
    }
    if (trace->events % trace->distance == 0) {
        trace->marks[trace->mark_count++] = (uint32_t)trace->hash;
    }
}

static void trace_event(struct recorder *recorder, const struct history_event *event)
{
    struct trace *trace = (struct trace *)recorder;
    trace->hash = trace_hash(trace->hash, event);
    trace->events++;
    if (trace->events % trace->distance == 0) {
        trace_mark(trace);
    }
    if (trace->next != NULL) {
        trace->next->event(trace->next, event);
    }
}

static void trace_replied(struct recorder *recorder, uint64_t event, int64_t time_ns)
{
    struct trace *trace = (struct trace *)recorder;
    if (trace->next != NULL && trace->next->replied != NULL) {
        trace->next->replied(trace->next, event, time_ns);
    }
}

static bool trace_should_stop(struct recorder *recorder)
{
    struct trace *trace = (struct trace *)recorder;
    return trace->next != NULL && trace->next->should_stop(trace->next);
}

void trace_init(struct trace *trace, struct recorder *next)
{
    memset(trace, 0, sizeof *trace);
    trace->recorder = (struct recorder){
        .event = trace_event, .replied = trace_replied, .should_stop = trace_should_stop};
    trace->next = next;
    trace->distance = 1;
}

/* The mark after so many events; false if there is none. */
static bool trace_mark_at(const struct trace *trace, uint64_t events, uint32_t *mark)
{
    uint64_t place = events / trace->distance;
    if (events % trace->distance != 0 || place == 0 || place > trace->mark_count) {
        return false;
    }
    *mark = trace->marks[place - 1];
    return true;
}

bool trace_equal(const struct trace *recorded, const struct trace *now, struct text *where)
{
    if (recorded->events == now->events && recorded->hash == now->hash) {
        return true;
    }
    uint64_t step = recorded->distance > now->distance ? recorded->distance : now->distance;
    uint64_t same = 0;
    uint32_t a = 0;
    uint32_t b = 0;
    while (trace_mark_at(recorded, same + step, &a) && trace_mark_at(now, same + step, &b) &&
           a == b) {
        same += step;
    }
    text_add(where,
             "the history parts from the recorded one between event %llu and event %llu; "
             "it was %llu events long and is %llu",
             (unsigned long long)same, (unsigned long long)(same + step),
             (unsigned long long)recorded->events, (unsigned long long)now->events);
    return false;
}
