/* pool.c: runs everything that was ordered, in child processes, a few at once. */
#include "cli/pool.h"

#include "base/assert.h"
#include "base/duration.h"
#include "cli/batch.h"
#include "cli/lanes.h"
#include "cli/outcome.h"
#include "cli/progress.h"
#include "cli/results.h"
#include "cli/rounds.h"
#include "harness/real/process/loop.h"

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
    POOL_WAITING_BYTES_MAX = 256 << 20, /* reports that wait for one that comes before them */
    POOL_ORPHAN_LOOK_NS = 2000000,
    POOL_ORPHAN_LOOKS = 2500, /* 5 s: a guard needs some hundredths */
};

struct pool_child {
    pid_t pid;     /* 0: the slot is free */
    pid_t stopped; /* that it had when all were told to stop */
    int fd;
    struct agenda_slice plan;
    uint32_t weight;     /* jobs that it counts for */
    uint32_t runs_done;  /* reports of it that have come */
    struct slice *slice; /* where they wait for their turn */
    size_t length;
    char buffer[POOL_BUFFER_BYTES];
};

struct pool {
    const struct pool_order *order;
    struct outcome outcome;
    struct agenda agenda;
    struct rounds rounds; /* instead of it, with a budget */
    struct lanes lanes;   /* instead of it, where each scenario is run once in both worlds */
    struct slice **ahead; /* then the slice of each group, in the order of the files; else NULL */
    bool all_given;       /* the agenda has no more */
    bool held;            /* `next` was given, and waits until there is room for it */
    struct agenda_slice next;
    uint32_t load;     /* of all children */
    uint32_t share[2]; /* runs of a batch, by world */
    size_t children;   /* running */
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

static struct pool_child *pool_free_slot(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->order->jobs; i++) {
        if (pool->slots[i].pid == 0) {
            return &pool->slots[i];
        }
    }
    return NULL;
}

/* The child's side of the fork. */
static _Noreturn void pool_child_run(const struct pool *pool, const struct agenda_slice *plan,
                                     const int ends[2])
{
    const struct pool_order *order = pool->order;
    const struct report_group *group = &pool->outcome.groups[plan->group];
    struct batch batch = {
        .scenario = group->scenario,
        .world = pool_world(group->world),
        .order = &order->runs,
        .slice = *plan,
        .adapter = order->adapter,
        .server = order->server,
        .cluster = order->cluster,
        .time_scale_ppm = order->time_scale_ppm,
        .stress_ns = order->stress_ns,
        .keep = order->keep,
        .keep_last = order->keep_last,
        .tries = order->tries,
        .stop_at_first = order->stop_at_first,
        .trace = order->trace,
        .out = order->out,
    };
    pool_signals(SIG_DFL);
    (void)close(ends[0]);
    for (uint32_t i = 0; i < order->jobs; i++) {
        if (pool->slots[i].pid != 0) {
            (void)close(pool->slots[i].fd);
        }
    }
    batch_child(&batch, ends[1]);
}

/* What the slot shall do next. One half of the slots, or the only one, goes by the files. */
static bool pool_next(struct pool *pool, const struct pool_child *slot, struct agenda_slice *plan)
{
    const struct pool_order *order = pool->order;
    if (pool->ahead != NULL) {
        size_t number = (size_t)(slot - pool->slots);
        return lanes_next(&pool->lanes, number % 2 == 0 ? LANE_FILES : LANE_LONGEST, plan);
    }
    if (order->budget_ns == 0) {
        return agenda_next(&pool->agenda, pool->share, plan);
    }
    return rounds_next(&pool->rounds, order->begun_ns + order->budget_ns - loop_now_ns(), plan);
}

/* Begin the next batch, if there is one and room: one real run, or some seeds in the simulator. */
static struct result pool_start(struct pool *pool, struct pool_child *slot, struct text *why)
{
    int ends[2];
    if (!pool->held && !pool_next(pool, slot, &pool->next)) {
        pool->all_given = true;
        return RESULT_OK;
    }
    struct agenda_slice plan = pool->next;
    const struct report_group *group = &pool->outcome.groups[plan.group];
    uint32_t weight = batch_weight(group->scenario, pool_world(group->world), pool->order->jobs);
    pool->held = pool->load + weight > pool->order->jobs;
    if (pool->held) {
        return RESULT_OK;
    }
    struct slice *slice = pool->ahead != NULL ? pool->ahead[plan.group]
                                              : slices_begin(&pool->outcome.slices, plan.group);
    if (slice == NULL) {
        text_add(why, "out of memory for the results");
        return result_error(ERROR_IO);
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        text_add(why, "cannot make a pipe: %s", strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    fflush(NULL); /* or the child would write what is still buffered a second time */
    pid_t pid = fork();
    if (pid == 0) {
        pool_child_run(pool, &plan, ends);
    }
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        text_add(why, "cannot start a process: %s", strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    *slot = (struct pool_child){
        .pid = pid, .fd = ends[0], .plan = plan, .slice = slice, .weight = weight};
    pool->children++;
    pool->load += weight;
    return RESULT_OK;
}

static struct result pool_take(struct pool *pool, struct pool_child *child,
                               const struct run_report *run, struct text *why)
{
    ASSERT(child->runs_done < child->plan.runs);
    child->runs_done++;
    if (run->status == RUN_INTERRUPTED) { /* what it came to nobody knows */
        pool->interrupted = true;
        return RESULT_OK;
    }
    pool->runs_done++;
    if (pool->ahead != NULL) {
        lanes_saw(&pool->lanes, child->plan.group, run->virtual_ns);
    }
    return slice_add(&pool->outcome.slices, child->slice, run, why);
}

/* The child is gone before all its reports came: each run that is missing is an error. */
static struct result pool_mourn(struct pool *pool, struct pool_child *child, int status,
                                struct text *why)
{
    while (child->runs_done < child->plan.runs && !pool->interrupted) {
        static struct run_report run;
        uint64_t number = child->plan.run_first + child->runs_done * child->plan.stride;
        memset(&run, 0, sizeof run);
        run.status = RUN_ERROR;
        run.error = ERROR_ENVIRONMENT;
        run.seed = agenda_seed(&pool->order->runs, number);
        run.run = number + 1;
        struct text text = text_over(run.sentences, sizeof run.sentences);
        text_add(&text,
                 "the process of this run %s %d before it reported; if picklock's own "
                 "assertion stands above, please report it as a bug\n",
                 WIFSIGNALED(status) ? "was killed by signal" : "ended with code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        TRY(pool_take(pool, child, &run, why));
    }
    return RESULT_OK;
}

/* The child has nothing more to say. */
static struct result pool_end(struct pool *pool, struct pool_child *child, struct text *why)
{
    int status = 0;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    (void)close(child->fd);
    child->pid = 0;
    pool->children--;
    ASSERT(pool->load >= child->weight);
    pool->load -= child->weight;
    TRY(pool_mourn(pool, child, status, why));
    slice_end(child->slice);
    return outcome_settle(&pool->outcome, why);
}

static struct result pool_read(struct pool *pool, struct pool_child *child, struct text *why)
{
    static struct run_report run;
    ssize_t got =
        read(child->fd, child->buffer + child->length, sizeof child->buffer - child->length);
    if (got < 0 && errno == EINTR) {
        return RESULT_OK;
    }
    if (got <= 0) {
        return pool_end(pool, child, why);
    }
    child->length += (size_t)got;
    size_t used = 0;
    for (;;) {
        size_t size = batch_report_decode(child->buffer + used, child->length - used, &run);
        if (size == 0) {
            break;
        }
        used += size;
        TRY(pool_take(pool, child, &run, why));
    }
    memmove(child->buffer, child->buffer + used, child->length - used);
    child->length -= used;
    return outcome_settle(&pool->outcome, why);
}

static void pool_kill(struct pool *pool, int number)
{
    for (uint32_t i = 0; i < pool->order->jobs; i++) {
        if (pool->slots[i].pid != 0) {
            (void)kill(pool->slots[i].pid, number);
        }
    }
}

static struct result pool_wait(struct pool *pool, struct text *why)
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
        return RESULT_OK;
    }
    for (nfds_t i = 0; i < count; i++) {
        if (fds[i].revents != 0) {
            TRY(pool_read(pool, owners[i], why));
        }
    }
    return RESULT_OK;
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

/* Stop every child and wait for what it leaves behind; what still comes is told if it can be. */
static void pool_stop(struct pool *pool)
{
    int64_t begun_ns = loop_now_ns();
    char memory[WHY_BYTES];
    struct text untold = text_over(memory, sizeof memory);
    pool->interrupted = true;
    for (uint32_t i = 0; i < pool->order->jobs; i++) {
        pool->slots[i].stopped = pool->slots[i].pid;
    }
    pool_kill(pool, SIGTERM);
    while (pool->children > 0) {
        result_ignore(pool_wait(pool, &untold), "why the runs are stopped is told already");
        if (loop_now_ns() - begun_ns > POOL_STOP_SECONDS * NS_PER_S) {
            pool_kill(pool, SIGKILL);
        }
    }
    pool_wait_orphans();
    for (uint32_t i = 0; i < pool->order->jobs; i++) {
        if (pool->slots[i].stopped != 0) { /* its folder, if it could not remove it itself */
            char path[FILES_PATH_BYTES];
            (void)snprintf(path, sizeof path, "%s/.running/%d-0", pool->order->out,
                           (int)pool->slots[i].stopped);
            (void)results_remove(path);
        }
    }
    progress_clear(&pool->progress);
}

static struct result pool_interrupt(const struct pool *pool, struct text *why)
{
    const struct run_cluster_choice *choice = pool->order->cluster;
    /* Whoever runs containers together ends them all when one has died: that is why we end. */
    if (choice != NULL && cluster_lost(&choice->cluster, why)) {
        return result_error(ERROR_ENVIRONMENT);
    }
    text_add(why, "interrupted after %" PRIu64 " runs; nothing was left running", pool->runs_done);
    return result_error(ERROR_INTERRUPTED);
}

static bool pool_may_start(const struct pool *pool)
{
    return !pool->all_given &&
           (pool->outcome.slices.bytes < POOL_WAITING_BYTES_MAX || pool->children == 0);
}

static struct result pool_loop(struct pool *pool, struct text *why)
{
    while (!pool->all_given || pool->children > 0) {
        if (pool_signal != 0 || pool->interrupted) {
            return pool_interrupt(pool, why);
        }
        struct pool_child *slot = pool_free_slot(pool);
        if (slot != NULL && pool_may_start(pool)) {
            TRY(pool_start(pool, slot, why));
            if (!pool->held) {
                continue;
            }
        }
        progress_show(&pool->progress, pool->runs_done, pool->children);
        TRY(pool_wait(pool, why));
        pool_reap_orphans(pool);
    }
    progress_clear(&pool->progress);
    if (pool->interrupted) {
        return pool_interrupt(pool, why);
    }
    pool_wait_orphans();
    return RESULT_OK;
}

/* How many runs of a group one batch takes: one real run, or a share of the seeds. */
static void pool_plan(struct pool *pool)
{
    const struct pool_order *order = pool->order;
    uint64_t most = 0;
    uint64_t total = 0;
    agenda_init(&pool->agenda, &order->runs);
    for (size_t i = 0; i < pool->outcome.group_count; i++) {
        uint64_t runs = pool->outcome.groups[i].runs_planned;
        most = runs > most ? runs : most;
        total += runs;
    }
    uint64_t share = most / (order->jobs * 4) + 1;
    share = share < POOL_BATCH_RUNS_MAX ? share : POOL_BATCH_RUNS_MAX;
    size_t worlds = total > 0 ? order->runs.worlds : 0; /* where all is apart, there is no group */
    for (size_t i = 0; i < worlds; i++) {
        bool sim = pool_world(pool->outcome.groups[i].world) == &world_sim;
        pool->share[i] = sim ? (uint32_t)share : 1;
    }
    progress_init(&pool->progress, order->budget_ns == 0 ? total : 0);
}

/*
 * Which of the runs comes first, if it is not the agenda that says so. What is said of them stands
 * in the order of the files, except with a budget.
 */
static struct result pool_arrange(struct pool *pool, const struct baseline *baseline,
                                  struct arena *arena, struct text *why)
{
    const struct pool_order *order = pool->order;
    TRY(rounds_init(&pool->rounds, &order->runs, pool->outcome.groups, baseline, arena));
    if (order->budget_ns > 0 || !lanes_fit(&order->runs)) {
        return RESULT_OK;
    }
    TRY(lanes_init(&pool->lanes, &order->runs, arena));
    struct slice **ahead = arena_take(arena, pool->outcome.group_count * sizeof *ahead);
    for (size_t i = 0; i < pool->outcome.group_count; i++) {
        bool runs = agenda_runs(&order->runs, i) > 0;
        if (ahead != NULL && runs) {
            ahead[i] = slices_begin(&pool->outcome.slices, i);
        }
        if (ahead == NULL || (runs && ahead[i] == NULL)) {
            text_add(why, "out of memory for the results");
            return result_error(ERROR_IO);
        }
    }
    pool->ahead = ahead;
    return RESULT_OK;
}

/* Everything between the first fork and the last child's end. */
static struct result pool_work(struct pool *pool, struct text *why)
{
    char running[FILES_PATH_BYTES];
    (void)snprintf(running, sizeof running, "%s/.running", pool->order->out);
    (void)results_sweep(pool->order->out); /* of those that were killed here before */
    TRY(folder_make(running, why));
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    pool_signal = 0;
    pool_signals(pool_on_signal);
    struct result result = pool_loop(pool, why);
    if (result_failed(result)) {
        pool_stop(pool);
    }
    /* Whoever ends us because a node has died shall be told so: what is left to do is short. */
    pool_signals(pool->order->cluster != NULL ? SIG_IGN : SIG_DFL);
    (void)rmdir(running); /* stays if another picklock runs here */
    (void)rmdir(pool->order->out);
    return result;
}

struct result pool_run(const struct pool_order *order, struct arena *arena, struct report *report,
                       int *exit_code, struct text *why)
{
    struct pool pool = {.order = order};
    pool.slots = arena_take(arena, order->jobs * sizeof *pool.slots);
    if (pool.slots == NULL) {
        text_add(why, "out of memory for %" PRIu32 " jobs", order->jobs);
        return result_error(ERROR_IO);
    }
    TRY(outcome_open(&pool.outcome, order, report, arena, why));
    pool.outcome.progress = &pool.progress;
    pool_plan(&pool);
    struct result result = pool_arrange(&pool, report->baseline, arena, why);
    if (!result_failed(result)) {
        result = pool_work(&pool, why);
    }
    if (!result_failed(result)) {
        result = outcome_finish(&pool.outcome, exit_code, why);
    }
    outcome_close(&pool.outcome);
    return result;
}
