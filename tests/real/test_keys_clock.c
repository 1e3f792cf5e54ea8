/* test_keys_clock.c: a node's clock that is moved, and what that does to the keys it holds. */
#include "tests/real/links.h"

static void begin_with_clock(void)
{
    links_make(true);
}

TestSuite(keys_clock, .init = begin_with_clock, .fini = links_end, .timeout = 60);

/* The newest event; fails if there is none. */
static const struct history_event *newest(void)
{
    cr_assert_gt(links.event_count, 0);
    return &links.events[links.event_count - 1];
}

static void ask(int fd, const char *line, const char *reply)
{
    links_send(fd, line);
    links_expect(fd, reply);
}

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
    ask(fd, "SET r0 v PX 10000", "+OK");
    node_clock_jump(11 * NS_PER_S);
    cr_assert_eq(newest()->f, HISTORY_KEY_EXPIRED);
    cr_assert_eq(newest()->cause, CAUSE_CLOCK_JUMP);
    cr_assert_eq(newest()->fault, 4);
    ask(fd, "SET r0 w NX PX 10000", "+OK");
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
