/* value.c: the unique string of a grant, as text and as 20 bytes. */
#include "base/assert.h"
#include "history/event.h"

#include <string.h>
#include <xxhash.h>

enum { HEX_DIGITS = 2 * HISTORY_VALUE_BYTES, NO_DIGIT = 255 };

static uint8_t hex_digit(char character)
{
    if (character >= '0' && character <= '9') {
        return (uint8_t)(character - '0');
    }
    if (character >= 'a' && character <= 'f') {
        return (uint8_t)(character - 'a' + 10);
    }
    return NO_DIGIT;
}

static bool hex_parse(const char *word, size_t bytes, struct history_value *value)
{
    if (bytes != HEX_DIGITS) {
        return false;
    }
    uint8_t refused = 0;
    for (size_t i = 0; i < HISTORY_VALUE_BYTES; i++) {
        uint8_t high = hex_digit(word[2 * i]);
        uint8_t low = hex_digit(word[2 * i + 1]);
        refused |= (uint8_t)((high | low) & 0xf0);
        value->bytes[i] = (uint8_t)(high << 4 | (low & 15));
    }
    return refused == 0;
}

/* 160 bits, so that two of a million values are equal with a chance below 2^-120. */
static void value_hash(const char *word, size_t bytes, struct history_value *value)
{
    XXH64_hash_t parts[3];
    for (size_t i = 0; i < 3; i++) {
        parts[i] = XXH64(word, bytes, i);
    }
    _Static_assert(sizeof parts >= HISTORY_VALUE_BYTES, "enough bits");
    for (size_t i = 0; i < HISTORY_VALUE_BYTES; i++) {
        value->bytes[i] = (uint8_t)(parts[i / 8] >> (8 * (i % 8)));
    }
}

void history_value_parse(const char *word, size_t bytes, struct history_value *value)
{
    if (hex_parse(word, bytes, value)) {
        return;
    }
    memset(value, 0, sizeof *value);
    if (bytes <= HISTORY_VALUE_BYTES) {
        memcpy(value->bytes, word, bytes);
        return;
    }
    value_hash(word, bytes, value);
}

void history_value_print(const struct history_value *value, char hex[2 * HISTORY_VALUE_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < HISTORY_VALUE_BYTES; i++) {
        hex[2 * i] = digits[value->bytes[i] >> 4];
        hex[2 * i + 1] = digits[value->bytes[i] & 15];
    }
}
