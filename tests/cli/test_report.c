/* test_report.c: two worlds disagree only where both could say. */
#include "cli/report.h"
#include "cli/report_formats.h"
#include "cli/report_library.h"

#include "checker/check.h"

#include <criterion/criterion.h>

static struct scenario scenario;
static struct report silent = {.format = REPORT_JSON};
enum { CHECK = 3 };

static struct report_group group_of(uint64_t runs, uint64_t failed, uint64_t open, uint64_t unknown)
{
    struct report_group group = {.scenario = &scenario, .runs = runs, .unknown = unknown};
    group.failed[CHECK] = failed;
    group.open[CHECK] = open;
    return group;
}

static bool disagree(struct report_group a, struct report_group b)
{
    bool said = report_disagreement(&silent, &a, &b);
    cr_assert_eq(said, report_disagreement(&silent, &b, &a), "whichever is named first");
    return said;
}

Test(report, worlds_disagree_where_one_fails_and_the_other_does_not)
{
    cr_assert(disagree(group_of(1, 1, 0, 0), group_of(1, 0, 0, 0)));
    cr_assert(disagree(group_of(1000, 3, 0, 0), group_of(1, 0, 0, 0)));
    cr_assert_not(disagree(group_of(1000, 3, 0, 0), group_of(1, 1, 0, 0)));
    cr_assert_not(disagree(group_of(1, 0, 0, 0), group_of(1, 0, 0, 0)));
}

Test(report, what_is_undecided_disagrees_with_nobody)
{
    cr_assert_not(disagree(group_of(1, 1, 0, 0), group_of(1, 0, 1, 1)), "the check could not say");
    cr_assert_not(disagree(group_of(1, 1, 0, 0), group_of(1, 0, 0, 1)), "it was not tried");
    cr_assert_not(disagree(group_of(1, 1, 0, 0), group_of(1, 0, 1, 0)),
                  "and something else is unmet");
    cr_assert(disagree(group_of(2, 1, 1, 1), group_of(1, 0, 0, 0)), "the other could say");
}

Test(report, what_a_scenario_leaves_open_may_differ)
{
    static struct scenario open;
    struct report_group a = group_of(1, 1, 0, 0);
    struct report_group b = group_of(1, 0, 0, 0);
    open.expect_count = 1;
    (void)snprintf(open.expects[0].check, sizeof open.expects[0].check, "%s",
                   check_at(CHECK)->name);
    (void)snprintf(open.expects[0].verdict, sizeof open.expects[0].verdict, "any");
    a.scenario = b.scenario = &open;
    cr_assert_not(disagree(a, b));
}

static uint8_t status_after(enum run_status first, enum run_status second)
{
    static struct report_group group;
    struct run_report run = {.status = (uint8_t)first, .run = 1};
    memset(&group, 0, sizeof group);
    group.scenario = &scenario;
    report_add(&group, &run);
    run.status = (uint8_t)second;
    report_add(&group, &run);
    cr_assert_eq(report_example(&group)->status, report_status(&group), "it shows what it says");
    return (uint8_t)report_status(&group);
}

Test(report, a_violation_beats_an_environment_that_failed_whichever_came_first)
{
    static const enum run_status order[] = {RUN_MET, RUN_UNKNOWN, RUN_ERROR, RUN_UNMET};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        for (size_t j = 0; j < sizeof order / sizeof order[0]; j++) {
            cr_assert_eq(status_after(order[i], order[j]), order[i > j ? i : j]);
        }
    }
}

/* What could not be judged is not hidden by what failed for an assumption. */
Test(report, a_scenario_of_a_library_is_what_its_worst_run_is)
{
    static struct report_group group;
    group = (struct report_group){.runs = 2, .met = 2};
    cr_assert_eq(library_outcome(&group), LIBRARY_PASSED);
    group.violated = 1;
    cr_assert_eq(library_outcome(&group), LIBRARY_ASSUMPTION);
    group.met = 1;
    group.unknown = 1;
    cr_assert_eq(library_outcome(&group), LIBRARY_UNKNOWN);
    group.errors = 1;
    cr_assert_eq(library_outcome(&group), LIBRARY_ERROR);
    group.last.violations = 1;
    group.last.blames[0] = BLAME_LIBRARY;
    cr_assert_eq(library_outcome(&group), LIBRARY_BLAMED);
}
