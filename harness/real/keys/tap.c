/* tap.c: a connection on which a redis-server tells all that it does. */
#include "harness/real/keys/tap.h"

#include "base/arena.h"
#include "base/assert.h"
#include "servers/redis/real/password.h"
#include "servers/redis/real/secure.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TAP_BYTES_FIRST = 16 << 10, TAP_ROOM_BYTES = 4 << 10, TAP_HEAD_BYTES = 32 };

void tap_close(struct tap *tap)
{
    if (tap->fd >= 0) {
        secure_close(tap->fd);
    }
    memory_release(tap->data);
    memory_release(tap->held);
    tap->fd = -1;
    tap->ended = true;
    tap->data = NULL;
    tap->held = NULL;
    tap->capacity = tap->start = tap->end = 0;
    tap->held_bytes = tap->held_capacity = 0;
}

/* ---- out ---- */

/* Our own words are few and short: where the socket takes only a part of them, the tap is over. */
static void tap_write(struct tap *tap, const char *bytes, size_t count)
{
    while (count > 0 && !tap->ended) {
        ssize_t sent = secure_send(tap->fd, bytes, count, MSG_DONTWAIT);
        struct pollfd writable = {.fd = tap->fd, .events = POLLOUT};
        if (sent < 0 && errno == EAGAIN && poll(&writable, 1, TAP_WAIT_SECONDS * 1000) == 1) {
            continue;
        }
        if (sent < 0 && errno != EINTR) {
            tap->ended = true;
        }
        bytes += sent > 0 ? sent : 0;
        count -= sent > 0 ? (size_t)sent : 0;
    }
}

void tap_send(struct tap *tap, const struct resp_word *words, uint32_t count)
{
    char head[TAP_HEAD_BYTES];
    ASSERT(count > 0 && count <= TAP_WORDS_MAX);
    tap_write(tap, head, (size_t)snprintf(head, sizeof head, "*%u\r\n", count));
    for (uint32_t i = 0; i < count; i++) {
        tap_write(tap, head, (size_t)snprintf(head, sizeof head, "$%u\r\n", words[i].bytes));
        tap_write(tap, words[i].data, words[i].bytes);
        tap_write(tap, "\r\n", 2);
    }
}

void tap_ask(struct tap *tap)
{
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    tap->asked++;
    tap_write(tap, ping, sizeof ping - 1);
}

/* ---- in ---- */

static bool tap_make_room(struct tap *tap)
{
    if (tap->start > 0) {
        memmove(tap->data, tap->data + tap->start, tap->end - tap->start);
        tap->end -= tap->start;
        tap->start = 0;
    }
    if (tap->capacity - tap->end >= TAP_ROOM_BYTES) {
        return true;
    }
    uint32_t capacity = tap->capacity > 0 ? 2 * tap->capacity : TAP_BYTES_FIRST;
    char *data =
        capacity <= 2u * MONITOR_MESSAGE_BYTES_MAX ? memory_resize(tap->data, capacity) : NULL;
    if (data == NULL) {
        return false;
    }
    tap->data = data;
    tap->capacity = capacity;
    return true;
}

void tap_receive(struct tap *tap)
{
    while (!tap->ended) {
        if (tap->capacity - tap->end < TAP_ROOM_BYTES && !tap_make_room(tap)) {
            tap->ended = true;
            return;
        }
        uint32_t room = tap->capacity - tap->end;
        ssize_t bytes = secure_recv(tap->fd, tap->data + tap->end, room, MSG_DONTWAIT);
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes < 0 && errno == EAGAIN) {
            return;
        }
        if (bytes <= 0) {
            tap->ended = true;
            return;
        }
        tap->end += (uint32_t)bytes;
    }
}

static bool tap_hold(struct tap *tap, const char *data, uint32_t bytes)
{
    if (bytes > tap->held_capacity) {
        char *held = memory_resize(tap->held, bytes);
        if (held == NULL) {
            return false;
        }
        tap->held = held;
        tap->held_capacity = bytes;
    }
    memcpy(tap->held, data, bytes);
    tap->held_bytes = bytes;
    return true;
}

/* The line that waited has all its effects before it now. */
static bool tap_held(struct tap *tap, struct monitor_message *message)
{
    if (tap->held_bytes == 0) {
        return false;
    }
    monitor_read(tap->held, tap->held_bytes, message);
    tap->held_bytes = 0;
    return true;
}

static bool is_line(const char *data, uint32_t bytes)
{
    return bytes > 2 && data[0] == '+' && data[1] >= '0' && data[1] <= '9';
}

bool tap_next(struct tap *tap, struct monitor_message *message)
{
    while (tap->start < tap->end) {
        char *data = tap->data + tap->start;
        uint32_t bytes = 0;
        enum resp_status status = monitor_cut(data, tap->end - tap->start, &bytes);
        if (status != RESP_MESSAGE) {
            tap->ended = tap->ended || status == RESP_BROKEN;
            return false;
        }
        if (!tap->effects_first && data[0] != '>' && tap_held(tap, message)) {
            return true; /* `data` is looked at again */
        }
        tap->start += bytes;
        if (!tap->effects_first && is_line(data, bytes)) {
            tap->ended = tap->ended || !tap_hold(tap, data, bytes);
            continue;
        }
        monitor_read(data, bytes, message);
        bool pong = message->type == MONITOR_ANSWER && message->text.bytes == 4 &&
                    memcmp(message->text.data, "PONG", 4) == 0;
        if (pong) {
            tap->passed++;
        }
        return true;
    }
    return false;
}

struct result tap_wait(struct tap *tap, struct text *why)
{
    struct pollfd readable = {.fd = tap->fd, .events = POLLIN};
    int ready = 0;
    do {
        ready = tap->ended ? 0 : poll(&readable, 1, TAP_WAIT_SECONDS * 1000);
    } while (ready < 0 && errno == EINTR);
    if (ready > 0) {
        tap_receive(tap);
    }
    if (ready > 0 && (!tap->ended || tap->start < tap->end)) {
        return RESULT_OK;
    }
    text_add(why, "a redis-server %s while it was asked to tell what it does",
             tap->ended ? "closed its connection" : "was silent");
    return result_error(ERROR_ENVIRONMENT);
}

/* ---- opening ---- */

/* HELLO's answer is a map: the text behind "version". */
static bool hello_effects_first(const struct monitor_message *message)
{
    static const char name[] = "version\r\n$";
    const char *at = memmem(message->text.data, message->message_bytes - 1, name, sizeof name - 1);
    const char *end = message->text.data + message->message_bytes - 1; /* a type byte before */
    const char *line =
        at != NULL ? memchr(at + sizeof name, '\n', (size_t)(end - at) - sizeof name) : NULL;
    return line == NULL || monitor_effects_first(line + 1, (size_t)(end - line) - 1);
}

/* "... addr=10.0.0.7:51234 ...": the port that a server sees us come from; 0: it does not say. */
static long seen_port(const struct monitor_message *message)
{
    static const char name[] = " addr=";
    const char *end = message->text.data + message->text.bytes;
    const char *at = memmem(message->text.data, message->text.bytes, name, sizeof name - 1);
    const char *stop = at != NULL ? memchr(at + 1, ' ', (size_t)(end - at) - 1) : NULL;
    const char *colon = stop != NULL ? memrchr(at, ':', (size_t)(stop - at)) : NULL;
    return colon != NULL ? strtol(colon + 1, NULL, 10) : 0;
}

/*
 * Lines of commands name the port that they come from, and so the client. Behind a tunnel that is
 * the tunnel's, and our clients' own commands would look like somebody else's.
 */
static void tap_check_way(struct tap *tap, const struct monitor_message *message)
{
    long port = message->error ? 0 : seen_port(message);
    if (port != 0 && port != address_of(tap->fd).port) {
        (void)snprintf(tap->refused, sizeof tap->refused,
                       "it sees us come from port %ld, not %d: behind a tunnel, or an address "
                       "translated, nobody can say whose command is whose",
                       port, address_of(tap->fd).port);
    }
}

/* What is asked of the server, in order, and its name for people. */
static const struct {
    const char *words[TAP_WORDS_MAX];
    const char *name;
} tap_requests[] = {
    {{"HELLO", "3"}, "HELLO 3"},
    {{"CLIENT", "INFO"}, "CLIENT INFO"}, /* may be refused: Redis 6.0 does not know it */
    {{"CONFIG", "SET", "notify-keyspace-events", "KEA"}, "CONFIG SET notify-keyspace-events"},
    {{"PSUBSCRIBE", "__keyspace@*__:*"}, "PSUBSCRIBE"},
    {{"MONITOR"}, "MONITOR"},
};
enum { TAP_REQUESTS = sizeof tap_requests / sizeof tap_requests[0], TAP_HELLO = 0, TAP_WAY = 1 };

static void tap_request(struct tap *tap, uint32_t index)
{
    struct resp_word words[TAP_WORDS_MAX];
    uint32_t count = 0;
    while (count < TAP_WORDS_MAX && tap_requests[index].words[count] != NULL) {
        const char *word = tap_requests[index].words[count];
        words[count++] = (struct resp_word){word, (uint32_t)strlen(word)};
    }
    tap_send(tap, words, count);
}

static void tap_refuse(struct tap *tap, uint32_t index, const struct monitor_message *message)
{
    if (tap->refused[0] == '\0') {
        (void)snprintf(tap->refused, sizeof tap->refused, "it refuses %s: %.*s",
                       tap_requests[index].name, (int)message->text.bytes, message->text.data);
    }
}

/* One request after the other: a subscription answers with a push, so their answers differ. */
static struct result tap_handshake(struct tap *tap, uint32_t first, uint32_t end, struct text *why)
{
    struct result result = RESULT_OK;
    for (uint32_t i = first; i < end && tap->refused[0] == '\0' && !result_failed(result); i++) {
        tap_request(tap, i);
        for (bool answered = false; !answered && !result_failed(result);) {
            struct monitor_message message;
            if (!tap_next(tap, &message)) {
                result = tap_wait(tap, why);
                continue;
            }
            answered = message.type == MONITOR_ANSWER || message.type == MONITOR_OTHER;
            if (answered && i == TAP_WAY) {
                tap_check_way(tap, &message);
            } else if (answered && message.error) {
                tap_refuse(tap, i, &message);
            } else if (answered && i == TAP_HELLO) {
                tap->effects_first = hello_effects_first(&message);
            }
        }
    }
    if (result_failed(result) || tap->refused[0] != '\0') {
        tap_close(tap);
    }
    return result;
}

struct result tap_open(struct tap *tap, struct address address, struct text *why)
{
    *tap = TAP_CLOSED;
    tap->effects_first = true;
    tap->fd = address_connect(address);
    if (tap->fd < 0 || !secure_begin(address.secure, tap->fd, SECURE_WAITS) ||
        !password_tell(tap->fd, address.password, TAP_WAIT_SECONDS * 1000)) {
        int error = errno;
        tap_close(tap);
        text_add(why, "the redis-server at ");
        address_print(address, why);
        text_add(why, " does not take a connection: %s", secure_error(error));
        return result_error(ERROR_ENVIRONMENT);
    }
    return tap_handshake(tap, TAP_HELLO, TAP_HELLO + 1, why);
}

struct result tap_begin(struct tap *tap, struct text *why)
{
    return tap->fd >= 0 ? tap_handshake(tap, TAP_HELLO + 1, TAP_REQUESTS, why) : RESULT_OK;
}
