/* door.h: a test stands where a server would. */
#ifndef TESTS_REAL_DOOR_H
#define TESTS_REAL_DOOR_H

#include <criterion/criterion.h>

#include "servers/launch.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* Listens on a free port of loopback, and waits for nobody; `process` finds it there. */
static inline int door_open(struct server_process *process)
{
    struct sockaddr_in any = address_socket(address_local(0));
    socklen_t bytes = sizeof any;
    int door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    cr_assert_eq(bind(door, (struct sockaddr *)&any, sizeof any), 0);
    cr_assert_eq(listen(door, 4), 0);
    cr_assert_eq(getsockname(door, (struct sockaddr *)&any, &bytes), 0);
    process->address = address_local(ntohs(any.sin_port));
    return door;
}

#endif
