/* order.c: orders to an agent, as words and numbers. */
#include "harness/real/agent/order.h"

#include "base/assert.h"
#include "base/duration.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *word;
    uint32_t numbers;
    bool text;
    int64_t seconds;
} order_rows[ORDER_KINDS] = {
#define X(kind, word, numbers, text, seconds) [kind] = {word, numbers, text, seconds},
    ORDER_MAP(X)
#undef X
};

const char *order_word(enum order_kind kind)
{
    return order_rows[kind].word;
}

int64_t order_patience_ns(enum order_kind kind)
{
    return order_rows[kind].seconds * NS_PER_S;
}

void order_print(const struct order *order, struct text *text)
{
    ASSERT(order->kind < ORDER_KINDS);
    text_add(text, "%s", order_rows[order->kind].word);
    for (uint32_t i = 0; i < order_rows[order->kind].numbers; i++) {
        text_add(text, " %" PRId64, order->numbers[i]);
    }
    if (order_rows[order->kind].text) {
        text_add(text, " %s", order->text);
    }
}

/* A decimal number that fits; a sign only before digits. */
static bool number_parse(const char *body, size_t bytes, size_t *at, int64_t *number)
{
    bool negative = *at < bytes && body[*at] == '-';
    uint64_t value = 0;
    size_t first = *at + (negative ? 1 : 0);
    size_t i = first;
    for (; i < bytes && body[i] >= '0' && body[i] <= '9'; i++) {
        uint64_t digit = (uint64_t)(body[i] - '0');
        if (value > ((uint64_t)INT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *number = negative ? -(int64_t)value : (int64_t)value;
    *at = i;
    return i > first;
}

bool order_numbers(const char *body, size_t bytes, int64_t *numbers, uint32_t count)
{
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && (at >= bytes || body[at++] != ' ')) {
            return false;
        }
        if (!number_parse(body, bytes, &at, &numbers[i])) {
            return false;
        }
    }
    return at == bytes;
}

/* Text that can be shown as it is. */
static bool text_parse(const char *body, size_t bytes, char text[ORDER_TEXT_BYTES])
{
    if (bytes == 0 || bytes >= ORDER_TEXT_BYTES) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (body[i] < ' ' || body[i] > '~') {
            return false;
        }
    }
    memcpy(text, body, bytes);
    text[bytes] = '\0';
    return true;
}

bool order_parse(const char *body, size_t bytes, struct order *order)
{
    memset(order, 0, sizeof *order);
    for (uint32_t kind = 0; kind < ORDER_KINDS; kind++) {
        size_t length = strlen(order_rows[kind].word);
        if (bytes < length || memcmp(body, order_rows[kind].word, length) != 0 ||
            (bytes > length && body[length] != ' ')) {
            continue;
        }
        order->kind = (uint8_t)kind;
        if (order_rows[kind].numbers == 0 && !order_rows[kind].text) {
            return bytes == length;
        }
        if (bytes == length) {
            return false;
        }
        if (order_rows[kind].text) {
            return text_parse(body + length + 1, bytes - length - 1, order->text);
        }
        return order_numbers(body + length + 1, bytes - length - 1, order->numbers,
                             order_rows[kind].numbers);
    }
    return false;
}
