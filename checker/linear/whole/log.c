/* log.c: keeps operations in memory and sorts them. */
#include "checker/linear/whole/log.h"

#include "base/arena.h"
#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

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
    if (a->invoke != b->invoke) {
        return a->invoke < b->invoke ? -1 : 1;
    }
    return a->name < b->name ? -1 : a->name > b->name; /* one that may be anybody's */
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

/* Its caller, or whom it names, held the lock if it took effect; where holds nest, acquires say so,
 * too: somebody who holds already is granted it, or refused at the full depth. */
static bool names_holder(const struct log *log, const struct operation *operation, bool nests)
{
    bool names =
        operation->kind == OPERATION_FREE || operation->kind == OPERATION_MAYBE_FREE ||
        operation->kind == OPERATION_EXTEND || operation->kind == OPERATION_MAYBE_EXTEND ||
        operation->kind == OPERATION_SEEN_OWNER ||
        (nests && (operation->kind == OPERATION_TAKE || operation->kind == OPERATION_BUSY));
    return names && !identity_is_process(&log->identities[operation->name - 1]);
}

struct operation *log_adopt(const struct log *log, const struct operation *operations,
                            size_t *count, bool nests, struct arena *arena)
{
    size_t nameless = 0, naming = 0;
    for (size_t i = 0; i < *count; i++) {
        nameless += operations[i].nameless ? 1 : 0;
        naming += names_holder(log, &operations[i], nests) ? 1 : 0;
    }
    if (nameless == 0 || naming == 0) {
        return NULL;
    }
    struct operation *all = arena_take(arena, (*count + naming) * sizeof *all);
    size_t *takes = arena_take(arena, nameless * sizeof *takes);
    uint32_t *given = arena_take(arena, (log->identity_count + (size_t)1) * sizeof *given);
    if (all == NULL || takes == NULL || given == NULL) {
        return NULL;
    }
    memset(given, 0, (log->identity_count + (size_t)1) * sizeof *given);
    nameless = 0;
    for (size_t i = 0; i < *count; i++) {
        all[i] = operations[i];
        if (operations[i].nameless) {
            takes[nameless++] = i;
        }
    }
    size_t grown = *count;
    for (size_t i = 0; i < *count; i++) {
        uint32_t name = operations[i].name;
        if (names_holder(log, &operations[i], nests) && given[name] < nameless &&
            operations[takes[given[name]]].called <= operations[i].returned) {
            all[grown] = operations[takes[given[name]++]];
            all[grown].identity = operations[i].identity;
            all[grown++].name = name;
        }
    }
    qsort(all, grown, sizeof *all, compare_operations);
    bool added = grown > *count;
    *count = grown;
    return added ? all : NULL;
}
