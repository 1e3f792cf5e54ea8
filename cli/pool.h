/*
 * pool.h: runs everything that was ordered, each batch in a process of its own, a few at once.
 *
 * A batch is one run in the real world, or many seeds in the simulator. A batch that dies takes
 * nothing with it: the run that it was at is reported as an error. On SIGINT and SIGTERM every
 * batch is told to stop and waited for; nothing stays behind.
 */
#ifndef CLI_POOL_H
#define CLI_POOL_H

#include "cli/agenda.h"
#include "cli/files.h"
#include "cli/report.h"

enum { POOL_JOBS_MAX = 256, KEEP_LAST_MAX = 100000, POOL_TRIES = 3, POOL_TRIES_MAX = 100 };

/* Runs at the same time and core, where nobody says how many: in the real world most of one is
 * spent with waiting, and an adapter may be a Java machine. */
enum { POOL_REAL_JOBS = 12, POOL_LIBRARY_JOBS = 3 };

struct pool_order {
    const struct scenario_list *scenarios;
    bool sim;
    bool real;
    struct agenda_order runs;
    uint32_t jobs;
    int64_t budget_ns; /* begin no run after this much time; 0: none, all runs are done */
    int64_t begun_ns;  /* when that time began, on CLOCK_MONOTONIC */
    const char *adapter;
    const char *server;                       /* --redis-server, or NULL */
    const struct run_cluster_choice *cluster; /* --cluster, or NULL */
    int64_t time_scale_ppm;
    int64_t stress_ns; /* 0: none */
    enum run_keep keep;
    uint32_t keep_last; /* of each scenario and world: unmet runs, the newest */
    uint32_t tries;     /* of a run on real servers that the machine's lateness left open */
    bool stop_at_first;
    const char *trace; /* takes the trace of the only run, or NULL */
    const char *out;
};

/* *exit_code is set on success; ERROR_INTERRUPTED after a signal. */
MUST_USE struct result pool_run(const struct pool_order *order, struct arena *arena,
                                struct report *report, int *exit_code, struct text *why);

#endif
