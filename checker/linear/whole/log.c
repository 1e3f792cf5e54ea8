/* log.c: keeps operations in memory and sorts them. */
#include "checker/linear/whole/log.h"

#include "base/arena.h"
#include "base/assert.h"

#include <stdlib.h>

static size_t log_bytes(const struct log *log)
{
    return log->room * sizeof(struct operation) + log->ask_room * sizeof(struct ask) +
           log->identity_room * sizeof(struct identity) + table_bytes(&log->by_identity);
}

uint32_t log_identity(struct log *log, const struct identity *identity)
{
    if (log->full || log->bytes_max == 0) {
        return 0;
    }
    uint64_t hash = identity_hash(identity, 0);
    struct table_walk walk = table_walk_begin(&log->by_identity, hash);
    for (uint32_t at = table_walk_next(&log->by_identity, &walk); at != TABLE_NONE;
         at = table_walk_next(&log->by_identity, &walk)) {
        if (identity_equal(&log->identities[at], identity)) {
            return at + 1;
        }
    }
    if (log->identity_count == log->identity_room) {
        uint32_t room = log->identity_room == 0 ? 1024 : 2 * log->identity_room;
        struct identity *grown = NULL;
        if (log_bytes(log) + room * sizeof *grown <= log->bytes_max) {
            grown = memory_resize(log->identities, room * sizeof *grown);
        }
        if (grown == NULL) {
            log->full = true;
            return 0;
        }
        log->identities = grown;
        log->identity_room = room;
    }
    if (!table_put(&log->by_identity, hash, log->identity_count, log->bytes_max)) {
        log->full = true;
        return 0;
    }
    log->identities[log->identity_count] = *identity;
    log->identity_count++;
    return log->identity_count;
}

/* Room for one more item; false, and log->full, at the limit. */
static bool log_grow(struct log *log, void **items, size_t *room, size_t item_bytes)
{
    size_t grown_room = *room == 0 ? (size_t)LOG_BLOCK_OPERATIONS : *room + *room / 2;
    void *grown = NULL;
    if (log_bytes(log) + grown_room * item_bytes <= log->bytes_max) {
        grown = memory_resize(*items, grown_room * item_bytes);
    }
    if (grown == NULL) {
        log->full = true;
        return false;
    }
    *items = grown;
    *room = grown_room;
    return true;
}

void log_add(struct log *log, const struct operation *operation)
{
    ASSERT(operation->kind < OPERATION_KINDS);
    if (log->full || log->bytes_max == 0 ||
        (log->count == log->room &&
         !log_grow(log, (void **)&log->operations, &log->room, sizeof log->operations[0]))) {
        return;
    }
    log->operations[log->count++] = *operation;
}

void log_ask(struct log *log, const struct ask *ask)
{
    if (log->full || log->bytes_max == 0 ||
        (log->ask_count == log->ask_room &&
         !log_grow(log, (void **)&log->asks, &log->ask_room, sizeof log->asks[0]))) {
        return;
    }
    log->asks[log->ask_count++] = *ask;
}

void log_release(struct log *log)
{
    memory_release(log->operations);
    memory_release(log->asks);
    memory_release(log->identities);
    table_release(&log->by_identity);
    *log = (struct log){0};
}

static int compare_operations(const void *left, const void *right)
{
    const struct operation *a = left;
    const struct operation *b = right;
    if (a->resource != b->resource) {
        return a->resource < b->resource ? -1 : 1;
    }
    if (a->called != b->called) {
        return a->called < b->called ? -1 : 1;
    }
    return a->invoke < b->invoke ? -1 : a->invoke > b->invoke;
}

/* Without memory for it the numbers stay: they are right, only larger. */
static void number_identities(struct log *log)
{
    struct {
        uint32_t resource, number;
    } *last = memory_resize(NULL, (log->identity_count + 1) * sizeof *last);
    if (last == NULL || log->count == 0) {
        memory_release(last);
        return;
    }
    for (uint32_t i = 0; i <= log->identity_count; i++) {
        last[i].resource = last[i].number = 0;
    }
    uint32_t numbered = 0;
    for (size_t i = 0; i < log->count; i++) {
        struct operation *operation = &log->operations[i];
        bool first = i == 0 || log->operations[i - 1].resource != operation->resource;
        numbered = first ? 0 : numbered;
        uint32_t name = operation->name;
        ASSERT(name <= log->identity_count);
        if (last[name].number == 0 || last[name].resource != operation->resource) {
            last[name].resource = operation->resource;
            last[name].number = ++numbered;
        }
        operation->identity = last[name].number;
    }
    memory_release(last);
}

void log_sort(struct log *log)
{
    if (log->count > 0) {
        qsort(log->operations, log->count, sizeof log->operations[0], compare_operations);
    }
    number_identities(log);
}
