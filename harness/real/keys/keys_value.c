/* keys_value.c: hashes, and values by their text. */
#include "harness/real/keys/keys_inner.h"

#include "base/random.h"
#include "lockcore/redis/command.h"

#include <string.h>

_Static_assert((int)HISTORY_VALUE_BYTES == (int)LOCK_VALUE_BYTES,
               "a lock's value is a history's value");

/* Fold a product of 64 bits by 64 bits: every bit of both moves every bit of the result. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    random_product product = (random_product)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes a turn. Names and values are short; nobody here tries to make them collide. */
uint64_t keys_hash(const char *data, size_t bytes)
{
    uint64_t hash = 0x9e3779b97f4a7c15u ^ bytes;
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        hash = hash_mix(hash ^ word, 0xd6e8feb86659fd93u);
    }
    uint64_t rest = 0;
    memcpy(&rest, data + i, bytes - i);
    return hash_mix(hash ^ rest, 0xa0761d6478bd642fu);
}

void keys_value(const char *text, size_t bytes, struct history_value *value)
{
    struct lock_value lock_value;
    if (bytes == LOCK_VALUE_HEX_BYTES && lock_value_parse(text, bytes, &lock_value)) {
        memcpy(value->bytes, lock_value.bytes, sizeof value->bytes);
        return;
    }
    if (bytes == sizeof value->bytes) {
        memcpy(value->bytes, text, bytes); /* what a program that must report text says in hex */
        return;
    }
    struct random_stream stream = {keys_hash(text, bytes)};
    uint64_t words[] = {random_word(&stream), random_word(&stream), random_word(&stream)};
    memcpy(value->bytes, words, sizeof value->bytes);
}
