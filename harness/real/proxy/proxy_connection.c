/* proxy_connection.c: listeners of links; a connection's beginning and end. */
#include "harness/real/proxy/peer.h"
#include "harness/real/proxy/proxy_inner.h"

#include "base/arena.h"
#include "base/assert.h"
#include "servers/redis/real/secure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* A socket of 127.0.0.1:port (0: the kernel chooses). -1 if the system refuses. */
static int socket_bound(uint16_t port)
{
    int on = 1;
    struct sockaddr_in address = address_socket(address_local(port));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    /* SO_REUSEPORT lets a guard sit on the port while the listener is closed: see link_refuse. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool link_open(struct proxy_link *link)
{
    struct sockaddr_in address;
    socklen_t bytes = sizeof address;
    link->listener_fd = socket_bound(link->port);
    if (link->listener_fd < 0 || listen(link->listener_fd, PROXY_BACKLOG) != 0 ||
        getsockname(link->listener_fd, (struct sockaddr *)&address, &bytes) != 0) {
        return false;
    }
    link->port = ntohs(address.sin_port);
    link->source.type = SOURCE_LISTENER;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &link->source};
    return epoll_ctl(link->proxy->epoll_fd, EPOLL_CTL_ADD, link->listener_fd, &event) == 0;
}

struct result link_listen(struct proxy_link *link, struct text *why)
{
    if (!link_open(link)) {
        bool between = link->proxy->peers != NULL;
        int32_t speaker = between ? link->client % link->proxy->options.node_count : link->client;
        text_add(why, "cannot listen on 127.0.0.1 for %s %d and node %d: %s",
                 between ? "node" : "client", speaker + 1, link->node + 1, strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

/* Without a listener the kernel answers with RST. A bound socket keeps others off the port. */
void link_refuse(struct proxy_link *link)
{
    if (link->listener_fd < 0) {
        return;
    }
    link->guard_fd = socket_bound(link->port);
    (void)close(link->listener_fd);
    link->listener_fd = -1;
}

void link_admit(struct proxy_link *link)
{
    if (link->listener_fd >= 0 || !link->door) {
        return;
    }
    /* The port is ours all the time: only a lack of descriptors could prevent this. */
    ASSERT(link_open(link));
    if (link->guard_fd >= 0) {
        (void)close(link->guard_fd);
        link->guard_fd = -1;
    }
}

struct address link_address(const struct proxy_link *link)
{
    int32_t port = link->proxy->peers != NULL ? link->client / link->proxy->options.node_count : 0;
    return link->proxy->node_address[port * link->proxy->options.node_count + link->node];
}

/* ---- a connection's end ---- */

static void socket_reset(int fd)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    (void)close(fd);
}

void connection_end(struct proxy_connection *connection)
{
    ASSERT(!connection->dead);
    struct proxy *proxy = connection->link->proxy;
    if (connection->client_fd >= 0) {
        (void)close(connection->client_fd);
        connection->client_fd = -1;
    }
    if (connection->node_fd >= 0) {
        secure_close(connection->node_fd);
        connection->node_fd = -1;
    }
    if (connection->channel != NULL) {
        keys_channel_close(connection->channel);
        connection->channel = NULL;
    }
    *connection->slot = connection->next;
    if (connection->next != NULL) {
        connection->next->slot = connection->slot;
    }
    connection->dead = true;
    connection->dead_next = proxy->dead;
    proxy->dead = connection;
}

bool connection_owes(const struct proxy_connection *connection)
{
    return connection->channel != NULL && keys_open(connection->channel) > 0;
}

/* Those that are over wait for nothing. */
static void waiting_leave(struct proxy *proxy)
{
    struct proxy_connection **at = &proxy->waiting;
    while (*at != NULL) {
        if ((*at)->dead) {
            *at = (*at)->waiting_next;
        } else {
            at = &(*at)->waiting_next;
        }
    }
}

void connection_free_dead(struct proxy *proxy)
{
    if (proxy->dead != NULL) {
        waiting_leave(proxy);
    }
    while (proxy->dead != NULL) {
        struct proxy_connection *connection = proxy->dead;
        proxy->dead = connection->dead_next;
        pipe_release(&connection->request);
        pipe_release(&connection->reply);
        memory_release(connection->commands);
        memory_release(connection);
    }
}

/*
 * Forget the commands that wait. Those that were sent are still waited for.
 */
static uint32_t request_discard(struct proxy_connection *connection)
{
    struct proxy_pipe *pipe = &connection->request;
    connection->command_count = 0;
    if (connection->node_fd < 0) {
        return pipe_discard(pipe);
    }
    uint32_t bytes = pipe->parsed - pipe->ready;
    pipe->mark_count = 0;
    pipe->parsed = pipe->ready;
    pipe->end = pipe->ready;
    return bytes;
}

void connection_client_gone(struct proxy_connection *connection)
{
    if (connection->client_fd >= 0) {
        (void)close(connection->client_fd);
        connection->client_fd = -1;
    }
    connection->request.ended = true;
    (void)pipe_discard(&connection->reply);
}

void connection_node_gone(struct proxy_connection *connection)
{
    if (connection->node_fd >= 0) {
        secure_close(connection->node_fd);
        connection->node_fd = -1;
    }
    bool unheard = connection->channel != NULL && keys_unheard(connection->channel) > 0;
    connection->reply.ended = true;
    connection->reply.broken = connection->reply.broken || unheard;
    if (connection->channel != NULL) {
        keys_cut_off(connection->channel);
    }
    if (connection_owes(connection)) {
        connection_wait(connection);
    }
    (void)request_discard(connection);
}

uint32_t connection_cut(struct proxy_connection *connection)
{
    pipe_flush(connection, DIRECTION_REPLY); /* what passed before this has passed */
    uint32_t bytes = request_discard(connection) + pipe_discard(&connection->reply);
    if (connection->client_fd >= 0) {
        socket_reset(connection->client_fd);
        connection->client_fd = -1;
    }
    connection->request.ended = true;
    connection_settle(connection);
    return bytes;
}

/* The last thing of a direction, its end, passes when all before it has and nothing blocks it. */
static bool end_passes(const struct proxy_connection *connection, uint8_t direction)
{
    const struct proxy_pipe *pipe =
        direction == DIRECTION_REQUEST ? &connection->request : &connection->reply;
    if (!pipe->ended || !pipe_empty(pipe)) {
        return false;
    }
    struct proxy_rules rules = proxy_rules_of(connection->link, direction);
    return !rules.holds && !rules.drops;
}

void connection_settle(struct proxy_connection *connection)
{
    if (connection->dead) {
        return;
    }
    bool owes = connection_owes(connection);
    if (connection->node_fd < 0) {
        if (connection->client_fd < 0) {
            if (!owes) {
                connection_end(connection);
            }
        } else if (!owes && end_passes(connection, DIRECTION_REPLY)) {
            if (connection->reply.broken) {
                socket_reset(connection->client_fd);
                connection->client_fd = -1;
            }
            connection_end(connection);
        }
        return;
    }
    bool settled = !owes || connection->opaque;
    if (settled && end_passes(connection, DIRECTION_REQUEST) &&
        (connection->client_fd < 0 || pipe_empty(&connection->reply))) {
        connection_end(connection);
    }
}

/* ---- a connection's beginning ---- */

/* The commands of a connection, by the port under which the node knows it. */
static struct keys_channel *channel_open(const struct proxy_link *link, int node_fd)
{
    struct sockaddr_in address;
    socklen_t bytes = sizeof address;
    bool named = getsockname(node_fd, (struct sockaddr *)&address, &bytes) == 0;
    struct keys_route route = {
        .node = link->node,
        .client = link->client,
        .own_port = named ? ntohs(address.sin_port) : 0,
        .node_address = link_address(link),
    };
    return keys_channel_open(link->proxy->options.keys, &route);
}

/* Begin to connect to the node; its outcome is an event. */
static int node_connect(const struct proxy_link *link)
{
    int on = 1;
    struct sockaddr_in address = address_socket(link_address(link));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool connection_watch(struct proxy_connection *connection, int fd,
                             struct proxy_source *source)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = source};
    return epoll_ctl(connection->link->proxy->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void link_connect(struct proxy_link *link, int client_fd)
{
    int on = 1;
    (void)setsockopt(client_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    size_t bytes = sizeof(struct proxy_connection) + link->proxy->wire->stream_bytes;
    struct proxy_connection *connection = memory_resize(NULL, bytes);
    if (connection == NULL) {
        socket_reset(client_fd);
        return;
    }
    memset(connection, 0, bytes);
    connection->client_source.type = SOURCE_CLIENT;
    connection->node_source.type = SOURCE_NODE;
    connection->link = link;
    connection->client_fd = client_fd;
    connection->next = link->connections;
    connection->slot = &link->connections;
    if (link->connections != NULL) {
        link->connections->slot = &connection->next;
    }
    link->connections = connection;
    link->proxy->counts.connections++;
    link->connected++;
    connection->secure = link_address(link).secure;
    connection->password = link_address(link).password;
    connection->node_fd = node_connect(link);
    bool read = link->proxy->options.keys != NULL;
    connection->channel =
        connection->node_fd >= 0 && read ? channel_open(link, connection->node_fd) : NULL;
    if (connection->node_fd < 0 || (read && connection->channel == NULL) ||
        !connection_watch(connection, connection->node_fd, &connection->node_source)) {
        connection->reply.broken = true;
        connection_node_gone(connection);
    }
    if (!connection_watch(connection, client_fd, &connection->client_source)) {
        connection_client_gone(connection);
    }
    connection_settle(connection);
}

void link_accept(struct proxy_link *link)
{
    for (int i = 0; i < PROXY_BACKLOG && link->listener_fd >= 0; i++) {
        int fd = accept4(link->listener_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        /* Where there is no password nothing is opened to whoever comes. */
        if (link->proxy->peers != NULL || peer_is_ours(fd)) {
            link_connect(link, fd);
        } else {
            (void)close(fd);
        }
    }
}

/* ---- events ---- */

void connection_client_event(struct proxy_connection *connection, uint32_t events)
{
    if (connection->dead || connection->client_fd < 0) {
        return;
    }
    connection->request.closing = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        pipe_receive(connection, DIRECTION_REQUEST);
    }
    if ((events & EPOLLOUT) != 0 && !connection->dead) {
        pipe_flush(connection, DIRECTION_REPLY);
    }
    if (connection->request.ended) {
        connection_settle(connection);
    }
}

void connection_node_event(struct proxy_connection *connection, uint32_t events)
{
    const struct server_wire *wire = connection->link->proxy->wire;
    if (connection->dead || connection->node_fd < 0) {
        return;
    }
    if (!connection->connected) {
        int error = 0;
        socklen_t bytes = sizeof error;
        bool fine = getsockopt(connection->node_fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 &&
                    error == 0;
        if (fine && (events & EPOLLOUT) == 0) {
            return;
        }
        if (!fine || !secure_begin(connection->secure, connection->node_fd, SECURE_LATER)) {
            connection->reply.broken = true;
            connection_node_gone(connection);
            connection_settle(connection);
            return;
        }
        connection->connected = true;
        if (connection->password != NULL) {
            (void)wire->password_say(connection->node_fd, connection->password,
                                     &connection->password_owed);
        }
        pipe_advance(connection, DIRECTION_REQUEST);
    }
    if (connection->dead || connection->node_fd < 0) {
        return;
    }
    connection->reply.closing = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if (connection->password_owed > 0 &&
        !wire->password_hear(connection->node_fd, connection->password,
                             &connection->password_owed)) {
        connection->reply.broken = errno != EPIPE;
        connection_node_gone(connection);
        connection_settle(connection);
        return;
    }
    bool readable = (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if (readable && connection->password_owed == 0) {
        pipe_receive(connection, DIRECTION_REPLY);
    }
    bool writable = (events & EPOLLOUT) != 0;
    if (connection->secure != NULL && !connection->dead && connection->node_fd >= 0) {
        secure_flush(connection->node_fd);
        writable = true; /* what waited for the server to be known has no edge of its own */
    }
    if (writable && !connection->dead) {
        pipe_flush(connection, DIRECTION_REQUEST);
    }
    if (connection->reply.ended || connection->request.ended) {
        connection_settle(connection);
    }
}
