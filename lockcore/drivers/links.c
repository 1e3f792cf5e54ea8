/* links.c: carries the core's commands over connections of one kind on a libuv loop. */
#include "lockcore/drivers/link.h"

#include "base/arena.h"
#include "base/assert.h"

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

enum { DRAIN_READS_MAX = 256 };

static struct result uv_refused(int code, const char *what, struct text *why)
{
    if (code == 0) {
        return RESULT_OK;
    }
    text_add(why, "links to the nodes: %s: %s", what, uv_strerror(code));
    return result_error(ERROR_IO);
}

void links_handle_closed(struct lock_links *links)
{
    ASSERT(links->handles_open > 0);
    links->handles_open--;
    if (links->handles_open > 0) {
        return;
    }
    void (*closed)(void *data) = links->closed;
    void *data = links->closed_data;
    for (uint32_t i = 0; i < links->options.node_count; i++) {
        memory_release(links->link[i].owed.entries);
    }
    memory_release(links->shared);
    memory_release(links);
    if (closed != NULL) {
        closed(data);
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    links_handle_closed(handle->data);
}

static void on_link_timer_closed(uv_handle_t *handle)
{
    struct link *link = handle->data;
    links_handle_closed(link->links);
}

static void before_wait(uv_prepare_t *prepare)
{
    struct lock_links *links = prepare->data;
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
    lock_links_flush(links);
}

void lock_links_flush(struct lock_links *links)
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

/* An epoll of a library's own has no bytes to count. */
static bool has_arrived(int fd)
{
    int bytes = 0;
    if (ioctl(fd, FIONREAD, &bytes) == 0) {
        return bytes > 0;
    }
    struct pollfd look = {.fd = fd, .events = POLLIN};
    return poll(&look, 1, 0) == 1 && (look.revents & POLLIN) != 0;
}

void lock_links_drain(struct lock_links *links)
{
    for (uint32_t i = 0; i < links->options.node_count && !links->closing; i++) {
        struct link *link = &links->link[i];
        bool more = true;
        for (int reads = 0; reads < DRAIN_READS_MAX && more; reads++) {
            more = link->state == LINK_UP && !links->closing &&
                   has_arrived(links->kind->fd(link->connection));
            if (more) {
                link_read(link);
            }
        }
    }
}

bool lock_links_up(const struct lock_links *links, uint32_t node_index)
{
    ASSERT(node_index < links->options.node_count);
    return links->link[node_index].state == LINK_UP;
}

void lock_links_send(struct lock_links *links, uint32_t node_index,
                     const struct lock_request *request)
{
    ASSERT(node_index < links->options.node_count);
    ASSERT(!links->closing);
    struct link *link = &links->link[node_index];
    if (link->state == LINK_DOWN) {
        link_note_broken(link);
        return;
    }
    if (!owed_push(&link->owed, request->tag, request->command) ||
        !links->kind->add(link->connection, request)) {
        link_note_broken(link);
        link_break(link);
        return;
    }
    links->dirty |= 1u << node_index;
}

static void options_default(struct lock_links_options *options)
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

static struct result shared_take(struct lock_links *links, struct text *why)
{
    if (links->kind->shared_bytes == 0) {
        return RESULT_OK;
    }
    links->shared = memory_resize(NULL, links->kind->shared_bytes);
    if (links->shared == NULL) {
        text_add(why, "links to the nodes: out of memory");
        return result_error(ERROR_IO);
    }
    memset(links->shared, 0, links->kind->shared_bytes);
    return RESULT_OK;
}

/* The loop's handles that all links share. Once one is made, closing gives the memory back. */
static struct result handles_open(struct lock_links *links, struct text *why)
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

static struct result addresses_parse(struct lock_links *links, struct text *why)
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

struct result lock_links_open(const struct lock_links_options *options, struct lock_links **out,
                              struct text *why)
{
    ASSERT(options->node_count >= 1 && options->node_count <= LOCK_NODES_MAX);
    ASSERT(options->replied != NULL && options->broken != NULL);
    struct lock_links *links = memory_resize(NULL, sizeof *links);
    if (links == NULL) {
        text_add(why, "links to the nodes: out of memory");
        return result_error(ERROR_IO);
    }
    memset(links, 0, sizeof *links);
    links->options = *options;
    links->kind = options->kind != NULL ? options->kind : &connection_hiredis;
    options_default(&links->options);
    struct result result = shared_take(links, why);
    if (!result_failed(result)) {
        result = addresses_parse(links, why);
    }
    if (!result_failed(result)) {
        result = handles_open(links, why);
    }
    if (result_failed(result)) {
        memory_release(links->shared);
        memory_release(links); /* libuv's init calls cannot fail once the loop is sound */
        return result;
    }
    for (uint32_t i = 0; i < links->options.node_count; i++) {
        link_connect(&links->link[i]);
    }
    *out = links;
    return RESULT_OK;
}

void lock_links_close(struct lock_links *links, void (*closed)(void *data), void *data)
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
