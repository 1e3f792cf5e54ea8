/*
 * servers.h: redis-servers for one test: children in a directory of their own, on unix sockets.
 *
 *     struct servers servers;
 *     servers_start(&servers, 3);    servers.address[i]
 *     servers_stop(&servers);
 */
#ifndef TESTS_LOCKCORE_SERVERS_H
#define TESTS_LOCKCORE_SERVERS_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SERVERS_MAX = 5 };

struct servers {
    char directory[64];
    int count;
    pid_t pid[SERVERS_MAX]; /* 0: not running */
    char path[SERVERS_MAX][96];
    const char *address[SERVERS_MAX];
};

static inline void servers_pause(void)
{
    const struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
}

/* A connection of its own to a server; below 0 if it does not accept. */
static inline int server_connect(const struct servers *servers, int index)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, servers->path[index], strlen(servers->path[index]) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Wait until the server accepts, at most about 10 s. */
static inline void server_wait(const struct servers *servers, int index)
{
    for (int tries = 0; tries < 5000; tries++) {
        int fd = server_connect(servers, index);
        if (fd >= 0) {
            close(fd);
            return;
        }
        servers_pause();
    }
    cr_assert_fail("a redis-server does not answer on %s", servers->path[index]);
}

/* Ask and wait for the answer: what other connections had asked before is answered by then. */
static inline void server_ping(const struct servers *servers, int index)
{
    char reply[16];
    int fd = server_connect(servers, index);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, "PING\r\n", 6), 6);
    cr_assert(read(fd, reply, sizeof reply) > 0);
    close(fd);
}

static inline void server_launch(struct servers *servers, int index)
{
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", servers->path[index],
               "--dir", servers->directory, "--save", "", "--appendonly", "no", (char *)NULL);
        _exit(127);
    }
    servers->pid[index] = pid;
}

static inline void server_start(struct servers *servers, int index)
{
    server_launch(servers, index);
    server_wait(servers, index);
}

static inline void server_kill(struct servers *servers, int index)
{
    if (servers->pid[index] > 0) {
        kill(servers->pid[index], SIGKILL);
        waitpid(servers->pid[index], NULL, 0);
        servers->pid[index] = 0;
    }
}

static inline void servers_start(struct servers *servers, int count)
{
    memset(servers, 0, sizeof *servers);
    (void)snprintf(servers->directory, sizeof servers->directory, "/tmp/picklock-test-XXXXXX");
    cr_assert(mkdtemp(servers->directory) != NULL);
    servers->count = count;
    for (int i = 0; i < count; i++) {
        char path[sizeof servers->path[i]];
        (void)snprintf(path, sizeof path, "%s/node-%d.sock", servers->directory, i);
        memcpy(servers->path[i], path, sizeof path);
        servers->address[i] = servers->path[i];
        server_launch(servers, i);
    }
    for (int i = 0; i < count; i++) {
        server_wait(servers, i);
    }
}

static inline void servers_stop(struct servers *servers)
{
    for (int i = 0; i < servers->count; i++) {
        server_kill(servers, i);
        unlink(servers->path[i]);
    }
    rmdir(servers->directory);
}

#endif
