/*
 * process.h: child processes that are started, stopped, killed and reaped, and never outlive us.
 *
 *     struct process_spec spec = {.arguments = argv, .log_path = "node-1/log", ...};
 *     process_start(&spec, &pid, why);
 *     process_freeze(pid, why);      returns when it is really stopped
 *     process_thaw(pid);
 *     process_kill(pid);             SIGKILL and reap
 *
 * Every child asks the kernel for SIGKILL when its parent dies; SIGKILL ends stopped ones too.
 * What a child starts itself is found by its environment (guard.h). libuv's uv_spawn is not used:
 * it would reap children behind our back and cannot ask for the parent-death signal.
 */
#ifndef HARNESS_REAL_PROCESS_H
#define HARNESS_REAL_PROCESS_H

#include "base/result.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Every child carries this variable: its value is the run directory. */
#define PROCESS_RUN_VARIABLE "PICKLOCK_RUN"

enum { PROCESS_ENVIRONMENT_MAX = 8 };

struct process_spec {
    const char *const *arguments; /* NULL at the end; the first is searched in PATH */
    const char *run_directory;
    const char *environment[PROCESS_ENVIRONMENT_MAX]; /* "NAME=text", added to ours; NULL ends */
    int input;                                        /* descriptors for 0 and 1; -1: /dev/null */
    int output;
    const char *log_path;   /* standard error, and output where that is -1, are appended here */
    int64_t file_bytes_max; /* no file of its own may be longer; 0: any */
    bool unprivileged;      /* where we are root: nobody runs it, who may go into every folder */
    bool own_group;         /* it leads a process group, with whatever it starts itself */
};

/*
 * Start a program. Returns ERROR_ENVIRONMENT when it is missing or cannot be started; when this
 * returns well, the program is running (its exec succeeded).
 */
MUST_USE struct result process_start(const struct process_spec *spec, pid_t *pid, struct text *why);

/*
 * To be called by a forked child first: ask for `signal` when the parent dies, end at once if
 * that is no longer `parent`.
 */
void process_die_with(pid_t parent, int signal);

/* SIGSTOP, and wait until every thread has stopped. ERROR_ENVIRONMENT when it died instead. */
MUST_USE struct result process_freeze(pid_t pid, struct text *why);
void process_thaw(pid_t pid);

/* The same for a process that leads a group, and for all that it has started. */
MUST_USE struct result process_freeze_group(pid_t pid, struct text *why);
void process_thaw_group(pid_t pid);
void process_kill_group(pid_t pid);

/* The same for a process with all that it started, and what those started, in whatever groups. */
MUST_USE struct result process_freeze_family(pid_t pid, struct text *why);
void process_thaw_family(pid_t pid);
void process_kill_family(pid_t pid);

/* SIGKILL and reap; returns when the process is gone. Harmless when it is a zombie already. */
void process_kill(pid_t pid);

/* Reap it if it has ended. Gives true and the wait status then. */
bool process_ended(pid_t pid, int *status);

/* Add "exit code 1" or "signal 9 (Killed)" and the last lines of its log to `text`. */
void process_explain(int status, const char *log_path, struct text *text);

/* Only that: "; node-1.log ends: ...". Nothing where it is empty. By name, not by path: a run's
 * logs are moved when it is over. */
void process_quote_log(const char *log_path, struct text *text);

#endif
