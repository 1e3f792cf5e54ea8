/* manual.c: `picklock manual`: pages of the manual, from the tables that parse. */
#include "cli/manual.h"

#include "cli/command.h"
#include "cli/mdoc.h"
#include "cli/options.h"
#include "cli/words.h"

#include <stdio.h>
#include <string.h>

enum { TERM_BYTES = 32 };

static error_t manual_option(int key, char *arg, struct argp_state *state)
{
    const char **page = state->input;
    if (key != ARGP_KEY_ARG) {
        return ARGP_ERR_UNKNOWN;
    }
    if (state->arg_num > 0) {
        options_refuse(state, "one page at a time");
    }
    if (words_index("picklock manual", arg) < 0) {
        options_refuse_argument(state, "picklock manual", arg);
    }
    *page = arg;
    return 0;
}

const struct argp manual_argp = {
    NULL,
    manual_option,
    "[picklock|picklock-scenario|picklock-history]",
    "Print a page of the manual, as `man` reads it: `picklock manual | man -l -`. Without a name: "
    "the page of the command.",
    NULL,
    NULL,
    NULL};

struct note {
    const char *term;
    const char *meaning;
};

static const struct note environment[] = {
    {"NO_COLOR", "no colour, unless `--color` says otherwise"},
    {"FORCE_COLOR", "colour, also where the output is no terminal"},
    {"TERM", "a terminal called dumb gets no colour"},
    {"GITHUB_ACTIONS", "where it is set, what is not as expected becomes an annotation"},
};

static const struct note files[] = {
    {"scenarios/", "the scenarios that are run where none is named; what is not here is looked for "
                   "in PREFIX/share/picklock/scenarios"},
    {"picklock-out/NAME/SEED/WORLD/",
     "a kept run: its history, page, scenario, logs and the command that runs it again"},
    {"picklock-out/latest", "the newest of them"},
};

static const struct note examples[] = {
    {"picklock run", "every scenario, in the simulator"},
    {"picklock run pause-after-granted --world sim,real", "one of them, also on real servers"},
    {"picklock run random --seeds 1..100000", "a search with random faults"},
    {"picklock check history.jsonl", "judge a history recorded elsewhere"},
    {"picklock show picklock-out/latest", "the story of the newest run that was kept"},
};

static void print_notes(const struct note *notes, size_t count)
{
    mdoc_list_begin();
    for (size_t i = 0; i < count; i++) {
        mdoc_item(notes[i].term);
        mdoc_text(notes[i].meaning);
    }
    mdoc_list_end();
}

#define NOTES(notes) notes, sizeof(notes) / sizeof(notes)[0]

static void manual_commands(void)
{
    for (size_t i = 0; i < subcommand_count(); i++) {
        const struct subcommand *command = subcommand_at(i);
        mdoc_subsection(command->name);
        printf(".Nm\n.Cm %s\n.Op Ar option ...\n", command->name);
        if (command->argp->args_doc != NULL) {
            printf(".Ar %s\n", command->argp->args_doc);
        }
        printf(".Pp\n");
        mdoc_text(command->argp->doc);
        mdoc_options(command->argp->options);
    }
}

static void manual_exit_codes(void)
{
    mdoc_list_begin();
    for (size_t i = 0; i < exit_code_count(); i++) {
        char term[TERM_BYTES];
        (void)snprintf(term, sizeof term, "%d", exit_code_at(i)->code);
        mdoc_item(term);
        mdoc_text(exit_code_at(i)->meaning);
    }
    mdoc_list_end();
    mdoc_text("Fail beats unknown, unknown beats pass; a violation beats an environment that "
              "failed.");
}

static void manual_picklock(void)
{
    mdoc_begin("PICKLOCK", 1, "picklock", "tries to pick distributed locks");
    mdoc_section("SYNOPSIS");
    printf(".Nm\n.Ar command\n.Op Ar option ...\n.Op Ar argument ...\n");
    mdoc_section("DESCRIPTION");
    mdoc_text("Runs the real code of a lock inside many clients, pauses them in the worst places, "
              "skews clocks, restarts and partitions the lock servers, records everything that "
              "happened, and decides from the recording whether two clients ever held the lock at "
              "once: and if so, why, with one command that makes it happen again.");
    printf(".Pp\n");
    mdoc_text("A scenario is one YAML file: the set-up, the faults, and the verdict that is "
              "expected of every check. It runs in a deterministic simulator and on real servers. "
              "Results go to standard output, all else to standard error.");
    mdoc_section("COMMANDS");
    manual_commands();
    mdoc_section("ENVIRONMENT");
    print_notes(NOTES(environment));
    mdoc_section("FILES");
    print_notes(NOTES(files));
    mdoc_section("EXIT STATUS");
    manual_exit_codes();
    mdoc_section("EXAMPLES");
    print_notes(NOTES(examples));
    mdoc_section("SEE ALSO");
    printf(".Xr lockcore 3 ,\n.Xr picklock-history 5 ,\n.Xr picklock-scenario 5\n");
}

int command_manual(int argc, char **argv)
{
    const char *page = words_at("picklock manual", 0);
    command_parse(&manual_argp, argc, argv, &page);
    switch (words_index("picklock manual", page)) {
    case 0:
        manual_picklock();
        break;
    case 1:
        manual_scenario();
        break;
    default:
        manual_history();
        break;
    }
    return EXIT_MET;
}
