/*
 * input.h: the bytes of a history file, block by block: plain, .zst or standard input.
 *
 *     TRY(history_input_open(&input, path, why));
 *     TRY(history_input_line(&input, &line, &bytes, &more, why));      one line after the other, or
 *     TRY(history_input_fill(&input, &more, why));                     input.data[begin..end)
 *
 * Compression is told by the first bytes, not by the name. Memory is one buffer, grown to at most
 * `bytes_max` for an unbroken piece.
 */
#ifndef HISTORY_INPUT_H
#define HISTORY_INPUT_H

#include "base/result.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

struct history_stream; /* stream.h */

struct history_input {
    struct history_stream *stream; /* owned */
    const char *path;              /* borrowed */
    char *data;                    /* owned; data[begin..end) is read and not used yet */
    size_t begin;
    size_t end;
    size_t bytes;     /* size of data */
    size_t bytes_max; /* longest piece; HISTORY_LINE_BYTES_MAX, a format may raise it */
    uint64_t line;    /* of what was given last, from 1 */
    bool ended;       /* nothing more to fill */
    bool cut;         /* the compressed stream ended in the middle */
};

MUST_USE struct result history_input_open(struct history_input *input, const char *path,
                                          struct text *why);

struct history_line {
    char *text;   /* text[bytes] is '\n' or '\0' */
    size_t bytes; /* without the newline */
    bool whole;   /* false: the last line, which has no newline */
};

/* Give the next line, borrowed until the next call. *more is false at the end. */
MUST_USE struct result history_input_line(struct history_input *input, struct history_line *line,
                                          bool *more, struct text *why);

/*
 * Read at least one more byte behind data[end), moving data[begin..end) to the front if need be; at
 * the end *more is false. ERROR_LIMIT when data[begin..end) already has bytes_max bytes. For
 * formats that scan by themselves: they advance `begin` and count `line`.
 */
MUST_USE struct result history_input_fill(struct history_input *input, bool *more,
                                          struct text *why);

void history_input_close(struct history_input *input);

#endif
