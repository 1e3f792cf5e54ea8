/* servers.c: what the benchmarks of real servers share: starting them from nothing, and a median.
 */
#include "bench/servers.h"

#include "base/assert.h"
#include "base/duration.h"
#include "harness/real/process/guard.h"
#include "servers/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int64_t bench_now_ns(void)
{
    struct timespec time;
    ASSERT(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
    return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof values[0], by_size);
    return values[count / 2];
}

void bench_must(struct result result, const struct text *why)
{
    if (result_failed(result)) {
        (void)fprintf(stderr, "bench: %s\n", why->data);
        exit(3);
    }
}

bool servers_lack(uint8_t kind, const char *who)
{
    char memory[2][WHY_BYTES] = {"", ""};
    struct text what = text_over(memory[0], sizeof memory[0]);
    struct text remedy = text_over(memory[1], sizeof memory[1]);
    bool lacks = server_launch_lacks(server_kind_at(kind)->launch, &what, &remedy);
    if (lacks) {
        (void)fprintf(stderr, "%s: skipped: %s: %s\n", who, memory[0], memory[1]);
    }
    return lacks;
}

static void servers_init(struct servers *servers, uint8_t kind)
{
    char memory[WHY_BYTES] = "";
    struct text why = text_over(memory, sizeof memory);
    (void)snprintf(servers->directory, sizeof servers->directory, "/tmp/picklock-bench-XXXXXX");
    ASSERT(mkdtemp(servers->directory) != NULL);
    for (uint32_t i = 0; i < servers->count; i++) {
        struct node *node = &servers->nodes[i];
        struct node_options options = {.kind = kind,
                                       .index = (int32_t)i,
                                       .node_count = (int32_t)servers->count,
                                       .ttl_ns = 10 * NS_PER_S,
                                       .run_directory = servers->directory};
        bench_must(node_init(node, &options, &why), &why);
        for (uint32_t port = 0; port < SERVER_PEER_PORTS_MAX; port++) {
            servers->peers[port * servers->count + i] = node->peer_port[port];
        }
        node->server.peers = servers->count > 1 ? servers->peers : NULL;
    }
}

double servers_start(struct servers *servers, uint8_t kind, uint32_t count)
{
    char memory[WHY_BYTES] = "";
    struct text why = text_over(memory, sizeof memory);
    int64_t start_ns = bench_now_ns();
    ASSERT(count <= SERVERS_MAX);
    memset(servers, 0, sizeof *servers);
    servers->count = count;
    servers_init(servers, kind);
    for (uint32_t i = 0; i < count; i++) {
        bench_must(node_start(&servers->nodes[i], &why), &why);
    }
    for (uint32_t up = 0; up < count;) {
        bool ready = false;
        bench_must(node_ready(&servers->nodes[up], &ready, &why), &why);
        up += ready ? 1 : 0;
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    return (double)(bench_now_ns() - start_ns) * 1e-9;
}

void servers_stop(struct servers *servers)
{
    for (uint32_t i = 0; i < servers->count; i++) {
        node_release(&servers->nodes[i]);
    }
    guard_remove_tree(servers->directory);
}
