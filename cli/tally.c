/* tally.c: counts runs for the page of a batch. */
#include "cli/tally.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

enum { ROWS_FIRST = 64 };

struct tally *tally_open(void)
{
    struct tally *tally = memory_resize(NULL, sizeof *tally);
    if (tally != NULL) {
        memset(tally, 0, sizeof *tally);
    }
    return tally;
}

void tally_close(struct tally *tally)
{
    if (tally != NULL) {
        memory_release(tally->rows);
        memory_release(tally);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Runs come group by group, so that its row is nearly always the last. */
static struct tally_row *row_of(struct tally *tally, const struct report_group *group)
{
    for (size_t i = tally->row_count; i > 0; i--) {
        if (tally->rows[i - 1].group == group) {
            return &tally->rows[i - 1];
        }
    }
    if (tally->row_count == tally->row_room) {
        size_t room = tally->row_room == 0 ? ROWS_FIRST : 2 * tally->row_room;
        struct tally_row *rows = memory_resize(tally->rows, room * sizeof *rows);
        if (rows == NULL) {
            return NULL;
        }
        tally->rows = rows;
        tally->row_room = room;
    }
    struct tally_row *row = &tally->rows[tally->row_count++];
    memset(row, 0, sizeof *row);
    row->group = group;
    row->period_runs = 1;
    return row;
}

static void periods_double(struct tally_row *row)
{
    for (uint32_t i = 0; i < TALLY_PERIODS / 2; i++) {
        row->periods[i] = row->periods[2 * i];
        row->periods[i].runs += row->periods[2 * i + 1].runs;
        row->periods[i].violated += row->periods[2 * i + 1].violated;
    }
    row->period_count = TALLY_PERIODS / 2;
    row->period_runs *= 2;
}

static void row_add_period(struct tally_row *row, bool violated)
{
    uint32_t last = row->period_count;
    bool full = last == 0 || row->periods[last - 1].runs == row->period_runs;
    if (full && row->period_count == TALLY_PERIODS) {
        periods_double(row);
    }
    if (full) {
        row->periods[row->period_count++] = (struct tally_period){0};
    }
    row->periods[row->period_count - 1].runs++;
    row->periods[row->period_count - 1].violated += violated;
}

static bool differs(const struct run_report *run)
{
    return run->status == RUN_UNMET || run->status == RUN_ERROR;
}

/* The folder of a run that was kept, as seen from the folder of the results. */
static void put_link(const struct report *report, const struct report_group *group,
                     const struct run_report *run, char link[TALLY_LINK_BYTES])
{
    char memory[TALLY_LINK_BYTES + TALLY_RERUN_BYTES];
    struct text folder = text_over(memory, sizeof memory);
    struct text text = text_over(link, TALLY_LINK_BYTES);
    size_t out = strlen(report->out);
    report_folder(report, group, run, &folder);
    if (!folder.cut && strncmp(folder.data, report->out, out) == 0 && folder.data[out] == '/') {
        text_add(&text, "%s", folder.data + out + 1);
    }
    if (text.cut) {
        link[0] = '\0';
    }
}

static void row_link(struct tally_row *row, const struct report *report,
                     const struct run_report *run)
{
    if (run->kept && (row->link[0] == '\0' || (differs(run) && !row->link_differs))) {
        put_link(report, row->group, run, row->link);
        row->link_differs = differs(run);
    }
}

static void row_add(struct tally_row *row, const struct report *report,
                    const struct run_report *run)
{
    bool violated = run->violations != 0;
    row_add_period(row, violated);
    if (row->box_count < TALLY_BOXES) {
        row->seeds[row->box_count] = run->seed;
        row->boxes[row->box_count++] = differs(run)                 ? BOX_DIFFERS
                                       : run->status == RUN_UNKNOWN ? BOX_UNKNOWN
                                       : violated                   ? BOX_VIOLATED
                                                                    : BOX_CALM;
    }
    for (size_t i = 0; i < check_count(); i++) {
        row->blames |= (uint8_t)((run->violations >> i & 1u) << run->blames[i]);
    }
    row_link(row, report, run);
}

/* ---- causes ---------------------------------------------------------------------------------- */

/* The first line of why a run is not as expected. */
static void put_first_line(const char *sentences, struct text *text)
{
    text_add_bytes(text, sentences, strcspn(sentences, "\n"));
}

static void cause_describe(const struct run_report *run, struct tally_cause *cause)
{
    struct text title = text_over(cause->title, sizeof cause->title);
    struct text advice = text_over(cause->advice, sizeof cause->advice);
    struct text pattern = text_over(cause->pattern, sizeof cause->pattern);
    cause->lead = RUN_CHECKS_MAX;
    cause->blame = BLAME_NONE;
    for (size_t i = check_count(); i > 0; i--) {
        if ((run->violations >> (i - 1) & 1u) != 0) {
            cause->lead = (uint8_t)(i - 1);
            cause->blame = run->blames[i - 1];
        }
    }
    if (run->found.cause_count > 0 && run->violations != 0) {
        const struct evidence_cause *told = &run->found.causes[0];
        cause->lead = told->lead;
        cause->blame = told->blame;
        text_add(&title, "%s", told->title);
        text_add(&advice, "%s", told->advice);
    } else {
        put_first_line(run->sentences, &title);
    }
    story_pattern_of(cause->title, &pattern);
}

static struct tally_cause *cause_of(struct tally *tally, const struct tally_cause *wanted)
{
    for (uint32_t i = 0; i < tally->cause_count; i++) {
        struct tally_cause *cause = &tally->causes[i];
        if (cause->lead == wanted->lead && cause->blame == wanted->blame &&
            strcmp(cause->pattern, wanted->pattern) == 0 &&
            strcmp(cause->lock, wanted->lock) == 0) {
            return cause;
        }
    }
    if (tally->cause_count == TALLY_CAUSES) {
        tally->causes_left_out++;
        return NULL;
    }
    struct tally_cause *cause = &tally->causes[tally->cause_count++];
    *cause = *wanted;
    return cause;
}

static void cause_add_place(struct tally_cause *cause, const struct report_group *group)
{
    for (uint32_t i = 0; i < cause->place_count; i++) {
        if (cause->places[i].group == group) {
            cause->places[i].runs++;
            return;
        }
    }
    if (cause->place_count < TALLY_PLACES) {
        cause->places[cause->place_count++] = (struct tally_place){.group = group, .runs = 1};
    }
}

static void cause_add(struct tally *tally, const struct report *report,
                      const struct report_group *group, const struct run_report *run)
{
    struct tally_cause wanted;
    memset(&wanted, 0, sizeof wanted);
    cause_describe(run, &wanted);
    struct text lock = text_over(wanted.lock, sizeof wanted.lock);
    text_add(&lock, "%s", group->scenario->algorithm);
    struct tally_cause *cause = cause_of(tally, &wanted);
    if (cause == NULL) {
        return;
    }
    if (cause->runs == 0 || (differs(run) && !cause->shown_differs)) {
        struct text rerun = text_over(cause->rerun, sizeof cause->rerun);
        memcpy(cause->title, wanted.title, sizeof cause->title);
        report_rerun(report, group, run, "picklock", &rerun);
        cause->seed = run->seed;
        cause->shown_differs = differs(run);
        cause->link[0] = '\0';
    }
    if (run->kept && cause->link[0] == '\0') {
        put_link(report, group, run, cause->link);
    }
    cause->runs++;
    cause->differs += differs(run);
    for (size_t i = 0; i < check_count(); i++) {
        cause->checks[i] += run->violations >> i & 1u;
    }
    cause_add_place(cause, group);
}

void tally_add(struct tally *tally, const struct report *report, const struct report_group *group,
               const struct run_report *run)
{
    if (tally == NULL || run->status == RUN_INTERRUPTED) {
        return;
    }
    struct tally_row *row = row_of(tally, group);
    if (row != NULL) {
        row_add(row, report, run);
    }
    if (run->violations != 0 || run->status != RUN_MET) {
        cause_add(tally, report, group, run);
    }
}

void tally_kept(struct tally *tally, const struct report *report, const struct report_group *group)
{
    struct tally_row *row = tally != NULL ? row_of(tally, group) : NULL;
    for (uint32_t i = 0; row != NULL && i < group->kind_count; i++) {
        row_link(row, report, &group->kinds[i].shortest);
    }
}
