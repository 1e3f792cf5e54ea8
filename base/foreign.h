/*
 * foreign.h: text that somebody else wrote, made fit to be shown.
 *
 *     text_add_foreign(&why, line, bytes);      "\x1b[2J" and "\u202e" instead of what they do
 *
 * A library's name, an adapter's last words, a resource in a history from elsewhere: what a
 * terminal would obey or reorder (control characters, escapes, marks of direction, what has no
 * width) and bytes that are no UTF-8 appear as escapes. All else stays as it is.
 */
#ifndef BASE_FOREIGN_H
#define BASE_FOREIGN_H

#include "base/text.h"

#include <stdint.h>
#include <stdio.h>

enum { FOREIGN_BROKEN = 0x110000 }; /* stands for a byte that begins no UTF-8 character */

/* Take one character of `count` > 0 bytes: gives how many are its own. */
size_t foreign_next(const char *bytes, size_t count, uint32_t *code);

/* Whether showing this character does nothing but show it. */
bool foreign_is_plain(uint32_t code);

/* Add all of it; a newline is escaped, too, so that it stays in its line. */
void text_add_foreign(struct text *text, const char *bytes, size_t count);

/* Print a text of ours with foreign words in it: the same, but newlines are ours and stay. */
void foreign_print(FILE *stream, const char *text, size_t bytes);

/* Print what is one line, whoever wrote it: newlines are escaped, too. */
void foreign_print_line(FILE *stream, const char *text);

#endif
