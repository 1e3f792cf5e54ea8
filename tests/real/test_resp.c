/* test_resp.c: a byte stream is cut into commands and replies, however it arrives. */
#include "base/random.h"
#include "servers/redis/real/resp.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static enum resp_status command(const char *bytes, struct resp_words *words)
{
    struct resp_commands reader = {0};
    return resp_command(&reader, bytes, strlen(bytes), words);
}

static enum resp_status reply(const char *bytes, struct resp_reply *read)
{
    struct resp_replies reader = {0};
    return resp_reply(&reader, bytes, strlen(bytes), read);
}

static bool word_is(const struct resp_word *word, const char *text)
{
    return word->bytes == strlen(text) && memcmp(word->data, text, word->bytes) == 0;
}

Test(resp, words_of_a_command_are_found)
{
    struct resp_words words;
    cr_assert_eq(command("*3\r\n$3\r\nSET\r\n$2\r\nr0\r\n$0\r\n\r\n*1\r\n", &words), RESP_MESSAGE);
    cr_assert_eq(words.total, 3);
    cr_assert_eq(words.message_bytes, 27);
    cr_assert(word_is(&words.word[0], "SET"));
    cr_assert(word_is(&words.word[1], "r0"));
    cr_assert(word_is(&words.word[2], ""));
}

Test(resp, words_may_hold_any_byte)
{
    struct resp_words words;
    cr_assert_eq(command("*1\r\n$4\r\n\r\n$1\r\n", &words), RESP_MESSAGE);
    cr_assert(word_is(&words.word[0], "\r\n$1"));
}

Test(resp, a_typed_command_is_one_line)
{
    struct resp_words words;
    cr_assert_eq(command("  SET r0\tv  NX\r\nPING\r\n", &words), RESP_MESSAGE);
    cr_assert_eq(words.total, 4);
    cr_assert_eq(words.message_bytes, 16);
    cr_assert(word_is(&words.word[3], "NX"));
}

Test(resp, an_empty_command_is_passed_over)
{
    struct resp_words words;
    cr_assert_eq(command("*0\r\n", &words), RESP_MESSAGE);
    cr_assert_eq(words.total, 0);
    cr_assert_eq(command("\r\n", &words), RESP_MESSAGE);
    cr_assert_eq(words.total, 0);
}

Test(resp, words_beyond_the_limit_are_counted_and_not_kept)
{
    char bytes[4096];
    int at = sprintf(bytes, "*100\r\n");
    for (int i = 0; i < 100; i++) {
        at += sprintf(bytes + at, "$1\r\nx\r\n");
    }
    struct resp_words words;
    cr_assert_eq(command(bytes, &words), RESP_MESSAGE);
    cr_assert_eq(words.total, 100);
    cr_assert_eq(words.count, RESP_WORDS_MAX);
    cr_assert_eq(words.message_bytes, (uint32_t)at);
}

Test(resp, what_is_no_command_breaks_the_stream)
{
    struct resp_words words;
    static const char *const bad[] = {"*x\r\n",
                                      "*1\r\n+OK\r\n",
                                      "*1\r\n$-1\r\n",
                                      "*1\r\n$1\r\nxyz",
                                      "*9999999999\r\n",
                                      "*1\n",
                                      "*1\r\n$99999999999999999999\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(command(bad[i], &words), RESP_BROKEN, "%s", bad[i]);
    }
}

Test(resp, replies_of_every_type_are_measured)
{
    static const struct {
        const char *bytes;
        char type;
        bool null;
        int64_t integer;
    } good[] = {
        {"+OK\r\n", '+', false, 0},
        {"-NOSCRIPT no\r\n", '-', false, 0},
        {":-42\r\n", ':', false, -42},
        {"$-1\r\n", '$', true, -1},
        {"$5\r\nhello\r\n", '$', false, 5},
        {"*-1\r\n", '*', true, -1},
        {"*2\r\n*2\r\n:1\r\n$1\r\nx\r\n+y\r\n", '*', false, 2},
        {"*0\r\n", '*', false, 0},
        {"_\r\n", '_', true, 0},
        {"#t\r\n", '#', false, 0},
        {"%1\r\n+a\r\n*1\r\n:1\r\n", '%', false, 1},
        {">2\r\n+a\r\n+b\r\n", '>', false, 2},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct resp_reply read;
        cr_assert_eq(reply(good[i].bytes, &read), RESP_MESSAGE, "%s", good[i].bytes);
        cr_assert_eq(read.message_bytes, strlen(good[i].bytes), "%s", good[i].bytes);
        cr_assert_eq(read.type, good[i].type);
        cr_assert_eq(read.null, good[i].null);
        cr_assert_eq(read.integer, good[i].integer);
    }
}

Test(resp, what_is_no_reply_breaks_the_stream)
{
    struct resp_reply read;
    static const char *const bad[] = {"hello\r\n",
                                      "+OK\n",
                                      ":12x\r\n",
                                      "$-2\r\n",
                                      "$1\r\nabc",
                                      "*1\r\nx\r\n",
                                      "%-1\r\n",
                                      "*99999999999\r\n",
                                      "%4666658333333333333\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(reply(bad[i], &read), RESP_BROKEN, "%s", bad[i]);
    }
}

/* Draw a stream of commands and note where each ends. */
static size_t draw_stream(struct random_stream *random, char *bytes, size_t ends[50])
{
    size_t at = 0;
    for (int i = 0; i < 50; i++) {
        int words = (int)random_below(random, 5);
        at += (size_t)sprintf(bytes + at, "*%d\r\n", words);
        for (int k = 0; k < words; k++) {
            int length = (int)random_below(random, 40);
            at += (size_t)sprintf(bytes + at, "$%d\r\n", length);
            for (int b = 0; b < length; b++) {
                bytes[at++] = (char)random_below(random, 256);
            }
            at += (size_t)sprintf(bytes + at, "\r\n");
        }
        ends[i] = at;
    }
    return at;
}

Test(resp, pieces_of_any_size_are_cut_alike)
{
    static char bytes[50 * 5 * 64];
    size_t ends[50];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct random_stream random = random_stream("pieces", seed);
        size_t total = draw_stream(&random, bytes, ends);
        struct resp_commands reader = {0};
        size_t at = 0;
        size_t seen = 0;
        int found = 0;
        while (seen < total) {
            size_t piece = 1 + random_below(&random, 30);
            seen = total - seen < piece ? total : seen + piece;
            struct resp_words words;
            while (resp_command(&reader, bytes + at, seen - at, &words) == RESP_MESSAGE) {
                at += words.message_bytes;
                cr_assert_eq(at, ends[found], "seed %llu", (unsigned long long)seed);
                found++;
            }
        }
        cr_assert_eq(found, 50, "seed %llu", (unsigned long long)seed);
    }
}
