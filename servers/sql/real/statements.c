/* statements.c: what a lock asks of PostgreSQL, in SQL. */
#include "servers/sql/real/statements.h"

#include "base/assert.h"

#include <string.h>

const char statements_table[] = "CREATE TABLE locks (name text PRIMARY KEY, owner text NOT NULL,"
                                " until timestamptz NOT NULL);\n\n"
                                "CREATE SEQUENCE fences;\n\n";

/* Whole ms, as the ends are that clients reckon with. clock_timestamp() is the time now; now() is
 * when the transaction began. */
#define DATABASE_NOW "date_trunc('milliseconds', clock_timestamp())"
#define BROUGHT_NOW  "(timestamptz 'epoch' + $4::bigint * interval '1 ms')"
#define TTL          "$3::bigint * interval '1 ms'"
#define OURS         "name = $1 AND owner = $2"

/* RETURNING comes when the row is ours: a fence that stood among the VALUES would be drawn before,
 * and whoever came meanwhile, and went, would have had a later one. */
#define INSERT(now)                                                                                \
    "INSERT INTO locks AS l VALUES ($1, $2, " now " + " TTL ")"                                    \
    " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"             \
    " WHERE l.until <= " now " RETURNING nextval('fences')"

#define UPDATE(now)                                                                                \
    "UPDATE locks SET until = " now " + " TTL " WHERE " OURS " AND until > " now " RETURNING 1"

/* The owner comes back: nothing in the server knows it. WHERE is looked at before what is selected,
 * so that a fence is drawn when the lock is ours. */
#define LOCK_KEY "hashtextextended($1, 0)"

static const struct statement statements[SQL_STATEMENTS] = {
    [SQL_INSERT] = {INSERT(DATABASE_NOW), 3, false},
    [SQL_UPDATE] = {UPDATE(DATABASE_NOW), 3, false},
    [SQL_DELETE] = {"DELETE FROM locks WHERE " OURS " AND until > " DATABASE_NOW " RETURNING 1", 2,
                    false},
    [SQL_INSERT_AT] = {INSERT(BROUGHT_NOW), 4, false},
    [SQL_UPDATE_AT] = {UPDATE(BROUGHT_NOW), 4, false},
    [SQL_CLOCK] = {"SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint", 0, false},
    [SQL_DELETE_ANY] = {"DELETE FROM locks WHERE name = $1 RETURNING 1", 1, false},
    [SQL_TRY_LOCK] = {"SELECT $2::text WHERE pg_try_advisory_lock(" LOCK_KEY ")", 2, true},
    [SQL_TRY_LOCK_FENCE] =
        {"SELECT nextval('fences'), $2::text WHERE pg_try_advisory_lock(" LOCK_KEY ")", 2, true},
    [SQL_UNLOCK] = {"SELECT $2::text WHERE pg_advisory_unlock(" LOCK_KEY ")", 2, true},
};

const struct statement *statement_of(uint32_t kind)
{
    ASSERT(kind != SQL_NONE && kind < SQL_STATEMENTS);
    return &statements[kind];
}

enum sql_statement statement_read(const char *text, size_t bytes)
{
    for (uint32_t kind = SQL_NONE + 1; kind < SQL_STATEMENTS; kind++) {
        const struct statement *own = &statements[kind];
        if (own->unprepared && strlen(own->text) == bytes && memcmp(own->text, text, bytes) == 0) {
            return (enum sql_statement)kind;
        }
    }
    return SQL_NONE;
}

enum sql_statement statement_named(const char *name, size_t bytes)
{
    for (uint32_t kind = SQL_NONE + 1; kind < SQL_STATEMENTS; kind++) {
        const char *own = lock_dialect_row(&sql_dialect, kind)->name;
        if (strlen(own) == bytes && memcmp(own, name, bytes) == 0) {
            return (enum sql_statement)kind;
        }
    }
    return SQL_NONE;
}
