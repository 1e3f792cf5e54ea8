/* edn_write.c: operations as Jepsen's EDN, and the way from any format to it. */
#include "history/edn_write.h"

#include "base/assert.h"
#include "history/edn.h"
#include "history/nemesis.h"
#include "history/stream.h"
#include "history/writer.h"

#include <string.h>

static void print_hex(const char *key, const struct history_value *value, struct text *text)
{
    char hex[2 * HISTORY_VALUE_BYTES];
    history_value_print(value, hex);
    text_add(text, ", :%s \"", key);
    text_add_bytes(text, hex, sizeof hex);
    text_add(text, "\"");
}

static void print_string(const char *string, struct text *text)
{
    text_add(text, "\"");
    for (const char *c = string; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            text_add(text, "\\%c", *c);
        } else if ((unsigned char)*c < 0x20) {
            text_add(text, "\\u%04x", (unsigned)*c);
        } else {
            text_add_bytes(text, c, 1);
        }
    }
    text_add(text, "\"");
}

static void print_operation(const struct history_event *event, const char *resource,
                            struct text *text)
{
    text_add(text, "{:index %llu, :time %lld, :process %d, :type :%s, :f :%s, :resource ",
             (unsigned long long)event->index, (long long)event->time_ns, event->process + 1,
             history_type_name((enum history_type)event->type),
             history_f_name((enum history_f)event->f));
    print_string(resource, text);
    if ((event->flags & HISTORY_HAS_VALUE) != 0) {
        print_hex("value", &event->value, text);
    } else {
        text_add(text, ", :value nil");
    }
    if ((event->flags & HISTORY_HAS_OWNER) != 0) {
        print_hex("owner", &event->owner, text);
    }
    if ((event->flags & HISTORY_HAS_FENCE) != 0) {
        text_add(text, ", :fence %lld", (long long)event->fence);
    }
    if ((event->flags & HISTORY_HAS_UNTIL) != 0) {
        text_add(text, ", :until %lld", (long long)event->until_ns);
    }
    if (event->version != 0) {
        text_add(text, ", :version %lld", (long long)event->version);
    }
    if (event->basis != 0) {
        text_add(text, ", :basis %lld", (long long)event->basis);
    }
    if (event->cause != CAUSE_NONE) {
        text_add(text, ", :error :%s", history_cause_name((enum history_cause)event->cause));
    }
    if ((event->flags & HISTORY_AUDIT) != 0) {
        text_add(text, ", :audit true");
    }
    text_add(text, "}\n");
}

void history_edn_print(const struct history_event *event, const char *resource, struct text *text)
{
    if (event->kind == HISTORY_OP) {
        print_operation(event, resource, text);
    } else if (event->kind == HISTORY_FAULT) {
        nemesis_print(event, text);
    }
}

/* Where the events go. */
struct sink {
    struct history_stream *stream; /* EDN */
    struct history_writer *writer; /* JSON lines */
};

static bool ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text);
    size_t end_bytes = strlen(end);
    return bytes >= end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

static struct result sink_open(struct sink *sink, const struct history_header *header,
                               const char *to, struct text *why)
{
    if (ends_with(to, ".jsonl") || ends_with(to, ".jsonl.zst")) {
        struct history_header own = *header;
        own.format = HISTORY_FORMAT;
        return history_writer_open(to, &own, &sink->writer, why);
    }
    TRY(history_stream_create(to, &sink->stream, why));
    static const char mark[] = HISTORY_EDN_MARK " 1\n";
    return history_stream_write(sink->stream, mark, sizeof mark - 1, why);
}

static struct result sink_put(struct sink *sink, const struct history_event *event,
                              const char *resource, struct text *why)
{
    if (sink->writer != NULL) {
        return history_writer_event(sink->writer, event, why);
    }
    char memory[HISTORY_EDN_LINE_BYTES];
    struct text line = text_over(memory, sizeof memory);
    history_edn_print(event, resource, &line);
    ASSERT(!line.cut);
    return history_stream_write(sink->stream, line.data, line.length, why);
}

static struct result sink_close(struct sink *sink, struct text *why)
{
    return sink->writer != NULL ? history_writer_close(sink->writer, why)
                                : history_stream_finish(sink->stream, why);
}

static void sink_drop(struct sink *sink)
{
    if (sink->writer != NULL) {
        history_writer_drop(sink->writer);
    } else if (sink->stream != NULL) {
        history_stream_close(sink->stream);
    }
}

static struct result pump(struct history_reader *reader, struct sink *sink, struct text *why)
{
    struct history_event event;
    bool more = true;
    for (;;) {
        TRY(history_reader_next(reader, &event, &more, why));
        if (!more) {
            return RESULT_OK;
        }
        bool named = event.kind == HISTORY_OP;
        const char *resource = named ? history_reader_resource(reader, event.resource) : "";
        TRY(sink_put(sink, &event, resource, why));
    }
}

struct result history_convert(const char *from, const struct history_reader_options *options,
                              const char *to, struct text *why)
{
    struct history_reader *reader = NULL;
    struct sink sink = {0};
    TRY(history_reader_open(from, options, &reader, why));
    struct result result = sink_open(&sink, history_reader_header(reader), to, why);
    if (!result_failed(result)) {
        result = pump(reader, &sink, why);
    }
    history_reader_close(reader);
    if (result_failed(result)) {
        sink_drop(&sink);
        return result;
    }
    return sink_close(&sink, why);
}
