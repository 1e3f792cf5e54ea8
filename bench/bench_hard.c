/* bench_hard.c: the slowest of many random histories of every model, 2 to 30 clients, up to 10,000
 * operations, up to 10 % unknown: how long does the verdict take, and is there one? */
#include "base/arena.h"
#include "bench/hard_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SEEDS = 40, OPERATIONS_MAX = 10000 };

/* Told by hand: bench_hard [FIRST-SEED [SEEDS [MODEL]]]. */
struct hard_tally {
    double seconds_max;
    uint64_t seed_slowest;
    uint64_t unknown, wrong, failed;
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct patience {
    double until;
};

static bool is_over(void *context)
{
    return cpu_seconds() > ((struct patience *)context)->until;
}

static struct linear_result judge(struct linear_options options, const struct history_event *events,
                                  uint32_t count)
{
    struct patience patience = {.until = cpu_seconds() + 2};
    options.stop = is_over;
    options.stop_context = &patience;
    for (;;) {
        struct linear *linear = linear_open(&options);
        for (uint32_t i = 0; i < count; i++) {
            linear_event(linear, &events[i]);
        }
        linear_finish(linear);
        struct linear_result result = *linear_result(linear);
        linear_close(linear);
        if (!result.again || options.log_bytes_max > 0) {
            return result;
        }
        options.log_bytes_max = options.bytes_max / 2;
    }
}

static void tell(enum linear_model model, uint64_t seed, const struct hard_shape *shape,
                 const struct linear_result *result, double seconds)
{
    printf("# %s seed %llu: %s in %.2f s: %u operations, %u clients, %u owners, %u %% unknown%s%s, "
           "looks %u, extends %u, permits %u, depth %u, ttl %lld, %u changed\n",
           linear_model_name(model), (unsigned long long)seed,
           verdict_name((enum verdict)result->verdict), seconds, shape->operations, shape->clients,
           shape->owners, shape->unknown_percent, shape->strong ? ", held" : "",
           shape->not_held ? ", not-held" : "", shape->look_percent, shape->extend_percent,
           shape->permits, shape->depth, (long long)shape->ttl_ns, shape->changes);
}

static void sweep(enum linear_model model, uint64_t first, uint64_t seeds,
                  struct history_event *events, struct hard_tally *tally)
{
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        struct hard_shape shape = hard_shape(model, seed);
        struct linear_options options = hard_options(&shape);
        uint32_t count = hard_history(&shape, seed, events);
        double start = cpu_seconds();
        struct linear_result result = judge(options, events, count);
        double seconds = cpu_seconds() - start;
        bool wrong = shape.changes == 0 && result.verdict == VERDICT_FAIL;
        tally->wrong += wrong ? 1 : 0;
        tally->unknown += result.verdict == VERDICT_UNKNOWN ? 1 : 0;
        tally->failed += result.verdict == VERDICT_FAIL ? 1 : 0;
        if (getenv("HARD_ALL") != NULL) {
            tell(model, seed, &shape, &result, seconds);
            fflush(stdout);
        }
        if (wrong || seconds > 1 || result.verdict == VERDICT_UNKNOWN) {
            tell(model, seed, &shape, &result, seconds);
        }
        if (seconds > tally->seconds_max) {
            tally->seconds_max = seconds;
            tally->seed_slowest = seed;
        }
    }
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : SEEDS;
    struct history_event *events = memory_resize(NULL, 2 * (OPERATIONS_MAX + 1) * sizeof *events);
    setvbuf(stdout, NULL, _IOLBF, 0);
    double worst = 0;
    uint64_t unknown = 0, wrong = 0;
    for (int model = 0; model < LINEAR_MODELS && events != NULL; model++) {
        uint8_t chosen = 0;
        if (argc > 3 && (!linear_model_find(argv[3], &chosen) || chosen != model)) {
            continue;
        }
        struct hard_tally tally = {0};
        sweep((enum linear_model)model, first, seeds, events, &tally);
        printf("# %-16s slowest %.3f s (seed %llu), %llu unknown, %llu fail, %llu WRONG\n",
               linear_model_name((enum linear_model)model), tally.seconds_max,
               (unsigned long long)tally.seed_slowest, (unsigned long long)tally.unknown,
               (unsigned long long)tally.failed, (unsigned long long)tally.wrong);
        fflush(stdout);
        worst = tally.seconds_max > worst ? tally.seconds_max : worst;
        unknown += tally.unknown;
        wrong += tally.wrong;
    }
    memory_release(events);
    printf("check_hard_seconds_max %.3f s\n", worst);
    printf("check_hard_unknown %llu\n", (unsigned long long)unknown);
    return wrong == 0 ? 0 : 1;
}
