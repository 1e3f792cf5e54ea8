/* lint.c: `picklock lint`: checks scenario files without running them. */
#include "cli/command.h"
#include "cli/files.h"

#include <stdio.h>

enum { LINT_ARENA_BYTES = 512 << 20 };

struct lint_options {
    char *paths[FILES_SCENARIOS_MAX];
    size_t path_count;
    bool canonical;
};

static const struct argp_option lint_option_table[] = {
    {"print", 'p', NULL, 0, "print each scenario in its canonical form", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t lint_option(int key, char *arg, struct argp_state *state)
{
    struct lint_options *options = state->input;
    if (key == 'p') {
        options->canonical = true;
        return 0;
    }
    if (key != ARGP_KEY_ARG) {
        return ARGP_ERR_UNKNOWN;
    }
    if (options->path_count == FILES_SCENARIOS_MAX) {
        argp_error(state, "more than %d files", (int)FILES_SCENARIOS_MAX);
    }
    options->paths[options->path_count++] = arg;
    return 0;
}

static const struct argp lint_argp = {
    lint_option_table,
    lint_option,
    "[FILE or FOLDER]...",
    "Check scenario files and list every problem of each, with its place.",
    NULL,
    NULL,
    NULL};

int command_lint(int argc, char **argv)
{
    static struct lint_options options;
    static char print_memory[256 * 1024];
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct scenario_list scenarios;
    struct arena arena = arena_empty(LINT_ARENA_BYTES);
    command_parse(&lint_argp, argc, argv, &options);
    struct result result =
        scenarios_load(options.paths, options.path_count, &arena, &scenarios, &why);
    int code = result_failed(result) ? command_fail(result, &why) : EXIT_MET;
    for (size_t i = 0; code == EXIT_MET && i < scenarios.count; i++) {
        struct text print = text_over(print_memory, sizeof print_memory);
        if (options.canonical) {
            scenario_print(&scenarios.list[i], &print);
            printf("%s%s", i > 0 ? "---\n" : "", print.data);
        } else {
            printf("ok    %s\n", scenarios.list[i].path);
        }
    }
    arena_release(&arena);
    return code;
}
