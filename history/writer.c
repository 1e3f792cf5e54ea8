/* writer.c: writes a history as JSON lines, without printf. */
#include "history/writer.h"

#include "base/arena.h"
#include "base/assert.h"
#include "history/stream.h"

#include <string.h>

enum {
    EVENT_BYTES_MAX = 1024,  /* every field at its longest: below 700 */
    HEADER_BYTES_MAX = 2048, /* four names of 64 bytes, each byte escaped in six: below 1900 */
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

static bool names_resource(const struct history_event *event)
{
    switch ((enum history_kind)event->kind) {
    case HISTORY_OP:
    case HISTORY_SECTION:
    case HISTORY_NOTICE:
    case HISTORY_LEASE:
        return true;
    case HISTORY_NODE:
        return event->f != HISTORY_NODE_ERROR || event->resource != 0;
    case HISTORY_FAULT:
    case HISTORY_CLIENT:
    case HISTORY_PHASE:
        return false;
    case HISTORY_KINDS:
        break;
    }
    UNREACHABLE();
}

/* Who and what: the fields that all kinds share. */
static char *put_subject(char *out, const struct history_event *event)
{
    if (event->process != HISTORY_NOBODY) {
        out = put_field_number(out, "process", (int64_t)event->process + 1);
    }
    if (event->kind == HISTORY_OP) {
        out = put_field_word(out, "type", history_type_name(event->type));
    }
    out = put_field_word(out, "f", history_f_name(event->f));
    if (event->node != HISTORY_NO_NODE) {
        out = put_field_number(out, "node", (int64_t)event->node + 1);
    }
    if (names_resource(event)) {
        out = put_key(out, "resource");
        *out++ = '"';
        *out++ = 'r';
        out = put_unsigned(out, event->resource);
        *out++ = '"';
    }
    return out;
}

static char *put_grant(char *out, const struct history_event *event)
{
    if ((event->flags & HISTORY_HAS_VALUE) != 0) {
        out = put_field_value(out, "value", &event->value);
    }
    if ((event->flags & HISTORY_HAS_OWNER) != 0) {
        out = put_field_value(out, "owner", &event->owner);
    }
    if ((event->flags & HISTORY_HAS_FENCE) != 0) {
        out = put_field_number(out, "fence", event->fence);
    }
    if ((event->flags & HISTORY_HAS_UNTIL) != 0) {
        out = put_field_number(out, "until", event->until_ns);
    }
    if (event->basis != 0 || (event->kind == HISTORY_OP && event->f == HISTORY_WRITE)) {
        out = put_field_number(out, "basis", event->basis);
    }
    if (event->version != 0 || (event->kind == HISTORY_OP && event->type == HISTORY_OK &&
                                (event->f == HISTORY_READ || event->f == HISTORY_WRITE))) {
        out = put_field_number(out, "version", event->version);
    }
    return out;
}

static char *put_why(char *out, const struct history_event *event)
{
    if (event->cause != CAUSE_NONE) {
        out = put_field_word(out, "cause", history_cause_name(event->cause));
    }
    if (event->fault != HISTORY_NO_FAULT) {
        out = put_field_number(out, "fault", (int64_t)event->fault + 1);
    }
    if (event->kind == HISTORY_FAULT) {
        out = put_field_word(out, "fault_kind", fault_kind_name(event->fault_kind));
    }
    if (event->number[0] != 0 || event->number[1] != 0) {
        out = put_key(out, "numbers");
        *out++ = '[';
        out = put_integer(out, event->number[0]);
        *out++ = ',';
        out = put_integer(out, event->number[1]);
        *out++ = ']';
    }
    if (event->command != 0) {
        out = put_field_number(out, "command", event->command);
    }
    if ((event->flags & HISTORY_AUDIT) != 0) {
        out = put_field_bool(out, "audit", true);
    }
    return out;
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
    bool needs_process =
        event->kind != HISTORY_NODE && event->kind != HISTORY_FAULT && event->kind != HISTORY_PHASE;
    ASSERT(!needs_process || event->process != HISTORY_NOBODY);
    ASSERT(event->kind != HISTORY_NODE || event->node != HISTORY_NO_NODE);
    ASSERT(event->kind != HISTORY_FAULT || event->fault != HISTORY_NO_FAULT);
}

static size_t event_line(const struct history_event *event, char line[EVENT_BYTES_MAX])
{
    event_assert_valid(event);
    char *out = put_word(line, "{\"index\":");
    out = put_unsigned(out, event->index);
    out = put_field_number(out, "time", event->time_ns);
    if (event->kind != HISTORY_OP) {
        out = put_field_word(out, "kind", history_kind_name(event->kind));
    }
    out = put_subject(out, event);
    out = put_grant(out, event);
    out = put_why(out, event);
    *out++ = '}';
    *out++ = '\n';
    ASSERT(out <= line + EVENT_BYTES_MAX);
    return (size_t)(out - line);
}

static size_t header_line(const struct history_header *header, char line[HEADER_BYTES_MAX])
{
    ASSERT(header->format == HISTORY_FORMAT);
    char *out = put_word(line, "{\"format\":\"picklock-history\"");
    out = put_field_number(out, "version", header->format);
    out = put_unsigned(put_key(out, "seed"), header->seed);
    out = put_field_name(out, "scenario", header->scenario);
    out = put_field_name(out, "world", header->world);
    out = put_field_name(out, "algorithm", header->algorithm);
    out = put_field_name(out, "library", header->library);
    out = put_field_number(out, "nodes", header->node_count);
    out = put_field_number(out, "clients", header->client_count);
    out = put_field_number(out, "resources", header->resource_count);
    out = put_field_number(out, "faults", header->fault_count);
    out = put_field_number(out, "ttl", header->ttl_ns);
    out = put_field_number(out, "bound", header->bound_ns);
    out = put_field_number(out, "drift_ppm", header->drift_ppm);
    out = put_field_bool(out, "promises_validity", header->promises_validity);
    out = put_field_bool(out, "fence_check", header->fence_check);
    out = put_field_bool(out, "value_check", header->value_check);
    out = put_field_bool(out, "fenced", header->fenced);
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

struct result history_writer_close(struct history_writer *writer, struct text *why)
{
    struct result finished = history_stream_finish(writer->stream, why);
    memory_release(writer);
    return finished;
}
