/* test_docs.c: docs/HISTORY.md names every word, and its example lines are read. */
#include "history/fields.h"
#include "history/reader.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DOCS_BYTES = 64 * 1024 };

static char docs[DOCS_BYTES];

static void docs_read(void)
{
    FILE *file = fopen("docs/HISTORY.md", "r");
    cr_assert_not_null(file, "run the tests from the top folder");
    size_t bytes = fread(docs, 1, sizeof docs - 1, file);
    docs[bytes] = '\0';
    cr_assert_eq(fclose(file), 0);
}

static void names(const char *before, const char *word)
{
    char wanted[80];
    (void)snprintf(wanted, sizeof wanted, "%s`%s`", before, word);
    cr_assert_not_null(strstr(docs, wanted), "docs/HISTORY.md does not name %s", wanted);
}

Test(docs, every_word_has_its_place, .init = docs_read)
{
#define X(name, word) names("| ", word);
    HISTORY_KIND_MAP(X)
    HISTORY_TYPE_MAP(X)
    HISTORY_F_MAP(X)
    HISTORY_DECLARES_MAP(X)
#undef X
    for (size_t i = 0; i < history_header_field_count; i++) {
        names("| ", history_header_fields[i].word);
        cr_assert_neq(history_header_fields[i].doc, NULL, "%s", history_header_fields[i].word);
    }
    for (size_t i = 0; i < history_event_field_count; i++) {
        names("| ", history_event_fields[i].word);
        cr_assert_neq(history_event_fields[i].doc, NULL, "%s", history_event_fields[i].word);
    }
    for (size_t i = 0; i < FAULT_KINDS; i++) {
        names("", fault_kind_name((enum fault_kind)i));
    }
    for (size_t i = 1; i < HISTORY_CAUSES; i++) {
        names("| ", history_cause_name((enum history_cause)i));
    }
}

/* The row of a kind has these fields in the cell behind its first `bars` bars, and no others. */
static void row_lists(enum history_kind kind, int bars,
                      bool (*listed)(const struct history_field *, enum history_kind))
{
    char begin[40];
    (void)snprintf(begin, sizeof begin, "\n| `%s` | ", history_kind_name(kind));
    const char *cell = strstr(docs, begin);
    cr_assert_not_null(cell, "docs/HISTORY.md has no row for %s", begin);
    for (int i = 0; i < bars; i++) {
        cell = strchr(cell + 2, '|');
    }
    size_t bytes = strcspn(cell + 1, "|") + 1;
    for (size_t i = 0; i < history_event_field_count; i++) {
        const struct history_field *field = &history_event_fields[i];
        char word[40];
        (void)snprintf(word, sizeof word, "`%s`", field->word);
        bool there = memmem(cell, bytes, word, strlen(word)) != NULL;
        cr_assert_eq(there, listed(field, kind), "%s of %s: the table says %d, the docs %d", word,
                     history_kind_name(kind), listed(field, kind), there);
    }
}

static bool field_needed(const struct history_field *field, enum history_kind kind)
{
    return field->need == FIELD_NEEDED || (field->must >> kind & 1) != 0;
}

/* What every line may have stands in the text before the table. */
static bool field_allowed(const struct history_field *field, enum history_kind kind)
{
    return field->may != UINT16_MAX && (field->may >> kind & 1) != 0;
}

Test(docs, every_kind_lists_the_fields_that_it_needs_and_may_have, .init = docs_read)
{
    for (int kind = 0; kind < HISTORY_KINDS; kind++) {
        row_lists((enum history_kind)kind, 2, field_needed);
        row_lists((enum history_kind)kind, 3, field_allowed);
    }
}

/* Read one event line behind what it needs before it. */
static void line_is_read(const char *line, size_t bytes)
{
    static const char invoke[] =
        "{\"time\":0,\"process\":1,\"type\":\"invoke\",\"f\":\"%.*s\",\"resource\":\"r0\"}\n";
    char text[2048];
    int used = snprintf(text, sizeof text, "{\"format\":\"picklock-history\",\"version\":1}\n");
    const char *f = strstr(line, "\"f\":\"");
    bool ends = strncmp(line, "{\"time\":", 8) == 0 && memmem(line, bytes, "\"type\":\"ok\"", 11);
    if (ends) {
        f += 5;
        used += snprintf(text + used, sizeof text - (size_t)used, invoke, (int)strcspn(f, "\""), f);
    }
    used += snprintf(text + used, sizeof text - (size_t)used, "%.*s\n", (int)bytes, line);
    int file = memfd_create("docs", 0);
    cr_assert_eq(write(file, text, (size_t)used), used);
    char path[32];
    char memory[WHY_BYTES];
    (void)snprintf(path, sizeof path, "/dev/fd/%d", file);
    struct text why = text_over(memory, sizeof memory);
    struct history_reader *reader = NULL;
    struct history_event event;
    bool more = true;
    cr_assert(!result_failed(history_reader_open(path, NULL, &reader, &why)), "%s", memory);
    while (more) {
        struct result read = history_reader_next(reader, &event, &more, &why);
        cr_assert(!result_failed(read), "%s: %.*s", memory, (int)bytes, line);
    }
    history_reader_close(reader);
    cr_assert_eq(close(file), 0);
}

Test(docs, every_example_line_is_read, .init = docs_read)
{
    size_t count = 0;
    for (const char *at = strstr(docs, "`{\"time\""); at != NULL; at = strstr(at, "`{\"time\"")) {
        at++;
        line_is_read(at, strcspn(at, "`"));
        count++;
    }
    cr_assert_eq(count, (size_t)HISTORY_FS);
}
