/* test_tally.c: what the page of a batch tells is bounded, and its rates are right. */
#include "cli/batch_page.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* R 4.3, binom::binom.confint(k, n, method = "wilson") */
Test(tally, intervals_are_those_of_wilson)
{
    static const struct {
        uint64_t k;
        uint64_t n;
        double low;
        double high;
    } known[] = {{0, 10, 0, 0.2775},
                 {1, 20, 0.0089, 0.2361},
                 {5, 10, 0.2366, 0.7634},
                 {10, 10, 0.7225, 1},
                 {0, 0, 0, 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double interval[2];
        wilson_interval(known[i].k, known[i].n, interval);
        cr_assert_lt(fabs(interval[0] - known[i].low), 0.0001, "%zu: %f", i, interval[0]);
        cr_assert_lt(fabs(interval[1] - known[i].high), 0.0001, "%zu: %f", i, interval[1]);
    }
}

Test(tally, rates_over_time_keep_every_run_in_few_stretches)
{
    static struct scenario scenario;
    static struct report_group group = {.scenario = &scenario, .world = "sim"};
    static struct run_report run = {.status = RUN_MET};
    struct report report = {.out = "out"};
    struct tally *tally = tally_open();
    cr_assert_not_null(tally);
    for (uint64_t seed = 0; seed < 1000; seed++) {
        run.seed = seed;
        run.violations = seed >= 500;
        tally_add(tally, &report, &group, &run);
    }
    const struct tally_row *row = &tally->rows[0];
    uint64_t runs = 0;
    cr_assert_eq(tally->row_count, (size_t)1);
    cr_assert_leq(row->period_count, (uint32_t)TALLY_PERIODS);
    for (uint32_t i = 0; i < row->period_count; i++) {
        uint64_t violated = runs >= 500                         ? row->periods[i].runs
                            : runs + row->periods[i].runs > 500 ? runs + row->periods[i].runs - 500
                                                                : 0;
        cr_assert_eq(row->periods[i].violated, violated);
        runs += row->periods[i].runs;
    }
    cr_assert_eq(runs, (uint64_t)1000);
    cr_assert_eq(row->box_count, (uint32_t)TALLY_BOXES);
    tally_close(tally);
}

Test(tally, runs_of_one_cause_are_one_entry_whatever_their_numbers)
{
    static struct scenario scenario;
    static struct report_group group = {.scenario = &scenario, .world = "sim"};
    static struct run_report run = {.status = RUN_UNMET, .violations = 1};
    static const char *const titles[] = {"It was late by 5 ms.", "It was late by 61.4 ms.",
                                         "It was early by 5 ms."};
    struct report report = {.out = "out", .time_scale_ppm = 1000000};
    struct tally *tally = tally_open();
    cr_assert_not_null(tally);
    run.found.cause_count = 1;
    for (size_t i = 0; i < 3; i++) {
        strcpy(run.found.causes[0].title, titles[i]);
        run.seed = i;
        tally_add(tally, &report, &group, &run);
    }
    cr_assert_eq(tally->cause_count, (uint32_t)2);
    cr_assert_eq(tally->causes[0].runs, (uint64_t)2);
    cr_assert_str_eq(tally->causes[0].title, titles[0]);
    tally_close(tally);
}
