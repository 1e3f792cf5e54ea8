/*
 * writer.h: writes a history as JSON lines (docs/HISTORY.md).
 *
 *     TRY(history_writer_open("history.jsonl", &header, &writer, why));
 *     TRY(history_writer_event(writer, &event, why));      for each event, in order
 *     TRY(history_writer_close(writer, why));              flushes; reports a full disk
 *
 * A path that ends in .zst is compressed. Resources are written as r0, r1, ... The same header and
 * events give the same bytes, anywhere.
 */
#ifndef HISTORY_WRITER_H
#define HISTORY_WRITER_H

#include "base/result.h"
#include "base/text.h"
#include "history/event.h"

struct history_writer;

MUST_USE struct result history_writer_open(const char *path, const struct history_header *header,
                                           struct history_writer **writer, struct text *why);
MUST_USE struct result history_writer_event(struct history_writer *writer,
                                            const struct history_event *event, struct text *why);
/* Ends the writer in every case; on failure there is no file, and `why` says so. */
MUST_USE struct result history_writer_close(struct history_writer *writer, struct text *why);
/* Ends it for another reason than its own: what is there of the file is taken away. */
void history_writer_drop(struct history_writer *writer);

/* One line, with its newline: what the writer writes, and what hashes are made of. */
void history_header_print(const struct history_header *header, struct text *text);
void history_event_print(const struct history_event *event, struct text *text);

#endif
