/* test_proxy.c: every fault of a link shows its effect on a real server, from outside. */
#include "tests/real/links.h"

TestSuite(proxy, .init = links_begin, .fini = links_end, .timeout = 30);

static const struct proxy_fault hold_both = {
    .kind = FAULT_PARTITION, .mode = MODE_HOLD, .direction = DIRECTION_BOTH};

static uint64_t partition_count(enum partition_mode mode)
{
    struct proxy_effect effect = links_effect();
    return proxy_effect_count(FAULT_PARTITION, mode, &effect);
}

Test(proxy, commands_and_replies_pass)
{
    int fd = links_connect(0);
    links_send(fd, "SET r0 v");
    links_expect(fd, "+OK");
    links_send(fd, "GET r0");
    links_expect(fd, "$1\r\nv");
    cr_assert_eq(links.arrivals, 1);
    cr_assert_eq(links.replies, 1);
    cr_assert_eq(proxy_counts(links.proxy).commands, 2);
    close(fd);
}

Test(proxy, a_pipeline_keeps_its_order)
{
    int fd = links_connect(0);
    for (int i = 0; i < 2000; i++) {
        links_send(fd, "INCR other");
    }
    for (int i = 1; i <= 2000; i++) {
        char line[16];
        snprintf(line, sizeof line, ":%d", i);
        links_expect(fd, line);
    }
    close(fd);
}

Test(proxy, large_values_pass_whole)
{
    enum { BYTES = 3 << 20 };
    static char value[BYTES];
    static char back[BYTES + 32];
    char head[64];
    memset(value, 'x', sizeof value);
    int fd = links_connect(0);
    int flags = snprintf(head, sizeof head, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n", BYTES);
    cr_assert_eq(send(fd, head, (size_t)flags, 0), flags);
    size_t sent = 0;
    while (sent < BYTES) {
        ssize_t more = send(fd, value + sent, BYTES - sent, MSG_DONTWAIT);
        sent += more > 0 ? (size_t)more : 0;
        (void)uv_run(&links.loop, UV_RUN_NOWAIT);
    }
    links_send(fd, "");
    links_expect(fd, "+OK");
    links_send(fd, "GET k");
    size_t got = 0;
    while (got < BYTES + 12) {
        ssize_t more = links_receive(fd, back + got, sizeof back - got);
        cr_assert_gt(more, 0);
        got += (size_t)more;
    }
    cr_assert_eq(memcmp(back, "$3145728\r\n", 10), 0);
    cr_assert_eq(memcmp(back + 10, value, BYTES), 0);
    close(fd);
}

Test(proxy, latency_makes_every_message_late)
{
    int fd = links_connect(0);
    links_fault(&(struct proxy_fault){.kind = FAULT_LATENCY,
                                      .direction = DIRECTION_BOTH,
                                      .amount_ns = 15 * NS_PER_MS,
                                      .jitter_ns = 5 * NS_PER_MS},
                false);
    int64_t before_ns = loop_now_ns();
    links_send(fd, "PING");
    links_expect(fd, "+PONG");
    cr_assert_geq(loop_now_ns() - before_ns, 30 * NS_PER_MS, "once in each direction");
    cr_assert_eq(links_effect().messages_late, 2);
    cr_assert_geq(links_effect().longest_wait_ns, 15 * NS_PER_MS);
    close(fd);
}

Test(proxy, messages_under_way_stay_late_after_the_latency_ended)
{
    int fd = links_connect(0);
    links_fault(&(struct proxy_fault){.kind = FAULT_LATENCY,
                                      .direction = DIRECTION_REQUEST,
                                      .amount_ns = 20 * NS_PER_MS},
                false);
    int64_t before_ns = loop_now_ns();
    links_send(fd, "PING");
    while (links_effect().messages_late == 0) {
        links_turn();
    }
    proxy_fault_end(links.proxy, 0);
    links_expect(fd, "+PONG");
    cr_assert_geq(loop_now_ns() - before_ns, 20 * NS_PER_MS);
    close(fd);
}

Test(proxy, hold_keeps_everything_and_delivers_it_after_the_heal)
{
    int fd = links_connect(0);
    links_fault(&hold_both, false);
    links_send(fd, "SET r0 v");
    while (partition_count(MODE_HOLD) == 0) {
        links_turn();
    }
    cr_assert_eq(links_effect().bytes_held, 10);
    cr_assert_not(links_node_has("r0"));
    proxy_fault_end(links.proxy, 0);
    links_expect(fd, "+OK");
    cr_assert(links_node_has("r0"));
    close(fd);
}

Test(proxy, held_commands_arrive_even_if_their_client_is_gone)
{
    int fd = links_connect(0);
    links_fault(&hold_both, false);
    links_send(fd, "SET r0 v");
    close(fd);
    while (partition_count(MODE_HOLD) == 0) {
        links_turn();
    }
    cr_assert_not(links_node_has("r0"));
    proxy_fault_end(links.proxy, 0);
    while (links.replies == 0) {
        links_turn();
    }
    cr_assert(links_node_has("r0"));
}

Test(proxy, one_way_hold_lets_commands_be_applied_and_keeps_the_replies)
{
    int fd = links_connect(0);
    int other = links_connect(1);
    links_fault(&(struct proxy_fault){.kind = FAULT_PARTITION,
                                      .mode = MODE_HOLD,
                                      .direction = DIRECTION_REPLY},
                false);
    links_send(fd, "SET r0 v");
    while (partition_count(MODE_HOLD) == 0) {
        links_turn();
    }
    cr_assert(links_node_has("r0"));
    cr_assert_not(links_readable(fd));
    links_send(other, "PING");
    links_expect(other, "+PONG");
    proxy_fault_end(links.proxy, 0);
    links_expect(fd, "+OK");
    close(fd);
    close(other);
}

/* Event `i` is of a command that was sent; was its client told? */
static bool was_answered(uint32_t i)
{
    const struct history_event *event = &links.events[i];
    cr_assert_lt(i, links.event_count);
    cr_assert_neq(event->flags & HISTORY_HAS_SENT, 0);
    cr_assert_geq(event->sent_ns, 0);
    cr_assert_leq(event->sent_ns, event->time_ns);
    cr_assert((event->flags & HISTORY_HAS_REPLIED) == 0 || event->replied_ns >= event->time_ns);
    return (event->flags & HISTORY_HAS_REPLIED) != 0;
}

Test(proxy, a_command_is_dated_when_it_came_and_when_its_reply_went_on)
{
    int fd = links_connect(0);
    links_send(fd, "SET r0 v NX PX 60000");
    links_expect(fd, "+OK");
    cr_assert(was_answered(0));
    links_send(fd, "SET r0 w NX PX 60000");
    links_expect(fd, "$-1");
    cr_assert_eq(links.events[1].f, HISTORY_KEY_REFUSED);
    cr_assert(was_answered(1));
    cr_assert_geq(links.events[1].sent_ns, links.events[0].replied_ns);
    close(fd);
}

Test(proxy, a_held_command_came_before_it_went_on_and_its_reply_when_it_was_let_go)
{
    int fd = links_connect(0);
    links_fault(&hold_both, false);
    links_send(fd, "SET r0 v");
    while (partition_count(MODE_HOLD) == 0) {
        links_turn();
    }
    int64_t held_ns = loop_now_ns() - links.start_ns;
    proxy_fault_end(links.proxy, 0);
    links_expect(fd, "+OK");
    cr_assert(was_answered(0));
    cr_assert_lt(links.events[0].sent_ns, held_ns);
    cr_assert_geq(links.events[0].time_ns, held_ns);
    links_fault(&(struct proxy_fault){.kind = FAULT_PARTITION,
                                      .mode = MODE_HOLD,
                                      .direction = DIRECTION_REPLY},
                false);
    links_send(fd, "DEL r0");
    while (links.event_count < 2) {
        links_turn();
    }
    cr_assert_not(was_answered(1));
    held_ns = loop_now_ns() - links.start_ns;
    proxy_fault_end(links.proxy, 0);
    links_expect(fd, ":1");
    cr_assert(was_answered(1));
    cr_assert_geq(links.events[1].replied_ns, held_ns);
    close(fd);
}

Test(proxy, dropped_bytes_vanish_and_their_connection_is_reset_at_the_heal)
{
    int fd = links_connect(0);
    links_send(fd, "PING");
    links_expect(fd, "+PONG");
    links_fault(&(struct proxy_fault){.kind = FAULT_PARTITION,
                                      .mode = MODE_DROP,
                                      .direction = DIRECTION_BOTH},
                false);
    links_send(fd, "SET r0 v");
    while (partition_count(MODE_DROP) == 0) {
        links_turn();
    }
    cr_assert_eq(links_effect().bytes_dropped, 10);
    cr_assert_not(links_readable(fd));
    proxy_fault_end(links.proxy, 0);
    links_expect_reset(fd);
    cr_assert_not(links_node_has("r0"));
    close(fd);
    fd = links_connect(0);
    links_send(fd, "PING");
    links_expect(fd, "+PONG");
    close(fd);
}

Test(proxy, refuse_cuts_connections_and_keeps_new_ones_out_until_the_heal)
{
    int fd = links_connect(0);
    uint16_t port = proxy_port(links.proxy, 0, 0);
    links_send(fd, "PING");
    links_expect(fd, "+PONG");
    links_fault(&(struct proxy_fault){.kind = FAULT_PARTITION, .mode = MODE_REFUSE}, false);
    links_expect_reset(fd);
    close(fd);
    cr_assert_eq(partition_count(MODE_REFUSE), 1);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(links_connect(0), -1);
        cr_assert_eq(errno, ECONNREFUSED);
    }
    proxy_fault_end(links.proxy, 0);
    cr_assert_eq(proxy_port(links.proxy, 0, 0), port);
    fd = links_connect(0);
    cr_assert_geq(fd, 0);
    links_send(fd, "PING");
    links_expect(fd, "+PONG");
    close(fd);
}

Test(proxy, refusing_whoever_connects_later_is_an_effect)
{
    links_fault(&(struct proxy_fault){.kind = FAULT_PARTITION, .mode = MODE_REFUSE}, false);
    cr_assert_eq(partition_count(MODE_REFUSE), 1);
    cr_assert_eq(links_connect(0), -1);
    proxy_fault_end(links.proxy, 0);
}

Test(proxy, reset_cuts_connections_and_lets_new_ones_in)
{
    int fd = links_connect(0);
    links_send(fd, "PING");
    links_expect(fd, "+PONG");
    links_fault(&(struct proxy_fault){.kind = FAULT_PARTITION, .mode = MODE_RESET}, false);
    links_expect_reset(fd);
    cr_assert_eq(partition_count(MODE_RESET), 1);
    close(fd);
    fd = links_connect(0);
    links_send(fd, "PING");
    links_expect(fd, "+PONG");
    close(fd);
}

Test(proxy, a_fault_that_met_nothing_counts_nothing)
{
    links_fault(&hold_both, true);
    proxy_fault_end(links.proxy, 0);
    cr_assert_eq(partition_count(MODE_HOLD), 0);
    links_fault(&(struct proxy_fault){.kind = FAULT_PARTITION, .mode = MODE_RESET}, true);
    proxy_fault_end(links.proxy, 0);
    cr_assert_eq(partition_count(MODE_RESET), 0);
}

Test(proxy, a_lost_reply_leaves_its_command_applied_and_the_connection_broken)
{
    int fd = links_connect(0);
    links_fault(&(struct proxy_fault){.kind = FAULT_LOSE_REPLY, .role = ROLE_SET, .strikes_max = 1},
                false);
    links_send(fd, "GET r0");
    links_expect(fd, "$-1");
    links_send(fd, "SET r0 v NX PX 60000");
    links_expect_reset(fd);
    cr_assert(links_node_has("r0"));
    cr_assert_eq(links_effect().replies_lost, 1);
    cr_assert_not(was_answered(0));
    close(fd);
    fd = links_connect(0);
    links_send(fd, "SET r1 v NX PX 60000");
    links_expect(fd, "+OK"); /* once is enough */
    cr_assert(was_answered(1));
    close(fd);
}

Test(proxy, a_delayed_command_holds_up_its_own_connection_only)
{
    int fd = links_connect(0);
    int other = links_connect(1);
    links_fault(&(struct proxy_fault){.kind = FAULT_DELAY_COMMAND,
                                      .role = ROLE_SET,
                                      .strikes_max = 1,
                                      .amount_ns = 30 * NS_PER_MS},
                false);
    links_send(fd, "SET r0 mine NX");
    links_send(fd, "GET r0");
    while (links_effect().commands_delayed == 0) {
        links_turn();
    }
    links_send(other, "SET r0 other NX");
    links_expect(other, "+OK");
    links_expect(fd, "$-1");
    links_expect(fd, "$5\r\nother");
    close(fd);
    close(other);
}

Test(proxy, a_stalled_node_takes_commands_and_answers_none_until_the_end)
{
    int fd = links_connect(0);
    links_fault(&(struct proxy_fault){.kind = FAULT_STALL}, true);
    links_send(fd, "SET r0 v");
    while (links_effect().messages_held == 0) {
        links_turn();
    }
    cr_assert(links_node_has("r0"));
    cr_assert_not(links_readable(fd));
    int other = links_connect(1);
    links_send(other, "SET r1 v");
    while (links_effect().messages_held == 1) {
        links_turn();
    }
    cr_assert(links_node_has("r1"));
    proxy_fault_end(links.proxy, 0);
    links_expect(fd, "+OK");
    links_expect(other, "+OK");
    close(fd);
    close(other);
}

Test(proxy, a_command_waits_where_the_run_wants_it_to)
{
    int fd = links_connect(0);
    links.arrival = (struct proxy_answer){PROXY_HOLD, PROXY_NO_FAULT, 0};
    links_send(fd, "SET r0 v");
    while (links.arrivals == 0) {
        links_turn();
    }
    cr_assert_not(links_node_has("r0"));
    proxy_let_go(links.proxy, 0, 0, DIRECTION_REQUEST);
    links_expect(fd, "+OK");
    cr_assert_eq(links.arrivals, 1, "told once");
    close(fd);
}

Test(proxy, a_reply_let_go_is_in_the_receivers_socket_at_once)
{
    int fd = links_connect(0);
    links.reply = (struct proxy_answer){PROXY_HOLD, PROXY_NO_FAULT, 0};
    links_send(fd, "SET r0 v");
    while (links.replies == 0) {
        links_turn();
    }
    cr_assert(links_node_has("r0"));
    cr_assert_not(links_readable(fd));
    proxy_let_go(links.proxy, 0, 0, DIRECTION_REPLY);
    cr_assert(links_readable(fd), "without another turn of the loop");
    links_expect(fd, "+OK");
    close(fd);
}

Test(proxy, the_run_can_lose_one_reply_and_delay_one_command)
{
    int fd = links_connect(0);
    links.arrival = (struct proxy_answer){PROXY_DELAY, 5, 10 * NS_PER_MS};
    links.reply = (struct proxy_answer){PROXY_LOSE, 6, 0};
    int64_t before_ns = loop_now_ns();
    links_send(fd, "SET r0 v");
    links_expect_reset(fd);
    cr_assert_geq(loop_now_ns() - before_ns, 10 * NS_PER_MS);
    cr_assert(links_node_has("r0"));
    struct proxy_effect delayed;
    struct proxy_effect lost;
    proxy_fault_effect(links.proxy, 5, &delayed);
    proxy_fault_effect(links.proxy, 6, &lost);
    cr_assert_eq(delayed.commands_delayed, 1);
    cr_assert_eq(lost.replies_lost, 1);
    close(fd);
}

Test(proxy, two_faults_on_a_link_hold_until_both_are_over)
{
    int fd = links_connect(0);
    uint8_t touched[LINKS_PROGRAMS] = {1, 0};
    links_fault(&hold_both, false);
    proxy_fault_begin(links.proxy, 1, &hold_both, touched);
    links_send(fd, "SET r0 v");
    while (partition_count(MODE_HOLD) == 0) {
        links_turn();
    }
    proxy_fault_end(links.proxy, 0);
    cr_assert_not(links_node_has("r0"));
    proxy_fault_end(links.proxy, 1);
    links_expect(fd, "+OK");
    close(fd);
}

Test(proxy, a_node_that_dies_breaks_its_connections_and_comes_back_behind_the_same_port)
{
    char byte;
    int fd = links_connect(0);
    links_send(fd, "PING");
    links_expect(fd, "+PONG");
    node_crash(&links.node);
    cr_assert_leq(links_receive(fd, &byte, 1), 0);
    close(fd);
    fd = links_connect(0);
    cr_assert_leq(links_receive(fd, &byte, 1), 0, "nobody behind the proxy");
    close(fd);
    links_node_up();
    fd = links_connect(0);
    links_send(fd, "PING");
    links_expect(fd, "+PONG");
    close(fd);
}

Test(proxy, a_nodes_death_is_not_heard_of_through_a_partition)
{
    int fd = links_connect(0);
    links_send(fd, "PING");
    links_expect(fd, "+PONG");
    links_fault(&hold_both, false);
    node_crash(&links.node);
    int other = links_connect(1);
    char byte;
    cr_assert_leq(links_receive(other, &byte, 1), 0);
    cr_assert_not(links_readable(fd));
    proxy_fault_end(links.proxy, 0);
    cr_assert_leq(links_receive(fd, &byte, 1), 0);
    close(fd);
    close(other);
    links_node_up();
}

Test(proxy, what_is_not_resp_is_reset)
{
    int fd = links_connect(0);
    links_send(fd, "*1\r\n+what");
    links_expect_reset(fd);
    cr_assert_eq(proxy_counts(links.proxy).broken_streams, 1);
    close(fd);
}

Test(proxy, a_subscriber_gets_what_it_did_not_ask_for)
{
    int fd = links_connect(0);
    int other = links_connect(1);
    links_send(fd, "SUBSCRIBE news");
    links_expect(fd, "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1");
    links_send(other, "PUBLISH news hello");
    links_expect(other, ":1");
    links_expect(fd, "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello");
    close(fd);
    close(other);
}
