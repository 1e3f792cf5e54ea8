/* corpus.c: runs ./picklock over the corpus and counts what its JSON lines say. */
#include "bench/corpus.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE_BYTES = 32 * 1024, GROUPS_MAX = 1024, KEY_BYTES = 256, CHECKS_BYTES = 2048 };

struct corpus_group {
    char key[KEY_BYTES];
    char checks[CHECKS_BYTES];
};

/* Copy what stands in `line` between two marks; empty if either is missing. */
static void cut(const char *line, const char *from, const char *to, char *out, size_t bytes)
{
    const char *start = strstr(line, from);
    out[0] = '\0';
    if (start == NULL) {
        return;
    }
    start += strlen(from);
    const char *end = strstr(start, to);
    if (end != NULL && (size_t)(end - start) < bytes) {
        memcpy(out, start, (size_t)(end - start));
        out[end - start] = '\0';
    }
}

static void tally_line(struct corpus_tally *tally, struct corpus_group *groups, size_t *count,
                       const char *line)
{
    char path[KEY_BYTES];
    char world[16];
    struct corpus_group group = {.key = ""};
    cut(line, "\"path\":\"", "\"", path, sizeof path);
    cut(line, "\"world\":\"", "\"", world, sizeof world);
    cut(line, "\"checks\":", ",\"why\"", group.checks, sizeof group.checks);
    (void)snprintf(group.key, sizeof group.key, "%.200s %s", path, world);
    tally->runs++;
    tally->not_met += strstr(line, "\"status\":\"met\"") == NULL;
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(groups[i].key, group.key) == 0) {
            tally->changed += strcmp(groups[i].checks, group.checks) != 0;
            return;
        }
    }
    if (*count < GROUPS_MAX) {
        groups[(*count)++] = group;
    }
}

struct corpus_tally corpus_run(const char *arguments)
{
    static char line[LINE_BYTES];
    static struct corpus_group groups[GROUPS_MAX];
    size_t count = 0;
    char command[1024];
    struct corpus_tally tally = {0};
    struct timespec start;
    struct timespec end;
    (void)snprintf(command, sizeof command,
                   "build/bench/picklock run scenarios %s --json --keep never "
                   "--out build/bench/out",
                   arguments);
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    FILE *pipe = popen(command, "r");
    if (pipe == NULL) {
        perror("picklock");
        exit(1);
    }
    while (fgets(line, sizeof line, pipe) != NULL) {
        tally_line(&tally, groups, &count, line);
    }
    (void)pclose(pipe);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    tally.seconds =
        (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    return tally;
}
