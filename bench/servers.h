/*
 * servers.h: what the benchmarks of real servers share: starting them from nothing, and a median.
 *
 *     double seconds = servers_start(&servers, SERVER_KIND_etcd, 3);
 *     servers_stop(&servers);
 */
#ifndef BENCH_SERVERS_H
#define BENCH_SERVERS_H

#include "base/result.h"
#include "harness/real/node/node.h"

enum { SERVERS_MAX = 3 };

struct servers {
    char directory[64];
    uint32_t count;
    struct node nodes[SERVERS_MAX];
    uint16_t peers[SERVER_PEER_PORTS_MAX * SERVERS_MAX]; /* they find each other without proxies */
};

/* Says what is missing, to whom it may concern; false: nothing is. */
bool servers_lack(uint8_t kind, const char *who);
/* From nothing until all of them may be asked, in seconds. */
double servers_start(struct servers *servers, uint8_t kind, uint32_t count);
void servers_stop(struct servers *servers);

void bench_must(struct result result, const struct text *why);
int64_t bench_now_ns(void);
double bench_median(double *values, size_t count);

#endif
