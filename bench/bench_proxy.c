/* bench_proxy.c: CPU per operation of the proxies, with RESP parsing on; the nodes' taps are off.
 */
#include "base/assert.h"
#include "base/duration.h"
#include "harness/real/node/node.h"
#include "harness/real/process/process.h"
#include "harness/real/proxy/proxy.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLIENTS = 50, ROUNDS = 5 };

static char why_memory[WHY_BYTES];
static struct text why;

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "bench_proxy: %s: %s\n", what, why.data);
    exit(3);
}

static struct proxy_answer passes(void *data, const struct proxy_message *message)
{
    (void)data;
    (void)message;
    return PROXY_PASSES;
}

static uint64_t count_event(void *data, const struct history_event *event)
{
    (void)event;
    return (*(uint64_t *)data)++;
}

static void count_reply(void *data, uint64_t event, int64_t true_ns)
{
    ASSERT(event < *(const uint64_t *)data && true_ns > 0);
}

/* What the proxy process reports when its parent closes the pipe. */
struct report {
    uint16_t port;
    int64_t cpu_ns;
    uint64_t commands;
    uint64_t events;
};

static int64_t cpu_ns(void)
{
    struct rusage usage;
    ASSERT(getrusage(RUSAGE_SELF, &usage) == 0);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_S +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
}

static void on_close(struct loop_watch *watch)
{
    uv_stop(watch->poll.loop);
}

static void send_report(int fd, const struct report *report)
{
    if (write(fd, report, sizeof *report) != (ssize_t)sizeof *report) {
        exit(3);
    }
}

/* The proxy in a process of its own: reports its port, runs until `stop` is closed, reports. */
static _Noreturn void proxy_process(uint16_t node_port, int stop, int out)
{
    static const char *const names[] = {"key:__rand_int__"};
    uint64_t events = 0;
    uv_loop_t loop;
    struct loop_watch watch = {.context = NULL};
    struct proxy *proxy = NULL;
    process_die_with(getppid(), SIGKILL);
    struct keys *keys = keys_new(&(struct keys_options){.node_count = 1,
                                                        .client_count = 1,
                                                        .resource_count = 1,
                                                        .resource_names = names,
                                                        .start_ns = loop_now_ns(),
                                                        .emit = count_event,
                                                        .replied = count_reply,
                                                        .emit_data = &events});
    struct proxy_options options = {
        .client_count = 1, .node_count = 1, .keys = keys, .callbacks = {NULL, passes, passes}};
    if (keys == NULL || uv_loop_init(&loop) != 0 ||
        result_failed(proxy_start(&loop, &options, &proxy, &why)) ||
        result_failed(loop_watch_init(&watch, &loop, stop, on_close, &why))) {
        give_up("the proxy does not start");
    }
    ASSERT(keys_pattern(keys, "{resource}"));
    proxy_node_set(proxy, 0, address_local(node_port));
    struct report report = {.port = proxy_port(proxy, 0, 0)};
    send_report(out, &report);
    int64_t before_ns = cpu_ns();
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    report.cpu_ns = cpu_ns() - before_ns;
    report.commands = proxy_counts(proxy).commands;
    report.events = events;
    send_report(out, &report);
    _exit(0);
}

/* One run of redis-benchmark through a fresh proxy: its CPU per operation in microseconds. */
static double measure(const struct node *node, int pipeline, int operations)
{
    int stop[2];
    int out[2];
    struct report report;
    ASSERT(pipe(stop) == 0 && pipe(out) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(stop[1]);
        (void)close(out[0]);
        proxy_process((uint16_t)node->port, stop[0], out[1]);
    }
    (void)close(stop[0]);
    (void)close(out[1]);
    if (read(out[0], &report, sizeof report) != (ssize_t)sizeof report) {
        give_up("the proxy process died");
    }
    char command[200];
    (void)snprintf(command, sizeof command,
                   "redis-benchmark -p %d -t set -c %d -P %d -n %d -q >/dev/null 2>&1", report.port,
                   CLIENTS, pipeline, operations);
    if (system(command) != 0) {
        give_up("redis-benchmark failed");
    }
    (void)close(stop[1]);
    if (read(out[0], &report, sizeof report) != (ssize_t)sizeof report) {
        give_up("the proxy process died");
    }
    (void)close(out[0]);
    (void)waitpid(pid, NULL, 0);
    /* Every operation was parsed; the node is not asked to tell: it would pay, not the proxy. */
    ASSERT(report.commands >= (uint64_t)operations);
    ASSERT(report.events == 0);
    return (double)report.cpu_ns / (double)NS_PER_US / (double)report.commands;
}

static double measure_best(const struct node *node, int pipeline, int operations)
{
    double best = measure(node, pipeline, operations);
    for (int i = 1; i < ROUNDS; i++) {
        double again = measure(node, pipeline, operations);
        best = again < best ? again : best;
    }
    return best;
}

int main(void)
{
    char directory[] = "/tmp/picklock-bench-XXXXXX";
    struct node node;
    bool ready = false;
    why = text_over(why_memory, sizeof why_memory);
    ASSERT(mkdtemp(directory) != NULL);
    if (result_failed(node_init(
            &node, &(struct node_options){.fsync = FSYNC_NONE, .run_directory = directory},
            &why)) ||
        result_failed(node_start(&node, &why))) {
        give_up("redis-server does not start");
    }
    while (!ready) {
        if (result_failed(node_ready(&node, &ready, &why))) {
            give_up("redis-server does not start");
        }
    }
    printf("proxy_cpu_us_p1 %.2f us\n", measure_best(&node, 1, 60000));
    printf("proxy_cpu_us_p16 %.3f us\n", measure_best(&node, 16, 600000));
    node_release(&node);
    char command[100];
    (void)snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command) == 0 ? 0 : 3;
}
