/* bench_real.c: how long five servers, their proxies and twenty clients take to start. */
#include "base/duration.h"
#include "base/error.h"
#include "harness/real/process/guard.h"
#include "harness/real/process/loop.h"
#include "harness/world.h"
#include "lockcore/algorithms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BENCH_ROUNDS = 11, BENCH_CLIENTS = 20, BENCH_NODES = 5 };

/* Notes when the last client began, and stops the run there. */
struct bench_recorder {
    struct recorder recorder; /* first: the recorder is this */
    int started;
    int64_t started_ns;
};

static void bench_event(struct recorder *recorder, const struct history_event *event)
{
    struct bench_recorder *bench = (struct bench_recorder *)recorder;
    if (event->kind == HISTORY_CLIENT && event->f == HISTORY_CLIENT_START) {
        bench->started++;
        bench->started_ns = loop_now_ns();
    }
}

static bool bench_should_stop(struct recorder *recorder)
{
    return ((struct bench_recorder *)recorder)->started >= BENCH_CLIENTS;
}

static void bench_plan(struct plan *plan)
{
    struct scenario *scenario = &plan->scenario;
    memset(plan, 0, sizeof *plan);
    plan->seed = 1;
    (void)snprintf(scenario->name, sizeof scenario->name, "start");
    (void)snprintf(scenario->algorithm, sizeof scenario->algorithm, "redlock");
    scenario->lock = (struct lock_config){
        .node_count = BENCH_NODES,
        .ttl_ns = 10 * NS_PER_S,
        .node_timeout_ns = NS_PER_S,
        .drift_ppm = 10000,
    };
    if (!lock_algorithm_find("redlock", &scenario->lock.algorithm)) {
        abort();
    }
    scenario->node_count = BENCH_NODES;
    scenario->client_count = BENCH_CLIENTS;
    scenario->resource_count = 1;
    scenario->sections = 1;
    scenario->duration_ns = 10 * NS_PER_S;
}

/* Seconds from nothing to the last client's first step; every one is connected by then. */
static double bench_once(void)
{
    static struct plan plan;
    struct history_header header;
    char directory[] = "/tmp/picklock-bench-XXXXXX";
    char why_memory[WHY_BYTES];
    struct text why = text_over(why_memory, sizeof why_memory);
    struct bench_recorder bench = {
        .recorder = {.event = bench_event, .should_stop = bench_should_stop}};
    bench_plan(&plan);
    plan_header(&plan, "real", &header);
    if (mkdtemp(directory) == NULL) {
        perror(directory);
        exit(3);
    }
    struct world_options options = {.run_directory = directory};
    int64_t begun_ns = loop_now_ns();
    struct result result = world_real.run(&plan, &options, &header, &bench.recorder, &why);
    guard_remove_tree(directory);
    if (result_failed(result)) {
        (void)fprintf(stderr, "%s\n", why.data);
        exit(error_exit_code(result.code));
    }
    return (double)(bench.started_ns - begun_ns) / (double)NS_PER_S;
}

static int bench_compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

int main(void)
{
    double seconds[BENCH_ROUNDS];
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        seconds[i] = bench_once();
    }
    qsort(seconds, BENCH_ROUNDS, sizeof seconds[0], bench_compare);
    printf("real_start_seconds %.4f s\n", seconds[BENCH_ROUNDS / 2]);
    printf("real_start_seconds_best %.4f s\n", seconds[0]);
    printf("real_start_seconds_worst %.4f s\n", seconds[BENCH_ROUNDS - 1]);
    return 0;
}
