/* report.c: what `picklock run` says about its runs. */
#include "cli/report.h"

#include "base/duration.h"
#include "base/error.h"
#include "base/foreign.h"
#include "cli/again.h"
#include "cli/command.h"
#include "cli/report_formats.h"
#include "cli/report_json.h"
#include "cli/report_library.h"
#include "cli/results.h"
#include "cli/shard.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define RED    "\033[31m"
#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define PLAIN  "\033[0m"

enum { LEFT_OUT_NAMED_MAX = 40 };

static bool same_kind(const struct run_report *a, const struct run_report *b)
{
    return a->status == b->status && a->violations == b->violations && a->unmet == b->unmet &&
           memcmp(a->blames, b->blames, sizeof a->blames) == 0;
}

/* The kind of this run; a new one if there is room, else NULL. */
static struct report_kind *report_kind(struct report_group *group, const struct run_report *run)
{
    for (uint32_t i = 0; i < group->kind_count; i++) {
        if (same_kind(&group->kinds[i].shortest, run)) {
            return &group->kinds[i];
        }
    }
    if (group->kind_count == REPORT_KINDS_MAX) {
        return NULL;
    }
    struct report_kind *kind = &group->kinds[group->kind_count++];
    kind->shortest = *run;
    return kind;
}

/* Shortest first: those are the ones to look at. */
static void report_failure(struct report_group *group, const struct run_report *run)
{
    struct report_kind *kind = report_kind(group, run);
    if (kind == NULL) {
        return;
    }
    kind->runs++;
    if (run->events < kind->shortest.events) {
        kind->shortest = *run;
    }
    uint32_t at = kind->seed_count;
    while (at > 0 && kind->events[at - 1] > run->events) {
        at--;
    }
    if (at == REPORT_SEEDS_MAX) {
        return;
    }
    kind->seed_count += kind->seed_count < REPORT_SEEDS_MAX ? 1 : 0;
    for (uint32_t i = kind->seed_count - 1; i > at; i--) {
        kind->seeds[i] = kind->seeds[i - 1];
        kind->events[i] = kind->events[i - 1];
    }
    kind->seeds[at] = run->seed;
    kind->events[at] = run->events;
}

void report_add_kind(struct report_group *group, const struct run_report *run)
{
    if (run->status != RUN_MET || group->last.status == RUN_MET) {
        group->last = *run;
    }
    if (run->status != RUN_MET) {
        report_failure(group, run);
    }
}

void report_add(struct report_group *group, const struct run_report *run)
{
    group->runs++;
    group->wall_ns += run->wall_ns;
    group->met += run->status == RUN_MET;
    group->unmet += run->status == RUN_UNMET;
    group->unknown += run->status == RUN_UNKNOWN;
    group->errors += run->status == RUN_ERROR;
    group->late_tries += run->late_tries;
    if (run->violations != 0) {
        group->violated++;
        if (group->first_violated == 0 || run->run < group->first_violated) {
            group->first_violated = run->run;
        }
    }
    for (size_t i = 0; i < RUN_CHECKS_MAX; i++) {
        bool ran = run->status != RUN_ERROR && run->status != RUN_INTERRUPTED;
        group->failed[i] += run->violations >> i & 1u;
        group->open[i] += ran && run->verdicts[i] == VERDICT_UNKNOWN;
        group->skipped[i] += ran && run->verdicts[i] == VERDICT_SKIPPED;
    }
    report_add_kind(group, run);
}

void report_rerun(const struct report *report, const struct report_group *group,
                  const struct run_report *run, const char *program, struct text *text)
{
    struct again again = {
        .path = group->scenario->path,
        .world = group->world,
        .seed = run->seed,
        .time_scale_ppm = report->time_scale_ppm,
        .stress_ns = report->stress_ns,
        .adapter = report->adapter,
        .server = report->server,
        .cluster = report->cluster,
    };
    again_print(&again, program, text);
}

void report_folder(const struct report *report, const struct report_group *group,
                   const struct run_report *run, struct text *text)
{
    text_add(text, "%s/%s/%" PRIu64 "/%s", report->out, group->scenario->name, run->seed,
             group->world);
    results_add_number(text, run->place);
}

void report_skipped(const struct run_report *run, size_t check, struct text *text)
{
    check_print_skipped(check_at(check), (run->inapplicable >> check & 1u) != 0, text);
}

void report_skips(const struct run_report *run, const char *indent, struct text *text)
{
    for (size_t i = 0; i < check_count() && run->status <= RUN_UNKNOWN; i++) {
        if (run->verdicts[i] == VERDICT_SKIPPED) {
            text_add(text, "%s%s: ", indent, check_at(i)->name);
            report_skipped(run, i, text);
            text_add(text, "\n");
        }
    }
}

struct result report_run(const struct report *report, const struct report_group *group,
                         const struct run_report *run, struct text *why)
{
    static char memory[REPORT_LINE_BYTES];
    struct text line = text_over(memory, sizeof memory);
    bool json = report->format == REPORT_JSON;
    if (report->copy != NULL) {
        *report->copy = *run;
    }
    if (!json && report->results == NULL && report->shard == NULL) {
        return RESULT_OK;
    }
    report_line(report, group, run, &line);
    if (report->shard != NULL) {
        TRY(shard_run(report->shard, group, run, &line, why));
    }
    report_line_kept(report, group, run, &line);
    report_line_end(run, report->timing, &line);
    if (json) {
        fputs(line.data, stdout);
        fflush(stdout);
    }
    if (report->results != NULL) {
        fputs(line.data, report->results);
    }
    return RESULT_OK;
}

/* "12 checks pass, exercised unknown, 1 skipped". */
static void report_no_violation(const struct report_group *group, struct text *text)
{
    size_t passed = 0;
    size_t skipped = 0;
    if (group->errors == group->runs) {
        text_add(text, "not run");
        return;
    }
    for (size_t i = 0; i < check_count(); i++) {
        skipped += group->skipped[i] == group->runs ? 1 : 0;
        passed += group->open[i] == 0 && group->skipped[i] < group->runs ? 1 : 0;
    }
    if (passed == check_count()) {
        text_add(text, "all checks pass");
        return;
    }
    text_add(text, "%zu checks pass", passed);
    for (size_t i = 0; i < check_count(); i++) {
        if (group->open[i] > 0) {
            text_add(text, ", %s unknown", check_at(i)->name);
        }
    }
    if (skipped > 0) {
        text_add(text, ", %zu skipped", skipped);
    }
}

void report_violations(const struct report_group *group, struct text *text)
{
    const char *comma = "";
    for (size_t i = 0; i < check_count(); i++) {
        if (group->failed[i] == 0) {
            continue;
        }
        text_add(text, "%s%s fail", comma, check_at(i)->name);
        if (group->runs > 1) {
            text_add(text, " %" PRIu64 "/%" PRIu64, group->failed[i], group->runs);
        } else {
            text_add(text, " (%s)", blame_name((enum blame)group->last.blames[i]));
        }
        comma = ", ";
    }
    if (comma[0] == '\0') {
        report_no_violation(group, text);
    }
}

void report_unmet(const struct report_group *group, struct text *text)
{
    uint32_t unmet = 0;
    const char *comma = "";
    for (uint32_t i = 0; i < group->kind_count; i++) {
        unmet |= group->kinds[i].shortest.unmet;
    }
    for (size_t i = 0; i < check_count(); i++) {
        if ((unmet >> i & 1u) != 0) {
            text_add(text, "%s%s", comma, check_at(i)->name);
            comma = ", ";
        }
    }
}

/* "18.00 % (95 %: 15.7 to 20.5)": Wilson's interval. */
static void report_rate(uint64_t hits, uint64_t runs, struct text *text)
{
    double n = (double)runs;
    double p = (double)hits / n;
    double z2 = 1.96 * 1.96;
    double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
    double half = 1.96 * sqrt((p * (1 - p) + z2 / (4 * n)) / n) / (1 + z2 / n);
    text_add(text, "%.2f %% (95 %%: %.2f to %.2f)", 100 * p, 100 * fmax(centre - half, 0),
             100 * fmin(centre + half, 1));
}

static const char *group_word(const struct report_group *group)
{
    static const char *const words[] = {
        [RUN_MET] = "ok", [RUN_UNMET] = "FAIL", [RUN_UNKNOWN] = "?", [RUN_ERROR] = "ERROR"};
    return words[report_status(group)];
}

static void print_word(const struct report *report, const char *word)
{
    const char *colour = word[0] == 'o' ? GREEN : word[0] == '?' ? YELLOW : RED;
    printf("%s%-5s%s ", report->colour ? colour : "", word, report->colour ? PLAIN : "");
}

static void report_kind_text(const struct report *report, const struct report_group *group,
                             const struct report_kind *kind)
{
    const struct run_report *run = &kind->shortest;
    char memory[2048];
    char quoted[2 * sizeof memory];
    struct text text = text_over(memory, sizeof memory);
    struct text word = text_over(quoted, sizeof quoted);
    const char *rest = run->sentences;
    if (group->runs > 1) {
        printf("      %" PRIu64 " runs, the shortest with seed %" PRIu64 " and %" PRIu64
               " events:\n",
               kind->runs, run->seed, run->events);
    }
    while (*rest != '\0') {
        size_t bytes = strcspn(rest, "\n");
        printf("        ");
        foreign_print(stdout, rest, bytes);
        printf("\n");
        rest += bytes + (rest[bytes] == '\n');
    }
    report_rerun(report, group, run, program_called(), &text);
    printf("        again: %s\n", text.data);
    if (run->kept || run->logged) {
        text_clear(&text);
        report_folder(report, group, run, &text);
        if (run->kept) {
            printf("        story: %s show ", program_called());
        } else {
            printf("        logs:  ");
        }
        text_clear(&word);
        shell_word(&word, text.data);
        printf("%s\n", word.data);
    }
    if (kind->seed_count > 1 && kind->seeds[0] != kind->seeds[kind->seed_count - 1]) {
        printf("        shortest seeds:");
        for (uint32_t i = 0; i < kind->seed_count; i++) {
            printf(" %" PRIu64, kind->seeds[i]);
        }
        printf("\n");
    }
}

/* What was violated and why, one kind after the other; the kind with the shortest run first. */
static void report_group_kinds(const struct report *report, const struct report_group *group)
{
    bool told[REPORT_KINDS_MAX] = {false};
    for (uint32_t n = 0; n < group->kind_count; n++) {
        uint32_t next = REPORT_KINDS_MAX;
        for (uint32_t i = 0; i < group->kind_count; i++) {
            bool shorter = next == REPORT_KINDS_MAX ||
                           group->kinds[i].shortest.events < group->kinds[next].shortest.events;
            next = !told[i] && shorter ? i : next;
        }
        told[next] = true;
        report_kind_text(report, group, &group->kinds[next]);
    }
}

void report_group_text(const struct report *report, const struct report_group *group)
{
    char memory[2048];
    struct text text = text_over(memory, sizeof memory);
    bool ok = group->met == group->runs;
    if (report->brief || (report->quiet && ok)) {
        return;
    }
    print_word(report, group_word(group));
    report_unmet(group, &text);
    if (text.length > 0) {
        char names[1024];
        (void)snprintf(names, sizeof names, "%s", text.data);
        text_clear(&text);
        text_add(&text, "unmet: %s; ", names);
    }
    report_violations(group, &text);
    printf("%-34s %-4s ", group->scenario->name, group->world);
    if (!report->merged) {
        printf("%8.3f s  ", (double)group->wall_ns / 1e9);
    }
    printf("%s%s\n", text.data, ok && group->violated > 0 ? ", as expected" : "");
    if (group->runs > 1) {
        text_clear(&text);
        report_rate(group->violated, group->runs, &text);
        printf("        violated %" PRIu64 "/%" PRIu64, group->violated, group->runs);
        if (group->first_violated > 0) {
            printf(", first at run %" PRIu64, group->first_violated);
        }
        printf(": %s; as expected in %" PRIu64 "\n", text.data, group->met);
    }
    report_group_kinds(report, group);
    fflush(stdout);
}

void report_group(struct report *report, const struct report_group *group)
{
    switch (report->format) {
    case REPORT_TEXT:
        report_group_text(report, group);
        break;
    case REPORT_TAP:
        report_group_tap(report, group);
        break;
    case REPORT_JSON:
    case REPORT_NOTHING:
        break;
    }
    if (report->github && report->format == REPORT_TEXT) {
        report_group_github(group);
    }
}

/* What a scenario leaves open ("any") may come out either way: time is not the same in both worlds.
 */
static bool left_open(const struct scenario *scenario, const char *check)
{
    for (size_t i = 0; i < scenario->expect_count; i++) {
        if (strcmp(scenario->expects[i].check, check) == 0) {
            return strcmp(scenario->expects[i].verdict, "any") == 0;
        }
    }
    return false;
}

bool report_differs(const struct scenario *scenario, size_t check, struct report_side a,
                    struct report_side b)
{
    bool silent = a.failed ? b.undecided : a.undecided;
    return a.failed != b.failed && !silent && !left_open(scenario, check_at(check)->name);
}

/* A run that is undecided as a whole was not what its scenario wants: what it skips it did not try.
 */
struct report_side report_side(const struct report_group *group, size_t check)
{
    return (struct report_side){.failed = group->failed[check] > 0,
                                .undecided = group->open[check] + group->unknown > 0};
}

bool report_disagreement(const struct report *report, const struct report_group *a,
                         const struct report_group *b)
{
    if (a->errors + b->errors > 0 || a->runs == 0 || b->runs == 0) {
        return false;
    }
    bool differ = false;
    for (size_t i = 0; i < check_count(); i++) {
        bool in_a = a->failed[i] > 0;
        if (!report_differs(a->scenario, i, report_side(a, i), report_side(b, i))) {
            continue;
        }
        differ = true;
        if (report->format == REPORT_TEXT) {
            print_word(report, "DIFF");
            printf("%s: %s fails in %s and not in %s: a bug of picklock or of the scenario; "
                   "compare %s/%s/*/{%s,%s}/history.jsonl\n",
                   a->scenario->name, check_at(i)->name, in_a ? a->world : b->world,
                   in_a ? b->world : a->world, report->out, a->scenario->name, a->world, b->world);
        }
    }
    return differ;
}

int report_end(struct report *report, const struct report_group *groups, size_t count,
               size_t disagreements)
{
    if (report->junit != NULL) {
        report_junit(report, groups, count);
    }
    if (report->summary != NULL) {
        report_summary(report, groups, count);
    }
    size_t met = 0;
    size_t with[RUN_INTERRUPTED + 1] = {0};
    uint64_t runs = 0;
    int code_of_error = EXIT_ENVIRONMENT;
    for (size_t i = 0; i < count; i++) {
        runs += groups[i].runs;
        with[report_status(&groups[i])]++;
        met += groups[i].runs > 0 && groups[i].met == groups[i].runs;
        if (groups[i].last.status == RUN_ERROR) {
            code_of_error = error_exit_code((enum error_code)groups[i].last.error);
        }
    }
    report_apart(report);
    report_recap(report, groups, count);
    if (report->format == REPORT_TEXT && report->table != NULL) {
        report->table(report, groups, count);
    } else if (report->format == REPORT_TEXT) {
        printf("%zu as expected, %zu not as expected, %zu unknown, %zu errors", met,
               with[RUN_UNMET], with[RUN_UNKNOWN], with[RUN_ERROR]);
        if (disagreements > 0) {
            printf(", %zu with worlds that disagree", disagreements);
        }
        if (report->apart != NULL && report->apart->count > 0) {
            printf(", %zu do not apply", report->apart->count);
        }
        printf("; %" PRIu64 " runs\n", runs);
    } else if (report->format == REPORT_TAP) {
        printf("1..%zu\n", report->number);
    }
    if (with[RUN_UNMET] > 0 || disagreements > 0) {
        return EXIT_VIOLATION;
    }
    if (with[RUN_ERROR] > 0) {
        return code_of_error;
    }
    return with[RUN_UNKNOWN] > 0 || runs == 0 ? EXIT_UNKNOWN : EXIT_MET;
}

size_t report_left_out(const struct report_group *groups, size_t count, FILE *stream)
{
    size_t left_out = 0;
    for (size_t i = 0; i < count; i++) {
        if (groups[i].runs == 0 && !groups[i].absent) {
            left_out++;
            if (left_out > LEFT_OUT_NAMED_MAX) {
                continue;
            }
            fprintf(stream, "%s%s in %s", left_out == 1 ? "left out, there was no time: " : ", ",
                    groups[i].scenario->name, groups[i].world);
        }
    }
    if (left_out > LEFT_OUT_NAMED_MAX) {
        fprintf(stream, ", ... (%zu of them)", left_out);
    }
    if (left_out > 0) {
        fprintf(stream, "; a larger --budget takes them in\n");
    }
    return left_out;
}
