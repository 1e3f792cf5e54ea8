/*
 * sheet.h: bytes that grow, up to a named maximum, when nobody can say how many there will be.
 *
 *     struct sheet sheet = sheet_empty(64 * MEBIBYTE);
 *     sheet_add(&sheet, "<p>%zu events</p>\n", count);
 *     if (sheet.cut) ... sheet.data[0..sheet.length) ... sheet_release(&sheet);
 *
 * What does not fit, or what the system has no memory for, is left out from there on and `cut` is
 * set: a sheet is whole or cut, never torn in the middle.
 */
#ifndef BASE_SHEET_H
#define BASE_SHEET_H

#include <stdbool.h>
#include <stddef.h>

struct sheet {
    char *data; /* owned; not terminated; NULL while empty */
    size_t length;
    size_t capacity;
    size_t bytes_max;
    bool cut; /* something was left out */
};

struct sheet sheet_empty(size_t bytes_max);

void sheet_add_bytes(struct sheet *sheet, const void *bytes, size_t count);
void sheet_add_text(struct sheet *sheet, const char *words);

/* One piece of at most SHEET_PIECE_MAX bytes; more is our bug. */
__attribute__((format(printf, 2, 3))) void sheet_add(struct sheet *sheet, const char *format, ...);

enum { SHEET_PIECE_MAX = 8192 };

void sheet_release(struct sheet *sheet);

#endif
