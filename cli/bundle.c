/* bundle.c: `picklock bundle`: packs a kept run into one file that reproduces it elsewhere. */
#include "base/arena.h"
#include "cli/command.h"
#include "cli/crate.h"
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bundle_options {
    const char *folder;
    const char *out;
};

static const struct argp_option bundle_option_table[] = {
    {"out", 'o', "FILE", 0, "write there, not to NAME-SEED-WORLD.tar.zst", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t bundle_option(int key, char *arg, struct argp_state *state)
{
    struct bundle_options *options = state->input;
    switch (key) {
    case 'o':
        options->out = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->folder != NULL) {
            options_refuse(state, "one run at a time");
        }
        options->folder = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        options_refuse(state, "which run? The folder of a kept one");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp bundle_argp = {
    bundle_option_table,
    bundle_option,
    "FOLDER",
    "Pack a kept run: its history, scenario, logs and page, the versions of what took part, and "
    "the verdict. `picklock replay` takes the file, on another machine as well.",
    NULL,
    NULL,
    NULL};

/* Where the history lies: the folder itself, or the one world in it that was kept. */
static struct result bundle_find(const char *folder, char *found, struct text *why)
{
    static const char *const below[] = {"", "/real", "/sim"};
    char path[FILES_PATH_BYTES];
    int there = 0;
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        (void)snprintf(path, sizeof path, "%s%s/history.jsonl", folder, below[i]);
        if (access(path, R_OK) == 0) {
            (void)snprintf(found, FILES_PATH_BYTES, "%s%s", folder, below[i]);
            there++;
        }
    }
    if (there != 1) {
        text_add(why, "%s: %s", folder,
                 there == 0 ? "there is no history.jsonl: it is no folder of a kept run"
                            : "both worlds were kept there: name one of them");
        return result_error(ERROR_USAGE);
    }
    return RESULT_OK;
}

/* ".../NAME/SEED/WORLD" as NAME-SEED-WORLD.tar.zst. */
static void bundle_name(const char *folder, struct text *name)
{
    char whole[FILES_PATH_BYTES];
    char *full = realpath(folder, NULL);
    (void)snprintf(whole, sizeof whole, "%s", full != NULL ? full : folder);
    memory_release(full);
    const char *part = whole + strlen(whole);
    for (int slashes = 0; part > whole && slashes < 3;) {
        part--;
        slashes += *part == '/' ? 1 : 0;
    }
    for (part += *part == '/' ? 1 : 0; *part != '\0'; part++) {
        text_add(name, "%c", *part == '/' ? '-' : *part);
    }
    text_add(name, ".tar.zst");
}

int command_bundle(int argc, char **argv)
{
    struct bundle_options options = {0};
    char folder[FILES_PATH_BYTES];
    char name_memory[FILES_PATH_BYTES];
    char memory[2 * WHY_BYTES];
    struct text name = text_over(name_memory, sizeof name_memory);
    struct text why = text_over(memory, sizeof memory);
    command_parse(&bundle_argp, argc, argv, &options);
    struct result result = bundle_find(options.folder, folder, &why);
    if (!result_failed(result)) {
        bundle_name(folder, &name);
        result = crate_write(folder, options.out != NULL ? options.out : name.data, &why);
    }
    if (result_failed(result)) {
        return command_fail(result, &why);
    }
    printf("%s\n", options.out != NULL ? options.out : name.data);
    return EXIT_MET;
}
