/* explain.c: `picklock explain`: what the words of a scenario and of a verdict mean, by docs. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/pages.h"

#include "base/foreign.h"
#include "base/text.h"
#include "checker/check.h"
#include "harness/scenario.h"
#include "history/event.h"
#include "lockcore/algorithms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static error_t explain_option(int key, char *arg, struct argp_state *state)
{
    const char **name = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*name != NULL) {
            options_refuse(state, "one at a time");
        }
        *name = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        options_refuse(
            state,
            "what? A check, a fault, a lock, a probe point, a key of scenario "
            "files, a word of adapters or of histories, or an exit code: `picklock list checks`, "
            "`list faults`");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp explain_argp = {
    NULL,
    explain_option,
    "WORD",
    "Say what a check asks and whom it blames, what a fault does in each world, what a lock, a "
    "probe point, a key of scenario files or a word of the adapter protocol or of histories is, or "
    "what an exit code means.",
    NULL,
    NULL,
    NULL};

static bool explain_code(const char *name)
{
    char *end;
    long code = strtol(name, &end, 10);
    for (size_t i = 0; *end == '\0' && end != name && i < exit_code_count(); i++) {
        if (exit_code_at(i)->code == code) {
            printf("exit code %ld: %s.\nFail beats unknown, unknown beats pass; a violation beats "
                   "an environment that failed.\n",
                   code, exit_code_at(i)->meaning);
            return true;
        }
    }
    return false;
}

/* Keep `word` if none before was nearer to `name`. */
static void nearer(const char *name, const char *word, const char **best, size_t *distance)
{
    size_t its = text_distance(name, word);
    if (its < *distance) {
        *best = word;
        *distance = its;
    }
}

static const char *explain_nearest(const char *name)
{
    const char *best = NULL;
    size_t distance = strlen(name) < 4 ? strlen(name) : 4;
    for (size_t i = 0; i < check_count(); i++) {
        nearer(name, check_at(i)->name, &best, &distance);
    }
    for (int kind = FAULT_NONE + 1; kind < FAULT_KINDS; kind++) {
        nearer(name, fault_kind_name((enum fault_kind)kind), &best, &distance);
    }
    for (int point = 0; point < PROBE_POINTS; point++) {
        nearer(name, probe_point_name((enum probe_point)point), &best, &distance);
    }
    for (lock_algorithm_index i = 0; i < lock_algorithm_count(); i++) {
        nearer(name, lock_algorithm_at(i)->name, &best, &distance);
    }
    for (int word = 0; word < HISTORY_DECLARES; word++) {
        nearer(name, history_declarations.words[word], &best, &distance);
    }
    return best;
}

int command_explain(int argc, char **argv)
{
    const char *name = NULL;
    command_parse(&explain_argp, argc, argv, &name);
    bool told = explain_code(name) || pages_print_part(PAGES_CHECKS, "### ", name) ||
                pages_print_part(PAGES_FAULTS, "## ", name);
    for (int page = 0; page < PAGES_COUNT; page++) {
        told = pages_print_rows((enum pages)page, name) || told;
    }
    if (told) {
        return EXIT_MET;
    }
    const char *best = explain_nearest(name);
    fprintf(stderr, "picklock explain: \"");
    foreign_print_line(stderr, name);
    fprintf(stderr, "\" is no check, fault, lock, probe point, key of scenario files, word of "
                    "adapters or histories, or exit code");
    if (best != NULL) {
        fprintf(stderr, "; did you mean \"%s\"?\n", best);
    } else {
        fprintf(stderr, "; `picklock list checks`, `list faults`, `list algorithms` and `list "
                        "probes` name most of them\n");
    }
    return EXIT_USAGE;
}
