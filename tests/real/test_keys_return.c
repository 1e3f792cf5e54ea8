/* test_keys_return.c: what is asked of a server that is back, and what follows from its answers. */
#include "tests/real/ends.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

TestSuite(keys_return, .init = links_begin, .fini = links_end, .timeout = 60);

static struct keys_return gone_now(void)
{
    struct keys_return gone = {.address = node_address(&links.node),
                               .cause = CAUSE_RESTART,
                               .fault = 2,
                               .lost_ns = loop_now_ns()};
    return gone;
}

/* ---- a server whose answers are late --------------------------------------------------------- */

enum { LATE_MS = 150 };

/* Pass bytes between the two, those of `from` late, until one is over. */
static void relay(int client, int from)
{
    char bytes[4096];
    for (;;) {
        struct pollfd ends[] = {{client, POLLIN, 0}, {from, POLLIN, 0}};
        (void)poll(ends, 2, -1);
        for (int i = 0; i < 2; i++) {
            ssize_t got = ends[i].revents != 0 ? recv(ends[i].fd, bytes, sizeof bytes, 0) : 0;
            if (ends[i].revents != 0 && got <= 0) {
                return;
            }
            if (got > 0 && i == 1) {
                (void)poll(NULL, 0, LATE_MS);
            }
            if (got > 0) {
                (void)send(ends[1 - i].fd, bytes, (size_t)got, MSG_NOSIGNAL);
            }
        }
    }
}

/* A door to the server behind which its answers are late; a process of its own. */
static pid_t late_begin(struct address *door)
{
    struct address node = node_address(&links.node);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listening, (struct sockaddr *)&at, sizeof at), 0);
    cr_assert_eq(listen(listening, 1), 0);
    cr_assert_eq(getsockname(listening, (struct sockaddr *)&at, &bytes), 0);
    *door = node;
    door->port = ntohs(at.sin_port);
    pid_t pid = fork();
    if (pid == 0) {
        int client = accept(listening, NULL, NULL);
        relay(client, address_connect(node));
        _exit(0);
    }
    (void)close(listening);
    return pid;
}

static void late_end(pid_t pid)
{
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

/* ---- ends ------------------------------------------------------------------------------------ */

Test(keys_return, a_key_that_nobody_saw_being_set_ends_when_it_may_have_been_asked_for)
{
    struct keys_return back = gone_now();
    keys_gone(links.keys, &back, false);
    order((const char *[]){"SET", "r0", "v", "PX", "60000", NULL});
    pid_t pid = late_begin(&back.address);
    LINKS_MUST(keys_watch_again(links.keys, &back, &links_why));
    view_holds();
    late_end(pid);
}

Test(keys_return, an_extension_that_nobody_saw_is_found_in_the_keys_end)
{
    int fd = links_connect(0);
    ASK(fd, "+OK", "SET", "r0", "v", "PX", "60000");
    struct keys_return back = gone_now();
    keys_gone(links.keys, &back, false);
    order((const char *[]){"PEXPIRE", "r0", "120000", NULL});
    LINKS_MUST(keys_watch_again(links.keys, &back, &links_why));
    view_holds();
    cr_assert_eq(newest()->f, HISTORY_KEY_BACK);
    cr_assert_eq(newest()->until_ns, look().latest_ns - links.start_ns);
    close(fd);
}

Test(keys_return, what_was_known_of_an_end_is_kept_where_the_server_says_nothing_else)
{
    int fd = links_connect(0);
    ASK(fd, "+OK", "SET", "r0", "v", "PX", "60000");
    struct keys_view before = look();
    struct keys_return back = gone_now();
    keys_gone(links.keys, &back, false);
    pid_t pid = late_begin(&back.address);
    LINKS_MUST(keys_watch_again(links.keys, &back, &links_why));
    cr_assert_eq(look().earliest_ns, before.earliest_ns);
    cr_assert_eq(look().latest_ns, before.latest_ns);
    cr_assert_eq(look().owner, 0);
    late_end(pid);
    close(fd);
}

/* ---- deposed --------------------------------------------------------------------------------- */

Test(keys_return, a_deposed_node_holds_nothing_until_it_is_watched_anew)
{
    int fd = links_connect(0);
    ASK(fd, "+OK", "SET", "r0", "v", "PX", "60000");
    struct keys_return gone = gone_now();
    keys_deposed(links.keys, &gone);
    cr_assert_eq(gone.lost, 1);
    cr_assert_eq(newest()->f, HISTORY_KEY_LOST);
    ASK(fd, "+OK", "SET", "r0", "w", "PX", "60000");
    cr_assert_eq(newest()->f, HISTORY_KEY_LOST, "what is set there is lost as it is set");
    cr_assert_eq(newest()->cause, CAUSE_FAILOVER);
    LINKS_MUST(keys_watch_again(links.keys, &gone, &links_why));
    proxy_node_set(links.proxy, 0, gone.address); /* it listens where the node tells now */
    int again = links_connect(0);
    ASK(again, "+OK", "SET", "r0", "x", "PX", "60000");
    cr_assert_eq(newest()->f, HISTORY_KEY_SET, "its keys count again");
    value_is(&newest()->value, "x");
    cr_assert(look().present);
    close(again);
    close(fd);
}
