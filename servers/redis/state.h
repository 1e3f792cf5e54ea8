/* state.h: the inside of a redis_model, for the two files that know it. */
#ifndef SERVERS_REDIS_STATE_H
#define SERVERS_REDIS_STATE_H

#include "servers/redis/log.h"

/* What a stopped server will find when it starts. */
enum redis_recovery { REDIS_RECOVERS_ALL, REDIS_RECOVERS_NOTHING, REDIS_RECOVERS_BASE };

struct redis_model {
    uint8_t fsync;    /* enum fsync_setting */
    uint8_t error;    /* 0: none; else enum node_error + 1 */
    uint8_t recovery; /* enum redis_recovery; while stopped */
    bool stopped;
    bool follows;     /* another: it is read-only */
    bool unsynced;    /* killed: what the kernel has may still be lost to a later power cut */
    uint32_t scripts; /* bit k: the script of command kind k is in the cache */
    uint32_t resource_count;
    int64_t synced_ns; /* everysec: when the last fsync was */
    struct redis_log disk;
    struct redis_log replica;
    struct redis_cell cells[]; /* then the disk's and the replica's base and writes */
};

/* The cell of a resource was just written. */
void redis_wrote(struct redis_model *model, uint32_t resource, int64_t true_ns);

#endif
