/* relays.h: the links between real redis-servers of a test, which can be held, cut and mended. */
#ifndef TESTS_SIM_RELAYS_H
#define TESTS_SIM_RELAYS_H

#include "servers/address.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 *     node i --connects to port[i][j]--> [ relay ] --> node j
 *
 * One thread carries them all. What is held stays where it is, in the sockets.
 */
enum { RELAY_NODES = 3, RELAY_PAIRS = 4, RELAY_POLLS = RELAY_NODES * RELAY_NODES * 9 };

/* A connection: [0] of the node that made it, [1] to the other one; -1: none. */
struct relay_pair {
    int fd[2];
};

struct relay {
    int listener; /* -1: of a node to itself */
    uint16_t port;
    atomic_int target;   /* a port */
    atomic_bool held[2]; /* bytes of fd[0], of fd[1] */
    atomic_bool cut;
    struct relay_pair pairs[RELAY_PAIRS];
};

struct relays {
    struct relay links[RELAY_NODES][RELAY_NODES];
    atomic_uint rounds; /* the thread has looked at all of them so often */
    atomic_bool over;
    pthread_t thread;
};

static inline void relay_close(struct relay_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        if (pair->fd[i] >= 0) {
            (void)close(pair->fd[i]);
        }
        pair->fd[i] = -1;
    }
}

static inline int relay_dial(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(fd);
        return -1;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static inline void relay_accept(struct relay *relay)
{
    int fd = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
    struct relay_pair *free = NULL;
    for (int i = 0; i < RELAY_PAIRS; i++) {
        free = relay->pairs[i].fd[0] < 0 ? &relay->pairs[i] : free;
    }
    int other = fd >= 0 && free != NULL && !relay->cut ? relay_dial(relay->target) : -1;
    if (other < 0) {
        (void)close(fd);
        return;
    }
    *free = (struct relay_pair){{fd, other}};
}

/* Bytes of one side to the other; false: the connection is over. */
static inline bool relay_pass(struct relay_pair *pair, int side)
{
    char bytes[1 << 14];
    ssize_t got = recv(pair->fd[side], bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    return got > 0 && send(pair->fd[1 - side], bytes, (size_t)got, MSG_NOSIGNAL) == got;
}

static inline nfds_t relay_ask(struct relay *relay, struct pollfd *polls)
{
    nfds_t count = 0;
    for (int i = 0; i < RELAY_PAIRS; i++) {
        if (relay->cut) {
            relay_close(&relay->pairs[i]);
        }
        for (int side = 0; side < 2; side++) {
            int fd = relay->held[side] ? -1 : relay->pairs[i].fd[side];
            polls[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
        }
    }
    polls[count++] = (struct pollfd){.fd = relay->listener, .events = POLLIN};
    return count;
}

static inline nfds_t relay_look(struct relay *relay, const struct pollfd *polls)
{
    nfds_t count = 0;
    for (int i = 0; i < RELAY_PAIRS; i++) {
        for (int side = 0; side < 2; side++, count++) {
            struct relay_pair *pair = &relay->pairs[i];
            if (polls[count].revents != 0 && pair->fd[0] >= 0 && !relay_pass(pair, side)) {
                relay_close(pair);
            }
        }
    }
    if (polls[count].revents != 0) {
        relay_accept(relay);
    }
    return count + 1;
}

static inline void *relays_run(void *context)
{
    struct relays *relays = context;
    struct relay *all = &relays->links[0][0];
    while (!relays->over) {
        struct pollfd polls[RELAY_POLLS];
        nfds_t count = 0;
        for (int i = 0; i < RELAY_NODES * RELAY_NODES; i++) {
            count += relay_ask(&all[i], &polls[count]);
        }
        (void)poll(polls, count, 1);
        count = 0;
        for (int i = 0; i < RELAY_NODES * RELAY_NODES; i++) {
            count += relay_look(&all[i], &polls[count]);
        }
        relays->rounds++;
    }
    return NULL;
}

/* What was changed is in force: the thread has seen it. */
static inline void relays_changed(struct relays *relays)
{
    unsigned seen = relays->rounds;
    while (relays->rounds - seen < 2) {
        (void)poll(NULL, 0, 1);
    }
}

static inline void relays_open(struct relays *relays, const int ports[RELAY_NODES])
{
    for (int i = 0; i < RELAY_NODES; i++) {
        for (int j = 0; j < RELAY_NODES; j++) {
            struct relay *relay = &relays->links[i][j];
            struct sockaddr_in address = {.sin_family = AF_INET,
                                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
            socklen_t bytes = sizeof address;
            relay->listener = i == j ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            relay->target = ports[j];
            for (int k = 0; k < RELAY_PAIRS; k++) {
                relay->pairs[k] = (struct relay_pair){{-1, -1}};
            }
            if (i == j) {
                continue;
            }
            cr_assert_eq(bind(relay->listener, (struct sockaddr *)&address, sizeof address), 0);
            cr_assert_eq(listen(relay->listener, 8), 0);
            cr_assert_eq(getsockname(relay->listener, (struct sockaddr *)&address, &bytes), 0);
            relay->port = ntohs(address.sin_port);
        }
    }
    cr_assert_eq(pthread_create(&relays->thread, NULL, relays_run, relays), 0);
}

static inline void relays_close(struct relays *relays)
{
    relays->over = true;
    (void)pthread_join(relays->thread, NULL);
    for (int i = 0; i < RELAY_NODES * RELAY_NODES; i++) {
        struct relay *relay = &relays->links[0][0] + i;
        for (int k = 0; k < RELAY_PAIRS; k++) {
            relay_close(&relay->pairs[k]);
        }
        if (relay->listener >= 0) {
            (void)close(relay->listener);
        }
    }
}

#endif
