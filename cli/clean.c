/* clean.c: `picklock clean`: removes what a killed run may have left behind. */
#include "cli/command.h"
#include "cli/results.h"

#include "base/foreign.h"
#include "harness/real/process/clean.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct clean_options {
    const char *out;
    bool all;
};

static const struct argp_option clean_option_table[] = {
    {"out", 'o', "DIR", 0, "folder of the results (default $PICKLOCK_OUT, or picklock-out)", 0},
    {"all", 'a', NULL, 0, "remove every kept run in it as well", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t clean_option(int key, char *arg, struct argp_state *state)
{
    struct clean_options *options = state->input;
    switch (key) {
    case 'o':
        options->out = arg;
        return 0;
    case 'a':
        options->all = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp clean_argp = {
    clean_option_table,
    clean_option,
    NULL,
    "End processes and remove folders of runs whose picklock was killed. Runs that are alive are "
    "left alone.",
    NULL,
    NULL,
    NULL};

int command_clean(int argc, char **argv)
{
    struct clean_options options = {.out = results_default()};
    struct clean_report report = {0};
    command_parse(&clean_argp, argc, argv, &options);
    clean_leftovers(options.out, &report);
    uint32_t folders = results_sweep(options.out);
    printf("ended %d processes, removed %u folders of runs that were killed",
           report.processes_killed, folders);
    if (options.all) {
        printf(", and %u that were kept in ", results_remove_all(options.out));
        foreign_print_line(stdout, options.out);
        if (access(options.out, F_OK) == 0) {
            printf("; what else is there is not picklock's and stays");
        }
    }
    printf("\n");
    return EXIT_MET;
}
