/*
 * reader.h: reads a recorded history, one event at a time.
 *
 *     struct history_reader *reader;
 *     TRY(history_reader_open("history.jsonl", &options, &reader, why));
 *     const struct history_header *header = history_reader_header(reader);
 *     bool more = true;
 *     while (more) { TRY(history_reader_next(reader, &event, &more, why)); ... }
 *     history_reader_close(reader);
 *
 * Our own JSON lines (docs/HISTORY.md), Jepsen's EDN (one map a line, or one vector) and JSON, each
 * also compressed (.zst), or standard input as "-". Memory is bounded by one line and the table of
 * resource names, not by the length. A history cut short by a crash is valid, also in the middle of
 * its last line: what was open may or may not have happened.
 */
#ifndef HISTORY_READER_H
#define HISTORY_READER_H

#include "base/result.h"
#include "base/text.h"
#include "history/event.h"

struct history_reader;
struct history_met; /* foreign.h: which of its errors stand there */
struct history_map; /* foreign.h: where operations, owners, values stand in a foreign history */

struct history_reader_options {
    int64_t skew_ns; /* the clocks of two processes may differ by so much: times may go back */
    const struct history_map *map; /* NULL: our own, or a foreign one by its usual names */
    struct history_met *met;       /* added to as it is read; NULL: nobody asks */
};

/*
 *   path    in   A file, or "-". The format is told by its first bytes, not by its name.
 *   reader  out  On success; to be closed by the caller.
 *   why     out  On failure "PATH: sentence" or "PATH:LINE: sentence".
 *
 * Returns ERROR_IO, ERROR_SYNTAX, ERROR_SCHEMA, or ERROR_LIMIT.
 */
MUST_USE struct result history_reader_open(const char *path,
                                           const struct history_reader_options *options,
                                           struct history_reader **reader, struct text *why);

const struct history_header *history_reader_header(const struct history_reader *reader);

/*
 * Read the next event. *more is false at the end (then `event` is untouched). Fails on a line that
 * is no event, an end without an invoke, two invokes in a row by one process, or time going back
 * (in one process, or where the file does not number its events).
 */
MUST_USE struct result history_reader_next(struct history_reader *reader,
                                           struct history_event *event, bool *more,
                                           struct text *why);

/*
 * How many events so far had a time that said another order than their number in the file (Jepsen's
 * :index), which counts: each was given the time right behind the event before it.
 */
uint64_t history_reader_reordered(const struct history_reader *reader);

/* The line that the last event stood on, from 1. */
uint64_t history_reader_line(const struct history_reader *reader);

/* True if the file ended in the middle of its last line, which was left out. */
bool history_reader_was_cut(const struct history_reader *reader);

/* The name of a resource seen so far: "r0". Borrowed until close. */
const char *history_reader_resource(const struct history_reader *reader, uint32_t resource);

void history_reader_close(struct history_reader *reader);

#endif
