/* datum_text.c: looks into values that were read: entries of maps, characters of texts. */
#include "base/assert.h"
#include "history/datum.h"

#include <string.h>

static bool is_same_key(const struct datum *a, const struct datum *b)
{
    bool scalar = a->type == DATUM_STRING || a->type == DATUM_KEYWORD || a->type == DATUM_SYMBOL ||
                  a->type == DATUM_INTEGER;
    return scalar && a->type == b->type && a->bytes == b->bytes &&
           memcmp(a->text, b->text, a->bytes) == 0;
}

bool datum_has_key_twice(const struct datum *data, int32_t map)
{
    for (int32_t key = data[map].first; key >= 0; key = data[data[key].next].next) {
        int32_t other = data[data[key].next].next;
        for (; other >= 0; other = data[data[other].next].next) {
            if (is_same_key(&data[key], &data[other])) {
                return true;
            }
        }
    }
    return false;
}

int32_t datum_find(const struct datum *data, int32_t map, const char *key, size_t bytes)
{
    if (map < 0 || data[map].type != DATUM_MAP) {
        return -1;
    }
    int32_t at = data[map].first;
    while (at >= 0) {
        const struct datum *name = &data[at];
        bool named =
            name->type == DATUM_KEYWORD || name->type == DATUM_STRING || name->type == DATUM_SYMBOL;
        if (named && name->bytes == bytes && memcmp(name->text, key, bytes) == 0) {
            return name->next;
        }
        at = data[name->next].next;
    }
    return -1;
}

static uint32_t hex_value(const char *digits)
{
    uint32_t number = 0;
    for (int i = 0; i < 4; i++) {
        char c = digits[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 0;
        number = number << 4 | digit;
    }
    return number;
}

static size_t put_code_point(uint32_t code, char bytes[4])
{
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    bytes[0] = (char)(0xe0 | code >> 12);
    bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
    bytes[2] = (char)(0x80 | (code & 0x3f));
    return 3;
}

size_t datum_text(const struct datum *datum, char *text, size_t bytes_max)
{
    ASSERT(bytes_max > 0);
    size_t length = 0;
    for (uint32_t i = 0; i < datum->bytes; i++) {
        char piece[4] = {datum->text[i]};
        size_t bytes = 1;
        if (datum->escaped && datum->text[i] == '\\' && i + 1 < datum->bytes) {
            static const char from[] = "bfnrt";
            static const char to[] = "\b\f\n\r\t";
            i++;
            const char *known = strchr(from, datum->text[i]);
            piece[0] = known != NULL && *known != '\0' ? to[known - from] : datum->text[i];
            if (datum->text[i] == 'u' && i + 4 < datum->bytes) {
                bytes = put_code_point(hex_value(datum->text + i + 1), piece);
                i += 4;
            }
        }
        if (length + bytes >= bytes_max) {
            break;
        }
        memcpy(text + length, piece, bytes);
        length += bytes;
    }
    text[length] = '\0';
    return length;
}
