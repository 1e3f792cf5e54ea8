/* buffer.c: bytes that grow, as numbers, HTML, JSON and base64. */
#include "checker/report/buffer.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/foreign.h"
#include "base/text.h"

#include <stdarg.h>
#include <string.h>

enum { BUFFER_FIRST_BYTES = 64 * 1024, ESCAPE_BYTES = 24 };

void buffer_release(struct buffer *buffer)
{
    memory_release(buffer->data);
    *buffer = (struct buffer){0};
}

static bool buffer_reserve(struct buffer *buffer, size_t count)
{
    size_t capacity = buffer->capacity > 0 ? buffer->capacity : BUFFER_FIRST_BYTES;
    while (capacity - buffer->length < count) {
        capacity *= 2;
    }
    if (!buffer->failed && capacity != buffer->capacity) {
        char *data = memory_resize(buffer->data, capacity);
        buffer->failed = data == NULL;
        buffer->data = data != NULL ? data : buffer->data;
        buffer->capacity = data != NULL ? capacity : buffer->capacity;
    }
    return !buffer->failed;
}

void buffer_bytes(struct buffer *buffer, const void *bytes, size_t count)
{
    if (buffer_reserve(buffer, count)) {
        memcpy(buffer->data + buffer->length, bytes, count);
        buffer->length += count;
    }
}

void buffer_text(struct buffer *buffer, const char *words)
{
    buffer_bytes(buffer, words, strlen(words));
}

void buffer_add(struct buffer *buffer, const char *format, ...)
{
    char memory[BUFFER_PRINT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    va_list list;
    va_start(list, format);
    text_add_list(&text, format, list);
    va_end(list);
    ASSERT(!text.cut);
    buffer_bytes(buffer, text.data, text.length);
}

void buffer_varint(struct buffer *buffer, uint64_t number)
{
    unsigned char bytes[10];
    size_t count = 0;
    for (; number > 127; number >>= 7) {
        bytes[count++] = (unsigned char)(number & 127) | 128;
    }
    bytes[count++] = (unsigned char)number;
    buffer_bytes(buffer, bytes, count);
}

void buffer_zigzag(struct buffer *buffer, int64_t number)
{
    uint64_t twice = (uint64_t)number << 1;
    buffer_varint(buffer, number < 0 ? ~twice : twice);
}

void buffer_base64(struct buffer *buffer, const void *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = bytes;
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t three = (uint32_t)from[i] << 16 | (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
                         (left > 2 ? (uint32_t)from[i + 2] : 0);
        char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
                        left > 1 ? digits[three >> 6 & 63] : '=',
                        left > 2 ? digits[three & 63] : '='};
        buffer_bytes(buffer, four, sizeof four);
    }
}

void buffer_pairs(struct buffer *buffer, const void *bytes, size_t count)
{
    /* Printable ASCII but for the blank, ", & and <. */
    static const char digits[] =
        "!#$%'()*+,-./"
        "0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
    _Static_assert(sizeof digits == 91 + 1, "91 digits");
    const unsigned char *from = bytes;
    uint32_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < count || held > 0;) {
        for (; held < 13 && i < count; held += 8) {
            bits |= (uint32_t)from[i++] << held;
        }
        uint32_t number = bits & 8191;
        char pair[2] = {digits[number / 91], digits[number % 91]};
        buffer_bytes(buffer, pair, sizeof pair);
        bits >>= 13;
        held = held > 13 ? held - 13 : 0;
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *html_entity(char byte)
{
    switch (byte) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* One character as HTML; gives how many bytes it took. */
static size_t html_character(struct buffer *buffer, const char *at, size_t left)
{
    uint32_t code;
    size_t taken = foreign_next(at, left, &code);
    const char *entity = taken == 1 ? html_entity(at[0]) : NULL;
    char memory[ESCAPE_BYTES];
    struct text escape = text_over(memory, sizeof memory);
    if (entity != NULL) {
        buffer_text(buffer, entity);
    } else if (foreign_is_plain(code)) {
        buffer_bytes(buffer, at, taken);
    } else {
        text_add_foreign(&escape, at, taken);
        buffer_bytes(buffer, escape.data, escape.length);
    }
    return taken;
}

void buffer_html(struct buffer *buffer, const char *words)
{
    size_t length = strlen(words);
    for (size_t i = 0; i < length;) {
        i += html_character(buffer, words + i, length - i);
    }
}

/* The bytes of a unit behind a number's blank, such as "ms"; 0: there is none here. */
static size_t unit_length(const char *at)
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t bytes = strlen(units[i]);
        if (strncmp(at, units[i], bytes) == 0 &&
            (at[bytes] == '\0' || strchr(" ,.:;)", at[bytes]) != NULL)) {
            return bytes;
        }
    }
    return 0;
}

void buffer_html_sentence(struct buffer *buffer, const char *words)
{
    size_t length = strlen(words);
    for (size_t i = 0; i < length;) {
        bool number = i > 0 && words[i - 1] >= '0' && words[i - 1] <= '9';
        size_t unit = number && words[i] == ' ' ? unit_length(words + i + 1) : 0;
        if (unit == 0) {
            i += html_character(buffer, words + i, length - i);
            continue;
        }
        buffer_text(buffer, "\xe2\x80\xaf"); /* a narrow blank that does not break */
        buffer_text(buffer, strncmp(words + i + 1, "us", 2) == 0 ? "\xc2\xb5" : "");
        size_t skipped = strncmp(words + i + 1, "us", 2) == 0 ? 1 : 0;
        buffer_bytes(buffer, words + i + 1 + skipped, unit - skipped);
        i += 1 + unit;
    }
}

static void json_code(struct buffer *buffer, uint32_t code)
{
    if (code == FOREIGN_BROKEN) {
        buffer_text(buffer, "\\ufffd");
    } else if (code >= 0x10000) {
        buffer_add(buffer, "\\u%04x\\u%04x", 0xd800 + (unsigned)((code - 0x10000) >> 10),
                   0xdc00 + (unsigned)((code - 0x10000) & 0x3ff));
    } else if (code < 0x20 || code > 0x7e || strchr("<>&\"\\'", (int)code) != NULL) {
        buffer_add(buffer, "\\u%04x", (unsigned)code);
    } else {
        char byte = (char)code;
        buffer_bytes(buffer, &byte, 1);
    }
}

void buffer_json(struct buffer *buffer, const char *words)
{
    size_t length = strlen(words);
    uint32_t code;
    buffer_text(buffer, "\"");
    for (size_t i = 0; i < length;) {
        i += foreign_next(words + i, length - i, &code);
        json_code(buffer, code);
    }
    buffer_text(buffer, "\"");
}
