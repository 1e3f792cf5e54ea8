/* clean.c: `picklock clean`: removes what a killed run may have left behind. */
#include "cli/command.h"
#include "cli/files.h"

#include "harness/real/process/clean.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct clean_options {
    const char *out;
    bool all;
};

static const struct argp_option clean_option_table[] = {
    {"out", 'o', "DIR", 0, "folder of the results (default picklock-out)", 0},
    {"all", 'a', NULL, 0, "remove that folder as well, with every kept history", 0},
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

/* Folders in OUT/.running are named after the process that runs there. */
static int clean_running(const char *out)
{
    char running[FILES_PATH_BYTES];
    char path[2 * FILES_PATH_BYTES];
    int removed = 0;
    (void)snprintf(running, sizeof running, "%s/.running", out);
    DIR *folder = opendir(running);
    if (folder == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        bool dead = pid > 0 && *end == '-' && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
        if (dead) {
            (void)snprintf(path, sizeof path, "%s/%s", running, entry->d_name);
            folder_remove(path);
            removed++;
        }
    }
    (void)closedir(folder);
    (void)rmdir(running);
    return removed;
}

int command_clean(int argc, char **argv)
{
    struct clean_options options = {.out = "picklock-out"};
    struct clean_report report = {0};
    command_parse(&clean_argp, argc, argv, &options);
    clean_leftovers(options.out, &report);
    int folders = clean_running(options.out);
    if (options.all) {
        folder_remove(options.out);
    }
    printf("ended %d processes, removed %d folders of runs that were killed%s%s\n",
           report.processes_killed, folders, options.all ? ", and " : "",
           options.all ? options.out : "");
    return EXIT_MET;
}
