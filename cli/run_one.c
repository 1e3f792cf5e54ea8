/* run_one.c: one run of one scenario in one world. */
#include "cli/run_one.h"

#include "base/assert.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/page.h"
#include "cli/recording.h"
#include "cli/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SCENARIO_PRINT_BYTES = 256 * 1024 };

const char *run_status_name(enum run_status status)
{
    switch (status) {
    case RUN_MET:
        return "met";
    case RUN_UNMET:
        return "unmet";
    case RUN_UNKNOWN:
        return "unknown";
    case RUN_ERROR:
        return "error";
    case RUN_INTERRUPTED:
        return "interrupted";
    }
    UNREACHABLE();
}

bool run_status_find(const char *name, uint8_t *status)
{
    for (int i = RUN_MET; i <= RUN_INTERRUPTED; i++) {
        if (strcmp(name, run_status_name((enum run_status)i)) == 0) {
            *status = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static int64_t wall_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const struct expectation *expectation_of(const struct scenario *scenario, const char *check)
{
    for (size_t i = 0; i < scenario->expect_count; i++) {
        if (strcmp(scenario->expects[i].check, check) == 0) {
            return &scenario->expects[i];
        }
    }
    return NULL;
}

/* How one check's outcome stands to what the scenario expects of it. */
static enum run_status check_status(const struct scenario *scenario,
                                    const struct expectation *expected,
                                    const struct check_result *result)
{
    if (expected == NULL) {
        return result->verdict == VERDICT_FAIL ? RUN_UNMET : RUN_MET;
    }
    if (strcmp(expected->verdict, "any") == 0) {
        bool fault = result->verdict == VERDICT_FAIL && result->blame == BLAME_LIBRARY;
        return fault ? RUN_UNMET : RUN_MET;
    }
    bool blamed = expected->blame[0] == '\0' ||
                  strcmp(expected->blame, blame_name((enum blame)result->blame)) == 0;
    if (strcmp(expected->verdict, verdict_name((enum verdict)result->verdict)) == 0) {
        return blamed ? RUN_MET : RUN_UNMET;
    }
    if (result->inapplicable) {
        return RUN_MET; /* the file was written for locks that declare more */
    }
    if (scenario->random.present && result->verdict == VERDICT_SKIPPED) {
        return RUN_MET; /* a seed may draw that every client dies before the matter comes up */
    }
    bool open = result->verdict == VERDICT_UNKNOWN || result->verdict == VERDICT_SKIPPED;
    return open ? RUN_UNKNOWN : RUN_UNMET;
}

/* Fail beats unknown, unknown beats pass. */
static enum run_status status_worse(enum run_status a, enum run_status b)
{
    if (a == RUN_UNMET || b == RUN_UNMET) {
        return RUN_UNMET;
    }
    return a == RUN_UNKNOWN || b == RUN_UNKNOWN ? RUN_UNKNOWN : RUN_MET;
}

static void describe_unmet(const struct expectation *expected, const struct check *check,
                           const struct check_result *result, struct text *text)
{
    if (expected == NULL) {
        return;
    }
    text_add(text, "%s: expected %s%s%s, found %s", check->name, expected->verdict,
             expected->blame[0] != '\0' ? ", blame " : "", expected->blame,
             verdict_name((enum verdict)result->verdict));
    if (result->verdict == VERDICT_FAIL) {
        text_add(text, ", blame %s", blame_name((enum blame)result->blame));
    } else if (result->verdict == VERDICT_SKIPPED) {
        text_add(text, ": ");
        check_print_skipped(check, result->inapplicable, text);
    }
    text_add(text, "\n");
}

/* Whether anything was judged beside that the lock was tried at all. */
static bool anything_judged(const struct run_report *report)
{
    for (size_t i = 0; i < check_count(); i++) {
        if (!check_at(i)->required && report->verdicts[i] != VERDICT_SKIPPED) {
            return true;
        }
    }
    return false;
}

/* Which events show each violation, and which of them have one cause. */
static void take_evidence(const struct recording *recording, struct run_report *report)
{
    static struct stories stories;
    const struct check_result *results[RUN_CHECKS_MAX];
    struct explain_history history = recording_history(recording);
    for (size_t i = 0; i < check_count(); i++) {
        results[i] = recording_result(recording, i);
    }
    stories_tell(&history, results, &stories);
    for (size_t i = 0; i < check_count(); i++) {
        evidence_take(&stories, i, results[i], &report->found.evidence[i]);
    }
    report->found.cause_count = evidence_take_causes(&stories, report->found.causes);
}

static void compare(const struct scenario *scenario, const struct recording *recording,
                    struct run_report *report)
{
    struct text text = text_over(report->sentences, sizeof report->sentences);
    struct explain_history history = recording_history(recording);
    enum run_status status = RUN_MET;
    ASSERT(check_count() <= RUN_CHECKS_MAX);
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);
        const struct check_result *result = recording_result(recording, i);
        const struct expectation *expected = expectation_of(scenario, check->name);
        enum run_status one = check_status(scenario, expected, result);
        if (check->required && expected == NULL && result->verdict != VERDICT_PASS) {
            one = RUN_UNKNOWN; /* nothing checked, or a fault that did not strike, is no pass */
        }
        report->verdicts[i] = result->verdict;
        report->blames[i] = result->blame;
        report->inapplicable |= (result->inapplicable ? 1u : 0u) << i;
        report->violations |= (result->verdict == VERDICT_FAIL ? 1u : 0u) << i;
        report->unmet |= (one != RUN_MET ? 1u : 0u) << i;
        status = status_worse(status, one);
        if (one != RUN_MET) {
            describe_unmet(expected, check, result, &text);
        }
        if (result->verdict == VERDICT_FAIL || (one != RUN_MET && check->required)) {
            explain_headline(&history, check, result, &text);
            text_add(&text, "\n");
        }
    }
    if (!anything_judged(report)) {
        status = status_worse(status, RUN_UNKNOWN);
        text_add(&text, "every check was skipped: there was nothing to judge\n");
    }
    report->status = (uint8_t)status;
    if (report->violations != 0) {
        take_evidence(recording, report);
    }
}

static struct result write_rerun(const struct run_request *request, struct text *why)
{
    char path[FILES_PATH_BYTES];
    char memory[FILES_PATH_BYTES];
    struct text text = text_over(memory, sizeof memory);
    text_add(&text,
             "#!/bin/sh\n# Runs this again, from the folder that holds the scenario.\n"
             "exec picklock run '%s' --world %s --seed %" PRIu64,
             request->scenario->path, request->world->name, request->seed);
    if (request->time_scale_ppm != 1000000) {
        text_add(&text, " --time-scale %g", (double)request->time_scale_ppm / 1e6);
    }
    if (request->adapter != NULL) {
        text_add(&text, " --adapter '%s'", request->adapter);
    }
    text_add(&text, " --keep always \"$@\"\n");
    (void)snprintf(path, sizeof path, "%s/rerun.sh", request->directory);
    return file_write(path, text.data, text.length, why);
}

static struct result write_scenario(const struct run_request *request, struct text *why)
{
    static char memory[SCENARIO_PRINT_BYTES];
    char path[FILES_PATH_BYTES];
    struct text text = text_over(memory, sizeof memory);
    scenario_print(request->scenario, &text);
    (void)snprintf(path, sizeof path, "%s/%s.yaml", request->directory, request->scenario->name);
    return file_write(path, text.data, text.length, why);
}

/* The picture of the run, for a browser. */
static struct result write_page(const struct run_request *request,
                                const struct recording *recording, struct text *why)
{
    const struct check_result *results[RUN_CHECKS_MAX];
    for (size_t i = 0; i < check_count(); i++) {
        results[i] = recording_result(recording, i);
    }
    struct explain_history history = recording_history(recording);
    struct html_page page = {
        .history = &history, .results = results, .result_count = check_count()};
    char path[FILES_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/report.html", request->directory);
    return page_write(&page, path, why);
}

/* Leave what a reader needs: the history, its picture, the scenario, how to run it again. */
static struct result keep(const struct run_request *request, const struct plan *plan,
                          const struct recording *recording, struct text *why)
{
    char path[FILES_PATH_BYTES];
    TRY(folder_make(request->directory, why));
    (void)snprintf(path, sizeof path, "%s/history.jsonl", request->directory);
    TRY(recording_write(recording, path, why));
    TRY(write_page(request, recording, why));
    TRY(write_scenario(request, why));
    if (request->world == &world_sim) {
        (void)snprintf(path, sizeof path, "%s/run.bundle", request->directory);
        TRY(replay_store(plan, recording, path, why));
    }
    return write_rerun(request, why);
}

static struct result run_and_judge(const struct run_request *request, struct recording *recording,
                                   struct run_report *report, struct text *why)
{
    static struct plan plan;
    struct history_header header;
    scenario_plan(request->scenario, request->seed, request->time_scale_ppm, &plan);
    plan_header(&plan, request->world->name, &header);
    TRY(recording_begin(recording, &header, why));
    struct world_options options = {
        .adapter = request->adapter,
        .run_directory = request->directory,
        .program = program_path(),
    };
    TRY(request->world->run(&plan, &options, &header, recording_recorder(recording), why));
    TRY(recording_judge(recording, &header, why));
    compare(request->scenario, recording, report);
    struct explain_history history = recording_history(recording);
    report->events = history.count;
    report->virtual_ns = history.count > 0 ? history.events[history.count - 1].time_ns : 0;
    memcpy(report->library, header.library, sizeof report->library);
    bool failed = report->status != RUN_MET || report->violations != 0;
    if (request->keep == KEEP_ALWAYS || (request->keep == KEEP_ON_FAILURE && failed)) {
        report->history_hash = recording_hash(recording);
        TRY(keep(request, &plan, recording, why));
        report->kept = true;
    }
    return RESULT_OK;
}

void run_one(const struct run_request *request, struct run_report *report)
{
    /* One recording serves all runs of a process: many short runs should not allocate anew. */
    static struct recording *recording;
    memset(report, 0, sizeof *report);
    report->seed = request->seed;
    int64_t start_ns = wall_now_ns();
    char memory[RUN_SENTENCES_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct result result = RESULT_OK;
    if (recording == NULL) {
        recording = recording_open(request->stop_at_first);
    }
    if (recording == NULL) {
        text_add(&why, "out of memory");
        result = result_error(ERROR_IO);
    } else {
        recording_clear(recording);
        result = run_and_judge(request, recording, report, &why);
    }
    report->wall_ns = wall_now_ns() - start_ns;
    if (result_failed(result)) {
        report->status = result.code == ERROR_INTERRUPTED ? RUN_INTERRUPTED : RUN_ERROR;
        report->error = (uint8_t)result.code;
        struct text text = text_over(report->sentences, sizeof report->sentences);
        text_add(&text, "%s\n", why.data);
    }
}
