/* init.c: `picklock init`: writes a first scenario, for somebody to change. */
#include "cli/command.h"
#include "cli/options.h"

#include "base/foreign.h"
#include "harness/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char first[] =
    "version: 1\n"
    "name: %s\n"
    "about: >\n"
    "  Client 1 stops for longer than its ttl after it was granted the lock, then writes.\n"
    "  Client 2 is granted the lock meanwhile, and still in its section.\n"
    "\n"
    "# What is under test: `picklock list algorithms` names the locks that are built in.\n"
    "# A library of yours runs the same file behind an adapter: `picklock run %s --adapter CMD`.\n"
    "lock: {algorithm: redlock, ttl: 2s, node_timeout: 300ms}\n"
    "nodes: {count: 5}\n"
    "clients: {count: 2, hold: 20ms}\n"
    "\n"
    "# What goes wrong, and when. Order by what clients do, not by the clock: `on` begins a fault\n"
    "# where a client stands, `until` ends it. `picklock list probes` and `picklock list faults`\n"
    "# name places and kinds; `picklock explain pause` says what one does.\n"
    "faults:\n"
    "  - {at: 0s, do: pause, target: client 2, until: client 1 after_granted}\n"
    "  - {on: client 1 after_granted, do: pause, until: client 2 after_write}\n"
    "  - {on: client 2 after_write, do: pause, until: client 1 after_write}\n"
    "\n"
    "# What each check must say. A check that is not named here must not fail. `picklock run FILE\n"
    "# --update-expect` writes down what came of it.\n"
    "expect:\n"
    "  exclusion: pass\n"
    "  section_exclusion: {verdict: fail, blame: assumption}\n"
    "  store_integrity: {verdict: fail, blame: assumption}\n"
    "  loss_notice: {verdict: fail, blame: assumption}\n";

static error_t init_option(int key, char *arg, struct argp_state *state)
{
    const char **path = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*path != NULL) {
            options_refuse(state, "one file at a time");
        }
        *path = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp init_argp = {
    NULL,
    init_option,
    "[FILE]",
    "Write a first scenario (default first.yaml) that runs as it is, to be changed. A file that is "
    "there is left alone.",
    NULL,
    NULL,
    NULL};

/* A scenario is named as its file: "dir/first.yaml" holds "first". False if it cannot be. */
static bool init_name(const char *path, char name[SCENARIO_NAME_BYTES])
{
    const char *base = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t bytes = dot != NULL ? (size_t)(dot - base) : 0;
    bool good = dot != NULL && strcmp(dot, ".yaml") == 0 && scenario_is_name(base, bytes);
    (void)snprintf(name, SCENARIO_NAME_BYTES, "%.*s", good ? (int)bytes : 0, base);
    return good;
}

int command_init(int argc, char **argv)
{
    const char *path = NULL;
    char name[SCENARIO_NAME_BYTES];
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    command_parse(&init_argp, argc, argv, &path);
    path = path != NULL ? path : "first.yaml";
    if (!init_name(path, name)) {
        text_add(&why, "%s: a scenario's file is called NAME.yaml, the name " SCENARIO_NAME_IS,
                 path);
        return command_fail(result_error(ERROR_USAGE), &why);
    }
    FILE *file = fopen(path, "wxe");
    bool written = file != NULL && fprintf(file, first, name, path) > 0;
    int refused = errno;
    if (file != NULL && fclose(file) != 0) {
        written = false;
        refused = errno;
    }
    if (!written) {
        if (file != NULL) {
            (void)unlink(path); /* it is ours: it was not there before */
        }
        text_add(&why, "%s: %s; nothing was changed", path, strerror(refused));
        return command_fail(result_error(refused == EEXIST ? ERROR_USAGE : ERROR_IO), &why);
    }
    printf("wrote ");
    foreign_print_line(stdout, path);
    printf("; run it: %s run ", program_called());
    foreign_print_line(stdout, path);
    printf("\n");
    return EXIT_MET;
}
