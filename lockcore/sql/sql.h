/*
 * sql.h: what a database is asked for a lock, as statements.
 *
 *     CREATE TABLE locks (name text PRIMARY KEY, owner text NOT NULL, until timestamptz NOT NULL,
 *                         fence bigint NOT NULL);
 *     CREATE SEQUENCE fences;
 *
 *     insert  INSERT INTO locks AS l VALUES (NAME, OWNER, clock_timestamp() + TTL,
 * nextval('fences')) ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until =
 * excluded.until, fence = excluded.fence WHERE l.until <= clock_timestamp() RETURNING fence update
 * UPDATE locks SET until = clock_timestamp() + TTL WHERE name = NAME AND owner = OWNER AND until >
 * clock_timestamp() RETURNING 1 delete  DELETE FROM locks WHERE name = NAME AND owner = OWNER AND
 * until > clock_timestamp() RETURNING 1
 *
 * clock_timestamp() is the time of the statement; now() is when its transaction began. -at: with a
 * time that the client brings instead.
 *
 * A row with an owner and an end is the lock of one Redis node in other words: set where it is
 * absent or over, compare, extend, delete. So its rules are Redlock's for one node.
 */
#ifndef LOCKCORE_SQL_SQL_H
#define LOCKCORE_SQL_SQL_H

#include "lockcore/redis/redlock.h"

enum sql_statement {
    SQL_NONE, /* never sent: 0 in a table of rules means that it names nothing */
    SQL_INSERT,
    SQL_UPDATE,
    SQL_DELETE,
    SQL_INSERT_AT,
    SQL_UPDATE_AT,
    SQL_CLOCK,
    SQL_DELETE_ANY,
    SQL_STATEMENTS,
};

extern const struct lock_dialect sql_dialect;

/* Reads what a set was answered: a fence, whatever number was sent. */
enum lock_answer sql_set_answer(const struct lock *lock, const struct lock_event *event,
                                struct lock_effects *effects);

#define SQL_RULES                                                                                  \
    .set_kind = SQL_INSERT, .extend_kind = SQL_UPDATE, .release_kind = SQL_DELETE,                 \
    .set_answer = sql_set_answer

#define SQL_ALGORITHM                                                                              \
    .dialect = &sql_dialect, .moves = redlock_moves, .step = redlock_step,                         \
    .wake_ns = redlock_wake_ns, .assert_valid = redlock_assert_valid, .reply_words = 1,            \
    .nodes_min = 1, .nodes_max = 1, .fenced = true

#endif
