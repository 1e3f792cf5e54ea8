/* remote.c: the harness's end of a connection to an agent. */
#include "harness/real/agent/remote.h"

#include "base/assert.h"
#include "base/foreign.h"
#include "base/machine_clock.h"
#include "harness/real/process/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* It is over: everything fails from now on, with this sentence. */
__attribute__((format(printf, 3, 4))) static struct result
remote_lose(struct remote *remote, struct text *why, const char *format, ...)
{
    char because[REMOTE_WHY_BYTES / 2];
    va_list arguments;
    if (remote->lost[0] == '\0') {
        struct text text = text_over(remote->lost, sizeof remote->lost);
        va_start(arguments, format);
        (void)vsnprintf(because, sizeof because, format, arguments);
        va_end(arguments);
        text_add(&text, "node %d: the agent at %s %s", remote->node + 1, remote->place->name,
                 because);
    }
    text_add(why, "%s", remote->lost);
    return result_error(ERROR_ENVIRONMENT);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static struct result remote_write(struct remote *remote, const uint8_t *bytes, size_t count,
                                  struct text *why)
{
    remote->told_ns = loop_now_ns();
    if (send(remote->fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)count) {
        return remote_lose(remote, why,
                           "has closed the connection: it was ended, or its machine "
                           "or container was");
    }
    return RESULT_OK;
}

static struct result remote_send(struct remote *remote, enum wire_type type,
                                 const struct text *body, struct text *why)
{
    uint8_t bytes[WIRE_HEAD_BYTES + 512 + SEAL_BYTES];
    ASSERT(body == NULL || body->length <= 512);
    size_t count = wire_seal(&remote->wire, type, body != NULL ? body->data : "",
                             body != NULL ? body->length : 0, bytes);
    return remote_write(remote, bytes, count, why);
}

/* A server ended by itself: "SLOT why". */
static void remote_note(struct remote *remote, const struct wire_frame *frame)
{
    size_t slot = frame->body_bytes > 2 ? (size_t)(frame->body[0] - '0') : ORDER_SLOTS;
    if (slot < ORDER_SLOTS) {
        struct text text = text_over(remote->died_why[slot], sizeof remote->died_why[slot]);
        text_add_foreign(&text, frame->body + 2, frame->body_bytes - 2);
        remote->died[slot] = true;
    }
}

static void remote_frame(struct remote *remote, const struct wire_frame *frame)
{
    remote->heard_ns = loop_now_ns();
    if (frame->type == WIRE_NOTE) {
        remote_note(remote, frame);
    } else if (frame->type == WIRE_DONE || frame->type == WIRE_REFUSED) {
        remote->answered = true;
        remote->type = frame->type;
        remote->answer_bytes = frame->body_bytes;
        memcpy(remote->answer, frame->body, frame->body_bytes);
        remote->answer[frame->body_bytes] = '\0';
    }
}

/* Take what came; never waits. */
static struct result remote_take(struct remote *remote, struct text *why)
{
    if (remote->lost[0] != '\0') {
        return remote_lose(remote, why, "is gone");
    }
    for (;;) {
        size_t room = sizeof remote->bytes - remote->filled;
        ssize_t got = recv(remote->fd, remote->bytes + remote->filled, room, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return RESULT_OK;
        }
        if (got == 0 && remote->answered) {
            return RESULT_OK; /* its last word comes first: the end will be there next time */
        }
        if (got <= 0) {
            return remote_lose(remote, why,
                               "has closed the connection: it was ended, or its "
                               "machine or container was");
        }
        remote->filled += (size_t)got;
        size_t at = 0;
        struct wire_frame frame;
        enum wire_status status = WIRE_WHOLE;
        while (status == WIRE_WHOLE) {
            status = wire_open(&remote->wire, remote->bytes + at, remote->filled - at, &frame);
            if (status == WIRE_BROKEN) {
                return remote_lose(remote, why, "says what is not of it: %s", frame.error);
            }
            if (status == WIRE_WHOLE) {
                remote_frame(remote, &frame);
                at += frame.bytes;
            }
        }
        remote->filled -= at;
        memmove(remote->bytes, remote->bytes + at, remote->filled);
    }
}

static void remote_wait(const struct remote *remote, int64_t until_ns, short events)
{
    struct pollfd fd = {.fd = remote->fd, .events = events};
    int64_t left_ns = until_ns - loop_now_ns();
    struct timespec left = {.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
    if (left_ns > 0) {
        (void)ppoll(&fd, 1, &left, NULL);
    }
}

struct result remote_ask(struct remote *remote, const struct order *order, struct text *why)
{
    char memory[512];
    struct text body = text_over(memory, sizeof memory);
    const char *word = order_word((enum order_kind)order->kind);
    order_print(order, &body);
    TRY(remote_take(remote, why));
    remote->answered = false;
    TRY(remote_send(remote, WIRE_ORDER, &body, why));
    int64_t until_ns = loop_now_ns() + order_patience_ns((enum order_kind)order->kind);
    for (;;) {
        /* Read before the clock is looked at: our own lateness is not the agent's. */
        bool late = loop_now_ns() > until_ns;
        TRY(remote_take(remote, why));
        if (remote->answered) {
            break;
        }
        if (late) {
            return remote_lose(remote, why, "does not answer \"%s\": it is paused or cut off",
                               word);
        }
        remote_wait(remote, until_ns + NS_PER_MS, POLLIN);
    }
    remote->answered = false;
    if (remote->type == WIRE_REFUSED) {
        text_add(why, "node %d: the agent at %s refuses \"%s\": ", remote->node + 1,
                 remote->place->name, word);
        text_add_foreign(why, remote->answer, remote->answer_bytes);
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

/*
 * Silence is what we listened to: where nobody gave us a processor, or an order was waited for, we
 * did not, and the agent on a machine that is as busy may be as late.
 */
struct result remote_beat(struct remote *remote, struct text *why)
{
    int64_t before_ns = remote->looked_ns > 0 ? remote->looked_ns : loop_now_ns();
    TRY(remote_take(remote, why));
    int64_t now_ns = loop_now_ns();
    int64_t listened_ns = now_ns - before_ns;
    int64_t most_ns = REMOTE_LISTEN_MS * NS_PER_MS;
    remote->looked_ns = now_ns;
    remote->silence_ns += listened_ns < most_ns ? listened_ns : most_ns;
    if (remote->heard_ns >= before_ns) {
        remote->silence_ns = 0;
    }
    if (remote->silence_ns > AGENT_SILENCE_MS * NS_PER_MS) {
        return remote_lose(remote, why, "has been silent for %d ms: it is paused or cut off",
                           AGENT_SILENCE_MS);
    }
    if (now_ns - remote->told_ns >= AGENT_ALIVE_MS * NS_PER_MS) {
        TRY(remote_send(remote, WIRE_ALIVE, NULL, why));
    }
    return RESULT_OK;
}

/* ---- beginning, end -------------------------------------------------------------------------- */

static struct result remote_connect(struct remote *remote, struct text *why)
{
    int one = 1;
    int error = 0;
    socklen_t bytes = sizeof error;
    struct sockaddr_in to =
        address_socket((struct address){.ip = remote->place->ip, .port = remote->place->port});
    int64_t until_ns = loop_now_ns() + AGENT_SILENCE_MS * NS_PER_MS;
    remote->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (remote->fd < 0 || (connect(remote->fd, (const struct sockaddr *)&to, sizeof to) != 0 &&
                           errno != EINPROGRESS)) {
        return remote_lose(remote, why, "cannot be reached: %s", strerror(errno));
    }
    remote_wait(remote, until_ns, POLLOUT);
    struct pollfd ready = {.fd = remote->fd, .events = POLLOUT};
    if (poll(&ready, 1, 0) != 1) {
        return remote_lose(remote, why, "cannot be reached: no answer within %d ms",
                           AGENT_SILENCE_MS);
    }
    (void)getsockopt(remote->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) {
        return remote_lose(remote, why, "cannot be reached: %s", strerror(error));
    }
    (void)setsockopt(remote->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return RESULT_OK;
}

static struct result remote_greet(struct remote *remote, const struct cluster_secret *secret,
                                  struct text *why)
{
    struct wire_greet hello = {.side = WIRE_HARNESS, .version = WIRE_VERSION};
    struct wire_greet welcome = {.side = WIRE_AGENT, .other = hello.nonce};
    uint8_t bytes[WIRE_GREETING_BYTES];
    size_t filled = 0;
    int64_t until_ns = loop_now_ns() + AGENT_SILENCE_MS * NS_PER_MS;
    seal_random(hello.nonce, sizeof hello.nonce);
    wire_greet(secret, &hello, bytes);
    TRY(remote_write(remote, bytes, sizeof bytes, why));
    while (filled < sizeof bytes) {
        bool late = loop_now_ns() > until_ns;
        ssize_t got = recv(remote->fd, bytes + filled, sizeof bytes - filled, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            return remote_lose(remote, why, "closes the connection: it is no agent of picklock");
        }
        filled += got > 0 ? (size_t)got : 0;
        if (late) {
            return remote_lose(remote, why, "does not answer within %d ms", AGENT_SILENCE_MS);
        }
        if (filled < sizeof bytes) {
            remote_wait(remote, until_ns + NS_PER_MS, POLLIN);
        }
    }
    enum wire_greeting greeting = wire_greeted(secret, bytes, &welcome);
    if (greeting == WIRE_GREETING_FOREIGN) {
        return remote_lose(remote, why, "speaks another language: it is no agent of picklock");
    }
    if (greeting == WIRE_GREETING_VERSION) {
        return remote_lose(remote, why, "speaks version %u of the protocol, we speak %d",
                           welcome.version, WIRE_VERSION);
    }
    if (greeting == WIRE_GREETING_SECRET) {
        return remote_lose(remote, why, "has another secret than we");
    }
    wire_begin(&remote->wire, WIRE_HARNESS, secret, hello.nonce, welcome.nonce);
    wire_password(&remote->wire, remote->password);
    return RESULT_OK;
}

struct result remote_measure(struct remote *remote, struct text *why)
{
    struct order order = {.kind = ORDER_TIME};
    int64_t until_ns = loop_now_ns() + REMOTE_LOOK_MS * NS_PER_MS;
    for (int i = 0; i < REMOTE_LOOKS && (i == 0 || loop_now_ns() < until_ns); i++) {
        int64_t told[2];
        int64_t before_ns = loop_now_ns();
        int64_t wall_ns = realtime_ns();
        TRY(remote_ask(remote, &order, why));
        int64_t trip_ns = loop_now_ns() - before_ns;
        if (!order_numbers(remote->answer, remote->answer_bytes, told, 2)) {
            return remote_lose(remote, why, "does not tell its time");
        }
        if (trip_ns / 2 < remote->clock.bound_ns) {
            remote->clock.bound_ns = trip_ns / 2;
            remote->clock.ahead_ns = told[0] - (before_ns + trip_ns / 2);
            remote->clock.wall_ahead_ns = told[1] - (wall_ns + trip_ns / 2);
        }
    }
    return RESULT_OK;
}

struct result remote_open(struct remote *remote, const struct remote_where *where, struct text *why)
{
    struct order attach = {.kind = ORDER_ATTACH};
    memset(remote, 0, sizeof *remote);
    remote->place = where->place;
    remote->node = where->node;
    remote->clock.bound_ns = INT64_MAX;
    TRY(remote_connect(remote, why));
    TRY(remote_greet(remote, where->secret, why));
    remote->heard_ns = loop_now_ns();
    (void)snprintf(attach.text, sizeof attach.text, "%s", where->name);
    TRY(remote_ask(remote, &attach, why));
    return remote_measure(remote, why);
}

void remote_close(struct remote *remote)
{
    if (remote->place != NULL && remote->fd >= 0) {
        (void)close(remote->fd);
        remote->fd = -1;
    }
}
