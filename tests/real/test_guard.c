/* test_guard.c: nothing outlives a run, however it ends. */
#include "base/duration.h"
#include "harness/real/node/node.h"
#include "harness/real/process/clean.h"
#include "harness/real/process/guard.h"
#include "harness/real/process/loop.h"
#include "harness/real/process/proc.h"
#include "harness/real/process/process.h"
#include "tests/real/place.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct place place;
static char why_memory[WHY_BYTES];
static struct text why;

static void start(void)
{
    why = text_over(why_memory, sizeof why_memory);
    place_make(&place);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* so that orphans are ours to look at */
}

static void end(void)
{
    place_remove(&place);
}

static bool comes_to_be(bool (*is)(void))
{
    int64_t deadline_ns = loop_now_ns() + 20 * NS_PER_S; /* as busy as it may be */
    while (loop_now_ns() < deadline_ns) {
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        if (is()) {
            return true;
        }
        usleep(1000);
    }
    return false;
}

/* What a run's process tells the test: its own pid, a server's, a grandchild's. */
static pid_t told[3];

static bool all_gone(void)
{
    for (int i = 0; i < 3; i++) {
        if (told[i] > 0 && proc_state(told[i]) != 0) {
            return false;
        }
    }
    return true;
}

static bool server_gone(void)
{
    return proc_state(told[1]) == 0;
}

static bool state_gone(void)
{
    char path[200];
    snprintf(path, sizeof path, "%s/state", place.path);
    return all_gone() && access(path, F_OK) != 0;
}

/* A run with a server that is stopped, and a shell with a child of its own. */
static void be_a_run(const char *commands, int report)
{
    static struct guard guard;
    static struct node node;
    struct node_options options = {.run_directory = guard.run_directory};
    const char *const shell[] = {"sh", "-c", commands, NULL};
    int ends[2];
    pid_t pids[3] = {getpid(), 0, 0};
    pid_t shell_pid;
    char line[32];
    bool ready = false;
    if (result_failed(guard_start(&guard, place.path, &why)) || pipe(ends) != 0 ||
        result_failed(node_init(&node, &options, &why)) || result_failed(node_start(&node, &why))) {
        _exit(1);
    }
    while (!ready) {
        if (result_failed(node_ready(&node, &ready, &why))) {
            _exit(1);
        }
    }
    struct process_spec spec = {.arguments = shell,
                                .run_directory = guard.run_directory,
                                .input = -1,
                                .output = ends[1],
                                .log_path = "/dev/null"};
    if (result_failed(process_start(&spec, &shell_pid, &why)) || read(ends[0], line, 31) <= 0 ||
        result_failed(node_freeze(&node, &why))) {
        _exit(1);
    }
    pids[1] = node.pid;
    pids[2] = (pid_t)atoi(line);
    if (write(report, pids, sizeof pids) != sizeof pids) {
        _exit(1);
    }
    sigset_t wanted;
    int signal_number;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigwait(&wanted, &signal_number);
    guard_end(&guard);
    _exit(0);
}

/* Its child ignores every polite signal. */
static const char stubborn[] =
    "trap '' TERM HUP INT; sh -c 'kill -STOP $$; sleep 1000' & echo $!; wait";

static pid_t fork_a_run(const char *commands)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t waited_for;
        sigemptyset(&waited_for);
        sigaddset(&waited_for, SIGTERM); /* it waits for this signal and then cleans up */
        sigprocmask(SIG_BLOCK, &waited_for, NULL);
        be_a_run(commands, ends[1]);
    }
    cr_assert_eq(read(ends[0], told, sizeof told), (ssize_t)sizeof told);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

Test(guard, leaves_nothing_when_the_run_is_killed, .init = start, .fini = end)
{
    pid_t run = fork_a_run(stubborn);
    kill(run, SIGKILL);
    cr_assert(comes_to_be(state_gone));
}

/* Whose a process is that is about to become another program, nobody can say for a moment. */
Test(guard, leaves_no_child_that_shows_only_later_whose_it_is, .init = start, .fini = end)
{
    char path[200];
    pid_t run = fork_a_run("env -i sh -c 'echo $$; while [ ! -e $0/go ]; do :; done; "
                           "export " PROCESS_RUN_VARIABLE "=$0; exec sleep 1000' "
                           "$" PROCESS_RUN_VARIABLE " & wait");
    kill(run, SIGKILL);
    cr_assert(comes_to_be(server_gone));
    usleep(50000); /* a guard that looked once more would be done */
    snprintf(path, sizeof path, "%s/go", place.path);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fclose(file), 0);
    cr_assert(comes_to_be(state_gone));
}

Test(guard, leaves_nothing_when_the_run_ends_by_itself, .init = start, .fini = end)
{
    pid_t run = fork_a_run(stubborn);
    kill(run, SIGTERM);
    cr_assert(comes_to_be(state_gone));
}

/* cli -> run: the cli is killed; told[0] is the run's pid, this test adopts what is orphaned. */
static void kill_the_process_above(bool stop_the_run_first)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t above = fork();
    if (above == 0) {
        pid_t run = fork_a_run(stubborn);
        if (stop_the_run_first) {
            kill(run, SIGSTOP);
        }
        if (write(ends[1], told, sizeof told) == sizeof told) {
            pause();
        }
        _exit(1);
    }
    cr_assert_eq(read(ends[0], told, sizeof told), (ssize_t)sizeof told);
    kill(above, SIGKILL);
    cr_assert(comes_to_be(state_gone));
}

Test(guard, leaves_nothing_when_the_process_above_is_killed, .init = start, .fini = end)
{
    kill_the_process_above(false);
}

Test(guard, leaves_nothing_when_the_run_cannot_clean_up, .init = start, .fini = end)
{
    kill_the_process_above(true);
}

Test(guard, cleaning_leaves_a_living_run_alone, .init = start, .fini = end)
{
    struct clean_report report;
    pid_t run = fork_a_run(stubborn);
    clean_leftovers(place.path, &report);
    cr_assert_not(state_gone());
    for (int i = 0; i < 3; i++) {
        cr_assert_neq(proc_state(told[i]), 0);
    }
    kill(run, SIGTERM);
    cr_assert(comes_to_be(state_gone));
}

static bool first_gone(void)
{
    return proc_state(told[0]) == 0;
}

Test(guard, cleaning_ends_what_a_dead_run_left, .init = start, .fini = end)
{
    /* A run whose guard was killed too, and a process that it had started. */
    char owner[400];
    struct clean_report report;
    snprintf(owner, sizeof owner, "mkdir -p %s/state && echo 999999999 1 > %s/state/owner",
             place.path, place.path);
    cr_assert_eq(system(owner), 0);
    const char *const words[] = {"sleep", "1000", NULL};
    struct process_spec spec = {.arguments = words,
                                .run_directory = place.path,
                                .input = -1,
                                .output = -1,
                                .log_path = "/dev/null"};
    cr_assert_not(result_failed(process_start(&spec, &told[0], &why)));
    clean_leftovers(place.path, &report);
    /* Its report counts nothing for sure: another test may be cleaning at the same time. */
    cr_assert(comes_to_be(first_gone));
    cr_assert(state_gone());
}
