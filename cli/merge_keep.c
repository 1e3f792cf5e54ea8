/* merge_keep.c: keeps of each kind of failing run the shortest. */
#include "cli/merge_keep.h"

#include "cli/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Everything that the child says, until it ends. False if that is no report. */
static bool report_receive(int fd, struct run_report *report)
{
    static char bytes[BATCH_REPORT_BYTES_MAX];
    size_t length = 0;
    for (;;) {
        ssize_t got = read(fd, bytes + length, sizeof bytes - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return batch_report_decode(bytes, length, report) > 0;
        }
        length += (size_t)got;
    }
}

/* In a process of its own, as every run: its bug shall not be the end of us. */
static struct result run_again(const struct report_group *group, struct run_report *run,
                               const char *out, struct text *why)
{
    static struct run_report again;
    struct agenda_order order = {.files = 1,
                                 .worlds = 1,
                                 .seed_first = run->seed,
                                 .seeds = 1,
                                 .repeat = 1,
                                 .shard = 1,
                                 .shards = 1};
    struct batch batch = {.scenario = group->scenario,
                          .world = &world_sim,
                          .order = &order,
                          .slice = {.stride = 1, .runs = 1},
                          .time_scale_ppm = group->time_scale_ppm,
                          .keep = KEEP_ALWAYS,
                          .keep_last = 1,
                          .out = out};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        text_add(why, "cannot make a pipe: %s", strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        batch_child(&batch, ends[1]);
    }
    (void)close(ends[1]);
    bool told = pid > 0 && report_receive(ends[0], &again);
    (void)close(ends[0]);
    if (pid > 0) {
        (void)waitpid(pid, NULL, 0);
    }
    if (!told || again.status == RUN_ERROR || again.status == RUN_INTERRUPTED) {
        text_add(why, "seed %" PRIu64 " of %s cannot be run again: %s", run->seed,
                 group->scenario->name, told ? again.sentences : "its process ended");
        return result_error(ERROR_ENVIRONMENT);
    }
    if (again.violations != run->violations || again.events != run->events) {
        text_add(why,
                 "seed %" PRIu64 " of %s comes out otherwise in the simulator here than in its "
                 "shard: a bug of picklock, please report it",
                 run->seed, group->scenario->name);
        return result_error(ERROR_ENVIRONMENT);
    }
    run->kept = again.kept;
    run->place = again.place;
    run->history_hash = again.history_hash;
    return RESULT_OK;
}

/* What the shard kept of a run on real servers, if it did. */
static struct result take_along(const struct merge_shard *shard, const struct report_group *group,
                                struct run_report *run, const char *out, struct text *why)
{
    char from[FILES_PATH_BYTES];
    char to[FILES_PATH_BYTES];
    struct stat info;
    (void)snprintf(from, sizeof from, "%.2000s/%s/%" PRIu64 "/%s", shard->folder,
                   group->scenario->name, run->seed, group->world);
    (void)snprintf(to, sizeof to, "%.2000s/%s/%" PRIu64 "/%s", out, group->scenario->name,
                   run->seed, group->world);
    if (stat(from, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return RESULT_OK;
    }
    TRY(folder_copy(from, to, why));
    run->kept = true;
    return RESULT_OK;
}

struct result merge_keep(const struct merge_shards *shards, struct report_group *group,
                         const char *out, struct text *why)
{
    for (uint32_t i = 0; i < group->kind_count; i++) {
        struct run_report *run = &group->kinds[i].shortest;
        const struct merge_shard *shard = merge_shard_of(shards, group, run);
        if (run->status == RUN_ERROR || shard == NULL) {
            continue;
        }
        if (strcmp(group->world, world_sim.name) == 0) {
            TRY(run_again(group, run, out, why));
        } else {
            TRY(take_along(shard, group, run, out, why));
        }
    }
    return RESULT_OK;
}
