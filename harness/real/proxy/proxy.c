/* proxy.c: start, stop, the loop, and what the run asks of the proxies. */
#include "harness/real/proxy/proxy.h"

#include "base/arena.h"
#include "base/assert.h"
#include "harness/real/proxy/proxy_inner.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

static void proxy_tap_event(const struct proxy_tap *tap)
{
    keys_receive(tap->proxy->options.keys, tap->node);
}

static void proxy_event(const struct epoll_event *event)
{
    struct proxy_source *source = event->data.ptr;
    switch ((enum source_type)source->type) {
    case SOURCE_LISTENER:
        link_accept(
            (struct proxy_link *)(void *)((char *)source - offsetof(struct proxy_link, source)));
        return;
    case SOURCE_CLIENT:
        connection_client_event(
            (struct proxy_connection *)(void *)((char *)source -
                                                offsetof(struct proxy_connection, client_source)),
            event->events);
        return;
    case SOURCE_NODE:
        connection_node_event(
            (struct proxy_connection *)(void *)((char *)source -
                                                offsetof(struct proxy_connection, node_source)),
            event->events);
        return;
    case SOURCE_TAP:
        proxy_tap_event(
            (struct proxy_tap *)(void *)((char *)source - offsetof(struct proxy_tap, source)));
        return;
    }
    UNREACHABLE();
}

void proxy_wake_at(struct proxy *proxy, int64_t due_ns)
{
    if (due_ns < proxy->alarm.at_ns) {
        loop_alarm_set(&proxy->alarm, due_ns);
    }
}

/* What is told of keys by time alone. */
static void proxy_keys_time(struct proxy *proxy)
{
    if (proxy->options.keys != NULL) {
        keys_time(proxy->options.keys, proxy->now_ns);
        proxy_wake_at(proxy, keys_next_ns(proxy->options.keys));
    }
}

/* Hear of what replies wait for, let those pass that are explained, and ask about the others. */
static void proxy_hear(struct proxy *proxy)
{
    struct keys *keys = proxy->options.keys;
    uint64_t nodes = 0;
    if (keys == NULL) {
        return;
    }
    for (struct proxy_connection *c = proxy->waiting; c != NULL; c = c->waiting_next) {
        nodes |= (uint64_t)1 << c->link->node;
    }
    for (int32_t node = 0; node < proxy->options.node_count; node++) {
        if ((nodes >> node & 1) != 0) {
            keys_receive(keys, node);
        }
    }
    struct proxy_connection *connection = proxy->waiting;
    proxy->waiting = NULL;
    while (connection != NULL) {
        struct proxy_connection *next = connection->waiting_next;
        connection->waiting = false;
        if (!connection->dead) {
            connection_answers(connection);
        }
        if (!connection->dead &&
            keys_open(connection->channel) > keys_unheard(connection->channel)) {
            connection_wait(connection);
        }
        connection = next;
    }
    keys_ask(keys);
}

/*
 * Sockets are watched by an epoll of our own inside the loop's: their registrations are edge-
 * triggered and never change, which libuv's are not.
 */
static void proxy_turn(struct loop_watch *watch)
{
    struct proxy *proxy = watch->context;
    struct epoll_event events[PROXY_EVENTS_MAX];
    for (int round = 0; round < PROXY_ROUNDS_MAX; round++) {
        int count = epoll_wait(proxy->epoll_fd, events, PROXY_EVENTS_MAX, 0);
        if (count <= 0) {
            break;
        }
        proxy->now_ns = loop_now_ns();
        for (int i = 0; i < count; i++) {
            proxy_event(&events[i]);
        }
        proxy_hear(proxy);
        pipe_flush_all(proxy);
        if (proxy->dead != NULL) {
            connection_free_dead(proxy);
        }
        if (count < PROXY_EVENTS_FEW) {
            break; /* what came meanwhile wakes the loop again */
        }
    }
    proxy_keys_time(proxy);
}

static void connection_tick(struct proxy_connection *connection)
{
    static const uint8_t directions[] = {DIRECTION_REQUEST, DIRECTION_REPLY};
    for (int i = 0; i < 2 && !connection->dead; i++) {
        struct proxy_pipe *pipe = i == 0 ? &connection->request : &connection->reply;
        if (pipe->mark_count > 0) {
            pipe_advance(connection, directions[i]);
        }
        if (pipe->full && pipe->parsed - pipe->sent < PIPE_BYTES_MAX / 2) {
            pipe->full = false;
            pipe_receive(connection, directions[i]);
        }
    }
    connection_settle(connection);
}

/* A time has come that something waited for. */
static void proxy_tick(struct loop_alarm *alarm)
{
    struct proxy *proxy = alarm->context;
    proxy->now_ns = loop_now_ns();
    for (uint32_t i = 0; i < proxy->link_count; i++) {
        struct proxy_connection *connection = proxy->links[i].connections;
        while (connection != NULL) {
            struct proxy_connection *next = connection->next;
            connection_tick(connection);
            connection = next;
        }
    }
    proxy_hear(proxy);
    pipe_flush_all(proxy);
    connection_free_dead(proxy);
    proxy_keys_time(proxy);
}

/* Every link may need a few descriptors: ask for as many as we may have. */
static void proxy_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void proxy_init_links(struct proxy *proxy)
{
    for (uint32_t i = 0; i < proxy->link_count; i++) {
        struct proxy_link *link = &proxy->links[i];
        link->proxy = proxy;
        link->client = (int32_t)i / proxy->options.node_count;
        link->node = (int32_t)i % proxy->options.node_count;
        /* Between nodes there is none to itself, but where all come by one door it is that. */
        bool itself = link->client % proxy->options.node_count == link->node;
        link->door = proxy->peers == NULL || itself == proxy->peers->one_door;
        link->listener_fd = -1;
        link->guard_fd = -1;
        link->stream = random_stream_at("link", i, proxy->options.seed);
    }
}

/* Between nodes: where each finds the others. */
static void proxy_number_doors(struct proxy *proxy)
{
    if (proxy->peers == NULL) {
        return;
    }
    int32_t nodes = proxy->options.node_count;
    for (uint32_t i = 0; i < proxy->link_count; i++) {
        const struct proxy_link *link = &proxy->links[i];
        int32_t port = link->client / nodes;
        const struct proxy_link *door =
            &proxy->links[(port * nodes + link->node) * nodes + link->node];
        proxy->doors[i] = link->door               ? link->port
                          : proxy->peers->one_door ? door->port
                                                   : link_address(link).port;
    }
}

static struct result proxy_open(struct proxy *proxy, uv_loop_t *loop, struct text *why)
{
    proxy->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (proxy->epoll_fd < 0) {
        text_add(why, "the proxies cannot watch sockets: %s", strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    for (uint32_t i = 0; i < proxy->link_count; i++) {
        if (proxy->links[i].door) {
            TRY(link_listen(&proxy->links[i], why));
        }
    }
    proxy_number_doors(proxy);
    TRY(loop_alarm_init(&proxy->alarm, loop, proxy_tick, proxy, why));
    proxy->watch.context = proxy;
    struct result result = loop_watch_init(&proxy->watch, loop, proxy->epoll_fd, proxy_turn, why);
    if (result_failed(result)) {
        loop_alarm_close(&proxy->alarm);
    }
    return result;
}

static void proxy_close_sockets(struct proxy *proxy)
{
    for (uint32_t i = 0; i < proxy->link_count; i++) {
        struct proxy_link *link = &proxy->links[i];
        while (link->connections != NULL) {
            struct proxy_connection *connection = link->connections;
            connection_node_gone(connection);
            (void)connection_cut(connection);
            if (!connection->dead) {
                connection_end(connection);
            }
        }
        if (link->listener_fd >= 0) {
            (void)close(link->listener_fd);
        }
        if (link->guard_fd >= 0) {
            (void)close(link->guard_fd);
        }
        link->listener_fd = -1;
        link->guard_fd = -1;
    }
    pipe_flush_all(proxy);
    connection_free_dead(proxy);
    (void)close(proxy->epoll_fd);
}

struct result proxy_start(uv_loop_t *loop, const struct proxy_options *options,
                          struct proxy **started, struct text *why)
{
    ASSERT(options->client_count > 0);
    ASSERT(options->node_count > 0);
    ASSERT((options->keys == NULL) != (options->peer_ports == NULL));
    bool between = options->peer_ports != NULL;
    uint32_t links = (uint32_t)options->client_count * (uint32_t)options->node_count;
    size_t bytes = sizeof(struct proxy) + links * sizeof(struct proxy_link);
    struct proxy *proxy = memory_resize(NULL, bytes);
    size_t nodes = (size_t)options->node_count;
    size_t places = between ? (size_t)options->client_count : nodes;
    struct address *addresses = memory_resize(NULL, places * sizeof *addresses);
    uint16_t *doors = memory_resize(NULL, links * sizeof *doors);
    struct proxy_tap *taps = memory_resize(NULL, nodes * sizeof *taps);
    if (proxy == NULL || addresses == NULL || taps == NULL || doors == NULL) {
        memory_release(proxy);
        memory_release(doors);
        memory_release(addresses);
        memory_release(taps);
        text_add(why, "no memory for %u proxies", links);
        return result_error(ERROR_LIMIT);
    }
    memset(proxy, 0, bytes);
    for (size_t i = 0; i < places; i++) {
        addresses[i] = between ? address_local(options->peer_ports[i]) : (struct address){.ip = 0};
    }
    for (size_t i = 0; i < nodes; i++) {
        taps[i] = (struct proxy_tap){{SOURCE_TAP}, proxy, (int32_t)i};
    }
    proxy->options = *options;
    const struct server_kind *kind = server_kind_at(options->kind);
    proxy->peers = between ? kind->launch->peers : NULL;
    proxy->peers = options->peers != NULL ? options->peers : proxy->peers;
    proxy->wire = between ? &wire_between : kind->wire;
    ASSERT(proxy->wire != NULL);
    proxy->doors = doors;
    proxy->node_address = addresses;
    proxy->taps = taps;
    proxy->link_count = links;
    proxy->now_ns = loop_now_ns();
    proxy_raise_limit();
    proxy_init_links(proxy);
    struct result result = proxy_open(proxy, loop, why);
    if (result_failed(result)) {
        proxy_close_sockets(proxy);
        proxy_free(proxy);
        return result;
    }
    *started = proxy;
    return RESULT_OK;
}

void proxy_stop(struct proxy *proxy)
{
    proxy->now_ns = loop_now_ns();
    loop_watch_close(&proxy->watch);
    loop_alarm_close(&proxy->alarm);
    proxy_close_sockets(proxy);
}

void proxy_free(struct proxy *proxy)
{
    if (proxy != NULL) {
        memory_release(proxy->node_address);
        memory_release(proxy->taps);
        memory_release(proxy->doors);
        memory_release(proxy);
    }
}

uint16_t proxy_port(const struct proxy *proxy, int32_t client, int32_t node)
{
    ASSERT(client >= 0 && client < proxy->options.client_count);
    ASSERT(node >= 0 && node < proxy->options.node_count);
    return proxy->links[client * proxy->options.node_count + node].port;
}

const uint16_t *proxy_doors(const struct proxy *proxy, uint32_t port)
{
    ASSERT(proxy->peers != NULL);
    uint32_t nodes = (uint32_t)proxy->options.node_count;
    ASSERT((port + 1) * nodes <= (uint32_t)proxy->options.client_count);
    return &proxy->doors[(size_t)port * nodes * nodes];
}

void proxy_node_set(struct proxy *proxy, int32_t node, struct address address)
{
    ASSERT(node >= 0 && node < proxy->options.node_count);
    proxy->node_address[node] = address;
    int fd = keys_fd(proxy->options.keys, node);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &proxy->taps[node].source};
    if (fd >= 0 && epoll_ctl(proxy->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        ASSERT(errno == EEXIST); /* it leads there already */
    }
    proxy_wake_at(proxy, loop_now_ns()); /* what waited for the node that was there is lost */
}

bool proxy_connected(const struct proxy *proxy, int32_t client, int32_t node)
{
    const struct proxy_link *link = &proxy->links[client * proxy->options.node_count + node];
    struct proxy_rules rules = proxy_rules_of(link, DIRECTION_REQUEST);
    bool connected = false;
    for (const struct proxy_connection *c = link->connections; c != NULL; c = c->next) {
        connected = connected || (c->client_fd >= 0 && c->connected && !c->request.ended);
    }
    return connected && !rules.holds && !rules.drops;
}

struct proxy_signs proxy_signs(const struct proxy *proxy, int32_t client)
{
    struct proxy_signs signs = {false, 0};
    for (int32_t node = 0; node < proxy->options.node_count; node++) {
        const struct proxy_link *link = &proxy->links[client * proxy->options.node_count + node];
        signs.connections += link->connected;
        signs.waits = signs.waits || link->faults != 0;
        for (const struct proxy_connection *c = link->connections; c != NULL; c = c->next) {
            bool waits = c->command_count > 0 || connection_owes(c) || c->reply.mark_count > 0;
            signs.waits = signs.waits || (c->client_fd >= 0 && waits);
        }
    }
    return signs;
}

static bool link_delays(const struct proxy_link *link)
{
    for (const struct proxy_connection *c = link->connections; c != NULL; c = c->next) {
        bool under_way = c->request.mark_count > 0 || connection_owes(c);
        if (c->delayed && !c->dead && under_way) {
            return true;
        }
    }
    return false;
}

bool proxy_delays(const struct proxy *proxy)
{
    for (int32_t i = 0; i < proxy->options.client_count * proxy->options.node_count; i++) {
        if (link_delays(&proxy->links[i])) {
            return true;
        }
    }
    return false;
}

struct proxy_counts proxy_counts(const struct proxy *proxy)
{
    return proxy->counts;
}
