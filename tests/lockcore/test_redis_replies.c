/* test_redis_replies.c: what a link makes of anything that a TCP peer may answer. */
#include "lockcore/drivers/links.h"

#include "lockcore/drivers/loop.h"
#include "lockcore/redis/command.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { CONNECTIONS_MAX = 8 };

/* A peer on a port of the kernel's choice, in the same loop, that answers every read with `reply`.
 */
struct peer {
    uv_loop_t loop;
    uv_tcp_t listener;
    uv_tcp_t connections[CONNECTIONS_MAX];
    uint32_t connection_count;
    const char *reply; /* NULL: hang up */
    char input[4096];
    struct lock_links *links;
    uint32_t answer_count;
    struct lock_answer answer;
    uint32_t broken_count;
    enum redis_command asked;
};

static void on_replied(void *context, const struct lock_answer *answer)
{
    struct peer *peer = context;
    peer->answer = *answer;
    peer->answer_count++;
}

static void on_broken(void *context, uint32_t node_index)
{
    struct peer *peer = context;
    cr_assert_eq(node_index, 0);
    peer->broken_count++;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct peer *peer = handle->data;
    *buffer = uv_buf_init(peer->input, sizeof peer->input);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    (void)buffer;
    struct peer *peer = stream->data;
    if (count <= 0 || peer->reply == NULL) {
        if (!uv_is_closing((uv_handle_t *)stream)) {
            uv_close((uv_handle_t *)stream, NULL);
        }
        return;
    }
    uv_buf_t reply = uv_buf_init((char *)peer->reply, (unsigned)strlen(peer->reply));
    cr_assert(uv_try_write(stream, &reply, 1) >= 0);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct peer *peer = listener->data;
    cr_assert_eq(status, 0);
    cr_assert(peer->connection_count < CONNECTIONS_MAX);
    uv_tcp_t *connection = &peer->connections[peer->connection_count++];
    cr_assert_eq(uv_tcp_init(&peer->loop, connection), 0);
    connection->data = peer;
    cr_assert_eq(uv_accept(listener, (uv_stream_t *)connection), 0);
    cr_assert_eq(uv_read_start((uv_stream_t *)connection, on_alloc, on_read), 0);
}

static struct peer *peer_open(const char *reply)
{
    static struct peer peer;
    memset(&peer, 0, sizeof peer);
    peer.reply = reply;
    cr_assert_eq(uv_loop_init(&peer.loop), 0);
    cr_assert_eq(uv_tcp_init(&peer.loop, &peer.listener), 0);
    peer.listener.data = &peer;
    struct sockaddr_in address;
    cr_assert_eq(uv_ip4_addr("127.0.0.1", 0, &address), 0);
    cr_assert_eq(uv_tcp_bind(&peer.listener, (const struct sockaddr *)&address, 0), 0);
    cr_assert_eq(uv_listen((uv_stream_t *)&peer.listener, 8, on_connection), 0);
    int bytes = sizeof address;
    cr_assert_eq(uv_tcp_getsockname(&peer.listener, (struct sockaddr *)&address, &bytes), 0);
    char word[64];
    (void)snprintf(word, sizeof word, "redis://127.0.0.1:%d", ntohs(address.sin_port));
    const char *words[] = {word};
    struct lock_links_options options = {.loop = &peer.loop,
                                         .addresses = words,
                                         .node_count = 1,
                                         .context = &peer,
                                         .replied = on_replied,
                                         .broken = on_broken};
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    cr_assert(!result_failed(lock_links_open(&options, &peer.links, &why)), "%s", why.data);
    return &peer;
}

static void ask(struct peer *peer)
{
    const struct lock_command command = {.kind = peer->asked, .ttl_ms = 1};
    lock_links_send(peer->links, 0, &(struct lock_request){"door", 4, 7, &command});
}

/* Ask once, and run until it is answered or broken. */
static void ask_and_wait(struct peer *peer)
{
    uint32_t answer_count = peer->answer_count;
    uint32_t broken_count = peer->broken_count;
    ask(peer);
    while (peer->answer_count == answer_count && peer->broken_count == broken_count) {
        uv_run(&peer->loop, UV_RUN_ONCE);
    }
}

static void peer_close(struct peer *peer)
{
    lock_links_close(peer->links, NULL, NULL);
    uv_close((uv_handle_t *)&peer->listener, NULL);
    for (uint32_t i = 0; i < peer->connection_count; i++) {
        if (!uv_is_closing((uv_handle_t *)&peer->connections[i])) {
            uv_close((uv_handle_t *)&peer->connections[i], NULL);
        }
    }
    while (uv_run(&peer->loop, UV_RUN_DEFAULT) != 0) {
        /* until every handle is closed */
    }
    cr_assert_eq(uv_loop_close(&peer->loop), 0);
}

/* What each kind of command may be answered, and all else that a peer may say. */
static const struct {
    enum redis_command asked;
    const char *wire;
    enum lock_reply_type type;
    int64_t number;
} replies[] = {
    {REDIS_SET, "+OK\r\n", LOCK_REPLY_YES, 0},
    {REDIS_SET, "$-1\r\n", LOCK_REPLY_NO, 0},
    {REDIS_SET, "*-1\r\n", LOCK_REPLY_NO, 0},
    {REDIS_SET, "+QUEUED\r\n", LOCK_REPLY_GARBLED, 0},
    {REDIS_SET, ":1\r\n", LOCK_REPLY_GARBLED, 0},
    {REDIS_SET, "-NOSCRIPT No matching script.\r\n", LOCK_REPLY_LONG_FORM, 0},
    {REDIS_SET, "-OOM command not allowed\r\n", LOCK_REPLY_ERROR, 0},
    {REDIS_SET, "-LOADING Redis is loading\r\n", LOCK_REPLY_ERROR, 0},
    {REDIS_SET, "$2\r\nOK\r\n", LOCK_REPLY_GARBLED, 0},
    {REDIS_SET, "*2\r\n:1\r\n+OK\r\n", LOCK_REPLY_GARBLED, 0},
    {REDIS_SET, "*1\r\n*1\r\n:1\r\n", LOCK_REPLY_GARBLED, 0},
    {REDIS_SET, "*0\r\n", LOCK_REPLY_GARBLED, 0},
    {REDIS_COMPARE_DELETE, ":1\r\n", LOCK_REPLY_YES, 0},
    {REDIS_COMPARE_DELETE, ":0\r\n", LOCK_REPLY_NO, 0},
    {REDIS_COMPARE_DELETE, ":2\r\n", LOCK_REPLY_GARBLED, 0},
    {REDIS_COMPARE_DELETE, ":-1\r\n", LOCK_REPLY_GARBLED, 0},
    {REDIS_COMPARE_DELETE, "+OK\r\n", LOCK_REPLY_GARBLED, 0},
    {REDIS_COMPARE_DELETE, "$-1\r\n", LOCK_REPLY_GARBLED, 0},
    {REDIS_SET_FENCE, ":-9223372036854775808\r\n", LOCK_REPLY_NUMBER, INT64_MIN},
    {REDIS_SET_FENCE, "$-1\r\n", LOCK_REPLY_NO, 0},
    {REDIS_SET_FENCE, "+OK\r\n", LOCK_REPLY_GARBLED, 0},
    {REDIS_RAISE_FENCE, ":7\r\n", LOCK_REPLY_NUMBER, 7},
    {REDIS_RAISE_FENCE, "$-1\r\n", LOCK_REPLY_GARBLED, 0},
};

Test(redis_replies, every_reply_becomes_one_type)
{
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        struct peer *peer = peer_open(replies[i].wire);
        peer->asked = replies[i].asked;
        ask_and_wait(peer);
        const char *name = redis_dialect.rows[replies[i].asked].name;
        cr_assert_eq(peer->answer_count, 1, "%s %s", name, replies[i].wire);
        cr_assert_eq(peer->answer.reply.type, replies[i].type, "%s %s", name, replies[i].wire);
        cr_assert_eq(peer->answer.reply.number, replies[i].number, "%s", name);
        cr_assert_eq(peer->answer.tag, 7);
        peer_close(peer);
    }
}

Test(redis_replies, what_is_no_reply_breaks_the_link_which_is_made_anew)
{
    const char *const garbage[] = {"HTTP/1.1 400 Bad Request\r\n\r\n", "\r\n\r\n", "$x\r\n", NULL};
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        struct peer *peer = peer_open(garbage[i]);
        ask_and_wait(peer);
        cr_assert_eq(peer->answer_count, 0);
        cr_assert_eq(peer->broken_count, 1);
        peer->reply = "+OK\r\n";
        while (!lock_links_up(peer->links, 0)) {
            uv_run(&peer->loop, UV_RUN_ONCE);
        }
        ask_and_wait(peer);
        cr_assert_eq(peer->answer.reply.type, LOCK_REPLY_YES);
        cr_assert_eq(peer->connection_count, 2);
        peer_close(peer);
    }
}

Test(redis_replies, an_answer_to_nothing_breaks_the_link)
{
    struct peer *peer = peer_open("+OK\r\n+OK\r\n");
    ask_and_wait(peer);
    cr_assert_eq(peer->answer_count, 1);
    while (peer->connection_count < 2) { /* it does not wait for the next question to find out */
        uv_run(&peer->loop, UV_RUN_ONCE);
    }
    cr_assert_eq(peer->broken_count, 0, "nothing was owed");
    peer_close(peer);
}

Test(redis_replies, a_reply_in_pieces_is_one_reply)
{
    struct peer *peer = peer_open("$");
    ask(peer);
    const char *const pieces[] = {"-", "1", "\r", "\n"};
    while (peer->input[0] == '\0') {
        uv_run(&peer->loop, UV_RUN_ONCE); /* the question arrives, "$" goes out */
    }
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        cr_assert_eq(peer->answer_count, 0);
        uv_buf_t piece = uv_buf_init((char *)pieces[i], 1);
        cr_assert_eq(uv_try_write((uv_stream_t *)&peer->connections[0], &piece, 1), 1);
        uv_run(&peer->loop, UV_RUN_ONCE);
    }
    while (peer->answer_count == 0) {
        uv_run(&peer->loop, UV_RUN_ONCE);
    }
    cr_assert_eq(peer->answer.reply.type, LOCK_REPLY_NO);
    peer_close(peer);
}
