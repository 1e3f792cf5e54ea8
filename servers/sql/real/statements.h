/*
 * statements.h: what a lock asks of PostgreSQL, in SQL: one statement a command, prepared under the
 * command's name, or without any. Its parameters are texts, in this order, as far as its row
 * carries them:
 *
 *     $1 the resource's name   $2 the owner, in hex   $3 ms of ttl   $4 ms since 1970
 */
#ifndef SERVERS_SQL_REAL_STATEMENTS_H
#define SERVERS_SQL_REAL_STATEMENTS_H

#include "lockcore/sql/command.h"

enum { STATEMENT_PARAMETERS_MAX = 4, STATEMENT_NUMBER_BYTES = 24 };

/* What each database has from the beginning. */
extern const char statements_table[];

struct statement {
    const char *text;
    uint32_t parameters;
    bool unprepared; /* it has no name: it is known by its text */
};

/* Of a command of the dialect. */
const struct statement *statement_of(uint32_t kind);

/* The command whose name, or without a name whose text, this is; SQL_NONE: it is none of ours. */
enum sql_statement statement_named(const char *name, size_t bytes);
enum sql_statement statement_read(const char *text, size_t bytes);

#endif
