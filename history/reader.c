/* reader.c: reads a history of any format, and refuses what no history can say. */
#include "history/reader.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/foreign.h"
#include "history/foreign.h"
#include "history/format.h"
#include "history/names.h"
#include "history/owners.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DETECT_BYTES = 4096, NAME_SHOWN_BYTES = 64 };

struct history_reader {
    struct history_parse parse;
    const struct history_format *format;
    struct history_names names;
    struct history_owners owners;
    uint64_t event_count;
    int64_t time_ns;                  /* of the last event */
    int64_t skew_ns;                  /* times may go back by so much from one process to another */
    uint64_t reordered;               /* events whose time said another order than the file */
    struct reader_process *processes; /* owned */
    size_t process_count;
};

/* What is known of one process. */
struct reader_process {
    int64_t time_ns;   /* as recorded, of its last event */
    uint32_t resource; /* of what it has invoked */
    uint8_t open;      /* 0, or 1 + the f that it has invoked */
};

struct history_event history_event_blank(void)
{
    return (struct history_event){
        .process = HISTORY_NOBODY, .node = HISTORY_NO_NODE, .fault = HISTORY_NO_FAULT};
}

struct result history_parse_error(const struct history_parse *parse, enum error_code code,
                                  struct text *why, const char *format, ...)
{
    ASSERT(code != ERROR_NONE);
    text_add(why, "%s:%llu: ", parse->input.path, (unsigned long long)parse->input.line);
    va_list list;
    va_start(list, format);
    text_add_list(why, format, list);
    va_end(list);
    return result_error(code);
}

/* r0, r1, ... are their own numbers where the header counts the resources. */
static bool resource_counted(const char *name, size_t bytes, int32_t count, uint32_t *resource)
{
    if (bytes < 2 || bytes > 8 || name[0] != 'r' || (name[1] == '0' && bytes > 2)) {
        return false;
    }
    uint32_t number = 0;
    for (size_t i = 1; i < bytes; i++) {
        if (name[i] < '0' || name[i] > '9') {
            return false;
        }
        number = number * 10 + (uint32_t)(name[i] - '0');
    }
    *resource = number;
    return number < (uint32_t)count;
}

struct result history_parse_resource(struct history_parse *parse, const char *name, size_t bytes,
                                     uint32_t *resource, struct text *why)
{
    int32_t count = parse->header.resource_count;
    if (count > 0) {
        if (resource_counted(name, bytes, count, resource)) {
            return RESULT_OK;
        }
        char memory[NAME_SHOWN_BYTES];
        struct text shown = text_over(memory, sizeof memory);
        text_add_foreign(&shown, name, bytes);
        return history_parse_error(parse, ERROR_SCHEMA, why,
                                   "resource \"%s\" is not one of the %d that the header counts "
                                   "(r0 to r%d); without \"resources\" in the header any name will "
                                   "do",
                                   shown.data, count, count - 1);
    }
    if (bytes > HISTORY_RESOURCE_BYTES_MAX || memchr(name, '\0', bytes) != NULL) {
        return history_parse_error(
            parse, ERROR_LIMIT, why,
            "a resource's name of %zu bytes; at most %d are allowed, none of "
            "them zero",
            bytes, HISTORY_RESOURCE_BYTES_MAX);
    }
    switch (history_names_number(parse->names, name, bytes, resource)) {
    case NAMES_FOUND:
        return RESULT_OK;
    case NAMES_FULL:
        return history_parse_error(parse, ERROR_LIMIT, why, "more than %d resources",
                                   HISTORY_RESOURCES_MAX);
    case NAMES_NO_MEMORY:
        return history_parse_error(parse, ERROR_LIMIT, why,
                                   "no memory for another resource's name");
    }
    UNREACHABLE();
}

static struct result reader_detect(struct history_reader *reader, struct text *why)
{
    struct history_input *input = &reader->parse.input;
    bool more = true;
    while (more && input->end - input->begin < DETECT_BYTES) {
        TRY(history_input_fill(input, &more, why));
    }
    if (input->end - input->begin >= 3 &&
        memcmp(input->data + input->begin, "\xef\xbb\xbf", 3) == 0) {
        input->begin += 3; /* a byte order mark */
    }
    size_t count = input->end - input->begin;
    count = count < DETECT_BYTES ? count : DETECT_BYTES;
    if (count == 0) {
        text_add(why, "%s: the file is empty; a history begins with a header line", input->path);
        return result_error(ERROR_SYNTAX);
    }
    for (size_t i = 0; i < history_format_count; i++) {
        if (history_formats[i]->detect(input->data + input->begin, count)) {
            reader->format = history_formats[i];
            return RESULT_OK;
        }
    }
    text_add(why,
             "%s:1: not a history: expected the line "
             "{\"format\":\"picklock-history\",\"version\":1} or a history of Jepsen's",
             input->path);
    return result_error(ERROR_SYNTAX);
}

/* Where the header counts the resources, their names are r0, r1, ... */
static struct result reader_name_counted(struct history_reader *reader, struct text *why)
{
    for (int32_t i = 0; i < reader->parse.header.resource_count; i++) {
        char name[16];
        int bytes = snprintf(name, sizeof name, "r%d", i);
        uint32_t number = 0;
        if (history_names_number(&reader->names, name, (size_t)bytes, &number) != NAMES_FOUND) {
            return history_parse_error(&reader->parse, ERROR_LIMIT, why,
                                       "no memory for the names of %d resources",
                                       reader->parse.header.resource_count);
        }
        ASSERT(number == (uint32_t)i);
    }
    return RESULT_OK;
}

static struct result reader_begin(struct history_reader *reader, const char *path, struct text *why)
{
    const struct history_map *map = reader->parse.map;
    if (map != NULL && map->field[MAP_CARRY][0] != '\0') {
        TRY(history_owners_read(path, map, &reader->owners, why));
    }
    TRY(history_input_open(&reader->parse.input, path, why));
    TRY(reader_detect(reader, why));
    TRY(reader->format->begin(&reader->parse, why));
    return reader_name_counted(reader, why);
}

struct result history_reader_open(const char *path, const struct history_reader_options *options,
                                  struct history_reader **reader, struct text *why)
{
    struct history_reader *made = memory_resize(NULL, sizeof *made);
    if (made == NULL) {
        text_add(why, "%s: no memory to read it", path);
        return result_error(ERROR_IO);
    }
    memset(made, 0, sizeof *made);
    made->parse.map = options == NULL ? NULL : options->map;
    made->parse.met = options == NULL ? NULL : options->met;
    made->skew_ns = options == NULL ? 0 : options->skew_ns;
    made->parse.arena = arena_empty(GIBIBYTE);
    made->parse.names = &made->names;
    history_names_init(&made->names, &made->parse.arena);
    struct result begun = reader_begin(made, path, why);
    if (result_failed(begun)) {
        history_reader_close(made);
        return begun;
    }
    *reader = made;
    return RESULT_OK;
}

const struct history_header *history_reader_header(const struct history_reader *reader)
{
    return &reader->parse.header;
}

/* Make room for a process in the table of processes. */
static struct result reader_process_ready(struct history_reader *reader, int32_t process,
                                          struct text *why)
{
    size_t index = (size_t)process;
    if (index < reader->process_count) {
        return RESULT_OK;
    }
    if (process >= HISTORY_PROCESSES_MAX) {
        return history_parse_error(&reader->parse, ERROR_LIMIT, why,
                                   "process %d is beyond the limit of %d", process + 1,
                                   HISTORY_PROCESSES_MAX);
    }
    size_t count = reader->process_count < 64 ? 64 : reader->process_count;
    while (count <= index) {
        count *= 2;
    }
    struct reader_process *grown = memory_resize(reader->processes, count * sizeof *grown);
    if (grown == NULL) {
        return history_parse_error(&reader->parse, ERROR_LIMIT, why, "no memory for process %d",
                                   process + 1);
    }
    memset(grown + reader->process_count, 0, (count - reader->process_count) * sizeof *grown);
    reader->processes = grown;
    reader->process_count = count;
    return RESULT_OK;
}

/* A process as its file counts it: ours from 1, Jepsen's from 0. */
static int32_t process_shown(const struct history_reader *reader, int32_t process)
{
    return process + (reader->parse.header.format == HISTORY_FORMAT ? 1 : 0);
}

/* An operation that names no owner has that of its process. */
static void reader_own(const struct history_reader *reader, struct history_event *event)
{
    const struct history_value *owner = history_owners_of(&reader->owners, event->process);
    if ((event->flags & HISTORY_HAS_OWNER) == 0 && event->f != HISTORY_OBSERVE && owner != NULL) {
        event->owner = *owner;
        event->flags |= HISTORY_HAS_OWNER;
    }
}

/* An invoke and its end alternate in each process. */
static struct result reader_pair(struct history_reader *reader, struct history_event *event,
                                 struct text *why)
{
    if (event->process < 0) {
        return history_parse_error(&reader->parse, ERROR_SCHEMA, why,
                                   "an operation of nobody: it needs a process");
    }
    struct reader_process *process = &reader->processes[event->process];
    uint8_t *open = &process->open;
    if (event->type == HISTORY_INVOKE) {
        if (*open != 0) {
            return history_parse_error(&reader->parse, ERROR_SCHEMA, why,
                                       "process %d invokes %s while its %s is still open",
                                       process_shown(reader, event->process),
                                       history_f_name(event->f),
                                       history_f_name((enum history_f)(*open - 1)));
        }
        *open = (uint8_t)(event->f + 1);
        process->resource = event->resource;
        return RESULT_OK;
    }
    if (*open == 0) {
        return history_parse_error(&reader->parse, ERROR_SCHEMA, why,
                                   "process %d ends %s (%s) without an invoke",
                                   process_shown(reader, event->process), history_f_name(event->f),
                                   history_type_name(event->type));
    }
    if (*open != event->f + 1) {
        return history_parse_error(&reader->parse, ERROR_SCHEMA, why,
                                   "process %d ends %s but had invoked %s",
                                   process_shown(reader, event->process), history_f_name(event->f),
                                   history_f_name((enum history_f)(*open - 1)));
    }
    *open = 0;
    if (reader->parse.foreign) {
        event->resource = process->resource; /* its end may say something else in that place */
    }
    return RESULT_OK;
}

/*
 * Time does not go back. Only where the file numbers its events, as Jepsen does, may the times of
 * two processes say the opposite: the clock is read before the event gets its number, and the
 * number is what counts. Such an event is taken as right behind the one before it.
 */
static struct result reader_time(struct history_reader *reader, struct history_event *event,
                                 struct text *why)
{
    struct reader_process *process = event->kind == HISTORY_OP && event->process >= 0
                                         ? &reader->processes[event->process]
                                         : NULL;
    int64_t recorded = event->time_ns;
    bool back = recorded < reader->time_ns;
    if (process != NULL && recorded < process->time_ns) {
        return history_parse_error(&reader->parse, ERROR_SCHEMA, why,
                                   "time goes back from %lld to %lld ns in process %d",
                                   (long long)process->time_ns, (long long)recorded,
                                   process_shown(reader, event->process));
    }
    bool skewed = back && reader->skew_ns > 0 && reader->time_ns - recorded <= reader->skew_ns;
    if (back && !reader->parse.numbered && !skewed) {
        return history_parse_error(
            &reader->parse, ERROR_SCHEMA, why, "time goes back from %lld to %lld ns%s",
            (long long)reader->time_ns, (long long)recorded,
            reader->parse.foreign ? " (--skew tells how much the clocks of processes may differ)"
                                  : "");
    }
    if (process != NULL) {
        process->time_ns = recorded;
    }
    if (back) {
        event->time_ns = reader->time_ns + (skewed ? 0 : 1);
        reader->reordered++;
    }
    reader->time_ns = event->time_ns;
    return RESULT_OK;
}

/* What the header counts, the events keep to. */
static struct result reader_counts(const struct history_reader *reader,
                                   const struct history_event *event, struct text *why)
{
    const struct history_header *header = &reader->parse.header;
    uint64_t nodes = event->nodes | event->peers;
    int32_t node = nodes != 0 ? 63 - __builtin_clzll(nodes) : -1;
    node = event->node > node ? event->node : node;
    if (header->node_count > 0 && node >= header->node_count) {
        return history_parse_error(&reader->parse, ERROR_SCHEMA, why,
                                   "node %d, but the header counts %d", node + 1,
                                   header->node_count);
    }
    /* One more than counted: the auditor. */
    int32_t process = event->clients[1] > event->process ? event->clients[1] : event->process;
    if (header->client_count > 0 && process > header->client_count) {
        return history_parse_error(&reader->parse, ERROR_SCHEMA, why,
                                   "process %d, but the header counts %d clients and an auditor",
                                   process + 1, header->client_count);
    }
    if (event->fault >= HISTORY_FAULTS_MAX ||
        (header->fault_count > 0 && event->fault >= header->fault_count)) {
        return history_parse_error(&reader->parse, ERROR_SCHEMA, why,
                                   "fault %d, but the header counts %d", event->fault + 1,
                                   header->fault_count);
    }
    return RESULT_OK;
}

struct result history_reader_next(struct history_reader *reader, struct history_event *event,
                                  bool *more, struct text *why)
{
    struct history_event read = history_event_blank();
    read.index = reader->event_count;
    TRY(reader->format->next(&reader->parse, &read, more, why));
    if (!*more) {
        return RESULT_OK;
    }
    TRY(reader_counts(reader, &read, why));
    if (read.kind == HISTORY_OP && read.process >= 0) {
        TRY(reader_process_ready(reader, read.process, why));
    }
    TRY(reader_time(reader, &read, why));
    if (read.kind == HISTORY_OP) {
        TRY(reader_pair(reader, &read, why));
        reader_own(reader, &read);
    }
    reader->event_count++;
    *event = read;
    return RESULT_OK;
}

uint64_t history_reader_reordered(const struct history_reader *reader)
{
    return reader->reordered;
}

uint64_t history_reader_line(const struct history_reader *reader)
{
    return reader->parse.input.line;
}

bool history_reader_was_cut(const struct history_reader *reader)
{
    return reader->parse.cut;
}

const char *history_reader_resource(const struct history_reader *reader, uint32_t resource)
{
    ASSERT(resource < reader->names.count);
    return reader->names.name[resource];
}

void history_reader_close(struct history_reader *reader)
{
    history_input_close(&reader->parse.input);
    history_names_release(&reader->names);
    history_owners_release(&reader->owners);
    arena_release(&reader->parse.arena);
    memory_release(reader->processes);
    memory_release(reader);
}
