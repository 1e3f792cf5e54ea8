/* plan.c: `picklock plan`: what a scenario will do with a seed; nothing is started. */
#include "base/foreign.h"
#include "cli/command.h"
#include "cli/each.h"
#include "cli/options.h"
#include "cli/seed.h"

#include <inttypes.h>
#include <string.h>

struct plan_options {
    struct scenario_paths paths;
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
            options_refuse_value(state, key, arg);
        }
        return 0;
    }
    return scenario_paths_option(&options->paths, key, arg, state);
}

const struct argp plan_argp = {
    plan_option_table,
    plan_option,
    "[FILE or FOLDER]...",
    "Print what each scenario will do with this seed: random faults are drawn, names of "
    "partitions resolved. Nothing is started.",
    NULL,
    NULL,
    NULL};

static void plan_print(const struct scenario *scenario, size_t i, const void *options,
                       struct text *text)
{
    static struct plan plan;
    const struct plan_options *asked = options;
    scenario_plan(scenario, asked->seed, 1000000, &plan);
    text_add(text, "%s# ", i > 0 ? "---\n" : "");
    text_add_foreign(text, scenario->path, strlen(scenario->path));
    text_add(text, " with seed %" PRIu64 "\n", asked->seed);
    scenario_print(&plan.scenario, text);
}

int command_plan(int argc, char **argv)
{
    static struct plan_options options = {.seed = 1};
    command_parse(&plan_argp, argc, argv, &options);
    return each_scenario(&options.paths, plan_print, &options);
}
