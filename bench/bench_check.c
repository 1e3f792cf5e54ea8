/* bench_check.c: how fast histories are judged, and in how much memory. */
#include "base/assert.h"
#include "bench/generate_history.h"
#include "checker/linear/file.h"
#include "history/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_EVENTS = 1024 };

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Of this process alone, so that a busy machine measures the same. */
static double now_cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct measured {
    double seconds;
    uint64_t events;
    struct linear_result result;
};

/* The check alone: events are made block by block outside the measured time. */
static struct measured measure_check(const struct generator_options *generated,
                                     const struct linear_options *options)
{
    static struct history_event block[BLOCK_EVENTS];
    struct generator *generator = generator_open(generated);
    struct linear *linear = linear_open(options);
    struct measured measured = {0};
    size_t count = BLOCK_EVENTS;
    while (count == BLOCK_EVENTS) {
        for (count = 0; count < BLOCK_EVENTS && generator_next(generator, &block[count]);) {
            count++;
        }
        double start = now_cpu_seconds();
        for (size_t i = 0; i < count; i++) {
            linear_event(linear, &block[i]);
        }
        measured.seconds += now_cpu_seconds() - start;
        measured.events += count;
    }
    double start = now_cpu_seconds();
    linear_finish(linear);
    measured.seconds += now_cpu_seconds() - start;
    measured.result = *linear_result(linear);
    enum verdict wanted = generated->illegal ? VERDICT_FAIL : VERDICT_PASS;
    if (measured.result.verdict != wanted) {
        printf("# WRONG: %s\n", verdict_name((enum verdict)measured.result.verdict));
    }
    linear_close(linear);
    generator_close(generator);
    return measured;
}

static struct generator_options one_lock(uint64_t operations, uint32_t clients,
                                         uint32_t unknown_ppm, bool illegal)
{
    return (struct generator_options){.operations = operations,
                                      .locks = 1,
                                      .clients = clients,
                                      .unknown_ppm = unknown_ppm,
                                      .illegal = illegal,
                                      .seed = 1};
}

static void write_history(const struct generator_options *generated, const char *path)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_header header = {.format = HISTORY_FORMAT};
    struct history_writer *writer = NULL;
    struct history_event event;
    struct generator *generator = generator_open(generated);
    struct result result = history_writer_open(path, &header, &writer, &why);
    while (!result_failed(result) && generator_next(generator, &event)) {
        result = history_writer_event(writer, &event, &why);
    }
    if (!result_failed(result)) {
        result = history_writer_close(writer, &why);
    }
    generator_close(generator);
    if (result_failed(result)) {
        printf("# %s\n", why.data);
        exit(3);
    }
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
    char path[] = "/tmp/picklock-bench-XXXXXX";
    int file = mkstemp(path);
    ASSERT(file >= 0);
    close(file);
    double seconds = 0, rss_mb = 0;
    struct generator_options generated = one_lock(operations, 32, 50000, false);
    write_history(&generated, path);
    measure_process(path, false, &seconds, &rss_mb);
    printf("check_%s_process_seconds %.3f s\n", name, seconds);
    printf("check_%s_rss_mb %.1f MB\n", name, rss_mb);
    unlink(path);
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

/* Porcupine on the same files, where Go and the module are there; 5 s each. */
static void bench_porcupine(const struct linear_options *options)
{
    static const char build[] = "cd bench/porcupine 2>/dev/null && command -v go >/dev/null && "
                                "go build -o ../../build/porcupine-peer . 2>/dev/null";
    char path[] = "/tmp/picklock-bench-XXXXXX.jsonl";
    int status = system(build);
    if (status != 0) {
        printf("# porcupine: skipped: Go, or github.com/anishathalye/porcupine v1.3.0, is not "
               "there\n");
        return;
    }
    int file = mkstemps(path, 6);
    ASSERT(file >= 0);
    close(file);
    for (int i = 0; i < 8; i++) {
        struct generator_options generated =
            one_lock(i % 2 == 0 ? 1000 : 10000, 8, i < 4 ? 0 : 50000, i / 2 % 2 == 1);
        char command[160];
        write_history(&generated, path);
        struct measured ours = measure_check(&generated, options);
        printf("# %llu operations, %u %% unknown, %s: ours %.4f s; porcupine ",
               (unsigned long long)generated.operations, generated.unknown_ppm / 10000,
               generated.illegal ? "illegal" : "legal", ours.seconds);
        fflush(stdout);
        snprintf(command, sizeof command, "build/porcupine-peer %s 5", path);
        if (system(command) != 0) {
            printf("ended with an error\n");
        }
    }
    unlink(path);
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
    bench_porcupine(&options);
    return 0;
}
