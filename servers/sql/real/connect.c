/*
 * connect.c: a lock's connection to PostgreSQL, over libpq in its pipeline mode: questions leave
 * without waiting for the answers before them.
 *
 * A statement is prepared with its first use, unless it is one of a session's locks, for those who
 * use these through poolers cannot: another session may be asked to carry it out. Each question
 * ends with a sync of its own: one that fails takes no other with it.
 */
#include "servers/sql/real/real.h"

#include "base/arena.h"
#include "base/assert.h"
#include "lockcore/drivers/links.h"
#include "servers/sql/real/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<libpq-fe.h>)

#include "servers/sql/real/libpq.h"

enum { QUESTION_BYTES_MAX = 16 << 20, QUESTION_NAME_BYTES_MAX = 8192 };

/* ---- the library ----------------------------------------------------------------------------- */

const struct libpq *libpq(void)
{
    static struct libpq functions;
    static const char *const names[] = {LIBPQ_MAP(LOADED_NAME)};
    static struct loaded library = {.files = {"libpq.so.5"}, LOADED_INTO(functions, names)};
    return loaded_there(&library) ? &functions : NULL;
}

struct server_lack libpq_lacks(void)
{
    struct server_lack missing = {"PostgreSQL's client library, libpq, is not installed",
                                  "apt-get install libpq5"};
    return libpq() != NULL ? (struct server_lack){NULL, NULL} : missing;
}

/* ---- one connection -------------------------------------------------------------------------- */

/* What is asked before it is up waits, one behind the other: this, then the resource's name. */
struct question {
    struct lock_command command;
    uint32_t resource_bytes;
};

struct connection {
    const struct libpq *pq;
    PGconn *link; /* owned */
    int fd;       /* for its whole life */
    bool up;
    uint32_t prepared; /* bit k: command k */
    size_t waiting_bytes;
    size_t waiting_bytes_max;
    char *waiting; /* owned */
    /* Of the answer that is being read. */
    struct lock_reply reply;
};

static void connection_close(void *of)
{
    struct connection *connection = of;
    if (connection->link != NULL) {
        connection->pq->PQfinish(connection->link);
    }
    memory_release(connection->waiting);
    memory_release(connection);
}

/* Said in full: what the environment says of PostgreSQL is somebody else's. */
static PGconn *link_start(const struct libpq *pq, const struct lock_address *address)
{
    char port[16];
    (void)snprintf(port, sizeof port, "%d", address->port);
    const char *const names[] = {
        "host",    "port", "user", "dbname", "sslmode", "gssencmode", "target_session_attrs",
        "options", NULL};
    const char *const values[] = {
        address->name, port,      "picklock", "postgres",
        "disable",     "disable", "any",      "-c client_min_messages=error",
        NULL};
    return pq->PQconnectStartParams(names, values, 0);
}

/* That we do not own a lock its answer says. */
static void notice_ignore(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

static void *connection_open(const struct lock_address *address, void *shared)
{
    (void)shared;
    const struct libpq *pq = libpq();
    struct connection *connection = pq != NULL ? memory_resize(NULL, sizeof *connection) : NULL;
    if (connection == NULL) {
        return NULL;
    }
    memset(connection, 0, sizeof *connection);
    connection->pq = pq;
    connection->reply.type = LOCK_REPLY_GARBLED;
    connection->link = link_start(pq, address);
    connection->fd = connection->link != NULL ? pq->PQsocket(connection->link) : -1;
    if (connection->link != NULL) {
        (void)pq->PQsetNoticeProcessor(connection->link, notice_ignore, NULL);
    }
    if (connection->fd < 0) {
        connection_close(connection);
        return NULL;
    }
    return connection;
}

static int connection_fd(const void *of)
{
    const struct connection *connection = of;
    return connection->fd;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool question_send(struct connection *connection, const struct question *question,
                          const char *resource)
{
    const struct lock_command *command = &question->command;
    const struct statement *statement = statement_of(command->kind);
    const char *name = lock_dialect_row(&sql_dialect, command->kind)->name;
    char terminated[QUESTION_NAME_BYTES_MAX + 1];
    char owner[LOCK_VALUE_HEX_BYTES + 1];
    char ttl[STATEMENT_NUMBER_BYTES];
    char number[STATEMENT_NUMBER_BYTES];
    const char *const values[STATEMENT_PARAMETERS_MAX] = {terminated, owner, ttl, number};
    memcpy(terminated, resource, question->resource_bytes);
    terminated[question->resource_bytes] = '\0';
    lock_value_print(&command->value, owner);
    owner[LOCK_VALUE_HEX_BYTES] = '\0';
    (void)snprintf(ttl, sizeof ttl, "%" PRId64, command->ttl_ms);
    (void)snprintf(number, sizeof number, "%" PRId64, command->number);
    const struct libpq *pq = connection->pq;
    if (statement->unprepared) {
        return pq->PQsendQueryParams(connection->link, statement->text, (int)statement->parameters,
                                     NULL, values, NULL, NULL, 0) == 1 &&
               pq->PQpipelineSync(connection->link) == 1;
    }
    bool known = (connection->prepared >> command->kind & 1) != 0;
    connection->prepared |= 1u << command->kind;
    return (known || pq->PQsendPrepare(connection->link, name, statement->text, 0, NULL) == 1) &&
           pq->PQsendQueryPrepared(connection->link, name, (int)statement->parameters, values, NULL,
                                   NULL, 0) == 1 &&
           pq->PQpipelineSync(connection->link) == 1;
}

static bool question_keep(struct connection *connection, const struct question *question,
                          const char *resource)
{
    size_t needed = connection->waiting_bytes + sizeof *question + question->resource_bytes;
    if (needed > connection->waiting_bytes_max) {
        char *grown = memory_resize(connection->waiting, 2 * needed);
        if (grown == NULL || needed > QUESTION_BYTES_MAX) {
            connection->waiting = grown != NULL ? grown : connection->waiting;
            return false;
        }
        connection->waiting = grown;
        connection->waiting_bytes_max = 2 * needed;
    }
    memcpy(connection->waiting + connection->waiting_bytes, question, sizeof *question);
    memcpy(connection->waiting + connection->waiting_bytes + sizeof *question, resource,
           question->resource_bytes);
    connection->waiting_bytes = needed;
    return true;
}

static bool connection_add(void *of, const struct lock_request *request)
{
    struct connection *connection = of;
    struct question question = {.command = *request->command,
                                .resource_bytes = (uint32_t)request->resource_bytes};
    if (request->resource_bytes > QUESTION_NAME_BYTES_MAX) {
        return false;
    }
    return connection->up ? question_send(connection, &question, request->resource)
                          : question_keep(connection, &question, request->resource);
}

/* It is up: from here on what is asked goes to libpq at once. */
static bool connection_arrive(struct connection *connection)
{
    const struct libpq *pq = connection->pq;
    bool fine = pq->PQsetnonblocking(connection->link, 1) == 0 &&
                pq->PQenterPipelineMode(connection->link) == 1;
    connection->up = fine;
    for (size_t at = 0; fine && at < connection->waiting_bytes;) {
        struct question question;
        memcpy(&question, connection->waiting + at, sizeof question);
        at += sizeof question;
        fine = question_send(connection, &question, connection->waiting + at);
        at += question.resource_bytes;
    }
    connection->waiting_bytes = 0;
    return fine;
}

static enum connection_progress connection_progress(void *of)
{
    struct connection *connection = of;
    PostgresPollingStatusType status = connection->pq->PQconnectPoll(connection->link);
    if (connection->pq->PQsocket(connection->link) != connection->fd) {
        return CONNECTION_BROKEN; /* it gave up this one and would go on with another */
    }
    switch (status) {
    case PGRES_POLLING_READING:
        return CONNECTION_CONNECTING_READS;
    case PGRES_POLLING_WRITING:
        return CONNECTION_CONNECTING_WRITES;
    case PGRES_POLLING_OK:
        return connection_arrive(connection) ? CONNECTION_UP : CONNECTION_BROKEN;
    case PGRES_POLLING_FAILED:
    case PGRES_POLLING_ACTIVE:
        break;
    }
    return CONNECTION_BROKEN;
}

static bool connection_write(void *of, bool *full)
{
    struct connection *connection = of;
    int left = connection->pq->PQflush(connection->link);
    *full = left == 1;
    return left >= 0;
}

static bool connection_read(void *of)
{
    struct connection *connection = of;
    return connection->pq->PQconsumeInput(connection->link) == 1;
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct lock_reply row_read(const struct connection *connection, const PGresult *result,
                                  const struct lock_command *asked)
{
    const struct libpq *pq = connection->pq;
    if (pq->PQntuples(result) == 0) {
        return (struct lock_reply){.type = LOCK_REPLY_NO};
    }
    if (lock_dialect_row(&sql_dialect, asked->kind)->answers == LOCK_ANSWERS_YES_NO) {
        return (struct lock_reply){.type = LOCK_REPLY_YES};
    }
    return (struct lock_reply){.type = LOCK_REPLY_NUMBER,
                               .number = strtoll(pq->PQgetvalue(result, 0, 0), NULL, 10)};
}

/* The result of a Prepare comes first, if there was one, and an end behind each result; a sync
 * has none. Two ends, one behind the other, are those of a session that is over. */
static enum connection_next connection_next(void *of, const struct lock_command *asked,
                                            struct connection_said *said)
{
    struct connection *connection = of;
    const struct libpq *pq = connection->pq;
    bool ended = asked == NULL;
    while (pq->PQisBusy(connection->link) == 0) {
        PGresult *result = pq->PQgetResult(connection->link);
        ExecStatusType status = result != NULL ? pq->PQresultStatus(result) : PGRES_COMMAND_OK;
        if (result == NULL && ended) {
            return CONNECTION_EMPTY;
        }
        ended = result == NULL || asked == NULL;
        if (status == PGRES_TUPLES_OK && asked != NULL) {
            connection->reply = row_read(connection, result, asked);
        } else if (status != PGRES_COMMAND_OK && status != PGRES_PIPELINE_SYNC) {
            connection->reply = (struct lock_reply){.type = LOCK_REPLY_ERROR};
        }
        pq->PQclear(result);
        if (status == PGRES_PIPELINE_SYNC) {
            said->reply = connection->reply;
            connection->reply = (struct lock_reply){.type = LOCK_REPLY_GARBLED};
            return asked != NULL ? CONNECTION_REPLY : CONNECTION_GARBAGE;
        }
    }
    return CONNECTION_EMPTY;
}

const struct connection_kind sql_connection = {
    .name = "sql",
    .holds = true,
    .open = connection_open,
    .fd = connection_fd,
    .progress = connection_progress,
    .add = connection_add,
    .write = connection_write,
    .read = connection_read,
    .next = connection_next,
    .close = connection_close,
};

#else

struct server_lack libpq_lacks(void)
{
    return (struct server_lack){"picklock was built without libpq's header",
                                "apt-get install libpq-dev, then build picklock again"};
}

const struct connection_kind sql_connection = {.name = "sql", .open = server_connection_unbuilt};

#endif
