/* encode.c: numbers, bytes and foreign text in the spelling of a page, a script or a trace. */
#include "checker/report/encode.h"

#include "base/foreign.h"
#include "base/text.h"

#include <string.h>

enum { ESCAPE_BYTES = 24 };

void encode_varint(struct sheet *sheet, uint64_t number)
{
    unsigned char bytes[10];
    size_t count = 0;
    for (; number > 127; number >>= 7) {
        bytes[count++] = (unsigned char)(number & 127) | 128;
    }
    bytes[count++] = (unsigned char)number;
    sheet_add_bytes(sheet, bytes, count);
}

void encode_zigzag(struct sheet *sheet, int64_t number)
{
    uint64_t twice = (uint64_t)number << 1;
    encode_varint(sheet, number < 0 ? ~twice : twice);
}

void encode_base64(struct sheet *sheet, const void *bytes, size_t count)
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
        sheet_add_bytes(sheet, four, sizeof four);
    }
}

void encode_pairs(struct sheet *sheet, const void *bytes, size_t count)
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
        sheet_add_bytes(sheet, pair, sizeof pair);
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
static size_t html_character(struct sheet *sheet, const char *at, size_t left)
{
    uint32_t code;
    size_t taken = foreign_next(at, left, &code);
    const char *entity = taken == 1 ? html_entity(at[0]) : NULL;
    char memory[ESCAPE_BYTES];
    struct text escape = text_over(memory, sizeof memory);
    if (entity != NULL) {
        sheet_add_text(sheet, entity);
    } else if (foreign_is_plain(code)) {
        sheet_add_bytes(sheet, at, taken);
    } else {
        text_add_foreign(&escape, at, taken);
        sheet_add_bytes(sheet, escape.data, escape.length);
    }
    return taken;
}

void encode_html(struct sheet *sheet, const char *words)
{
    size_t length = strlen(words);
    for (size_t i = 0; i < length;) {
        i += html_character(sheet, words + i, length - i);
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

void encode_html_sentence(struct sheet *sheet, const char *words)
{
    size_t length = strlen(words);
    for (size_t i = 0; i < length;) {
        bool number = i > 0 && words[i - 1] >= '0' && words[i - 1] <= '9';
        size_t unit = number && words[i] == ' ' ? unit_length(words + i + 1) : 0;
        if (unit == 0) {
            i += html_character(sheet, words + i, length - i);
            continue;
        }
        sheet_add_text(sheet, "\xe2\x80\xaf"); /* a narrow blank that does not break */
        sheet_add_text(sheet, strncmp(words + i + 1, "us", 2) == 0 ? "\xc2\xb5" : "");
        size_t skipped = strncmp(words + i + 1, "us", 2) == 0 ? 1 : 0;
        sheet_add_bytes(sheet, words + i + 1 + skipped, unit - skipped);
        i += 1 + unit;
    }
}

static void json_code(struct sheet *sheet, uint32_t code)
{
    if (code == FOREIGN_BROKEN) {
        sheet_add_text(sheet, "\\ufffd");
    } else if (code >= 0x10000) {
        sheet_add(sheet, "\\u%04x\\u%04x", 0xd800 + (unsigned)((code - 0x10000) >> 10),
                  0xdc00 + (unsigned)((code - 0x10000) & 0x3ff));
    } else if (code < 0x20 || code > 0x7e || strchr("<>&\"\\'", (int)code) != NULL) {
        sheet_add(sheet, "\\u%04x", (unsigned)code);
    } else {
        char byte = (char)code;
        sheet_add_bytes(sheet, &byte, 1);
    }
}

void encode_json(struct sheet *sheet, const char *words)
{
    size_t length = strlen(words);
    uint32_t code;
    sheet_add_text(sheet, "\"");
    for (size_t i = 0; i < length;) {
        i += foreign_next(words + i, length - i, &code);
        json_code(sheet, code);
    }
    sheet_add_text(sheet, "\"");
}
