/* test_adapter_threads.c: several clients are threads of one program, and live in one process. */
#include "tests/real/trial.h"

TestSuite(adapter_threads, .fini = trial_end, .timeout = 60);

/* Two threads live in one process, which knows them apart. */
Test(adapter_threads, threads_of_a_program_share_its_process)
{
    trial_threads = 2;
    run_bad("good '' '{\"features\":[\"threads\"]}'");
    cr_assert_not(trial.failed, "%s", trial.why);
    cr_assert_geq(trial.ready, 2);
    cr_assert_eq(adapter_pid(trial.adapter, 0), adapter_pid(trial.adapter, 1));
    cr_assert_neq(adapter_pid(trial.adapter, 0), adapter_pid(trial.adapter, 2));
    cr_assert_eq(trial.done, 2);
    adapter_kill(trial.adapter, 1);
    cr_assert_eq(adapter_pid(trial.adapter, 0), -1, "a program dies as a whole");
}

Test(adapter_threads, a_program_stands_until_the_last_of_its_threads_is_let_go)
{
    trial_threads = 2;
    run_bad("good '' '{\"features\":[\"threads\"]}'");
    int pid = adapter_pid(trial.adapter, 0);
    adapter_freeze(trial.adapter, 0);
    adapter_freeze(trial.adapter, 1);
    cr_assert_eq(proc_state(pid), 'T');
    adapter_thaw(trial.adapter, 0);
    cr_assert_eq(proc_state(pid), 'T');
    adapter_thaw(trial.adapter, 1);
    cr_assert_neq(proc_state(pid), 'T');
}

static void threads_slip(const char *words, const char *told)
{
    trial_threads = 2;
    run_bad(words);
    cr_assert(trial.failed, "%s", words);
    cr_assert_not_null(strstr(trial.why, told), "%s", trial.why);
}

Test(adapter_threads, an_answer_for_another_thread_is_named)
{
    threads_slip("threads-mixed '' '{\"features\":[\"threads\"]}'",
                 "line 2 of its output answers request 1 of thread 1 for thread 2");
}

Test(adapter_threads, an_answer_must_say_whose_it_is_where_there_are_threads)
{
    threads_slip("threads-unsaid '' '{\"features\":[\"threads\"]}'",
                 "line 2 of its output does not say whose answer it is (thread)");
}

Test(adapter_threads, threads_must_be_declared)
{
    threads_slip("good '' '{\"features\":[\"wait\"]}'",
                 "line 1: it does not declare threads, but the scenario has 2 in a program");
}
