/* proxy_between.c: links between nodes: who speaks, and that nothing else is read of it. */
#include "harness/real/proxy/proxy_inner.h"

#include "base/assert.h"

static enum wire_cut between_request(void *stream, const char *data, size_t bytes,
                                     struct wire_request *request)
{
    (void)stream;
    (void)data;
    *request = (struct wire_request){.bytes = (uint32_t)bytes, .silent = true};
    return WIRE_CUT_MESSAGE;
}

static enum wire_cut between_reply(void *stream, const char *data, size_t bytes,
                                   const struct lock_command *asked, struct wire_reply *reply)
{
    (void)stream;
    (void)data;
    (void)asked;
    *reply = (struct wire_reply){.bytes = (uint32_t)bytes, .unasked = true};
    return WIRE_CUT_MESSAGE;
}

const struct server_wire wire_between = {.request = between_request, .reply = between_reply};

/* It came by the one door of its node, and goes on as what passes between the two. */
static void between_move(struct proxy_connection *connection, struct proxy_link *link)
{
    if (link == connection->link) {
        return;
    }
    *connection->slot = connection->next;
    if (connection->next != NULL) {
        connection->next->slot = connection->slot;
    }
    connection->link = link;
    connection->next = link->connections;
    connection->slot = &link->connections;
    if (link->connections != NULL) {
        link->connections->slot = &connection->next;
    }
    link->connections = connection;
    link->connected++;
}

/* Where whoever connected did so from; zeros where nobody can tell any more. */
static struct sockaddr_in source_of(int fd)
{
    struct sockaddr_in from = {.sin_port = 0};
    socklen_t bytes = sizeof from;
    bool known = getpeername(fd, (struct sockaddr *)&from, &bytes) == 0;
    return known ? from : (struct sockaddr_in){.sin_port = 0};
}

enum wire_cut between_greeted(struct proxy_connection *connection)
{
    struct proxy_link *link = connection->link;
    struct proxy *proxy = link->proxy;
    struct proxy_pipe *pipe = &connection->request;
    connection->greeted = proxy->peers == NULL || proxy->peers->greeting == NULL;
    if (connection->greeted) {
        return WIRE_CUT_MESSAGE;
    }
    uint32_t nodes = (uint32_t)proxy->options.node_count;
    uint32_t port = (uint32_t)link->client / nodes;
    uint32_t from = proxy->peers->one_door ? SERVER_PEER_NOBODY : (uint32_t)link->client % nodes;
    struct sockaddr_in source = source_of(connection->client_fd);
    struct server_greeting greeting = {.node_count = nodes,
                                       .node = (uint32_t)link->node,
                                       .port = port,
                                       .source_port = ntohs(source.sin_port),
                                       .source_ip = source.sin_addr.s_addr,
                                       .doors = proxy_doors(proxy, port)};
    enum wire_cut status = proxy->peers->greeting(&greeting, pipe->data + pipe->parsed,
                                                  pipe->end - pipe->parsed, &from);
    if (status != WIRE_CUT_MESSAGE) {
        return status;
    }
    connection->greeted = true;
    if (from != SERVER_PEER_NOBODY) {
        ASSERT(from < nodes);
        between_move(connection, &proxy->links[(port * nodes + from) * nodes + greeting.node]);
    }
    if (link_refused(connection->link)) {
        (void)connection_cut(connection);
    }
    return WIRE_CUT_MESSAGE;
}
