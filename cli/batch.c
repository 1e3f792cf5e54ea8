/* batch.c: what one child process of the pool does. */
#include "cli/batch.h"

#include "base/assert.h"
#include "cli/files.h"
#include "cli/results.h"
#include "cli/steady.h"
#include "servers/launch.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Kept folders of one batch that are as expected: a thousand seeds need not fill the disk. */
enum { BATCH_KEPT_MAX = 10 };

struct batch_kept {
    uint32_t unmet;
    uint32_t others;
};

/* How a report lies in the stream: itself without the unused end of its sentences, and what was
 * found, and why a check could not say, only if there is something. */
struct batch_sizes {
    uint32_t report; /* to the end of its sentences */
    uint32_t found;
    uint32_t open;
};

static struct batch_sizes batch_sizes(const struct run_report *report)
{
    size_t words = strlen(report->sentences) + 1;
    size_t causes = report->found.cause_count * sizeof(struct evidence_cause);
    return (struct batch_sizes){
        .report = (uint32_t)(offsetof(struct run_report, sentences) + words),
        .found =
            report->violations == 0 ? 0 : (uint32_t)(offsetof(struct run_found, causes) + causes),
        .open = (uint32_t)strlen(report->open),
    };
}

size_t batch_report_encode(const struct run_report *report, char bytes[BATCH_REPORT_BYTES_MAX])
{
    struct batch_sizes sizes = batch_sizes(report);
    memcpy(bytes, &sizes, sizeof sizes);
    memcpy(bytes + sizeof sizes, report, sizes.report);
    memcpy(bytes + sizeof sizes + sizes.report, &report->found, sizes.found);
    memcpy(bytes + sizeof sizes + sizes.report + sizes.found, report->open, sizes.open);
    return sizeof sizes + sizes.report + sizes.found + sizes.open;
}

static void batch_send(int fd, const struct run_report *report)
{
    char bytes[BATCH_REPORT_BYTES_MAX];
    size_t size = batch_report_encode(report, bytes);
    size_t sent = 0;
    while (sent < size) {
        ssize_t wrote = write(fd, bytes + sent, size - sent);
        if (wrote < 0 && errno != EINTR) {
            _exit(3); /* nobody listens any more */
        }
        sent += wrote > 0 ? (size_t)wrote : 0;
    }
}

size_t batch_report_decode(const char *bytes, size_t length, struct run_report *report)
{
    struct batch_sizes sizes;
    if (length < sizeof sizes) {
        return 0;
    }
    memcpy(&sizes, bytes, sizeof sizes);
    ASSERT(sizes.report <= offsetof(struct run_report, found));
    ASSERT(sizes.found <= sizeof report->found);
    ASSERT(sizes.open < sizeof report->open);
    size_t whole = sizeof sizes + sizes.report + sizes.found + sizes.open;
    if (length < whole) {
        return 0;
    }
    memset(report, 0, sizeof *report);
    memcpy(report, bytes + sizeof sizes, sizes.report);
    memcpy(&report->found, bytes + sizeof sizes + sizes.report, sizes.found);
    memcpy(report->open, bytes + sizeof sizes + sizes.report + sizes.found, sizes.open);
    return whole;
}

/* Point out/latest and out/NAME/latest at this run. A lost race leaves another run's link. */
static void batch_link(const struct batch *batch, const struct run_report *report)
{
    char link_path[FILES_PATH_BYTES];
    char fresh[FILES_PATH_BYTES];
    char target[FILES_PATH_BYTES];
    for (int all = 0; all < 2; all++) {
        const char *name = batch->scenario->name;
        struct text path = text_over(target, sizeof target);
        text_add(&path, "%s%s%" PRIu64 "/%s", all ? name : "", all ? "/" : "", report->seed,
                 batch->world->name);
        results_add_number(&path, report->place);
        (void)snprintf(link_path, sizeof link_path, "%s/%s%slatest", batch->out, all ? "" : name,
                       all ? "" : "/");
        (void)snprintf(fresh, sizeof fresh, "%.4000s.%d", link_path, (int)getpid());
        if (!results_link_is_ours(link_path)) {
            continue;
        }
        if (symlink(target, fresh) != 0 || rename(fresh, link_path) != 0) {
            (void)unlink(fresh);
        }
    }
}

static struct result batch_move(const struct batch *batch, const char *directory,
                                struct run_report *report, struct text *why)
{
    char folder[FILES_PATH_BYTES];
    char path[FILES_PATH_BYTES + 16];
    (void)snprintf(folder, sizeof folder, "%.3900s/%s/%" PRIu64, batch->out, batch->scenario->name,
                   report->seed);
    (void)snprintf(path, sizeof path, "%s/%s", folder, batch->world->name);
    TRY(results_keep(directory, folder, path, &report->place, why));
    batch_link(batch, report);
    return RESULT_OK;
}

/* Whether there is anything but the mark in it. */
static bool batch_has_logs(const char *directory)
{
    bool found = false;
    DIR *folder = opendir(directory);
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL;
         entry = readdir(folder)) {
        found = found || entry->d_name[0] != '.';
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return found;
}

/*
 * A run of the simulator that is not as expected is run once more: before a lock is blamed, or a
 * pipeline stopped, picklock must agree with itself.
 */
static void batch_confirm(const struct batch *batch, const struct run_request *request,
                          struct run_report *report)
{
    static struct run_report again;
    bool doubtful = report->status == RUN_UNMET || report->status == RUN_UNKNOWN;
    if (!doubtful || strcmp(batch->world->name, world_sim.name) != 0) {
        return;
    }
    struct run_request second = *request;
    second.keep = KEEP_NEVER;
    second.trace = NULL;
    run_one(&second, &again);
    if (again.status != RUN_INTERRUPTED && !steady_same(report, &again)) {
        steady_accuse(report, &again);
    }
}

/*
 * Run it; where the machine was late and nothing else leaves it open, once more. A run that found
 * something stands, whatever the machine did.
 */
static struct result batch_try(const struct batch *batch, const struct run_request *request,
                               struct run_report *report, struct text *why)
{
    int64_t wall_ns = 0;
    for (uint32_t late_tries = 0;; late_tries++) {
        if (batch->world == &world_real) {
            TRY(results_begin(request->directory, request->lock, why));
        }
        run_one(request, report);
        wall_ns += report->wall_ns;
        report->wall_ns = wall_ns;
        report->late_tries = late_tries;
        if (batch->world != &world_real || !report->late || late_tries + 1 >= batch->tries) {
            return RESULT_OK;
        }
        results_end(request->lock);
        (void)results_remove(request->directory);
    }
}

/* What becomes of the folder of a run. */
static struct result batch_put_away(const struct batch *batch, const char *directory,
                                    struct run_report *report, struct text *why)
{
    /* The logs of a run that could not be done are what its reader needs. */
    bool logs = batch->world == &world_real && report->status == RUN_ERROR &&
                batch->keep != KEEP_NEVER && batch_has_logs(directory);
    if (report->kept || logs) {
        TRY(batch_move(batch, directory, report, why));
        report->logged = logs && !report->kept;
        return RESULT_OK;
    }
    (void)results_remove(directory);
    return RESULT_OK;
}

/* What is kept of a run: that of an unmet one until there are many, of others until there are a
 * few. */
static enum run_keep batch_keep(const struct batch *batch, const struct batch_kept *kept)
{
    if (batch->keep == KEEP_NEVER || kept->unmet >= batch->keep_last) {
        return KEEP_NEVER;
    }
    return kept->others < BATCH_KEPT_MAX ? batch->keep : KEEP_UNMET;
}

static void batch_one(const struct batch *batch, uint32_t index, enum run_keep keep,
                      struct run_report *report)
{
    uint64_t run = batch->slice.run_first + index * batch->slice.stride;
    char directory[FILES_PATH_BYTES];
    char memory[RUN_SENTENCES_BYTES];
    int lock = -1;
    struct text why = text_over(memory, sizeof memory);
    (void)snprintf(directory, sizeof directory, "%s/.running/%d-%" PRIu32, batch->out,
                   (int)getpid(), index);
    struct run_request request = {
        .scenario = batch->scenario,
        .world = batch->world,
        .seed = agenda_seed(batch->order, run),
        .time_scale_ppm = batch->time_scale_ppm,
        .stress_ns = batch->stress_ns,
        .adapter = batch->adapter,
        .server = batch->server,
        .cluster = batch->cluster,
        .directory = directory,
        .lock = &lock,
        .keep = keep,
        .stop_at_first = batch->stop_at_first,
        .trace = batch->trace,
    };
    *report = (struct run_report){.seed = request.seed};
    struct result result = batch_try(batch, &request, report, &why);
    if (!result_failed(result)) {
        if (keep == batch->keep) {
            batch_confirm(batch, &request, report);
        }
        result = batch_put_away(batch, directory, report, &why);
    }
    if (result_failed(result)) {
        run_failed(report, result, &why);
        (void)results_remove(directory);
    }
    results_end(&lock);
    report->run = run + 1;
}

_Noreturn void batch_child(const struct batch *batch, int pipe_fd)
{
    /* A group of its own, so that Ctrl-C reaches the pool only, which stops us in good order; and
     * should the pool be killed, we are told to stop as well. */
    (void)setpgid(0, 0);
    pid_t parent = getppid();
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(3);
    }
    struct batch_kept kept = {0};
    for (uint32_t i = 0; i < batch->slice.runs; i++) {
        static struct run_report report;
        batch_one(batch, i, batch_keep(batch, &kept), &report);
        kept.unmet += report.kept && report.status != RUN_MET;
        kept.others += report.kept && report.status == RUN_MET;
        batch_send(pipe_fd, &report);
        if (report.status == RUN_INTERRUPTED) {
            break;
        }
    }
    exit(0);
}

uint32_t batch_weight(const struct scenario *scenario, const struct world *world, uint32_t jobs)
{
    const struct server_launch *launch = server_kind_at(scenario->node_kind)->launch;
    bool heavy = world == &world_real && launch != NULL && launch->weight > 0;
    uint32_t weight = heavy ? launch->weight : 1;
    return weight < jobs ? weight : jobs;
}
