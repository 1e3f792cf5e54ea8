/* report_junit.c: all groups as one JUnit file, as Jenkins' schema has it: a suite a world. */
#include "cli/report_formats.h"

#include "base/foreign.h"
#include "harness/world.h"

#include <inttypes.h>
#include <string.h>

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

static void element_print(const struct report *report, const struct report_group *group,
                          const struct run_report *run)
{
    char memory[4096];
    struct text rerun = text_over(memory, sizeof memory);
    enum run_status status = report_status(group);
    const char *element = status == RUN_ERROR ? "error" : "failure";
    const char *type = status == RUN_ERROR ? "environment" : run_status_name(status);
    report_rerun(report, group, run, "picklock", &rerun);
    fprintf(report->junit, "      <%s type=\"%s\" message=\"", element, type);
    xml_print(report->junit, run->sentences);
    fprintf(report->junit, "\">");
    xml_print(report->junit, run->sentences);
    fprintf(report->junit, "seed %" PRIu64 "; again: ", run->seed);
    xml_print(report->junit, rerun.data);
    fprintf(report->junit, "</%s>\n", element);
}

static void case_print(const struct report *report, const struct report_group *group)
{
    char memory[4096];
    struct text text = text_over(memory, sizeof memory);
    const struct run_report *run = report_example(group);
    fprintf(report->junit, "    <testcase classname=\"picklock.%s\" name=\"", group->world);
    xml_print(report->junit, group->scenario->name);
    fprintf(report->junit, "\" time=\"%.3f\">\n", (double)group->wall_ns / 1e9);
    if (group->runs == 0) {
        fprintf(report->junit, "      <skipped message=\"%s\"/>\n",
                group->absent ? "this world has no such servers" : "left out: there was no time");
    } else if (group->met != group->runs) {
        element_print(report, group, run);
    }
    report_skips(run, "skipped: ", &text);
    if (group->runs > 0 && text.length > 0) {
        fprintf(report->junit, "      <system-out>");
        xml_print(report->junit, text.data);
        fprintf(report->junit, "</system-out>\n");
    }
    fprintf(report->junit, "    </testcase>\n");
}

struct counts {
    size_t tests, failures, errors, skipped;
    int64_t wall_ns;
};

/* Of one world, or of all where `world` is NULL. */
static struct counts count(const struct report_group *groups, size_t group_count, const char *world)
{
    struct counts counts = {0};
    for (size_t i = 0; i < group_count; i++) {
        const struct report_group *group = &groups[i];
        if (world != NULL && strcmp(group->world, world) != 0) {
            continue;
        }
        counts.tests++;
        enum run_status status = report_status(group);
        counts.errors += status == RUN_ERROR;
        counts.failures += status == RUN_UNMET || status == RUN_UNKNOWN;
        counts.skipped += group->runs == 0;
        counts.wall_ns += group->wall_ns;
    }
    return counts;
}

void report_junit(const struct report *report, const struct report_group *groups,
                  size_t group_count)
{
    static const char *const worlds[] = {"sim", "real"};
    struct counts all = count(groups, group_count, NULL);
    fprintf(report->junit,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites name=\"picklock\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
            "time=\"%.3f\">\n",
            all.tests, all.failures, all.errors, (double)all.wall_ns / 1e9);
    for (size_t w = 0; w < sizeof worlds / sizeof worlds[0]; w++) {
        struct counts own = count(groups, group_count, worlds[w]);
        if (own.tests == 0) {
            continue;
        }
        fprintf(report->junit,
                "  <testsuite name=\"picklock.%s\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
                "skipped=\"%zu\" time=\"%.3f\">\n",
                worlds[w], own.tests, own.failures, own.errors, own.skipped,
                (double)own.wall_ns / 1e9);
        for (size_t i = 0; i < group_count; i++) {
            if (strcmp(groups[i].world, worlds[w]) == 0) {
                case_print(report, &groups[i]);
            }
        }
        fprintf(report->junit, "  </testsuite>\n");
    }
    fprintf(report->junit, "</testsuites>\n");
}
