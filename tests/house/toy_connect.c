/* connect.c: a lock's connection to a toy server. */
#include "servers/toy/real/real.h"

#include "base/arena.h"
#include "lockcore/drivers/links.h"
#include "lockcore/toy/toy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ASKED = 64 };

struct toy_asked {
    struct lock_command command;
    uint64_t tag;
};

struct toy_connection {
    int fd;
    uint32_t asked_count;
    struct toy_asked asked[ASKED]; /* the last of them: what may still be told of them */
    size_t out_count;
    size_t in_count;
    char out[16384];
    char in[16384];
};

static void *open_it(const struct lock_address *address, void *shared)
{
    (void)shared;
    int one = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)address->port)};
    struct toy_connection *made = memory_resize(NULL, sizeof *made);
    if (made == NULL || inet_pton(AF_INET, address->name, &to.sin_addr) != 1) {
        memory_release(made);
        return NULL;
    }
    memset(made, 0, sizeof *made);
    made->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)setsockopt(made->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(made->fd, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS) {
        (void)close(made->fd);
        memory_release(made);
        return NULL;
    }
    return made;
}

static int fd_of(const void *of)
{
    return ((const struct toy_connection *)of)->fd;
}

static enum connection_progress progress(void *of)
{
    return connection_socket_progress(fd_of(of));
}

static bool add(void *of, const struct lock_request *request)
{
    struct toy_connection *connection = of;
    char hex[LOCK_VALUE_HEX_BYTES];
    char ttl[24] = "";
    lock_value_print(&request->command->value, hex);
    if (request->command->kind == TOY_TAKE) {
        (void)snprintf(ttl, sizeof ttl, " %" PRId64, request->command->ttl_ms);
    }
    size_t room = sizeof connection->out - connection->out_count;
    int length =
        snprintf(connection->out + connection->out_count, room, "%s %.*s %.*s%s\n",
                 request->command->kind == TOY_TAKE ? "take" : "give", (int)request->resource_bytes,
                 request->resource, (int)sizeof hex, hex, ttl);
    bool fits = length > 0 && (size_t)length < room;
    connection->out_count += fits ? (size_t)length : 0;
    connection->asked[connection->asked_count % ASKED].command = *request->command;
    connection->asked[connection->asked_count++ % ASKED].tag = request->tag;
    return fits;
}

static bool write_it(void *of, bool *full)
{
    struct toy_connection *connection = of;
    ssize_t sent = connection->out_count == 0
                       ? 0
                       : send(connection->fd, connection->out, connection->out_count, MSG_NOSIGNAL);
    *full = sent < 0 && errno == EAGAIN;
    if (sent > 0) {
        connection->out_count -= (size_t)sent;
        memmove(connection->out, connection->out + sent, connection->out_count);
        *full = connection->out_count > 0;
    }
    return sent >= 0 || *full;
}

static bool read_it(void *of)
{
    struct toy_connection *connection = of;
    ssize_t got = recv(connection->fd, connection->in + connection->in_count,
                       sizeof connection->in - connection->in_count, 0);
    connection->in_count += got > 0 ? (size_t)got : 0;
    return got > 0 || (got < 0 && errno == EAGAIN);
}

/* "free VALUE\n": what was refused may be asked for again. */
static bool is_push(const struct toy_connection *connection, struct connection_said *said)
{
    struct lock_value value;
    if (memcmp(connection->in, "free ", 5) != 0 ||
        !lock_value_parse(connection->in + 5, LOCK_VALUE_HEX_BYTES, &value)) {
        return false;
    }
    for (uint32_t i = connection->asked_count; i-- > 0 && i + ASKED >= connection->asked_count;) {
        const struct toy_asked *last = &connection->asked[i % ASKED];
        if (memcmp(&last->command.value, &value, sizeof value) == 0) {
            said->command = last->command;
            said->tag = last->tag;
            return true;
        }
    }
    return false;
}

static enum connection_next next_of(void *of, const struct lock_command *asked,
                                    struct connection_said *said)
{
    struct toy_connection *connection = of;
    const char *end = memchr(connection->in, '\n', connection->in_count);
    if (end == NULL) {
        return CONNECTION_EMPTY;
    }
    size_t bytes = (size_t)(end - connection->in) + 1;
    said->reply.type = connection->in[0] == 'y' ? LOCK_REPLY_YES : LOCK_REPLY_NO;
    bool pushed = is_push(connection, said);
    connection->in_count -= bytes;
    memmove(connection->in, connection->in + bytes, connection->in_count);
    if (pushed) {
        return CONNECTION_PUSH;
    }
    return asked != NULL ? CONNECTION_REPLY : CONNECTION_GARBAGE;
}

static void close_it(void *of)
{
    (void)close(fd_of(of));
    memory_release(of);
}

const struct connection_kind toy_connection = {
    .name = "toy",
    .open = open_it,
    .fd = fd_of,
    .progress = progress,
    .add = add,
    .write = write_it,
    .read = read_it,
    .next = next_of,
    .close = close_it,
};
