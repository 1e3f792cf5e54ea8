/*
 * connect.c: a lock's connection to a Hazelcast member of ours: lines over a socket, answered in
 * order. Without a leader a member leaves a question open, and with it all behind it: a connection
 * on which one is open for longer than its wait and CONNECT_PATIENCE_NS is given up.
 */
#include "servers/hazelcast/real/real.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "base/machine_clock.h"
#include "lockcore/drivers/links.h"
#include "lockcore/hazelcast/hazelcast.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_PATIENCE_NS (1500 * NS_PER_MS)
#define CONNECT_LOOK_NS     (100 * NS_PER_MS)

enum { CONNECT_BYTES_MAX = 1 << 16 };

struct connection {
    int fd; /* owned */
    uint32_t owed;
    int64_t since_ns; /* when the first of what is owed was asked, or its answer could come next */
    int64_t wait_ns;  /* the longest that any of them waits */
    size_t out_count;
    size_t in_count;
    char out[CONNECT_BYTES_MAX];
    char in[CONNECT_BYTES_MAX];
};

static int socket_begin(const struct lock_address *address)
{
    char port[8];
    struct addrinfo *found = NULL;
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    (void)snprintf(port, sizeof port, "%d", address->port);
    if (getaddrinfo(address->name, port, &wanted, &found) != 0) {
        return -1;
    }
    int one = 1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool begun =
        fd >= 0 && (connect(fd, found->ai_addr, found->ai_addrlen) == 0 || errno == EINPROGRESS);
    freeaddrinfo(found);
    if (!begun && fd >= 0) {
        (void)close(fd);
    } else if (begun) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    return begun ? fd : -1;
}

static void *connection_open(const struct lock_address *address, void *shared)
{
    (void)shared;
    struct connection *made = memory_resize(NULL, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    memset(made, 0, sizeof *made);
    made->fd = socket_begin(address);
    if (made->fd < 0) {
        memory_release(made);
        return NULL;
    }
    return made;
}

static int connection_fd(const void *of)
{
    return ((const struct connection *)of)->fd;
}

static enum connection_progress connection_progress_of(void *of)
{
    return connection_socket_progress(connection_fd(of));
}

static bool connection_add(void *of, const struct lock_request *request)
{
    struct connection *connection = of;
    const struct lock_command *command = request->command;
    const struct lock_command_row *row = lock_dialect_row(&hazelcast_dialect, command->kind);
    char hex[LOCK_VALUE_HEX_BYTES];
    char ttl[24] = "";
    char number[24] = "";
    lock_value_print(&command->value, hex);
    if ((row->carries & LOCK_CARRIES_TTL) != 0) {
        (void)snprintf(ttl, sizeof ttl, " %" PRId64, command->ttl_ms);
    }
    if ((row->carries & LOCK_CARRIES_NUMBER) != 0) {
        (void)snprintf(number, sizeof number, " %" PRId64, command->number);
    }
    size_t room = sizeof connection->out - connection->out_count;
    int length = snprintf(connection->out + connection->out_count, room, "%s %.*s %.*s%s%s\n",
                          row->name, (int)request->resource_bytes, request->resource,
                          (int)sizeof hex, hex, ttl, number);
    if (length <= 0 || (size_t)length >= room) {
        return false;
    }
    int64_t wait_ns = command->kind == HAZELCAST_TRY_LOCK ? command->ttl_ms * NS_PER_MS : 0;
    connection->since_ns = connection->owed == 0 ? monotonic_ns() : connection->since_ns;
    connection->wait_ns =
        connection->owed == 0 || wait_ns > connection->wait_ns ? wait_ns : connection->wait_ns;
    connection->owed++;
    connection->out_count += (size_t)length;
    return true;
}

static bool connection_write(void *of, bool *full)
{
    struct connection *connection = of;
    *full = false;
    if (connection->out_count == 0) {
        return true;
    }
    ssize_t sent = send(connection->fd, connection->out, connection->out_count, MSG_NOSIGNAL);
    if (sent < 0) {
        *full = errno == EAGAIN || errno == EINTR;
        return *full;
    }
    connection->out_count -= (size_t)sent;
    memmove(connection->out, connection->out + sent, connection->out_count);
    *full = connection->out_count > 0;
    return true;
}

static bool connection_read(void *of)
{
    struct connection *connection = of;
    size_t room = sizeof connection->in - connection->in_count;
    ssize_t got = recv(connection->fd, connection->in + connection->in_count, room, 0);
    connection->in_count += got > 0 ? (size_t)got : 0;
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static enum connection_next connection_next_of(void *of, const struct lock_command *asked,
                                               struct connection_said *said)
{
    struct connection *connection = of;
    const char *end = memchr(connection->in, '\n', connection->in_count);
    if (end == NULL) {
        return CONNECTION_EMPTY;
    }
    size_t bytes = (size_t)(end - connection->in) + 1;
    said->reply = hazelcast_answer(connection->in, bytes);
    connection->in_count -= bytes;
    memmove(connection->in, connection->in + bytes, connection->in_count);
    if (asked == NULL || connection->owed == 0) {
        return CONNECTION_GARBAGE;
    }
    connection->owed--;
    connection->since_ns = monotonic_ns();
    return CONNECTION_REPLY;
}

static void connection_close(void *of)
{
    (void)close(connection_fd(of));
    memory_release(of);
}

static int64_t connection_patience(const void *of)
{
    const struct connection *connection = of;
    return connection->owed > 0 ? CONNECT_LOOK_NS : TIME_NEVER;
}

static bool connection_tend(void *of)
{
    const struct connection *connection = of;
    return connection->owed == 0 ||
           monotonic_ns() - connection->since_ns < connection->wait_ns + CONNECT_PATIENCE_NS;
}

const struct connection_kind hazelcast_connection = {
    .name = "hazelcast",
    .open = connection_open,
    .fd = connection_fd,
    .progress = connection_progress_of,
    .add = connection_add,
    .write = connection_write,
    .read = connection_read,
    .next = connection_next_of,
    .close = connection_close,
    .patience_ns = connection_patience,
    .tend = connection_tend,
};
