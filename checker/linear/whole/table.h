/* table.h: finds the slot of a live thing by a 64-bit hash; open addressing, grows by doubling. */
#ifndef CHECKER_LINEAR_TABLE_H
#define CHECKER_LINEAR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_NONE UINT32_MAX

struct table_entry {
    uint64_t hash;
    uint32_t slot; /* TABLE_NONE: empty */
};

/* All zero is an empty table. Entries of equal hash stand side by side: the caller compares. */
struct table {
    struct table_entry *entries; /* owned */
    uint32_t mask;
    uint32_t count;
};

/* A walk over the slots that were put under `hash`. */
struct table_walk {
    uint64_t hash;
    uint32_t at;
};

static inline struct table_walk table_walk_begin(const struct table *table, uint64_t hash)
{
    return (struct table_walk){.hash = hash, .at = (uint32_t)hash & table->mask};
}

/* The next slot of the walk, or TABLE_NONE. */
static inline uint32_t table_walk_next(const struct table *table, struct table_walk *walk)
{
    while (table->entries != NULL && table->entries[walk->at].slot != TABLE_NONE) {
        const struct table_entry *entry = &table->entries[walk->at];
        walk->at = (walk->at + 1) & table->mask;
        if (entry->hash == walk->hash) {
            return entry->slot;
        }
    }
    return TABLE_NONE;
}

/* Make room for one more entry at least. False if the memory limit or the system refuses. */
bool table_grow(struct table *table, size_t bytes_max);

/* False if the memory limit or the system refuses; then the table is as it was. */
static inline bool table_put(struct table *table, uint64_t hash, uint32_t slot, size_t bytes_max)
{
    bool full = table->entries == NULL || table->count >= table->mask / 2;
    if (full && !table_grow(table, bytes_max)) {
        return false;
    }
    uint32_t at = (uint32_t)hash & table->mask;
    while (table->entries[at].slot != TABLE_NONE) {
        at = (at + 1) & table->mask;
    }
    table->entries[at] = (struct table_entry){.hash = hash, .slot = slot};
    table->count++;
    return true;
}

/* Remove the entry of `hash` and `slot`, which must be there. */
static inline void table_remove(struct table *table, uint64_t hash, uint32_t slot)
{
    struct table_entry *entries = table->entries;
    uint32_t hole = (uint32_t)hash & table->mask;
    while (entries[hole].hash != hash || entries[hole].slot != slot) {
        hole = (hole + 1) & table->mask;
    }
    for (uint32_t at = (hole + 1) & table->mask; entries[at].slot != TABLE_NONE;
         at = (at + 1) & table->mask) {
        /* An entry may move back to the hole only if its home does not lie behind the hole. */
        uint32_t from_home = (at - (uint32_t)entries[at].hash) & table->mask;
        if (from_home >= ((at - hole) & table->mask)) {
            entries[hole] = entries[at];
            hole = at;
        }
    }
    entries[hole].slot = TABLE_NONE;
    table->count--;
}

size_t table_bytes(const struct table *table);
void table_release(struct table *table);

/* Spread the bits of a word over all others (the finalizer of SplitMix64). */
static inline uint64_t table_mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

#endif
