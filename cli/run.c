/* run.c: `picklock run`: reads scenarios, runs them in processes of their own, reports. */
#include "cli/apart.h"
#include "cli/baseline.h"
#include "cli/command.h"
#include "cli/dry.h"
#include "cli/each.h"
#include "cli/filter.h"
#include "cli/outputs.h"
#include "cli/pool.h"
#include "cli/report.h"
#include "cli/report_library.h"
#include "cli/run_options.h"
#include "cli/server_choice.h"
#include "cli/shard.h"
#include "cli/watch.h"
#include "cli/words.h"
#include "servers/kinds.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN_ARENA_BYTES = 512 << 20 };

/* Of one scenario: in a whole search, and in what one picklock does of it. */
#define RUN_RUNS_MAX  UINT64_C(1000000000000000)
#define RUN_SHARE_MAX UINT64_C(100000000)

/* With a budget, where nobody says how many. */
#define RUN_BUDGET_SEEDS UINT64_C(1000000)

/* What the lock under test is, and what does not apply to it. */
struct run_lock {
    struct lock_nature nature;
    struct apart_list apart;
};

/* https://no-color.org: --color wins, then NO_COLOR, then FORCE_COLOR, then the terminal. */
static bool wants_colour(const char *colour)
{
    if (strcmp(colour, "auto") != 0) {
        return strcmp(colour, "always") == 0;
    }
    const char *no = getenv("NO_COLOR");
    const char *force = getenv("FORCE_COLOR");
    const char *terminal = getenv("TERM");
    if (no != NULL && no[0] != '\0') {
        return false;
    }
    if (force != NULL && force[0] != '\0') {
        return true;
    }
    return isatty(STDOUT_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

/* Nodes that are there already: in the real world, one run after the other. */
static struct result run_check_cluster(struct run_options *options, struct text *why)
{
    static struct run_cluster_choice choice;
    struct pool_order *order = &options->order;
    bool real = order->real || !options->world_given;
    if (options->cluster == NULL && real && order->server == NULL) {
        options->cluster = getenv("PICKLOCK_CLUSTER"); /* where a container has nodes beside it */
    }
    if (options->cluster == NULL) {
        return RESULT_OK;
    }
    if (!real) {
        text_add(why, "--cluster: nodes are of the real world; leave out --world sim");
        return result_error(ERROR_USAGE);
    }
    if (order->server != NULL) {
        text_add(why, "--cluster: its nodes run a server already; leave out --redis-server");
        return result_error(ERROR_USAGE);
    }
    choice.path = options->cluster;
    order->cluster = &choice;
    order->sim = order->sim && order->real;
    order->real = true;
    order->jobs = 1;
    return cluster_read(options->cluster, &choice.cluster, why);
}

static struct result run_check_options(struct run_options *options, struct text *why)
{
    for (uint32_t i = 0; i < options->server_count; i++) {
        TRY(server_choice_take(options->servers[i], &options->order.server, why));
    }
    TRY(run_check_cluster(options, why));
    if (options->order.adapter != NULL && options->order.sim && options->order.real) {
        text_add(why, "--adapter: a foreign library runs in the real world only; leave out sim");
        return result_error(ERROR_USAGE);
    }
    if (options->order.adapter != NULL) {
        options->order.real = true;
        options->order.sim = false;
    }
    struct agenda_order *runs = &options->order.runs;
    if (options->order.budget_ns > 0 && (options->sharded || runs->repeat > 1)) {
        text_add(why, "--budget decides how many runs there are; leave out --shard and --repeat");
        return result_error(ERROR_USAGE);
    }
    if (options->order.budget_ns > 0 && !options->seeds_given) {
        options->seed_last = runs->seed_first + RUN_BUDGET_SEEDS - 1;
    }
    runs->seeds = options->seed_last - runs->seed_first + 1;
    runs->worlds = options->order.sim && options->order.real ? 2 : 1;
    bool counted = runs->seeds > 0 && runs->seeds <= RUN_RUNS_MAX / runs->repeat;
    if (!counted || runs->seeds * runs->repeat / runs->shards > RUN_SHARE_MAX) {
        text_add(why, "more than 100 million runs of each scenario were asked for; --shard takes a "
                      "part of them");
        return result_error(ERROR_LIMIT);
    }
    if (options->order.stress_ns > 0 && (options->sharded || options->order.real)) {
        text_add(why, options->sharded
                          ? "--stress belongs to no search; leave out --shard"
                          : "--stress is the simulator's; on real servers run busy programs "
                            "beside: tools/busy.sh");
        return result_error(ERROR_USAGE);
    }
    if (options->update && (options->sharded || options->order.adapter != NULL)) {
        text_add(why, "--update-expect writes what picklock's own lock does; leave out --shard and "
                      "--adapter");
        return result_error(ERROR_USAGE);
    }
    if (options->lines == SHARD_LINES_UNMET && !options->sharded) {
        text_add(why, "--lines is about a shard's file: give --shard K/N as well");
        return result_error(ERROR_USAGE);
    }
    return RESULT_OK;
}

static struct result run_open_shard(const struct run_options *options, struct report *report,
                                    struct text *why)
{
    const struct pool_order *order = &options->order;
    struct shard_order shard = {
        .scenarios = order->scenarios,
        .runs = &order->runs,
        .apart = report->apart,
        .worlds = words_at("world", order->sim && order->real ? 2
                                    : order->real             ? 1
                                                              : 0),
        .adapter = order->adapter,
        .time_scale_ppm = order->time_scale_ppm,
        .lines = options->lines,
        .stop_at_first = order->stop_at_first,
        .timing = options->timing,
        .out = order->out,
    };
    return shard_open(&shard, &report->shard, why);
}

/* Take out what does not apply to the lock. A library is asked what it is, if that matters. */
static struct result run_sort(struct run_options *options, struct scenario_list *scenarios,
                              struct arena *arena, struct run_lock *lock, struct text *why)
{
    const struct pool_order *order = &options->order;
    bool ask = order->adapter != NULL && (options->library || apart_needed(scenarios));
    if (ask) {
        TRY(dry_nature(order->adapter, order->out, arena, &lock->nature, why));
    }
    if (ask && !options->library) {
        lock->nature.nodes_min = 1; /* whoever names a file may try it with any number of nodes */
        lock->nature.nodes_max = HISTORY_NODES_MAX;
    }
    if (order->adapter != NULL && !ask) {
        return RESULT_OK;
    }
    return apart_sort(scenarios, ask ? &lock->nature : NULL, arena, &lock->apart, why);
}

/* Without a file, all that there is for libraries; most of that time is spent with waiting. */
static void run_library(struct run_options *options)
{
    static char folder[] = "scenarios/library";
    if (options->order.adapter == NULL || options->paths.count > 0) {
        return;
    }
    options->library = true;
    options->paths.list[options->paths.count++] = folder;
}

/* Whoever says nothing of them: the simulator computes, a run of the real world mostly waits. */
static void run_choose_jobs(struct run_options *options)
{
    struct pool_order *order = &options->order;
    if (options->jobs_given || order->cluster != NULL || !order->real) {
        return;
    }
    order->jobs *= order->adapter != NULL ? POOL_LIBRARY_JOBS : POOL_REAL_JOBS;
    order->jobs = order->jobs < POOL_JOBS_MAX ? order->jobs : POOL_JOBS_MAX;
}

static bool run_is_single(const struct pool_order *order)
{
    const struct agenda_order *runs = &order->runs;
    return runs->files == 1 && runs->worlds == 1 && runs->seeds == 1 && runs->repeat == 1;
}

/* What the cluster lacks is said before anything runs; scenarios of other servers are set apart
 * later. */
static struct result run_check_fits(const struct pool_order *order,
                                    const struct scenario_list *scenarios, struct text *why)
{
    for (size_t i = 0; order->cluster != NULL && i < scenarios->count; i++) {
        const struct scenario *scenario = &scenarios->list[i];
        if (order->adapter != NULL || scenario->node_kind == SERVER_KIND_redis) {
            TRY(cluster_fits(&order->cluster->cluster, scenario, why));
        }
    }
    return RESULT_OK;
}

/* Run them all, with what is written beside the results. */
static struct result run_and_report(struct run_options *options, struct arena *arena,
                                    struct report *report, int *exit_code, struct text *why)
{
    struct output outputs[] = {
        {.path = options->junit},
        {.path = options->results},
        {.path = options->summary, .adds = true},
    };
    struct result result = outputs_open(outputs, sizeof outputs / sizeof outputs[0], why);
    report->junit = outputs[0].file;
    report->results = outputs[1].file;
    report->summary = outputs[2].file;
    if (options->sharded && !result_failed(result)) {
        result = run_open_shard(options, report, why);
    }
    if (!result_failed(result)) {
        result = pool_run(&options->order, arena, report, exit_code, why);
    }
    if (report->baseline != NULL) {
        baseline_release(report->baseline);
    }
    if (report->shard != NULL) {
        shard_close(report->shard);
        (void)rmdir(options->order.out); /* where nothing was left in it */
    }
    return outputs_close(outputs, sizeof outputs / sizeof outputs[0], result, why);
}

static struct result run_all(struct run_options *options, struct arena *arena, int *exit_code,
                             struct text *why)
{
    struct scenario_list scenarios;
    static struct run_lock lock;
    TRY(run_check_options(options, why));
    run_library(options);
    run_choose_jobs(options);
    TRY(scenarios_load(options->paths.list, options->paths.count, arena, &scenarios, why));
    TRY(run_check_fits(&options->order, &scenarios, why));
    if (options->filter != NULL) {
        TRY(filter_scenarios(options->filter, &scenarios, why));
    }
    TRY(run_sort(options, &scenarios, arena, &lock, why));
    if (options->order.real && options->order.adapter == NULL) {
        lock.apart.cluster = options->order.cluster != NULL;
        TRY(apart_absent(&scenarios, &options->order.runs, arena, &lock.apart, why));
    }
    struct report report = {
        .format = options->format,
        .colour = wants_colour(options->colour),
        .github = getenv("GITHUB_ACTIONS") != NULL,
        .quiet = options->quiet || options->library,
        .apart = &lock.apart,
        .nature = options->library ? &lock.nature : NULL,
        .table = options->library ? report_library : NULL,
        .update = options->update,
        .timing = options->timing,
        .out = options->order.out,
        .adapter = options->order.adapter,
        .server = options->order.server,
        .cluster = options->cluster,
        .time_scale_ppm = options->order.time_scale_ppm,
        .stress_ns = options->order.stress_ns,
    };
    options->order.scenarios = &scenarios;
    options->order.runs.files = scenarios.count;
    if (options->order.trace != NULL && !run_is_single(&options->order)) {
        text_add(why, "--trace takes one run: one file, one world, one seed");
        return result_error(ERROR_USAGE);
    }
    if (options->baseline != NULL) {
        TRY(baseline_read(options->baseline, arena, &report.baseline, why));
    }
    return run_and_report(options, arena, &report, exit_code, why);
}

int command_run(int argc, char **argv)
{
    static struct run_options options;
    run_options_init(&options);
    command_parse(&run_argp, argc, argv, &options);
    if (options.watch) {
        watch_begin(&options.paths);
    }
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct arena arena = arena_empty(RUN_ARENA_BYTES);
    int exit_code = EXIT_UNKNOWN;
    struct result result = run_all(&options, &arena, &exit_code, &why);
    arena_release(&arena);
    if (result_failed(result)) {
        return command_fail(result, &why);
    }
    return exit_code;
}
