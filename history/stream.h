/*
 * stream.h: a file that is read or written from front to back, compressed or not.
 *
 * The only file pair that knows zstd.
 */
#ifndef HISTORY_STREAM_H
#define HISTORY_STREAM_H

#include "base/result.h"
#include "base/text.h"

#include <stddef.h>

struct history_stream;

/* "-" is standard input. Tells compression by the first bytes. */
MUST_USE struct result history_stream_open(const char *path, struct history_stream **stream,
                                           struct text *why);

/* Read 1..bytes bytes; *got is 0 at the end only. */
MUST_USE struct result history_stream_read(struct history_stream *stream, char *data, size_t bytes,
                                           size_t *got, struct text *why);

/* Whether a compressed file ended in the middle of a frame. */
bool history_stream_was_cut(const struct history_stream *stream);

/* Create or overwrite a file; a path that ends in .zst is compressed. "-" is standard output. */
MUST_USE struct result history_stream_create(const char *path, struct history_stream **stream,
                                             struct text *why);
MUST_USE struct result history_stream_write(struct history_stream *stream, const char *data,
                                            size_t bytes, struct text *why);

/* End a file that is written: flushes, and reports a full disk; then half the file is taken away.
 * Gives the memory back always. */
MUST_USE struct result history_stream_finish(struct history_stream *stream, struct text *why);

/* End a file that is read, or drop one that is written: what is there of it is taken away. */
void history_stream_close(struct history_stream *stream);

#endif
