/* trace.c: bars as slices, messages as flows. */
#include "checker/report/trace.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "checker/explain/explain_words.h"
#include "checker/report/marks.h"

#include <inttypes.h>
#include <string.h>

/* Perfetto's processes; a client, a node, a fault is a thread of one of them. */
enum { PID_STORY = 1, PID_FAULTS, PID_STORE, PID_CLIENTS, PID_NODES };

/* A client's leases, sections and waits lie on rows of their own: they need not nest. */
enum { ROWS_OF_CLIENT = 3, NAME_BYTES = 256 };

struct open_bar {
    bool open;
    uint8_t bar;
    int32_t process;
    int32_t node;
    uint32_t resource;
    uint64_t index; /* of the event that opened it */
    int64_t from_ns;
    int64_t until_ns;
};

struct trace {
    const struct explain_history *history;
    struct sheet *sheet;
    int64_t last_ns;
    bool comma;
    size_t count;
    size_t room;
    struct open_bar *bars; /* owned */
};

/* ---- one event of the trace ------------------------------------------------------------------ */

static void put_us(struct trace *trace, const char *name, int64_t time_ns)
{
    sheet_add(trace->sheet, ",\"%s\":%s%" PRId64 ".%03" PRId64, name, time_ns < 0 ? "-" : "",
              (time_ns < 0 ? -time_ns : time_ns) / 1000, (time_ns < 0 ? -time_ns : time_ns) % 1000);
}

static void begin(struct trace *trace, char phase, const char *name)
{
    sheet_add(trace->sheet, "%s\n{\"ph\":\"%c\",\"name\":", trace->comma ? "," : "", phase);
    encode_json(trace->sheet, name);
    trace->comma = true;
}

static void put_place(struct trace *trace, int pid, int64_t tid)
{
    sheet_add(trace->sheet, ",\"pid\":%d,\"tid\":%" PRId64, pid, tid);
}

static void name_process(struct trace *trace, int pid, const char *name)
{
    begin(trace, 'M', "process_name");
    put_place(trace, pid, 0);
    sheet_add_text(trace->sheet, ",\"args\":{\"name\":");
    encode_json(trace->sheet, name);
    sheet_add_text(trace->sheet, "}}");
    begin(trace, 'M', "process_sort_index");
    sheet_add(trace->sheet, ",\"pid\":%d,\"args\":{\"sort_index\":%d}}", pid, pid);
}

static void name_row(struct trace *trace, int pid, int64_t tid, const char *name)
{
    begin(trace, 'M', "thread_name");
    put_place(trace, pid, tid);
    sheet_add_text(trace->sheet, ",\"args\":{\"name\":");
    encode_json(trace->sheet, name);
    sheet_add_text(trace->sheet, "}}");
}

/* ---- bars ------------------------------------------------------------------------------------ */

static int64_t row_of_client(int32_t process, uint8_t bar)
{
    int row = bar == MARK_LEASE ? 0 : bar == MARK_SECTION ? 1 : 2;
    return (int64_t)process * ROWS_OF_CLIENT + row + 1;
}

static void put_resource_name(const struct trace *trace, uint32_t resource, struct text *text)
{
    if (trace->history->resources != NULL) {
        text_add(text, "%s", trace->history->resources[resource]);
    } else {
        text_add(text, "r%" PRIu32, resource);
    }
}

static void bar_name(const struct trace *trace, const struct open_bar *bar, struct text *text)
{
    const struct history_event *event = &trace->history->events[bar->index];
    if (bar->bar == MARK_WAIT) {
        text_add(text, "%s ", history_f_name((enum history_f)event->f));
    } else if (bar->bar == MARK_KEY) {
        put_client_number(text, trace->history->header, bar->process);
        text_add(text, ": ");
    } else {
        text_add(text, "%s ", mark_bar_name((enum mark_bar)bar->bar));
    }
    put_resource_name(trace, bar->resource, text);
}

static void print_bar(struct trace *trace, const struct open_bar *bar, int64_t end_ns,
                      enum mark_how how)
{
    char memory[NAME_BYTES];
    struct text name = text_over(memory, sizeof memory);
    bool key = bar->bar == MARK_KEY;
    bar_name(trace, bar, &name);
    begin(trace, 'X', memory);
    put_place(trace, key ? PID_NODES : PID_CLIENTS,
              key ? bar->node + 1 : row_of_client(bar->process, bar->bar));
    put_us(trace, "ts", bar->from_ns);
    put_us(trace, "dur", end_ns > bar->from_ns ? end_ns - bar->from_ns : 0);
    sheet_add(trace->sheet, ",\"args\":{\"event\":%" PRIu64 ",\"end\":\"%s\"", bar->index,
              how == HOW_NONE ? "open" : mark_how_name(how));
    if (bar->until_ns != TIME_NEVER) {
        put_us(trace, "until_us", bar->until_ns);
    }
    sheet_add_text(trace->sheet, "}}");
}

static struct open_bar *bar_find(struct trace *trace, const struct mark *mark)
{
    for (size_t i = 0; i < trace->count; i++) {
        struct open_bar *bar = &trace->bars[i];
        bool same_place =
            mark->bar == MARK_KEY ? bar->node == mark->node : bar->process == mark->process;
        if (bar->open && bar->bar == mark->bar && same_place && bar->resource == mark->resource) {
            return bar;
        }
    }
    return NULL;
}

/* A free place; NULL if memory is short. */
static struct open_bar *bar_new(struct trace *trace)
{
    for (size_t i = 0; i < trace->count; i++) {
        if (!trace->bars[i].open) {
            return &trace->bars[i];
        }
    }
    if (trace->count == trace->room) {
        size_t room = trace->room == 0 ? 64 : 2 * trace->room;
        struct open_bar *bars = memory_resize(trace->bars, room * sizeof *bars);
        if (bars == NULL) {
            trace->sheet->cut = true;
            return NULL;
        }
        trace->bars = bars;
        trace->room = room;
    }
    return &trace->bars[trace->count++];
}

/* A lease that was not given back ended when it was promised to. */
static void bar_close(struct trace *trace, struct open_bar *bar, int64_t now_ns, enum mark_how how)
{
    bool ran_out = bar->bar == MARK_LEASE && bar->until_ns < now_ns;
    print_bar(trace, bar, ran_out ? bar->until_ns : now_ns, ran_out ? HOW_EXPIRED : how);
    bar->open = false;
}

static void take_mark(struct trace *trace, const struct mark *mark,
                      const struct history_event *event)
{
    struct open_bar *bar = bar_find(trace, mark);
    if (mark->turn == MARK_MOVE && bar != NULL) {
        bar->until_ns = mark->until_ns;
    } else if (bar != NULL) {
        bar_close(trace, bar, event->time_ns,
                  mark->turn == MARK_CLOSE ? (enum mark_how)mark->how : HOW_NONE);
    }
    bar = mark->turn == MARK_OPEN ? bar_new(trace) : NULL;
    if (bar != NULL) {
        *bar = (struct open_bar){.open = true,
                                 .bar = mark->bar,
                                 .process = mark->process,
                                 .node = mark->node,
                                 .resource = mark->resource,
                                 .index = event->index,
                                 .from_ns = event->time_ns,
                                 .until_ns = mark->until_ns};
    }
}

/* ---- points, messages, faults ---------------------------------------------------------------- */

static void print_instant(struct trace *trace, const struct history_event *event, int pid,
                          int64_t tid)
{
    char memory[4 * NAME_BYTES];
    struct text words = text_over(memory, sizeof memory);
    struct telling telling = {.history = trace->history, .text = &words};
    put_event(&telling, event);
    begin(trace, 'i', memory);
    put_place(trace, pid, tid);
    put_us(trace, "ts", event->time_ns);
    sheet_add(trace->sheet, ",\"s\":\"t\",\"args\":{\"event\":%" PRIu64 "}}", event->index);
}

/* From the client that sent it to the node, as one arrow. */
static void print_message(struct trace *trace, const struct history_event *event)
{
    static const char phases[] = {'s', 'f'};
    for (int end = 0; end < 2; end++) {
        begin(trace, phases[end], event->command[0] != '\0' ? event->command : "command");
        sheet_add(trace->sheet, ",\"cat\":\"message\",\"id\":%" PRIu64 "%s", event->index,
                  end == 1 ? ",\"bp\":\"e\"" : "");
        if (end == 0) {
            put_place(trace, PID_CLIENTS, row_of_client(event->process, MARK_WAIT));
            put_us(trace, "ts", event->sent_ns);
        } else {
            put_place(trace, PID_NODES, event->node + 1);
            put_us(trace, "ts", event->time_ns);
        }
        sheet_add_text(trace->sheet, "}");
    }
}

static void print_fault(struct trace *trace, const struct history_event *start)
{
    char memory[NAME_BYTES];
    struct text name = text_over(memory, sizeof memory);
    struct telling telling = {.history = trace->history, .text = &name};
    int64_t end_ns = trace->last_ns;
    for (size_t i = start->index + 1; i < trace->history->count; i++) {
        const struct history_event *event = &trace->history->events[i];
        if (event->kind == HISTORY_FAULT && event->f == HISTORY_FAULT_END &&
            event->fault == start->fault) {
            end_ns = event->time_ns;
            break;
        }
    }
    put_fault(&telling, start);
    begin(trace, 'X', memory);
    put_place(trace, PID_FAULTS, start->fault + 1);
    put_us(trace, "ts", start->time_ns);
    put_us(trace, "dur", end_ns - start->time_ns);
    sheet_add(trace->sheet, ",\"args\":{\"event\":%" PRIu64 "}}", start->index);
}

static void take_event(struct trace *trace, const struct history_event *event)
{
    bool operation = event->kind == HISTORY_OP;
    bool store = operation && event->type != HISTORY_INVOKE &&
                 (event->f == HISTORY_WRITE || event->f == HISTORY_READ);
    if (event->kind == HISTORY_FAULT && event->f == HISTORY_FAULT_START && event->fault >= 0) {
        print_fault(trace, event);
    } else if (event->kind == HISTORY_NODE) {
        if (event->process != HISTORY_NOBODY && (event->flags & HISTORY_HAS_SENT) != 0) {
            print_message(trace, event);
        }
        print_instant(trace, event, PID_NODES, event->node + 1);
    } else if (store) {
        print_instant(trace, event, PID_STORE, 1);
    } else if (event->kind == HISTORY_NOTICE || event->kind == HISTORY_CLIENT) {
        print_instant(trace, event, PID_CLIENTS, row_of_client(event->process, MARK_LEASE));
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void print_names(struct trace *trace)
{
    const struct history_header *header = trace->history->header;
    static const char *const rows[ROWS_OF_CLIENT] = {"lease", "section", "operations"};
    char memory[NAME_BYTES];
    name_process(trace, PID_STORY, "findings");
    name_process(trace, PID_FAULTS, "faults");
    name_process(trace, PID_STORE, "guarded store");
    name_process(trace, PID_CLIENTS, "clients");
    name_process(trace, PID_NODES, "nodes");
    for (int32_t process = 0; process <= header->client_count; process++) {
        for (int row = 0; row < ROWS_OF_CLIENT; row++) {
            struct text name = text_over(memory, sizeof memory);
            if (header->client_count > 0 && process == header->client_count) {
                text_add(&name, "auditor");
            } else {
                put_client_number(&name, header, process);
            }
            text_add(&name, ": %s", rows[row]);
            name_row(trace, PID_CLIENTS, (int64_t)process * ROWS_OF_CLIENT + row + 1, memory);
        }
    }
    bool cluster = history_is_cluster(header);
    for (int32_t node = 0; node < (cluster ? 1 : header->node_count); node++) {
        struct text name = text_over(memory, sizeof memory);
        if (cluster) {
            text_add(&name, "cluster");
        } else {
            text_add(&name, "node %" PRId32, node + 1);
        }
        name_row(trace, PID_NODES, node + 1, memory);
    }
}

static void print_stories(struct trace *trace, const struct stories *stories)
{
    for (uint32_t i = 0; i < stories->cause_count; i++) {
        const struct story_cause *cause = &stories->causes[i];
        name_row(trace, PID_STORY, i + 1, cause->title);
        begin(trace, 'X', cause->box.label[0] != '\0' ? cause->box.label : "violation");
        put_place(trace, PID_STORY, i + 1);
        put_us(trace, "ts", cause->box.from_ns);
        put_us(trace, "dur", cause->box.to_ns - cause->box.from_ns);
        sheet_add_text(trace->sheet, "}");
        for (uint8_t k = 0; k < cause->step_count; k++) {
            char memory[2 * STORY_SENTENCE_BYTES];
            struct text name = text_over(memory, sizeof memory);
            text_add(&name, "%u %s", k + 1u, cause->steps[k].label);
            begin(trace, 'i', memory);
            put_place(trace, PID_STORY, i + 1);
            put_us(trace, "ts", cause->steps[k].time_ns);
            sheet_add_text(trace->sheet, ",\"s\":\"p\",\"args\":{\"says\":");
            encode_json(trace->sheet, cause->steps[k].sentence);
            sheet_add(trace->sheet, ",\"event\":%" PRIu64 "}}", cause->steps[k].event);
        }
    }
}

void trace_print(const struct explain_history *history, const struct stories *stories,
                 struct sheet *sheet)
{
    struct trace trace = {.history = history, .sheet = sheet};
    struct marker *marker = marker_open(history->header);
    struct marks marks;
    sheet->cut = sheet->cut || marker == NULL;
    sheet_add_text(sheet, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    trace.last_ns = history->count > 0 ? history->events[history->count - 1].time_ns : 0;
    print_names(&trace);
    print_stories(&trace, stories);
    for (size_t i = 0; marker != NULL && i < history->count; i++) {
        marker_step(marker, &history->events[i], &marks);
        take_event(&trace, &history->events[i]);
        for (uint32_t k = 0; k < marks.count; k++) {
            take_mark(&trace, &marks.list[k], &history->events[i]);
        }
    }
    for (size_t i = 0; i < trace.count; i++) {
        if (trace.bars[i].open) {
            bar_close(&trace, &trace.bars[i], trace.last_ns, HOW_NONE);
        }
    }
    sheet_add_text(sheet, "\n]}\n");
    memory_release(trace.bars);
    marker_close(marker);
}
