/* lint.c: `picklock lint`: checks scenario files without running them. */
#include "cli/command.h"
#include "cli/each.h"

#include "base/duration.h"
#include "base/foreign.h"

#include <stdio.h>
#include <string.h>

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

static bool expects_fail(const struct scenario *scenario)
{
    for (size_t i = 0; i < scenario->expect_count; i++) {
        if (strcmp(scenario->expects[i].verdict, "fail") == 0) {
            return true;
        }
    }
    return false;
}

/* Where a client is by the clock's time is luck: a fail that a fault is to bring about hangs on it.
 */
static void lint_races(const struct scenario *scenario)
{
    for (size_t k = 0; expects_fail(scenario) && k < scenario->fault_count; k++) {
        const struct fault *fault = &scenario->faults[k];
        if (fault->start.kind != TRIGGER_TIME || fault->start.at_ns == 0) {
            continue;
        }
        char memory[64];
        struct text at = text_over(memory, sizeof memory);
        duration_print(fault->start.at_ns, &at);
        foreign_print_line(stderr, scenario->path);
        fprintf(stderr,
                ":%u:%u: warning: this %s begins at %s, and a check is expected to fail: where the "
                "clients are by then is luck. Let it begin `on` what a client does; `picklock run "
                "FILE --stress --seeds 1..1000` shows what hangs on it\n",
                fault->line, fault->column, fault_kind_name((enum fault_kind)fault->kind), at.data);
    }
}

static void lint_print(const struct scenario *scenario, size_t i, const void *options,
                       struct text *text)
{
    const struct lint_options *lint = options;
    lint_races(scenario);
    if (!lint->canonical) {
        text_add(text, "ok    ");
        text_add_foreign(text, scenario->path, strlen(scenario->path));
        text_add(text, "\n");
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
