/* bench_lock.c: the lock over five local redis-servers, beside the plainest loop over hiredis. */
#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "lockcore/drivers/locks.h"
#include "lockcore/redis/command.h"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

/*
 * Both sides run in this process, in turns of a slice each, so that what else happens on the
 * machine meets both. A figure is the median over the rounds; a ratio is the median of the ratios
 * of the two slices of one round.
 */
enum {
    NODES = 5,
    BATCH = 500,
    ROUNDS = 41,
    SLICE_MS = 50,
    SAMPLES_MAX = 100000,
};

static const char ttl_ms[] = "10000";

struct bench {
    char directory[64];
    char path[NODES][96];
    pid_t pid[NODES];
    redisContext *plain[NODES];
    uv_loop_t loop;
    struct redis_locks *locks;
    struct redis_lock *lock[BATCH];
    int64_t slice_end_ns;
    uint32_t in_flight;
    uint64_t cycles;
    int64_t cycle_start_ns;
    size_t sample_count;
    double samples[SAMPLES_MAX]; /* microseconds a cycle */
};

static int64_t now_ns(void)
{
    struct timespec time;
    ASSERT(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
    return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

/* ---- the servers ---- */

static void server_start(struct bench *bench, int index)
{
    (void)snprintf(bench->path[index], sizeof bench->path[index], "%s/node-%d.sock",
                   bench->directory, index);
    bench->pid[index] = fork();
    ASSERT(bench->pid[index] >= 0);
    if (bench->pid[index] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", bench->path[index],
               "--dir", bench->directory, "--save", "", "--appendonly", "no", (char *)NULL);
        _exit(127);
    }
    for (int tries = 0; tries < 5000; tries++) {
        bench->plain[index] = redisConnectUnix(bench->path[index]);
        if (bench->plain[index] != NULL && bench->plain[index]->err == 0) {
            return;
        }
        redisFree(bench->plain[index]);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    (void)fprintf(stderr, "bench_lock: no redis-server answers on %s\n", bench->path[index]);
    exit(3);
}

static void servers_stop(struct bench *bench)
{
    for (int i = 0; i < NODES; i++) {
        redisFree(bench->plain[i]);
        kill(bench->pid[i], SIGKILL);
        waitpid(bench->pid[i], NULL, 0);
        unlink(bench->path[i]);
    }
    rmdir(bench->directory);
}

/* ---- the plainest loop ---- */

static void plain_read(struct bench *bench, int count)
{
    for (int node = 0; node < NODES; node++) {
        for (int i = 0; i < count; i++) {
            void *reply = NULL;
            ASSERT(redisGetReply(bench->plain[node], &reply) == REDIS_OK);
            freeReplyObject(reply);
        }
    }
}

static void plain_write(struct bench *bench, int argc, const char **words, const size_t *bytes)
{
    for (int node = 0; node < NODES; node++) {
        redisAppendCommandArgv(bench->plain[node], argc, words, bytes);
    }
}

static void plain_flush(struct bench *bench)
{
    for (int node = 0; node < NODES; node++) {
        int done = 0;
        while (done == 0) {
            ASSERT(redisBufferWrite(bench->plain[node], &done) == REDIS_OK);
        }
    }
}

/* SET to all nodes, all replies; EVALSHA to all nodes, all replies; for `count` keys at once. */
static void plain_cycles(struct bench *bench, int count)
{
    static const char value[] = "0123456789abcdef0123456789abcdef01234567";
    const char *sha = redis_script_sha(REDIS_COMPARE_DELETE);
    char key[32];
    for (int i = 0; i < count; i++) {
        size_t key_bytes = (size_t)snprintf(key, sizeof key, "plain-%d", i);
        const char *words[] = {"SET", key, value, "NX", "PX", ttl_ms};
        const size_t bytes[] = {3, key_bytes, 40, 2, 2, sizeof ttl_ms - 1};
        plain_write(bench, 6, words, bytes);
    }
    plain_flush(bench);
    plain_read(bench, count);
    for (int i = 0; i < count; i++) {
        size_t key_bytes = (size_t)snprintf(key, sizeof key, "plain-%d", i);
        const char *words[] = {"EVALSHA", sha, "1", key, value};
        const size_t bytes[] = {7, 40, 1, key_bytes, 40};
        plain_write(bench, 5, words, bytes);
    }
    plain_flush(bench);
    plain_read(bench, count);
}

static void scripts_load(struct bench *bench)
{
    for (int node = 0; node < NODES; node++) {
        redisReply *reply =
            redisCommand(bench->plain[node], "SCRIPT LOAD %s", redis_script(REDIS_COMPARE_DELETE));
        ASSERT(reply != NULL && reply->type == REDIS_REPLY_STRING);
        freeReplyObject(reply);
    }
}

/* ---- ours ---- */

static void on_told(void *context, struct redis_lock *lock, const struct lock_effect *told)
{
    struct bench *bench = context;
    if (told->told == LOCK_TOLD_GRANTED) {
        redis_lock_release(lock);
        return;
    }
    ASSERT(told->told == LOCK_TOLD_RELEASED);
    bench->cycles++;
    int64_t time_ns = now_ns();
    if (bench->in_flight == 1 && bench->sample_count < SAMPLES_MAX) {
        bench->samples[bench->sample_count++] = (double)(time_ns - bench->cycle_start_ns) / 1e3;
    }
    if (time_ns < bench->slice_end_ns) {
        bench->cycle_start_ns = time_ns;
        redis_lock_acquire(lock);
    } else {
        bench->in_flight--;
    }
}

static void locks_open(struct bench *bench)
{
    const char *addresses[NODES];
    for (int i = 0; i < NODES; i++) {
        addresses[i] = bench->path[i];
    }
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct redis_locks_options options = {.loop = &bench->loop, .addresses = addresses};
    options.config = redis_locks_config(NODES);
    options.config.node_timeout_ns = NS_PER_S; /* nothing here is to time out */
    ASSERT(uv_loop_init(&bench->loop) == 0);
    if (result_failed(redis_locks_open(&options, &bench->locks, &why))) {
        (void)fprintf(stderr, "bench_lock: %s\n", why.data);
        exit(3);
    }
    for (int i = 0; i < BATCH; i++) {
        char name[32];
        size_t bytes = (size_t)snprintf(name, sizeof name, "lock-%d", i);
        bench->lock[i] = redis_lock_open(bench->locks,
                                         &(struct redis_lock_options){name, bytes, on_told, bench});
        ASSERT(bench->lock[i] != NULL);
    }
}

/* `count` locks in flight for a slice; cycles a second. */
static double lock_slice(struct bench *bench, uint32_t count)
{
    int64_t start_ns = now_ns();
    bench->slice_end_ns = start_ns + SLICE_MS * NS_PER_MS;
    bench->cycles = 0;
    bench->in_flight = count;
    bench->cycle_start_ns = start_ns;
    for (uint32_t i = 0; i < count; i++) {
        redis_lock_acquire(bench->lock[i]);
    }
    while (bench->in_flight > 0) {
        uv_run(&bench->loop, UV_RUN_ONCE);
    }
    return (double)bench->cycles * 1e9 / (double)(now_ns() - start_ns);
}

/* The last answers of the slow minority must not fall into the other side's slice. */
static void settle(struct bench *bench)
{
    while (redis_locks_busy(bench->locks) > 0) {
        uv_run(&bench->loop, UV_RUN_ONCE);
    }
}

/* ---- figures ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *list, size_t count)
{
    ASSERT(count > 0);
    qsort(list, count, sizeof *list, compare);
    return list[count / 2];
}

static void bulk(struct bench *bench)
{
    double rates[ROUNDS];
    double ratios[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        int64_t start_ns = now_ns();
        uint64_t cycles = 0;
        while (now_ns() < start_ns + SLICE_MS * NS_PER_MS) {
            plain_cycles(bench, BATCH);
            cycles += BATCH;
        }
        double plain = (double)cycles * 1e9 / (double)(now_ns() - start_ns);
        rates[round] = lock_slice(bench, BATCH);
        settle(bench);
        ratios[round] = rates[round] / plain;
    }
    printf("lock_cycles_per_second %.0f /s\n", median(rates, ROUNDS));
    printf("lock_bulk_ratio %.3f ratio\n", median(ratios, ROUNDS));
}

static void uncontended(struct bench *bench)
{
    static double plain_samples[SAMPLES_MAX];
    double times[ROUNDS];
    double ratios[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 0;
        int64_t start_ns = now_ns();
        int64_t last_ns = start_ns;
        while (last_ns < start_ns + SLICE_MS * NS_PER_MS && count < SAMPLES_MAX) {
            plain_cycles(bench, 1);
            int64_t time_ns = now_ns();
            plain_samples[count++] = (double)(time_ns - last_ns) / 1e3;
            last_ns = time_ns;
        }
        bench->sample_count = 0;
        (void)lock_slice(bench, 1);
        settle(bench);
        times[round] = median(bench->samples, bench->sample_count);
        ratios[round] = times[round] / median(plain_samples, count);
    }
    printf("lock_uncontended_us %.1f us\n", median(times, ROUNDS));
    printf("lock_uncontended_ratio %.3f ratio\n", median(ratios, ROUNDS));
}

int main(void)
{
    static struct bench bench;
    (void)snprintf(bench.directory, sizeof bench.directory, "/tmp/picklock-bench-XXXXXX");
    ASSERT(mkdtemp(bench.directory) != NULL);
    for (int i = 0; i < NODES; i++) {
        server_start(&bench, i);
    }
    scripts_load(&bench);
    locks_open(&bench);
    while (redis_locks_up(bench.locks) < NODES) {
        uv_run(&bench.loop, UV_RUN_ONCE);
    }
    bulk(&bench);
    uncontended(&bench);
    redis_locks_close(bench.locks, NULL, NULL);
    uv_run(&bench.loop, UV_RUN_DEFAULT);
    uv_loop_close(&bench.loop);
    servers_stop(&bench);
    return 0;
}
