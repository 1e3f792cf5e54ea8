/* keys_name.c: names of resources and values, by hash. */
#include "harness/real/keys/keys_inner.h"

#include "base/arena.h"
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

bool keys_names_init(struct keys_names *names, const char *const *name, uint32_t count)
{
    uint32_t slots = 16;
    while (slots < 2 * count) {
        slots *= 2;
    }
    names->name = name;
    names->count = count;
    names->slot_mask = slots - 1;
    names->slot = memory_resize(NULL, slots * sizeof *names->slot);
    if (names->slot == NULL) {
        return false;
    }
    memset(names->slot, 0, slots * sizeof *names->slot);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)keys_hash(name[i], strlen(name[i])) & names->slot_mask;
        while (names->slot[at] != 0) {
            at = (at + 1) & names->slot_mask;
        }
        names->slot[at] = i + 1;
    }
    return true;
}

static uint32_t keys_names_exact(const struct keys_names *names, const char *name, size_t bytes)
{
    uint32_t at = (uint32_t)keys_hash(name, bytes) & names->slot_mask;
    while (names->slot[at] != 0) {
        const char *known = names->name[names->slot[at] - 1];
        if (strncmp(known, name, bytes) == 0 && known[bytes] == '\0') {
            return names->slot[at] - 1;
        }
        at = (at + 1) & names->slot_mask;
    }
    return KEYS_NO_RESOURCE;
}

static bool keys_name_separator(char byte)
{
    return memchr(":/-_.{", byte, 6) != NULL;
}

/*
 * Libraries put a prefix before the resource ("lock:r0", "locks/r0", "lock:{r0}"): what follows a
 * separator counts as well, the longest first. A suffix ("r0:queue") is another key.
 */
uint32_t keys_names_find(const struct keys_names *names, const char *name, size_t bytes)
{
    enum { PREFIX_BYTES_MAX = 128 };
    uint32_t found = keys_names_exact(names, name, bytes);
    if (found != KEYS_NO_RESOURCE || bytes < 2 || bytes > PREFIX_BYTES_MAX) {
        return found;
    }
    size_t end = name[bytes - 1] == '}' ? bytes - 1 : bytes;
    for (size_t i = 0; i + 1 < end && found == KEYS_NO_RESOURCE; i++) {
        if (keys_name_separator(name[i])) {
            found = keys_names_exact(names, name + i + 1, end - i - 1);
        }
    }
    return found;
}

void keys_value(const char *text, size_t bytes, struct history_value *value)
{
    struct lock_value lock_value;
    if (bytes == LOCK_VALUE_HEX_BYTES && lock_value_parse(text, bytes, &lock_value)) {
        memcpy(value->bytes, lock_value.bytes, sizeof value->bytes);
        return;
    }
    struct random_stream stream = {keys_hash(text, bytes)};
    uint64_t words[] = {random_word(&stream), random_word(&stream), random_word(&stream)};
    memcpy(value->bytes, words, sizeof value->bytes);
}
