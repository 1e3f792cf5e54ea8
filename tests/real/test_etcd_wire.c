/* test_etcd_wire.c: questions and answers of etcd's gateway, and which of them are ours; what is
 * printed is read again. */
#include <criterion/criterion.h>

#include "servers/etcd/real/gateway.h"
#include "servers/etcd/real/http.h"
#include "servers/etcd/real/real.h"

#include <stdio.h>
#include <string.h>

enum { STREAM_BYTES = 2048 };

static _Alignas(8) char stream[STREAM_BYTES];

static const struct lock_value value = {.bytes = {0xfe, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
static const struct lock_value other = {.bytes = {0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};

static void print(const struct lock_command *command, char *bytes, size_t bytes_max)
{
    struct gateway_request request;
    gateway_print(command, (struct wire_text){"r0", 2}, &request);
    (void)snprintf(
        bytes, bytes_max,
        "POST %s HTTP/1.1\r\nHost: x\r\nx-request-id: %s\r\nContent-Length: %zu\r\n\r\n%s",
        request.path, request.id, strlen(request.body), request.body);
}

Test(etcd_wire, names_each_command_with_all_that_it_carries)
{
    cr_assert_leq(etcd_wire.stream_bytes, sizeof stream);
    for (uint32_t kind = ETCD_GRANT; kind < ETCD_COMMANDS; kind++) {
        const struct lock_command_row *row = lock_dialect_row(&etcd_dialect, kind);
        struct lock_command command = {.kind = kind, .value = value};
        struct wire_request request = {.bytes = 0};
        char bytes[2 * GATEWAY_BODY_BYTES_MAX];
        command.ttl_ms = (row->carries & LOCK_CARRIES_TTL) != 0 ? 3000 : 0;
        command.number = (row->carries & LOCK_CARRIES_NUMBER) != 0 ? 17 : 0;
        print(&command, bytes, sizeof bytes);
        cr_assert_eq(etcd_wire.request(stream, bytes, strlen(bytes) - 1, &request), WIRE_CUT_MORE);
        cr_assert_eq(etcd_wire.request(stream, bytes, strlen(bytes), &request), WIRE_CUT_MESSAGE);
        cr_assert_eq(request.bytes, strlen(bytes));
        cr_assert(request.known, "%s", row->name);
        cr_assert_eq(request.command.kind, kind);
        cr_assert_eq(memcmp(&request.command.value, &value, sizeof value), 0);
        cr_assert_eq(request.command.ttl_ms, command.ttl_ms);
        cr_assert_eq(request.command.number, command.number);
        cr_assert_eq(request.resource.bytes, 2);
        cr_assert_eq(memcmp(request.resource.data, "r0", 2), 0);
    }
}

Test(etcd_wire, leaves_what_is_not_ours_unknown)
{
    static const char *const theirs[] = {
        "GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /v3/lease/grant HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
        "POST /v3/lease/grant HTTP/1.1\r\nX-Request-ID: 17\r\nContent-Length: 2\r\n\r\n{}",
    };
    for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++) {
        struct wire_request request = {.bytes = 0};
        cr_assert_eq(etcd_wire.request(stream, theirs[i], strlen(theirs[i]), &request),
                     WIRE_CUT_MESSAGE);
        cr_assert_eq(request.bytes, strlen(theirs[i]));
        cr_assert_not(request.known);
    }
}

static struct wire_reply answered(uint32_t kind, const char *head, const char *body)
{
    struct lock_command asked = {.kind = kind, .value = value, .number = 17};
    struct wire_reply reply = {.bytes = 0};
    char bytes[4096];
    (void)snprintf(bytes, sizeof bytes,
                   "HTTP/1.1 %s\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n%s"
                   "\r\n0\r\nTrailer: x\r\n\r\n",
                   head, strlen(body), body);
    cr_assert_eq(etcd_wire.reply(stream, bytes, strlen(bytes), &asked, &reply), WIRE_CUT_MESSAGE);
    cr_assert_eq(reply.bytes, strlen(bytes));
    cr_assert_not(reply.unasked);
    return reply;
}

/* A range whose first key is of this value. */
static const char *range_of(const struct lock_value *of, int64_t revision)
{
    static char range[2048];
    struct gateway_request request;
    struct lock_command command = {.kind = ETCD_GRANT, .value = *of};
    gateway_print(&command, (struct wire_text){"r0", 2}, &request);
    (void)snprintf(range, sizeof range,
                   "{\"header\":{\"revision\":\"99\"},\"kvs\":[{\"key\":\"%s\","
                   "\"create_revision\":\"%d\"}]}",
                   request.id, (int)revision);
    return range;
}

static const char *transaction_of(const char *range)
{
    static char body[4096];
    (void)snprintf(body, sizeof body, "{\"responses\":[{},{\"response_range\":%s}]}", range);
    return body;
}

Test(etcd_wire, the_oldest_key_is_ours_or_anothers)
{
    struct wire_reply reply =
        answered(ETCD_ENQUEUE, "200 OK", transaction_of(range_of(&value, 12)));
    cr_assert_eq(reply.reply.type, LOCK_REPLY_NUMBER);
    cr_assert_eq(reply.reply.number, 12);
    reply = answered(ETCD_ENQUEUE, "200 OK", transaction_of(range_of(&other, 12)));
    cr_assert_eq(reply.reply.type, LOCK_REPLY_NO);
}

Test(etcd_wire, a_place_in_the_queue_tells_nothing_of_the_lock)
{
    struct wire_reply reply =
        answered(ETCD_PUT, "200 OK", "{\"header\":{\"revision\":\"7\"},\"succeeded\":true}");
    cr_assert_eq(reply.reply.number, 7);
    cr_assert_eq(reply.tells, WIRE_TELLS_NOTHING);
    reply = answered(ETCD_PUT, "200 OK", transaction_of(range_of(&value, 12)));
    cr_assert_eq(reply.reply.number, 12);
}

Test(etcd_wire, no_older_key_grants_even_when_ours_is_gone)
{
    struct wire_reply reply = answered(ETCD_OLDER, "200 OK", range_of(&other, 12));
    cr_assert_eq(reply.reply.type, LOCK_REPLY_NO);
    cr_assert_eq(reply.tells, WIRE_TELLS_REFUSED);
    reply = answered(ETCD_OLDER, "200 OK", range_of(&value, 17));
    cr_assert_eq(reply.reply.number, 17);
    cr_assert_eq(reply.tells, WIRE_TELLS_SET);
    reply = answered(ETCD_OLDER, "200 OK", "{\"header\":{\"revision\":\"99\"}}");
    cr_assert_eq(reply.reply.number, 99);
    cr_assert_eq(reply.tells, WIRE_TELLS_NOTHING);
}

Test(etcd_wire, a_lease_that_is_not_there_is_kept_alive_without_a_ttl)
{
    cr_assert_eq(answered(ETCD_KEEP_ALIVE, "200 OK", "{\"result\":{\"TTL\":\"3\"}}\n").reply.number,
                 3000);
    cr_assert_eq(answered(ETCD_KEEP_ALIVE, "200 OK", "{\"result\":{\"ID\":\"1\"}}\n").reply.type,
                 LOCK_REPLY_NO);
}

Test(etcd_wire, failures_are_refusals_only_where_it_is_known_that_nothing_was_done)
{
    static const struct {
        uint32_t kind;
        const char *body;
        uint8_t type;
    } failures[] = {
        {ETCD_GRANT, "{\"error\":\"lease already exists\",\"code\":9}", LOCK_REPLY_NO},
        {ETCD_ENQUEUE, "{\"code\":5}", LOCK_REPLY_NO},
        {ETCD_REVOKE, "{\"code\":5}", LOCK_REPLY_NO},
        {ETCD_ENQUEUE, "{\"code\":3}", LOCK_REPLY_ERROR},
        {ETCD_ENQUEUE, "{\"code\":14}", LOCK_REPLY_UNSURE},
        {ETCD_REVOKE, "{\"code\":9}", LOCK_REPLY_UNSURE},
        {ETCD_KEEP_ALIVE, "{\"error\":{\"grpc_code\":14}}", LOCK_REPLY_UNSURE},
        {ETCD_GRANT, "404 page not found", LOCK_REPLY_GARBLED},
    };
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        cr_assert_eq(answered(failures[i].kind, "503 No", failures[i].body).reply.type,
                     failures[i].type, "%zu", i);
    }
}

Test(etcd_wire, lengths_that_cannot_be_break_the_stream)
{
    static const char *const broken[] = {
        "HTTP/1.1 200 OK\r\n\r\n", /* it would end with the connection */
        "HTTP/1.1 200 OK\r\nContent-Length: none\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        "SSH-2.0-x\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct wire_reply reply = {.bytes = 0};
        cr_assert_eq(etcd_wire.reply(stream, broken[i], strlen(broken[i]), NULL, &reply),
                     WIRE_CUT_BROKEN, "%s", broken[i]);
    }
}

Test(etcd_wire, a_member_says_by_its_door_who_it_is)
{
    static const uint16_t doors[4] = {501, 502, 501, 502};
    struct server_greeting greeting = {.node_count = 2, .node = 1, .doors = doors};
    char stranger[] = "GET /version HTTP/1.1\r\nHost: x\r\n\r\n";
    char member[] =
        "GET /raft/stream/message/c9 HTTP/1.1\r\nX-Peerurls: http://127.0.0.1:501\r\n\r\n";
    uint32_t from = 7;
    const struct server_peers *peers = etcd_launch.peers;
    cr_assert_eq(peers->greeting(&greeting, member, sizeof member - 3, &from), WIRE_CUT_MORE);
    cr_assert_eq(peers->greeting(&greeting, member, sizeof member - 1, &from), WIRE_CUT_MESSAGE);
    cr_assert_eq(from, 0);
    cr_assert_eq(peers->greeting(&greeting, stranger, sizeof stranger - 1, &from),
                 WIRE_CUT_MESSAGE);
    cr_assert_eq(from, SERVER_PEER_NOBODY);
}
