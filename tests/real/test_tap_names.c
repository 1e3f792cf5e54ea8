/* test_tap_names.c: which keys are whose, and what becomes of replies that no node explains. */
#include "tests/real/tap.h"

TestSuite(tap_names, .init = tap_begin_learning, .fini = links_end, .timeout = 60);

/* ---- names ----------------------------------------------------------------------------------- */

Test(tap_names, a_name_that_says_nothing_is_learned)
{
    int fd = links_connect(0);
    struct keys_names names;
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "8f14e45f\"\\\x01\xff ea", "mine", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    keys_names_of(links.keys, 0, 0, &names);
    cr_assert_eq(names.count, 1);
    cr_assert_eq(names.name[0].bytes, strlen("8f14e45f\"\\\x01\xff ea"));
    close(fd);
}

Test(tap_names, an_evicted_key_is_the_one_that_was_seen)
{
    int fd = links_connect(0);
    struct keys_names names;
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "lock:r0", "mine", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    keys_names_of(links.keys, 0, 0, &names);
    cr_assert_eq(names.count, 1);
    keys_evicting(links.keys, 0, 3);
    order((const char *[]){"DEL", "lock:r0", NULL});
    ASK(fd, "+PONG", "PING"); /* what the node did before has been told */
    saw(HISTORY_KEY_EVICTED, HISTORY_NOBODY);
    cr_assert_eq(newest()->cause, CAUSE_EVICTION);
    cr_assert_eq(newest()->fault, 3);
    close(fd);
}

Test(tap_names, a_prefixed_key_is_lost_and_found_at_a_restart)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "lock:r0", "mine", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    struct keys_return back = {.address = node_address(&links.node),
                               .cause = CAUSE_RESTART,
                               .fault = 1,
                               .lost_ns = loop_now_ns()};
    keys_gone(links.keys, &back, false);
    LINKS_MUST(keys_watch_again(links.keys, &back, &links_why));
    saw(HISTORY_KEY_BACK, HISTORY_NOBODY);
    keys_gone(links.keys, &back, true);
    saw(HISTORY_KEY_LOST, HISTORY_NOBODY);
    cr_assert_eq(back.lost, 1);
    close(fd);
}

Test(tap_names, a_key_of_no_resource_is_nobodys)
{
    int fd = links_connect(0);
    ASK(fd, "+OK", "SET", "other", "x", "PX", "60000");
    ASK(fd, ":1", "DEL", "other");
    cr_assert_eq(links.event_count, 0);
    cr_assert_eq(links.arrivals, 0);
    close(fd);
}

/* ---- values ---------------------------------------------------------------------------------- */

Test(tap_names, a_value_that_was_never_sent_is_said_once)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "r0", "mine", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "another");
    saw(HISTORY_VALUE_MISMATCH, 0);
    cr_assert_eq(newest()->kind, HISTORY_CLIENT);
    value_is(&newest()->value, "another");
    ASK(fd, ":1", "DEL", "r0");
    saw(HISTORY_KEY_DELETED, 0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "r0", "mine", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "another");
    uint32_t events = links.event_count;
    asks(1, HISTORY_ACQUIRE);
    told(1, HISTORY_ACQUIRE, HISTORY_OK, "mine"); /* it sent nothing: nothing to hold against */
    cr_assert_eq(links.event_count, events);
    close(fd);
}

static void begin_with_threads(void)
{
    links_threads = 2;
    tap_begin_learning();
}

/* Threads share a connection: the one whose command it is taken for may have asked anew by then. */
Test(tap_names, a_value_that_another_thread_was_taken_to_send_was_sent, .init = begin_with_threads)
{
    int fd = links_connect(0);
    asks(1, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "r0", "before", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 1);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, ":1", "DEL", "r0");
    ASK(fd, "+OK", "SET", "r0", "mine", "NX", "PX", "60000");
    cr_assert_eq(newest()->f, HISTORY_KEY_SET);
    cr_assert_eq(newest()->process, 0, "process %d", newest()->process);
    told(0, HISTORY_ACQUIRE, HISTORY_FAIL, NULL);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "$-1", "SET", "r0", "later", "NX", "PX", "60000");
    cr_assert_eq(newest()->process, 0, "process %d", newest()->process);
    uint32_t events = links.event_count;
    told(1, HISTORY_ACQUIRE, HISTORY_OK, "mine");
    cr_assert_eq(links.event_count, events);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "another");
    cr_assert_eq(newest()->f, HISTORY_VALUE_MISMATCH);
    close(fd);
}

/* ---- the node's word comes first, or not at all ---------------------------------------------- */

Test(tap_names, replies_that_the_node_shows_nothing_of_pass_as_well)
{
    int fd = links_connect(0);
    char line[256];
    links_send(fd, "NOSUCH x");
    cr_assert_gt(links_receive(fd, line, sizeof line), 0);
    cr_assert_eq(line[0], '-');
    links_send(fd, "SET r0");
    cr_assert_gt(links_receive(fd, line, sizeof line), 0);
    cr_assert_eq(line[0], '-');
    ASK(fd, "+OK", "CLIENT", "SETNAME", "me");
    links_send(fd, "AUTH wrong");
    cr_assert_gt(links_receive(fd, line, sizeof line), 0);
    cr_assert_eq(line[0], '-');
    ASK(fd, "+OK", "CONFIG", "SET", "maxmemory-policy", "noeviction");
    ASK(fd, "+OK", "QUIT");
    close(fd);
}

/* The server is stopped between its answer and its word: the answer waits for the word. */
Test(tap_names, a_reply_without_the_nodes_word_waits_and_is_lost_with_the_node)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "r0", "mine", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    links_send(fd, "PEXPIRE r0 70000");
    struct keys_return gone = {.cause = CAUSE_RESTART, .fault = 0, .lost_ns = loop_now_ns()};
    keys_gone(links.keys, &gone, false); /* its word will not come any more */
    links_expect_reset(fd);
    cr_assert_eq(links.event_count, 1, "what nobody told is not recorded");
    close(fd);
}

Test(tap_names, a_tap_that_is_lost_is_said_and_opened_again)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "r0", "mine", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    struct admin_reply killed;
    LINKS_MUST(node_order(&links.node, (const char *[]){"CLIENT", "KILL", "TYPE", "pubsub", NULL},
                          &killed, &links_why));
    while (!keys_went_silent(links.keys, 0)) {
        links_turn();
    }
    order((const char *[]){"DEL", "r0", NULL});
    struct keys_return back = {.address = node_address(&links.node),
                               .cause = CAUSE_NONE,
                               .fault = HISTORY_NO_FAULT,
                               .lost_ns = keys_heard_ns(links.keys, 0)};
    LINKS_MUST(keys_watch_again(links.keys, &back, &links_why));
    proxy_node_set(links.proxy, 0, node_address(&links.node));
    const struct history_event *lost = &links.events[links.event_count - 2];
    cr_assert_eq(lost->f, HISTORY_KEY_LOST);
    cr_assert_eq(lost->cause, CAUSE_NONE);
    cr_assert_eq(newest()->kind, HISTORY_LATE);
    cr_assert_eq(newest()->cause, CAUSE_TAP);
    cr_assert_gt(newest()->number[0], 0);
    close(fd);
    fd = links_connect(0);
    uint32_t before = links.event_count;
    ASK(fd, "+OK", "SET", "r0", "again", "NX", "PX", "60000");
    cr_assert_eq(links.event_count, before + 1, "it is watched again");
    close(fd);
}

/* ---- servers that will not tell -------------------------------------------------------------- */

static struct keys *watch_anew(void)
{
    struct keys *keys = keys_new(&(struct keys_options){.node_count = 1,
                                                        .client_count = 1,
                                                        .resource_count = 3,
                                                        .resource_names = links_names,
                                                        .start_ns = links.start_ns,
                                                        .emit = links_emit});
    cr_assert_not_null(keys);
    LINKS_MUST(keys_watch(keys, 0, node_address(&links.node), &links_why));
    return keys;
}

Test(tap_names, a_server_that_refuses_is_named_with_the_command)
{
    static const struct {
        const char *right;
        const char *command;
    } refusals[] = {
        {"-monitor", "MONITOR"}, {"-config", "CONFIG SET"}, {"-psubscribe", "PSUBSCRIBE"}};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        order((const char *[]){"ACL", "SETUSER", "default", refusals[i].right, NULL});
        struct keys *keys = watch_anew();
        cr_assert_eq(keys_fd(keys, 0), -1);
        cr_assert_not_null(strstr(keys_unwatched(keys), refusals[i].command), "%s",
                           keys_unwatched(keys));
        cr_assert_not_null(strstr(keys_unwatched(keys), "NOPERM"), "%s", keys_unwatched(keys));
        keys_free(keys);
        order((const char *[]){"ACL", "SETUSER", "default", "+@all", NULL});
    }
}

/* Its end is known to a millisecond, and that it was taken says more: whatever came to us first. */
Test(tap_names, a_key_that_is_taken_again_had_ended_before)
{
    int fd = links_connect(0);
    int other = links_connect(1);
    for (int round = 0; round < 200; round++) {
        uint32_t from = links.event_count;
        char reply[32] = "$-1";
        asks(0, HISTORY_ACQUIRE);
        ASK(fd, "+OK", "SET", "r0", "me", "NX", "PX", "5");
        told(0, HISTORY_ACQUIRE, HISTORY_OK, "me");
        asks(1, HISTORY_ACQUIRE);
        for (int i = 0; i < 100000 && reply[0] == '$'; i++) {
            send_list(other, (const char *[]){"SET", "r0", "you", "NX", "PX", "60000", NULL});
            cr_assert_gt(links_receive(other, reply, sizeof reply), 0);
        }
        told(1, HISTORY_ACQUIRE, HISTORY_OK, "you");
        ASK(other, ":1", "DEL", "r0");
        int64_t ended_ns = -1;
        int64_t taken_ns = -1;
        for (uint32_t i = from; i < links.event_count; i++) {
            const struct history_event *event = &links.events[i];
            ended_ns = event->f == HISTORY_KEY_EXPIRED ? event->time_ns : ended_ns;
            bool taken = event->f == HISTORY_KEY_SET && event->process == 1;
            taken_ns = taken ? event->time_ns : taken_ns;
        }
        cr_assert_geq(ended_ns, 0);
        cr_assert_geq(taken_ns, ended_ns, "taken %lld ns before it ended",
                      (long long)(ended_ns - taken_ns));
    }
    close(fd);
    close(other);
}
