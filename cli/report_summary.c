/* report_summary.c: all groups as a short page of Markdown, for the summary of a pipeline's job. */
#include "cli/report_formats.h"

#include "base/foreign.h"

#include <inttypes.h>
#include <string.h>

enum { SUMMARY_ROWS_MAX = 200 };

/* In a cell of a table: nothing of it may end the cell or the line. */
static void cell_print(FILE *file, const char *text)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, "|<>&`\n");
        foreign_print(file, text, plain);
        text += plain;
        if (*text == '\n') {
            fprintf(file, "%s", text[1] != '\0' ? "<br>" : "");
            text++;
        } else if (*text != '\0') {
            fprintf(file, "&#%d;", *text++);
        }
    }
}

static void row_print(const struct report *report, const struct report_group *group)
{
    char memory[4096];
    struct text text = text_over(memory, sizeof memory);
    const struct run_report *run = report_example(group);
    enum run_status status = report_status(group);
    const char *word = status == RUN_UNMET ? "not as expected" : run_status_name(status);
    fprintf(report->summary, "| %s | %s | %s in %" PRIu64 " of %" PRIu64 " | ",
            group->scenario->name, group->world, word, group->runs - group->met, group->runs);
    cell_print(report->summary, run->sentences);
    fprintf(report->summary, " | ");
    report_rerun(report, group, run, "picklock", &text);
    cell_print(report->summary, text.data);
    fprintf(report->summary, " |\n");
}

void report_summary(const struct report *report, const struct report_group *groups, size_t count)
{
    uint64_t runs = 0;
    size_t met = 0;
    size_t rows = 0;
    size_t left_out = 0;
    size_t absent = 0;
    for (size_t i = 0; i < count; i++) {
        runs += groups[i].runs;
        left_out += groups[i].runs == 0 && !groups[i].absent;
        absent += groups[i].absent;
        met += groups[i].runs > 0 && groups[i].met == groups[i].runs;
    }
    fprintf(report->summary, "## picklock\n\n%zu of %zu as expected, %" PRIu64 " runs", met,
            count - left_out - absent, runs);
    if (left_out > 0) {
        fprintf(report->summary, "; %zu left out, there was no time", left_out);
    }
    fprintf(report->summary, "\n");
    for (size_t i = 0; i < count; i++) {
        if (groups[i].met == groups[i].runs || rows++ >= SUMMARY_ROWS_MAX) {
            continue;
        }
        if (rows == 1) {
            fprintf(report->summary,
                    "\n| scenario | world | | why | again |\n|---|---|---|---|---|\n");
        }
        row_print(report, &groups[i]);
    }
    if (rows > SUMMARY_ROWS_MAX) {
        fprintf(report->summary, "\n... and %zu more\n", rows - SUMMARY_ROWS_MAX);
    }
    fprintf(report->summary, "\n");
}
