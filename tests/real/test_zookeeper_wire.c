/* test_zookeeper_wire.c: what clients and a ZooKeeper server tell each other, and which of it is
 * ours; what members say of where they are found. */
#include <criterion/criterion.h>

#include "lockcore/zookeeper/zookeeper.h"
#include "servers/zookeeper/real/jute.h"
#include "servers/zookeeper/real/real.h"
#include "servers/zookeeper/real/znode.h"

#include <stdio.h>
#include <string.h>

enum { STREAM_BYTES = 2048, MESSAGE_BYTES = 2048 };

static _Alignas(8) char stream[STREAM_BYTES];
static char bytes[MESSAGE_BYTES];

static const struct lock_value value = {.bytes = {0xfe, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
static const char hex[] = "fe0102030405060708090a0b0000000000000000";

static void fresh(void)
{
    cr_assert_leq(zookeeper_wire.stream_bytes, sizeof stream);
    memset(stream, 0, sizeof stream);
}

static void connect_print(struct jute_writer *writer, int64_t session)
{
    static const char password[JUTE_PASSWORD_BYTES];
    jute_begin(writer, bytes, sizeof bytes);
    jute_add_connect(writer, 0, 3000, session, password);
    jute_end(writer);
}

/* Whole it is one message, and without its last byte none yet. */
static struct wire_request request_of(const struct jute_writer *writer)
{
    struct wire_request request = {.bytes = 0};
    cr_assert_eq(zookeeper_wire.request(stream, bytes, writer->bytes - 1, &request), WIRE_CUT_MORE);
    cr_assert_eq(zookeeper_wire.request(stream, bytes, writer->bytes, &request), WIRE_CUT_MESSAGE);
    cr_assert_eq(request.bytes, writer->bytes);
    return request;
}

static struct wire_request asked(int32_t operation, const char *path, bool watch)
{
    struct jute_writer writer;
    jute_begin(&writer, bytes, sizeof bytes);
    jute_add_number(&writer, 7, 4);
    jute_add_number(&writer, operation, 4);
    jute_add_text(&writer, path, (uint32_t)strlen(path));
    jute_add_number(&writer, watch, 1);
    jute_add_number(&writer, 0, 8);
    jute_end(&writer);
    return request_of(&writer);
}

static void greet(void)
{
    struct jute_writer writer;
    fresh();
    connect_print(&writer, 0);
    cr_assert(request_of(&writer).known);
}

Test(zookeeper_wire, tells_a_session_that_begins_from_one_that_goes_on)
{
    struct jute_writer writer;
    fresh();
    connect_print(&writer, 0);
    struct wire_request begins = request_of(&writer);
    cr_assert_eq(begins.command.kind, ZOOKEEPER_OPEN);
    cr_assert_eq(begins.command.ttl_ms, 3000);
    fresh();
    connect_print(&writer, 0x100000000);
    cr_assert_eq(request_of(&writer).command.kind, ZOOKEEPER_ATTACH);
}

Test(zookeeper_wire, names_each_command)
{
    static const struct {
        int32_t operation;
        const char *behind; /* the value, in a child's path; NULL: it is the lock's own */
        bool watch;
        uint32_t kind;
        int64_t number;
    } rows[] = {
        {JUTE_CREATE, "-lock-", false, ZOOKEEPER_CREATE, 0},
        {JUTE_CREATE2, "-lock-", false, ZOOKEEPER_CREATE, 0},
        {JUTE_CHILDREN, NULL, false, ZOOKEEPER_CHILDREN, 0},
        {JUTE_CHILDREN2, NULL, true, ZOOKEEPER_CHILDREN_WATCH, 0},
        {JUTE_EXISTS, "-lock-0000000007", true, ZOOKEEPER_EXISTS, 8},
        {JUTE_DELETE, "-lock-0000000007", false, ZOOKEEPER_DELETE, 8},
    };
    greet();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[MESSAGE_BYTES / 2];
        bool own = rows[i].behind != NULL;
        (void)snprintf(path, sizeof path, "/lock-r0%s%s%s", own ? "/" : "", own ? hex : "",
                       own ? rows[i].behind : "");
        struct wire_request request = asked(rows[i].operation, path, rows[i].watch);
        cr_assert(request.known, "%s", path);
        cr_assert_eq(request.command.kind, rows[i].kind);
        cr_assert_eq(request.command.number, rows[i].number);
        cr_assert_eq(request.resource.bytes, 2);
        cr_assert_eq(memcmp(request.resource.data, "r0", 2), 0);
        cr_assert(!own || memcmp(&request.command.value, &value, sizeof value) == 0);
    }
}

Test(zookeeper_wire, takes_a_look_at_the_root_for_a_ping)
{
    greet();
    cr_assert_eq(asked(JUTE_EXISTS, "/", false).command.kind, ZOOKEEPER_PING);
    cr_assert_eq(asked(JUTE_PING, "", false).command.kind, ZOOKEEPER_PING);
}

Test(zookeeper_wire, leaves_what_is_not_ours_unknown)
{
    static const char *const paths[] = {"/other", "/lock-r0", "/lock-r0/x", "/lock-r%0/x-lock-",
                                        ""};
    greet();
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        cr_assert_not(asked(JUTE_CREATE, paths[i], false).known, "%s", paths[i]);
    }
    cr_assert_not(asked(JUTE_CLOSE, "", false).known);
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct wire_reply answered(uint32_t kind, int64_t xid, int64_t error, const char *path)
{
    struct lock_command command = {.kind = kind, .value = value};
    struct wire_reply reply = {.bytes = 0};
    struct jute_writer writer;
    jute_begin(&writer, bytes, sizeof bytes);
    jute_add_number(&writer, xid, 4);
    jute_add_number(&writer, 0x100000001, 8);
    jute_add_number(&writer, error, 4);
    jute_add_text(&writer, path, (uint32_t)strlen(path));
    jute_end(&writer);
    cr_assert_eq(zookeeper_wire.reply(stream, bytes, writer.bytes - 1, &command, &reply),
                 WIRE_CUT_MORE);
    cr_assert_eq(zookeeper_wire.reply(stream, bytes, writer.bytes, &command, &reply),
                 WIRE_CUT_MESSAGE);
    cr_assert_eq(reply.bytes, writer.bytes);
    return reply;
}

static struct lock_reply session_answered(int64_t timeout_ms)
{
    struct lock_command command = {.kind = ZOOKEEPER_ATTACH};
    struct wire_reply reply = {.bytes = 0};
    struct jute_writer writer;
    jute_begin(&writer, bytes, sizeof bytes);
    jute_add_number(&writer, 0, 4);
    jute_add_number(&writer, timeout_ms, 4);
    jute_add_number(&writer, 17, 8);
    jute_add_text(&writer, "", 0);
    jute_end(&writer);
    fresh();
    cr_assert_eq(zookeeper_wire.reply(stream, bytes, writer.bytes, &command, &reply),
                 WIRE_CUT_MESSAGE);
    return reply.reply;
}

Test(zookeeper_wire, hears_that_a_session_is_over)
{
    cr_assert_eq(session_answered(3000).type, LOCK_REPLY_YES);
    cr_assert_eq(session_answered(0).type, LOCK_REPLY_NO);
}

Test(zookeeper_wire, reads_answers)
{
    char path[MESSAGE_BYTES / 2];
    (void)snprintf(path, sizeof path, "/lock-r0/%s-lock-0000000041", hex);
    (void)session_answered(3000);
    struct lock_reply created = answered(ZOOKEEPER_CREATE, 7, 0, path).reply;
    cr_assert_eq(created.type, LOCK_REPLY_NUMBER);
    cr_assert_eq(created.number, 42);
    cr_assert_eq(answered(ZOOKEEPER_DELETE, 7, 0, "").reply.type, LOCK_REPLY_YES);
    cr_assert_eq(answered(ZOOKEEPER_DELETE, 7, JUTE_NO_NODE, "").reply.type, LOCK_REPLY_NO);
    cr_assert_eq(answered(ZOOKEEPER_EXISTS, 7, -118, "").reply.type, LOCK_REPLY_ERROR);
    cr_assert_eq(answered(ZOOKEEPER_CREATE, 7, 0, "/other").reply.type, LOCK_REPLY_GARBLED);
    cr_assert_not(answered(ZOOKEEPER_EXISTS, 7, 0, "").unasked);
    cr_assert(answered(ZOOKEEPER_EXISTS, JUTE_XID_WATCH, 0, "").unasked);
}

/* ---- names ----------------------------------------------------------------------------------- */

Test(zookeeper_wire, reads_the_names_that_it_prints)
{
    static const char *const names[] = {"r0", "a/b", "..", "%", "\xff\x01 x", ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char parent[ZNODE_PARENT_BYTES];
        char path[ZNODE_PATH_BYTES];
        char name[ZNODE_NAME_BYTES_MAX];
        struct wire_text read;
        struct lock_value owner;
        int64_t place;
        znode_print_parent((struct wire_text){names[i], (uint32_t)strlen(names[i])}, parent);
        znode_print(parent, &value, 8, path);
        cr_assert(znode_read((struct wire_text){path, (uint32_t)strlen(path)}, name, &read, &owner,
                             &place));
        cr_assert_eq(read.bytes, strlen(names[i]));
        cr_assert_eq(memcmp(read.data, names[i], read.bytes), 0);
        cr_assert_eq(memcmp(&owner, &value, sizeof owner), 0);
        cr_assert_eq(place, 8);
    }
}

/* ---- members --------------------------------------------------------------------------------- */

static const uint16_t doors[9] = {0, 10001, 10002, 10010, 0, 10012, 10020, 10021, 0};

static enum wire_cut hello(uint32_t from, uint32_t to, uint32_t port, const char *address)
{
    struct server_greeting greeting = {.node_count = 3, .node = to, .port = port, .doors = doors};
    struct jute_writer writer = {.memory = bytes, .bytes_max = sizeof bytes};
    uint32_t who = SERVER_PEER_NOBODY;
    jute_add_number(&writer, -65536, 8);
    jute_add_number(&writer, from + 1, 8);
    jute_add_text(&writer, address, (uint32_t)strlen(address));
    enum wire_cut cut = zookeeper_launch.peers->greeting(&greeting, bytes, writer.bytes - 1, &who);
    return cut == WIRE_CUT_MORE
               ? zookeeper_launch.peers->greeting(&greeting, bytes, writer.bytes, &who)
               : cut;
}

/* Member 1 tells member 3 where it is found: by the proxy through which 3 finds 1. */
Test(zookeeper_wire, puts_the_proxy_where_a_member_says_it_is_found)
{
    cr_assert_eq(hello(0, 2, 1, "127.0.0.1:54321"), WIRE_CUT_MESSAGE);
    cr_assert_eq(memcmp(bytes + 20, "127.0.0.1:10020", 15), 0);
    cr_assert_eq(hello(0, 2, 1, "127.0.0.1:1"), WIRE_CUT_BROKEN);
    cr_assert_eq(hello(9, 2, 1, "127.0.0.1:54321"), WIRE_CUT_BROKEN);
    cr_assert_eq(hello(0, 2, 0, "127.0.0.1:54321"), WIRE_CUT_MESSAGE);
    cr_assert_eq(memcmp(bytes + 20, "127.0.0.1:54321", 15), 0);
}

/* Else whoever is there first would lead, and the files name the last one. */
Test(zookeeper_wire, lets_nobody_vote_before_the_last_member_is_there)
{
    cr_assert_eq(hello(0, 1, 1, "127.0.0.1:54321"), WIRE_CUT_BROKEN);
    cr_assert_eq(hello(0, 2, 1, "127.0.0.1:54321"), WIRE_CUT_MESSAGE);
    cr_assert_eq(hello(1, 0, 1, "127.0.0.1:54321"), WIRE_CUT_BROKEN);
    cr_assert_eq(hello(2, 1, 1, "127.0.0.1:54321"), WIRE_CUT_MESSAGE);
    cr_assert_eq(hello(1, 0, 1, "127.0.0.1:54321"), WIRE_CUT_MESSAGE);
}
