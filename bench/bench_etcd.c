/* bench_etcd.c: a lease and its key over our links beside etcd's own client for Go, and beside Go's
 * HTTP client at the gateway that our links ask, where Go is installed. */
#include "base/assert.h"
#include "bench/beside.h"
#include "lockcore/etcd/etcd.h"
#include "servers/etcd/real/real.h"
#include "servers/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct servers servers;
static FILE *peer; /* a line there, a line back */

/* ---- the peer ---- */

static bool peer_built(void)
{
    static const char build[] = "cd bench/etcd-client 2>/dev/null && command -v go >/dev/null && "
                                "go build -o ../../build/etcd-client . 2>/dev/null";
    return system(build) == 0;
}

static pid_t peer_start(const char *over)
{
    char address[32];
    char cycles[16];
    int ends[2];
    (void)snprintf(address, sizeof address, "127.0.0.1:%d", servers.nodes[0].port);
    (void)snprintf(cycles, sizeof cycles, "%d", BESIDE_CYCLES);
    ASSERT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDIN_FILENO);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)execl("build/etcd-client", "etcd-client", over, address, cycles, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    peer = fdopen(ends[0], "r+");
    ASSERT(child > 0 && peer != NULL);
    return child;
}

static double peer_slice(void)
{
    char line[64];
    (void)fputs("go\n", peer);
    (void)fflush(peer);
    if (fgets(line, sizeof line, peer) == NULL) {
        (void)fprintf(stderr, "bench_etcd: etcd's client for Go has ended\n");
        exit(3);
    }
    return strtod(line, NULL);
}

/* ---- ours ---- */

static void our_cycle(void)
{
    static const uint8_t kinds[] = {ETCD_GRANT, ETCD_ENQUEUE, ETCD_REVOKE};
    static uint64_t cycles;
    struct lock_command command = {.ttl_ms = 10000};
    cycles++;
    memcpy(command.value.bytes, &cycles, sizeof cycles);
    for (size_t i = 0; i < sizeof kinds; i++) {
        command.kind = kinds[i];
        (void)beside_do(&command);
    }
}

static void measure(const char *name, const char *over)
{
    pid_t child = peer_start(over);
    beside_measure(name, our_cycle, peer_slice);
    (void)fclose(peer);
    ASSERT(waitpid(child, NULL, 0) == child);
}

int main(void)
{
    if (servers_lack(SERVER_KIND_etcd, "bench_etcd")) {
        return 0;
    }
    if (!peer_built()) {
        printf(
            "# etcd's client: skipped: Go, or go.etcd.io/etcd/client/v3 v3.6.16, is not there\n");
        return 0;
    }
    (void)servers_start(&servers, SERVER_KIND_etcd, SERVERS_MAX);
    beside_open(&etcd_connection, &servers);
    measure("etcd", "grpc");
    measure("etcd_gateway", "http");
    beside_close();
    servers_stop(&servers);
    return 0;
}
