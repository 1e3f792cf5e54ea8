/* plan.c: `picklock plan`: what a scenario will do with a seed; nothing is started. */
#include "cli/command.h"
#include "cli/files.h"
#include "cli/seed.h"

#include <inttypes.h>
#include <stdio.h>

enum { PLAN_ARENA_BYTES = 512 << 20 };

struct plan_options {
    char *paths[FILES_SCENARIOS_MAX];
    size_t path_count;
    uint64_t seed;
};

static const struct argp_option plan_option_table[] = {
    {"seed", 's', "N", 0, "seed of every draw: a number or a git commit hash (default 1)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t plan_option(int key, char *arg, struct argp_state *state)
{
    struct plan_options *options = state->input;
    if (key == 's') {
        if (!seed_parse(arg, &options->seed)) {
            argp_error(state, "\"%s\" is no seed: a number or a git commit hash", arg);
        }
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

static const struct argp plan_argp = {
    plan_option_table,
    plan_option,
    "[FILE or FOLDER]...",
    "Print what each scenario will do with this seed: random faults are drawn, names of "
    "partitions resolved. Nothing is started.",
    NULL,
    NULL,
    NULL};

int command_plan(int argc, char **argv)
{
    static struct plan_options options = {.seed = 1};
    static struct plan plan;
    static char print_memory[256 * 1024];
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct scenario_list scenarios;
    struct arena arena = arena_empty(PLAN_ARENA_BYTES);
    command_parse(&plan_argp, argc, argv, &options);
    struct result result =
        scenarios_load(options.paths, options.path_count, &arena, &scenarios, &why);
    int code = result_failed(result) ? command_fail(result, &why) : EXIT_MET;
    for (size_t i = 0; code == EXIT_MET && i < scenarios.count; i++) {
        struct text print = text_over(print_memory, sizeof print_memory);
        scenario_plan(&scenarios.list[i], options.seed, 1000000, &plan);
        scenario_print(&plan.scenario, &print);
        printf("%s# %s with seed %" PRIu64 "\n%s", i > 0 ? "---\n" : "", scenarios.list[i].path,
               options.seed, print.data);
    }
    arena_release(&arena);
    return code;
}
