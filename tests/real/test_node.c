/* test_node.c: what is done to a redis-server shows from outside. */
#include "base/assert.h"
#include "base/duration.h"
#include "harness/real/node/node.h"
#include "harness/real/process/loop.h"
#include "harness/real/process/proc.h"
#include "harness/real/process/process.h"
#include "tests/real/place.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct node node;
static char why_memory[WHY_BYTES];
static struct text why;
static struct place place;

#define MUST(call) cr_assert(!result_failed(call), "%s", why.data)

static void node_up(void)
{
    bool ready = false;
    MUST(node_start(&node, &why));
    while (!ready) {
        MUST(node_ready(&node, &ready, &why));
    }
}

static void node_make(struct node_options options)
{
    why = text_over(why_memory, sizeof why_memory);
    place_make(&place);
    options.run_directory = place.path;
    MUST(node_init(&node, &options, &why));
    node_up();
}

static void node_gone(void)
{
    node_release(&node);
    place_remove(&place);
}

static void set_key(const char *name, const char *ttl_ms)
{
    struct admin_reply reply;
    MUST(node_order(&node, (const char *[]){"SET", name, "v", "PX", ttl_ms, NULL}, &reply, &why));
}

static bool has_key(const char *name)
{
    struct admin_reply reply;
    MUST(node_order(&node, (const char *[]){"EXISTS", name, NULL}, &reply, &why));
    return reply.items[0].integer == 1;
}

Test(node, keeps_its_port_while_it_is_down_and_refuses_connections, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_NONE});
    int port = node.port;
    node_crash(&node);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof address), -1);
    cr_assert_eq(errno, ECONNREFUSED);
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), -1, "it is ours");
    close(fd);
    node_up();
    cr_assert_eq(node.port, port);
    struct admin admin = ADMIN_CLOSED;
    while (!admin_look(&admin, address_local((uint16_t)port))) {
    }
    admin_close(&admin);
}

Test(node, forgets_everything_in_a_crash_without_a_file, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_NONE});
    set_key("k", "60000");
    node_crash(&node);
    node_up();
    cr_assert_not(has_key("k"));
}

Test(node, keeps_what_was_written_in_a_crash_with_everysec, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_EVERYSEC});
    set_key("k", "60000");
    node_crash(&node);
    node_up();
    cr_assert(has_key("k"));
}

Test(node, keeps_what_was_written_in_a_crash_with_always, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_ALWAYS});
    set_key("k", "60000");
    node_crash(&node);
    node_up();
    cr_assert(has_key("k"));
}

Test(node, keeps_everything_in_a_clean_shutdown_with_everysec, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_EVERYSEC});
    set_key("k", "60000");
    MUST(node_shutdown(&node, &why));
    node_up();
    cr_assert(has_key("k"));
}

Test(node, forgets_everything_in_a_clean_shutdown_without_a_file, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_NONE});
    set_key("k", "60000");
    MUST(node_shutdown(&node, &why));
    node_up();
    cr_assert_not(has_key("k"));
}

Test(node, loses_unsynced_keys_when_the_power_goes, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_EVERYSEC, .track_fsync = true});
    /* Each write makes the file longer; a cut is drawn until one loses something. */
    bool lost = false;
    for (uint64_t seed = 1; seed <= 50 && !lost; seed++) {
        struct random_stream random = random_stream("cut", seed);
        struct node_power_loss loss;
        set_key("a", "60000");
        set_key("b", "60000");
        set_key("c", "60000");
        MUST(node_power_loss(&node, &random, &loss, &why));
        cr_assert(loss.synced_bytes <= loss.kept_bytes && loss.kept_bytes <= loss.written_bytes);
        bool should_lose = loss.kept_bytes < loss.written_bytes;
        node_up();
        cr_assert_eq(has_key("c"), !should_lose, "seed %d", (int)seed);
        lost = should_lose;
        struct admin_reply reply;
        MUST(node_order(&node, (const char *[]){"FLUSHALL", NULL}, &reply, &why));
    }
    cr_assert(lost);
}

Test(node, loses_nothing_when_the_power_goes_with_always, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_ALWAYS, .track_fsync = true});
    struct random_stream random = random_stream("cut", 1);
    struct node_power_loss loss;
    set_key("k", "60000");
    MUST(node_power_loss(&node, &random, &loss, &why));
    cr_assert_eq(loss.synced_bytes, loss.written_bytes);
    node_up();
    cr_assert(has_key("k"));
}

Test(node, stands_still_while_it_is_frozen, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_NONE});
    MUST(node_freeze(&node, &why));
    cr_assert_eq(proc_state(node.pid), 'T');
    struct admin admin = ADMIN_CLOSED;
    cr_assert_not(admin_look(&admin, node_address(&node)));
    int fd = admin.fd;
    cr_assert_geq(fd, 0);
    node_thaw(&node);
    while (!admin_look(&admin, node_address(&node))) {
    }
    cr_assert_eq(admin.fd, fd, "what was asked once is answered late");
    admin_close(&admin);
    struct admin_reply reply;
    MUST(node_order(&node, (const char *[]){"PING", NULL}, &reply, &why));
}

Test(node, expires_a_key_when_its_clock_jumps_ahead, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_NONE, .fake_clock = true});
    int64_t offset_ns;
    set_key("k", "10000");
    MUST(node_clock_offset(&node, &offset_ns, &why));
    cr_assert(offset_ns > -NS_PER_S && offset_ns < NS_PER_S);
    node_clock_set(&node, 11 * NS_PER_S, 1000000);
    cr_assert_not(has_key("k"));
    MUST(node_clock_offset(&node, &offset_ns, &why));
    cr_assert(offset_ns > 10 * NS_PER_S && offset_ns < 12 * NS_PER_S);
}

Test(node, keeps_a_key_longer_when_its_clock_jumps_back, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_NONE, .fake_clock = true});
    struct admin_reply reply;
    set_key("k", "10000");
    node_clock_set(&node, -60 * NS_PER_S, 1000000);
    MUST(node_order(&node, (const char *[]){"PTTL", "k", NULL}, &reply, &why));
    cr_assert(reply.items[0].integer > 60000 && reply.items[0].integer <= 70000);
}

Test(node, follows_the_rate_of_its_clock_without_a_jump, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_NONE, .fake_clock = true});
    int64_t at_first_ns;
    int64_t stopped_ns;
    int64_t later_ns;
    MUST(node_clock_offset(&node, &at_first_ns, &why));
    node_clock_set(&node, 0, 0);
    MUST(node_clock_offset(&node, &stopped_ns, &why));
    cr_assert(stopped_ns - at_first_ns < NS_PER_S && at_first_ns - stopped_ns < NS_PER_S);
    usleep(20000);
    MUST(node_clock_offset(&node, &later_ns, &why));
    cr_assert(later_ns < stopped_ns - 19 * NS_PER_MS, "a stopped clock falls behind");
    node_clock_set(&node, 0, 1000000000);
    usleep(2000);
    MUST(node_clock_offset(&node, &later_ns, &why));
    cr_assert(later_ns > NS_PER_S, "a thousand times too fast");
}

Test(node, says_how_it_died, .fini = node_gone)
{
    node_make((struct node_options){.fsync = FSYNC_NONE});
    cr_assert_not(node_died(&node, &why));
    kill(node.pid, SIGSEGV);
    while (!node_died(&node, &why)) {
    }
    cr_assert(strstr(why.data, "node 1 ended by itself") != NULL, "%s", why.data);
}
