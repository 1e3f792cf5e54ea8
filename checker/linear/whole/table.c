/* table.c: grows a table: linear probing with backward shifts, removed entries leave no marks. */
#include "checker/linear/whole/table.h"

#include "base/arena.h"
#include "base/assert.h"

enum { TABLE_ENTRIES_FIRST = 64 };

static void entries_put(struct table_entry *entries, uint32_t mask, struct table_entry entry)
{
    uint32_t at = (uint32_t)entry.hash & mask;
    while (entries[at].slot != TABLE_NONE) {
        at = (at + 1) & mask;
    }
    entries[at] = entry;
}

bool table_grow(struct table *table, size_t bytes_max)
{
    size_t old_count = table->entries == NULL ? 0 : (size_t)table->mask + 1;
    size_t count = old_count == 0 ? (size_t)TABLE_ENTRIES_FIRST : 2 * old_count;
    if (count > (size_t)1 << 31 || count * sizeof(struct table_entry) > bytes_max) {
        return false;
    }
    struct table_entry *entries = memory_resize(NULL, count * sizeof *entries);
    if (entries == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        entries[i] = (struct table_entry){.slot = TABLE_NONE};
    }
    for (size_t i = 0; i < old_count; i++) {
        if (table->entries[i].slot != TABLE_NONE) {
            entries_put(entries, (uint32_t)(count - 1), table->entries[i]);
        }
    }
    memory_release(table->entries);
    table->entries = entries;
    table->mask = (uint32_t)(count - 1);
    return true;
}

size_t table_bytes(const struct table *table)
{
    return table->entries == NULL ? 0 : ((size_t)table->mask + 1) * sizeof(struct table_entry);
}

void table_release(struct table *table)
{
    memory_release(table->entries);
    *table = (struct table){0};
}
