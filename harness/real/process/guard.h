/*
 * guard.h: nothing outlives a run, however it ends.
 *
 *     guard_start(&guard, run_directory, why);     first thing in the run's process
 *     ... children ...
 *     guard_end(&guard);                           kills and reaps every descendant
 *
 * Three nets, one under the other. A child dies with the run's process (parent-death signal). The
 * run's process adopts its grandchildren (subreaper) and kills whoever is left. And a guard, a
 * process of its own in its own session, waits on a pipe that only the run's process holds: should
 * that end without a word, the guard kills every process whose environment names the run directory.
 * It watches the process above the run, too: if that dies, the run gets half a second to clean up.
 *
 * RUN/state holds the owner's pid and what only serves the running (nodes' data, clock pages); it
 * is removed at the end. Logs lie in RUN itself.
 */
#ifndef HARNESS_REAL_GUARD_H
#define HARNESS_REAL_GUARD_H

#include "base/result.h"
#include "base/text.h"

#include <stdbool.h>
#include <sys/types.h>

enum { GUARD_PATH_BYTES = 1024 };

struct guard {
    pid_t pid;
    int pipe_fd;                          /* closed without a byte: clean up behind us */
    char run_directory[GUARD_PATH_BYTES]; /* absolute */
    char state_directory[GUARD_PATH_BYTES + 8];
};

MUST_USE struct result guard_start(struct guard *guard, const char *run_directory,
                                   struct text *why);

/* SIGKILL and reap every descendant; remove RUN/state; dismiss the guard. */
void guard_end(struct guard *guard);

/* Kill every process whose environment names this run directory; gives how many there were. */
int guard_kill_by_environment(const char *run_directory);

/* Is the process that owns RUN/state alive? False also where there is no owner. */
bool guard_owner_alive(const char *run_directory);

/* Remove a directory and all below it; missing is fine. */
void guard_remove_tree(const char *path);

#endif
