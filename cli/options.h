/*
 * options.h: what a command line says that it must not say: one sentence for people, and exit
 * code 4.
 *
 *     picklock run: --wrold is no option of it; did you mean --world?
 *     picklock run: --world: "mon" is none of sim, real, sim,real; did you mean "real"?
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <argp.h>

/* Refuse options that the command does not have, and values that are missing or too much; returns
 * if there are none. argv[0] names the command. */
void options_check(const struct argp *argp, int argc, char **argv);

/* Refuse the value of an option, by its name and with what it takes. */
_Noreturn void options_refuse_value(const struct argp_state *state, int key, const char *value);

/* The same of an argument, whose words stand in words.h under `command`, "picklock list". */
_Noreturn void options_refuse_argument(const struct argp_state *state, const char *command,
                                       const char *value);

/* Refuse the command line with a sentence. What it holds is shown without being obeyed. */
_Noreturn __attribute__((format(printf, 2, 3))) void options_refuse(const struct argp_state *state,
                                                                    const char *format, ...);

#endif
