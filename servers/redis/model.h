/*
 * model.h: one redis-server as locks see it: keys with a value and an expiry, fence
 * counters, a script cache, an append-only file and a replica that lags.
 *
 *     struct redis_model *model = redis_model_bytes(&shape) bytes, aligned to 16;
 *     redis_model_init(model, &shape, FSYNC_EVERYSEC);
 *     redis_model_command(model, &ask, &answer);
 *
 * Expiry is an absolute date in milliseconds of the node's wall clock; a key is gone once the
 * clock shows a later millisecond than its date (Redis 7.0, db.c, keyIsExpired). What a restart
 * reads back is the volatile state, nothing, or a prefix of the writes since the last fsync.
 * tests/sim/test_differential.c holds it against a real server. Plain memory without pointers.
 */
#ifndef SERVERS_REDIS_MODEL_H
#define SERVERS_REDIS_MODEL_H

#include "lockcore/redis/command.h"
#include "servers/server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The lock's key and the fence counter of one resource. */
struct redis_cell {
    struct lock_value value;
    bool present;
    bool expires; /* false: a key without a ttl */
    bool counted; /* there is a fence counter */
    int64_t expire_ms;
    int64_t fence;
    int64_t sound_ns; /* when it would expire in true time on a sound clock: tells the cause */
};

struct redis_shape {
    uint32_t resource_count;
    uint32_t disk_writes_max;    /* since the last fsync; 0: power is never cut */
    uint32_t replica_writes_max; /* not yet replicated; 0: never a failover */
};

struct redis_model;

size_t redis_model_bytes(const struct redis_shape *shape);
void redis_model_init(struct redis_model *model, const struct redis_shape *shape,
                      enum fsync_setting fsync);

struct redis_ask {
    const struct lock_command *command;
    uint32_t resource;
    int64_t true_ns;
    int64_t wall_ns; /* the node's own clock */
};

struct redis_answer {
    struct lock_reply reply;
    uint8_t f;                /* enum history_f of what happened to the key, ... */
    bool touched;             /* ... if anything did that a history tells */
    struct redis_cell before; /* the cell as the command found it */
};

void redis_model_command(struct redis_model *model, const struct redis_ask *ask,
                         struct redis_answer *answer);

/* Is this key's time up at `wall_ns`? */
bool redis_cell_expired(const struct redis_cell *cell, int64_t wall_ns);

/* The first wall time, in ns, at which the key is gone; TIME_NEVER without a ttl. */
int64_t redis_cell_end_ns(const struct redis_cell *cell);

const struct redis_cell *redis_model_cell(const struct redis_model *model, uint32_t resource);

/* Remove a key: its time is up, or memory is short. The removal is a write like any other. */
void redis_model_remove(struct redis_model *model, uint32_t resource, int64_t true_ns);

/* It follows another and takes no writes but that one's; or no longer. */
void redis_model_follow(struct redis_model *model, bool follows);

/* What whom it follows says of a resource. A write like any other. */
void redis_model_put(struct redis_model *model, uint32_t resource, const struct redis_cell *cell,
                     int64_t true_ns);

/* Answer every command with an error, as far as this error goes; NULL: no longer. */
void redis_model_refuse(struct redis_model *model, const enum node_error *error);

void redis_model_flush_scripts(struct redis_model *model);

/* How many writes a power cut now could lose. Brings the everysec fsync up to date. */
uint32_t redis_model_unsynced(struct redis_model *model, int64_t true_ns);

/* An fsync of the first `writes` of them has just come back. */
void redis_model_synced(struct redis_model *model, uint32_t writes, int64_t true_ns);

/* The process is about to stop: what of what it knows can be read back? */
void redis_model_prepare_stop(struct redis_model *model, enum server_stop how, uint32_t kept);

/* What will be found of a resource; between prepare_stop and stop. */
const struct redis_cell *redis_model_stored(const struct redis_model *model, uint32_t resource);

/* The process is gone: the cells are what its file holds. Their dates run on. */
void redis_model_stop(struct redis_model *model);

/* The process starts: memory is what the file holds; the script cache is empty. */
void redis_model_start(struct redis_model *model, int64_t true_ns);

/* What a replica that lags by `lag_ns` knows of a resource, and its promotion. */
void redis_model_replica_catch_up(struct redis_model *model, int64_t until_true_ns);
const struct redis_cell *redis_model_replica(const struct redis_model *model, uint32_t resource);
void redis_model_promote(struct redis_model *model, int64_t true_ns);

#endif
