/* text.c: bounded strings in the caller's memory. */
#include "base/text.h"

#include "base/assert.h"
#include "base/foreign.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

void text_clear(struct text *text)
{
    text->data[0] = '\0';
    text->length = 0;
    text->cut = false;
}

void text_add_list(struct text *text, const char *format, va_list list)
{
    size_t room = text->bytes_max - text->length;
    int wanted = vsnprintf(text->data + text->length, room, format, list);
    ASSERT(wanted >= 0);
    if ((size_t)wanted >= room) {
        text->length = text->bytes_max - 1;
        text->cut = true;
        return;
    }
    text->length += (size_t)wanted;
}

void text_add(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    text_add_list(text, format, list);
    va_end(list);
}

void text_add_bytes(struct text *text, const char *bytes, size_t count)
{
    size_t room = text->bytes_max - text->length - 1;
    if (count > room) {
        count = room;
        text->cut = true;
    }
    memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void text_add_json(struct text *text, const char *string)
{
    size_t left = strlen(string);
    text_add(text, "\"");
    for (size_t taken = 0; left > 0; string += taken, left -= taken) {
        uint32_t code;
        taken = foreign_next(string, left, &code);
        if (code == '"' || code == '\\') {
            text_add(text, "\\%c", (char)code);
        } else if (code == FOREIGN_BROKEN) {
            text_add(text, "\\ufffd");
        } else if (foreign_is_plain(code)) {
            text_add_bytes(text, string, taken);
        } else if (code <= 0xffff) {
            text_add(text, "\\u%04x", code);
        } else {
            uint32_t above = code - 0x10000;
            text_add(text, "\\u%04x\\u%04x", 0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
        }
    }
    text_add(text, "\"");
}

size_t text_distance(const char *a, const char *b)
{
    enum { WORD_BYTES_MAX = 64 };
    size_t row[WORD_BYTES_MAX + 1];
    size_t a_bytes = strnlen(a, WORD_BYTES_MAX);
    size_t b_bytes = strnlen(b, WORD_BYTES_MAX);
    for (size_t j = 0; j <= b_bytes; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_bytes; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            size_t best = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b_bytes];
}
