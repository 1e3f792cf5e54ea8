/* bench_sql.c: a row's lock over our links beside the plainest loop over libpq. */
#include "base/assert.h"
#include "bench/beside.h"
#include "servers/kinds.h"
#include "servers/sql/real/libpq.h"
#include "servers/sql/real/real.h"
#include "servers/sql/real/statements.h"

#include <poll.h>
#include <stdio.h>

struct bench {
    struct servers servers;
    const struct libpq *pq;
    PGconn *plain;
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

static void plain_cycle(void)
{
    plain_ask("take", 3);
    plain_ask("leave", 2);
}

static double plain_slice(void)
{
    return beside_slice(plain_cycle);
}

/* ---- ours ---- */

static void our_cycle(void)
{
    (void)beside_do(&(struct lock_command){.kind = SQL_INSERT, .ttl_ms = 10000});
    (void)beside_do(&(struct lock_command){.kind = SQL_DELETE, .ttl_ms = 10000});
}

int main(void)
{
    bench.pq = libpq();
    if (servers_lack(SERVER_KIND_sql, "bench_sql")) {
        return 0;
    }
    (void)servers_start(&bench.servers, SERVER_KIND_sql, 1);
    plain_open();
    beside_open(&sql_connection, &bench.servers);
    beside_measure("sql", our_cycle, plain_slice);
    bench.pq->PQfinish(bench.plain);
    beside_close();
    servers_stop(&bench.servers);
    return 0;
}
