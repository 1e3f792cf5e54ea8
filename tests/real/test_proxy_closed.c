/* test_proxy_closed.c: what was sent on a connection that its client has closed meanwhile. */
#include "tests/real/links.h"

TestSuite(proxy_closed, .init = links_begin, .fini = links_end, .timeout = 30);

/* Whoever asks closes its connection before what it sent has reached the node. */
static void close_of(int fd, bool resets)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    if (resets) {
        cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    }
    close(fd);
}

/* A fault of time keeps a SET back; its client closes meanwhile; it arrives when it is due. */
static void closed_meanwhile(const struct proxy_fault *fault, bool resets)
{
    int fd = links_connect(0);
    links_fault(fault, false);
    int64_t before_ns = loop_now_ns();
    links_send(fd, "SET r0 v");
    while (links_effect().longest_wait_ns == 0) {
        links_turn();
    }
    close_of(fd, resets);
    while (links.replies == 0) {
        links_turn();
    }
    cr_assert_geq(loop_now_ns() - before_ns, fault->amount_ns);
    cr_assert(links_node_has("r0"));
    cr_assert_eq(links_effect().bytes_dropped, 0);
}

static const struct proxy_fault late_set = {
    .kind = FAULT_DELAY_COMMAND, .role = ROLE_SET, .amount_ns = 20 * NS_PER_MS};
static const struct proxy_fault late_requests = {
    .kind = FAULT_LATENCY, .direction = DIRECTION_REQUEST, .amount_ns = 20 * NS_PER_MS};

Test(proxy_closed, a_delayed_command_arrives_though_its_client_has_closed)
{
    closed_meanwhile(&late_set, false);
}

Test(proxy_closed, a_delayed_command_arrives_though_its_client_has_reset)
{
    closed_meanwhile(&late_set, true);
}

Test(proxy_closed, a_late_message_arrives_though_its_client_has_closed)
{
    closed_meanwhile(&late_requests, false);
}

Test(proxy_closed, a_late_message_arrives_though_its_client_has_reset)
{
    closed_meanwhile(&late_requests, true);
}

Test(proxy_closed, a_cut_takes_what_waits_also_of_a_client_that_has_reset)
{
    int fd = links_connect(0);
    static const struct proxy_fault hold = {
        .kind = FAULT_PARTITION, .mode = MODE_HOLD, .direction = DIRECTION_BOTH};
    uint8_t touched[LINKS_PROGRAMS] = {1, 0};
    links_fault(&hold, false);
    links_send(fd, "SET r0 v");
    while (links_effect().messages_held == 0) {
        links_turn();
    }
    close_of(fd, true);
    struct proxy_effect cut = {.bytes_dropped = 0};
    static const struct proxy_fault reset = {.kind = FAULT_PARTITION, .mode = MODE_RESET};
    for (int i = 0; i < 10; i++) {
        (void)uv_run(&links.loop, UV_RUN_NOWAIT); /* the proxy hears of the end */
    }
    proxy_fault_begin(links.proxy, 1, &reset, touched);
    proxy_fault_effect(links.proxy, 1, &cut);
    cr_assert_eq(cut.bytes_dropped, 10);
    proxy_fault_end(links.proxy, 0);
    proxy_fault_end(links.proxy, 1);
    int other = links_connect(1);
    links_send(other, "PING");
    links_expect(other, "+PONG");
    cr_assert_eq(links.arrivals, 0);
    cr_assert_not(links_node_has("r0"));
    close(other);
}
