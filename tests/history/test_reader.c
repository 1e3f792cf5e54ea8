/* test_reader.c: what the reader accepts from people, and what it refuses, line by line. */
#include "history/reader.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEADER "{\"format\":\"picklock-history\",\"version\":1}\n"
#define COUNTED                                                                                    \
    "{\"format\":\"picklock-history\",\"version\":1,\"nodes\":3,\"clients\":2,\"resources\":2,"    \
    "\"faults\":1}\n"
#define INVOKE                                                                                     \
    "{\"time\":1,\"process\":1,\"type\":\"invoke\",\"f\":\"acquire\",\"resource\":\"r0\"}\n"
#define OK "{\"time\":2,\"process\":1,\"type\":\"ok\",\"f\":\"acquire\",\"resource\":\"r0\"}\n"

static char why_memory[WHY_BYTES];

struct outcome {
    enum error_code code;
    size_t count;
    bool cut;
    struct history_event last;
};

/* Read all of a file's text; the sentence is left in why_memory, with the path shortened to FILE.
 */
static struct outcome read_bytes(const char *text, size_t bytes)
{
    struct outcome outcome = {0};
    int file = memfd_create("history", 0);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, bytes), (ssize_t)bytes);
    char path[32];
    (void)snprintf(path, sizeof path, "/dev/fd/%d", file);
    struct text why = text_over(why_memory, sizeof why_memory);
    struct history_reader *reader = NULL;
    struct result result = history_reader_open(path, NULL, &reader, &why);
    bool more = !result_failed(result);
    while (more) {
        result = history_reader_next(reader, &outcome.last, &more, &why);
        more = more && !result_failed(result);
        outcome.count += more ? 1 : 0;
    }
    outcome.code = result.code;
    if (reader != NULL) {
        outcome.cut = history_reader_was_cut(reader);
        history_reader_close(reader);
    }
    cr_assert_eq(close(file), 0);
    size_t skip = strncmp(why_memory, path, strlen(path)) == 0 ? strlen(path) : 0;
    memmove(why_memory, why_memory + skip, strlen(why_memory + skip) + 1);
    return outcome;
}

static struct outcome read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static void refuses(const char *text, enum error_code code, const char *sentence)
{
    struct outcome outcome = read_text(text);
    cr_assert_eq(outcome.code, code, "%s", why_memory);
    cr_assert_str_eq(why_memory, sentence);
}

Test(reader, minimal_header_and_operations_are_a_history)
{
    struct outcome outcome = read_text(HEADER INVOKE OK);
    cr_assert_eq(outcome.code, ERROR_NONE, "%s", why_memory);
    cr_assert_eq(outcome.count, (size_t)2);
    cr_assert_eq(outcome.last.index, (uint64_t)1);
    cr_assert_eq(outcome.last.process, 0);
    cr_assert_eq(outcome.last.node, HISTORY_NO_NODE);
    cr_assert_eq(outcome.last.fault, HISTORY_NO_FAULT);
    cr_assert_eq(outcome.last.flags, 0);
}

Test(reader, header_alone_is_a_history)
{
    cr_assert_eq(read_text(HEADER).code, ERROR_NONE);
}

Test(reader, blanks_and_notes_and_windows_line_ends_are_welcome)
{
    struct outcome outcome = read_text(
        HEADER "\n  { \"time\" : 1 , \"process\":1,\"type\":\"invoke\",\t\"f\":\"acquire\","
               "\"resource\":\"r0\",\"note\":\"caf\\u00e9 \\ud83d\\ude00\"} \r\n\n");
    cr_assert_eq(outcome.code, ERROR_NONE, "%s", why_memory);
    cr_assert_eq(outcome.count, (size_t)1);
}

Test(reader, values_may_be_any_text)
{
    struct outcome outcome =
        read_text(HEADER INVOKE
                  "{\"time\":2,\"process\":1,\"type\":\"ok\",\"f\":\"acquire\",\"resource\":\"r0\","
                  "\"value\":\"7d444840-9dc0-11d1-b245-5ffdce74fad2\"}\n");
    cr_assert_eq(outcome.code, ERROR_NONE, "%s", why_memory);
    cr_assert_eq(outcome.last.flags, HISTORY_HAS_VALUE);
}

#define NODE(command)                                                                              \
    HEADER "{\"time\":1,\"kind\":\"node\",\"f\":\"set\",\"node\":1,\"command\":" command "}\n"

Test(reader, a_command_is_a_word_and_a_number_of_older_files_says_nothing)
{
    struct outcome outcome = read_text(NODE("\"compare-delete\""));
    cr_assert_eq(outcome.code, ERROR_NONE, "%s", why_memory);
    cr_assert_str_eq(outcome.last.command, "compare-delete");
    outcome = read_text(NODE("1"));
    cr_assert_eq(outcome.code, ERROR_NONE, "%s", why_memory);
    cr_assert_str_eq(outcome.last.command, "");
    refuses(NODE("\"sixteen-letters!\""), ERROR_LIMIT,
            ":2: column 72: a name that is too long, or has a zero inside");
    refuses(NODE("true"), ERROR_SYNTAX, ":2: column 54: expected a string");
}

Test(reader, line_cut_in_the_middle_is_left_out)
{
    struct outcome outcome = read_text(HEADER INVOKE "{\"time\":2,\"proc");
    cr_assert_eq(outcome.code, ERROR_NONE, "%s", why_memory);
    cr_assert_eq(outcome.count, (size_t)1);
    cr_assert(outcome.cut);
    cr_assert_str_eq(why_memory, "");
}

Test(reader, last_line_without_newline_counts_if_it_is_whole)
{
    struct outcome outcome = read_bytes(HEADER INVOKE OK, strlen(HEADER INVOKE OK) - 1);
    cr_assert_eq(outcome.count, (size_t)2);
    cr_assert_not(outcome.cut);
}

Test(reader, every_cut_of_a_history_is_a_history_or_has_no_header)
{
    const char *text = HEADER INVOKE OK;
    for (size_t bytes = strlen(HEADER); bytes <= strlen(text); bytes++) {
        cr_assert_eq(read_bytes(text, bytes).code, ERROR_NONE, "%zu: %s", bytes, why_memory);
    }
    for (size_t bytes = 0; bytes < strlen(HEADER) - 1; bytes++) {
        cr_assert_neq(read_bytes(text, bytes).code, ERROR_NONE, "%zu", bytes);
    }
}

Test(reader, no_history_at_all_is_refused)
{
    refuses("", ERROR_SYNTAX, ": the file is empty; a history begins with a header line");
    cr_assert_eq(read_text("hello\n").code, ERROR_SYNTAX);
    cr_assert_not_null(strstr(why_memory, ":1: not a history: expected "));
}

Test(reader, wrong_headers_are_refused)
{
    refuses("{\"format\":\"picklock-history\",\"version\":2}\n", ERROR_SCHEMA,
            ":1: column 41: a version of the format other than 1");
    refuses("{\"format\":\"picklock-history\",\"version\":1,\"nodes\":65}\n", ERROR_LIMIT,
            ":1: column 52: a count below 0 or beyond the limit");
    refuses("{\"format\":\"picklock-history\",\"version\":1,\"colour\":1}\n", ERROR_SCHEMA,
            ":1: column 51: a key that no header has");
    refuses("{\"format\":\"picklock-history\"}\n", ERROR_SCHEMA,
            ":1: column 30: a header needs \"format\" and \"version\"");
    refuses("{\"format\":\"picklock-history\",\"version\":1,\"declares\":[\"magic\"]}\n",
            ERROR_SCHEMA, ":1: column 61: a declaration that no lock makes");
    refuses("{\"format\":\"picklock-history\",\"version\":1,\"declares\":[\"wait\",\"wait\"]}\n",
            ERROR_SCHEMA, ":1: column 68: a word for the second time");
    refuses("{\"format\":\"picklock-history\",\"version\":1,\"declares\":[\"wait\"}\n",
            ERROR_SYNTAX, ":1: column 60: expected a comma or the end of the list");
    refuses("{\"format\":\"picklock-history\",\"version\":1,\"owner\":\"nobody\"}\n", ERROR_SCHEMA,
            ":1: column 58: an owner other than process, thread, object");
}

Test(reader, garbage_lines_are_refused_with_line_and_column)
{
    refuses(HEADER INVOKE "garbage\n", ERROR_SYNTAX,
            ":3: column 1: expected a JSON object, which begins with {");
    refuses(HEADER "{\"time\":1}}\n", ERROR_SYNTAX,
            ":2: column 11: something stands behind the object's closing }");
    refuses(HEADER "{\"time\":1 \"process\":1}\n", ERROR_SYNTAX,
            ":2: column 11: expected , or } behind a value");
    refuses(HEADER "{\"time\":1.5}\n", ERROR_SYNTAX, ":2: column 9: expected a whole number");
    refuses(HEADER "{\"time\":007}\n", ERROR_SYNTAX, ":2: column 9: expected a whole number");
    refuses(HEADER "{\"note\":\"\x80\"}\n", ERROR_SYNTAX, ":2: column 10: bytes that are no UTF-8");
    refuses(HEADER "{\"note\":\"\\ud800\"}\n", ERROR_SYNTAX,
            ":2: column 16: half of a surrogate pair");
    refuses(HEADER "{\"note\":\"\x01\"}\n", ERROR_SYNTAX,
            ":2: column 10: a control character inside a string");
    refuses(HEADER "{\"time\":1,\"time\":2}\n", ERROR_SCHEMA,
            ":2: column 18: a key for the second time");
    refuses(HEADER "{\"tiem\":1}\n", ERROR_SCHEMA, ":2: column 9: a key that no event has");
}

Test(reader, numbers_beyond_64_bits_are_refused)
{
    refuses(HEADER "{\"time\":9223372036854775808}\n", ERROR_LIMIT,
            ":2: column 28: a number beyond 64 bits");
    refuses(HEADER "{\"time\":99999999999999999999999}\n", ERROR_LIMIT,
            ":2: column 9: a number beyond 64 bits");
}

Test(reader, words_that_mean_nothing_are_refused)
{
    refuses(HEADER "{\"time\":1,\"process\":1,\"type\":\"okay\"}\n", ERROR_SCHEMA,
            ":2: column 36: a type other than invoke, ok, fail, info");
    refuses(HEADER "{\"time\":1,\"process\":0}\n", ERROR_LIMIT,
            ":2: column 22: a process below 1 or beyond the limit");
    refuses(HEADER "{\"time\":1,\"kind\":\"section\",\"process\":1,\"f\":\"acquire\","
                   "\"resource\":\"r0\"}\n",
            ERROR_SCHEMA, ":2: column 70: an f that does not belong to this kind of event");
    refuses(HEADER "{\"time\":1,\"process\":1,\"f\":\"acquire\",\"type\":\"ok\"}\n", ERROR_SCHEMA,
            ":2: column 49: a field that this kind of event needs is missing");
    refuses(HEADER "{\"time\":1,\"process\":1,\"type\":\"invoke\",\"f\":\"acquire\","
                   "\"resource\":\"r0\",\"node\":1}\n",
            ERROR_SCHEMA, ":2: column 78: a field that this kind of event does not have");
}

#define PARTITION                                                                                  \
    "{\"time\":1,\"kind\":\"fault\",\"fault\":1,\"f\":\"start\",\"fault_kind\":\"partition\","

Test(reader, a_fault_of_several_names_each_of_them_once)
{
    struct outcome outcome =
        read_text(HEADER PARTITION "\"clients\":[2,4],\"nodes\":[3,1],\"links\":\"ring\"}\n");
    cr_assert_eq(outcome.code, ERROR_NONE, "%s", why_memory);
    for (int32_t i = 0; i < 6; i++) {
        cr_assert_eq(history_fault_names_client(&outcome.last, i), 1 <= i && i <= 3);
        cr_assert_eq(history_fault_names_node(&outcome.last, i), i == 0 || i == 2);
    }
    cr_assert_eq(outcome.last.links, LINKS_RING);
    refuses(HEADER PARTITION "\"clients\":[2,2]}\n", ERROR_SCHEMA,
            ":2: column 88: other than two processes, the first below the second");
    refuses(HEADER PARTITION "\"nodes\":[2,2]}\n", ERROR_SCHEMA,
            ":2: column 86: a node below 1, beyond 64 or for the second time");
    refuses(HEADER PARTITION "\"nodes\":[65]}\n", ERROR_LIMIT,
            ":2: column 84: a node below 1, beyond 64 or for the second time");
    refuses(HEADER PARTITION "\"links\":\"star\"}\n", ERROR_SCHEMA,
            ":2: column 87: links other than ring or bridge");
}

Test(reader, impossible_histories_are_refused)
{
    refuses(HEADER OK, ERROR_SCHEMA, ":2: process 1 ends acquire (ok) without an invoke");
    refuses(HEADER INVOKE INVOKE, ERROR_SCHEMA,
            ":3: process 1 invokes acquire while its acquire is still open");
    refuses(HEADER INVOKE
            "{\"time\":2,\"process\":1,\"type\":\"ok\",\"f\":\"release\",\"resource\":\"r0\"}\n",
            ERROR_SCHEMA, ":3: process 1 ends release but had invoked acquire");
    refuses(HEADER "{\"time\":2,\"kind\":\"phase\",\"f\":\"healed\"}\n" INVOKE, ERROR_SCHEMA,
            ":3: time goes back from 2 to 1 ns");
    refuses(HEADER "{\"index\":7,\"time\":2,\"kind\":\"phase\",\"f\":\"healed\"}\n", ERROR_SCHEMA,
            ":2: column 11: an index that does not follow the one before");
}

Test(reader, events_keep_to_what_the_header_counts)
{
    refuses(COUNTED "{\"time\":1,\"kind\":\"node\",\"node\":4,\"f\":\"expired\","
                    "\"resource\":\"r0\"}\n",
            ERROR_SCHEMA, ":2: node 4, but the header counts 3");
    refuses(COUNTED "{\"time\":1,\"process\":4,\"type\":\"invoke\",\"f\":\"acquire\","
                    "\"resource\":\"r0\"}\n",
            ERROR_SCHEMA, ":2: process 4, but the header counts 2 clients and an auditor");
    refuses(COUNTED "{\"time\":1,\"kind\":\"fault\",\"fault\":1,\"f\":\"start\","
                    "\"fault_kind\":\"pause\",\"nodes\":[1,4]}\n",
            ERROR_SCHEMA, ":2: node 4, but the header counts 3");
    refuses(COUNTED "{\"time\":1,\"kind\":\"fault\",\"fault\":1,\"f\":\"start\","
                    "\"fault_kind\":\"pause\",\"clients\":[1,4]}\n",
            ERROR_SCHEMA, ":2: process 4, but the header counts 2 clients and an auditor");
    refuses(COUNTED "{\"time\":1,\"kind\":\"fault\",\"fault\":2,\"f\":\"start\","
                    "\"fault_kind\":\"pause\"}\n",
            ERROR_SCHEMA, ":2: fault 2, but the header counts 1");
    refuses(COUNTED "{\"time\":1,\"process\":1,\"type\":\"invoke\",\"f\":\"acquire\","
                    "\"resource\":\"r2\"}\n",
            ERROR_SCHEMA,
            ":2: resource \"r2\" is not one of the 2 that the header counts (r0 to r1); without "
            "\"resources\" in the header any name will do");
}

Test(reader, line_of_a_hundred_megabytes_is_refused_without_reading_it_all)
{
    size_t bytes = (size_t)100 << 20;
    char *text = malloc(bytes);
    cr_assert_not_null(text);
    memset(text, 'x', bytes);
    memcpy(text, HEADER, strlen(HEADER));
    struct outcome outcome = read_bytes(text, bytes);
    free(text);
    cr_assert_eq(outcome.code, ERROR_LIMIT);
    cr_assert_str_eq(why_memory,
                     ":2: a line of more than 1048576 bytes; a history line is shorter");
}

Test(reader, files_that_cannot_be_read_are_named)
{
    struct text why = text_over(why_memory, sizeof why_memory);
    struct history_reader *reader = NULL;
    struct result result = history_reader_open("/tmp", NULL, &reader, &why);
    cr_assert_eq(result.code, ERROR_IO);
    cr_assert_str_eq(why_memory, "/tmp: cannot read: Is a directory");
    text_clear(&why);
    result = history_reader_open("/nowhere/h.jsonl", NULL, &reader, &why);
    cr_assert_eq(result.code, ERROR_IO);
    cr_assert_str_eq(why_memory, "/nowhere/h.jsonl: cannot open: No such file or directory");
}

Test(reader, names_of_resources_are_kept_in_order_of_appearance)
{
    const char *text = HEADER
        "{\"time\":1,\"process\":1,\"type\":\"invoke\",\"f\":\"acquire\",\"resource\":\"orders\"}\n"
        "{\"time\":1,\"process\":2,\"type\":\"invoke\",\"f\":\"acquire\",\"resource\":\"stock\"}\n"
        "{\"time\":1,\"process\":3,\"type\":\"invoke\",\"f\":\"acquire\",\"resource\":\"orders\"}"
        "\n";
    struct outcome outcome = read_text(text);
    cr_assert_eq(outcome.code, ERROR_NONE, "%s", why_memory);
    cr_assert_eq(outcome.last.resource, 0u);
}
