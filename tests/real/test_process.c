/* test_process.c: child processes are started, stopped and reaped as promised. */
#include "harness/real/process/proc.h"
#include "harness/real/process/process.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static char why_memory[WHY_BYTES];
static struct text why;

static void start(void)
{
    why = text_over(why_memory, sizeof why_memory);
}

static struct process_spec spec_of(const char *const *words)
{
    return (struct process_spec){.arguments = words,
                                 .run_directory = "/nowhere",
                                 .input = -1,
                                 .output = -1,
                                 .log_path = "/dev/null"};
}

Test(process, says_what_is_missing, .init = start)
{
    const char *const words[] = {"no-such-program-here", NULL};
    struct process_spec spec = spec_of(words);
    pid_t pid;
    struct result result = process_start(&spec, &pid, &why);
    cr_assert_eq(result.code, ERROR_ENVIRONMENT);
    cr_assert(strstr(why.data, "no-such-program-here: No such file") != NULL, "%s", why.data);
}

Test(process, is_stopped_when_freeze_returns, .init = start)
{
    const char *const words[] = {"sh", "-c", "while :; do :; done", NULL};
    struct process_spec spec = spec_of(words);
    pid_t pid;
    cr_assert_not(result_failed(process_start(&spec, &pid, &why)));
    for (int i = 0; i < 20; i++) {
        cr_assert_not(result_failed(process_freeze(pid, &why)));
        cr_assert_eq(proc_state(pid), 'T');
        process_thaw(pid);
    }
    process_kill(pid);
    cr_assert_eq(proc_state(pid), 0);
}

Test(process, freezing_a_dead_one_is_an_error, .init = start)
{
    const char *const words[] = {"true", NULL};
    struct process_spec spec = spec_of(words);
    pid_t pid;
    cr_assert_not(result_failed(process_start(&spec, &pid, &why)));
    while (proc_state(pid) != 'Z') {
    }
    cr_assert_eq(process_freeze(pid, &why).code, ERROR_ENVIRONMENT);
    process_kill(pid);
}

Test(process, carries_the_run_directory_and_gets_no_descriptors_of_ours, .init = start)
{
    const char *const words[] = {
        "sh", "-c",
        "test \"$PICKLOCK_RUN\" = /nowhere && test \"$EXTRA\" = 1 && test ! -e /proc/$$/fd/9",
        NULL};
    struct process_spec spec = spec_of(words);
    spec.environment[0] = "EXTRA=1";
    pid_t pid;
    int status = -1;
    cr_assert_eq(dup2(0, 9), 9);
    cr_assert_not(result_failed(process_start(&spec, &pid, &why)));
    while (!process_ended(pid, &status)) {
    }
    cr_assert_eq(status, 0);
}
