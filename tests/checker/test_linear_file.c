/* test_linear_file.c: a recorded history in, a verdict with its operations and lines out. */
#include "checker/linear/file.h"
#include "history/foreign.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INVOKE(f, process, time)                                                                   \
    "{:type :invoke, :f :" f ", :process " #process ", :time " #time "}\n"
#define END(type, f, process, time)                                                                \
    "{:type :" type ", :f :" f ", :process " #process ", :time " #time "}\n"

static struct linear_report check(const char *history, const struct linear_options *options)
{
    static struct linear_report report;
    char path[] = "/tmp/picklock-linear-XXXXXX";
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    int file = mkstemp(path);
    cr_assert(file >= 0);
    cr_assert_eq(write(file, history, strlen(history)), (ssize_t)strlen(history));
    close(file);
    struct result result = linear_check_file(path, NULL, options, &report, &why);
    unlink(path);
    cr_assert(!result_failed(result), "%s", why.data);
    return report;
}

static const char two_holders[] =
    INVOKE("acquire", 0, 1) END("ok", "acquire", 0, 2) INVOKE("acquire", 1, 3)
        END("ok", "acquire", 1, 4) INVOKE("release", 0, 5) END("ok", "release", 0, 6);

Test(linear_file, a_fail_shows_two_operations_with_their_lines_and_they_contradict_each_other)
{
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear_report report = check(two_holders, &options);
    char memory[2048];
    struct text text = text_over(memory, sizeof memory);
    cr_assert_eq(report.result.verdict, VERDICT_FAIL);
    cr_assert_eq(report.result.grade, GRADE_DEFINITE);
    cr_assert_eq(report.result.operation_count, 2);
    cr_assert_eq(report.witnesses[1].line, (uint64_t)3);
    cr_assert(report.confirmed);
    linear_report_print(&report, &text);
    cr_assert(strstr(text.data, "model owner; a failed release says nothing") != NULL);
    cr_assert(strstr(text.data, "line 3: process 1 acquire") != NULL, "%s", text.data);
}

Test(linear_file, a_certificate_that_proves_nothing_is_not_confirmed)
{
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear_report report = check(two_holders, &options);
    report.witnesses[1].invoke.time_ns = 2; /* now the two are concurrent, but still both hold */
    cr_assert(linear_certificate_holds(&options, report.witnesses, 2));
    report.witnesses[1].end.type = HISTORY_INFO;
    cr_assert_not(linear_certificate_holds(&options, report.witnesses, 2));
    cr_assert_not(linear_certificate_holds(&options, report.witnesses, 1));
    cr_assert_not(linear_certificate_holds(&options, report.witnesses, 0));
}

Test(linear_file, the_policy_for_failed_releases_changes_the_verdict)
{
    static const char history[] = INVOKE("acquire", 0, 1) END("ok", "acquire", 0, 2)
        INVOKE("release", 0, 3) END("fail", "release", 0, 4);
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    cr_assert_eq(check(history, &options).result.verdict, VERDICT_PASS);
    options.failed_release = LINEAR_RELEASE_NOT_HELD;
    struct linear_report report = check(history, &options);
    cr_assert_eq(report.result.verdict, VERDICT_FAIL);
    cr_assert_eq(report.result.reason, LINEAR_NOT_HELD_WHILE_HELD);
    cr_assert(report.confirmed);
}

Test(linear_file, a_refused_acquire_that_says_held_needs_a_holder)
{
    static const char history[] = INVOKE("acquire", 0, 1) END("fail", "acquire", 0, 2);
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    cr_assert_eq(check(history, &options).result.verdict, VERDICT_PASS);
    options.refused_acquire = LINEAR_REFUSED_HELD;
    cr_assert_eq(check(history, &options).result.verdict, VERDICT_FAIL);
}

Test(linear_file, an_unknown_release_that_must_have_worked_makes_a_pass_possible)
{
    static const char history[] =
        INVOKE("acquire", 0, 1) END("ok", "acquire", 0, 2) INVOKE("release", 0, 3)
            END("info", "release", 0, 4) INVOKE("acquire", 1, 5) END("ok", "acquire", 1, 6);
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear_report report = check(history, &options);
    cr_assert_eq(report.result.verdict, VERDICT_PASS);
    cr_assert_eq(report.result.grade, GRADE_POSSIBLE);
    cr_assert_eq(report.result.operation_count, 3);
}

#define OF(type, f, process, owner, time)                                                          \
    "{:type :" type ", :f :" f ", :process " #process ", :owner :" owner ", :time " #time "}\n"

Test(linear_file, a_later_release_that_succeeded_makes_a_pass_sure)
{
    static const char history[] = OF("invoke", "acquire", 0, "x", 1) OF("ok", "acquire", 0, "x", 2)
        OF("invoke", "release", 0, "x", 3) OF("info", "release", 0, "x", 4)
            OF("invoke", "release", 2, "x", 5) OF("invoke", "acquire", 1, "y", 6)
                OF("ok", "acquire", 1, "y", 7) OF("ok", "release", 2, "x", 8);
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear_report report = check(history, &options);
    cr_assert_eq(report.result.verdict, VERDICT_PASS);
    cr_assert_eq(report.result.grade, GRADE_NONE);
    cr_assert_eq(report.result.untold, (uint64_t)0);
}

Test(linear_file, a_pass_stays_possible_where_the_lock_was_observed)
{
    static const char history[] = INVOKE("acquire", 0, 1) END("ok", "acquire", 0, 2)
        INVOKE("release", 0, 3) END("info", "release", 0, 4) INVOKE("acquire", 1,
                                                                    5) END("ok", "acquire", 1, 6)
            INVOKE("observe", 2, 7) "{:type :ok, :f :observe, :process 2, :time 8, :value true}\n";
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear_report report = check(history, &options);
    cr_assert_eq(report.result.verdict, VERDICT_PASS);
    cr_assert_eq(report.result.limit, LINEAR_LIMIT_MODEL);
    cr_assert_eq(report.result.grade, GRADE_POSSIBLE);
    cr_assert_eq(report.result.operation_count, 3);
}

Test(linear_file, where_it_is_not_told_what_a_pass_rests_on_the_report_says_so)
{
    static const char history[] = INVOKE("acquire", 0, 1) END("info", "acquire", 0, 2)
        INVOKE("acquire", 0, 3) END("ok", "acquire", 0, 4) INVOKE("release", 0, 5)
            END("info", "release", 0, 6) INVOKE("acquire", 1, 7) END("ok", "acquire", 1, 8);
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear_report report = check(history, &options);
    char memory[2048];
    struct text text = text_over(memory, sizeof memory);
    cr_assert_eq(report.result.verdict, VERDICT_PASS);
    cr_assert_eq(report.result.untold, (uint64_t)1);
    linear_report_print(&report, &text);
    cr_assert(strstr(memory, "not told of 1 lock: whether something is legal only because") != NULL,
              "%s", memory);
}

Test(linear_file, an_owner_that_goes_on_after_info_is_searched_and_the_report_says_so)
{
    static const char history[] = INVOKE("acquire", 0, 1) END("info", "acquire", 0, 2)
        INVOKE("acquire", 0, 3) END("ok", "acquire", 0, 4);
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear_report report = check(history, &options);
    cr_assert_eq(report.result.verdict, VERDICT_PASS);
    cr_assert_eq(report.result.limit, LINEAR_LIMIT_OWNER_WENT_ON);
    cr_assert_eq(report.result.frontier_count, (uint64_t)1);
}

/* Owner 0 went on after an unknown outcome, so this is searched. */
#define WENT_ON                                                                                    \
    INVOKE("acquire", 0, 1)                                                                        \
    END("info", "acquire", 0, 2) INVOKE("acquire", 0, 3) END("ok", "acquire", 0, 4)

Test(linear_file, better_evidence_is_looked_for_among_all_operations)
{
    /* Two acquires fail on a release that was still under way; a third one shows it plainly. */
    static const char history[] = INVOKE("acquire", 0, 1) END("ok", "acquire", 0, 2)
        INVOKE("release", 0, 3) END("ok", "release", 0, 4) INVOKE("acquire", 1, 5)
            INVOKE("acquire", 2, 5) END("ok", "acquire", 1, 6) INVOKE("release", 1, 7)
                END("ok", "acquire", 2, 8) END("fail", "release", 1, 9);
    struct linear_options options = linear_options_default(LINEAR_MUTEX);
    struct linear_report report = check(history, &options);
    cr_assert_eq(report.result.verdict, VERDICT_FAIL);
    cr_assert_eq(report.result.operation_count, 2);
    cr_assert_eq(report.witnesses[0].invoke.process, 1);
    cr_assert_eq(report.witnesses[1].invoke.process, 2);
    cr_assert(report.confirmed && !report.result.helped);
}

Test(linear_file, two_acquires_that_a_release_could_stand_between_are_no_evidence)
{
    /* Any two of them are explained by the one release; three are not. As in Jepsen's etcd run. */
    static const char history[] = INVOKE("acquire", 4, 1) END("ok", "acquire", 4, 2)
        INVOKE("acquire", 1, 3) INVOKE("release", 4, 4) INVOKE("acquire", 0, 5)
            INVOKE("acquire", 3, 6) END("ok", "acquire", 3, 7) END("ok", "release", 4, 8)
                END("ok", "acquire", 0, 50) END("ok", "acquire", 1, 60);
    struct linear_options options = linear_options_default(LINEAR_MUTEX);
    options.engine = LINEAR_ENGINE_WHOLE;
    struct linear_report report = check(history, &options);
    cr_assert_eq(report.result.verdict, VERDICT_FAIL);
    cr_assert_eq(report.result.operation_count, 3, "%d operations", report.result.operation_count);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(report.witnesses[i].invoke.f, HISTORY_ACQUIRE);
    }
    cr_assert(report.confirmed && !report.result.helped);
}

Test(linear_file, a_refusal_is_evidence_also_behind_many_observations)
{
    /* Found by the exhaustive comparison, seed 1795292906: who held at 0 cannot have let go. */
    static const char history[] = INVOKE("acquire", 2, 0) INVOKE("acquire", 1, 0)
        END("fail", "acquire", 1, 0) INVOKE("observe", 1, 1) END("ok", "observe", 1, 1)
            INVOKE("release", 0, 1) END("fail", "release", 0, 1) INVOKE("release", 1, 2)
                END("fail", "release", 1, 2) INVOKE("observe", 0, 2) END("ok", "observe", 0, 2)
                    INVOKE("observe", 1, 3) END("ok", "observe", 1, 3);
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    options.refused_acquire = LINEAR_REFUSED_HELD;
    options.failed_release = LINEAR_RELEASE_NOT_HELD;
    struct linear_report report = check(history, &options);
    cr_assert_eq(report.result.verdict, VERDICT_FAIL);
    cr_assert(report.confirmed);
}

Test(linear_file, two_holders_that_a_search_finds_are_definite_if_nobody_asked_for_a_release)
{
    static const char definite[] = WENT_ON INVOKE("acquire", 1, 5) END("ok", "acquire", 1, 6);
    static const char asked[] = WENT_ON INVOKE("release", 0, 5) END("fail", "release", 0, 6)
        INVOKE("acquire", 1, 7) END("ok", "acquire", 1, 8);
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear_report report = check(definite, &options);
    cr_assert_eq(report.result.frontier_count, (uint64_t)1);
    cr_assert_eq(report.result.grade, GRADE_DEFINITE);
    cr_assert_eq(report.result.operation_count, 2);
    cr_assert(report.confirmed);
    report = check(asked, &options);
    cr_assert_eq(report.result.verdict, VERDICT_FAIL);
    cr_assert_eq(report.result.grade, GRADE_NOT_LINEARIZABLE);
}

Test(linear_file, a_search_names_the_acquires_that_no_release_stands_between)
{
    static const char counted[] = INVOKE("acquire", 0, 1) END("ok", "acquire", 0, 2)
        INVOKE("release", 1, 3) END("ok", "release", 1, 4) INVOKE("acquire", 2, 5)
            INVOKE("acquire", 3, 6) END("ok", "acquire", 2, 7) END("ok", "acquire", 3, 8);
    struct linear_options options = linear_options_default(LINEAR_MUTEX);
    struct linear_report report = check(counted, &options);
    cr_assert_eq(report.result.operation_count, 2, "the first acquire was released");
    cr_assert_eq(report.witnesses[0].invoke.process, 2);
    cr_assert_eq(report.witnesses[1].invoke.process, 3);
    cr_assert(report.confirmed && !report.result.helped);
}

#define UNTIL(type, f, process, time, until)                                                       \
    "{:type :" type ", :f :" f ", :process " #process ", :time " #time ", :until " #until "}\n"

/* The order of a history that passes, as words "1 2 3". */
static void order_of(const char *history, const struct linear_options *options, char *order,
                     size_t bytes)
{
    char path[] = "/tmp/picklock-order-XXXXXX";
    char written[] = "/tmp/picklock-order-XXXXXX";
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    int file = mkstemp(path);
    close(mkstemp(written));
    cr_assert_eq(write(file, history, strlen(history)), (ssize_t)strlen(history));
    close(file);
    struct result result = linear_order_file(path, NULL, options, written, &why);
    cr_assert(!result_failed(result), "%s", why.data);
    FILE *read = fopen(written, "r");
    size_t got = fread(order, 1, bytes - 1, read);
    order[got] = '\0';
    fclose(read);
    unlink(path);
    unlink(written);
}

Test(linear_file, the_order_of_leases_waits_for_their_ends_also_where_they_were_extended)
{
    /* 0 holds until 50, which it extends from 20; 1 waits for it; 0's release comes too late. */
    static const char history[] = INVOKE("acquire", 0, 1) UNTIL("ok", "acquire", 0, 2, 20)
        INVOKE("acquire", 1, 3) INVOKE("extend", 0, 10) UNTIL("ok", "extend", 0, 11, 50)
            INVOKE("release", 0, 40) UNTIL("ok", "acquire", 1, 60, 90) END("ok", "release", 0, 70);
    struct linear_options options = linear_options_default(LINEAR_LEASE);
    char order[64];
    order_of(history, &options, order, sizeof order);
    cr_assert(strcmp(order, "0\n2\n5\n") == 0 || strcmp(order, "0\n5\n2\n") == 0, "%s", order);
}

Test(linear_file, a_search_beyond_its_memory_is_unknown)
{
    static char history[1 << 18];
    struct text text = text_over(history, sizeof history);
    for (int i = 0; i < 1000; i++) {
        text_add(&text, INVOKE("acquire", 0, 1));
        text_add(&text, "{:type :ok, :f :acquire, :process 0, :time 1}\n");
    }
    struct linear_options options = linear_options_default(LINEAR_MUTEX);
    options.bytes_max = 60000;
    struct linear_report report = check(history, &options);
    cr_assert_eq(report.result.verdict, VERDICT_UNKNOWN);
    cr_assert(report.result.limit == LINEAR_LIMIT_LOG || report.result.limit == LINEAR_LIMIT_BYTES);
}

Test(linear_file, bad_input_is_an_error_and_never_a_verdict)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear_report report;
    struct result result = linear_check_file("/nonexistent", NULL, &options, &report, &why);
    cr_assert_eq(result.code, ERROR_IO);
    cr_assert(strstr(why.data, "/nonexistent") != NULL);
}

static bool time_is_up(void *context)
{
    (void)context;
    return true;
}

/* Owners go on after unknown outcomes, so "easy" and "hard" are searched, and the clock is looked
 * at after some steps: "easy" takes fewer. "plain" needs no search. */
Test(linear_file, a_time_limit_names_the_locks_that_were_settled_and_those_that_were_not)
{
    static char history[1 << 19];
    struct text text = text_over(history, sizeof history);
    long long time = 1;
    for (int lock = 0; lock < 2; lock++) {
        const char *name = lock == 0 ? "easy" : "hard";
        for (int i = 0; i < (lock == 0 ? 4 : 2000); i++) {
            bool last = i % 4 == 3;
            static const char *const types[] = {"invoke", "info", "invoke", "ok"};
            text_add(&text,
                     "{:type :%s, :f :acquire, :process %d, :lock \"%s\", :owner \"%s%d\", "
                     ":time %lld}\n",
                     types[i % 4], i / 2 % 2, name, name, i / 2 % 2, time++);
            if (last) {
                text_add(&text,
                         "{:type :invoke, :f :release, :process 1, :lock \"%s\", :owner \"%s1\", "
                         ":time %lld}\n{:type :ok, :f :release, :process 1, :lock \"%s\", "
                         ":owner \"%s1\", :time %lld}\n",
                         name, name, time, name, name, time + 1);
                time += 2;
            }
        }
    }
    text_add(&text, "{:type :invoke, :f :acquire, :process 9, :lock \"plain\", :time %lld}\n",
             time);
    text_add(&text, "{:type :ok, :f :acquire, :process 9, :lock \"plain\", :time %lld}\n",
             time + 1);
    cr_assert_lt(text.length, sizeof history - 1);
    struct linear_options options = linear_options_default(LINEAR_REENTRANT);
    options.stop = time_is_up;
    struct linear_report report = check(history, &options);
    char memory[2048];
    struct text told = text_over(memory, sizeof memory);
    linear_report_print(&report, &told);
    cr_assert_eq(report.result.limit, LINEAR_LIMIT_TIME, "%s", told.data);
    cr_assert_not_null(strstr(told.data, "settled locks: easy, plain\n"), "%s", told.data);
    cr_assert_not_null(strstr(told.data, "locks not settled: hard\n"), "%s", told.data);
    options.stop = NULL;
    report = check(history, &options);
    cr_assert_eq(report.settled.count, 0);
}
