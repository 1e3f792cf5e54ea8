/* link.c: one link: its connection is made, read, written, tended, broken and made again. */
#include "lockcore/drivers/link.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

/* ---- reading and writing ---- */

static void wire_poll(struct link *link);
static void link_tend_later(struct link *link);

void link_write(struct link *link)
{
    ASSERT(link->state == LINK_UP);
    bool full = false;
    if (!link->links->kind->write(link->connection, &full)) {
        link_break(link);
        return;
    }
    if (full != link->wants_write) {
        link->wants_write = full;
        wire_poll(link);
    }
}

static void link_deliver(struct link *link, const struct connection_said *said, bool pushed)
{
    struct lock_links *links = link->links;
    struct lock_answer answer = {
        .node_index = link->index,
        .tag = said->tag,
        .pushed = pushed,
        .command = said->command,
        .reply = said->reply,
    };
    if (!pushed) {
        struct owed owed = owed_shift(&link->owed);
        answer.tag = owed.tag;
        answer.command = owed.command;
    }
    link->backoff_ns = links->options.reconnect_ns_min; /* it works */
    links->options.replied(links->options.context, &answer);
}

/* Report what was read; a callback may close the connection: it ends with what was read. */
static void link_hear(struct link *link)
{
    const struct connection_kind *kind = link->links->kind;
    void *connection = link->connection;
    while (link->connection == connection) {
        struct connection_said said = {.tag = 0};
        enum connection_next next = kind->next(connection, owed_first(&link->owed), &said);
        if (next == CONNECTION_EMPTY) {
            return;
        }
        if (next == CONNECTION_GARBAGE) {
            link_break(link); /* not this kind's, or an answer to nothing */
            return;
        }
        link_deliver(link, &said, next == CONNECTION_PUSH);
    }
}

void link_read(struct link *link)
{
    if (!link->links->kind->read(link->connection)) {
        link_break(link);
        return;
    }
    link_hear(link);
}

static void connect_go_on(struct link *link)
{
    enum connection_progress progress = link->links->kind->progress(link->connection);
    if (progress == CONNECTION_BROKEN) {
        link_break(link);
        return;
    }
    if (progress != CONNECTION_UP) {
        link->wants_write = progress == CONNECTION_CONNECTING_WRITES;
        wire_poll(link);
        return;
    }
    link->state = LINK_UP;
    uv_timer_stop(&link->timer);
    link->wants_write = false;
    wire_poll(link);
    if (link->state == LINK_UP) {
        link_write(link);
    }
    link_tend_later(link);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct link *link = ((struct wire *)poll->data)->link;
    if (status < 0) {
        link_break(link);
        return;
    }
    if (link->state == LINK_CONNECTING) {
        connect_go_on(link);
        return;
    }
    if ((events & UV_READABLE) != 0) {
        link_read(link);
    }
    if (link->state == LINK_UP && (events & UV_WRITABLE) != 0) {
        link_write(link);
    }
    link_tend_later(link);
}

static void wire_poll(struct link *link)
{
    int events = UV_READABLE | (link->wants_write ? UV_WRITABLE : 0);
    if (uv_poll_start(&link->wire->poll, events, on_poll) != 0) {
        link_break(link);
    }
}

/* ---- making and breaking ---- */

static void on_wire_closed(uv_handle_t *handle)
{
    struct wire *wire = handle->data;
    struct lock_links *links = wire->link->links;
    memory_release(wire);
    links_handle_closed(links);
}

void link_cut(struct link *link)
{
    if (link->wire != NULL) {
        uv_poll_stop(&link->wire->poll);
        uv_close((uv_handle_t *)&link->wire->poll, on_wire_closed);
        link->wire = NULL;
    }
    if (link->connection != NULL) {
        link->links->kind->close(link->connection);
        link->connection = NULL;
    }
    link->state = LINK_DOWN;
}

static void on_no_wait(uv_idle_t *idle)
{
    (void)idle;
}

void link_note_broken(struct link *link)
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
    } else if (!link->links->kind->tend(link->connection)) {
        link_break(link);
    } else {
        link_hear(link);
        link_tend_later(link);
    }
}

static void timer_start(struct link *link, int64_t delay_ns)
{
    uv_update_time(link->links->options.loop);
    int code = uv_timer_start(&link->timer, on_timer, ms_of(delay_ns), 0);
    ASSERT(code == 0); /* only a closing handle is refused */
}

/* Some connections need a look although nothing comes. */
static void link_tend_later(struct link *link)
{
    const struct connection_kind *kind = link->links->kind;
    if (kind->patience_ns == NULL || link->state != LINK_UP) {
        return;
    }
    int64_t patience_ns = kind->patience_ns(link->connection);
    if (patience_ns != TIME_NEVER) {
        timer_start(link, patience_ns);
    }
}

void link_break(struct link *link)
{
    struct lock_links *links = link->links;
    bool held = links->kind->holds && link->state == LINK_UP;
    link_cut(link);
    if (link->owed.count > 0 || held) {
        link_note_broken(link);
    }
    link->owed.count = 0;
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
    int fd = link->links->kind->fd(link->connection);
    if (uv_poll_init(link->links->options.loop, &wire->poll, fd) != 0) {
        memory_release(wire);
        return false;
    }
    link->links->handles_open++;
    link->wire = wire;
    return true;
}

void link_connect(struct link *link)
{
    link->connection = link->links->kind->open(&link->address, link->links->shared);
    link->state = LINK_CONNECTING;
    if (link->connection == NULL || !wire_open(link)) {
        link_break(link);
        return;
    }
    link->wants_write = true;
    timer_start(link, link->links->options.connect_timeout_ns);
    wire_poll(link);
}
