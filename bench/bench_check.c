/* bench_check.c: how fast histories are judged, and in how much memory. */
#include "base/assert.h"
#include "bench/judged.h"
#include "checker/linear/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A process of its own that reads the file and judges it: its seconds and its peak memory. */
static void measure_process(const char *path, bool illegal, double *seconds, double *rss_mb)
{
    fflush(stdout);
    double start = now_seconds();
    pid_t child = fork();
    if (child == 0) {
        /* A fresh image, so that the parent's memory is not counted. */
        execl("/proc/self/exe", "bench_check", "--judge", path, illegal ? "fail" : "pass",
              (char *)NULL);
        _exit(127);
    }
    struct rusage usage;
    int status = 0;
    ASSERT(wait4(child, &status, 0, &usage) == child);
    *seconds = now_seconds() - start;
    *rss_mb = (double)usage.ru_maxrss / 1024;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        printf("# WRONG: the judging process ended with %d\n", status);
    }
}

static int judge(const char *path, const char *wanted)
{
    char memory[4096];
    struct text why = text_over(memory, sizeof memory);
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear_report report;
    struct result result = linear_check_file(path, NULL, &options, &report, &why);
    if (result_failed(result)) {
        printf("# %s\n", why.data);
        return 4;
    }
    bool met = strcmp(verdict_name((enum verdict)report.result.verdict), wanted) == 0;
    return met ? 0 : 1;
}

static void bench_processes(const char *name, uint64_t operations)
{
    char path[SCRATCH_PATH_BYTES];
    int file = scratch_open(path);
    double seconds = 0, rss_mb = 0;
    struct generator_options generated = one_lock(operations, 32, 50000, false);
    write_history(&generated, path);
    measure_process(path, false, &seconds, &rss_mb);
    printf("check_%s_process_seconds %.3f s\n", name, seconds);
    printf("check_%s_rss_mb %.1f MB\n", name, rss_mb);
    close(file);
}

/* The worst of the named shape: 10^6 operations, one key, 32 clients, 5 % unknown. */
static void bench_check_1e6(const struct linear_options *options)
{
    double worst = 0;
    static const uint32_t clients[] = {2, 8, 32, 128};
    static const uint32_t unknown[] = {0, 10000, 50000};
    for (size_t c = 0; c < 4; c++) {
        for (size_t u = 0; u < 3; u++) {
            for (int illegal = 0; illegal < 2; illegal++) {
                struct generator_options generated =
                    one_lock(1000000, clients[c], unknown[u], illegal != 0);
                struct measured measured = measure_check(&generated, options);
                printf("check_1e6_c%u_u%u_%s_seconds %.4f s\n", clients[c], unknown[u] / 10000,
                       illegal != 0 ? "illegal" : "legal", measured.seconds);
                if (clients[c] == 32 && unknown[u] == 50000 && measured.seconds > worst) {
                    worst = measured.seconds;
                }
            }
        }
    }
    printf("check_1e6_seconds %.4f s\n", worst);
}

static void bench_growth(const struct linear_options *options)
{
    for (uint64_t n = 10000; n <= 10000000; n *= 10) {
        struct generator_options generated = one_lock(n, 32, 50000, false);
        struct measured measured = measure_check(&generated, options);
        printf("check_growth_%llu_ns_per_operation %.1f ns\n", (unsigned long long)n,
               1e9 * measured.seconds / (double)n);
    }
}

static void bench_locks(const struct linear_options *options)
{
    static const uint32_t locks[] = {1, 1000, 100000};
    for (size_t i = 0; i < 3; i++) {
        struct generator_options generated = {.operations = 1000000,
                                              .locks = locks[i],
                                              .clients = locks[i] == 1 ? 32 : 8,
                                              .unknown_ppm = 50000,
                                              .seed = 1};
        struct measured measured = measure_check(&generated, options);
        printf("check_1e6_locks%u_seconds %.4f s\n", locks[i], measured.seconds);
    }
}

static void bench_small(void)
{
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct generator_options generated = one_lock(1000, 32, 200000, true);
    struct measured measured = measure_check(&generated, &options);
    printf("check_1e3_unknown200_illegal_ms %.3f ms\n", 1e3 * measured.seconds);
    options.engine = LINEAR_ENGINE_FRONTIER;
    options.log_bytes_max = (size_t)1 << 30;
    measured = measure_check(&generated, &options);
    printf("check_frontier_1e3_unknown200_illegal_ms %.3f ms\n", 1e3 * measured.seconds);
    generated = one_lock(100000, 32, 50000, false);
    measured = measure_check(&generated, &options);
    printf("check_frontier_1e5_seconds %.3f s\n", measured.seconds);
    printf("check_frontier_1e5_configurations %llu\n",
           (unsigned long long)measured.result.frontier_peak);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--judge") == 0) {
        return judge(argv[2], argv[3]);
    }
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    bench_check_1e6(&options);
    bench_locks(&options);
    bench_small();
    bench_growth(&options);
    bench_processes("1e6", 1000000);
    bench_processes("1e7", 10000000);
    return 0;
}
