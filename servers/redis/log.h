/*
 * log.h: a base state and the writes since: what a disk or a replica does not have yet.
 *
 *     base cells, write, write, write ...      the oldest writes are folded into the base
 *
 * Lives inside model.c's block, by offsets.
 */
#ifndef SERVERS_REDIS_LOG_H
#define SERVERS_REDIS_LOG_H

#include "servers/redis/model.h"

struct redis_write {
    int64_t true_ns;
    uint32_t resource;
    struct redis_cell cell; /* after the write */
};

struct redis_log {
    uint32_t capacity; /* 0: no log is kept */
    uint32_t first;    /* place of the oldest write */
    uint32_t count;
};

/* A log together with its memory. */
struct redis_log_view {
    struct redis_log *log;
    struct redis_cell *base;    /* one a resource */
    struct redis_write *writes; /* capacity many, a ring */
};

/* Remember a write. When the ring is full the oldest is folded: a disk may always be faster. */
void redis_log_push(const struct redis_log_view *view, const struct redis_write *write);

/* Fold the oldest `writes` into the base. */
void redis_log_fold(const struct redis_log_view *view, uint32_t writes);

/* Fold every write up to a time; returns how many are left. */
uint32_t redis_log_fold_until(const struct redis_log_view *view, int64_t true_ns);

#endif
