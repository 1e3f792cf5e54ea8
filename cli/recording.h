/*
 * recording.h: keeps a run's events in memory, in order, and lets the checks watch.
 *
 *     recording_open -> world->run(..., recording_recorder(r), ...) -> recording_judge -> results
 */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include "checker/check.h"
#include "checker/explain/explain.h"
#include "harness/world.h"

struct recording;

/* How long a run may be, which tells early that it has too many events. */
struct recording_length {
    int64_t duration_ns; /* 0: nothing is known */
    int64_t cycle_ns;    /* a client that is refused begins anew after it: as it went, it goes on */
    uint64_t sections;   /* of all clients */
};

struct recording *recording_open(bool stop_at_first);

/* Before the run. */
void recording_expect(struct recording *recording, const struct recording_length *length);

struct recorder *recording_recorder(struct recording *recording);

/* Checks that watch live (stop at first) need to know the header before the run. */
MUST_USE struct result recording_begin(struct recording *recording,
                                       const struct history_header *header, struct text *why);

/* Put the events in order of time, number them, and judge them all. */
MUST_USE struct result recording_judge(struct recording *recording,
                                       const struct history_header *header, struct text *why);

const struct check_result *recording_result(const struct recording *recording, size_t check);
struct explain_history recording_history(const struct recording *recording);

/* Write all as a history file. */
MUST_USE struct result recording_write(const struct recording *recording, const char *path,
                                       struct text *why);

/* XXH64 over the lines that recording_write would write. */
uint64_t recording_hash(const struct recording *recording);

/* Forget the events, for the next run. */
void recording_clear(struct recording *recording);
void recording_close(struct recording *recording);

#endif
