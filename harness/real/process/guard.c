/* guard.c: nothing outlives a run, however it ends. */
#include "harness/real/process/guard.h"

#include "base/assert.h"
#include "base/duration.h"
#include "harness/real/process/loop.h"
#include "harness/real/process/process.h"

#include <dirent.h>
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
    GUARD_ENVIRONMENT_BYTES = 1 << 18,
    GUARD_ROUNDS_MAX = 50,
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

/* Field `number` (from 1) of /proc/PID/stat, one behind the name; 0 if there is no process. */
static long long guard_stat_field(pid_t pid, int number)
{
    char path[64];
    char line[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t bytes = read(fd, line, sizeof line - 1);
    (void)close(fd);
    line[bytes > 0 ? bytes : 0] = 0;
    const char *at = strrchr(line, ')');
    for (int i = 2; at != NULL && i < number; i++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? strtoll(at + 1, NULL, 10) : 0;
}

enum { GUARD_FIELD_PARENT = 4, GUARD_FIELD_START = 22 };

/* Does /proc/PID/environ hold exactly this "NAME=value"? */
static bool guard_environment_has(pid_t pid, const char *wanted)
{
    static char environment[GUARD_ENVIRONMENT_BYTES];
    char path[64];
    size_t filled = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t bytes;
    while (filled < sizeof environment - 1 &&
           (bytes = read(fd, environment + filled, sizeof environment - 1 - filled)) > 0) {
        filled += (size_t)bytes;
    }
    (void)close(fd);
    environment[filled] = 0;
    for (size_t at = 0; at < filled; at += strlen(environment + at) + 1) {
        if (strcmp(environment + at, wanted) == 0) {
            return true;
        }
    }
    return false;
}

/* SIGKILL whoever is in /proc and fits: a child of `parent`, or with `wanted` in its environment */
static int guard_kill_round(pid_t parent, const char *wanted, pid_t spared)
{
    int killed = 0;
    DIR *proc = opendir("/proc");
    if (proc == NULL) {
        return 0;
    }
    struct dirent *entry;
    while ((entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 1 || pid == spared || pid == getpid()) {
            continue;
        }
        bool fits = wanted != NULL ? guard_environment_has(pid, wanted) && process_state(pid) != 'Z'
                                   : guard_stat_field(pid, GUARD_FIELD_PARENT) == parent;
        if (fits) {
            (void)kill(pid, SIGKILL);
            killed++;
        }
    }
    (void)closedir(proc);
    return killed;
}

int guard_kill_by_environment(const char *run_directory)
{
    char wanted[GUARD_PATH_BYTES + 32];
    (void)snprintf(wanted, sizeof wanted, "%s=%s", PROCESS_RUN_VARIABLE, run_directory);
    int first = guard_kill_round(0, wanted, 0);
    /* Until a round finds nobody: a process may have forked while it was looked for. */
    int found = first;
    for (int i = 0; i < GUARD_ROUNDS_MAX && found > 0; i++) {
        guard_nap();
        found = guard_kill_round(0, wanted, 0);
    }
    return first;
}

/* A child that we killed becomes ours to reap, and its children become ours to kill. */
static void guard_kill_descendants(pid_t spared)
{
    for (int i = 0; i < GUARD_ROUNDS_MAX; i++) {
        int found = guard_kill_round(getpid(), NULL, spared);
        pid_t reaped;
        while ((reaped = waitpid(-1, NULL, WNOHANG)) > 0) {
        }
        if (found == 0) {
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
    return read && pid > 1 && process_state(pid) != 'Z' &&
           guard_stat_field(pid, GUARD_FIELD_START) == start;
}

static struct result guard_write_owner(const struct guard *guard, struct text *why)
{
    char path[GUARD_PATH_BYTES + 16];
    guard_owner_path(guard->run_directory, path, sizeof path);
    FILE *file = fopen(path, "we");
    bool written = file != NULL && fprintf(file, "%d %lld\n", (int)getpid(),
                                           guard_stat_field(getpid(), GUARD_FIELD_START)) > 0;
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
        text_add(why, "run directory %s: %s", run_directory,
                 absolute == NULL ? strerror(errno) : "its path is too long");
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
