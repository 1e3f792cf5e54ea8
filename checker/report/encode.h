/*
 * encode.h: numbers, bytes and other people's text, put into a sheet in the spelling of a page, a
 * script or a trace.
 *
 *     struct sheet sheet = sheet_empty(REPORT_BYTES_MAX);
 *     sheet_add(&sheet, "<b>%s</b>", "ours");
 *     encode_html(&sheet, name_of_somebody_else);
 */
#ifndef CHECKER_REPORT_ENCODE_H
#define CHECKER_REPORT_ENCODE_H

#include "base/sheet.h"

#include <stdint.h>

/* Of any report; a page of a million events takes 11 MB. */
#define REPORT_BYTES_MAX ((size_t)1 << 30)

/* Seven bits a byte, the lowest first; the last byte is below 128. */
void encode_varint(struct sheet *sheet, uint64_t number);

/* The same for numbers below zero: 0, -1, 1, -2, ... */
void encode_zigzag(struct sheet *sheet, int64_t number);

void encode_base64(struct sheet *sheet, const void *bytes, size_t count);

/*
 * Thirteen bits, the lowest first, as two characters of 91: a tenth shorter than base64, and none
 * of them means anything in HTML. The last pair is filled up with zeros.
 */
void encode_pairs(struct sheet *sheet, const void *bytes, size_t count);

/* Text as HTML: shown and never obeyed. Control characters and marks of direction are spelled out.
 */
void encode_html(struct sheet *sheet, const char *words);

/* The same for a sentence of ours: a number stays with its unit, and "us" is written as it is. */
void encode_html_sentence(struct sheet *sheet, const char *words);

/* A JSON string in quotes, of ASCII alone and without "<": it may stand inside a script. */
void encode_json(struct sheet *sheet, const char *words);

#endif
