/* file.c: reads a history as often as its judgement needs. */
#include "checker/linear/file.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "history/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 16, ORDER_LINE_BYTES = 32 };

/* A file that can be read again. */
struct source {
    const char *path;
    const char *shown; /* as the user named it */
    FILE *copy;        /* of standard input; owned */
    char copy_path[64];
    const struct history_reader_options *readers;
};

static struct result source_open(struct source *source, const char *path, struct text *why)
{
    source->path = source->shown = path;
    if (strcmp(path, "-") != 0) {
        return RESULT_OK;
    }
    source->copy = tmpfile();
    if (source->copy == NULL) {
        text_add(why, "-: cannot make a temporary file to read standard input twice: %s",
                 strerror(errno));
        return result_error(ERROR_IO);
    }
    static char bytes[COPY_BYTES];
    size_t got = fread(bytes, 1, sizeof bytes, stdin);
    for (; got > 0; got = fread(bytes, 1, sizeof bytes, stdin)) {
        if (fwrite(bytes, 1, got, source->copy) != got) {
            break;
        }
    }
    if (ferror(stdin) || fflush(source->copy) != 0 || got > 0) {
        text_add(why, "-: cannot copy standard input to a temporary file: %s", strerror(errno));
        return result_error(ERROR_IO);
    }
    snprintf(source->copy_path, sizeof source->copy_path, "/proc/self/fd/%d", fileno(source->copy));
    source->path = source->copy_path;
    return RESULT_OK;
}

static void source_close(struct source *source)
{
    if (source->copy != NULL) {
        fclose(source->copy);
    }
}

/* Name the file in a refusal as the user did. */
static struct result source_explain(const struct source *source, struct result result,
                                    struct text *inner, struct text *why)
{
    size_t skip = strlen(source->path);
    bool named = strncmp(inner->data, source->path, skip) == 0;
    text_add(why, "%s%s", named ? source->shown : "", inner->data + (named ? skip : 0));
    return result;
}

/* Name the locks that have a verdict, or none. */
static void name_locks(const struct history_reader *reader, const struct linear *linear,
                       bool settled, struct linear_locks *locks)
{
    uint32_t resources[LINEAR_LOCKS_NAMED];
    locks->count = linear_locks(linear, settled, resources, LINEAR_LOCKS_NAMED);
    locks->named = locks->count < LINEAR_LOCKS_NAMED ? (uint32_t)locks->count : LINEAR_LOCKS_NAMED;
    for (uint32_t i = 0; i < locks->named; i++) {
        snprintf(locks->names[i], sizeof locks->names[i], "%s",
                 history_reader_resource(reader, resources[i]));
    }
}

/* Which locks were settled before a limit was reached: only a limit of the search leaves some, or
 * nothing is kept yet. */
static void tell_settled(const struct history_reader *reader, const struct linear *linear,
                         struct linear_report *report)
{
    bool cut = !report->result.again && (report->result.verdict == VERDICT_UNKNOWN ||
                                         report->result.limit >= LINEAR_LIMIT_PERMITS);
    if (cut) {
        name_locks(reader, linear, true, &report->settled);
        name_locks(reader, linear, false, &report->unsettled);
    }
}

static struct result feed(struct history_reader *reader, struct linear *linear,
                          struct linear_report *report, struct text *why)
{
    struct history_event event;
    bool more = true;
    for (;;) {
        TRY(history_reader_next(reader, &event, &more, why));
        if (!more) {
            break;
        }
        report->events++;
        linear_event(linear, &event);
    }
    linear_finish(linear);
    report->result = *linear_result(linear);
    report->process_first = history_reader_header(reader)->format != 0 ? 1 : 0;
    report->cut = history_reader_was_cut(reader);
    report->reordered = history_reader_reordered(reader);
    report->resources = report->result.fast_count + report->result.frontier_count;
    tell_settled(reader, linear, report);
    if (report->result.judged > 0) {
        const char *name = history_reader_resource(reader, report->result.resource);
        snprintf(report->resource, sizeof report->resource, "%s", name);
    }
    return RESULT_OK;
}

static struct result judge_source(const struct source *source, const struct linear_options *options,
                                  struct linear_report *report, struct linear **linear,
                                  struct text *why)
{
    struct history_reader *reader = NULL;
    char memory[WHY_BYTES];
    struct text inner = text_over(memory, sizeof memory);
    *report = (struct linear_report){.options = *options};
    *linear = linear_open(options);
    if (*linear == NULL) {
        text_add(why, "%s: no memory to judge it", source->shown);
        return result_error(ERROR_LIMIT);
    }
    struct result result = history_reader_open(source->path, source->readers, &reader, &inner);
    if (!result_failed(result)) {
        result = feed(reader, *linear, report, &inner);
        history_reader_close(reader);
    }
    return result_failed(result) ? source_explain(source, result, &inner, why) : result;
}

/* Among all operations there may be better evidence than among those at hand when it failed. */
static struct result find_evidence(const struct source *source,
                                   const struct linear_options *options,
                                   struct linear_report *report, struct text *why)
{
    struct linear *linear = NULL;
    struct linear_report better;
    struct linear_options kept = *options;
    kept.engine = LINEAR_ENGINE_WHOLE;
    kept.log_bytes_max = options->bytes_max / 2;
    struct result result = judge_source(source, &kept, &better, &linear, why);
    linear_close(linear);
    if (!result_failed(result) && better.result.verdict == VERDICT_FAIL && !better.result.helped) {
        report->result = better.result;
        snprintf(report->resource, sizeof report->resource, "%s", better.resource);
    }
    return result;
}

/* Judge, and once more with all operations kept if that is what it takes. */
static struct result judge_twice(const struct source *source, const struct linear_options *options,
                                 struct linear_report *report, struct linear **linear,
                                 struct text *why)
{
    TRY(judge_source(source, options, report, linear, why));
    if (report->result.verdict == VERDICT_FAIL && report->result.helped) {
        return find_evidence(source, options, report, why);
    }
    if (!report->result.again) {
        return RESULT_OK;
    }
    uint8_t limit = report->result.limit;
    struct linear_options kept = *options;
    kept.log_bytes_max = options->bytes_max / 2;
    linear_close(*linear);
    TRY(judge_source(source, &kept, report, linear, why));
    if (report->result.limit == LINEAR_LIMIT_NONE) {
        report->result.limit = limit; /* why the fast path stepped aside */
    }
    return RESULT_OK;
}

/* Read the events of the operations that the result names. */
static struct result collect(struct history_reader *reader, struct linear_report *report,
                             struct text *why)
{
    struct history_event event;
    bool more = true;
    uint8_t count = report->result.operation_count;
    int open = count;
    while (open > 0) {
        TRY(history_reader_next(reader, &event, &more, why));
        if (!more) {
            break;
        }
        for (uint8_t i = 0; i < count; i++) {
            struct linear_witness *witness = &report->witnesses[i];
            if (event.index == report->result.operations[i]) {
                witness->invoke = event;
                witness->line = history_reader_line(reader);
            } else if (witness->line > 0 && !witness->ended && event.kind == HISTORY_OP &&
                       event.process == witness->invoke.process) {
                witness->end = event;
                witness->end.time_ns += 2 * report->options.skew_ns;
                witness->ended = true;
                open--;
            }
        }
    }
    return RESULT_OK;
}

static struct result show_operations(const struct source *source, struct linear_report *report,
                                     struct text *why)
{
    struct history_reader *reader = NULL;
    if (report->result.operation_count == 0) {
        return RESULT_OK;
    }
    TRY(history_reader_open(source->path, source->readers, &reader, why));
    struct result result = collect(reader, report, why);
    history_reader_close(reader);
    report->confirmed = report->result.verdict == VERDICT_FAIL &&
                        linear_certificate_holds(&report->options, report->witnesses,
                                                 report->result.operation_count);
    return result;
}

struct result linear_check_file(const char *path, const struct history_reader_options *readers,
                                const struct linear_options *options, struct linear_report *report,
                                struct text *why)
{
    struct source source = {.readers = readers};
    struct linear *linear = NULL;
    struct result result = source_open(&source, path, why);
    if (!result_failed(result)) {
        result = judge_twice(&source, options, report, &linear, why);
    }
    linear_close(linear);
    if (!result_failed(result)) {
        result = show_operations(&source, report, why);
    }
    source_close(&source);
    return result;
}

static struct result put_order(const struct linear *linear, struct history_stream *stream,
                               struct text *why)
{
    const uint64_t *invokes = NULL;
    size_t count = linear_order(linear, &invokes);
    for (size_t i = 0; i < count; i++) {
        char memory[ORDER_LINE_BYTES];
        struct text line = text_over(memory, sizeof memory);
        text_add(&line, "%llu\n", (unsigned long long)invokes[i]);
        TRY(history_stream_write(stream, line.data, line.length, why));
    }
    return RESULT_OK;
}

static struct result write_order(const struct linear *linear, const char *order_path,
                                 struct text *why)
{
    struct history_stream *stream = NULL;
    TRY(history_stream_create(order_path, &stream, why));
    struct result result = put_order(linear, stream, why);
    if (result_failed(result)) {
        history_stream_close(stream);
        return result;
    }
    return history_stream_finish(stream, why);
}

struct result linear_order_file(const char *path, const struct history_reader_options *readers,
                                const struct linear_options *options, const char *order_path,
                                struct text *why)
{
    struct source source = {.readers = readers};
    struct linear *linear = NULL;
    struct linear_report report;
    struct linear_options kept = *options;
    if (options->model == LINEAR_LEASE_EXACT) {
        text_add(why,
                 "%s: no order is written for the model %s: whether an operation is legal "
                 "there depends on times, not only on the order",
                 path, linear_model_name((enum linear_model)options->model));
        return result_error(ERROR_USAGE);
    }
    kept.order = true;
    kept.log_bytes_max = options->bytes_max / 2;
    struct result result = source_open(&source, path, why);
    if (!result_failed(result)) {
        result = judge_source(&source, &kept, &report, &linear, why);
    }
    if (!result_failed(result) && report.result.verdict != VERDICT_PASS) {
        text_add(why, "%s: there is no legal order to write: the verdict is %s", source.shown,
                 verdict_name((enum verdict)report.result.verdict));
        result = result_error(ERROR_SCHEMA);
    }
    if (!result_failed(result)) {
        result = write_order(linear, order_path, why);
    }
    linear_close(linear);
    source_close(&source);
    return result;
}

static void print_witness(const struct linear_report *report, const struct linear_witness *witness,
                          struct text *text)
{
    bool one_line = report->result.operation_count > 1 &&
                    report->witnesses[0].line == report->witnesses[1].line;
    const struct history_event *invoke = &witness->invoke;
    text_add(text, "  line %llu", (unsigned long long)witness->line);
    if (one_line) {
        text_add(text, ", event %llu", (unsigned long long)invoke->index);
    }
    text_add(text, ": process %d %s from ", invoke->process + report->process_first,
             history_f_name((enum history_f)invoke->f));
    duration_print_rounded(invoke->time_ns, text);
    if (!witness->ended) {
        text_add(text, ", never ended\n");
        return;
    }
    text_add(text, " to ");
    duration_print_rounded(witness->end.time_ns - 2 * report->options.skew_ns, text);
    text_add(text, ": %s", history_type_name((enum history_type)witness->end.type));
    if (witness->end.fence > 0) {
        text_add(text, ", fence %lld", (long long)witness->end.fence);
    }
    if ((witness->end.flags & HISTORY_HAS_UNTIL) != 0) {
        text_add(text, ", promised until ");
        duration_print_rounded(witness->end.until_ns, text);
    }
    text_add(text, "\n");
}

/* What a pass rests on. */
static void print_doubts(const struct linear_report *report, struct text *text)
{
    const struct linear_result *result = &report->result;
    if (result->verdict == VERDICT_PASS && result->untold > 0) {
        text_add(text,
                 "  not told of %llu lock%s: whether something is legal only because a release of "
                 "unknown outcome took effect\n",
                 (unsigned long long)result->untold, result->untold == 1 ? "" : "s");
    }
    if (result->possible > 0) {
        text_add(text,
                 "  %llu operation%s legal only because a release of unknown outcome took effect; "
                 "the first, of lock %s:\n",
                 (unsigned long long)result->possible, result->possible == 1 ? " is" : "s are",
                 report->resource);
    }
}

static void print_locks(const char *what, const struct linear_locks *locks, struct text *text)
{
    text_add(text, "  %s: %s", what, locks->count == 0 ? "none" : "");
    for (uint32_t i = 0; i < locks->named; i++) {
        text_add(text, "%s%s", i == 0 ? "" : ", ", locks->names[i]);
    }
    if (locks->count > locks->named) {
        text_add(text, " and %llu more", (unsigned long long)(locks->count - locks->named));
    }
    text_add(text, "\n");
}

static void print_json_locks(const char *what, const struct linear_locks *locks, struct text *text)
{
    text_add(text, ",\"%s_count\":%llu,\"%s\":[", what, (unsigned long long)locks->count, what);
    for (uint32_t i = 0; i < locks->named; i++) {
        text_add(text, i == 0 ? "" : ",");
        text_add_json(text, locks->names[i]);
    }
    text_add(text, "]");
}

void linear_report_json(const struct linear_report *report, struct text *text)
{
    if (report->unsettled.count > 0) {
        print_json_locks("settled", &report->settled, text);
        print_json_locks("unsettled", &report->unsettled, text);
    }
}

void linear_report_print(const struct linear_report *report, struct text *text)
{
    const struct linear_result *result = &report->result;
    text_add(text, "linearizable: %s", verdict_name((enum verdict)result->verdict));
    if (result->grade != GRADE_NONE) {
        text_add(text, " (%s)", grade_name((enum grade)result->grade));
    }
    text_add(text, ", %llu operations on %llu locks\n  ", (unsigned long long)result->judged,
             (unsigned long long)report->resources);
    linear_policy_print(&report->options, text);
    text_add(text, "\n");
    if (report->reordered > 0) {
        text_add(text, "  %llu times go back; %s\n", (unsigned long long)report->reordered,
                 report->options.skew_ns > 0 ? "each is taken as that of the event before it"
                                             : "there the numbers of the events (:index) count");
    }
    if (report->options.skew_ns > 0) {
        text_add(text, "  assumed: the clocks of two processes differ by at most ");
        duration_print(report->options.skew_ns, text);
        text_add(text, ", so an operation may take effect up to twice that behind its return\n");
    }
    bool searched = result->frontier_count > 0;
    if (result->limit != LINEAR_LIMIT_NONE && (searched || result->verdict == VERDICT_UNKNOWN)) {
        text_add(text, "  %s: %s\n",
                 result->verdict == VERDICT_UNKNOWN ? "unknown because"
                 : report->unsettled.count > 0      ? "not all settled because"
                                                    : "searched because",
                 linear_limit_sentence((enum linear_limit)result->limit));
    }
    if (report->unsettled.count > 0) {
        print_locks("settled locks", &report->settled, text);
        print_locks("locks not settled", &report->unsettled, text);
    }
    if (result->verdict == VERDICT_FAIL) {
        text_add(text, "  lock %s: %s%s\n", report->resource,
                 linear_reason_sentence((enum linear_reason)result->reason),
                 !report->confirmed ? "; close to where they end:"
                 : result->helped   ? "; these alone contradict each other, and what could "
                                      "reconcile them is needed elsewhere:"
                                    : "; these alone contradict each other:");
    } else {
        print_doubts(report, text);
    }
    for (uint8_t i = 0; i < result->operation_count; i++) {
        print_witness(report, &report->witnesses[i], text);
    }
}
