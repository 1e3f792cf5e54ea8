/* bench_starts.c: how soon the servers of each kind are there: a PostgreSQL, and three members of
 * each kind that has members, until all of them may be asked. */
#include "bench/servers.h"
#include "servers/kinds.h"

#include <stdio.h>

enum { STARTS = 7 };

int main(void)
{
    static const struct {
        uint8_t kind;
        uint32_t count;
        const char *figure;
    } rows[] = {
        {SERVER_KIND_sql, 1, "postgres_start_seconds"},
        {SERVER_KIND_etcd, 3, "etcd_start_seconds"},
        {SERVER_KIND_zookeeper, 3, "zookeeper_start_seconds"},
        {SERVER_KIND_hazelcast, 3, "hazelcast_start_seconds"},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        static struct servers servers;
        double seconds[STARTS];
        if (servers_lack(rows[row].kind, "bench_starts")) {
            continue;
        }
        for (int i = 0; i < STARTS; i++) {
            seconds[i] = servers_start(&servers, rows[row].kind, rows[row].count);
            servers_stop(&servers);
        }
        printf("%s %.3f s\n", rows[row].figure, bench_median(seconds, STARTS));
        (void)fflush(stdout);
    }
    return 0;
}
