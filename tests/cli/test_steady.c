/* test_steady.c: a simulator that gives one seed two results is told as picklock's own bug. */
#include "cli/batch.h"
#include "cli/steady.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char text[] = "version: 1\n"
                           "name: doubt\n"
                           "lock: {algorithm: redlock, ttl: 1s}\n"
                           "clients: {count: 2, sections: 2, hold: 5ms}\n"
                           "faults:\n"
                           "  - {on: \"client 1 after_granted\", do: pause, for: 3s}\n"
                           "duration: 10s\n"
                           "expect: {exclusion: fail}\n";

static int calls;

/* The simulator, but with another seed every second time. */
static struct result run_unsteady(const struct plan *plan, const struct world_options *options,
                                  struct history_header *header, struct recorder *recorder,
                                  struct text *why)
{
    static struct plan other;
    other = *plan;
    other.seed += calls++ % 2 == 1 ? 1000 : 0;
    return world_sim.run(&other, options, header, recorder, why);
}

static void run_batch(const struct world *world, struct run_report *report)
{
    static struct scenario scenario;
    static char told_memory[WHY_BYTES];
    struct text told = text_over(told_memory, sizeof told_memory);
    struct arena arena = arena_empty(64 * MEBIBYTE);
    struct scenario_source source = {.path = "doubt.yaml", .bytes = text, .length = strlen(text)};
    cr_assert_not(result_failed(scenario_parse(&source, &arena, &scenario, &told)), "%s",
                  told.data);
    char out[] = "/tmp/picklock-steady-XXXXXX";
    cr_assert_neq(mkdtemp(out), NULL);
    struct agenda_order order = {
        .files = 1, .worlds = 1, .seed_first = 3, .seeds = 1, .repeat = 1, .shard = 1, .shards = 1};
    struct batch batch = {.scenario = &scenario,
                          .world = world,
                          .order = &order,
                          .slice = {.stride = 1, .runs = 1},
                          .time_scale_ppm = 1000000,
                          .keep = KEEP_NEVER,
                          .out = out};
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        batch_child(&batch, ends[1]);
    }
    (void)close(ends[1]);
    static char bytes[BATCH_REPORT_BYTES_MAX];
    size_t length = 0;
    for (ssize_t got = 1; got > 0; length += got > 0 ? (size_t)got : 0) {
        got = read(ends[0], bytes + length, sizeof bytes - length);
    }
    (void)close(ends[0]);
    (void)waitpid(pid, NULL, 0);
    cr_assert_gt(batch_report_decode(bytes, length, report), 0);
    (void)rmdir(out);
    arena_release(&arena);
}

Test(steady, a_run_that_is_not_as_expected_is_held_against_a_second_one)
{
    static struct run_report report;
    static struct world unsteady;
    unsteady = (struct world){.name = world_sim.name, .run = run_unsteady};
    run_batch(&world_sim, &report);
    cr_assert_eq(report.status, RUN_UNMET, "%s", report.sentences);
    run_batch(&unsteady, &report);
    cr_assert_eq(report.status, RUN_ERROR);
    cr_assert_eq(report.violations, 0);
    cr_assert(strstr(report.sentences, "a bug of picklock, please report it: two runs of seed 3") !=
                  NULL,
              "%s", report.sentences);
}

static struct run_report report_of(uint64_t seed, uint64_t events, enum verdict exclusion)
{
    struct run_report report = {.seed = seed, .events = events, .status = RUN_MET};
    report.verdicts[0] = (uint8_t)exclusion;
    return report;
}

Test(steady, repetitions_of_a_seed_must_agree)
{
    struct steady *steady = steady_open(5, 2);
    struct run_report five = report_of(5, 100, VERDICT_PASS);
    struct run_report six = report_of(6, 120, VERDICT_FAIL);
    struct run_report other = report_of(5, 100, VERDICT_FAIL);
    struct run_report longer = report_of(6, 121, VERDICT_FAIL);
    struct run_report again = five;
    steady_check(steady, &five);
    steady_check(steady, &six);
    steady_check(steady, &again);
    cr_assert_eq(again.status, RUN_MET);
    steady_check(steady, &other);
    cr_assert_eq(other.status, RUN_ERROR);
    steady_check(steady, &longer);
    cr_assert_eq(longer.status, RUN_ERROR);
    cr_assert(strstr(longer.sentences, "seed 6") != NULL);
    steady_forget(steady);
    other = report_of(5, 100, VERDICT_FAIL);
    steady_check(steady, &other);
    cr_assert_eq(other.status, RUN_MET);
    steady_close(steady);
}

Test(steady, an_accusation_names_what_differs)
{
    struct run_report one = report_of(5, 100, VERDICT_PASS);
    struct run_report two = report_of(5, 102, VERDICT_FAIL);
    steady_accuse(&one, &two);
    cr_assert(strstr(one.sentences, "exclusion is pass and fail") != NULL, "%s", one.sentences);
    cr_assert(strstr(one.sentences, "one has 100 events and one 102") != NULL, "%s", one.sentences);
}
