/* bench_sql.c: a row's lock over our links beside the plainest loop over libpq. */
#include "base/assert.h"
#include "base/duration.h"
#include "bench/servers.h"
#include "lockcore/drivers/links.h"
#include "servers/kinds.h"
#include "servers/sql/real/libpq.h"
#include "servers/sql/real/real.h"
#include "servers/sql/real/statements.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

/* Both sides in turns of a slice each; a ratio is the median of those of one round. */
enum { ROUNDS = 21, SLICE_CYCLES = 200 };

struct bench {
    struct servers servers;
    const struct libpq *pq;
    PGconn *plain;
    uv_loop_t loop;
    struct lock_links *links;
    uint32_t answers;
};

static struct bench bench;

/* ---- the plainest loop ---- */

static void plain_wait(int events)
{
    struct pollfd wait = {.fd = bench.pq->PQsocket(bench.plain), .events = (short)events};
    ASSERT(poll(&wait, 1, 10000) == 1);
}

static void plain_result(void)
{
    for (PGresult *result = bench.pq->PQgetResult(bench.plain); result != NULL;
         result = bench.pq->PQgetResult(bench.plain)) {
        ExecStatusType status = bench.pq->PQresultStatus(result);
        ASSERT(status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK);
        bench.pq->PQclear(result);
    }
}

static void plain_prepare(uint32_t kind, const char *name)
{
    ASSERT(bench.pq->PQsendPrepare(bench.plain, name, statement_of(kind)->text, 0, NULL) == 1);
    plain_result();
}

static void plain_open(void)
{
    char port[16];
    (void)snprintf(port, sizeof port, "%d", bench.servers.nodes[0].port);
    const char *const names[] = {"host", "port", "user", "dbname", "sslmode", "gssencmode", NULL};
    const char *const values[] = {"127.0.0.1", port,      "picklock", "postgres",
                                  "disable",   "disable", NULL};
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    bench.plain = bench.pq->PQconnectStartParams(names, values, 0);
    ASSERT(bench.plain != NULL);
    while (status != PGRES_POLLING_OK) {
        plain_wait(status == PGRES_POLLING_READING ? POLLIN : POLLOUT);
        status = bench.pq->PQconnectPoll(bench.plain);
        ASSERT(status != PGRES_POLLING_FAILED);
    }
    plain_prepare(SQL_INSERT, "take");
    plain_prepare(SQL_DELETE, "leave");
}

static void plain_ask(const char *name, int parameters)
{
    static const char *const values[] = {"plain", "0123456789abcdef0123456789abcdef01234567",
                                         "10000"};
    ASSERT(bench.pq->PQsendQueryPrepared(bench.plain, name, parameters, values, NULL, NULL, 0) ==
           1);
    plain_result();
}

static double plain_slice(void)
{
    int64_t start_ns = bench_now_ns();
    for (int i = 0; i < SLICE_CYCLES; i++) {
        plain_ask("take", 3);
        plain_ask("leave", 2);
    }
    return (double)(bench_now_ns() - start_ns) / 1e3 / SLICE_CYCLES;
}

/* ---- ours ---- */

static void on_replied(void *context, const struct lock_answer *answer)
{
    (void)context;
    (void)answer;
    bench.answers++;
}

static void on_broken(void *context, uint32_t node_index)
{
    (void)context;
    (void)node_index;
    (void)fprintf(stderr, "bench_sql: the database hung up\n");
    exit(3);
}

static void links_open(void)
{
    char address[32];
    char memory[WHY_BYTES] = "";
    struct text why = text_over(memory, sizeof memory);
    const char *addresses[] = {address};
    (void)snprintf(address, sizeof address, "127.0.0.1:%d", bench.servers.nodes[0].port);
    ASSERT(uv_loop_init(&bench.loop) == 0);
    struct lock_links_options options = {.loop = &bench.loop,
                                         .addresses = addresses,
                                         .node_count = 1,
                                         .kind = &sql_connection,
                                         .replied = on_replied,
                                         .broken = on_broken};
    bench_must(lock_links_open(&options, &bench.links, &why), &why);
    while (!lock_links_up(bench.links, 0)) {
        uv_run(&bench.loop, UV_RUN_ONCE);
    }
}

static void our_ask(uint32_t kind)
{
    struct lock_command command = {.kind = kind, .ttl_ms = 10000};
    uint32_t before = bench.answers;
    lock_links_send(bench.links, 0, &(struct lock_request){"ours", 4, 0, &command});
    while (bench.answers == before) {
        uv_run(&bench.loop, UV_RUN_ONCE);
    }
}

static double our_slice(void)
{
    int64_t start_ns = bench_now_ns();
    for (int i = 0; i < SLICE_CYCLES; i++) {
        our_ask(SQL_INSERT);
        our_ask(SQL_DELETE);
    }
    return (double)(bench_now_ns() - start_ns) / 1e3 / SLICE_CYCLES;
}

static void uncontended(void)
{
    double ours[ROUNDS];
    double ratios[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double plain = plain_slice();
        ours[round] = our_slice();
        ratios[round] = ours[round] / plain;
    }
    printf("sql_uncontended_us %.1f us\n", bench_median(ours, ROUNDS));
    printf("sql_uncontended_ratio %.3f ratio\n", bench_median(ratios, ROUNDS));
}

int main(void)
{
    bench.pq = libpq();
    if (servers_lack(SERVER_KIND_sql, "bench_sql")) {
        return 0;
    }
    (void)servers_start(&bench.servers, SERVER_KIND_sql, 1);
    plain_open();
    links_open();
    uncontended();
    bench.pq->PQfinish(bench.plain);
    lock_links_close(bench.links, NULL, NULL);
    uv_run(&bench.loop, UV_RUN_DEFAULT);
    uv_loop_close(&bench.loop);
    servers_stop(&bench.servers);
    return 0;
}
