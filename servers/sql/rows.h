/*
 * rows.h: a database as locks see it: one row a name, a sequence, and its own clock.
 *
 * PostgreSQL with its defaults (fsync, synchronous_commit): what was answered survives a crash and
 * a power cut. A row is over when a statement finds it so; until then it stands in the table. A
 * replica follows the log, which the sequence writes ahead into: it goes on from there.
 */
#ifndef SERVERS_SQL_ROWS_H
#define SERVERS_SQL_ROWS_H

#include "servers/sql/sessions.h"

struct sql_row {
    bool present;
    bool told_over; /* that its end has come is recorded */
    struct lock_value owner;
    /* As the statement wrote it: by the database's clock, or the time it brought. */
    int64_t until_ms;
    int64_t sound_ns; /* its end in true time, if all clocks are sound: tells the cause */
};

/* What stood there before a write that the replica may not have yet. */
struct sql_write {
    int64_t true_ns;
    int64_t fences_logged;
    uint32_t resource;
    struct sql_row before;
};

struct sql_table {
    const struct lock_dialect *dialect; /* constant data: the same in every copy */
    int64_t fences;                     /* the sequence: what it gave last */
    int64_t fences_logged;              /* up to here it need not write into its log again, ... */
    int64_t fences_known;               /* ... and so far before it last did, ... */
    int64_t fences_ns;                  /* ... which was then */
    uint32_t resource_count;
    uint32_t writes_max; /* 0: there is never a failover */
    uint64_t writes;     /* so many were made; the newest of them are remembered */
    struct sql_sessions sessions;
    struct sql_row rows[]; /* then writes_max writes, a ring; then advisory locks, one a row */
};

/* Of its sequence. */
int64_t sql_next_fence(struct sql_table *table, int64_t true_ns);

extern const struct server_model sql_rows;

#endif
