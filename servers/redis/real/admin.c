/* admin.c: the harness's own direct connection to a node. */
#include "servers/redis/real/admin.h"

#include "base/assert.h"
#include "base/duration.h"
#include "base/machine_clock.h"
#include "servers/redis/real/password.h"
#include "servers/redis/real/secure.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { ADMIN_CLOCK_LOOKS = 5, ADMIN_CLOCK_QUICK_US = 1000, ADMIN_LOOK_MS = 5 };

static int admin_connect(struct address to)
{
    const struct timeval patience = {.tv_sec = ADMIN_WAIT_SECONDS};
    struct sockaddr_in address = address_socket(to);
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    bool ready = setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
                 setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
                 setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0 &&
                 connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
                 secure_begin(to.secure, fd, SECURE_WAITS);
    if (!ready) {
        int error = errno;
        (void)close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static bool admin_send(int fd, const char *const *words)
{
    char request[2048];
    struct text text = text_over(request, sizeof request);
    size_t count = 0;
    while (words[count] != NULL) {
        count++;
    }
    ASSERT(count > 0 && count <= ADMIN_WORDS_MAX);
    text_add(&text, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        text_add(&text, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    }
    ASSERT(!text.cut);
    return secure_send(fd, text.data, text.length, 0) == (ssize_t)text.length;
}

/*
 * Take one line, or one bulk, that begins at `*at`. Gives false when more bytes are needed; `*at`
 * is then as it was.
 */
static bool admin_take(const struct admin_reply *reply, size_t *at, char *type,
                       struct admin_item *item)
{
    const char *start = reply->memory + *at;
    const char *end = memchr(start, '\n', reply->bytes - *at);
    if (end == NULL || end - start < 2) {
        return false;
    }
    *type = *start;
    item->data = start + 1;
    item->bytes = (size_t)(end - start) - 2;
    item->integer = strtoll(start + 1, NULL, 10);
    size_t next = (size_t)(end - reply->memory) + 1;
    if (*type == '$' && item->integer < 0) {
        *item = (struct admin_item){NULL, 0, 0};
    } else if (*type == '$') {
        size_t bytes = (size_t)item->integer;
        if (bytes > ADMIN_REPLY_BYTES || next + bytes + 2 > reply->bytes) {
            return false;
        }
        item->data = reply->memory + next;
        item->bytes = bytes;
        item->integer = strtoll(item->data, NULL, 10);
        next += bytes + 2;
    }
    *at = next;
    return true;
}

/* Is the whole answer there? Fills the items then. */
static bool admin_parse(struct admin_reply *reply)
{
    size_t at = 0;
    struct admin_item head;
    if (!admin_take(reply, &at, &reply->type, &head)) {
        return false;
    }
    if (reply->type != '*') {
        reply->items[0] = head;
        reply->count = 1;
        return true;
    }
    reply->count = head.integer > 0 ? (size_t)head.integer : 0;
    if (reply->count > ADMIN_ITEMS_MAX) {
        return false;
    }
    for (size_t i = 0; i < reply->count; i++) {
        char type;
        if (!admin_take(reply, &at, &type, &reply->items[i])) {
            return false;
        }
    }
    return true;
}

struct result admin_ask(struct admin *admin, struct address address, const char *const *words,
                        struct admin_reply *reply, struct text *why)
{
    ASSERT(admin->awaited == 0);
    if (admin->fd < 0) {
        admin->fd = admin_connect(address);
        if (admin->fd >= 0 &&
            !password_tell(admin->fd, address.password, ADMIN_WAIT_SECONDS * 1000)) {
            int error = errno;
            admin_close(admin);
            errno = error;
        }
    }
    bool sent = admin->fd >= 0 && admin_send(admin->fd, words);
    reply->bytes = 0;
    while (sent) {
        /* One byte is kept for a zero, so that numbers can be read off the memory. */
        size_t room = sizeof reply->memory - 1 - reply->bytes;
        ssize_t got = room > 0 ? secure_recv(admin->fd, reply->memory + reply->bytes, room, 0) : 0;
        if (got <= 0) {
            errno = got == 0 ? ECONNRESET : errno;
            break;
        }
        reply->bytes += (size_t)got;
        reply->memory[reply->bytes] = 0;
        if (admin_parse(reply)) {
            return RESULT_OK;
        }
    }
    int error = errno;
    text_add(why, "the redis-server at ");
    address_print(address, why);
    text_add(why, " does not answer %s: %s", words[0],
             error == EAGAIN ? "it is silent" : secure_error(error));
    admin_close(admin);
    return result_error(ERROR_ENVIRONMENT);
}

/* What a look hears in the end. */
static const char admin_both[] = PASSWORD_WELCOME "+PONG\r\n";

/* Ask; of a new connection the password is said in the same breath, and both are answered. */
static bool admin_begin_look(struct admin *admin, struct address address)
{
    uint32_t missing = 0;
    bool open = admin->fd >= 0;
    admin->fd = open ? admin->fd : admin_connect(address);
    bool said = open || (admin->fd >= 0 && password_say(admin->fd, address.password, &missing));
    admin->awaited = missing + (uint32_t)strlen("+PONG\r\n");
    return said && send(admin->fd, "PING\r\n", 6, MSG_NOSIGNAL) == 6;
}

bool admin_look(struct admin *admin, struct address address)
{
    bool fine = admin->awaited > 0 || admin_begin_look(admin, address);
    while (fine && admin->awaited > 0) {
        char answer[sizeof admin_both];
        const char *expected = admin_both + sizeof admin_both - 1 - admin->awaited;
        struct pollfd readable = {.fd = admin->fd, .events = POLLIN};
        ASSERT(admin->awaited < sizeof admin_both);
        if (poll(&readable, 1, ADMIN_LOOK_MS) <= 0) {
            return false;
        }
        ssize_t got = recv(admin->fd, answer, admin->awaited, MSG_DONTWAIT);
        fine = got > 0 && memcmp(answer, expected, (size_t)got) == 0;
        admin->awaited -= fine ? (uint32_t)got : 0;
    }
    if (!fine) {
        admin_close(admin);
    }
    return fine;
}

struct result admin_clock_offset(struct admin *admin, struct address address, int64_t *offset_ns,
                                 struct text *why)
{
    int64_t best_ns = INT64_MAX;
    for (int i = 0; i < ADMIN_CLOCK_LOOKS && best_ns > ADMIN_CLOCK_QUICK_US * NS_PER_US; i++) {
        struct admin_reply reply;
        int64_t before_ns = realtime_ns();
        TRY(admin_ask(admin, address, (const char *[]){"TIME", NULL}, &reply, why));
        int64_t took_ns = realtime_ns() - before_ns;
        if (reply.type != '*' || reply.count != 2) {
            text_add(why, "it does not tell its time");
            return result_error(ERROR_ENVIRONMENT);
        }
        if (took_ns < best_ns) {
            int64_t told_ns =
                reply.items[0].integer * NS_PER_S + reply.items[1].integer * NS_PER_US;
            best_ns = took_ns;
            *offset_ns = told_ns - (before_ns + took_ns / 2);
        }
    }
    return RESULT_OK;
}

void admin_close(struct admin *admin)
{
    if (admin->fd >= 0) {
        secure_close(admin->fd);
        admin->fd = -1;
    }
    admin->awaited = 0;
}
