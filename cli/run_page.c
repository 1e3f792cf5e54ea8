/* run_page.c: puts together what the page of a run shows. */
#include "cli/run_page.h"

#include "cli/files.h"
#include "cli/page.h"

#include <stdio.h>
#include <string.h>

enum { FAULT_TEXT_BYTES = 512, RERUN_BYTES = FILES_PATH_BYTES + 256 };

/* What the scenario expects of each check, and whether it was found. */
static void page_expectations(const struct run_page *run, struct page_expectation *expected)
{
    const struct scenario *scenario = run->request->scenario;
    for (size_t i = 0; i < check_count(); i++) {
        expected[i] = (struct page_expectation){
            .verdict = "", .blame = "", .met = (run->report->unmet >> i & 1u) == 0};
        for (size_t k = 0; k < scenario->expect_count; k++) {
            if (strcmp(scenario->expects[k].check, check_at(i)->name) == 0) {
                expected[i].verdict = scenario->expects[k].verdict;
                expected[i].blame = scenario->expects[k].blame;
            }
        }
    }
}

/* What all checks found, and its stories. */
static void page_told(const struct recording *recording, const struct check_result **results,
                      struct stories *stories)
{
    struct explain_history history = recording_history(recording);
    for (size_t i = 0; i < check_count(); i++) {
        results[i] = recording_result(recording, i);
    }
    stories_tell(&history, results, stories);
}

struct result run_page_trace(const struct recording *recording, const char *path, struct text *why)
{
    static struct stories stories;
    const struct check_result *results[RUN_CHECKS_MAX];
    struct explain_history history = recording_history(recording);
    page_told(recording, results, &stories);
    return trace_write(&history, &stories, path, why);
}

struct result run_page_write(const struct run_page *run, struct text *why)
{
    static struct stories stories;
    static char fault_memory[SCENARIO_FAULTS_MAX][FAULT_TEXT_BYTES];
    const char *faults[SCENARIO_FAULTS_MAX];
    const struct check_result *results[RUN_CHECKS_MAX];
    struct page_expectation expected[RUN_CHECKS_MAX];
    char rerun_memory[RERUN_BYTES];
    char path[FILES_PATH_BYTES];
    struct text rerun = text_over(rerun_memory, sizeof rerun_memory);
    const struct scenario *planned = &run->plan->scenario;
    struct explain_history history = recording_history(run->recording);
    page_told(run->recording, results, &stories);
    for (size_t i = 0; i < planned->fault_count; i++) {
        struct text fault = text_over(fault_memory[i], FAULT_TEXT_BYTES);
        fault_print(planned, &planned->faults[i], &fault);
        faults[i] = fault_memory[i];
    }
    page_expectations(run, expected);
    run_rerun(run->request, &rerun);
    struct page page = {.history = &history,
                        .results = results,
                        .result_count = check_count(),
                        .stories = &stories,
                        .expected = expected,
                        .faults = faults,
                        .fault_count = planned->fault_count,
                        .rerun = rerun.data};
    (void)snprintf(path, sizeof path, "%s/report.html", run->request->directory);
    return page_write(&page, path, why);
}
