/* test_command.c: commands on the wire, and the scripts' SHA-1 as coreutils computes it. */
#include "lockcore/redis/command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(command, the_sha_of_every_script_is_that_of_its_text)
{
    for (int kind = 0; kind < REDIS_COMMANDS; kind++) {
        const char *script = redis_script((enum redis_command)kind);
        const char *sha = redis_script_sha((enum redis_command)kind);
        cr_assert_eq(script == NULL, sha == NULL);
        if (script == NULL) {
            continue;
        }
        char path[] = "/tmp/picklock-script-XXXXXX";
        int fd = mkstemp(path);
        cr_assert(fd >= 0);
        cr_assert_eq(write(fd, script, strlen(script)), (ssize_t)strlen(script));
        close(fd);
        char line[128];
        (void)snprintf(line, sizeof line, "sha1sum %s", path);
        FILE *pipe = popen(line, "r");
        cr_assert(pipe != NULL);
        char printed[41] = "";
        cr_assert_eq(fread(printed, 1, 40, pipe), 40);
        (void)pclose(pipe);
        unlink(path);
        cr_assert_str_eq(printed, sha, "%s", redis_dialect.rows[kind].name);
    }
}

static void words_are(const struct lock_command *command, const char *expected)
{
    char scratch[REDIS_SCRATCH_BYTES];
    struct redis_words words;
    redis_words(command, "a door", 6, scratch, &words);
    char line[2048] = "";
    size_t count = 0;
    for (int i = 0; i < words.count; i++) {
        count += (size_t)snprintf(line + count, sizeof line - count, "%s%.*s", i > 0 ? "|" : "",
                                  (int)words.bytes[i], words.word[i]);
    }
    cr_assert_str_eq(line, expected);
}

#define HEX "000102030405060708090a0b0c0d0e0f101112ff"

Test(command, words_are_what_redis_expects)
{
    struct lock_command command = {.kind = REDIS_SET, .ttl_ms = INT64_MAX, .number = 42};
    for (uint8_t i = 0; i < LOCK_VALUE_BYTES; i++) {
        command.value.bytes[i] = i == LOCK_VALUE_BYTES - 1 ? 0xff : i;
    }
    words_are(&command, "SET|a door|" HEX "|NX|PX|9223372036854775807");
    command.ttl_ms = 10;
    command.kind = REDIS_SETNX;
    words_are(&command, "SETNX|a door|" HEX);
    command.kind = REDIS_EXPIRE;
    words_are(&command, "PEXPIRE|a door|10");
    command.kind = REDIS_DELETE;
    words_are(&command, "DEL|a door");
    char expected[2048];
    const struct {
        enum redis_command kind;
        const char *tail;
    } scripts[] = {
        {REDIS_COMPARE_DELETE, HEX},   {REDIS_COMPARE_EXPIRE, HEX "|10"},
        {REDIS_SET_EXPIRE, HEX "|10"}, {REDIS_SET_FENCE, HEX "|10"},
        {REDIS_RAISE_FENCE, "42"},
    };
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        command.kind = scripts[i].kind;
        command.form = LOCK_FORM_SHORT;
        (void)snprintf(expected, sizeof expected, "EVALSHA|%s|1|a door|%s",
                       redis_script_sha(scripts[i].kind), scripts[i].tail);
        words_are(&command, expected);
        command.form = LOCK_FORM_LONG;
        (void)snprintf(expected, sizeof expected, "EVAL|%s|1|a door|%s",
                       redis_script(scripts[i].kind), scripts[i].tail);
        words_are(&command, expected);
    }
}

Test(command, a_value_reads_back_and_anything_else_does_not)
{
    struct lock_value value;
    char hex[LOCK_VALUE_HEX_BYTES];
    cr_assert(lock_value_parse(HEX, 40, &value));
    lock_value_print(&value, hex);
    cr_assert_eq(memcmp(hex, HEX, 40), 0);
    cr_assert(!lock_value_parse(HEX, 39, &value));
    cr_assert(!lock_value_parse("000102030405060708090A0b0c0d0e0f101112ff", 40, &value));
    cr_assert(!lock_value_parse("000102030405060708090g0b0c0d0e0f101112ff", 40, &value));
}
