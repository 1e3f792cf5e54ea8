/* names.c: gives each resource's name a small number, by open addressing. */
#include "history/names.h"

#include "base/assert.h"
#include "history/event.h"

#include <string.h>

enum { SLOTS_FIRST = 64 };

void history_names_init(struct history_names *names, struct arena *arena)
{
    *names = (struct history_names){.arena = arena};
}

/* FNV-1a. */
static uint32_t name_hash(const char *name, size_t bytes)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    }
    return hash ^ hash >> 15;
}

/* The slot where a name stands, or would. */
static uint32_t *names_slot(const struct history_names *names, const char *name, size_t bytes)
{
    uint32_t at = name_hash(name, bytes) & (names->slots - 1);
    while (names->slot[at] != 0) {
        const char *other = names->name[names->slot[at] - 1];
        if (strncmp(other, name, bytes) == 0 && other[bytes] == '\0') {
            return &names->slot[at];
        }
        at = (at + 1) & (names->slots - 1);
    }
    return &names->slot[at];
}

static bool names_grow(struct history_names *names)
{
    uint32_t slots = names->slots == 0 ? SLOTS_FIRST : 2 * names->slots;
    const char **name = memory_resize(names->name, slots * sizeof *name);
    if (name == NULL) {
        return false;
    }
    names->name = name;
    uint32_t *slot = memory_resize(names->slot, slots * sizeof *slot);
    if (slot == NULL) {
        return false;
    }
    names->slot = slot;
    names->slots = slots;
    names->count_max = slots / 2;
    memset(slot, 0, slots * sizeof *slot);
    for (uint32_t i = 0; i < names->count; i++) {
        *names_slot(names, name[i], strlen(name[i])) = i + 1;
    }
    return true;
}

enum names_outcome history_names_number(struct history_names *names, const char *name, size_t bytes,
                                        uint32_t *number)
{
    if (names->count == names->count_max && !names_grow(names)) {
        return NAMES_NO_MEMORY;
    }
    uint32_t *slot = names_slot(names, name, bytes);
    if (*slot == 0) {
        if (names->count == HISTORY_RESOURCES_MAX) {
            return NAMES_FULL;
        }
        char *copy = arena_copy_text(names->arena, name, bytes);
        if (copy == NULL) {
            return NAMES_NO_MEMORY;
        }
        names->name[names->count++] = copy;
        *slot = names->count;
    }
    *number = *slot - 1;
    ASSERT(*number < names->count);
    return NAMES_FOUND;
}

void history_names_release(struct history_names *names)
{
    memory_release(names->name);
    memory_release(names->slot);
    *names = (struct history_names){.arena = names->arena};
}
