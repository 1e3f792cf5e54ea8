/* command.c: the table of subcommands, and what they share. */
#include "cli/command.h"

#include "base/error.h"
#include "base/foreign.h"
#include "base/version.h"
#include "cli/again.h"
#include "cli/options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct subcommand subcommands[] = {
    {"run", "run scenarios, check them, compare with what they expect", &run_argp, command_run},
    {"sweep", "try every single fault at every point of a lock's protocol", &sweep_argp,
     command_sweep},
    {"adapter-test", "say what a lock library was seen to do", &adapter_test_argp,
     command_adapter_test},
    {"check", "judge a history recorded anywhere", &check_argp, command_check},
    {"merge", "put together what the shards of a search left", &merge_argp, command_merge},
    {"show", "tell the story of a run or a history", &show_argp, command_show},
    {"replay", "run a stored failure again, byte for byte", &replay_argp, command_replay},
    {"convert", "write a history in another format, such as Jepsen's EDN", &convert_argp,
     command_convert},
    {"init", "write a first scenario, to be changed", &init_argp, command_init},
    {"explain", "say what a word of scenarios and verdicts means", &explain_argp, command_explain},
    {"lint", "check scenario files without running them", &lint_argp, command_lint},
    {"plan", "print what a scenario will do, with a seed", &plan_argp, command_plan},
    {"list", "list scenarios, checks, faults, algorithms or probe points", &list_argp,
     command_list},
    {"schema", "print the JSON schema of scenario files, for editors", &schema_argp,
     command_schema},
    {"doctor", "say what this machine can run, and how to get what is missing", &doctor_argp,
     command_doctor},
    {"bundle", "pack a kept run into one file", &bundle_argp, command_bundle},
    {"node", "look after one node of a cluster, as a harness orders", &node_argp, command_node},
    {"clean", "remove what a killed run may have left behind", &clean_argp, command_clean},
    {"completion", "print the completions of this command for a shell", &completion_argp,
     command_completion},
    {"manual", "print a page of the manual", &manual_argp, command_manual},
};

static const struct exit_code exit_codes[] = {
    {EXIT_MET, "every expectation met; a history without a violation"},
    {EXIT_VIOLATION, "a violation, an unmet expectation, or two worlds that disagree"},
    {EXIT_UNKNOWN, "unknown: nothing was checked, a fault did not strike, or a limit was reached. "
                   "Never a pass"},
    {EXIT_ENVIRONMENT,
     "the environment failed: a server is missing, a disk is full, an adapter broke"},
    {EXIT_USAGE, "a bad scenario, history or command line"},
    {EXIT_INTERRUPTED, "interrupted; nothing was left running"},
};

static const char version[] = "picklock " PICKLOCK_VERSION;

size_t exit_code_count(void)
{
    return sizeof exit_codes / sizeof exit_codes[0];
}

const struct exit_code *exit_code_at(size_t index)
{
    return &exit_codes[index];
}

size_t subcommand_count(void)
{
    return sizeof subcommands / sizeof subcommands[0];
}

const struct subcommand *subcommand_at(size_t index)
{
    return &subcommands[index];
}

static void print_help(FILE *stream)
{
    fprintf(stream,
            "picklock %s: tries to pick distributed locks\n\n"
            "usage: picklock COMMAND [OPTION]... [ARGUMENT]...\n\n",
            PICKLOCK_VERSION);
    for (size_t i = 0; i < subcommand_count(); i++) {
        fprintf(stream, "  %-10s %s\n", subcommands[i].name, subcommands[i].summary);
    }
    fprintf(stream,
            "\n`picklock COMMAND --help` tells more. Exit codes: 0 as expected, 1 violation "
            "or\nunmet expectation, 2 unknown, 3 environment failed, 4 bad scenario or "
            "usage,\n130 interrupted.\n");
}

static int unknown_command(const char *name)
{
    fprintf(stderr, "picklock: unknown command \"");
    foreign_print_line(stderr, name);
    fprintf(stderr, "\"");
    for (size_t i = 0; i < subcommand_count(); i++) {
        if (text_distance(name, subcommands[i].name) <= 2) {
            fprintf(stderr, "; did you mean \"%s\"?", subcommands[i].name);
            break;
        }
    }
    fprintf(stderr, " `picklock --help` lists the commands\n");
    return EXIT_USAGE;
}

const char *program_path(void)
{
    static char path[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
    path[bytes > 0 ? bytes : 0] = '\0';
    return path;
}

/* What the line began with that started the program. */
static const char *called = "picklock";

const char *program_called(void)
{
    static char memory[4 * PATH_MAX];
    struct text text = text_over(memory, sizeof memory);
    shell_word(&text, strchr(called, '/') != NULL ? called : "picklock");
    return memory;
}

void command_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    options_check(argp, argc, argv);
    argp_err_exit_status = EXIT_USAGE;
    argp_program_version = version;
    error_t error = argp_parse(argp, argc, argv, 0, NULL, input);
    if (error != 0) {
        fprintf(stderr, "picklock: %s\n", strerror(error));
        exit(EXIT_USAGE);
    }
}

int command_fail(struct result result, const struct text *why)
{
    const char *sentence = why->length > 0 ? why->data : error_sentence(result.code);
    fprintf(stderr, "picklock: ");
    foreign_print_line(stderr, sentence);
    fprintf(stderr, "\n");
    return error_exit_code(result.code);
}

int command_dispatch(int argc, char **argv)
{
    if (argc > 0) {
        called = argv[0];
    }
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return EXIT_MET;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("%s\n", version);
        return EXIT_MET;
    }
    for (size_t i = 0; i < subcommand_count(); i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0) {
            static char name[64];
            snprintf(name, sizeof name, "picklock %s", subcommands[i].name);
            argv[1] = name;
            return subcommands[i].run(argc - 1, argv + 1);
        }
    }
    return unknown_command(argv[1]);
}
