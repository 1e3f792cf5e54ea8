/* manual_history.c: picklock-history(5), from the table of fields that the reader uses. */
#include "cli/manual.h"

#include "cli/mdoc.h"

#include "base/assert.h"
#include "history/fields.h"

#include <inttypes.h>
#include <stdio.h>

enum { FIELD_TEXT_BYTES = 2048 };

static const char example[] =
    "{\"format\":\"picklock-history\",\"version\":1}\n"
    "{\"time\":0,\"process\":1,\"type\":\"invoke\",\"f\":\"acquire\",\"resource\":\"orders\"}\n"
    "{\"time\":5000000,\"process\":1,\"type\":\"ok\",\"f\":\"acquire\",\"resource\":\"orders\"}\n";

static const char *type_words(enum field_type type)
{
    switch (type) {
    case FIELD_NOTE:
    case FIELD_NAME:
    case FIELD_LABEL:
    case FIELD_VALUE:
    case FIELD_RESOURCE:
    case FIELD_FORMAT:
        return "text";
    case FIELD_VERSION:
    case FIELD_INDEX:
    case FIELD_UNSIGNED:
    case FIELD_NATURAL:
    case FIELD_COUNT:
        return "a whole number from 0 on";
    case FIELD_ORDINAL:
        return "a whole number from 1 on";
    case FIELD_INTEGER:
        return "a whole number";
    case FIELD_RANGE:
        return "two whole numbers from 1 on in brackets, the first below the second";
    case FIELD_MEMBERS:
        return "a list of whole numbers from 1 on";
    case FIELD_PAIR:
        return "two whole numbers in brackets";
    case FIELD_BOOL:
        return "true or false";
    case FIELD_FLAG:
        return "true";
    case FIELD_WORD:
        return "one of";
    case FIELD_SET:
        return "a list of";
    }
    UNREACHABLE();
}

static void print_vocabulary(const struct history_vocabulary *vocabulary, struct text *text)
{
    const char *comma = " ";
    for (size_t i = 0; vocabulary != NULL && i < vocabulary->count; i++) {
        if (vocabulary->words[i] != NULL && vocabulary->words[i][0] != '\0') {
            text_add(text, "%s`%s`", comma, vocabulary->words[i]);
            comma = ", ";
        }
    }
}

/* "; needed by op, section": the kinds of events whose bit is set. */
static void print_kinds(const char *words, uint16_t kinds, struct text *text)
{
    const char *comma = words;
    for (size_t i = 0; i < history_kinds.count; i++) {
        if (((uint32_t)kinds >> i & 1u) != 0) {
            text_add(text, "%s`%s`", comma, history_kinds.words[i]);
            comma = ", ";
        }
    }
}

static void print_field(const struct history_field *field)
{
    char memory[FIELD_TEXT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    mdoc_item(field->word);
    text_add(&text, "%s. Type: %s", field->doc, type_words((enum field_type)field->type));
    print_vocabulary(field->vocabulary, &text);
    if (field->need == FIELD_NEEDED) {
        text_add(&text, "; always needed");
    }
    print_kinds("; needed by ", field->must, &text);
    if (field->may == UINT16_MAX) {
        text_add(&text, "; any event may have it");
    } else {
        print_kinds("; may stand in ", field->may, &text);
    }
    text_add(&text, ".");
    mdoc_text(text.data);
}

static void print_fields(const struct history_field *fields, size_t count)
{
    mdoc_list_begin();
    for (size_t i = 0; i < count; i++) {
        print_field(&fields[i]);
    }
    mdoc_list_end();
}

void manual_history(void)
{
    mdoc_begin("PICKLOCK-HISTORY", 5, "picklock-history", "the recording of a run of a lock");
    mdoc_section("DESCRIPTION");
    mdoc_text("One JSON object a line, `.jsonl`; compressed if the name ends in `.zst`. The first "
              "line is the header, every other line is one event, in order of time. Times are "
              "whole nanoseconds since the run began. Clients, nodes and faults are counted from "
              "1. A history that ends in the middle of a line is valid. Anything else that is not "
              "written here is refused with file and line.");
    mdoc_section("HEADER");
    print_fields(history_header_fields, history_header_field_count);
    mdoc_section("EVENTS");
    print_fields(history_event_fields, history_event_field_count);
    mdoc_section("EXAMPLES");
    mdoc_display(example);
    mdoc_section("SEE ALSO");
    printf(".Xr picklock 1 ,\n.Xr picklock-scenario 5\n");
}
