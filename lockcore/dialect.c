/* dialect.c: looks up what a command means, and writes values in hex. */
#include "lockcore/dialect.h"

#include "base/assert.h"
#include "lockcore/algorithms.h"

const struct lock_command_row *lock_dialect_row(const struct lock_dialect *dialect, uint32_t kind)
{
    ASSERT(kind < dialect->row_count);
    return &dialect->rows[kind];
}

const struct lock_dialect *lock_dialect_of(const struct lock *lock)
{
    return lock_algorithm_at(lock->config.algorithm)->dialect;
}

const struct lock_command_row *lock_row_of(const struct lock *lock, uint32_t kind)
{
    return lock_dialect_row(lock_dialect_of(lock), kind);
}

bool lock_verb_asks(enum lock_verb verb)
{
    ASSERT(verb < LOCK_VERBS);
    return verb == LOCK_VERB_SET || verb == LOCK_VERB_SET_ABSENT || verb == LOCK_VERB_SET_PRESENT ||
           verb == LOCK_VERB_HOLD;
}

bool lock_verb_frees(enum lock_verb verb)
{
    ASSERT(verb < LOCK_VERBS);
    return verb == LOCK_VERB_DELETE || verb == LOCK_VERB_DELETE_COMPARE ||
           verb == LOCK_VERB_FLUSH || verb == LOCK_VERB_CLOSE_SESSION || verb == LOCK_VERB_LET_GO;
}

static const char digits[] = "0123456789abcdef";

void lock_value_print(const struct lock_value *value, char hex[LOCK_VALUE_HEX_BYTES])
{
    for (size_t i = 0; i < LOCK_VALUE_BYTES; i++) {
        hex[2 * i] = digits[value->bytes[i] >> 4];
        hex[2 * i + 1] = digits[value->bytes[i] & 15];
    }
}

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool lock_value_parse(const char *hex, size_t bytes, struct lock_value *value)
{
    if (bytes != LOCK_VALUE_HEX_BYTES) {
        return false;
    }
    struct lock_value parsed;
    for (size_t i = 0; i < LOCK_VALUE_BYTES; i++) {
        int high = digit_value(hex[2 * i]);
        int low = digit_value(hex[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        parsed.bytes[i] = (uint8_t)(high * 16 + low);
    }
    *value = parsed;
    return true;
}
