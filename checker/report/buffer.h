/*
 * buffer.h: bytes that grow as they are written, for files larger than a text should be.
 *
 *     struct buffer buffer = {0};
 *     buffer_add(&buffer, "<b>%s</b>", "ours");
 *     buffer_html(&buffer, name_of_somebody_else);
 *     if (!buffer.failed) { write(buffer.data, buffer.length) }
 *     buffer_release(&buffer);
 *
 * When memory is short all that follows is dropped and `failed` says so.
 */
#ifndef CHECKER_REPORT_BUFFER_H
#define CHECKER_REPORT_BUFFER_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    char *data; /* owned */
    size_t length;
    size_t capacity;
    bool failed;
};

void buffer_release(struct buffer *buffer);

void buffer_bytes(struct buffer *buffer, const void *bytes, size_t count);
void buffer_text(struct buffer *buffer, const char *words);

/* At most BUFFER_PRINT_BYTES at once: for what we word ourselves. */
enum { BUFFER_PRINT_BYTES = 2048 };
FORMATTED(2, 3) void buffer_add(struct buffer *buffer, const char *format, ...);

/* Seven bits a byte, the lowest first; the last byte is below 128. */
void buffer_varint(struct buffer *buffer, uint64_t number);

/* The same for numbers below zero: 0, -1, 1, -2, ... */
void buffer_zigzag(struct buffer *buffer, int64_t number);

void buffer_base64(struct buffer *buffer, const void *bytes, size_t count);

/*
 * Thirteen bits, the lowest first, as two characters of 91: a tenth shorter than base64, and none
 * of them means anything in HTML. The last pair is filled up with zeros.
 */
void buffer_pairs(struct buffer *buffer, const void *bytes, size_t count);

/* Text as HTML: shown and never obeyed. Control characters and marks of direction are spelled out.
 */
void buffer_html(struct buffer *buffer, const char *words);

/* The same for a sentence of ours: a number stays with its unit, and "us" is written as it is. */
void buffer_html_sentence(struct buffer *buffer, const char *words);

/* A JSON string in quotes, of ASCII alone and without "<": it may stand inside a script. */
void buffer_json(struct buffer *buffer, const char *words);

#endif
