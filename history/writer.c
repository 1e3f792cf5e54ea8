/* writer.c: writes a history as JSON lines, without printf. */
#include "history/writer.h"

#include "base/arena.h"
#include "base/assert.h"
#include "history/fields.h"
#include "history/stream.h"

#include <string.h>

enum {
    EVENT_BYTES_MAX = 1024,  /* every field at its longest: below 900 */
    HEADER_BYTES_MAX = 4096, /* four names of 64 bytes and a sentence of 160, each byte escaped in
                                six: below 3200 */
};

struct history_writer {
    struct history_stream *stream;
    uint64_t event_count;
    int64_t time_ns;
};

static char *put_word(char *out, const char *word)
{
    size_t bytes = strlen(word);
    memcpy(out, word, bytes);
    return out + bytes;
}

static char *put_unsigned(char *out, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        *out++ = digits[--count];
    }
    return out;
}

static char *put_integer(char *out, int64_t number)
{
    if (number >= 0) {
        return put_unsigned(out, (uint64_t)number);
    }
    *out++ = '-';
    return put_unsigned(out, 0 - (uint64_t)number);
}

static char *put_key(char *out, const char *key)
{
    *out++ = ',';
    *out++ = '"';
    out = put_word(out, key);
    *out++ = '"';
    *out++ = ':';
    return out;
}

static char *put_field_word(char *out, const char *key, const char *word)
{
    out = put_key(out, key);
    *out++ = '"';
    out = put_word(out, word);
    *out++ = '"';
    return out;
}

static char *put_field_number(char *out, const char *key, int64_t number)
{
    return put_integer(put_key(out, key), number);
}

static char *put_field_value(char *out, const char *key, const struct history_value *value)
{
    out = put_key(out, key);
    *out++ = '"';
    history_value_print(value, out);
    out += 2 * HISTORY_VALUE_BYTES;
    *out++ = '"';
    return out;
}

/* A name with what JSON cannot hold escaped. */
static char *put_field_name(char *out, const char *key, const char *name)
{
    static const char hex[] = "0123456789abcdef";
    out = put_key(out, key);
    *out++ = '"';
    for (const char *at = name; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\') {
            *out++ = '\\';
        }
        if (c < 0x20) {
            out = put_word(out, "\\u00");
            *out++ = hex[c >> 4];
            c = (unsigned char)hex[c & 15];
        }
        *out++ = (char)c;
    }
    *out++ = '"';
    return out;
}

static char *put_field_bool(char *out, const char *key, bool truth)
{
    return put_word(put_key(out, key), truth ? "true" : "false");
}

static char *put_set(char *out, const struct history_vocabulary *vocabulary, uint16_t set)
{
    char before = '[';
    for (size_t i = 0; i < vocabulary->count; i++) {
        if ((set >> i & 1) != 0) {
            *out++ = before;
            *out++ = '"';
            out = put_word(out, vocabulary->words[i]);
            *out++ = '"';
            before = ',';
        }
    }
    *out++ = ']';
    return out;
}

static char *put_pair(char *out, const int64_t pair[2])
{
    *out++ = '[';
    out = put_integer(out, pair[0]);
    *out++ = ',';
    out = put_integer(out, pair[1]);
    *out++ = ']';
    return out;
}

static char *put_range(char *out, const int32_t range[2])
{
    return put_pair(out, (const int64_t[2]){1 + (int64_t)range[0], 1 + (int64_t)range[1]});
}

static char *put_members(char *out, uint64_t members)
{
    char before = '[';
    for (; members != 0; members &= members - 1) {
        *out++ = before;
        out = put_integer(out, 1 + __builtin_ctzll(members));
        before = ',';
    }
    *out++ = ']';
    return out;
}

/* Whether what stands in the field's place says something; of those with a flag the flag tells. */
static bool place_says(const struct history_field *field, const void *place)
{
    switch ((enum field_type)field->type) {
    case FIELD_INDEX:
    case FIELD_UNSIGNED:
    case FIELD_NATURAL:
    case FIELD_INTEGER:
        return *(const int64_t *)place != 0;
    case FIELD_PAIR:
        return ((const int64_t *)place)[0] != 0 || ((const int64_t *)place)[1] != 0;
    case FIELD_RANGE:
        return ((const int32_t *)place)[1] != 0;
    case FIELD_MEMBERS:
        return *(const uint64_t *)place != 0;
    case FIELD_COUNT:
        return *(const int32_t *)place != 0;
    case FIELD_RESOURCE:
        return *(const uint32_t *)place != 0;
    case FIELD_ORDINAL:
        return *(const int32_t *)place != -1;
    case FIELD_SET:
        return *(const uint16_t *)place != 0;
    case FIELD_WORD:
        return *(const uint8_t *)place != 0;
    case FIELD_BOOL:
        return *(const bool *)place;
    case FIELD_NAME:
    case FIELD_LABEL:
        return *(const char *)place != '\0';
    case FIELD_FORMAT:
    case FIELD_VERSION:
        return true;
    case FIELD_FLAG:
    case FIELD_VALUE:
    case FIELD_NOTE:
        return false;
    }
    UNREACHABLE();
}

static char *put_field(char *out, const struct history_field *field, const void *place)
{
    switch ((enum field_type)field->type) {
    case FIELD_INDEX:
    case FIELD_UNSIGNED:
        return put_unsigned(put_key(out, field->word), *(const uint64_t *)place);
    case FIELD_NATURAL:
    case FIELD_INTEGER:
        return put_field_number(out, field->word, *(const int64_t *)place);
    case FIELD_PAIR:
        return put_pair(put_key(out, field->word), place);
    case FIELD_RANGE:
        return put_range(put_key(out, field->word), place);
    case FIELD_MEMBERS:
        return put_members(put_key(out, field->word), *(const uint64_t *)place);
    case FIELD_COUNT:
    case FIELD_VERSION:
        return put_field_number(out, field->word, *(const int32_t *)place);
    case FIELD_ORDINAL:
        return put_field_number(out, field->word, 1 + (int64_t)(*(const int32_t *)place));
    case FIELD_RESOURCE:
        out = put_word(put_key(out, field->word), "\"r");
        out = put_unsigned(out, *(const uint32_t *)place);
        return put_word(out, "\"");
    case FIELD_SET:
        return put_set(put_key(out, field->word), field->vocabulary, *(const uint16_t *)place);
    case FIELD_WORD:
        return put_field_word(out, field->word, field->vocabulary->words[*(const uint8_t *)place]);
    case FIELD_BOOL:
        return put_field_bool(out, field->word, *(const bool *)place);
    case FIELD_FLAG:
        return put_field_bool(out, field->word, true);
    case FIELD_NAME:
    case FIELD_LABEL:
        return put_field_name(out, field->word, place);
    case FIELD_FORMAT:
        return put_field_word(out, field->word, "picklock-history");
    case FIELD_VALUE:
        return put_field_value(out, field->word, place);
    case FIELD_NOTE:
        break;
    }
    UNREACHABLE();
}

static bool event_says(const struct history_field *field, const struct history_event *event)
{
    if (field->need != FIELD_OPTIONAL || (field->must >> event->kind & 1) != 0) {
        return true;
    }
    if (field->flag != 0) {
        return (event->flags & field->flag) != 0;
    }
    return (field->may >> event->kind & 1) != 0 &&
           (place_says(field, history_field_at(field, event)) ||
            (field->zero_says != NULL && field->zero_says(event)));
}

/* What the reader refuses, the writer does not write. */
static void event_assert_valid(const struct history_event *event)
{
    ASSERT(event->kind < HISTORY_KINDS);
    ASSERT(event->type < HISTORY_TYPES);
    ASSERT(event->f < HISTORY_FS);
    ASSERT(event->cause < HISTORY_CAUSES);
    ASSERT(event->fault_kind < FAULT_KINDS);
    ASSERT(history_f_kind(event->f) == event->kind);
    ASSERT(event->time_ns >= 0);
    ASSERT(event->process >= HISTORY_NOBODY && event->process < HISTORY_PROCESSES_MAX);
    ASSERT(event->node >= HISTORY_NO_NODE && event->node < HISTORY_NODES_MAX);
    ASSERT(event->fault >= HISTORY_NO_FAULT && event->fault < HISTORY_FAULTS_MAX);
    ASSERT(event->resource < HISTORY_RESOURCES_MAX);
    ASSERT(event->links < HISTORY_LINKS);
    ASSERT(event->clients[1] == 0 || event->clients[0] < event->clients[1]);
    for (size_t i = 0; i < history_event_field_count; i++) {
        const struct history_field *field = &history_event_fields[i];
        bool must = (field->must >> event->kind & 1) != 0;
        bool flagged = field->flag != 0 && (event->flags & field->flag) != 0;
        ASSERT(!must || field->type != FIELD_ORDINAL ||
               place_says(field, history_field_at(field, event)));
        ASSERT(!flagged || must || (field->may >> event->kind & 1) != 0);
    }
}

/* The fields that say something, each behind a comma; the first one's comma is the brace. */
static size_t event_line(const struct history_event *event, char line[EVENT_BYTES_MAX])
{
    event_assert_valid(event);
    char *out = line;
    for (size_t i = 0; i < history_event_field_count; i++) {
        const struct history_field *field = &history_event_fields[i];
        if (event_says(field, event)) {
            out = put_field(out, field, history_field_at(field, event));
        }
    }
    line[0] = '{';
    *out++ = '}';
    *out++ = '\n';
    ASSERT(out <= line + EVENT_BYTES_MAX);
    return (size_t)(out - line);
}

static size_t header_line(const struct history_header *header, char line[HEADER_BYTES_MAX])
{
    ASSERT(header->format == HISTORY_FORMAT);
    char *out = line;
    for (size_t i = 0; i < history_header_field_count; i++) {
        const struct history_field *field = &history_header_fields[i];
        const void *place = history_field_at(field, header);
        if (field->need != FIELD_OPTIONAL || place_says(field, place)) {
            out = put_field(out, field, place);
        }
    }
    line[0] = '{';
    *out++ = '}';
    *out++ = '\n';
    ASSERT(out <= line + HEADER_BYTES_MAX);
    return (size_t)(out - line);
}

void history_header_print(const struct history_header *header, struct text *text)
{
    char line[HEADER_BYTES_MAX];
    text_add_bytes(text, line, header_line(header, line));
}

void history_event_print(const struct history_event *event, struct text *text)
{
    char line[EVENT_BYTES_MAX];
    text_add_bytes(text, line, event_line(event, line));
}

struct result history_writer_open(const char *path, const struct history_header *header,
                                  struct history_writer **writer, struct text *why)
{
    struct history_writer *made = memory_resize(NULL, sizeof *made);
    if (made == NULL) {
        text_add(why, "%s: no memory to write it", path);
        return result_error(ERROR_IO);
    }
    *made = (struct history_writer){.event_count = 0, .time_ns = 0};
    struct result created = history_stream_create(path, &made->stream, why);
    if (result_failed(created)) {
        memory_release(made);
        return created;
    }
    char line[HEADER_BYTES_MAX];
    struct result written =
        history_stream_write(made->stream, line, header_line(header, line), why);
    if (result_failed(written)) {
        history_stream_close(made->stream);
        memory_release(made);
        return written;
    }
    *writer = made;
    return RESULT_OK;
}

struct result history_writer_event(struct history_writer *writer, const struct history_event *event,
                                   struct text *why)
{
    ASSERT(event->index == writer->event_count);
    ASSERT(event->time_ns >= writer->time_ns);
    writer->event_count++;
    writer->time_ns = event->time_ns;
    char line[EVENT_BYTES_MAX];
    return history_stream_write(writer->stream, line, event_line(event, line), why);
}

void history_writer_drop(struct history_writer *writer)
{
    history_stream_close(writer->stream);
    memory_release(writer);
}

struct result history_writer_close(struct history_writer *writer, struct text *why)
{
    struct result finished = history_stream_finish(writer->stream, why);
    memory_release(writer);
    return finished;
}
