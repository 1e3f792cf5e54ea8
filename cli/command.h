/*
 * command.h: the subcommands of picklock, one file each, and what they share.
 *
 * Exit codes: 0 every expectation met; 1 a violation or an unmet expectation; 2 unknown;
 * 3 the environment failed; 4 bad scenario or usage; 130 interrupted. Results go to stdout, all
 * else to stderr.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/result.h"
#include "base/text.h"

#include <argp.h>
#include <stddef.h>

enum {
    EXIT_MET = 0,
    EXIT_VIOLATION = 1,
    EXIT_UNKNOWN = 2,
    EXIT_ENVIRONMENT = 3,
    EXIT_USAGE = 4,
    EXIT_INTERRUPTED = 130,
};

struct subcommand {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

size_t subcommand_count(void);
const struct subcommand *subcommand_at(size_t index);

int command_run(int argc, char **argv);
int command_check(int argc, char **argv);
int command_show(int argc, char **argv);
int command_replay(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_lint(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_list(int argc, char **argv);
int command_schema(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_clean(int argc, char **argv);

/* Parse with argp; a usage error prints one line and exits with 4. */
void command_parse(const struct argp *argp, int argc, char **argv, void *input);

/* Print "picklock: SENTENCE" on stderr and give the exit code that belongs to the result. */
int command_fail(struct result result, const struct text *why);

/* Path of this very program, for children. */
const char *program_path(void);

#endif
