/* test_hazelcast_wire.c: what clients and a Hazelcast member of ours tell each other, and when a
 * member counts as up: asked of one that is played here. */
#include <criterion/criterion.h>

#include "lockcore/hazelcast/hazelcast.h"
#include "servers/hazelcast/real/real.h"
#include "tests/real/door.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_MAX = 2 * HAZELCAST_LINE_BYTES, LOOKS_MAX = 100000 };

#define VALUE "fe0102030405060708090a0b0000000000000000"

static const struct lock_value value = {.bytes = {0xfe, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};

/* Whole it is one message, and without its last byte none yet. */
static struct wire_request asked(const char *line)
{
    struct wire_request request = {.bytes = 0};
    size_t bytes = strlen(line);
    cr_assert_eq(hazelcast_wire.request(NULL, line, bytes - 1, &request), WIRE_CUT_MORE);
    cr_assert_eq(hazelcast_wire.request(NULL, line, bytes, &request), WIRE_CUT_MESSAGE);
    cr_assert_eq(request.bytes, bytes);
    return request;
}

Test(hazelcast_wire, names_each_command)
{
    static const struct {
        const char *line;
        uint32_t kind;
        int64_t ttl_ms;
        int64_t number;
    } rows[] = {
        {"create-session r0 " VALUE " 3000\n", HAZELCAST_CREATE_SESSION, 3000, 0},
        {"try-lock r0 " VALUE " 750 7\n", HAZELCAST_TRY_LOCK, 750, 7},
        {"heartbeat r0 " VALUE "\n", HAZELCAST_HEARTBEAT, 0, 0},
        {"unlock r0 " VALUE "\n", HAZELCAST_UNLOCK, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct wire_request request = asked(rows[i].line);
        cr_assert(request.known, "%s", rows[i].line);
        cr_assert_eq(request.command.kind, rows[i].kind, "%s", rows[i].line);
        cr_assert_eq(request.command.ttl_ms, rows[i].ttl_ms, "%s", rows[i].line);
        cr_assert_eq(request.command.number, rows[i].number, "%s", rows[i].line);
        cr_assert_eq(memcmp(&request.command.value, &value, sizeof value), 0);
        cr_assert_eq(request.resource.bytes, 2u);
        cr_assert_eq(memcmp(request.resource.data, "r0", 2), 0);
    }
}

Test(hazelcast_wire, knows_no_command_that_is_not_whole)
{
    static const char *const lines[] = {
        "\n",
        "ready\n",
        "unlock r0\n",
        "unlock r0 fe01\n",
        "unlock r0 " VALUE " 1\n",
        "locked r0 " VALUE "\n",
        "try-lock r0 " VALUE " 750\n",
        "try-lock r0 " VALUE " 750 \n",
        "try-lock r0 " VALUE " 750 -7\n",
        "try-lock r0 " VALUE " 750 7 7\n",
        "try-lock r0 " VALUE " 750 9999999999999999999\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        cr_assert_not(asked(lines[i]).known, "%s", lines[i]);
    }
}

Test(hazelcast_wire, a_line_without_an_end_is_no_line)
{
    static char line[LINE_MAX];
    struct wire_request request = {.bytes = 0};
    memset(line, 'x', sizeof line);
    cr_assert_eq(hazelcast_wire.request(NULL, line, HAZELCAST_LINE_BYTES - 1, &request),
                 WIRE_CUT_MORE);
    cr_assert_eq(hazelcast_wire.request(NULL, line, HAZELCAST_LINE_BYTES, &request),
                 WIRE_CUT_BROKEN);
    line[LINE_MAX - 1] = '\n';
    cr_assert_eq(hazelcast_wire.request(NULL, line, sizeof line, &request), WIRE_CUT_BROKEN,
                 "it is cut alike, however much of it has arrived");
}

Test(hazelcast_wire, reads_each_answer)
{
    static const struct {
        const char *line;
        uint8_t type;
        int64_t number;
    } rows[] = {
        {"+\n", LOCK_REPLY_YES, 0},      {"-\n", LOCK_REPLY_NO, 0},
        {"?\n", LOCK_REPLY_UNSURE, 0},   {":3000\n", LOCK_REPLY_NUMBER, 3000},
        {":\n", LOCK_REPLY_GARBLED, 0},  {":3x\n", LOCK_REPLY_GARBLED, 0},
        {"+1\n", LOCK_REPLY_GARBLED, 0}, {"\n", LOCK_REPLY_GARBLED, 0},
        {"no\n", LOCK_REPLY_GARBLED, 0},
    };
    const struct lock_command command = {.kind = HAZELCAST_TRY_LOCK};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct wire_reply reply = {.bytes = 0};
        size_t bytes = strlen(rows[i].line);
        cr_assert_eq(hazelcast_wire.reply(NULL, rows[i].line, bytes - 1, &command, &reply),
                     WIRE_CUT_MORE);
        cr_assert_eq(hazelcast_wire.reply(NULL, rows[i].line, bytes, &command, &reply),
                     WIRE_CUT_MESSAGE);
        cr_assert_eq(reply.reply.type, rows[i].type, "%s", rows[i].line);
        cr_assert_eq(reply.reply.number, rows[i].number, "%s", rows[i].line);
        (void)hazelcast_wire.reply(NULL, rows[i].line, bytes, NULL, &reply);
        cr_assert_eq(reply.reply.type, LOCK_REPLY_GARBLED, "an answer to nothing that is known");
    }
}

/* ---- links between members ------------------------------------------------------------------- */

static uint32_t from_whom(uint32_t port)
{
    uint32_t from = 99;
    struct server_greeting greeting = {.node_count = 3, .node = 0, .source_port = (uint16_t)port};
    cr_assert_eq(hazelcast_launch.peers->greeting(&greeting, NULL, 0, &from), WIRE_CUT_MESSAGE);
    return from;
}

/* The port that a member is told to connect from. */
static uint32_t from_port(uint32_t index)
{
    enum { FROM = 4 };
    struct server_process process = {.index = index, .node_count = 3, .ttl_ns = 3000000000};
    struct server_words words = {.count = 0};
    hazelcast_launch.words(&process, &words);
    return (uint32_t)strtoul(words.word[FROM], NULL, 10);
}

Test(hazelcast_wire, a_member_is_known_by_the_port_that_it_connects_from)
{
    for (uint32_t index = 0; index < 3; index++) {
        cr_assert_eq(from_whom(from_port(index)), index);
        cr_assert_eq(from_whom(from_port(index) + 499), index);
    }
    cr_assert_eq(from_whom(from_port(2) + 500), SERVER_PEER_NOBODY, "there are three");
    cr_assert_eq(from_whom(from_port(0) - 1), SERVER_PEER_NOBODY);
    cr_assert_eq(from_whom(0), SERVER_PEER_NOBODY);
}

Test(hazelcast_wire, members_are_told_of_consensus_and_of_whole_seconds)
{
    enum { TTL = 5, GROUP = 6 };
    struct server_process process = {.node_count = 3, .ttl_ns = 2500000000};
    struct server_words words = {.count = 0};
    hazelcast_launch.words(&process, &words);
    cr_assert_str_eq(words.word[TTL], "3");
    cr_assert_str_eq(words.word[GROUP], "3");
    words = (struct server_words){.count = 0};
    process.consensus = CONSENSUS_NONE;
    process.ttl_ns = 1000000000;
    hazelcast_launch.words(&process, &words);
    cr_assert_str_eq(words.word[TTL], "2", "a session is longer than a heartbeat interval");
    cr_assert_str_eq(words.word[GROUP], "0");
}

/* ---- ready ----------------------------------------------------------------------------------- */

struct member {
    int door;
    int line; /* -1: nobody speaks */
};

static struct member member_open(struct server_process *process)
{
    *process = (struct server_process){.node_count = 3, .talk_fd = -1};
    return (struct member){.door = door_open(process), .line = -1};
}

/* It is looked at until it has asked, is answered, and looked at until that is read. */
static bool member_answers(struct member *member, struct server_process *process, const char *said)
{
    char question[64] = "";
    ssize_t got = -1;
    for (int i = 0; i < LOOKS_MAX && got <= 0; i++) {
        cr_assert_not(hazelcast_launch.alive(process), "nothing was answered");
        member->line =
            member->line < 0 ? accept4(member->door, NULL, NULL, SOCK_NONBLOCK) : member->line;
        got = member->line < 0 ? -1 : recv(member->line, question, sizeof question - 1, 0);
    }
    cr_assert_str_eq(question, "ready\n");
    cr_assert_eq(send(member->line, said, strlen(said), 0), (ssize_t)strlen(said));
    for (int i = 0; i < LOOKS_MAX && process->talk_awaited != 0; i++) {
        if (hazelcast_launch.alive(process)) {
            return true;
        }
    }
    return false;
}

Test(hazelcast_wire, a_member_is_up_when_it_says_that_it_may_be_asked)
{
    struct server_process process;
    struct member member = member_open(&process);
    cr_assert_not(member_answers(&member, &process, "-\n"));
    cr_assert(member_answers(&member, &process, "+\n"));
    (void)close(member.line);
    member.line = -1;
    for (int i = 0; i < LOOKS_MAX && process.talk_fd >= 0; i++) {
        cr_assert_not(hazelcast_launch.alive(&process), "it is gone");
    }
    cr_assert(member_answers(&member, &process, "+\n"), "it is asked again when it is back");
    (void)close(process.talk_fd);
    (void)close(member.line);
    (void)close(member.door);
}
