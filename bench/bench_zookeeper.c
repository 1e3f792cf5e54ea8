/* bench_zookeeper.c: a place in a ZooKeeper lock's queue over our links beside the plainest loop
 * over the same library. */
#include "base/assert.h"
#include "bench/beside.h"
#include "lockcore/zookeeper/zookeeper.h"
#include "servers/kinds.h"
#include "servers/zookeeper/real/libzookeeper.h"
#include "servers/zookeeper/real/real.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#define PLACE "/plain/0123456789abcdef-lock-"

struct bench {
    struct servers servers;
    const struct libzookeeper *zk;
    zhandle_t *plain;
    bool answered;
    int code;
    char path[64];
};

static struct bench bench;

/* ---- the plainest loop ---- */

static void plain_look(void)
{
    int fd = -1;
    int interest = 0;
    struct timeval patience;
    (void)bench.zk->zookeeper_interest(bench.plain, &fd, &interest, &patience);
    bool writes = (interest & *bench.zk->ZOOKEEPER_WRITE) != 0;
    struct pollfd wait = {.fd = fd, .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
    (void)poll(&wait, 1, (int)(patience.tv_sec * 1000 + patience.tv_usec / 1000));
    int ready = ((wait.revents & POLLIN) != 0 ? *bench.zk->ZOOKEEPER_READ : 0) |
                ((wait.revents & POLLOUT) != 0 ? *bench.zk->ZOOKEEPER_WRITE : 0);
    (void)bench.zk->zookeeper_process(bench.plain, ready);
}

static void plain_answered(int code)
{
    bench.code = code;
    bench.answered = true;
}

static void on_made(int code, const char *path, const void *of)
{
    (void)of;
    (void)snprintf(bench.path, sizeof bench.path, "%s", path != NULL ? path : "");
    plain_answered(code);
}

static void on_listed(int code, const struct String_vector *children, const void *of)
{
    (void)of;
    ASSERT(code != ZOK || children->count == 1);
    plain_answered(code);
}

static void on_deleted(int code, const void *of)
{
    (void)of;
    plain_answered(code);
}

static void plain_wait(int sent)
{
    ASSERT(sent == ZOK);
    while (!bench.answered) {
        plain_look();
    }
    bench.answered = false;
    ASSERT(bench.code == ZOK);
}

static void plain_make(const char *path, int flags)
{
    plain_wait(bench.zk->zoo_acreate(bench.plain, path, "", 0, bench.zk->ZOO_OPEN_ACL_UNSAFE, flags,
                                     on_made, NULL));
}

static void plain_open(void)
{
    char host[32];
    (void)snprintf(host, sizeof host, "127.0.0.1:%d", bench.servers.nodes[0].port);
    bench.plain = bench.zk->zookeeper_init(host, NULL, 10000, NULL, NULL, 0);
    ASSERT(bench.plain != NULL);
    while (bench.zk->zoo_state(bench.plain) != *bench.zk->ZOO_CONNECTED_STATE) {
        plain_look();
    }
    plain_make("/plain", 0);
}

static void plain_cycle(void)
{
    plain_make(PLACE, *bench.zk->ZOO_EPHEMERAL_SEQUENTIAL);
    plain_wait(bench.zk->zoo_awget_children(bench.plain, "/plain", NULL, NULL, on_listed, NULL));
    plain_wait(bench.zk->zoo_adelete(bench.plain, bench.path, 0, on_deleted, NULL));
}

static double plain_slice(void)
{
    return beside_slice(plain_cycle);
}

/* ---- ours ---- */

/* A value of its own for each cycle, as a lock has: one that was sent before is looked for. */
static struct lock_command our_command(uint32_t kind, int64_t number)
{
    static uint64_t cycles;
    struct lock_command command = {.kind = kind, .number = number, .ttl_ms = 10000};
    cycles += kind == ZOOKEEPER_CREATE ? 1 : 0;
    memcpy(command.value.bytes, &cycles, sizeof cycles);
    return command;
}

static int64_t our_ask(uint32_t kind, int64_t number)
{
    struct lock_command command = our_command(kind, number);
    return beside_do(&command);
}

static void our_cycle(void)
{
    int64_t place = our_ask(ZOOKEEPER_CREATE, 0);
    (void)our_ask(ZOOKEEPER_CHILDREN, place);
    (void)our_ask(ZOOKEEPER_DELETE, place);
}

/* A member that has much else to do may keep us waiting too long. */
static void our_open(void)
{
    struct lock_command open = our_command(ZOOKEEPER_OPEN, 0);
    int64_t number;
    while (!beside_try(&open, &number)) {
    }
}

int main(void)
{
    if (servers_lack(SERVER_KIND_zookeeper, "bench_zookeeper")) {
        return 0;
    }
    bench.zk = libzookeeper();
    (void)servers_start(&bench.servers, SERVER_KIND_zookeeper, SERVERS_MAX);
    plain_open();
    beside_open(&zookeeper_connection, &bench.servers);
    our_open();
    beside_measure("zookeeper", our_cycle, plain_slice);
    (void)bench.zk->zookeeper_close(bench.plain);
    beside_close();
    servers_stop(&bench.servers);
    return 0;
}
