/* launch.c: toy servers as processes. */
#include "servers/toy/real/real.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void words_of(const struct server_process *process, struct server_words *words)
{
    server_word(words, "%u", process->address.port);
    if (process->index > 0) {
        server_word(words, "%u", process->peers[0]); /* where the first one is found */
    }
}

/* Asked once, and looked for an answer each time: a second server asks the first, through us. */
static bool alive(struct server_process *process)
{
    char answer[5];
    if (process->talk_fd < 0) {
        process->talk_fd = address_connect(process->address);
        if (process->talk_fd >= 0) {
            (void)send(process->talk_fd, "ping\n", 5, MSG_NOSIGNAL);
        }
        return false;
    }
    ssize_t got = recv(process->talk_fd, answer, sizeof answer, MSG_DONTWAIT);
    if (got >= 0 || errno != EAGAIN) {
        (void)close(process->talk_fd);
        process->talk_fd = -1;
    }
    return got > 0;
}

/* "from N\n": all come by one door, and say who they are; others are clients of nobody's. */
static enum wire_cut greeting(const struct server_greeting *said, char *data, size_t bytes,
                              uint32_t *from)
{
    if (bytes < 7 && memcmp(data, "from 0\n", bytes < 5 ? bytes : 5) == 0) {
        return WIRE_CUT_MORE;
    }
    bool fellow = bytes >= 7 && data[5] > '0' && (uint32_t)(data[5] - '0') <= said->node_count;
    *from = fellow ? (uint32_t)(data[5] - '1') : SERVER_PEER_NOBODY;
    return WIRE_CUT_MESSAGE;
}

static const struct server_peers peers = {.one_door = true, .greeting = greeting};

const struct server_launch toy_launch = {
    .program = "toy-server",
    .package = "toy-tools",
    .peers = &peers,
    .words = words_of,
    .alive = alive,
};
