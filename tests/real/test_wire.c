/* test_wire.c: what agents take for a message of ours, and what not. */
#include "harness/real/agent/order.h"
#include "harness/real/agent/wire.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct cluster_secret secret = {.bytes = "sixteen bytes or more", .length = 21};
static const struct cluster_secret other = {.bytes = "sixteen bytes of another", .length = 24};

static uint8_t harness_nonce[WIRE_NONCE_BYTES] = {1, 2, 3};
static uint8_t agent_nonce[WIRE_NONCE_BYTES] = {4, 5, 6};
static struct wire harness;
static struct wire agent;
static uint8_t bytes[4 * WIRE_FRAME_BYTES_MAX];

static void begin(void)
{
    wire_begin(&harness, WIRE_HARNESS, &secret, harness_nonce, agent_nonce);
    wire_begin(&agent, WIRE_AGENT, &secret, harness_nonce, agent_nonce);
}

static size_t seal(struct wire *wire, const char *body, uint8_t *to)
{
    return wire_seal(wire, WIRE_ORDER, body, strlen(body), to);
}

static enum wire_status opened(size_t count)
{
    struct wire_frame frame;
    return wire_open(&agent, bytes, count, &frame);
}

Test(wire, carries_orders_in_their_order, .init = begin)
{
    struct wire_frame frame;
    size_t first = seal(&harness, "crash 0", bytes);
    size_t second = seal(&harness, "start 0", bytes + first);
    cr_assert_eq(wire_open(&agent, bytes, first + second, &frame), WIRE_WHOLE);
    cr_assert_eq(frame.bytes, first);
    cr_assert_eq(frame.body_bytes, 7);
    cr_assert_eq(memcmp(frame.body, "crash 0", 7), 0);
    cr_assert_eq(wire_open(&agent, bytes + first, second, &frame), WIRE_WHOLE);
    cr_assert_eq(memcmp(frame.body, "start 0", 7), 0);
}

Test(wire, waits_for_a_message_that_is_cut, .init = begin)
{
    size_t count = seal(&harness, "crash 0", bytes);
    for (size_t part = 0; part < count; part++) {
        cr_assert_eq(opened(part), WIRE_MORE, "%zu of %zu bytes", part, count);
    }
    cr_assert_eq(opened(count), WIRE_WHOLE);
}

Test(wire, refuses_a_message_in_which_any_byte_was_changed, .init = begin)
{
    size_t count = seal(&harness, "clock 0 1 2", bytes);
    for (size_t at = 0; at < count; at++) {
        bytes[at] ^= 1;
        cr_assert_neq(opened(count), WIRE_WHOLE, "byte %zu", at);
        bytes[at] ^= 1;
    }
    cr_assert_eq(opened(count), WIRE_WHOLE);
}

Test(wire, refuses_a_message_that_was_cut_out_of_the_middle, .init = begin)
{
    size_t count = seal(&harness, "crash 0", bytes);
    memmove(bytes + 20, bytes + 25, count - 25);
    memset(bytes + count - 5, 0, 5);
    cr_assert_eq(opened(count), WIRE_BROKEN);
}

Test(wire, refuses_a_message_that_comes_again, .init = begin)
{
    struct wire_frame frame;
    size_t count = seal(&harness, "crash 0", bytes);
    cr_assert_eq(opened(count), WIRE_WHOLE);
    cr_assert_eq(wire_open(&agent, bytes, count, &frame), WIRE_BROKEN);
    cr_assert_str_eq(frame.error, "its number is not the next");
}

Test(wire, refuses_messages_in_another_order, .init = begin)
{
    size_t first = seal(&harness, "crash 0", bytes);
    (void)seal(&harness, "start 0", bytes);
    (void)first;
    cr_assert_eq(opened(sizeof bytes), WIRE_BROKEN);
}

Test(wire, refuses_its_own_messages_sent_back, .init = begin)
{
    size_t count = seal(&agent, "crash 0", bytes);
    cr_assert_eq(opened(count), WIRE_BROKEN);
}

Test(wire, refuses_messages_of_another_session, .init = begin)
{
    uint8_t later[WIRE_NONCE_BYTES] = {7};
    size_t count = seal(&harness, "crash 0", bytes);
    wire_begin(&agent, WIRE_AGENT, &secret, harness_nonce, later);
    cr_assert_eq(opened(count), WIRE_BROKEN);
}

Test(wire, refuses_messages_under_another_secret, .init = begin)
{
    wire_begin(&harness, WIRE_HARNESS, &other, harness_nonce, agent_nonce);
    size_t count = seal(&harness, "crash 0", bytes);
    cr_assert_eq(opened(count), WIRE_BROKEN);
}

Test(wire, refuses_a_message_that_is_longer_than_any, .init = begin)
{
    struct wire_frame frame;
    memset(bytes, 0xff, WIRE_HEAD_BYTES);
    cr_assert_eq(wire_open(&agent, bytes, WIRE_HEAD_BYTES, &frame), WIRE_BROKEN);
    cr_assert_str_eq(frame.error, "it is longer than any message");
}

Test(wire, tells_greetings_apart)
{
    struct wire_greet hello = {.side = WIRE_HARNESS, .version = WIRE_VERSION};
    struct wire_greet read = {.side = WIRE_HARNESS};
    memcpy(hello.nonce, harness_nonce, sizeof hello.nonce);
    wire_greet(&secret, &hello, bytes);
    cr_assert_eq(wire_greeted(&secret, bytes, &read), WIRE_GREETING_FINE);
    cr_assert_eq(memcmp(read.nonce, harness_nonce, sizeof read.nonce), 0);
    cr_assert_eq(wire_greeted(&other, bytes, &read), WIRE_GREETING_SECRET);
    bytes[20] ^= 1;
    cr_assert_eq(wire_greeted(&secret, bytes, &read), WIRE_GREETING_SECRET);
    hello.version = WIRE_VERSION + 1;
    wire_greet(&secret, &hello, bytes);
    cr_assert_eq(wire_greeted(&secret, bytes, &read), WIRE_GREETING_VERSION);
    cr_assert_eq(read.version, WIRE_VERSION + 1);
    memcpy(bytes, "GET ", 4);
    cr_assert_eq(wire_greeted(&secret, bytes, &read), WIRE_GREETING_FOREIGN);
}

Test(wire, takes_a_welcome_only_for_its_own_hello)
{
    uint8_t earlier[WIRE_NONCE_BYTES] = {9};
    struct wire_greet welcome = {
        .side = WIRE_AGENT, .version = WIRE_VERSION, .other = harness_nonce};
    struct wire_greet read = {.side = WIRE_AGENT, .other = harness_nonce};
    wire_greet(&secret, &welcome, bytes);
    cr_assert_eq(wire_greeted(&secret, bytes, &read), WIRE_GREETING_FINE);
    read.other = earlier;
    cr_assert_eq(wire_greeted(&secret, bytes, &read), WIRE_GREETING_SECRET, "it is a replay");
}

static bool parses(const char *body)
{
    struct order order;
    return order_parse(body, strlen(body), &order);
}

Test(order, is_read_as_it_is_printed)
{
    for (int kind = 0; kind < ORDER_KINDS; kind++) {
        struct order order = {.kind = (uint8_t)kind};
        struct order again;
        char memory[512];
        struct text text = text_over(memory, sizeof memory);
        if (kind == ORDER_ATTACH) {
            strcpy(order.text, "picklock 12 on host: alone");
        } else if (kind == ORDER_CLOCK) {
            memcpy(order.numbers, (int64_t[]){1, -11000000000, 1000000, 0}, sizeof order.numbers);
        }
        order_print(&order, &text);
        cr_assert(order_parse(text.data, text.length, &again), "%s", text.data);
        cr_assert_eq(memcmp(&order, &again, sizeof order), 0, "%s", text.data);
    }
}

Test(order, has_the_parts_that_its_row_says_and_no_others)
{
    const char *const wrong[] = {"",
                                 "crash",
                                 "crash ",
                                 "crash 0 0",
                                 "crash x",
                                 "crash -",
                                 "crash 0x1",
                                 "crashes 0",
                                 "time 0",
                                 "attach",
                                 "attach ",
                                 "clock 0 1",
                                 "crash 99999999999999999999",
                                 "attach \x1b[2J",
                                 " crash 0",
                                 "CRASH 0"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_not(parses(wrong[i]), "%s", wrong[i]);
    }
    cr_assert(parses("crash 0"));
    cr_assert(parses("clock 0 -9223372036854775807 0"));
}
