/* clean.c: end what runs left behind whose process was killed. */
#include "harness/real/process/clean.h"

#include "harness/real/process/guard.h"
#include "harness/real/process/proc.h"
#include "harness/real/process/process.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void clean_run(const char *run, struct clean_report *report)
{
    char state[GUARD_PATH_BYTES + 16];
    char owner[GUARD_PATH_BYTES + 16];
    (void)snprintf(owner, sizeof owner, "%s/state/owner", run);
    bool owned = access(owner, F_OK) == 0; /* a run says so before it starts anything */
    if (!owned || guard_owner_alive(run)) {
        return;
    }
    report->processes_killed += guard_kill_by_environment(run);
    (void)snprintf(state, sizeof state, "%s/state", run);
    if (access(state, F_OK) == 0) {
        guard_remove_tree(state);
        report->directories_removed++;
    }
}

static void clean_root(const char *root, struct clean_report *report)
{
    static const char *const below[] = {"/state", "/*/state", "/*/*/state", "/*/*/*/state"};
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        char pattern[GUARD_PATH_BYTES + 16];
        glob_t found;
        (void)snprintf(pattern, sizeof pattern, "%s%s/owner", root, below[i]);
        if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) {
            continue;
        }
        for (size_t j = 0; j < found.gl_pathc; j++) {
            char *run = found.gl_pathv[j];
            run[strlen(run) - strlen("/state/owner")] = 0;
            char *absolute = realpath(run, NULL);
            if (absolute != NULL) {
                clean_run(absolute, report);
            }
            free(absolute);
        }
        globfree(&found);
    }
}

static void clean_one(pid_t pid, void *data)
{
    char run[GUARD_PATH_BYTES];
    if (proc_variable(pid, PROCESS_RUN_VARIABLE, run, sizeof run) == PROC_VARIABLE_SET) {
        clean_run(run, data);
    }
}

void clean_leftovers(const char *root, struct clean_report *report)
{
    memset(report, 0, sizeof *report);
    proc_processes(clean_one, report);
    if (root != NULL) {
        clean_root(root, report);
    }
}
