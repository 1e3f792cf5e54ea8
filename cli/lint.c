/* lint.c: `picklock lint`: checks scenario files without running them. */
#include "cli/command.h"
#include "cli/each.h"

struct lint_options {
    struct scenario_paths paths;
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
    return scenario_paths_option(&options->paths, key, arg, state);
}

const struct argp lint_argp = {
    lint_option_table,
    lint_option,
    "[FILE or FOLDER]...",
    "Check scenario files and list every problem of each, with its place.",
    NULL,
    NULL,
    NULL};

static void lint_print(const struct scenario *scenario, size_t i, const void *options,
                       struct text *text)
{
    const struct lint_options *lint = options;
    if (!lint->canonical) {
        text_add(text, "ok    %s\n", scenario->path);
        return;
    }
    text_add(text, "%s", i > 0 ? "---\n" : "");
    scenario_print(scenario, text);
}

int command_lint(int argc, char **argv)
{
    static struct lint_options options;
    command_parse(&lint_argp, argc, argv, &options);
    return each_scenario(&options.paths, lint_print, &options);
}
