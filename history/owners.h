/*
 * owners.h: whose client a process is, where only some operations of a foreign history say it.
 *
 * Jepsen's Hazelcast tests name the client in the value of an `ok` and nowhere else. So the history
 * is read once before: an operation that names no owner has the one that its process names in
 * another operation. A process that ended with `info` is replaced by process + threads on the same
 * thread; where a thread keeps its client (no two names on one thread), a process that never says a
 * name has that of its thread. The number of threads is told by the first replacement.
 */
#ifndef HISTORY_OWNERS_H
#define HISTORY_OWNERS_H

#include "history/reader.h"

struct history_owners {
    struct history_owner *processes; /* owned */
    size_t count;
};

/* Read the whole history at `path`, which must be a file, by a map whose `carry` is ignored. */
MUST_USE struct result history_owners_read(const char *path, const struct history_map *map,
                                           struct history_owners *owners, struct text *why);

/* The owner of a process, or NULL. */
const struct history_value *history_owners_of(const struct history_owners *owners, int32_t process);

void history_owners_release(struct history_owners *owners);

#endif
