/* list.c: `picklock list` and `picklock schema`: what there is to choose from. */
#include "base/foreign.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/filter.h"
#include "cli/pages.h"
#include "cli/words.h"

#include "checker/check.h"
#include "cli/options.h"
#include "lockcore/algorithms.h"

#include <stdio.h>
#include <string.h>

enum { LIST_ARENA_BYTES = 512 << 20 };

struct list_options {
    const char *kind;
    char *path;
    const char *filter; /* NULL: all */
};

static const struct argp_option list_option_table[] = {
    {"filter", 'f', "WORDS", 0,
     "only scenarios that have one of these words in their names or as a tag, as `picklock run` "
     "takes them",
     0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t list_option(int key, char *arg, struct argp_state *state)
{
    struct list_options *options = state->input;
    if (key == 'f') {
        options->filter = arg;
        return 0;
    }
    if (key != ARGP_KEY_ARG) {
        return ARGP_ERR_UNKNOWN;
    }
    if (state->arg_num > 1) {
        options_refuse(state, "one kind and one folder at the most");
    }
    if (state->arg_num == 1) {
        options->path = arg;
        return 0;
    }
    if (words_index("picklock list", arg) < 0) {
        options_refuse_argument(state, "picklock list", arg);
    }
    options->kind = arg;
    return 0;
}

const struct argp list_argp = {
    list_option_table,
    list_option,
    "[scenarios|checks|faults|algorithms|probes] [FOLDER]",
    "List what there is: scenarios (below FOLDER or scenarios/), checks, faults, lock algorithms, "
    "or probe points.",
    NULL,
    NULL,
    NULL};

/* The first sentence of a text, on one line. */
static void print_about(const char *about)
{
    while (*about != '\0') {
        size_t words = strcspn(about, ".\n");
        foreign_print(stdout, about, words);
        about += words;
        bool last = *about == '.' && (about[1] == '\0' || about[1] == '\n' || about[1] == ' ');
        if (*about != '\0') {
            putchar(*about++ == '\n' ? ' ' : '.');
        }
        if (last) {
            break;
        }
    }
    putchar('\n');
}

static int list_scenarios(char *path, const char *filter)
{
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct arena arena = arena_empty(LIST_ARENA_BYTES);
    struct scenario_list scenarios;
    struct result result = scenarios_load(&path, path != NULL ? 1 : 0, &arena, &scenarios, &why);
    if (!result_failed(result) && filter != NULL) {
        result = filter_scenarios(filter, &scenarios, &why);
    }
    int code = result_failed(result) ? command_fail(result, &why) : EXIT_MET;
    for (size_t i = 0; code == EXIT_MET && i < scenarios.count; i++) {
        char line[2 * FILES_PATH_BYTES];
        struct text shown = text_over(line, sizeof line);
        text_add_foreign(&shown, scenarios.list[i].path, strlen(scenarios.list[i].path));
        printf("%-44s ", shown.data);
        print_about(scenarios.list[i].about);
    }
    arena_release(&arena);
    return code;
}

static void list_checks(void)
{
    for (size_t i = 0; i < check_count(); i++) {
        printf("%-20s %s\n", check_at(i)->name, check_at(i)->question);
    }
}

static void list_algorithms(void)
{
    for (lock_algorithm_index i = 0; i < lock_algorithm_count(); i++) {
        printf("%-26s %s\n", lock_algorithm_at(i)->name, lock_algorithm_at(i)->about);
    }
}

int command_list(int argc, char **argv)
{
    struct list_options options = {.kind = "scenarios"};
    command_parse(&list_argp, argc, argv, &options);
    if (strcmp(options.kind, "checks") == 0) {
        list_checks();
    } else if (strcmp(options.kind, "algorithms") == 0) {
        list_algorithms();
    } else if (strcmp(options.kind, "faults") == 0) {
        for (int kind = FAULT_NONE + 1; kind < FAULT_KINDS; kind++) {
            const char *name = fault_kind_name((enum fault_kind)kind);
            printf("%-14s ", name);
            pages_print_sentence(PAGES_FAULTS, "## ", name);
        }
    } else if (strcmp(options.kind, "probes") == 0) {
        for (int point = 0; point < PROBE_POINTS; point++) {
            const char *name = probe_point_name((enum probe_point)point);
            printf("%-14s ", name);
            pages_print_cell(PAGES_SCENARIO, name);
        }
    } else {
        return list_scenarios(options.path, options.filter);
    }
    return EXIT_MET;
}

const struct argp schema_argp = {NULL,
                                 NULL,
                                 NULL,
                                 "Print the JSON schema of scenario files, for editors: "
                                 "`picklock schema > picklock.schema.json`.",
                                 NULL,
                                 NULL,
                                 NULL};

int command_schema(int argc, char **argv)
{
    static char memory[256 * 1024];
    static const char *names[SCENARIO_EXPECTS_MAX];
    command_parse(&schema_argp, argc, argv, NULL);
    struct scenario_checks checks = {.count = check_count(), .names = names};
    for (size_t i = 0; i < check_count(); i++) {
        names[i] = check_at(i)->name;
    }
    struct text text = text_over(memory, sizeof memory);
    scenario_schema_print(&checks, &text);
    printf("%s\n", text.data);
    return EXIT_MET;
}
