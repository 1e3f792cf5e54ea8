/* report_formats.c: a group of runs for machines: TAP, JUnit, GitHub's annotations. */
#include "cli/report_formats.h"

#include "base/foreign.h"

#include <inttypes.h>
#include <string.h>

void report_group_tap(struct report *report, const struct report_group *group)
{
    bool ok = group->met == group->runs;
    char memory[4096];
    struct text text = text_over(memory, sizeof memory);
    report_violations(group, &text);
    printf("%s %zu - %s (%s)\n  ---\n  world: %s\n  seed: %" PRIu64 "\n  verdict: \"%s\"\n",
           ok ? "ok" : "not ok", ++report->number, group->scenario->name, group->world,
           group->world, group->last.seed, text.data);
    text_clear(&text);
    report_skips(&group->last, "    ", &text);
    printf("%s%s  ...\n", text.length > 0 ? "  skipped:\n" : "", text.data);
    fflush(stdout);
}

static void xml_print(FILE *file, const char *text)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, "<>&\"");
        foreign_print(file, text, plain);
        text += plain;
        if (*text != '\0') {
            fprintf(file, "&#%d;", *text++);
        }
    }
}

void report_group_junit(const struct report *report, const struct report_group *group)
{
    char memory[4096];
    struct text text = text_over(memory, sizeof memory);
    const struct run_report *run = group->kind_count > 0 ? &group->kinds[0].shortest : &group->last;
    fprintf(report->junit, "  <testcase classname=\"picklock.%s\" name=\"", group->world);
    xml_print(report->junit, group->scenario->name);
    fprintf(report->junit, "\" time=\"%.3f\">\n", (double)group->wall_ns / 1e9);
    if (group->met != group->runs) {
        const char *element = group->errors > 0 ? "error" : "failure";
        report_rerun(report, group, run, &text);
        fprintf(report->junit, "    <%s message=\"", element);
        xml_print(report->junit, run->sentences);
        fprintf(report->junit, "\">");
        xml_print(report->junit, run->sentences);
        fprintf(report->junit, "seed %" PRIu64 "; again: ", run->seed);
        xml_print(report->junit, text.data);
        fprintf(report->junit, "</%s>\n", element);
    }
    text_clear(&text);
    report_skips(run, "skipped: ", &text);
    if (text.length > 0) {
        fprintf(report->junit, "    <system-out>");
        xml_print(report->junit, text.data);
        fprintf(report->junit, "</system-out>\n");
    }
    fprintf(report->junit, "  </testcase>\n");
}

void report_group_github(const struct report_group *group)
{
    const struct scenario *scenario = group->scenario;
    if (group->met == group->runs) {
        return;
    }
    uint32_t line = scenario->expect_count > 0 ? scenario->expects[0].line : 1;
    printf("::error file=%s,line=%" PRIu32 ",title=picklock %s in %s::", scenario->path, line,
           scenario->name, group->world);
    for (const char *rest = group->last.sentences; *rest != '\0';) {
        size_t plain = strcspn(rest, "\n%");
        foreign_print(stdout, rest, plain);
        rest += plain;
        if (*rest != '\0') {
            printf("%s", *rest++ == '\n' ? "%0A" : "%25");
        }
    }
    printf("\n");
}
