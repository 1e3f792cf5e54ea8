/* batch.h: what one child process of the pool does: some runs of one scenario in one world. */
#ifndef CLI_BATCH_H
#define CLI_BATCH_H

#include "cli/agenda.h"
#include "cli/run_one.h"

struct batch {
    const struct scenario *scenario;
    const struct world *world;
    const struct agenda_order *order;
    struct agenda_slice slice; /* which runs */
    const char *adapter;
    const char *server;
    const struct run_cluster_choice *cluster;
    int64_t time_scale_ppm;
    int64_t stress_ns;
    enum run_keep keep;
    uint32_t keep_last; /* unmet runs that are kept */
    uint32_t tries;     /* of a run that the machine's lateness left open; at least 1 */
    bool stop_at_first;
    const char *trace; /* or NULL */
    const char *out;
};

/* Run the batch, writing a report a run to the pipe; does not return. */
_Noreturn void batch_child(const struct batch *batch, int pipe_fd);

enum { BATCH_REPORT_BYTES_MAX = (int)sizeof(struct run_report) + 12 };

/* Put a report into bytes, without the unused end of its sentences; gives their number. */
size_t batch_report_encode(const struct run_report *report, char bytes[BATCH_REPORT_BYTES_MAX]);

/*
 * Read what a child wrote: reports, one after the other, as they were sent.
 *
 *   bytes, length  in   What has arrived so far.
 *   report         out  The first report, if it is there whole.
 *
 * Returns its size in the stream, or 0 if more must arrive first.
 */
size_t batch_report_decode(const char *bytes, size_t length, struct run_report *report);

/* For how many jobs a batch counts: all that there are, at most. */
uint32_t batch_weight(const struct scenario *scenario, const struct world *world, uint32_t jobs);

#endif
