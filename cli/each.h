/* each.h: commands that print something of each scenario that their arguments name. */
#ifndef CLI_EACH_H
#define CLI_EACH_H

#include "cli/files.h"

#include <argp.h>

/* What a command line names: files and folders. */
struct scenario_paths {
    size_t count;
    char *list[FILES_SCENARIOS_MAX]; /* borrowed */
};

/* Take an argument of argp as a path, for run as well; ARGP_ERR_UNKNOWN for every other key. */
error_t scenario_paths_option(struct scenario_paths *paths, int key, char *arg,
                              struct argp_state *state);

/*
 * Read the scenarios and print on stdout what `print` makes of each. Gives the exit code; what is
 * wrong with the files has been said on stderr.
 *
 *   print    in   Adds text for the i-th scenario, counted from 0.
 *   options  in   Handed on to it.
 */
int each_scenario(const struct scenario_paths *paths,
                  void (*print)(const struct scenario *scenario, size_t i, const void *options,
                                struct text *text),
                  const void *options);

#endif
