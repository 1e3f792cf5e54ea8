/* links.h: a redis-server, proxies before it and blocking clients, in one process, for tests. */
#ifndef TESTS_REAL_LINKS_H
#define TESTS_REAL_LINKS_H

#include "harness/real/node/node.h"
#include "harness/real/process/guard.h"
#include "harness/real/proxy/proxy.h"
#include "tests/real/place.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINKS_CLIENTS = 2, LINKS_PROGRAMS = 3, LINKS_EVENTS_MAX = 100000, LINKS_REPLY_BYTES = 4096 };

static const char *const links_names[] = {"r0", "r1", "r2"};

/* One node, two clients; whatever the callbacks want is set by the test. */
static struct links {
    struct place place;
    struct guard guard; /* so that nothing takes our server for one left behind */
    struct node node;
    uv_loop_t loop;
    struct keys *keys;
    struct proxy *proxy;
    struct proxy_answer arrival;
    struct proxy_answer reply;
    struct keys_deed deed; /* of the last command that was answered ... */
    uint8_t role;          /* ... and what it was taken for */
    int arrivals;
    int replies;
    int64_t start_ns;
    uint32_t event_count;
    struct history_event events[LINKS_EVENTS_MAX];
} links;

static char links_why_memory[WHY_BYTES];
static struct text links_why;

#define LINKS_MUST(call) cr_assert(!result_failed(call), "%s", links_why.data)

/* Set before links_begin by a test that says no patterns. */
static bool links_learns;

/* ... whose clients are so many threads of a program each. */
static int32_t links_threads;

/* Set before links_begin by a test with callbacks of its own. */
static struct proxy_callbacks links_callbacks;

static struct proxy_answer links_arrival(void *data, const struct proxy_message *message)
{
    (void)data;
    links.arrivals += message->command->role == ROLE_SET ? 1 : 0;
    return message->command->role == ROLE_SET ? links.arrival : PROXY_PASSES;
}

static struct proxy_answer links_reply(void *data, const struct proxy_message *message)
{
    (void)data;
    links.replies += message->command->role == ROLE_SET ? 1 : 0;
    links.deed = *message->deed;
    links.role = message->command->role;
    return message->command->role == ROLE_SET ? links.reply : PROXY_PASSES;
}

static uint64_t links_emit(void *data, const struct history_event *event)
{
    (void)data;
    cr_assert_lt(links.event_count, LINKS_EVENTS_MAX);
    links.events[links.event_count++] = *event;
    return links.event_count - 1;
}

static void links_replied(void *data, uint64_t event, int64_t true_ns)
{
    (void)data;
    cr_assert_lt(event, links.event_count);
    links.events[event].replied_ns = true_ns - links.start_ns;
    links.events[event].flags |= HISTORY_HAS_REPLIED;
}

static void links_node_up(void)
{
    bool ready = false;
    LINKS_MUST(node_start(&links.node, &links_why));
    while (!ready) {
        LINKS_MUST(node_ready(&links.node, &ready, &links_why));
    }
}

static void links_make(bool fake_clock)
{
    memset(&links, 0, sizeof links);
    links_why = text_over(links_why_memory, sizeof links_why_memory);
    place_make(&links.place);
    LINKS_MUST(guard_start(&links.guard, links.place.path, &links_why));
    struct node_options node = {.fsync = FSYNC_NONE,
                                .fake_clock = fake_clock,
                                .run_directory = links.place.path,
                                .password = "opens"};
    LINKS_MUST(node_init(&links.node, &node, &links_why));
    links_node_up();
    links.start_ns = loop_now_ns();
    links.arrival = PROXY_PASSES;
    links.reply = PROXY_PASSES;
    links.keys = keys_new(&(struct keys_options){.node_count = 1,
                                                 .client_count = LINKS_PROGRAMS,
                                                 .thread_count = links_threads,
                                                 .resource_count = 3,
                                                 .resource_names = links_names,
                                                 .start_ns = links.start_ns,
                                                 .emit = links_emit,
                                                 .replied = links_replied});
    cr_assert_not_null(links.keys);
    if (!links_learns) {
        cr_assert(keys_pattern(links.keys, "{resource}"));
    }
    LINKS_MUST(keys_watch(links.keys, 0, node_address(&links.node), &links_why));
    cr_assert_eq(uv_loop_init(&links.loop), 0);
    struct proxy_options options = {
        .client_count = LINKS_PROGRAMS,
        .node_count = 1,
        .keys = links.keys,
        .callbacks = links_callbacks.arrival != NULL
                         ? links_callbacks
                         : (struct proxy_callbacks){NULL, links_arrival, links_reply},
        .seed = 1};
    LINKS_MUST(proxy_start(&links.loop, &options, &links.proxy, &links_why));
    proxy_node_set(links.proxy, 0, node_address(&links.node));
}

static inline void links_begin(void)
{
    links_make(false);
}

static inline void links_end(void)
{
    proxy_stop(links.proxy);
    (void)uv_run(&links.loop, UV_RUN_NOWAIT);
    proxy_free(links.proxy);
    cr_assert_eq(uv_loop_close(&links.loop), 0, "every handle is closed");
    keys_free(links.keys);
    node_release(&links.node);
    guard_end(&links.guard);
    place_remove(&links.place);
}

static inline void links_turn(void)
{
    (void)uv_run(&links.loop, UV_RUN_ONCE);
}

/* Connect to the proxy of `client`; -1 with errno if it refuses. */
static inline int links_connect(int32_t client)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(proxy_port(links.proxy, client, 0)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        (void)close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static inline void links_send(int fd, const char *line)
{
    char bytes[512];
    int count = snprintf(bytes, sizeof bytes, "%s\r\n", line);
    cr_assert_eq(send(fd, bytes, (size_t)count, MSG_NOSIGNAL), count);
}

/* Turn the loop until bytes come: their number, 0 at the end, -1 with errno on an error. */
static inline ssize_t links_receive(int fd, char *bytes, size_t bytes_max)
{
    for (;;) {
        ssize_t got = recv(fd, bytes, bytes_max, MSG_DONTWAIT);
        if (got >= 0 || errno != EAGAIN) {
            return got;
        }
        links_turn();
    }
}

/* The next reply must be this line. */
static inline void links_expect(int fd, const char *line)
{
    char bytes[LINKS_REPLY_BYTES];
    size_t count = strlen(line) + 2;
    size_t got = 0;
    cr_assert_lt(count, sizeof bytes);
    while (got < count) {
        ssize_t more = links_receive(fd, bytes + got, count - got);
        cr_assert_gt(more, 0, "connection over instead of %s", line);
        got += (size_t)more;
    }
    bytes[count - 2] = '\0';
    cr_assert_str_eq(bytes, line);
}

static inline void links_expect_reset(int fd)
{
    char byte;
    cr_assert_eq(links_receive(fd, &byte, 1), -1);
    cr_assert_eq(errno, ECONNRESET);
}

static inline bool links_readable(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) >= 0;
}

/* What the server itself says, past the proxies. */
static inline bool links_node_has(const char *name)
{
    struct admin_reply reply;
    LINKS_MUST(node_order(&links.node, (const char *[]){"EXISTS", name, NULL}, &reply, &links_why));
    return reply.items[0].integer == 1;
}

static inline struct proxy_effect links_effect(void)
{
    struct proxy_effect effect;
    proxy_fault_effect(links.proxy, 0, &effect);
    return effect;
}

/* Begin fault 0 on the links of client 0, or of both clients. */
static inline void links_fault(const struct proxy_fault *fault, bool both)
{
    uint8_t touched[LINKS_PROGRAMS] = {1, both ? 1 : 0};
    proxy_fault_begin(links.proxy, 0, fault, touched);
}

#endif
