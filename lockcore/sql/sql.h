/*
 * sql.h: the lock of a row in a database.
 *
 * A row with an owner and an end is the lock of one Redis node in other words: set where it is
 * absent or over, compare, extend, delete. So its rules are Redlock's for one node.
 */
#ifndef LOCKCORE_SQL_SQL_H
#define LOCKCORE_SQL_SQL_H

#include "lockcore/redis/redlock.h"
#include "lockcore/sql/command.h"

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
