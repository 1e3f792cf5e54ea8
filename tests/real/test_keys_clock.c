/* test_keys_clock.c: a node's clock that is moved, and what that does to the keys it holds. */
#include "base/machine_clock.h"
#include "tests/real/ends.h"

#include <inttypes.h>
#include <poll.h>

static void begin_with_clock(void)
{
    links_make(true);
}

TestSuite(keys_clock, .init = begin_with_clock, .fini = links_end, .timeout = 60);

static void node_clock_jump(int64_t jump_ns)
{
    node_clock_set(&links.node, jump_ns, 1000000);
    keys_clock_changed(links.keys, &(struct keys_clock_change){.fault = 4,
                                                               .true_ns = loop_now_ns(),
                                                               .jump_ns = jump_ns,
                                                               .rate_ppm = 1000000});
}

Test(keys_clock, a_clock_jump_ends_keys_and_is_named_as_the_cause)
{
    int fd = links_connect(0);
    ASK(fd, "+OK", "SET", "r0", "v", "PX", "10000");
    node_clock_jump(11 * NS_PER_S);
    cr_assert_eq(newest()->f, HISTORY_KEY_EXPIRED);
    cr_assert_eq(newest()->cause, CAUSE_CLOCK_JUMP);
    cr_assert_eq(newest()->fault, 4);
    ASK(fd, "+OK", "SET", "r0", "w", "NX", "PX", "10000");
    cr_assert_eq(newest()->f, HISTORY_KEY_SET);
    close(fd);
}

Test(keys_clock, a_key_that_a_clock_jump_overtook_ends_at_the_jump)
{
    struct admin_reply reply;
    LINKS_MUST(node_order(&links.node, (const char *[]){"SET", "r0", "v", "PX", "10000", NULL},
                          &reply, &links_why));
    int64_t set_ns = loop_now_ns() - links.start_ns;
    node_clock_jump(11 * NS_PER_S); /* the node's word of the key has not been read yet */
    while (links.event_count < 2) {
        links_turn();
    }
    cr_assert_eq(newest()->f, HISTORY_KEY_EXPIRED);
    cr_assert_eq(newest()->cause, CAUSE_CLOCK_JUMP);
    cr_assert_geq(newest()->time_ns, set_ns);
}

/* Whoever reckons by a clock that is behind sets an end that is over. */
Test(keys_clock, a_key_whose_end_was_over_when_it_was_set_ends_then)
{
    int fd = links_connect(0);
    int64_t begun_ns = loop_now_ns() - links.start_ns;
    node_clock_jump(11 * NS_PER_S);
    char end_ms[32];
    (void)snprintf(end_ms, sizeof end_ms, "%" PRId64, realtime_ns() / NS_PER_MS + 1000);
    ASK(fd, "+OK", "SET", "r0", "v", "PXAT", end_ms);
    while (links.event_count == 0 || newest()->f != HISTORY_KEY_EXPIRED) {
        links_turn();
    }
    cr_assert_geq(newest()->time_ns, begun_ns);
    close(fd);
}

/* A script may do more behind what was read of it: what it did stands before what the jump did. */
Test(keys_clock, a_key_that_a_script_under_way_set_ends_behind_its_set)
{
    struct admin_reply reply;
    const char *script = "return redis.call('set', KEYS[1], ARGV[1], 'PX', 10000)";
    LINKS_MUST(node_order(&links.node, (const char *[]){"EVAL", script, "1", "r0", "v", NULL},
                          &reply, &links_why));
    keys_receive(links.keys, 0); /* its lines are here; nothing says that no more will follow */
    cr_assert_eq(links.event_count, 0);
    node_clock_jump(11 * NS_PER_S);
    while (links.event_count == 0 || newest()->f != HISTORY_KEY_EXPIRED) {
        links_turn();
    }
    cr_assert_eq(links.event_count, 2, "the set, and its end");
    cr_assert_eq(newest()->cause, CAUSE_CLOCK_JUMP);
    cr_assert_eq(newest()->fault, 4);
}

/* ---- ends that are set late in a unit -------------------------------------------------------- */

Test(keys_clock, an_end_that_a_script_sets_late_counts_from_then)
{
    int fd = links_connect(0);
    ASK(fd, "+OK", "EVAL",
        "local x = 0 for i = 1, 5000000 do x = x + i end "
        "return redis.call('set', KEYS[1], ARGV[1], 'PX', 60000)",
        "1", "r0", "v");
    view_holds();
    close(fd);
}

Test(keys_clock, an_end_that_a_transaction_sets_counts_from_its_exec)
{
    int fd = links_connect(0);
    ASK(fd, "+OK", "MULTI");
    int64_t begun_ns = loop_now_ns() - links.start_ns;
    (void)poll(NULL, 0, 100);
    ASK(fd, "+QUEUED", "SET", "r0", "v", "PX", "60000");
    ASK(fd, "*1", "EXEC");
    view_holds();
    cr_assert_geq(newest()->time_ns, begun_ns + 100 * NS_PER_MS, "it was set at EXEC");
    close(fd);
}
