/*
 * command.h: the subcommands of picklock, one file each, and what they share.
 *
 * Exit codes: 0 every expectation met; 1 a violation or an unmet expectation; 2 unknown;
 * 3 the environment failed; 4 bad scenario or usage; 130 interrupted. Results go to stdout, all
 * else to stderr. The rows of the table and their argp tables are what parses, what --help prints,
 * and what the manual and the completions are made of.
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
    const struct argp *argp;
    int (*run)(int argc, char **argv);
};

struct exit_code {
    int code;
    const char *meaning;
};

size_t subcommand_count(void);
const struct subcommand *subcommand_at(size_t index);

size_t exit_code_count(void);
const struct exit_code *exit_code_at(size_t index);

/* Find the subcommand that argv[1] names, hand over, and give the exit code. */
int command_dispatch(int argc, char **argv);

extern const struct argp run_argp;
extern const struct argp sweep_argp;
extern const struct argp adapter_test_argp;
extern const struct argp check_argp;
extern const struct argp merge_argp;
extern const struct argp show_argp;
extern const struct argp replay_argp;
extern const struct argp convert_argp;
extern const struct argp init_argp;
extern const struct argp explain_argp;
extern const struct argp lint_argp;
extern const struct argp plan_argp;
extern const struct argp list_argp;
extern const struct argp schema_argp;
extern const struct argp doctor_argp;
extern const struct argp bundle_argp;
extern const struct argp node_argp;
extern const struct argp clean_argp;
extern const struct argp manual_argp;
extern const struct argp completion_argp;

int command_run(int argc, char **argv);
int command_sweep(int argc, char **argv);
int command_adapter_test(int argc, char **argv);
int command_check(int argc, char **argv);
int command_merge(int argc, char **argv);
int command_show(int argc, char **argv);
int command_replay(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_init(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_lint(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_list(int argc, char **argv);
int command_schema(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_bundle(int argc, char **argv);
int command_node(int argc, char **argv);
int command_clean(int argc, char **argv);
int command_manual(int argc, char **argv);
int command_completion(int argc, char **argv);

/* Parse with argp; a usage error prints one line and exits with 4. */
void command_parse(const struct argp *argp, int argc, char **argv, void *input);

/* Print "picklock: SENTENCE" on stderr and give the exit code that belongs to the result. */
int command_fail(struct result result, const struct text *why);

/* Path of this very program, for children. */
const char *program_path(void);

/* How it was called, as a shell takes it, for a line to be typed again: by the path that was
 * typed, or "picklock" where it was found by its name. */
const char *program_called(void);

#endif
