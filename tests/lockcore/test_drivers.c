/* test_drivers.c: what drivers are made of: times to wake, bytes to send, addresses. */
#include "base/random.h"
#include "lockcore/drivers/address.h"
#include "lockcore/drivers/outbox.h"
#include "lockcore/drivers/wakes.h"
#include "lockcore/redis/command.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAKES = 3000, SENT_BYTES_MAX = 1 << 20, REQUESTS = 3000 };

Test(drivers, whoever_is_due_first_is_woken_first)
{
    struct random_stream stream = random_stream("wakes", 1);
    struct wakes wakes = {.heap = NULL};
    int64_t last_ns = -1;
    int places[WAKES];
    bool woken[WAKES] = {false};
    for (int i = 0; i < WAKES; i++) {
        cr_assert(
            wakes_push(&wakes, (struct wake){(int64_t)random_below(&stream, 500), &places[i]}));
    }
    for (int i = 0; i < WAKES; i++) {
        struct wake wake = wakes_pop(&wakes);
        cr_assert_geq(wake.at_ns, last_ns);
        ptrdiff_t place = (int *)wake.who - places;
        cr_assert(!woken[place], "each once");
        woken[place] = true;
        last_ns = wake.at_ns;
    }
    cr_assert_eq(wakes.count, (uint32_t)0);
    wakes_release(&wakes);
}

Test(drivers, wakes_that_come_and_go_stay_in_order)
{
    struct random_stream stream = random_stream("wakes", 2);
    struct wakes wakes = {.heap = NULL};
    for (int i = 0; i < WAKES; i++) {
        cr_assert(wakes_push(&wakes, (struct wake){(int64_t)random_below(&stream, 500), NULL}));
        if (i % 3 == 2) {
            int64_t first_ns = wakes_pop(&wakes).at_ns;
            for (uint32_t k = 0; k < wakes.count; k++) {
                cr_assert_leq(first_ns, wakes.heap[k].at_ns);
            }
        }
    }
    wakes_release(&wakes);
}

/* What is there on the other side, behind what was read. */
static size_t drain(int fd, char *read_bytes, size_t count, size_t most)
{
    ssize_t got = recv(fd, read_bytes + count, most, MSG_DONTWAIT);
    return got > 0 ? count + (size_t)got : count;
}

/* A socket that takes little at a time: nothing is lost, doubled or out of order. */
Test(drivers, what_a_socket_takes_by_and_by_arrives_whole)
{
    static char wanted[SENT_BYTES_MAX], arrived[SENT_BYTES_MAX];
    int pair[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    int small = 1;
    cr_assert_eq(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    struct outbox outbox = {.bytes = NULL};
    struct outbox_template template = {.filled = false};
    struct lock_command command = {.kind = REDIS_SET, .ttl_ms = 1000};
    size_t wanted_count = 0;
    size_t count = 0;
    bool full = false;
    for (int i = 0; i < REQUESTS; i++) {
        char resource[32];
        (void)snprintf(resource, sizeof resource, "r%d", i / 3);
        struct lock_request request = {resource, strlen(resource), 0, &command};
        size_t before = outbox.count;
        cr_assert(outbox_add(&outbox, &template, &request));
        size_t added = outbox.count - before;
        cr_assert_leq(wanted_count + added, sizeof wanted);
        memcpy(wanted + wanted_count, outbox.bytes + outbox.first + before, added);
        wanted_count += added;
        cr_assert(outbox_write(&outbox, pair[0], &full));
        cr_assert_eq(full, outbox.count > 0);
        count = drain(pair[1], arrived, count, (size_t)(i % 7) * 10);
    }
    cr_assert_gt(outbox.count, (size_t)0, "it was never full: nothing was tried");
    for (int i = 0; i < SENT_BYTES_MAX && count < wanted_count; i++) {
        count = drain(pair[1], arrived, count, 1000);
        cr_assert(outbox_write(&outbox, pair[0], &full));
    }
    cr_assert_eq(count, wanted_count);
    cr_assert_arr_eq(arrived, wanted, count);
    cr_assert_eq(close(pair[1]), 0);
    cr_assert(outbox_add(&outbox, &template, &(struct lock_request){"r", 1, 0, &command}));
    cr_assert(!outbox_write(&outbox, pair[0], &full) && !full, "nobody is there");
    cr_assert_eq(close(pair[0]), 0);
    outbox_release(&outbox);
}

static void address_is(const char *word, const char *name, int port)
{
    char memory[256];
    struct text why = text_over(memory, sizeof memory);
    struct lock_address address;
    cr_assert(!result_failed(address_parse(word, &address, &why)), "%s: %s", word, memory);
    cr_expect_str_eq(address.name, name, "%s", word);
    cr_expect_eq(address.port, port, "%s", word);
}

static void address_is_none(const char *word)
{
    char memory[512];
    struct text why = text_over(memory, sizeof memory);
    struct lock_address address;
    cr_expect(result_failed(address_parse(word, &address, &why)), "%s", word);
    cr_expect(strstr(memory, "is no address of a node") != NULL, "%s", word);
}

Test(drivers, addresses_are_read_as_people_write_them)
{
    address_is("127.0.0.1:6379", "127.0.0.1", 6379);
    address_is("redis://node-1.example:1", "node-1.example", 1);
    address_is("[::1]:65535", "::1", 65535);
    address_is("[fe80::1%eth0]:7000", "fe80::1%eth0", 7000);
    address_is("/run/redis.sock", "/run/redis.sock", 0);
    address_is("unix:/run/redis.sock", "/run/redis.sock", 0);
}

Test(drivers, what_is_no_address_is_refused)
{
    static const char *const words[] = {
        "",        "host",      "host:",   ":6379", "host:0", "host:65536", "host:99999999999",
        "host:-1", "host:12x4", "[]:6379",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        address_is_none(words[i]);
    }
    char longest[ADDRESS_NAME_BYTES + 8];
    memset(longest, 'a', sizeof longest);
    (void)snprintf(longest + ADDRESS_NAME_BYTES, 8, ":1");
    address_is_none(longest);
    char name[ADDRESS_NAME_BYTES] = "";
    memset(name, 'a', sizeof name - 1);
    address_is(longest + 1, name, 1);
}
