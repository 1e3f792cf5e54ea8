/* launch.c: toy servers as processes. */
#include "servers/toy/real/real.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static void words_of(const struct server_process *process, struct server_words *words)
{
    server_word(words, "%u", process->address.port);
}

static bool alive(struct server_process *process)
{
    char answer[5];
    int fd = address_connect(process->address);
    if (fd < 0) {
        return false;
    }
    const struct timeval patience = {.tv_usec = 50000};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool pong = send(fd, "ping\n", 5, MSG_NOSIGNAL) == 5 && recv(fd, answer, 5, 0) == 5;
    (void)close(fd);
    return pong;
}

const struct server_launch toy_launch = {
    .program = "toy-server",
    .package = "toy-tools",
    .words = words_of,
    .alive = alive,
};
