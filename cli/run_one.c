/* run_one.c: one run of one scenario in one world. */
#include "cli/run_one.h"

#include "base/assert.h"
#include "base/foreign.h"
#include "base/machine_clock.h"
#include "cli/again.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/hints.h"
#include "cli/lateness.h"
#include "cli/recording.h"
#include "cli/replay.h"
#include "cli/results.h"
#include "cli/run_page.h"
#include "servers/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static const struct expectation *expectation_of(const struct scenario *scenario, const char *check)
{
    for (size_t i = 0; i < scenario->expect_count; i++) {
        if (strcmp(scenario->expects[i].check, check) == 0) {
            return &scenario->expects[i];
        }
    }
    return NULL;
}

/* Real servers of a kind that does not tell: what needs their word is judged in the simulator. */
static bool is_untold(const struct scenario *scenario, const struct recording *recording)
{
    return recording_history(recording).header->unwatched[0] != '\0' &&
           !server_kind_tells(scenario->node_kind);
}

/* How one check's outcome stands to what the scenario expects of it. */
static enum run_status check_status(const struct scenario *scenario,
                                    const struct recording *recording,
                                    const struct expectation *expected,
                                    const struct check_result *result)
{
    bool untold = is_untold(scenario, recording);
    if (expected == NULL) {
        return result->verdict == VERDICT_FAIL ? RUN_UNMET : RUN_MET;
    }
    if (strcmp(expected->verdict, "any") == 0) {
        bool fault = result->verdict == VERDICT_FAIL && result->blame == BLAME_LIBRARY;
        /* Of a lock under test it would be a failure if the machine had not been late. */
        bool suspect = recording_history(recording).header->declared && result->suspects &&
                       result->verdict == VERDICT_UNKNOWN && result->reason == CHECK_REASON_LATE;
        return fault ? RUN_UNMET : suspect ? RUN_UNKNOWN : RUN_MET;
    }
    bool blamed = expected->blame[0] == '\0' || (untold && result->blame == BLAME_NONE) ||
                  strcmp(expected->blame, blame_name((enum blame)result->blame)) == 0;
    if (strcmp(expected->verdict, verdict_name((enum verdict)result->verdict)) == 0) {
        return blamed ? RUN_MET : RUN_UNMET;
    }
    if (result->inapplicable) {
        return RUN_MET; /* the file was written for locks that declare more */
    }
    if (untold && result->reason == CHECK_REASON_UNWATCHED) {
        return RUN_MET;
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
    text_add(text, "unmet: %s: ", check->name);
    if (expected == NULL) {
        text_add(text, check->required ? "must pass, " : "not in expect, so it must not fail, ");
    } else {
        text_add(text, "expected %s%s%s, ", expected->verdict,
                 expected->blame[0] != '\0' ? ", blame " : "", expected->blame);
    }
    text_add(text, "found %s", verdict_name((enum verdict)result->verdict));
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

/* How one check came out, as bits and sentences; gives how it stands to what is expected. */
static enum run_status take_check(const struct scenario *scenario,
                                  const struct recording *recording, size_t i,
                                  struct run_report *report)
{
    const struct check *check = check_at(i);
    const struct check_result *result = recording_result(recording, i);
    const struct expectation *expected = expectation_of(scenario, check->name);
    enum run_status status = check_status(scenario, recording, expected, result);
    if (check->required && expected == NULL && result->verdict != VERDICT_PASS) {
        status = RUN_UNKNOWN; /* nothing checked, or a fault that did not strike, is no pass */
    }
    report->verdicts[i] = result->verdict;
    report->blames[i] = result->blame;
    report->inapplicable |= (result->inapplicable ? 1u : 0u) << i;
    report->violations |= (result->verdict == VERDICT_FAIL ? 1u : 0u) << i;
    bool meant_to_fail = expected != NULL && strcmp(expected->verdict, "fail") == 0;
    bool missed = status != RUN_MET && meant_to_fail && result->verdict != VERDICT_FAIL;
    report->unmet |= (status != RUN_MET ? 1u : 0u) << i;
    report->missed |= (missed ? 1u : 0u) << i;
    return status;
}

/* What is not as expected comes first, then what else was violated. */
static void describe(const struct scenario *scenario, const struct recording *recording,
                     const struct run_report *report, struct text *text)
{
    struct explain_history history = recording_history(recording);
    for (int unmet = 1; unmet >= 0; unmet--) {
        for (size_t i = 0; i < check_count(); i++) {
            const struct check *check = check_at(i);
            const struct check_result *result = recording_result(recording, i);
            if ((int)(report->unmet >> i & 1u) != unmet) {
                continue;
            }
            if (unmet == 1) {
                describe_unmet(expectation_of(scenario, check->name), check, result, text);
            }
            bool open = check->required || result->verdict == VERDICT_UNKNOWN;
            if (result->verdict == VERDICT_FAIL || (unmet == 1 && open)) {
                explain_headline(&history, check, result, text);
                text_add(text, "\n");
            }
        }
        if (unmet == 1 && report->missed != 0) {
            hints_print(scenario, &history, text);
        }
    }
}

/* Where not all of it fits: whole lines, and where the rest is told. */
static void end_sentences(struct text *text)
{
    static const char rest[] = "... and more, which `picklock show` tells\n";
    if (!text->cut) {
        return;
    }
    text->length = text->bytes_max - sizeof rest;
    while (text->length > 0 && text->data[text->length - 1] != '\n') {
        text->length--;
    }
    text->data[text->length] = '\0';
    text_add(text, "%s", rest);
}

/* Why each check that could not say could not; a sentence that does not fit is left out. */
static void take_open(const struct recording *recording, struct text *open)
{
    char memory[RUN_OPEN_BYTES / 8];
    struct explain_history history = recording_history(recording);
    for (size_t i = 0; i < check_count(); i++) {
        const struct check_result *result = recording_result(recording, i);
        struct text line = text_over(memory, sizeof memory);
        if (result->verdict != VERDICT_UNKNOWN) {
            continue;
        }
        explain_headline(&history, check_at(i), result, &line);
        text_add(&line, "\n");
        if (!line.cut && open->length + line.length < open->bytes_max) {
            text_add_bytes(open, line.data, line.length);
        }
    }
}

static void compare(const struct scenario *scenario, const struct recording *recording,
                    struct run_report *report)
{
    struct text text = text_over(report->sentences, sizeof report->sentences);
    enum run_status status = RUN_MET;
    ASSERT(check_count() <= RUN_CHECKS_MAX);
    for (size_t i = 0; i < check_count(); i++) {
        status = status_worse(status, take_check(scenario, recording, i, report));
    }
    describe(scenario, recording, report, &text);
    if (!anything_judged(report)) {
        status = status_worse(status, RUN_UNKNOWN);
        text_add(&text, "every check was skipped: there was nothing to judge\n");
    }
    report->late = lateness_alone(recording, report);
    if (report->late && status == RUN_UNMET) {
        status = RUN_UNKNOWN;
        lateness_print(recording, &text);
    }
    end_sentences(&text);
    struct text open = text_over(report->open, sizeof report->open);
    take_open(recording, &open);
    report->status = (uint8_t)status;
    if (report->violations != 0) {
        take_evidence(recording, report);
    }
}

/* How this run is ordered, whoever words it. */
static struct again run_again(const struct run_request *request)
{
    bool real = request->world == &world_real;
    return (struct again){
        .path = request->scenario->path,
        .world = request->world->name,
        .seed = request->seed,
        .time_scale_ppm = request->time_scale_ppm,
        .stress_ns = request->stress_ns,
        .adapter = request->adapter,
        .server = request->server,
        .cluster = real && request->cluster != NULL ? request->cluster->path : NULL,
    };
}

void run_rerun(const struct run_request *request, struct text *text)
{
    struct again again = run_again(request);
    again_print(&again, "picklock", text);
}

/* Where it is run from: what an adapter, a server or nodes are may be named from there. */
static void add_start_folder(struct text *text)
{
    char here[FILES_PATH_BYTES];
    if (getcwd(here, sizeof here) == NULL) {
        return;
    }
    text_add(text, "cd ");
    shell_quote(text, here);
    text_add(text, " || exit 3\n");
}

static struct result write_rerun(const struct run_request *request, struct text *why)
{
    char path[FILES_PATH_BYTES];
    char memory[4 * FILES_PATH_BYTES];
    struct text text = text_over(memory, sizeof memory);
    struct again again = run_again(request);
    text_add(&text, "#!/bin/sh\n"
                    "# Runs this again, from any folder: the scenario that lies beside this file, "
                    "by the picklock\n# that ran it, or where that is gone by the one on the path."
                    "\nprogram=");
    shell_quote(&text, program_path());
    text_add(&text, "\n[ -x \"$program\" ] || program=picklock\n"
                    "here=$(CDPATH= cd -- \"$(dirname -- \"$0\")\" && pwd) || exit 3\n");
    if (again.adapter != NULL || again.server != NULL || again.cluster != NULL) {
        add_start_folder(&text);
    }
    text_add(&text, "exec \"$program\" run \"$here\"/%s.yaml", request->scenario->name);
    again_print_options(&again, shell_quote, &text);
    text_add(&text, " \"$@\"\n");
    if (text.cut) {
        text_add(why, "the command that runs this again is longer than %zu bytes", sizeof memory);
        return result_error(ERROR_LIMIT);
    }
    (void)snprintf(path, sizeof path, "%s/rerun.sh", request->directory);
    TRY(file_write(path, text.data, text.length, why));
    return chmod(path, 0755) == 0 ? RESULT_OK : result_error(ERROR_IO);
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

/* Leave what a reader needs: the history, its picture, the scenario, how to run it again. */
static struct result keep(const struct run_request *request, const struct plan *plan,
                          const struct recording *recording, const struct run_report *report,
                          struct text *why)
{
    char path[FILES_PATH_BYTES];
    if (*request->lock < 0) {
        TRY(results_begin(request->directory, request->lock, why));
    }
    (void)snprintf(path, sizeof path, "%s/history.jsonl", request->directory);
    TRY(recording_write(recording, path, why));
    struct run_page page = {
        .request = request, .plan = plan, .recording = recording, .report = report};
    TRY(run_page_write(&page, why));
    TRY(write_scenario(request, why));
    if (request->world == &world_sim) {
        (void)snprintf(path, sizeof path, "%s/run.bundle", request->directory);
        TRY(replay_store(plan, recording, path, why));
    }
    return write_rerun(request, why);
}

static bool is_kept(enum run_keep keep, const struct run_report *report)
{
    bool unmet = report->status != RUN_MET;
    return keep == KEEP_ALWAYS || (keep == KEEP_UNMET && unmet) ||
           (keep == KEEP_ON_FAILURE && (unmet || report->violations != 0));
}

/* How long it may be: its clients' time, and how often a client that is refused asks in that. */
static struct recording_length length_of(const struct plan *plan)
{
    const struct scenario *scenario = &plan->scenario;
    const struct lock_config *lock = &scenario->lock;
    return (struct recording_length){
        .duration_ns = scenario->duration_ns,
        .cycle_ns = scenario->think_ns + scenario->think_jitter_ns / 2 +
                    (lock->retry_delay_ns + lock->retry_jitter_ns / 2) * lock->retry_count,
        .sections = (uint64_t)scenario->client_count * (uint64_t)scenario->sections,
    };
}

static struct result run_and_judge(const struct run_request *request, struct recording *recording,
                                   struct run_report *report, struct text *why)
{
    static struct plan plan;
    struct history_header header;
    scenario_plan(request->scenario, request->seed, request->time_scale_ppm, &plan);
    plan.stress_ns = request->stress_ns;
    plan_header(&plan, request->world->name, &header);
    struct recording_length length = length_of(&plan);
    recording_expect(recording, &length);
    TRY(recording_begin(recording, &header, why));
    struct world_options options = {
        .adapter = request->adapter,
        .server = request->server,
        .cluster = request->cluster != NULL ? &request->cluster->cluster : NULL,
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
    if (request->trace != NULL) {
        TRY(run_page_trace(recording, request->trace, why));
    }
    if (is_kept(request->keep, report)) {
        report->history_hash = recording_hash(recording);
        TRY(keep(request, &plan, recording, report, why));
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
    int64_t start_ns = monotonic_ns();
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
    report->wall_ns = monotonic_ns() - start_ns;
    if (result_failed(result)) {
        run_failed(report, result, &why);
    }
}

void run_failed(struct run_report *report, struct result result, const struct text *why)
{
    char memory[RUN_SENTENCES_BYTES];
    struct text text = text_over(memory, sizeof memory);
    bool stands = report->status == RUN_UNMET && result.code != ERROR_INTERRUPTED;
    if (stands) {
        text_add(&text, "%snot kept: ", report->sentences);
    } else {
        uint64_t seed = report->seed;
        int64_t wall_ns = report->wall_ns;
        memset(report, 0, sizeof *report);
        report->seed = seed;
        report->wall_ns = wall_ns;
        report->status = result.code == ERROR_INTERRUPTED ? RUN_INTERRUPTED : RUN_ERROR;
        report->error = (uint8_t)result.code;
    }
    report->kept = false;
    text_add_foreign(&text, why->data, why->length);
    text_add(&text, "\n");
    end_sentences(&text);
    memcpy(report->sentences, text.data, text.length + 1);
}
