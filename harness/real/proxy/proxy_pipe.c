/* proxy_pipe.c: bytes in, whole messages out: one direction of a connection. */
#include "harness/real/proxy/proxy_inner.h"

#include "base/arena.h"
#include "base/assert.h"
#include "servers/redis/real/secure.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { PIPE_ROOM_BYTES = 4 << 10 };

static struct proxy_pipe *connection_pipe(struct proxy_connection *connection, uint8_t direction)
{
    return direction == DIRECTION_REQUEST ? &connection->request : &connection->reply;
}

bool pipe_empty(const struct proxy_pipe *pipe)
{
    return pipe->mark_count == 0 && pipe->sent == pipe->ready;
}

void pipe_release(struct proxy_pipe *pipe)
{
    memory_release(pipe->data);
    memory_release(pipe->marks);
    pipe->data = NULL;
    pipe->marks = NULL;
}

uint32_t pipe_discard(struct proxy_pipe *pipe)
{
    uint32_t bytes = pipe->parsed - pipe->sent;
    pipe->mark_count = 0;
    /* What the parser looks at right now must stay where it is. */
    pipe->sent = pipe->parsed;
    pipe->ready = pipe->parsed;
    return bytes;
}

/* Make room to read into: move what is left to the front, else grow. False: the pipe is full. */
static bool pipe_make_room(struct proxy_pipe *pipe)
{
    if (pipe->sent > 0) {
        memmove(pipe->data, pipe->data + pipe->sent, pipe->end - pipe->sent);
        pipe->ready -= pipe->sent;
        pipe->parsed -= pipe->sent;
        pipe->end -= pipe->sent;
        pipe->sent = 0;
    }
    if (pipe->capacity - pipe->end >= PIPE_ROOM_BYTES) {
        return true;
    }
    uint32_t capacity = pipe->capacity > 0 ? 2 * pipe->capacity : PIPE_BYTES_FIRST;
    char *data = capacity <= PIPE_BYTES_MAX ? memory_resize(pipe->data, capacity) : NULL;
    if (data == NULL) {
        return pipe->end < pipe->capacity;
    }
    pipe->data = data;
    pipe->capacity = capacity;
    return true;
}

static void pipe_pop(struct proxy_pipe *pipe)
{
    ASSERT(pipe->mark_count > 0);
    pipe->mark_first++;
    pipe->mark_count--;
}

/* Throw the first message away. */
static void pipe_drop_first(struct proxy_connection *connection, uint8_t direction)
{
    struct proxy_pipe *pipe = connection_pipe(connection, direction);
    struct proxy_mark *mark = pipe_mark(pipe, 0);
    proxy_count_dropped(connection->link, direction, mark->bytes);
    if (direction == DIRECTION_REQUEST && !mark->silent) {
        commands_drop_waiting(connection);
    }
    memmove(pipe->data + pipe->ready, pipe->data + pipe->ready + mark->bytes,
            pipe->end - pipe->ready - mark->bytes);
    pipe->parsed -= mark->bytes;
    pipe->end -= mark->bytes;
    pipe->dropped = true;
    pipe_pop(pipe);
}

/* What keeps the first message of a direction back now. */
enum pipe_block { BLOCK_NONE, BLOCK_WAITS, BLOCK_DROPS };

static enum pipe_block pipe_blocked(struct proxy_connection *connection, uint8_t direction)
{
    struct proxy_link *link = connection->link;
    const struct proxy_mark *mark = pipe_mark(connection_pipe(connection, direction), 0);
    if (mark->due_ns > link->proxy->now_ns) {
        proxy_wake_at(link->proxy, mark->due_ns);
        return BLOCK_WAITS;
    }
    bool early = direction == DIRECTION_REQUEST && !connection->connected;
    if (mark->held || mark->waits || early) {
        return BLOCK_WAITS;
    }
    if (link->faults == 0) {
        return BLOCK_NONE;
    }
    struct proxy_rules rules = proxy_rules_of(link, direction);
    return rules.holds ? BLOCK_WAITS : rules.drops ? BLOCK_DROPS : BLOCK_NONE;
}

/* The first command is free to go: let the run and faults have their word. False: look again. */
static bool request_released(struct proxy_connection *connection)
{
    struct proxy_mark *mark = pipe_mark(&connection->request, 0);
    if (mark->silent) {
        return true;
    }
    if (!mark->seen) {
        mark->seen = true;
        struct proxy_answer answer = commands_arrival(connection);
        /* The callback may have begun a fault, or cut this very connection. */
        if (connection->request.mark_count > 0) {
            mark_answer(connection, pipe_mark(&connection->request, 0), &answer);
        }
        return false;
    }
    if (!mark->delayed) {
        mark->delayed = true;
        uint8_t role = connection_command(connection, 0)->role;
        int64_t wait_ns =
            connection->link->faults != 0 ? proxy_delay_of(connection->link, role) : 0;
        if (wait_ns > 0) {
            connection->delayed = true;
            mark->due_ns = connection->link->proxy->now_ns + wait_ns;
            return false;
        }
    }
    return true;
}

void pipe_advance(struct proxy_connection *connection, uint8_t direction)
{
    struct proxy_pipe *pipe = connection_pipe(connection, direction);
    if (connection->dead || pipe->busy) {
        return;
    }
    pipe->busy = true;
    while (pipe->mark_count > 0) {
        enum pipe_block block = pipe_blocked(connection, direction);
        if (block == BLOCK_WAITS) {
            break;
        }
        if (block == BLOCK_DROPS) {
            pipe_drop_first(connection, direction);
            continue;
        }
        if (direction == DIRECTION_REQUEST && !request_released(connection)) {
            continue; /* look again: it waits, or what it waited for is over */
        }
        struct proxy_mark *mark = pipe_mark(pipe, 0);
        if (direction == DIRECTION_REQUEST && !mark->silent) {
            commands_send(connection);
        } else if (direction == DIRECTION_REPLY) {
            reply_passes(connection, mark->told);
        }
        pipe->ready += mark->bytes;
        pipe_pop(pipe);
    }
    pipe->busy = false;
    pipe_flush(connection, direction);
    if (pipe->full) {
        proxy_wake_at(connection->link->proxy, connection->link->proxy->now_ns);
    }
}

void pipe_flush(struct proxy_connection *connection, uint8_t direction)
{
    struct proxy_pipe *pipe = connection_pipe(connection, direction);
    int fd = direction == DIRECTION_REQUEST ? connection->node_fd : connection->client_fd;
    if (pipe->sent == pipe->ready || connection->dead) {
        return;
    }
    if (fd < 0) {
        pipe->sent = pipe->ready;
        return;
    }
    ssize_t bytes = secure_send(fd, pipe->data + pipe->sent, pipe->ready - pipe->sent, 0);
    if (bytes < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            /* An event with the error follows and ends that side. */
            pipe->sent = pipe->ready;
        }
        return;
    }
    pipe->sent += (uint32_t)bytes;
    if (pipe->sent == pipe->end) {
        pipe->sent = 0;
        pipe->ready = 0;
        pipe->parsed = 0;
        pipe->end = 0;
    }
}

/*
 * What a turn reads is written at its end: nodes and clients are woken once for all of it, not once
 * a message. Waking is what costs most.
 */
void pipe_flush_later(struct proxy_connection *connection, uint8_t direction)
{
    struct proxy *proxy = connection->link->proxy;
    if (connection->flush == 0) {
        connection->flush_next = proxy->flush;
        proxy->flush = connection;
    }
    connection->flush |= direction;
}

void pipe_flush_all(struct proxy *proxy)
{
    while (proxy->flush != NULL) {
        struct proxy_connection *connection = proxy->flush;
        uint8_t directions = connection->flush;
        proxy->flush = connection->flush_next;
        connection->flush = 0;
        if ((directions & DIRECTION_REQUEST) != 0) {
            pipe_flush(connection, DIRECTION_REQUEST);
        }
        if ((directions & DIRECTION_REPLY) != 0) {
            pipe_flush(connection, DIRECTION_REPLY);
        }
        connection_settle(connection);
    }
}

/* ---- bytes in ---- */

/* The next message of a direction, if it is whole. False: the connection cannot go on. */
static bool pipe_parse_one(struct proxy_connection *connection, uint8_t direction,
                           enum wire_cut *status)
{
    const struct server_wire *wire = connection->link->proxy->wire;
    const struct proxy_pipe *pipe = connection_pipe(connection, direction);
    const char *data = pipe->data + pipe->parsed;
    size_t bytes = pipe->end - pipe->parsed;
    if (direction == DIRECTION_REQUEST && !connection->greeted) {
        *status = between_greeted(connection);
        if (*status != WIRE_CUT_MESSAGE || connection->dead || connection->client_fd < 0) {
            return true;
        }
    }
    if (direction == DIRECTION_REQUEST) {
        struct wire_request request = {.bytes = 0};
        *status = wire->request(connection->stream, data, bytes, &request);
        return *status != WIRE_CUT_MESSAGE || request_message(connection, &request);
    }
    struct wire_reply reply = {.bytes = 0};
    const struct lock_command *asked =
        connection->channel != NULL ? keys_next_asked(connection->channel) : NULL;
    *status = wire->reply(connection->stream, data, bytes, asked, &reply);
    return *status != WIRE_CUT_MESSAGE || reply_message(connection, &reply);
}

/* Cut what was received into messages. False: the stream is broken. */
static bool pipe_parse(struct proxy_connection *connection, uint8_t direction)
{
    struct proxy_pipe *pipe = connection_pipe(connection, direction);
    while (pipe->parsed < pipe->end && !connection->dead) {
        enum wire_cut status;
        bool fine = pipe_parse_one(connection, direction, &status);
        if (status == WIRE_CUT_MORE) {
            return true;
        }
        if (status == WIRE_CUT_BROKEN || !fine) {
            return false;
        }
        if (direction == DIRECTION_REQUEST && connection->client_fd < 0) {
            return true;
        }
    }
    return true;
}

/* Work on what was read. False: nothing more can be read. */
static bool pipe_work(struct proxy_connection *connection, uint8_t direction)
{
    struct proxy_pipe *pipe = connection_pipe(connection, direction);
    bool was_busy = pipe->busy;
    pipe->busy = true;
    bool fine = pipe_parse(connection, direction);
    pipe->busy = was_busy;
    if (!fine && !connection->dead) {
        connection->link->proxy->counts.broken_streams++;
        connection_node_gone(connection);
        (void)connection_cut(connection);
    }
    if (connection->dead) {
        return false;
    }
    if (pipe->mark_count > 0 && !was_busy) {
        pipe_advance(connection, direction);
    } else if (pipe->sent != pipe->ready) {
        pipe_flush_later(connection, direction);
    }
    return !connection->dead;
}

static void pipe_source_ended(struct proxy_connection *connection, uint8_t direction, bool broken)
{
    struct proxy_pipe *pipe = connection_pipe(connection, direction);
    pipe->ended = true;
    pipe->broken = pipe->broken || broken;
    if (direction == DIRECTION_REPLY) {
        connection_node_gone(connection);
    } else if (broken) {
        connection_client_gone(connection);
    }
}

void pipe_receive(struct proxy_connection *connection, uint8_t direction)
{
    struct proxy_pipe *pipe = connection_pipe(connection, direction);
    while (!connection->dead && !pipe->ended) {
        int fd = direction == DIRECTION_REQUEST ? connection->client_fd : connection->node_fd;
        if (fd < 0) {
            return;
        }
        if (pipe->capacity - pipe->end < PIPE_ROOM_BYTES && !pipe_make_room(pipe)) {
            pipe->full = true;
            return;
        }
        uint32_t room = pipe->capacity - pipe->end;
        ssize_t bytes = secure_recv(fd, pipe->data + pipe->end, room, 0);
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes < 0 && errno == EAGAIN) {
            return;
        }
        if (bytes <= 0) {
            pipe_source_ended(connection, direction, bytes < 0);
            return;
        }
        /* What a reply proves, and what a client sent, must not be dated before it. */
        connection->link->proxy->now_ns = loop_now_ns();
        connection->link->proxy->counts.bytes += (uint64_t)bytes;
        pipe->end += (uint32_t)bytes;
        if (!pipe_work(connection, direction)) {
            return;
        }
        /* Edge-triggered: a short read means that the socket is empty, but for its end; TLS gives
         * a record at a time. */
        if ((uint32_t)bytes < room && !pipe->closing && !secure_is(fd)) {
            return;
        }
    }
}
