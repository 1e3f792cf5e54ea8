/* watch.c: `picklock run --watch`: everything again whenever a scenario file changes. */
#include "cli/watch.h"

#include "cli/command.h"
#include "cli/hash.h"

#include <errno.h>
#include <fts.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_LOOK_NS = 200000000 };

static volatile sig_atomic_t watch_stopped;

static void watch_on_signal(int number)
{
    watch_stopped = number;
}

/* What the files are like: their names, sizes and times. */
static uint64_t watch_state(const struct scenario_paths *paths)
{
    static char usual[] = "scenarios";
    char *roots[FILES_SCENARIOS_MAX + 1];
    uint64_t state = 0;
    size_t count = paths->count > 0 ? paths->count : 1;
    for (size_t i = 0; i < count; i++) {
        roots[i] = paths->count > 0 ? paths->list[i] : usual;
    }
    roots[count] = NULL;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry = walk != NULL ? fts_read(walk) : NULL; entry != NULL;
         entry = fts_read(walk)) {
        const char *dot = strrchr(entry->fts_name, '.');
        if (entry->fts_info == FTS_D && entry->fts_level > 0 && entry->fts_name[0] == '.') {
            (void)fts_set(walk, entry, FTS_SKIP);
        } else if (entry->fts_info == FTS_F && dot != NULL && strcmp(dot, ".yaml") == 0) {
            /* The order of a folder is any: a sum does not mind. */
            uint64_t one = hash_bytes(0, entry->fts_path, strlen(entry->fts_path));
            const struct stat *info = entry->fts_statp;
            one = hash_bytes(one, (const char *)&info->st_mtim, sizeof info->st_mtim);
            state += hash_bytes(one, (const char *)&info->st_size, sizeof info->st_size);
        }
    }
    if (walk != NULL) {
        (void)fts_close(walk);
    }
    return state;
}

void watch_begin(const struct scenario_paths *paths)
{
    struct sigaction action = {.sa_handler = watch_on_signal};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    while (watch_stopped == 0) {
        uint64_t before = watch_state(paths);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            (void)signal(SIGINT, SIG_DFL);
            (void)signal(SIGTERM, SIG_DFL);
            return;
        }
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
            (void)kill(pid, SIGTERM); /* it ends in good order, and we with it */
        }
        fprintf(stderr, "picklock: waiting for a change; Ctrl-C ends\n");
        while (watch_stopped == 0 && watch_state(paths) == before) {
            (void)nanosleep(&(struct timespec){.tv_nsec = WATCH_LOOK_NS}, NULL);
        }
    }
    exit(EXIT_INTERRUPTED);
}
