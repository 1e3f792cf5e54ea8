/* pooler.h: pgbouncer before a PostgreSQL server, as part of the same node. */
#ifndef SERVERS_SQL_REAL_POOLER_H
#define SERVERS_SQL_REAL_POOLER_H

#include "base/result.h"
#include "base/text.h"
#include "servers/launch.h"

/* server_launch.before */
MUST_USE struct result pooler_before(const struct server_process *process,
                                     struct server_words *words, struct text *why);

#endif
