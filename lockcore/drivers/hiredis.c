/* hiredis.c: connections to redis-servers, made and read by hiredis: the only file that includes
 * it. Its non-blocking core rather than redisAsyncContext, which allocates for every command and
 * every reply; replies are read into one object. */
#include "lockcore/drivers/connection.h"

#include "base/arena.h"
#include "lockcore/drivers/outbox.h"
#include "lockcore/redis/command.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

/* hiredis 1.x has conversions in its headers that our flags refuse outside of /usr/include. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <hiredis/hiredis.h>
#pragma GCC diagnostic pop

enum { QUEUE_BYTES_MAX = 16 * 1024 * 1024 }; /* unsent bytes after which it counts as broken */

struct connection {
    redisContext *context; /* owned */
    redisReply reply;      /* the one that is being read; `integer` holds what a string means */
    struct outbox out;
    struct outbox_template *template; /* of all connections together */
};

static redisReply ignored; /* elements of arrays: no command of ours is answered by one */

static redisReply *reply_of(const redisReadTask *task)
{
    if (task->parent != NULL) {
        return &ignored;
    }
    struct connection *connection = task->privdata;
    connection->reply.type = task->type;
    return &connection->reply;
}

static void *reply_string(const redisReadTask *task, char *bytes, size_t count)
{
    redisReply *reply = reply_of(task);
    if (task->parent == NULL) {
        bool ok = task->type == REDIS_REPLY_STATUS && count == 2 && memcmp(bytes, "OK", 2) == 0;
        bool noscript =
            task->type == REDIS_REPLY_ERROR && count >= 8 && memcmp(bytes, "NOSCRIPT", 8) == 0;
        reply->integer = ok ? REDIS_SAID_OK : noscript ? REDIS_SAID_NOSCRIPT : REDIS_SAID_OTHER;
        if (task->type == REDIS_REPLY_ERROR && !noscript) {
            reply->integer = REDIS_SAID_ERROR;
        }
    }
    return reply;
}

static void *reply_integer(const redisReadTask *task, long long integer)
{
    redisReply *reply = reply_of(task);
    if (task->parent == NULL) {
        reply->integer = integer;
    }
    return reply;
}

/* RESP2 writes nil as a string or an array without length, and the task says only that. */
static void *reply_nil(const redisReadTask *task)
{
    redisReply *reply = reply_of(task);
    reply->type = REDIS_REPLY_NIL;
    return reply;
}

#if HIREDIS_MAJOR >= 1
static void *reply_array(const redisReadTask *task, size_t count)
#else
static void *reply_array(const redisReadTask *task, int count)
#endif
{
    (void)count;
    return reply_of(task);
}

#if HIREDIS_MAJOR >= 1
static void *reply_double(const redisReadTask *task, double number, char *bytes, size_t count)
{
    (void)number;
    (void)bytes;
    (void)count;
    return reply_of(task);
}

static void *reply_bool(const redisReadTask *task, int truth)
{
    (void)truth;
    return reply_of(task);
}
#endif

static void reply_free(void *reply)
{
    (void)reply;
}

static redisReplyObjectFunctions reply_functions = {
    .createString = reply_string,
    .createArray = reply_array,
    .createInteger = reply_integer,
    .createNil = reply_nil,
#if HIREDIS_MAJOR >= 1
    .createDouble = reply_double,
    .createBool = reply_bool,
#endif
    .freeObject = reply_free,
};

static struct lock_reply reply_read(const redisReply *reply, const struct lock_command *asked)
{
    enum redis_command kind = (enum redis_command)asked->kind;
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        return redis_reply(kind, REDIS_SAID_INTEGER, reply->integer);
    case REDIS_REPLY_NIL:
        return redis_reply(kind, REDIS_SAID_NIL, 0);
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
        return redis_reply(kind, (enum redis_said)reply->integer, 0);
    default:
        return redis_reply(kind, REDIS_SAID_OTHER, 0);
    }
}

static void connection_close(void *of)
{
    struct connection *connection = of;
    if (connection->context != NULL) {
        redisFree(connection->context);
    }
    outbox_release(&connection->out);
    memory_release(connection);
}

static void *connection_open(const struct lock_address *address, void *shared)
{
    struct connection *connection = memory_resize(NULL, sizeof *connection);
    if (connection == NULL) {
        return NULL;
    }
    memset(connection, 0, sizeof *connection);
    connection->template = shared;
    connection->context = address->port > 0 ? redisConnectNonBlock(address->name, address->port)
                                            : redisConnectUnixNonBlock(address->name);
    if (connection->context == NULL || connection->context->err != 0) {
        connection_close(connection);
        return NULL;
    }
    if (fcntl(connection->context->fd, F_SETFD, FD_CLOEXEC) != 0) {
        connection_close(connection);
        return NULL;
    }
    connection->context->reader->fn = &reply_functions;
    connection->context->reader->privdata = connection;
    return connection;
}

static int connection_fd(const void *of)
{
    const struct connection *connection = of;
    return connection->context->fd;
}

static enum connection_progress connection_progress(void *of)
{
    return connection_socket_progress(connection_fd(of));
}

static bool connection_add(void *of, const struct lock_request *request)
{
    struct connection *connection = of;
    return connection->out.count <= QUEUE_BYTES_MAX &&
           outbox_add(&connection->out, connection->template, request);
}

static bool connection_write(void *of, bool *full)
{
    struct connection *connection = of;
    return outbox_write(&connection->out, connection->context->fd, full);
}

static bool connection_read(void *of)
{
    struct connection *connection = of;
    return redisBufferRead(connection->context) == REDIS_OK;
}

static enum connection_next connection_next(void *of, const struct lock_command *asked,
                                            struct connection_said *said)
{
    struct connection *connection = of;
    void *object = NULL;
    if (redisReaderGetReply(connection->context->reader, &object) != REDIS_OK) {
        return CONNECTION_GARBAGE;
    }
    if (object == NULL) {
        return CONNECTION_EMPTY;
    }
    if (asked == NULL) {
        return CONNECTION_GARBAGE; /* an answer to nothing */
    }
    said->reply = reply_read(&connection->reply, asked);
    return CONNECTION_REPLY;
}

const struct connection_kind connection_hiredis = {
    .name = "redis",
    .shared_bytes = sizeof(struct outbox_template),
    .open = connection_open,
    .fd = connection_fd,
    .progress = connection_progress,
    .add = connection_add,
    .write = connection_write,
    .read = connection_read,
    .next = connection_next,
    .close = connection_close,
};
