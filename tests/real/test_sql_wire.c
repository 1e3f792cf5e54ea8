/* test_sql_wire.c: PostgreSQL's bytes as questions and answers, and which of them are ours. */
#include <criterion/criterion.h>

#include "lockcore/sql/command.h"
#include "servers/sql/real/real.h"
#include "servers/sql/real/statements.h"

#include <string.h>

enum { BYTES_MAX = 1024, STREAM_BYTES = 64 };

struct bytes {
    size_t count;
    char data[BYTES_MAX];
};

static _Alignas(8) char stream[STREAM_BYTES];

static void add(struct bytes *bytes, const void *data, size_t count)
{
    cr_assert_leq(bytes->count + count, sizeof bytes->data);
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
}

static void add_number(struct bytes *bytes, uint32_t number, size_t size)
{
    for (size_t i = size; i-- > 0;) {
        char byte = (char)(number >> 8 * i);
        add(bytes, &byte, 1);
    }
}

static void add_message(struct bytes *bytes, char type, const struct bytes *body)
{
    add(bytes, &type, 1);
    add_number(bytes, (uint32_t)body->count + 4, 4);
    add(bytes, body->data, body->count);
}

static void add_letter(struct bytes *bytes, char type, const char *body, size_t count)
{
    struct bytes made = {.count = 0};
    add(&made, body, count);
    add_message(bytes, type, &made);
}

static void add_bind(struct bytes *bytes, const char *name, const char *const *words)
{
    struct bytes body = {.count = 0};
    uint32_t count = 0;
    add(&body, "", 1);
    add(&body, name, strlen(name) + 1);
    add_number(&body, 0, 2);
    while (words[count] != NULL) {
        count++;
    }
    add_number(&body, count, 2);
    for (uint32_t i = 0; i < count; i++) {
        add_number(&body, (uint32_t)strlen(words[i]), 4);
        add(&body, words[i], strlen(words[i]));
    }
    add_number(&body, 0, 2);
    add_message(bytes, 'B', &body);
}

/* A connection that has been greeted. */
static void greet(void)
{
    struct bytes start = {.count = 0};
    struct bytes welcome = {.count = 0};
    struct wire_request request = {.bytes = 0};
    struct wire_reply reply = {.bytes = 0};
    memset(stream, 0, sizeof stream);
    cr_assert_leq(sql_wire.stream_bytes, sizeof stream);
    add_number(&start, 8 + 11, 4);
    add_number(&start, 196608, 4);
    add(&start, "user\0anna\0", 11);
    cr_assert_eq(sql_wire.request(stream, start.data, start.count, &request), WIRE_CUT_MESSAGE);
    cr_assert_eq(request.bytes, start.count);
    add_letter(&welcome, 'R', "\0\0\0\0", 4);
    add_letter(&welcome, 'S', "a\0b", 4);
    add_letter(&welcome, 'Z', "I", 1);
    cr_assert_eq(sql_wire.reply(stream, welcome.data, welcome.count, NULL, &reply),
                 WIRE_CUT_MESSAGE);
    cr_assert_eq(reply.bytes, welcome.count);
}

#define OWNER "00112233445566778899aabbccddeeff00112233"

Test(sql_wire, names_an_insert_with_all_that_it_carries)
{
    struct bytes question = {.count = 0};
    struct wire_request request = {.bytes = 0};
    greet();
    add_letter(&question, 'P', "insert\0SELECT 1\0\0", 18);
    add_bind(&question, "insert-at", (const char *const[]){"r0", OWNER, "4000", "17", NULL});
    add_letter(&question, 'E', "\0\0\0\0", 5);
    size_t whole = question.count;
    cr_assert_eq(sql_wire.request(stream, question.data, whole, &request), WIRE_CUT_MORE);
    add_letter(&question, 'S', "", 0);
    request = (struct wire_request){.bytes = 0};
    cr_assert_eq(sql_wire.request(stream, question.data, question.count, &request),
                 WIRE_CUT_MESSAGE);
    cr_assert_eq(request.bytes, question.count);
    cr_assert(request.known);
    cr_assert_eq(request.command.kind, SQL_INSERT_AT);
    cr_assert_eq(request.command.value.bytes[1], 0x11);
    cr_assert_eq(request.command.ttl_ms, 4000);
    cr_assert_eq(request.command.number, 17);
    cr_assert_eq(request.until_ms, 4017);
    cr_assert_eq(request.resource.bytes, 2);
}

/* What a session's lock is asked has no name: its text is its name. */
static void add_parse(struct bytes *bytes, const char *text)
{
    struct bytes body = {.count = 0};
    add(&body, "", 1);
    add(&body, text, strlen(text) + 1);
    add_number(&body, 0, 2);
    add_message(bytes, 'P', &body);
}

static struct wire_request ask_unnamed(const char *text)
{
    struct bytes question = {.count = 0};
    struct wire_request request = {.bytes = 0};
    add_parse(&question, text);
    add_bind(&question, "", (const char *const[]){"r0", OWNER, NULL});
    add_letter(&question, 'S', "", 0);
    cr_assert_eq(sql_wire.request(stream, question.data, question.count, &request),
                 WIRE_CUT_MESSAGE);
    return request;
}

Test(sql_wire, names_a_statement_without_a_name_by_its_text)
{
    greet();
    struct wire_request request = ask_unnamed(statement_of(SQL_UNLOCK)->text);
    cr_assert(request.known);
    cr_assert_eq(request.command.kind, SQL_UNLOCK);
    cr_assert_eq(request.command.value.bytes[1], 0x11);
    cr_assert_eq(request.resource.bytes, 2);
    request = ask_unnamed(statement_of(SQL_TRY_LOCK_FENCE)->text);
    cr_assert_eq(request.command.kind, SQL_TRY_LOCK_FENCE);
    cr_assert_not(ask_unnamed("SELECT $1::text, $2::text").known);
    cr_assert_not(ask_unnamed(statement_of(SQL_DELETE)->text).known, "that one is prepared");
}

Test(sql_wire, leaves_what_is_not_ours_unknown)
{
    struct bytes question = {.count = 0};
    struct wire_request request = {.bytes = 0};
    greet();
    add_bind(&question, "theirs", (const char *const[]){"r0", NULL});
    add_bind(&question, "delete", (const char *const[]){"r0", "nobody", NULL});
    add_letter(&question, 'S', "", 0);
    cr_assert_eq(sql_wire.request(stream, question.data, question.count, &request),
                 WIRE_CUT_MESSAGE);
    cr_assert_not(request.known);
}

static struct lock_reply answered(uint32_t kind, const struct bytes *answer)
{
    struct lock_command asked = {.kind = kind};
    struct wire_reply reply = {.bytes = 0};
    cr_assert_eq(sql_wire.reply(stream, answer->data, answer->count, &asked, &reply),
                 WIRE_CUT_MESSAGE);
    cr_assert_eq(reply.bytes, answer->count);
    cr_assert_not(reply.unasked);
    return reply.reply;
}

Test(sql_wire, reads_rows_and_their_absence_and_errors)
{
    struct bytes row = {.count = 0};
    struct bytes none = {.count = 0};
    struct bytes error = {.count = 0};
    greet();
    add_letter(&row, '2', "", 0);
    add_letter(&row, 'D',
               "\0\1\0\0\0\2"
               "42",
               8);
    add_letter(&row, 'Z', "I", 1);
    add_letter(&none, '2', "", 0);
    add_letter(&none, 'C', "INSERT 0 0", 11);
    add_letter(&none, 'Z', "I", 1);
    add_letter(&error, 'E', "C40001\0", 8);
    add_letter(&error, 'Z', "I", 1);
    cr_assert_eq(answered(SQL_INSERT, &row).type, LOCK_REPLY_NUMBER);
    cr_assert_eq(answered(SQL_INSERT, &row).number, 42);
    cr_assert_eq(answered(SQL_DELETE, &row).type, LOCK_REPLY_YES);
    cr_assert_eq(answered(SQL_INSERT, &none).type, LOCK_REPLY_NO);
    cr_assert_eq(answered(SQL_INSERT, &error).type, LOCK_REPLY_ERROR);
}

Test(sql_wire, a_notice_answers_nothing)
{
    struct bytes notice = {.count = 0};
    struct wire_reply reply = {.bytes = 0};
    greet();
    add_letter(&notice, 'N', "Mhello\0", 8);
    cr_assert_eq(sql_wire.reply(stream, notice.data, notice.count, NULL, &reply), WIRE_CUT_MESSAGE);
    cr_assert(reply.unasked);
}

Test(sql_wire, a_length_that_cannot_be_breaks_the_stream)
{
    struct wire_request request = {.bytes = 0};
    greet();
    cr_assert_eq(sql_wire.request(stream, "Q\0\0\0\3", 5, &request), WIRE_CUT_BROKEN);
    cr_assert_eq(sql_wire.request(stream, "Q\x7f\0\0\3", 5, &request), WIRE_CUT_BROKEN);
}
