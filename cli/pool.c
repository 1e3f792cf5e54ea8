/* pool.c: runs everything that was ordered, in child processes, a few at once. */
#include "cli/pool.h"

#include "base/assert.h"
#include "cli/batch.h"
#include "cli/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    POOL_BATCH_RUNS_MAX = 4096,
    POOL_STOP_SECONDS = 10,
    POOL_BUFFER_BYTES = 64 * 1024,
    POOL_ORPHAN_LOOK_NS = 2000000,
    POOL_ORPHAN_LOOKS = 2500, /* 5 s: a guard needs some hundredths */
};

struct pool_child {
    pid_t pid;     /* 0: the slot is free */
    pid_t stopped; /* that it had when all were told to stop */
    int fd;
    size_t group;
    uint32_t runs_due; /* reports that have not come yet */
    uint32_t next_run; /* number of the run it is at */
    uint64_t next_seed;
    size_t length;
    char buffer[POOL_BUFFER_BYTES];
};

struct pool {
    const struct pool_order *order;
    struct report *report;
    struct report_group *groups;
    size_t group_count;
    size_t worlds;     /* 1 or 2 */
    size_t group_next; /* the group that the next batch belongs to */
    uint32_t run_next; /* runs of it that are handed out already */
    size_t printed;    /* groups that are reported */
    size_t disagreements;
    size_t children; /* running */
    uint64_t runs_done;
    bool interrupted;
    struct progress progress;
    struct pool_child *slots; /* order->jobs of them */
};

static volatile sig_atomic_t pool_signal;

static void pool_on_signal(int number)
{
    pool_signal = number;
}

static void pool_signals(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
}

static const struct world *pool_world(const char *name)
{
    return strcmp(name, world_sim.name) == 0 ? &world_sim : &world_real;
}

/* The next batch to run: one real run, or a share of the seeds in the simulator. */
static struct batch pool_batch(const struct pool *pool)
{
    const struct pool_order *order = pool->order;
    const struct report_group *group = &pool->groups[pool->group_next];
    bool same_seed = order->seed_first == order->seed_last;
    uint32_t left = group->runs_planned - pool->run_next;
    uint32_t share = group->runs_planned / (order->jobs * 4) + 1;
    uint32_t runs = pool_world(group->world) == &world_real ? 1 : share;
    runs = runs < POOL_BATCH_RUNS_MAX ? runs : POOL_BATCH_RUNS_MAX;
    uint32_t seeds = (uint32_t)(order->seed_last - order->seed_first + 1);
    uint32_t offset = pool->run_next % seeds;
    runs = runs < left ? runs : left;
    if (!same_seed && runs > seeds - offset) {
        runs = seeds - offset; /* the next repetition begins with the first seed again */
    }
    return (struct batch){
        .scenario = group->scenario,
        .world = pool_world(group->world),
        .seed = same_seed ? order->seed_first : order->seed_first + offset,
        .runs = runs,
        .number = pool->run_next + 1,
        .same_seed = same_seed,
        .adapter = order->adapter,
        .time_scale_ppm = order->time_scale_ppm,
        .keep = order->keep,
        .stop_at_first = order->stop_at_first,
        .out = order->out,
    };
}

static struct pool_child *pool_free_slot(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->order->jobs; i++) {
        if (pool->slots[i].pid == 0) {
            return &pool->slots[i];
        }
    }
    return NULL;
}

static struct result pool_start(struct pool *pool, struct pool_child *slot, struct text *why)
{
    struct batch batch = pool_batch(pool);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        text_add(why, "cannot make a pipe: %s", strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    fflush(NULL); /* or the child would write what is still buffered a second time */
    pid_t pid = fork();
    if (pid < 0) {
        text_add(why, "cannot start a process: %s", strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    if (pid == 0) {
        pool_signals(SIG_DFL);
        (void)close(ends[0]);
        for (uint32_t i = 0; i < pool->order->jobs; i++) {
            if (pool->slots[i].pid != 0) {
                (void)close(pool->slots[i].fd);
            }
        }
        batch_child(&batch, ends[1]);
    }
    (void)close(ends[1]);
    slot->pid = pid;
    slot->fd = ends[0];
    slot->group = pool->group_next;
    slot->runs_due = batch.runs;
    slot->next_run = batch.number;
    slot->next_seed = batch.seed;
    slot->length = 0;
    pool->children++;
    pool->run_next += batch.runs;
    if (pool->run_next == pool->groups[pool->group_next].runs_planned) {
        pool->group_next++;
        pool->run_next = 0;
    }
    return RESULT_OK;
}

/* Report every group that is complete, in order; then whether its worlds agree. */
static void pool_print(struct pool *pool)
{
    while (pool->printed < pool->group_count) {
        struct report_group *group = &pool->groups[pool->printed];
        if (group->runs < group->runs_planned) {
            return;
        }
        progress_clear(&pool->progress);
        report_group(pool->report, group);
        pool->printed++;
        if (pool->worlds == 2 && pool->printed % 2 == 0) {
            pool->disagreements += report_disagreement(pool->report, group - 1, group);
        }
    }
}

static void pool_take(struct pool *pool, struct pool_child *child, const struct run_report *run)
{
    struct report_group *group = &pool->groups[child->group];
    ASSERT(child->runs_due > 0);
    child->runs_due--;
    child->next_run = run->run + 1;
    child->next_seed = run->seed + (pool->order->seed_first != pool->order->seed_last);
    pool->runs_done++;
    pool->interrupted = pool->interrupted || run->status == RUN_INTERRUPTED;
    report_add(group, run);
    report_run(pool->report, group, run);
    pool_print(pool);
}

/* The child is gone before all its reports came: each run that is missing is an error. */
static void pool_mourn(struct pool *pool, struct pool_child *child, int status)
{
    while (child->runs_due > 0 && !pool->interrupted) {
        static struct run_report run;
        memset(&run, 0, sizeof run);
        run.status = RUN_ERROR;
        run.error = ERROR_ENVIRONMENT;
        run.seed = child->next_seed;
        run.run = child->next_run;
        struct text text = text_over(run.sentences, sizeof run.sentences);
        text_add(&text,
                 "the process of this run %s %d before it reported; if picklock's own "
                 "assertion stands above, please report it as a bug\n",
                 WIFSIGNALED(status) ? "was killed by signal" : "ended with code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        pool_take(pool, child, &run);
    }
}

static void pool_read(struct pool *pool, struct pool_child *child)
{
    ssize_t got =
        read(child->fd, child->buffer + child->length, sizeof child->buffer - child->length);
    if (got < 0 && errno == EINTR) {
        return;
    }
    if (got > 0) {
        child->length += (size_t)got;
        size_t used = 0;
        static struct run_report run;
        for (;;) {
            size_t size = batch_report_decode(child->buffer + used, child->length - used, &run);
            if (size == 0) {
                break;
            }
            used += size;
            pool_take(pool, child, &run);
        }
        memmove(child->buffer, child->buffer + used, child->length - used);
        child->length -= used;
        return;
    }
    int status = 0;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    (void)close(child->fd);
    pool_mourn(pool, child, status);
    child->pid = 0;
    pool->children--;
}

static void pool_kill(struct pool *pool, int number)
{
    for (uint32_t i = 0; i < pool->order->jobs; i++) {
        if (pool->slots[i].pid != 0) {
            (void)kill(pool->slots[i].pid, number);
        }
    }
}

static void pool_wait(struct pool *pool)
{
    struct pollfd fds[POOL_JOBS_MAX];
    struct pool_child *owners[POOL_JOBS_MAX];
    nfds_t count = 0;
    for (uint32_t i = 0; i < pool->order->jobs; i++) {
        if (pool->slots[i].pid != 0) {
            fds[count] = (struct pollfd){.fd = pool->slots[i].fd, .events = POLLIN};
            owners[count++] = &pool->slots[i];
        }
    }
    if (poll(fds, count, 200) <= 0) {
        return;
    }
    for (nfds_t i = 0; i < count; i++) {
        if (fds[i].revents != 0) {
            pool_read(pool, owners[i]);
        }
    }
}

/*
 * What a run left behind that was killed in its first moments comes to us: its guard, which ends
 * the others, and they. Gone is only what has been waited for.
 */
static void pool_wait_orphans(void)
{
    for (int i = 0; i < POOL_ORPHAN_LOOKS; i++) {
        pid_t pid;
        do {
            pid = waitpid(-1, NULL, WNOHANG);
        } while (pid > 0);
        if (pid < 0 && errno == ECHILD) {
            return;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = POOL_ORPHAN_LOOK_NS}, NULL);
    }
}

/* The folder of a run that could not remove it itself. */
static void pool_remove_folder(const struct pool *pool, pid_t pid)
{
    char path[FILES_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/.running/%d-0", pool->order->out, (int)pid);
    folder_remove(path);
}

/* Orphans of a run process that was killed come to us: end them. */
static void pool_reap_orphans(struct pool *pool)
{
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
            return;
        }
        for (uint32_t i = 0; i < pool->order->jobs; i++) {
            if (pool->slots[i].pid == info.si_pid) {
                return; /* one of ours: pool_read takes it when its pipe ends */
            }
        }
        (void)waitpid(info.si_pid, NULL, 0);
    }
}

static struct result pool_stop(struct pool *pool, struct text *why)
{
    struct timespec start;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    pool->interrupted = true;
    for (uint32_t i = 0; i < pool->order->jobs; i++) {
        pool->slots[i].stopped = pool->slots[i].pid;
    }
    pool_kill(pool, SIGTERM);
    while (pool->children > 0) {
        pool_wait(pool);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - start.tv_sec > POOL_STOP_SECONDS) {
            pool_kill(pool, SIGKILL);
        }
    }
    pool_wait_orphans();
    for (uint32_t i = 0; i < pool->order->jobs; i++) {
        if (pool->slots[i].stopped != 0) {
            pool_remove_folder(pool, pool->slots[i].stopped);
        }
    }
    progress_clear(&pool->progress);
    text_add(why, "interrupted after %" PRIu64 " runs; nothing was left running", pool->runs_done);
    return result_error(ERROR_INTERRUPTED);
}

static struct result pool_loop(struct pool *pool, struct text *why)
{
    while (pool->group_next < pool->group_count || pool->children > 0) {
        if (pool_signal != 0 || pool->interrupted) {
            return pool_stop(pool, why);
        }
        struct pool_child *slot = pool_free_slot(pool);
        if (slot != NULL && pool->group_next < pool->group_count) {
            TRY(pool_start(pool, slot, why));
            continue;
        }
        progress_show(&pool->progress, pool->runs_done, pool->children);
        pool_wait(pool);
        pool_reap_orphans(pool);
    }
    progress_clear(&pool->progress);
    if (pool->interrupted) {
        return pool_stop(pool, why);
    }
    pool_wait_orphans();
    return RESULT_OK;
}

static void pool_plan(struct pool *pool)
{
    const struct pool_order *order = pool->order;
    uint64_t seeds = order->seed_last - order->seed_first + 1;
    for (size_t i = 0; i < pool->group_count; i++) {
        struct report_group *group = &pool->groups[i];
        group->scenario = &order->scenarios->list[i / pool->worlds];
        bool sim = order->sim && (pool->worlds == 1 || i % 2 == 0);
        group->world = sim ? world_sim.name : world_real.name;
        group->runs_planned = (uint32_t)(seeds * order->repeat);
    }
}

struct result pool_run(const struct pool_order *order, struct arena *arena, struct report *report,
                       int *exit_code, struct text *why)
{
    struct pool pool = {.order = order, .report = report};
    char running[FILES_PATH_BYTES];
    pool.worlds = order->sim && order->real ? 2 : 1;
    pool.group_count = order->scenarios->count * pool.worlds;
    pool.groups = arena_take(arena, pool.group_count * sizeof *pool.groups);
    pool.slots = arena_take(arena, order->jobs * sizeof *pool.slots);
    if (pool.groups == NULL || pool.slots == NULL) {
        text_add(why, "out of memory for %zu scenarios", order->scenarios->count);
        return result_error(ERROR_IO);
    }
    pool_plan(&pool);
    progress_init(&pool.progress, (uint64_t)pool.groups[0].runs_planned * pool.group_count);
    (void)snprintf(running, sizeof running, "%s/.running", order->out);
    TRY(folder_make(running, why));
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    pool_signal = 0;
    pool_signals(pool_on_signal);
    struct result result = pool_loop(&pool, why);
    pool_signals(SIG_DFL);
    (void)rmdir(running); /* stays if another picklock runs here */
    (void)rmdir(order->out);
    TRY(result);
    *exit_code = report_end(report, pool.groups, pool.group_count, pool.disagreements);
    return RESULT_OK;
}
