/* report_formats.c: where a group of runs stands, and a group for machines: TAP, GitHub. */
#include "cli/report_formats.h"

#include "base/foreign.h"

#include <inttypes.h>
#include <string.h>

enum run_status report_status(const struct report_group *group)
{
    if (group->unmet > 0) {
        return RUN_UNMET;
    }
    if (group->errors > 0) {
        return RUN_ERROR;
    }
    return group->unknown > 0 ? RUN_UNKNOWN : RUN_MET;
}

const struct run_report *report_example(const struct report_group *group)
{
    for (uint32_t i = 0; i < group->kind_count; i++) {
        if (group->kinds[i].shortest.status == report_status(group)) {
            return &group->kinds[i].shortest;
        }
    }
    return group->kind_count > 0 ? &group->kinds[0].shortest : &group->last;
}

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
    const struct run_report *run = report_example(group);
    report_violations(group, &text);
    printf("%s %zu - %s (%s)\n  ---\n  world: %s\n  seed: %" PRIu64 "\n  verdict: \"%s\"\n",
           ok ? "ok" : "not ok", ++report->number, group->scenario->name, group->world,
           group->world, run->seed, text.data);
    if (!ok) {
        text_clear(&text);
        report_unmet(group, &text);
        if (text.length > 0) {
            printf("  unmet: [%s]\n", text.data);
        }
        yaml_lines_print("reason", run->sentences);
        text_clear(&text);
        report_rerun(report, group, run, "picklock", &text);
        yaml_lines_print("again", text.data);
    }
    text_clear(&text);
    report_skips(&group->last, "", &text);
    yaml_lines_print("skipped", text.data);
    printf("  ...\n");
    fflush(stdout);
}

/* Of an annotation: its message, or a value before that, where two more letters have a meaning. */
static void github_print(const char *text, size_t bytes, const char *special)
{
    const char *end = text + bytes;
    while (text < end) {
        size_t plain = strcspn(text, special);
        plain = plain < (size_t)(end - text) ? plain : (size_t)(end - text);
        foreign_print(stdout, text, plain);
        text += plain;
        if (text < end) {
            printf("%%%02X", (unsigned)*text++);
        }
    }
}

/* The lines of a run's sentences that are about one check, or all for NULL. */
static void github_sentences(const char *sentences, const char *check)
{
    const char *between = "";
    while (*sentences != '\0') {
        size_t bytes = strcspn(sentences, "\n");
        const char *about = strncmp(sentences, "unmet: ", 7) == 0 ? sentences + 7 : sentences;
        size_t name_bytes = check != NULL ? strlen(check) : 0;
        if (check == NULL || (strncmp(about, check, name_bytes) == 0 && about[name_bytes] == ':')) {
            printf("%s", between);
            github_print(sentences, bytes, "\r\n%");
            between = "%0A";
        }
        sentences += bytes + (sentences[bytes] == '\n');
    }
}

/* One annotation; it stands where the scenario expects what did not come. */
static void github_annotate(const struct report_group *group, const struct run_report *run,
                            const char *check)
{
    const struct scenario *scenario = group->scenario;
    uint32_t line = scenario->expect_line;
    for (size_t i = 0; check != NULL && i < scenario->expect_count; i++) {
        if (strcmp(scenario->expects[i].check, check) == 0) {
            line = scenario->expects[i].line;
        }
    }
    printf("::error file=");
    github_print(scenario->path, strlen(scenario->path), "\r\n%:,");
    printf(",line=%" PRIu32 ",title=picklock %s in %s::", line > 0 ? line : 1, scenario->name,
           group->world);
    github_sentences(run->sentences, check);
    printf("\n");
}

void report_group_github(const struct report_group *group)
{
    if (group->met == group->runs) {
        return;
    }
    uint32_t told = 0;
    for (uint32_t kind = 0; kind < group->kind_count; kind++) {
        const struct run_report *run = &group->kinds[kind].shortest;
        for (size_t i = 0; i < check_count(); i++) {
            if ((run->unmet & ~told) >> i & 1u) {
                github_annotate(group, run, check_at(i)->name);
            }
        }
        told |= run->unmet;
    }
    if (told == 0) {
        github_annotate(group, &group->last, NULL);
    }
}
