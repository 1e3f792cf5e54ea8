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

static bool stop_ended(struct adapter_process *process, int64_t deadline_ns, int64_t again_ns)
{
    int status = 0;
    bool ended = process_ended(process->pid, &status);
    while (!ended && loop_now_ns() < deadline_ns) {
        stop_wait();
        ended = process_ended(process->pid, &status);
        bool over = !ended && again_ns > 0 && loop_now_ns() >= deadline_ns;
        deadline_ns += over && adapter_starves(process, again_ns) ? again_ns : 0;
    }
    return ended;
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
    bool marked = proc_variable(pid, ADAPTER_VARIABLE, client, sizeof client);
    bool bare = !marked && !proc_variable(pid, PROCESS_RUN_VARIABLE, run, sizeof run) &&
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
static bool stop_leaves(const struct adapter_process *process, pid_t pid, int64_t deadline_ns)
{
    pid_t stray = stop_stray(process);
    bool left = stray > 0 || kill(-pid, 0) == 0;
    while (left && loop_now_ns() < deadline_ns) {
        (void)waitpid(-pid, NULL, WNOHANG); /* whoever ended after it is ours to reap */
        stop_wait();
        stray = stop_stray(process);
        left = stray > 0 || kill(-pid, 0) == 0;
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
static void stop_over(struct adapter_process *process)
{
    pid_t pid = process->pid;
    int64_t patience_ns = process->adapter->accused ? 0 : ADAPTER_LEAVE_MS * NS_PER_MS;
    process->pid = 0;
    if (stop_leaves(process, pid, loop_now_ns() + patience_ns)) {
        adapter_accuse(process, "left a process behind when it ended");
    }
}

/* Those that have not ended by `deadline_ns` are told to, or made to. The last time they are given
 * longer where it is a processor that they wait for. */
static void stop_await(struct adapter *adapter, int64_t deadline_ns, bool last)
{
    int64_t again_ns = last ? ADAPTER_TERM_MS * NS_PER_MS : 0;
    for (int32_t i = 0; i < adapter->process_count; i++) {
        struct adapter_process *process = &adapter->processes[i];
        if (process->pid <= 0) {
            continue;
        }
        if (process->hears && stop_ended(process, deadline_ns, again_ns)) {
            stop_over(process);
        } else if (process->hears && !last) {
            (void)kill(-process->pid, SIGTERM);
        } else {
            process_kill_group(process->pid);
            process->pid = 0;
            if (process->hears) {
                adapter_accuse(process, "ignores shutdown and SIGTERM: it had to be killed");
            }
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
    int64_t deadline_ns = loop_now_ns() + ADAPTER_GOODBYE_MS * NS_PER_MS;
    adapter->stopped = true;
    for (int32_t i = 0; i < adapter->process_count; i++) {
        struct adapter_process *process = &adapter->processes[i];
        process->hears = !process->gone && stop_ask(process);
    }
    stop_await(adapter, deadline_ns, false);
    stop_await(adapter, loop_now_ns() + ADAPTER_TERM_MS * NS_PER_MS, true);
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
