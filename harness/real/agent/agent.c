/* agent.c: an agent's connections: who may give orders, and for how long. */
#include "harness/real/agent/agent_inner.h"

#include "base/assert.h"
#include "harness/real/process/loop.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { AGENT_SAID_PER_SECOND = 10, AGENT_BACKLOG = 16, AGENT_POLL_STARTING_MS = 1 };

static volatile sig_atomic_t agent_signal;

static void agent_on_signal(int signal)
{
    agent_signal = signal;
}

void agent_say(const char *format, ...)
{
    char line[WHY_BYTES * 2];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "picklock node: %s\n", line);
}

/* ---- guests ---------------------------------------------------------------------------------- */

static void guest_name(const struct guest *guest, struct text *text)
{
    address_print(guest->address, text);
    if (guest->name[0] != '\0') {
        text_add(text, " (%s)", guest->name);
    }
}

static void guest_close(struct agent *agent, struct guest *guest)
{
    if (guest == agent->holder) {
        agent->holder = NULL;
        agent_clear(agent);
    }
    (void)close(guest->fd);
    guest->phase = GUEST_FREE;
    guest->fd = -1;
}

/* Whoever knocks often must not fill the disk. */
static void guest_refuse(struct agent *agent, struct guest *guest, const char *because)
{
    int64_t now_ns = loop_now_ns();
    char memory[ORDER_TEXT_BYTES + 64];
    struct text name = text_over(memory, sizeof memory);
    if (now_ns - agent->refused_ns > NS_PER_S) {
        agent->refused_ns = now_ns;
        agent->refused = 0;
    }
    guest_name(guest, &name);
    if (++agent->refused <= AGENT_SAID_PER_SECOND) {
        agent_say("refused %s: %s", name.data, because);
    }
    guest_close(agent, guest);
}

static bool guest_write(struct guest *guest, const uint8_t *bytes, size_t count)
{
    /* Answers are short, and one at a time: what does not fit goes to nobody who reads. */
    return send(guest->fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)count;
}

bool agent_send(struct guest *guest, enum wire_type type, const struct text *body)
{
    static uint8_t bytes[WIRE_FRAME_BYTES_MAX];
    guest->told_ns = loop_now_ns();
    size_t body_bytes = body != NULL ? body->length : 0;
    size_t count =
        wire_seal(&guest->wire, type, body_bytes > 0 ? body->data : "", body_bytes, bytes);
    return guest_write(guest, bytes, count);
}

static void guest_accept(struct agent *agent)
{
    struct sockaddr_in from;
    socklen_t bytes = sizeof from;
    int one = 1;
    int fd = accept4(agent->listen_fd, (struct sockaddr *)&from, &bytes, SOCK_CLOEXEC);
    if (fd < 0) {
        return;
    }
    struct guest *guest = NULL;
    for (int i = 0; i < AGENT_GUESTS_MAX && guest == NULL; i++) {
        guest = agent->guests[i].phase == GUEST_FREE ? &agent->guests[i] : NULL;
    }
    if (guest == NULL) {
        (void)close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    memset(guest, 0, sizeof *guest);
    guest->phase = GUEST_STRANGER;
    guest->fd = fd;
    guest->address = (struct address){.ip = from.sin_addr.s_addr, .port = ntohs(from.sin_port)};
    guest->since_ns = loop_now_ns();
    guest->heard_ns = guest->since_ns;
}

/* The first bytes of a stranger. False: it was refused. */
static bool guest_greet(struct agent *agent, struct guest *guest)
{
    static const char *const reasons[] = {
        [WIRE_GREETING_FOREIGN] = "it does not speak our language",
        [WIRE_GREETING_VERSION] = "it is of another version",
        [WIRE_GREETING_SECRET] = "it has another secret",
    };
    struct wire_greet hello = {.side = WIRE_HARNESS};
    struct wire_greet welcome = {.side = WIRE_AGENT, .version = WIRE_VERSION, .other = hello.nonce};
    uint8_t bytes[WIRE_GREETING_BYTES];
    enum wire_greeting greeting = wire_greeted(agent->options->secret, guest->bytes, &hello);
    if (greeting == WIRE_GREETING_FOREIGN) {
        guest_refuse(agent, guest, reasons[greeting]);
        return false;
    }
    welcome.status = (uint16_t)greeting;
    seal_random(welcome.nonce, sizeof welcome.nonce);
    wire_greet(agent->options->secret, &welcome, bytes);
    bool told = guest_write(guest, bytes, sizeof bytes);
    if (greeting != WIRE_GREETING_FINE || !told) {
        guest_refuse(agent, guest, told ? reasons[greeting] : "it does not listen");
        return false;
    }
    wire_begin(&guest->wire, WIRE_AGENT, agent->options->secret, hello.nonce, welcome.nonce);
    guest->phase = GUEST_GREETED;
    guest->filled -= WIRE_GREETING_BYTES;
    memmove(guest->bytes, guest->bytes + WIRE_GREETING_BYTES, guest->filled);
    return true;
}

/* It knows the secret, and wants the node. False: it was refused. */
static bool guest_attach(struct agent *agent, struct guest *guest, const struct order *order)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    (void)snprintf(guest->name, sizeof guest->name, "%s", order->text);
    if (order->kind != ORDER_ATTACH) {
        guest_refuse(agent, guest, "its first order is not to attach");
        return false;
    }
    if (agent->holder != NULL) {
        text_add(&why, "in use by ");
        guest_name(agent->holder, &why);
        (void)agent_send(guest, WIRE_REFUSED, &why);
        guest_refuse(agent, guest, why.data);
        return false;
    }
    guest->phase = GUEST_HOLDER;
    agent->holder = guest;
    return true;
}

/* One message. False: the connection is over. */
static bool guest_frame(struct agent *agent, struct guest *guest, const struct wire_frame *frame)
{
    struct order order;
    guest->heard_ns = loop_now_ns();
    if (frame->type == WIRE_ALIVE) {
        return true;
    }
    if (frame->type != WIRE_ORDER || !order_parse(frame->body, frame->body_bytes, &order)) {
        guest_refuse(agent, guest, "an order that there is not");
        return false;
    }
    if (guest->phase == GUEST_GREETED && !guest_attach(agent, guest, &order)) {
        return false;
    }
    if (!agent_obey(agent, guest, &order)) {
        guest_refuse(agent, guest, "it does not take its answers");
        return false;
    }
    guest->heard_ns = loop_now_ns(); /* what an order took is not the harness's silence */
    return true;
}

/* What has come, message by message. */
static void guest_messages(struct agent *agent, struct guest *guest)
{
    if (guest->phase == GUEST_STRANGER &&
        (guest->filled < WIRE_GREETING_BYTES || !guest_greet(agent, guest))) {
        return;
    }
    size_t at = 0;
    for (;;) {
        struct wire_frame frame;
        enum wire_status status =
            wire_open(&guest->wire, guest->bytes + at, guest->filled - at, &frame);
        if (status == WIRE_BROKEN) {
            guest_refuse(agent, guest, frame.error);
            return;
        }
        if (status == WIRE_MORE) {
            break;
        }
        if (!guest_frame(agent, guest, &frame)) {
            return;
        }
        at += frame.bytes;
    }
    guest->filled -= at;
    memmove(guest->bytes, guest->bytes + at, guest->filled);
}

static void guest_read(struct agent *agent, struct guest *guest)
{
    size_t room = sizeof guest->bytes - guest->filled;
    ASSERT(room > 0); /* a frame that is whole was taken, one that is too long refused */
    ssize_t got = recv(guest->fd, guest->bytes + guest->filled, room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        if (guest == agent->holder) {
            agent_say("%s is gone", guest->name);
        }
        guest_close(agent, guest);
        return;
    }
    guest->filled += (size_t)got;
    guest_messages(agent, guest);
}

/* Who is silent for too long, and who wants to hear that we are there. */
static void guest_time(struct agent *agent, struct guest *guest, int64_t now_ns)
{
    if (guest->phase == GUEST_HOLDER && now_ns - guest->heard_ns > AGENT_LEASE_MS * NS_PER_MS) {
        guest_refuse(agent, guest, "silent for too long: its servers are ended");
    } else if (guest->phase == GUEST_HOLDER &&
               now_ns - guest->told_ns >= AGENT_ALIVE_MS * NS_PER_MS) {
        if (!agent_send(guest, WIRE_ALIVE, NULL)) {
            guest_refuse(agent, guest, "it does not listen");
        }
    } else if (guest->phase != GUEST_FREE && guest->phase != GUEST_HOLDER &&
               now_ns - guest->since_ns > AGENT_GREETING_MS * NS_PER_MS) {
        guest_refuse(agent, guest, "it came and said too little");
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static struct result agent_listen(struct agent *agent, struct text *why)
{
    int one = 1;
    struct sockaddr_in address = address_socket(agent->options->address);
    agent->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (agent->listen_fd < 0 ||
        setsockopt(agent->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(agent->listen_fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(agent->listen_fd, AGENT_BACKLOG) != 0) {
        int error = errno;
        text_add(why, "cannot listen at ");
        address_print(agent->options->address, why);
        text_add(why, ": %s", strerror(error));
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

static void agent_turn(struct agent *agent)
{
    struct pollfd fds[AGENT_GUESTS_MAX + 1];
    bool starting = agent_look(agent);
    fds[AGENT_GUESTS_MAX] = (struct pollfd){.fd = agent->listen_fd, .events = POLLIN};
    for (int i = 0; i < AGENT_GUESTS_MAX; i++) {
        bool used = agent->guests[i].phase != GUEST_FREE;
        fds[i] = (struct pollfd){.fd = used ? agent->guests[i].fd : -1, .events = POLLIN};
    }
    (void)poll(fds, AGENT_GUESTS_MAX + 1, starting ? AGENT_POLL_STARTING_MS : AGENT_ALIVE_MS / 4);
    for (int i = 0; i < AGENT_GUESTS_MAX; i++) {
        if (fds[i].fd >= 0 && fds[i].revents != 0 && agent->guests[i].phase != GUEST_FREE) {
            guest_read(agent, &agent->guests[i]);
        }
    }
    if (fds[AGENT_GUESTS_MAX].revents != 0) {
        guest_accept(agent);
    }
    int64_t now_ns = loop_now_ns();
    for (int i = 0; i < AGENT_GUESTS_MAX; i++) {
        guest_time(agent, &agent->guests[i], now_ns);
    }
}

struct result agent_serve(const struct agent_options *options, struct text *why)
{
    static struct agent agent;
    struct sigaction action;
    memset(&agent, 0, sizeof agent);
    memset(&action, 0, sizeof action);
    agent.options = options;
    agent_signal = 0;
    action.sa_handler = agent_on_signal;
    ASSERT(sigaction(SIGTERM, &action, NULL) == 0 && sigaction(SIGINT, &action, NULL) == 0);
    TRY(agent_listen(&agent, why));
    char memory[64];
    struct text address = text_over(memory, sizeof memory);
    address_print(address_of(agent.listen_fd), &address);
    agent_say("listens at %s", address.data);
    while (agent_signal == 0) {
        agent_turn(&agent);
    }
    for (int i = 0; i < AGENT_GUESTS_MAX; i++) {
        if (agent.guests[i].phase != GUEST_FREE) {
            guest_close(&agent, &agent.guests[i]);
        }
    }
    (void)close(agent.listen_fd);
    agent_say("ends");
    return RESULT_OK;
}
