/* guard.c: nothing outlives a run, however it ends. */
#include "harness/real/process/guard.h"

#include "base/assert.h"
#include "base/duration.h"
#include "harness/real/process/loop.h"
#include "harness/real/process/proc.h"
#include "harness/real/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    GUARD_ROUNDS_MAX = 500,
    GUARD_PATIENCE_MS = 500, /* for a run that cleans up by itself */
    GUARD_TREE_FDS = 16,
};

static void guard_nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 2 * NS_PER_MS}, NULL);
}

static int guard_remove_one(const char *path, const struct stat *status, int flag,
                            struct FTW *where)
{
    (void)status;
    (void)flag;
    (void)where;
    (void)remove(path);
    return 0;
}

void guard_remove_tree(const char *path)
{
    (void)nftw(path, guard_remove_one, GUARD_TREE_FDS, FTW_DEPTH | FTW_PHYS);
}

/* May a process without an environment be about to become another program, which shows one? It is
 * so for as long as it waits for a processor. Who is older than the guard is of no run of its; who
 * has no memory is of the kernel; a zombie has none to clean up. */
static bool guard_is_becoming(pid_t pid)
{
    char pages[2];
    return proc_field(pid, PROC_FIELD_START) >= proc_field(getpid(), PROC_FIELD_START) &&
           proc_read(pid, "statm", pages, sizeof pages) > 0 && pages[0] != '0' &&
           proc_state(pid) != 'Z';
}

struct guard_round {
    const char *run_directory;
    pid_t spared;
    int killed;
    int becoming; /* of whom nobody can say yet */
};

static void guard_kill_found(struct guard_round *round, pid_t pid)
{
    (void)kill(pid, SIGKILL);
    round->killed++;
}

/* Does its environment name this run? */
static void guard_kill_of_run(pid_t pid, void *data)
{
    struct guard_round *round = data;
    char run[GUARD_PATH_BYTES];
    enum proc_variable names = proc_variable(pid, PROCESS_RUN_VARIABLE, run, sizeof run);
    if (names == PROC_VARIABLE_SET && strcmp(run, round->run_directory) == 0) {
        if (proc_state(pid) != 'Z') {
            guard_kill_found(round, pid);
        }
    } else if (names == PROC_NO_ENVIRONMENT && guard_is_becoming(pid)) {
        round->becoming++;
    }
}

static void guard_kill_child(pid_t pid, void *data)
{
    struct guard_round *round = data;
    if (pid != round->spared && proc_field(pid, PROC_FIELD_PARENT) == getpid()) {
        guard_kill_found(round, pid);
    }
}

int guard_kill_by_environment(const char *run_directory)
{
    int first = -1;
    int left = 1;
    /* Until a round finds nobody: a process may have forked while it was looked for. */
    for (int i = 0; i < GUARD_ROUNDS_MAX && left > 0; i++) {
        struct guard_round round = {.run_directory = run_directory};
        proc_processes(guard_kill_of_run, &round);
        first = first < 0 ? round.killed : first;
        left = round.killed + round.becoming;
        if (left > 0) {
            guard_nap();
        }
    }
    return first;
}

/* A child that we killed becomes ours to reap, and its children become ours to kill. */
static void guard_kill_descendants(pid_t spared)
{
    for (int i = 0; i < GUARD_ROUNDS_MAX; i++) {
        struct guard_round round = {.spared = spared};
        proc_processes(guard_kill_child, &round);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        if (round.killed == 0) {
            return;
        }
        guard_nap();
    }
}

static void guard_owner_path(const char *run_directory, char *path, size_t path_bytes)
{
    (void)snprintf(path, path_bytes, "%s/state/owner", run_directory);
}

bool guard_owner_alive(const char *run_directory)
{
    char path[GUARD_PATH_BYTES + 16];
    int pid = 0;
    long long start = 0;
    guard_owner_path(run_directory, path, sizeof path);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    bool read = fscanf(file, "%d %lld", &pid, &start) == 2;
    (void)fclose(file);
    /* The start time tells a process from a later one that was given the same number. */
    return read && pid > 1 && proc_state(pid) != 'Z' && proc_field(pid, PROC_FIELD_START) == start;
}

static struct result guard_write_owner(const struct guard *guard, struct text *why)
{
    char path[GUARD_PATH_BYTES + 16];
    guard_owner_path(guard->run_directory, path, sizeof path);
    FILE *file = fopen(path, "we");
    bool written = file != NULL && fprintf(file, "%d %lld\n", (int)getpid(),
                                           proc_field(getpid(), PROC_FIELD_START)) > 0;
    if (file != NULL && fclose(file) != 0) {
        written = false;
    }
    if (!written) {
        text_add(why, "%s: cannot be written: %s", path, strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

/* Wait until the run's process says that all is well, or is gone. Gives true if all is well. */
static bool guard_wait(int pipe_fd, pid_t run, int above_fd)
{
    struct pollfd waits[2] = {{.fd = pipe_fd, .events = POLLIN},
                              {.fd = above_fd, .events = POLLIN}};
    char byte;
    while (poll(waits, above_fd >= 0 ? 2 : 1, -1) < 0 && errno == EINTR) {
    }
    if (waits[0].revents == 0) {
        /* The process above died, and told the run by a signal. */
        (void)poll(waits, 1, GUARD_PATIENCE_MS);
        if (waits[0].revents == 0) {
            (void)kill(run, SIGKILL);
        }
    }
    return read(pipe_fd, &byte, 1) == 1;
}

static _Noreturn void guard_watch(const struct guard *guard, int pipe_fd, pid_t run, pid_t above)
{
    sigset_t all;
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "picklock-guard", 0, 0, 0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3; i++) {
        (void)dup2(null, i);
    }
    int kept = fcntl(pipe_fd, F_DUPFD, 3);
    (void)dup2(kept, 3);
    (void)close_range(4, ~0u, 0);
    int above_fd = (int)syscall(SYS_pidfd_open, above, 0); /* an old kernel: only the pipe */
    if (!guard_wait(3, run, above_fd)) {
        (void)guard_kill_by_environment(guard->run_directory);
        guard_remove_tree(guard->state_directory);
    }
    _exit(0);
}

struct result guard_start(struct guard *guard, const char *run_directory, struct text *why)
{
    int ends[2];
    memset(guard, 0, sizeof *guard);
    char *absolute = realpath(run_directory, NULL);
    size_t bytes = absolute != NULL ? strlen(absolute) : 0;
    if (absolute == NULL || bytes >= sizeof guard->run_directory) {
        if (absolute == NULL) {
            text_add(why, "run directory %s: %s", run_directory, strerror(errno));
        } else {
            text_add(why,
                     "the path of the run's directory has %zu bytes, at most %d may be: name "
                     "a shorter one with --out",
                     bytes, GUARD_PATH_BYTES - 1);
        }
        free(absolute);
        return result_error(ERROR_ENVIRONMENT);
    }
    memcpy(guard->run_directory, absolute, bytes + 1);
    free(absolute);
    (void)snprintf(guard->state_directory, sizeof guard->state_directory, "%s/state",
                   guard->run_directory);
    guard_remove_tree(guard->state_directory);
    if (mkdir(guard->state_directory, S_IRWXU) != 0) {
        text_add(why, "%s: %s", guard->state_directory, strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    TRY(guard_write_owner(guard, why));
    pid_t run = getpid();
    pid_t above = getppid();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (pipe2(ends, O_CLOEXEC) != 0 || (guard->pid = fork()) < 0) {
        text_add(why, "no guard to be had: %s", strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    if (guard->pid == 0) {
        (void)close(ends[1]);
        guard_watch(guard, ends[0], run, above);
    }
    (void)close(ends[0]);
    guard->pipe_fd = ends[1];
    process_die_with(above, SIGTERM);
    return RESULT_OK;
}

void guard_end(struct guard *guard)
{
    if (guard->pid <= 0) {
        return;
    }
    guard_kill_descendants(guard->pid);
    guard_remove_tree(guard->state_directory);
    ssize_t told = write(guard->pipe_fd, "x", 1);
    (void)told; /* a guard that is gone needs no word */
    (void)close(guard->pipe_fd);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    guard->pid = 0;
    (void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}
