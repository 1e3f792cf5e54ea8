/* redis.c: carries the core's commands over hiredis connections on a libuv loop. */
#include "lockcore/drivers/redis.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "lockcore/drivers/connection.h"
#include "lockcore/drivers/loop.h"
#include "lockcore/drivers/outbox.h"
#include "lockcore/drivers/owed.h"

#include <string.h>
#include <sys/ioctl.h>

enum {
    QUEUE_BYTES_MAX = 16 * 1024 * 1024, /* unsent bytes after which a link counts as broken */
    DRAIN_READS_MAX = 256,
};

enum link_state {
    LINK_DOWN,       /* waits to be tried again */
    LINK_CONNECTING, /* what is sent now is kept until it is up */
    LINK_UP,
};

struct link;

/* The polling of one connection; outlives it until libuv has let go. */
struct wire {
    uv_poll_t poll;
    struct link *link;
};

struct link {
    struct redis_links *links;
    uint32_t index;
    enum link_state state;
    struct address address;
    struct connection *connection; /* owned; NULL while down */
    struct wire *wire;             /* owned until uv_close; NULL while down */
    uv_timer_t timer;              /* CONNECTING: gives up; DOWN: tries again */
    int64_t backoff_ns;
    bool wants_write; /* polled for writing: the socket was full, or is connecting */
    struct outbox out;
    struct owed_ring owed;
};

struct redis_links {
    struct redis_links_options options;
    uv_prepare_t before_wait;
    uv_idle_t no_wait; /* active while a break is to be told: the loop must not sleep on it */
    uint32_t dirty;    /* bit i: link i has bytes to write in this turn */
    uint32_t broken;   /* bit i: the break of link i is to be told */
    uint32_t handles_open;
    bool closing;
    void (*closed)(void *data);
    void *closed_data;
    struct outbox_template template;
    struct link link[LOCK_NODES_MAX];
};

static void link_break(struct link *link);
static void link_connect(struct link *link);

static struct result uv_refused(int code, const char *what, struct text *why)
{
    if (code == 0) {
        return RESULT_OK;
    }
    text_add(why, "links to redis: %s: %s", what, uv_strerror(code));
    return result_error(ERROR_IO);
}

/* ---- reading and writing ---- */

static void wire_poll(struct link *link);

static void link_write(struct link *link)
{
    ASSERT(link->state == LINK_UP);
    bool full = false;
    if (!outbox_write(&link->out, connection_fd(link->connection), &full)) {
        link_break(link);
        return;
    }
    if (full != link->wants_write) {
        link->wants_write = full;
        wire_poll(link);
    }
}

static void link_deliver(struct link *link, const struct lock_reply *reply)
{
    struct redis_links *links = link->links;
    struct owed owed = owed_shift(&link->owed);
    struct redis_answer answer = {
        .node_index = link->index,
        .tag = owed.tag,
        .command = owed.command,
        .reply = *reply,
    };
    link->backoff_ns = links->options.reconnect_ns_min; /* it works */
    links->options.replied(links->options.context, &answer);
}

static void link_read(struct link *link)
{
    struct connection *connection = link->connection;
    if (!connection_read(connection)) {
        link_break(link);
        return;
    }
    while (link->connection == connection) { /* a callback may close it; ends with what was read */
        struct lock_reply reply;
        enum connection_next next = connection_next(connection, owed_first(&link->owed), &reply);
        if (next == CONNECTION_EMPTY) {
            return;
        }
        if (next == CONNECTION_GARBAGE) {
            link_break(link); /* no RESP, or an answer to nothing */
            return;
        }
        link_deliver(link, &reply);
    }
}

static void connect_done(struct link *link)
{
    if (!connection_established(link->connection)) {
        link_break(link);
        return;
    }
    link->state = LINK_UP;
    uv_timer_stop(&link->timer);
    link->wants_write = false;
    wire_poll(link);
    if (link->state == LINK_UP && link->out.count > 0) {
        link_write(link);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct link *link = ((struct wire *)poll->data)->link;
    if (status < 0) {
        link_break(link);
        return;
    }
    if (link->state == LINK_CONNECTING) {
        connect_done(link);
        return;
    }
    if ((events & UV_READABLE) != 0) {
        link_read(link);
    }
    if (link->state == LINK_UP && (events & UV_WRITABLE) != 0) {
        link_write(link);
    }
}

static void wire_poll(struct link *link)
{
    int events = UV_READABLE | (link->wants_write ? UV_WRITABLE : 0);
    if (uv_poll_start(&link->wire->poll, events, on_poll) != 0) {
        link_break(link);
    }
}

/* ---- making and breaking ---- */

static void handle_closed(struct redis_links *links)
{
    ASSERT(links->handles_open > 0);
    links->handles_open--;
    if (links->handles_open > 0) {
        return;
    }
    void (*closed)(void *data) = links->closed;
    void *data = links->closed_data;
    for (uint32_t i = 0; i < links->options.node_count; i++) {
        outbox_release(&links->link[i].out);
        memory_release(links->link[i].owed.entries);
    }
    memory_release(links);
    if (closed != NULL) {
        closed(data);
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

static void on_link_timer_closed(uv_handle_t *handle)
{
    struct link *link = handle->data;
    handle_closed(link->links);
}

static void on_wire_closed(uv_handle_t *handle)
{
    struct wire *wire = handle->data;
    struct redis_links *links = wire->link->links;
    memory_release(wire);
    handle_closed(links);
}

/* Let go of the connection, if there is one. */
static void link_cut(struct link *link)
{
    if (link->wire != NULL) {
        uv_poll_stop(&link->wire->poll);
        uv_close((uv_handle_t *)&link->wire->poll, on_wire_closed);
        link->wire = NULL;
    }
    if (link->connection != NULL) {
        connection_close(link->connection);
        link->connection = NULL;
    }
    link->state = LINK_DOWN;
}

static void on_no_wait(uv_idle_t *idle)
{
    (void)idle;
}

static void broken_note(struct link *link)
{
    link->links->broken |= 1u << link->index;
    int code = uv_idle_start(&link->links->no_wait, on_no_wait);
    ASSERT(code == 0); /* only a missing callback is refused */
}

static uint64_t ms_of(int64_t ns)
{
    return (uint64_t)((ns + NS_PER_MS - 1) / NS_PER_MS);
}

static void on_timer(uv_timer_t *timer)
{
    struct link *link = timer->data;
    if (link->state == LINK_CONNECTING) {
        link_break(link);
    } else if (link->state == LINK_DOWN) {
        link_connect(link);
    }
}

static void timer_start(struct link *link, int64_t delay_ns)
{
    uv_update_time(link->links->options.loop);
    int code = uv_timer_start(&link->timer, on_timer, ms_of(delay_ns), 0);
    ASSERT(code == 0); /* only a closing handle is refused */
}

/* The connection is of no more use: forget what it owed, tell so, and try again later. */
static void link_break(struct link *link)
{
    struct redis_links *links = link->links;
    link_cut(link);
    if (link->owed.count > 0) {
        broken_note(link);
    }
    link->owed.count = 0;
    outbox_clear(&link->out);
    links->dirty &= ~(1u << link->index);
    timer_start(link, link->backoff_ns);
    int64_t doubled_ns = 2 * link->backoff_ns;
    int64_t ns_max = links->options.reconnect_ns_max;
    link->backoff_ns = doubled_ns < ns_max ? doubled_ns : ns_max;
}

static bool wire_open(struct link *link)
{
    struct wire *wire = memory_resize(NULL, sizeof *wire);
    if (wire == NULL) {
        return false;
    }
    memset(wire, 0, sizeof *wire);
    wire->link = link;
    wire->poll.data = wire;
    if (uv_poll_init(link->links->options.loop, &wire->poll, connection_fd(link->connection)) !=
        0) {
        memory_release(wire);
        return false;
    }
    link->links->handles_open++;
    link->wire = wire;
    return true;
}

static void link_connect(struct link *link)
{
    link->connection = connection_open(&link->address);
    link->state = LINK_CONNECTING;
    if (link->connection == NULL || !wire_open(link)) {
        link_break(link);
        return;
    }
    link->wants_write = true;
    timer_start(link, link->links->options.connect_timeout_ns);
    wire_poll(link);
}

/* ---- the door ---- */

static void before_wait(uv_prepare_t *prepare)
{
    struct redis_links *links = prepare->data;
    uint32_t broken = links->broken;
    links->broken = 0;
    for (uint32_t i = 0; i < links->options.node_count && !links->closing; i++) {
        if ((broken & (1u << i)) != 0) {
            links->options.broken(links->options.context, i);
        }
    }
    if (links->closing) {
        return;
    }
    if (links->broken == 0) {
        uv_idle_stop(&links->no_wait);
    }
    redis_links_flush(links);
}

void redis_links_flush(struct redis_links *links)
{
    uint32_t dirty = links->dirty;
    links->dirty = 0;
    for (uint32_t i = 0; i < links->options.node_count; i++) {
        struct link *link = &links->link[i];
        if ((dirty & (1u << i)) != 0 && link->state == LINK_UP && !link->wants_write) {
            link_write(link);
        }
    }
}

void redis_links_drain(struct redis_links *links)
{
    for (uint32_t i = 0; i < links->options.node_count && !links->closing; i++) {
        struct link *link = &links->link[i];
        int bytes = 1;
        for (int reads = 0; reads < DRAIN_READS_MAX && bytes > 0; reads++) {
            bytes = 0;
            if (link->state == LINK_UP && !links->closing &&
                ioctl(connection_fd(link->connection), FIONREAD, &bytes) == 0 && bytes > 0) {
                link_read(link);
            }
        }
    }
}

bool redis_links_up(const struct redis_links *links, uint32_t node_index)
{
    ASSERT(node_index < links->options.node_count);
    return links->link[node_index].state == LINK_UP;
}

void redis_links_send(struct redis_links *links, uint32_t node_index,
                      const struct redis_request *request)
{
    ASSERT(node_index < links->options.node_count);
    ASSERT(!links->closing);
    struct link *link = &links->link[node_index];
    if (link->state == LINK_DOWN) {
        broken_note(link);
        return;
    }
    if (!owed_push(&link->owed, request->tag, request->command) ||
        link->out.count > QUEUE_BYTES_MAX || !outbox_add(&link->out, &links->template, request)) {
        broken_note(link);
        link_break(link);
        return;
    }
    links->dirty |= 1u << node_index;
}

static void options_default(struct redis_links_options *options)
{
    if (options->connect_timeout_ns == 0) {
        options->connect_timeout_ns = NS_PER_S;
    }
    if (options->reconnect_ns_min == 0) {
        options->reconnect_ns_min = 10 * NS_PER_MS;
    }
    if (options->reconnect_ns_max == 0) {
        options->reconnect_ns_max = NS_PER_S;
    }
}

/* The loop's handles that all links share. Once one is made, closing gives the memory back. */
static struct result handles_open(struct redis_links *links, struct text *why)
{
    struct uv_loop_s *loop = links->options.loop;
    TRY(uv_refused(uv_prepare_init(loop, &links->before_wait), "prepare handle", why));
    links->before_wait.data = links;
    links->handles_open++;
    TRY(uv_refused(uv_idle_init(loop, &links->no_wait), "idle handle", why));
    links->no_wait.data = links;
    links->handles_open++;
    for (uint32_t i = 0; i < links->options.node_count; i++) {
        struct link *link = &links->link[i];
        TRY(uv_refused(uv_timer_init(loop, &link->timer), "timer", why));
        link->timer.data = link;
        links->handles_open++;
    }
    return uv_refused(uv_prepare_start(&links->before_wait, before_wait), "prepare", why);
}

static struct result addresses_parse(struct redis_links *links, struct text *why)
{
    for (uint32_t i = 0; i < links->options.node_count; i++) {
        struct link *link = &links->link[i];
        link->links = links;
        link->index = i;
        link->backoff_ns = links->options.reconnect_ns_min;
        TRY(address_parse(links->options.addresses[i], &link->address, why));
    }
    links->options.addresses = NULL; /* borrowed for the call only */
    return RESULT_OK;
}

struct result redis_links_open(const struct redis_links_options *options, struct redis_links **out,
                               struct text *why)
{
    ASSERT(options->node_count >= 1 && options->node_count <= LOCK_NODES_MAX);
    ASSERT(options->replied != NULL && options->broken != NULL);
    struct redis_links *links = memory_resize(NULL, sizeof *links);
    if (links == NULL) {
        text_add(why, "links to redis: out of memory");
        return result_error(ERROR_IO);
    }
    memset(links, 0, sizeof *links);
    links->options = *options;
    options_default(&links->options);
    struct result result = addresses_parse(links, why);
    if (!result_failed(result)) {
        result = handles_open(links, why);
    }
    if (result_failed(result)) {
        memory_release(links); /* libuv's init calls cannot fail once the loop is sound */
        return result;
    }
    for (uint32_t i = 0; i < links->options.node_count; i++) {
        link_connect(&links->link[i]);
    }
    *out = links;
    return RESULT_OK;
}

void redis_links_close(struct redis_links *links, void (*closed)(void *data), void *data)
{
    ASSERT(!links->closing);
    links->closing = true;
    links->closed = closed;
    links->closed_data = data;
    for (uint32_t i = 0; i < links->options.node_count; i++) {
        link_cut(&links->link[i]);
        uv_close((uv_handle_t *)&links->link[i].timer, on_link_timer_closed);
    }
    uv_close((uv_handle_t *)&links->no_wait, on_handle_closed);
    uv_close((uv_handle_t *)&links->before_wait, on_handle_closed);
}
