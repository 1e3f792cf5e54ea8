/* adapter_stop.c: the end of adapters: asked, told, and made to. */
#include "harness/real/adapter/adapter_inner.h"

#include "harness/real/process/guard.h"
#include "harness/real/process/proc.h"
#include "harness/real/process/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void stop_wait(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
}

/* Ask it to end; false: it stands still and cannot hear. */
static bool stop_ask(struct adapter_process *process)
{
    bool hears = !process->stopped;
    adapter_slow(process->adapter, process->first, 0, 0);
    struct adapter_request request = {.op = ADAPTER_SHUTDOWN, .id = ++process->last_id};
    char *line = adapter_request_line(&request, "");
    if (line != NULL && hears) {
        adapter_write(process, line, strlen(line));
    }
    adapter_line_free(line);
    adapter_close(process);
    return hears;
}

struct watched {
    pid_t group;
    pid_t stray; /* whoever left it; 0: nobody */
    struct lateness_sight sight;
};

static void watched_see(pid_t pid, void *data)
{
    struct watched *watched = data;
    if (pid == watched->stray || proc_field(pid, PROC_FIELD_GROUP) == watched->group) {
        lateness_see(pid, &watched->sight);
    }
}

/* It may wait for what it has started: all of its group is looked at. */
static struct lateness_sight stop_see(pid_t group, pid_t stray)
{
    struct watched watched = {group, stray, {.ready = false}};
    proc_processes(watched_see, &watched);
    return watched.sight;
}

static void stop_begin(struct adapter_process *process, int64_t length_ns)
{
    struct lateness_sight sight = stop_see(process->pid, 0);
    lateness_grace_begin(&process->grace, loop_now_ns(), length_ns, &sight);
}

/* Is it time to look again, and over? */
static bool stop_over_time(struct lateness_grace *grace, pid_t group, pid_t stray)
{
    int64_t now_ns = loop_now_ns();
    if (now_ns < grace->last_ns + LATENESS_GRACE_LOOK_NS) {
        return false;
    }
    struct lateness_sight sight = stop_see(group, stray);
    return lateness_grace_look(grace, now_ns, &sight);
}

struct strays {
    int32_t client;  /* of the adapter that has ended, from 1 on */
    int64_t started; /* when, as /proc counts it */
    pid_t found;     /* 0: none */
};

/*
 * A child of ours that we did not start: what an adapter leaves becomes that. One whose environment
 * was taken away is known by the session of its own, which nothing of ours that is as young has.
 */
static void stray_look(pid_t pid, void *data)
{
    struct strays *strays = data;
    char client[ADAPTER_MARK_BYTES];
    char run[GUARD_PATH_BYTES];
    if (proc_field(pid, PROC_FIELD_PARENT) != getpid()) {
        return;
    }
    bool marked = proc_variable(pid, ADAPTER_VARIABLE, client, sizeof client) == PROC_VARIABLE_SET;
    bool bare = !marked &&
                proc_variable(pid, PROCESS_RUN_VARIABLE, run, sizeof run) != PROC_VARIABLE_SET &&
                proc_field(pid, PROC_FIELD_SESSION) != getsid(0) &&
                proc_field(pid, PROC_FIELD_START) >= strays->started;
    bool strayed = marked ? strtol(client, NULL, 10) == strays->client : bare;
    /* Last: one that is about to end has no environment any more. */
    if (strayed && proc_state(pid) != 'Z') {
        strays->found = pid;
    }
}

/* Whoever left its group, or 0. */
static pid_t stop_stray(const struct adapter_process *process)
{
    struct strays strays = {.client = process->first + 1, .started = process->started};
    proc_processes(stray_look, &strays);
    return strays.found;
}

/* Is anything left of what it started, now that it is gone? What is about to end may be. */
static bool stop_leaves(struct adapter_process *process, pid_t pid)
{
    pid_t stray = stop_stray(process);
    bool left = stray > 0 || kill(-pid, 0) == 0;
    bool patient = left && !process->adapter->accused;
    struct lateness_sight sight = {.ready = false};
    if (patient) {
        sight = stop_see(pid, stray);
        lateness_grace_begin(&process->grace, loop_now_ns(), ADAPTER_LEAVE_MS * NS_PER_MS, &sight);
    }
    while (left && patient) {
        (void)waitpid(-pid, NULL, WNOHANG); /* whoever ended after it is ours to reap */
        stop_wait();
        stray = stop_stray(process);
        left = stray > 0 || kill(-pid, 0) == 0;
        patient = left && !stop_over_time(&process->grace, pid, stray);
    }
    for (int i = 0; stray > 0 && i < ADAPTER_STRAYS_MAX; i++) {
        process_kill(stray);
        stray = stop_stray(process);
    }
    if (left) {
        (void)kill(-pid, SIGKILL);
    }
    return left;
}

/* It has ended: so must everything that it started. */
static void stop_ended(struct adapter_process *process)
{
    pid_t pid = process->pid;
    process->pid = 0;
    if (stop_leaves(process, pid)) {
        adapter_accuse(process, "left a process behind when it ended");
    }
}

/* It has not ended: it is told to, or made to. */
static void stop_make(struct adapter_process *process, bool last)
{
    if (process->hears && !last) {
        (void)kill(-process->pid, SIGTERM);
        return;
    }
    process_kill_group(process->pid);
    process->pid = 0;
    if (process->hears) {
        bool ignores = process->grace.left_ns <= 0;
        adapter_accuse(process, ignores ? "ignores shutdown and SIGTERM: it had to be killed"
                                        : "did not end within 60 s: it had to be killed");
    }
}

/* False: its end is not awaited any more. */
static bool stop_awaits(struct adapter_process *process, bool last)
{
    int status = 0;
    if (process_ended(process->pid, &status)) {
        stop_ended(process);
        return false;
    }
    if (stop_over_time(&process->grace, process->pid, 0)) {
        stop_make(process, last);
        return false;
    }
    return true;
}

/* Those that have not ended after `length_ns` in which they could are told to, or made to. */
static void stop_await(struct adapter *adapter, int64_t length_ns, bool last)
{
    bool any = true;
    for (int32_t i = 0; i < adapter->process_count; i++) {
        struct adapter_process *process = &adapter->processes[i];
        process->awaited = process->pid > 0 && process->hears;
        if (process->awaited) {
            stop_begin(process, length_ns);
        } else if (process->pid > 0) {
            stop_make(process, last);
        }
    }
    while (any) {
        any = false;
        for (int32_t i = 0; i < adapter->process_count; i++) {
            struct adapter_process *process = &adapter->processes[i];
            process->awaited = process->awaited && stop_awaits(process, last);
            any = any || process->awaited;
        }
        if (any) {
            stop_wait();
        }
    }
}

static bool is_flooded(const struct adapter_process *process)
{
    struct stat log;
    return stat(process->log_path, &log) == 0 && log.st_size > ADAPTER_LOG_BYTES_MAX;
}

/* What it wrote to stderr before anybody looked is not kept beyond the limit. */
static void cut_log(const struct adapter_process *process)
{
    if (is_flooded(process) && truncate(process->log_path, ADAPTER_LOG_BYTES_MAX) != 0) {
        return; /* its file is longer than it need be */
    }
}

void adapter_stop(struct adapter *adapter)
{
    int64_t bound_ns = loop_now_ns() + ADAPTER_END_MS_MAX * NS_PER_MS;
    adapter->stopped = true;
    for (int32_t i = 0; i < adapter->process_count; i++) {
        struct adapter_process *process = &adapter->processes[i];
        process->hears = !process->gone && stop_ask(process);
        process->grace.bound_ns = bound_ns;
    }
    stop_await(adapter, ADAPTER_GOODBYE_MS * NS_PER_MS, false);
    stop_await(adapter, ADAPTER_TERM_MS * NS_PER_MS, true);
    for (int32_t i = 0; i < adapter->process_count; i++) {
        cut_log(&adapter->processes[i]);
    }
}

void adapter_look(struct adapter *adapter)
{
    for (int32_t i = 0; i < adapter->process_count; i++) {
        struct adapter_process *process = &adapter->processes[i];
        if (process->gone || !is_flooded(process)) {
            continue;
        }
        adapter_fail(process, "wrote more than %d MiB to stderr", ADAPTER_LOG_BYTES_MAX >> 20);
        cut_log(process);
    }
}
