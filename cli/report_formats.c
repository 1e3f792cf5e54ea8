/* report_formats.c: a group of runs for machines: TAP, JUnit, GitHub's annotations. */
#include "cli/report_formats.h"

#include "base/foreign.h"

#include <inttypes.h>
#include <string.h>

/* Lines of a text below a key of YAML. */
static void yaml_lines_print(const char *key, const char *text)
{
    if (text[0] == '\0') {
        return;
    }
    printf("  %s: |\n", key);
    for (const char *rest = text; *rest != '\0';) {
        size_t bytes = strcspn(rest, "\n");
        printf("    ");
        foreign_print(stdout, rest, bytes);
        printf("\n");
        rest += bytes + (rest[bytes] == '\n');
    }
}

void report_group_tap(struct report *report, const struct report_group *group)
{
    bool ok = group->met == group->runs;
    char memory[4096];
    struct text text = text_over(memory, sizeof memory);
    const struct run_report *run = group->kind_count > 0 ? &group->kinds[0].shortest : &group->last;
    report_violations(group, &text);
    printf("%s %zu - %s (%s)\n  ---\n  world: %s\n  seed: %" PRIu64 "\n  verdict: \"%s\"\n",
           ok ? "ok" : "not ok", ++report->number, group->scenario->name, group->world,
           group->world, run->seed, text.data);
    if (!ok) {
        yaml_lines_print("reason", run->sentences);
        text_clear(&text);
        report_rerun(report, group, run, &text);
        yaml_lines_print("again", text.data);
    }
    text_clear(&text);
    report_skips(&group->last, "", &text);
    yaml_lines_print("skipped", text.data);
    printf("  ...\n");
    fflush(stdout);
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
