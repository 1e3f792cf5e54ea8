/* bench_sim.c: how fast the simulator runs, and how soon random search catches each wrong lock. */
#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "checker/judge.h"
#include "harness/sim/sim.h"
#include "lockcore/algorithms.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BENCH_SEEDS_MAX = 100000, BENCH_WHY_BYTES = 4096 };

static char why_memory[BENCH_WHY_BYTES];

/* A simulator whose block holds the running checks as well. */
struct bench {
    struct recorder recorder;
    struct arena arena;
    struct scenario scenario;
    struct plan plan;
    struct history_header header;
    struct sim *sim;
    struct judge *judge;
};

static struct bench bench;

/* The time of this process alone: others on the machine must not slow the simulator down. */
static int64_t now_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

static void bench_event(struct recorder *recorder, const struct history_event *event)
{
    judge_event(((struct bench *)recorder)->judge, event);
}

static bool bench_should_stop(struct recorder *recorder)
{
    (void)recorder;
    return false;
}

static void bench_open(const char *path, const char *yaml)
{
    struct text why = text_over(why_memory, sizeof why_memory);
    struct scenario_source source = {path, yaml, strlen(yaml), NULL};
    memset(&bench, 0, sizeof bench);
    bench.recorder = (struct recorder){.event = bench_event, .should_stop = bench_should_stop};
    bench.arena = arena_empty(4 * GIBIBYTE);
    struct result result = scenario_parse(&source, &bench.arena, &bench.scenario, &why);
    if (!result_failed(result)) {
        scenario_plan(&bench.scenario, 1, 1000000, &bench.plan);
        plan_header(&bench.plan, "sim", &bench.header);
        struct sim_options options = {.extra_bytes = judge_bytes(&bench.header, JUDGE_ALL)};
        result = sim_create(&bench.arena, &bench.plan, &options, &bench.sim, &why);
    }
    if (result_failed(result)) {
        (void)fprintf(stderr, "bench_sim: %s\n", why.data);
    }
    ASSERT(!result_failed(result));
}

static void bench_begin(uint64_t seed)
{
    scenario_plan(&bench.scenario, seed, 1000000, &bench.plan);
    bench.header.seed = seed;
    sim_reset(bench.sim, &bench.plan);
    bench.judge = judge_init(sim_extra(bench.sim), &bench.header, JUDGE_ALL);
}

static void bench_finish(void)
{
    struct text why = text_over(why_memory, sizeof why_memory);
    struct result result = sim_run(bench.sim, &bench.recorder, &why);
    ASSERT(!result_failed(result));
    judge_finish(bench.judge);
}

static void bench_close(void)
{
    arena_release(&bench.arena);
}

#define HEAD "version: 1\nname: bench\nabout: a measurement\nnodes: {kind: redis, count: 5}\n"
#define TAIL "expect: {exclusion: pass}\n"

/* Five nodes, two clients, one contended acquire-write-release each, the audit, all checks. */
static const char two_clients[] =
    HEAD "lock: {algorithm: redlock, ttl: 10s}\n"
         "clients: {count: 2, sections: 1, hold: 100ms, writes: 1}\n" TAIL;

/* A lock with a ttl of ten seconds, held for half of it about twice a minute. */
static const char long_ttl[] =
    HEAD "lock: {algorithm: redlock, ttl: 10s}\n"
         "clients: {count: 2, sections: 5, hold: 5s, think: 20s, think_jitter: 20s, writes: 1}\n"
         "duration: 300s\n" TAIL;

/* Ten thousand clients in one world. */
static const char crowd[] =
    HEAD "lock: {algorithm: redlock, ttl: 10s, retry: {count: 1}}\n"
         "clients: {count: 10000, sections: 1, hold: 10ms, think: 1s, think_jitter: 2s}\n"
         "duration: 20s\n" TAIL;

/* The same on each other kind: as many nodes as it usually has, the ttl that it needs. */
#define OTHER(nodes, lock)                                                                         \
    "version: 1\nname: bench\nabout: a measurement\nnodes: " nodes "\nlock: " lock "\n"            \
    "clients: {count: 2, sections: 1, hold: 100ms, writes: 1}\n" TAIL

static const char two_on_sql[] = OTHER("{count: 1}", "{algorithm: sql, ttl: 10s}");
static const char two_on_etcd[] = OTHER("{count: 3}", "{algorithm: etcd, ttl: 10s}");
static const char two_on_zookeeper[] = OTHER("{count: 3}", "{algorithm: zookeeper, ttl: 10s}");
static const char two_on_hazelcast[] = OTHER("{count: 3}", "{algorithm: fenced_lock, ttl: 10s}");
static const char two_on_chubby[] = OTHER("{count: 5}", "{algorithm: chubby, ttl: 12s}");

/* Runs of a core's second, the best of some rounds; tells the steps of one. */
static double runs_per_second(const char *yaml, double *steps_per_run)
{
    double best_runs = 0;
    bench_open("bench.yaml", yaml);
    for (int round = 0; round < 5; round++) {
        enum { RUNS = 10000 };
        uint64_t steps = 0;
        int64_t start_ns = now_ns();
        for (uint64_t seed = 1; seed <= RUNS; seed++) {
            bench_begin(seed);
            bench_finish();
            steps += sim_steps(bench.sim);
        }
        double seconds = (double)(now_ns() - start_ns) * 1e-9;
        best_runs = RUNS / seconds > best_runs ? RUNS / seconds : best_runs;
        *steps_per_run = (double)steps / RUNS;
    }
    bench_close();
    return best_runs;
}

static void bench_runs(void)
{
    double steps = 0;
    printf("sim_runs_per_second %.0f runs/s\n", runs_per_second(two_clients, &steps));
    printf("sim_steps_per_run %.0f steps\n", steps);
}

static void bench_kinds(void)
{
    static const struct {
        const char *kind;
        const char *yaml;
    } kinds[] = {{"sql", two_on_sql},
                 {"etcd", two_on_etcd},
                 {"zookeeper", two_on_zookeeper},
                 {"hazelcast", two_on_hazelcast},
                 {"chubby", two_on_chubby}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        double steps = 0;
        double runs = runs_per_second(kinds[i].yaml, &steps);
        printf("sim_runs_per_second_%s %.0f runs/s\n", kinds[i].kind, runs);
        printf("sim_steps_per_run_%s %.0f steps\n", kinds[i].kind, steps);
    }
}

static void bench_virtual(void)
{
    bench_open("bench.yaml", long_ttl);
    double best = 0;
    for (int round = 0; round < 5; round++) {
        int64_t virtual_ns = 0;
        int64_t start_ns = now_ns();
        for (uint64_t seed = 1; seed <= 2000; seed++) {
            bench_begin(seed);
            bench_finish();
            virtual_ns += sim_true_ns(bench.sim);
        }
        double ratio = (double)virtual_ns / (double)(now_ns() - start_ns);
        best = ratio > best ? ratio : best;
    }
    printf("sim_virtual_over_wall %.0f times\n", best);
    bench_close();
}

static void bench_crowd(void)
{
    bench_open("bench.yaml", crowd);
    double best = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        bench_begin(seed);
        int64_t start_ns = now_ns();
        bench_finish();
        double rate = (double)sim_steps(bench.sim) / ((double)(now_ns() - start_ns) * 1e-9);
        best = rate > best ? rate : best;
    }
    printf("sim_crowd_events_per_second %.0f events/s\n", best);
    bench_close();
}

/* Save and restore in the middle of a run. */
static void bench_snapshot(void)
{
    enum { ROUNDS = 200000 };
    bench_open("bench.yaml", two_clients);
    bench_begin(1);
    for (int i = 0; i < 60; i++) {
        (void)sim_step(bench.sim, &bench.recorder);
    }
    void *memory = arena_take(&bench.arena, sim_snapshot_bytes_max(bench.sim));
    ASSERT(memory != NULL);
    int64_t best_ns = INT64_MAX;
    for (int round = 0; round < 5; round++) {
        int64_t start_ns = now_ns();
        for (int i = 0; i < ROUNDS; i++) {
            sim_save(bench.sim, memory);
            sim_restore(bench.sim, memory);
        }
        int64_t spent_ns = now_ns() - start_ns;
        best_ns = spent_ns < best_ns ? spent_ns : best_ns;
    }
    printf("sim_snapshot_restore_ns %.0f ns\n", (double)best_ns / ROUNDS);
    printf("sim_snapshot_bytes %zu bytes\n", sim_snapshot_bytes(bench.sim));
    bench_close();
}

/* ---- planted bugs ---------------------------------------------------------------------------- */

static bool bench_library_to_blame(void)
{
    for (size_t i = 0; i < check_count(); i++) {
        const struct check_result *result = judge_result(bench.judge, i);
        if (result->verdict == VERDICT_FAIL && result->blame == BLAME_LIBRARY) {
            return true;
        }
    }
    return false;
}

/*
 * The set-up of the lock's own scenario, and its kinds of fault beside the common ones; but where,
 * when and how long they strike is left to the seed.
 */
static bool bench_open_hunt(const char *name)
{
    static char yaml[1 << 16];
    char path[256];
    (void)snprintf(path, sizeof path, "scenarios/wrong/%s.yaml", name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    size_t bytes = fread(yaml, 1, sizeof yaml - 1, file);
    (void)fclose(file);
    yaml[bytes] = '\0';
    bench_open(path, yaml);
    struct scenario *scenario = &bench.scenario;
    scenario->random.present = true;
    scenario->random.count_max = 4;
    scenario->random.to_ns = scenario->duration_ns;
    scenario->random.kinds = 1u << FAULT_PAUSE | 1u << FAULT_PARTITION | 1u << FAULT_LOSE_REPLY;
    for (size_t i = 0; i < scenario->fault_count; i++) {
        scenario->random.kinds |= 1u << scenario->faults[i].kind;
    }
    scenario->fault_count = 0;
    return true;
}

static void bench_hunt(const char *name)
{
    uint64_t caught = 0;
    uint64_t runs = 0;
    if (!bench_open_hunt(name)) {
        return;
    }
    int64_t start_ns = now_ns();
    while (caught < 20 && runs < BENCH_SEEDS_MAX && now_ns() - start_ns < 3 * NS_PER_S) {
        bench_begin(++runs);
        bench_finish();
        caught += bench_library_to_blame();
    }
    double ms = (double)(now_ns() - start_ns) * 1e-6;
    char word[64];
    (void)snprintf(word, sizeof word, "%s", name);
    for (char *c = word; *c != '\0'; c++) {
        *c = *c == '-' ? '_' : *c; /* a figure's name */
    }
    if (caught == 0) {
        printf("sim_hunt_%s_missed_after %llu runs\n", word, (unsigned long long)runs);
    } else {
        printf("sim_hunt_%s_runs %.1f runs\n", word, (double)runs / (double)caught);
        printf("sim_hunt_%s_ms %.3f ms\n", word, ms / (double)caught);
    }
    bench_close();
}

static void bench_hunts(void)
{
    for (size_t i = 0; i < lock_algorithm_count(); i++) {
        const struct lock_algorithm *algorithm = lock_algorithm_at((lock_algorithm_index)i);
        if (strncmp(algorithm->name, "wrong/", strlen("wrong/")) == 0) {
            bench_hunt(algorithm->name + strlen("wrong/"));
        }
    }
}

/* Without an argument everything; with one the part of that name, for a profiler. */
int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*measure)(void);
    } parts[] = {{"runs", bench_runs},   {"kinds", bench_kinds},       {"virtual", bench_virtual},
                 {"crowd", bench_crowd}, {"snapshot", bench_snapshot}, {"hunt", bench_hunts}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (argc < 2 || strcmp(argv[1], parts[i].name) == 0) {
            parts[i].measure();
        }
    }
    return 0;
}
