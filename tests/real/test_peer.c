/* test_peer.c: a proxy takes connections of the run's own user only. */
#include "harness/real/proxy/peer.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

/* Connect as `user`, say so, and wait until the other side is done with it. */
static pid_t connect_as(uid_t user, const struct sockaddr_in *address)
{
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        bool changed = setuid(user) == 0; /* a socket belongs to whoever made it */
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool done = changed && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0;
        _exit(done && read(fd, &byte, 1) >= 0 ? 0 : 1);
    }
    return pid;
}

static bool ours(uid_t user)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    pid_t pid = connect_as(user, &address);
    int fd = accept(listener, NULL, NULL);
    cr_assert_geq(fd, 0);
    bool answer = peer_is_ours(fd);
    int status = -1;
    (void)close(fd);
    (void)close(listener);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(status, 0);
    return answer;
}

Test(peer, a_connection_of_the_same_user_is_ours)
{
    cr_assert(ours(geteuid()));
}

Test(peer, a_connection_of_another_user_is_not)
{
    if (geteuid() != 0) {
        cr_skip_test("only root can connect as somebody else");
    }
    cr_assert_not(ours(NOBODY));
}

Test(peer, what_is_no_connection_is_not)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_not(peer_is_ours(fd));
    (void)close(fd);
}
