/*
 * text.h: writing into a bounded string in the caller's memory (why.h).
 *
 *     char memory[200];
 *     struct text why = text_over(memory, sizeof memory);
 *     text_add(&why, "%s: no such file", path);
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/why.h"

#include <stdarg.h>

/* A function whose argument number `format` is a format of printf for those from `first` on. */
#define FORMATTED(format_at, first) __attribute__((format(printf, format_at, first)))

void text_clear(struct text *text);

__attribute__((format(printf, 2, 3))) void text_add(struct text *text, const char *format, ...);
__attribute__((format(printf, 2, 0))) void text_add_list(struct text *text, const char *format,
                                                         va_list list);
void text_add_bytes(struct text *text, const char *bytes, size_t count);

/*
 * Add `string` as a JSON string, in quotes: pure UTF-8, and fit to be shown (foreign.h). A byte
 * that is no UTF-8 becomes U+FFFD.
 */
void text_add_json(struct text *text, const char *string);

/* Edit distance of two short words, for "did you mean". At most 64 bytes of each are compared. */
size_t text_distance(const char *a, const char *b);

#endif
