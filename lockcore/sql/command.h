/*
 * command.h: what a database is asked for a lock: a statement a command.
 *
 *     CREATE TABLE locks (name text PRIMARY KEY, owner text NOT NULL, until timestamptz NOT NULL);
 *     CREATE SEQUENCE fences;
 *
 *     insert  a row, or the one that is there if its `until` is not after the time; gives a fence,
 *             drawn when the row is ours: fences grow as the row changes hands
 *     update  a new `until`, if the row has this owner and its `until` is after the time
 *     delete  the row, on the same terms
 *
 *     try-lock  pg_try_advisory_lock, for the session; -fence: and a fence, drawn when it is ours
 *     unlock    pg_advisory_unlock: gives back once what may have been granted several times
 *
 * Word by word they stand in servers/sql/real/statements.c. The time is clock_timestamp(), when the
 * statement is carried out; now() is when its transaction began. -at: a time that the client brings
 * instead.
 */
#ifndef LOCKCORE_SQL_COMMAND_H
#define LOCKCORE_SQL_COMMAND_H

#include "lockcore/dialect.h"

enum sql_statement {
    SQL_NONE, /* never sent: 0 in a table of rules means that it names nothing */
    SQL_INSERT,
    SQL_UPDATE,
    SQL_DELETE,
    SQL_INSERT_AT,
    SQL_UPDATE_AT,
    SQL_CLOCK,
    SQL_DELETE_ANY,
    SQL_TRY_LOCK,
    SQL_TRY_LOCK_FENCE,
    SQL_UNLOCK,
    SQL_STATEMENTS,
};

extern const struct lock_dialect sql_dialect;

#endif
