/* process.c: child processes that are started, stopped, killed and reaped. */
#include "harness/real/process/process.h"

#include "base/assert.h"
#include "base/duration.h"
#include "base/foreign.h"
#include "harness/real/process/loop.h"
#include "harness/real/process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PROCESS_ENVIRONMENT_ALL_MAX = 1024,
    PROCESS_LOG_TAIL_BYTES = 400,
    PROCESS_LOG_LINES = 2,
    PROCESS_FREEZE_SECONDS = 10,
};

extern char **environ;

void process_die_with(pid_t parent, int signal)
{
    ASSERT(prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) == 0);
    if (getppid() != parent) {
        _exit(1); /* the parent died before we could ask */
    }
}

/* Our environment without the names that `spec` sets, then those of `spec`. */
static void process_environment(const struct process_spec *spec, char *run,
                                const char *list[PROCESS_ENVIRONMENT_ALL_MAX])
{
    size_t count = 0;
    for (char **word = environ; *word != NULL && count + 16 < PROCESS_ENVIRONMENT_ALL_MAX; word++) {
        bool ours = strncmp(*word, PROCESS_RUN_VARIABLE "=", sizeof PROCESS_RUN_VARIABLE) == 0;
        for (int i = 0; i < PROCESS_ENVIRONMENT_MAX && spec->environment[i] != NULL; i++) {
            size_t name_bytes = strcspn(spec->environment[i], "=") + 1;
            ours = ours || strncmp(*word, spec->environment[i], name_bytes) == 0;
        }
        if (!ours) {
            list[count++] = *word;
        }
    }
    list[count++] = run;
    for (int i = 0; i < PROCESS_ENVIRONMENT_MAX && spec->environment[i] != NULL; i++) {
        list[count++] = spec->environment[i];
    }
    list[count] = NULL;
}

enum { PROCESS_NOBODY = 65534 };

/*
 * Become nobody. Folders above ours may be closed to him: of what root may he keeps that no file's
 * mode holds him up. By raw system calls, as glibc's ask all threads, of which there is one here.
 */
static bool process_drop(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    uint32_t kept = 1u << CAP_DAC_OVERRIDE;
    struct __user_cap_data_struct sets[2] = {{kept, kept, kept}, {0, 0, 0}};
    return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && syscall(SYS_setgroups, 0, NULL) == 0 &&
           syscall(SYS_setresgid, PROCESS_NOBODY, PROCESS_NOBODY, PROCESS_NOBODY) == 0 &&
           syscall(SYS_setresuid, PROCESS_NOBODY, PROCESS_NOBODY, PROCESS_NOBODY) == 0 &&
           syscall(SYS_capset, &header, sets) == 0 &&
           prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0) == 0;
}

/* In the child, between fork and exec: only calls that are safe there. */
static void process_become(const struct process_spec *spec, const char *const *environment,
                           const int ends[5])
{
    int input = ends[0];
    int output = ends[1];
    int log = ends[2];
    int report = ends[3];
    bool dropped = !spec->unprivileged || geteuid() != 0 || process_drop();
    int drop_error = errno;
    process_die_with(ends[4], SIGKILL); /* a change of the user takes this back */
    if (spec->file_bytes_max > 0) {
        struct rlimit limit = {(rlim_t)spec->file_bytes_max, (rlim_t)spec->file_bytes_max};
        (void)setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (spec->own_group) {
        (void)setpgid(0, 0);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_IGN); /* Ctrl-C is the parent's business */
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(log, 2) < 0 || dup2(report, 3) < 0) {
        _exit(127);
    }
    (void)fcntl(3, F_SETFD, FD_CLOEXEC);
    (void)close_range(4, ~0u, 0);
    if (dropped) {
        execvpe(spec->arguments[0], (char *const *)spec->arguments, (char *const *)environment);
    }
    int error = dropped ? errno : drop_error;
    ssize_t written = write(3, &error, sizeof error);
    _exit(written == (ssize_t)sizeof error ? 127 : 126);
}

/* Descriptors below 4 would be overwritten while the child arranges its own. */
static int process_lift(int fd)
{
    if (fd < 0 || fd > 3) {
        return fd;
    }
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, 4);
    (void)close(fd);
    return lifted;
}

static void process_close(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

struct result process_start(const struct process_spec *spec, pid_t *pid, struct text *why)
{
    char run[4200];
    const char *environment[PROCESS_ENVIRONMENT_ALL_MAX];
    (void)snprintf(run, sizeof run, "%s=%s", PROCESS_RUN_VARIABLE, spec->run_directory);
    process_environment(spec, run, environment);
    int report[2] = {-1, -1};
    int null = process_lift(open("/dev/null", O_RDWR | O_CLOEXEC));
    int log = process_lift(
        open(spec->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (null < 0 || log < 0 || pipe2(report, O_CLOEXEC) != 0) {
        text_add(why, "cannot start %s: %s: %s", spec->arguments[0], spec->log_path,
                 strerror(errno));
        process_close(null);
        process_close(log);
        return result_error(ERROR_ENVIRONMENT);
    }
    report[0] = process_lift(report[0]);
    report[1] = process_lift(report[1]);
    int ends[5] = {spec->input >= 0 ? spec->input : null, spec->output >= 0 ? spec->output : log,
                   log, report[1], getpid()};
    int error = 0;
    *pid = fork();
    if (*pid == 0) {
        process_become(spec, environment, ends);
    } else if (*pid < 0) {
        error = errno;
    }
    process_close(report[1]);
    ssize_t got = *pid < 0 ? 0 : read(report[0], &error, sizeof error);
    process_close(report[0]);
    process_close(null);
    process_close(log);
    if (*pid < 0 || got > 0) {
        text_add(why, "cannot start %s: %s", spec->arguments[0], strerror(error));
        if (*pid > 0) {
            (void)waitpid(*pid, NULL, 0);
            *pid = -1;
        }
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

/* Wait until a child, which was told to stop, has. */
static struct result process_await_stop(pid_t pid, struct text *why)
{
    int64_t deadline_ns = loop_now_ns() + PROCESS_FREEZE_SECONDS * NS_PER_S;
    /* The kernel reports a stop to the parent once the last thread has stopped. */
    while (loop_now_ns() < deadline_ns) {
        siginfo_t info;
        memset(&info, 0, sizeof info);
        if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) != 0) {
            break;
        }
        if (info.si_pid == pid && info.si_code == CLD_STOPPED) {
            (void)waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG); /* take the report */
            return RESULT_OK;
        }
        if (info.si_pid == pid) {
            break;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 50 * NS_PER_US}, NULL);
    }
    text_add(why, "process %d did not stop: it died or hangs in the kernel", (int)pid);
    return result_error(ERROR_ENVIRONMENT);
}

static struct result process_stop(pid_t pid, pid_t target, struct text *why)
{
    ASSERT(pid > 0);
    if (kill(target, SIGSTOP) != 0) {
        text_add(why, "process %d cannot be stopped: %s", (int)pid, strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    return process_await_stop(pid, why);
}

struct result process_freeze(pid_t pid, struct text *why)
{
    return process_stop(pid, pid, why);
}

/* Do the processes that this one started stand still? (What those started stops with them.) */
static bool process_children_stand(pid_t pid)
{
    char line[1024];
    bool stand = true;
    (void)proc_read_thread(pid, "children", line, sizeof line);
    for (char *next = line; *next != '\0';) {
        pid_t child = (pid_t)strtol(next, &next, 10);
        char state = child > 0 ? proc_state(child) : 0;
        bool moves = state == 'R' || state == 'S' || state == 'D';
        stand = stand && !(moves && getpgid(child) == getpgid(pid));
        next += *next == ' ' ? 1 : 0;
    }
    return stand;
}

struct result process_freeze_group(pid_t pid, struct text *why)
{
    int64_t deadline_ns = loop_now_ns() + PROCESS_FREEZE_SECONDS * NS_PER_S;
    TRY(process_stop(pid, -pid, why));
    while (!process_children_stand(pid) && loop_now_ns() < deadline_ns) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 50 * NS_PER_US}, NULL);
    }
    return RESULT_OK;
}

void process_thaw_group(pid_t pid)
{
    ASSERT(pid > 0);
    (void)kill(-pid, SIGCONT);
}

void process_kill_group(pid_t pid)
{
    ASSERT(pid > 0);
    (void)kill(-pid, SIGKILL);
    process_kill(pid);
}

void process_thaw(pid_t pid)
{
    ASSERT(pid > 0);
    (void)kill(pid, SIGCONT);
}

void process_kill(pid_t pid)
{
    ASSERT(pid > 0);
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

bool process_ended(pid_t pid, int *status)
{
    return pid > 0 && waitpid(pid, status, WNOHANG) == pid;
}

/* Where the last PROCESS_LOG_LINES lines begin; whole ones, if there is room. */
static ssize_t last_lines(const char *tail, ssize_t bytes)
{
    int lines = 0;
    for (ssize_t i = bytes; i > 0; i--) {
        lines += tail[i - 1] == '\n' ? 1 : 0;
        if (lines == PROCESS_LOG_LINES) {
            return i;
        }
    }
    return 0;
}

void process_explain(int status, const char *log_path, struct text *text)
{
    if (WIFSIGNALED(status)) {
        text_add(text, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        text_add(text, "exit code %d", WEXITSTATUS(status));
    }
    process_quote_log(log_path, text);
}

void process_quote_log(const char *log_path, struct text *text)
{
    int fd = open(log_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    char tail[PROCESS_LOG_TAIL_BYTES];
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t)sizeof tail ? size - (off_t)sizeof tail : 0;
    ssize_t bytes = pread(fd, tail, sizeof tail, from);
    (void)close(fd);
    while (bytes > 0 && (tail[bytes - 1] == '\n' || tail[bytes - 1] == ' ')) {
        bytes--;
    }
    if (bytes <= 0) {
        return;
    }
    const char *slash = strrchr(log_path, '/');
    text_add(text, "; %s ends: ", slash != NULL ? slash + 1 : log_path);
    const char *line = tail + last_lines(tail, bytes);
    for (size_t left = (size_t)(tail + bytes - line); left > 0;) {
        const char *end = memchr(line, '\n', left);
        size_t line_bytes = end != NULL ? (size_t)(end - line) : left;
        text_add_foreign(text, line, line_bytes);
        text_add(text, "%s", end != NULL ? " | " : "");
        line_bytes += end != NULL ? 1 : 0;
        line += line_bytes;
        left -= line_bytes;
    }
}
