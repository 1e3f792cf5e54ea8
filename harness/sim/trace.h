/*
 * trace.h: a short fingerprint of a history as it is recorded.
 *
 *     struct trace trace;
 *     trace_init(&trace, next);            next: the recorder that gets the events, or NULL
 *     sim_run(sim, &trace.recorder, why);
 *
 * Marks the running hash every so many events, at most TRACE_MARKS_MAX times: where two traces of
 * one run part can be told from the marks alone, without either history.
 */
#ifndef HARNESS_SIM_TRACE_H
#define HARNESS_SIM_TRACE_H

#include "base/text.h"
#include "harness/world.h"

enum { TRACE_MARKS_MAX = 64 };

struct trace {
    struct recorder recorder;
    struct recorder *next; /* borrowed */
    uint64_t events;
    uint64_t hash;     /* over all events so far */
    uint64_t distance; /* events between two marks, a power of two */
    uint32_t mark_count;
    uint32_t marks[TRACE_MARKS_MAX]; /* mark i: the hash's low half after (i + 1) * distance */
};

void trace_init(struct trace *trace, struct recorder *next);

/* Whether both saw the same events; if not, `where` says between which events they part. */
bool trace_equal(const struct trace *recorded, const struct trace *now, struct text *where);

#endif
