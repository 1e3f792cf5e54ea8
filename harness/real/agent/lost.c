/* lost.c: is an agent of a cluster gone? Asked from outside of any run. */
#include "harness/cluster.h"

#include "harness/real/agent/agent.h"
#include "harness/real/process/loop.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* 0: it takes a connection; else why it does not. */
static int lost_try(const struct cluster_node *node)
{
    struct sockaddr_in to = address_socket((struct address){.ip = node->ip, .port = node->port});
    int error = 0;
    socklen_t bytes = sizeof error;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return 0;
    }
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) != 0) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        error = errno;
        if (error == EINPROGRESS) {
            error = poll(&ready, 1, AGENT_SILENCE_MS) == 1 ? 0 : ETIMEDOUT;
        }
        if (error == 0) {
            (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
        }
    }
    (void)close(fd);
    return error;
}

bool cluster_lost(const struct cluster *cluster, struct text *why)
{
    for (int32_t i = 0; i < cluster->count; i++) {
        int error = lost_try(&cluster->nodes[i]);
        if (error != 0) {
            text_add(why, "node %d: %s at %s is gone: %s", i + 1,
                     cluster->nodes[i].bare ? "the server" : "the agent", cluster->nodes[i].name,
                     strerror(error));
            return true;
        }
    }
    return false;
}
