/* keys_name.c: names of resources and values, by hash. */
#include "harness/real/keys_inner.h"

#include "base/arena.h"
#include "base/assert.h"
#include "lockcore/command.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert((int)HISTORY_VALUE_BYTES == (int)LOCK_VALUE_BYTES,
               "a lock's value is a history's value");

uint64_t keys_hash(const char *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
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
    if (bytes == COMMAND_VALUE_HEX_BYTES && command_value_parse(text, bytes, &lock_value)) {
        memcpy(value->bytes, lock_value.bytes, sizeof value->bytes);
        return;
    }
    XXH128_hash_t wide = XXH3_128bits(text, bytes);
    uint64_t more = XXH3_64bits_withSeed(text, bytes, 1);
    memcpy(value->bytes, &wide.low64, 8);
    memcpy(value->bytes + 8, &wide.high64, 8);
    memcpy(value->bytes + 16, &more, 4);
}
