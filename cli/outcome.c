/* outcome.c: what comes of the runs of an order. */
#include "cli/outcome.h"

#include "base/foreign.h"
#include "cli/baseline.h"
#include "cli/batch_page.h"
#include "cli/command.h"
#include "cli/results.h"
#include "cli/shard.h"
#include "cli/steady.h"
#include "cli/update.h"

#include <string.h>

enum { STEADY_SEEDS_MAX = 1 << 22 };

static bool in_simulator(const struct report_group *group)
{
    return strcmp(group->world, world_sim.name) == 0;
}

static void outcome_plan(struct outcome *outcome)
{
    const struct pool_order *order = outcome->order;
    for (size_t i = 0; i < outcome->group_count; i++) {
        struct report_group *group = &outcome->groups[i];
        bool sim = order->sim && (order->runs.worlds == 1 || i % 2 == 0);
        group->scenario = &order->scenarios->list[i / order->runs.worlds];
        group->content = order->scenarios->contents[i / order->runs.worlds];
        group->time_scale_ppm = order->time_scale_ppm;
        group->world = sim ? world_sim.name : world_real.name;
        group->runs_planned = agenda_runs(&order->runs, i);
        group->absent = order->runs.absent != NULL && order->runs.absent[i];
    }
}

struct result outcome_open(struct outcome *outcome, const struct pool_order *order,
                           struct report *report, struct arena *arena, struct text *why)
{
    *outcome = (struct outcome){.order = order, .report = report};
    outcome->group_count = order->runs.files * order->runs.worlds;
    outcome->groups = arena_take(arena, outcome->group_count * sizeof *outcome->groups);
    if (outcome->groups == NULL) {
        text_add(why, "out of memory for %zu scenarios", order->scenarios->count);
        return result_error(ERROR_IO);
    }
    outcome_plan(outcome);
    if (order->keep != KEEP_NEVER && report->shard == NULL) {
        outcome->tally = tally_open();
    }
    for (size_t i = 0; i < outcome->group_count; i++) {
        uint64_t planned = outcome->groups[i].runs_planned;
        outcome->groups[i].places =
            planned > order->keep_last
                ? arena_take(arena, order->keep_last * sizeof(struct report_place))
                : NULL;
    }
    if (order->runs.repeat > 1 && order->runs.seeds <= STEADY_SEEDS_MAX) {
        outcome->steady = steady_open(order->runs.seed_first, order->runs.seeds);
    }
    return report->baseline != NULL ? baseline_begin(report->baseline, outcome->group_count, why)
                                    : RESULT_OK;
}

/* Report every group that is complete, in order; then whether its worlds agree. */
static void outcome_print(struct outcome *outcome)
{
    while (outcome->printed < outcome->group_count) {
        struct report_group *group = &outcome->groups[outcome->printed];
        if (group->runs < group->runs_planned) {
            return;
        }
        progress_clear(outcome->progress);
        if (group->runs > 0) {
            report_group(outcome->report, group);
        }
        outcome->printed++;
        if (outcome->order->runs.worlds == 2 && outcome->printed % 2 == 0) {
            outcome->disagreements += report_disagreement(outcome->report, group - 1, group);
        }
    }
}

/* Reports come group by group: what is kept of one makes room for the next. */
static void outcome_check_steady(struct outcome *outcome, size_t group, struct run_report *run)
{
    if (outcome->steady == NULL || !in_simulator(&outcome->groups[group])) {
        return;
    }
    if (outcome->steady_group != group) {
        steady_forget(outcome->steady);
        outcome->steady_group = group;
    }
    steady_check(outcome->steady, run);
}

/* Whether the report will point at this run's folder: it is the shortest of its kind. */
static bool is_pointed_at(const struct report_group *group, const struct report_place *place)
{
    for (uint32_t i = 0; i < group->kind_count; i++) {
        const struct run_report *shortest = &group->kinds[i].shortest;
        if (shortest->kept && shortest->seed == place->seed && shortest->place == place->number) {
            return true;
        }
    }
    return false;
}

/* Make room for the newest: of too many kept runs the oldest goes that nobody will look for. */
static void outcome_keep_last(struct outcome *outcome, struct report_group *group,
                              const struct run_report *run)
{
    char memory[FILES_PATH_BYTES];
    struct text path = text_over(memory, sizeof memory);
    if (!run->kept || run->status == RUN_MET || group->places == NULL) {
        return;
    }
    struct report_place *place = &group->places[group->kept++ % outcome->order->keep_last];
    if (place->number > 0 && !is_pointed_at(group, place)) {
        struct run_report old = {.seed = place->seed, .place = place->number};
        report_folder(outcome->report, group, &old, &path);
        results_forget(path.data);
    }
    *place = (struct report_place){run->seed, run->place};
}

struct result outcome_settle(struct outcome *outcome, struct text *why)
{
    static struct run_report run;
    size_t group;
    while (slices_take(&outcome->slices, &group, &run)) {
        outcome_check_steady(outcome, group, &run);
        report_add(&outcome->groups[group], &run);
        tally_add(outcome->tally, outcome->report, &outcome->groups[group], &run);
        outcome_keep_last(outcome, &outcome->groups[group], &run);
        TRY(report_run(outcome->report, &outcome->groups[group], &run, why));
        if (outcome->report->baseline != NULL) {
            baseline_run(outcome->report->baseline, group, &outcome->groups[group], &run);
        }
        outcome_print(outcome);
    }
    return RESULT_OK;
}

/* The time is up: what was run is all there is to report. */
static void outcome_close_groups(struct outcome *outcome)
{
    for (size_t i = 0; i < outcome->group_count; i++) {
        outcome->groups[i].runs_planned = outcome->groups[i].runs;
    }
    outcome_print(outcome);
}

/* Beside an earlier release. */
static int outcome_compare(const struct outcome *outcome, FILE *stream)
{
    static char memory[BASELINE_TEXT_BYTES];
    struct report *report = outcome->report;
    struct text text = text_over(memory, sizeof memory);
    int code = baseline_end(report->baseline, outcome->groups, outcome->group_count, &text);
    foreign_print(stream, text.data, text.length);
    if (report->summary != NULL) {
        fprintf(report->summary, "```\n");
        foreign_print(report->summary, text.data, text.length);
        fprintf(report->summary, "```\n");
    }
    return code;
}

struct result outcome_finish(struct outcome *outcome, int *exit_code, struct text *why)
{
    struct report *report = outcome->report;
    FILE *stream = report->format == REPORT_TEXT ? stdout : stderr;
    bool budget = outcome->order->budget_ns > 0;
    if (budget) {
        outcome_close_groups(outcome);
    }
    if (report->shard != NULL) {
        TRY(shard_finish(report->shard, outcome->groups, outcome->group_count, why));
    }
    if (outcome->order->keep != KEEP_NEVER) {
        TRY(batch_page_write(outcome->tally, outcome->order->out, why));
    }
    *exit_code = report_end(report, outcome->groups, outcome->group_count, outcome->disagreements);
    if (report->baseline != NULL) {
        *exit_code = outcome_compare(outcome, stream);
    }
    if (report->update) {
        TRY(update_expectations(outcome->groups, outcome->group_count, outcome->order->runs.worlds,
                                stream, why));
    }
    bool left_out = budget && report_left_out(outcome->groups, outcome->group_count, stream) > 0;
    if (left_out && *exit_code == EXIT_MET) {
        *exit_code = EXIT_UNKNOWN; /* what was not run was not checked */
    }
    return RESULT_OK;
}

void outcome_close(struct outcome *outcome)
{
    slices_release(&outcome->slices);
    steady_close(outcome->steady);
    tally_close(outcome->tally);
}
