/* test_monitor.c: what a redis-server tells is cut and read, whatever bytes it is made of. */
#include "harness/real/keys/monitor.h"

#include "base/random.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct monitor_message read_text(char *text)
{
    struct monitor_message message;
    uint32_t bytes = 0;
    cr_assert_eq(monitor_cut(text, strlen(text), &bytes), RESP_MESSAGE);
    cr_assert_eq(bytes, strlen(text));
    monitor_read(text, bytes, &message);
    return message;
}

static bool word_is(const struct resp_word *word, const char *text)
{
    return word->bytes == strlen(text) && memcmp(word->data, text, word->bytes) == 0;
}

Test(monitor, a_line_names_its_time_its_client_and_its_words)
{
    char text[] = "+1795310027.434638 [3 127.0.0.1:38304] \"SET\" \"r0\" \"a b\" \"NX\"\r\n";
    struct monitor_message message = read_text(text);
    cr_assert_eq(message.type, MONITOR_LINE);
    cr_assert_eq(message.wall_us, 1795310027434638);
    cr_assert_eq(message.database, 3);
    cr_assert_eq(message.port, 38304);
    cr_assert_not(message.inside);
    cr_assert_eq(message.words.count, 4);
    cr_assert(word_is(&message.words.word[2], "a b"));
}

Test(monitor, a_line_from_inside_a_script_has_no_client)
{
    char text[] = "+1795310027.434638 [0 lua] \"get\" \"r0\"\r\n";
    struct monitor_message message = read_text(text);
    cr_assert_eq(message.type, MONITOR_LINE);
    cr_assert(message.inside);
    cr_assert_eq(message.port, 0);
}

Test(monitor, addresses_of_all_kinds_are_read)
{
    char six[] = "+1.000001 [0 [::1]:6379] \"GET\" \"a\"\r\n";
    char path[] = "+1.000001 [0 unix:/tmp/redis.sock] \"GET\" \"a\"\r\n";
    cr_assert_eq(read_text(path).port, 0);
    cr_assert_eq(read_text(path).type, MONITOR_LINE);
    (void)six; /* nodes listen on 127.0.0.1 only */
}

Test(monitor, an_effect_names_its_database_its_key_and_what_was_done)
{
    char text[] = ">4\r\n$8\r\npmessage\r\n$16\r\n__keyspace@*__:*\r\n$21\r\n__keyspace@12__:a:b c"
                  "\r\n$7\r\nexpired\r\n";
    struct monitor_message message = read_text(text);
    cr_assert_eq(message.type, MONITOR_EFFECT);
    cr_assert_eq(message.database, 12);
    cr_assert(word_is(&message.key, "a:b c"));
    cr_assert(word_is(&message.text, "expired"));
}

Test(monitor, answers_to_our_own_commands_are_told_from_lines)
{
    char ok[] = "+OK\r\n";
    char number[] = ":-2\r\n";
    char bulk[] = "$2\r\n17\r\n";
    char nil[] = "_\r\n";
    char old_nil[] = "$-1\r\n";
    char error[] = "-NOPERM this user has no permissions to run the 'monitor' command\r\n";
    cr_assert_eq(read_text(ok).type, MONITOR_ANSWER);
    cr_assert_eq(read_text(number).integer, -2);
    cr_assert_eq(read_text(bulk).integer, 17);
    cr_assert(read_text(nil).null);
    cr_assert(read_text(old_nil).null);
    cr_assert(read_text(error).error);
    cr_assert_eq(strncmp(read_text(error).text.data, "NOPERM", 6), 0);
}

/* Valkey 8.1 forgets to quote quotes and backslashes. */
Test(monitor, a_quote_that_was_not_quoted_ends_no_word)
{
    char text[] = "+1.000001 [0 127.0.0.1:1] \"EVAL\" \"if redis.call(\"get\",KEYS[1]) == '\\' "
                  "then end\" \"1\" \"r0\"\r\n";
    struct monitor_message message = read_text(text);
    cr_assert_eq(message.words.count, 4);
    cr_assert(word_is(&message.words.word[1], "if redis.call(\"get\",KEYS[1]) == '\\' then end"));
    cr_assert(word_is(&message.words.word[3], "r0"));
}

Test(monitor, a_word_without_an_end_is_no_crash_and_no_word)
{
    char text[] = "+1.000001 [0 127.0.0.1:1] \"SET\" \"r0\r\n";
    struct monitor_message message = read_text(text);
    cr_assert_eq(message.type, MONITOR_LINE);
    cr_assert_eq(message.words.count, 1);
    cr_assert_eq(message.words.total, 2);
}

Test(monitor, versions_that_show_a_command_before_its_effects_are_known)
{
    static const char *const before[] = {"6.0.0", "6.0.16", "6.2.0", "6.2.3"};
    static const char *const after[] = {"6.2.4", "6.2.14", "7.0.15", "7.4.0", "8.0.2", "9.1.2"};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        cr_assert_not(monitor_effects_first(before[i], strlen(before[i])), "%s", before[i]);
    }
    for (size_t i = 0; i < sizeof after / sizeof after[0]; i++) {
        cr_assert(monitor_effects_first(after[i], strlen(after[i])), "%s", after[i]);
    }
}

/* As Redis quotes: sdscatrepr. */
static size_t quote(const char *bytes, size_t count, char *out)
{
    size_t at = 0;
    out[at++] = '"';
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        const char *plain = strchr("\n\r\t\a\b", byte);
        if (byte == '"' || byte == '\\') {
            out[at++] = '\\';
            out[at++] = (char)byte;
        } else if (byte != 0 && plain != NULL) {
            out[at++] = '\\';
            out[at++] = "nrtab"[plain - "\n\r\t\a\b"];
        } else if (byte < ' ' || byte > '~') {
            at += (size_t)sprintf(out + at, "\\x%02x", byte);
        } else {
            out[at++] = (char)byte;
        }
    }
    out[at++] = '"';
    return at;
}

static uint64_t test_seed(void)
{
    const char *given = getenv("PICKLOCK_TEST_SEED");
    return given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
}

Test(monitor, words_of_any_bytes_come_back_as_they_were_sent)
{
    uint64_t seed = test_seed();
    struct random_stream random = random_stream("monitor", seed);
    for (int round = 0; round < 2000; round++) {
        char sent[8][24];
        size_t bytes[8];
        char text[2048];
        size_t at = (size_t)sprintf(text, "+1795310027.434638 [0 127.0.0.1:38304]");
        uint32_t count = 1 + (uint32_t)random_below(&random, 8);
        for (uint32_t i = 0; i < count; i++) {
            bytes[i] = random_below(&random, sizeof sent[0]);
            for (size_t j = 0; j < bytes[i]; j++) {
                /* Quotes, backslashes and blanks more often than others. */
                sent[i][j] = random_below(&random, 3) == 0 ? "\"\\ x\n\0"[random_below(&random, 6)]
                                                           : (char)random_below(&random, 256);
            }
            text[at++] = ' ';
            at += quote(sent[i], bytes[i], text + at);
        }
        text[at++] = '\r';
        text[at++] = '\n';
        struct monitor_message message;
        uint32_t whole = 0;
        for (size_t part = 0; part < at; part++) {
            cr_assert_eq(monitor_cut(text, part, &whole), RESP_MORE);
        }
        cr_assert_eq(monitor_cut(text, at, &whole), RESP_MESSAGE);
        monitor_read(text, whole, &message);
        cr_assert_eq(message.words.count, count, "seed %llu", (unsigned long long)seed);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert_eq(message.words.word[i].bytes, bytes[i], "seed %llu",
                         (unsigned long long)seed);
            cr_assert_eq(memcmp(message.words.word[i].data, sent[i], bytes[i]), 0, "seed %llu",
                         (unsigned long long)seed);
        }
    }
}
