/*
 * admin.h: plain questions to a PostgreSQL server, in its own protocol: is it there, what time is
 * it. No library: a server is started also for locks that bring their own.
 */
#ifndef SERVERS_SQL_REAL_ADMIN_H
#define SERVERS_SQL_REAL_ADMIN_H

#include "base/result.h"
#include "base/text.h"
#include "servers/launch.h"

/* Has it said on process->talk_fd that it is ready? Opens that where it is not open. Never waits.
 */
bool admin_ready(struct server_process *process);

/* The first field of the first row that a statement gives. Waits for some seconds at most. */
MUST_USE struct result admin_query(struct server_process *process, const char *statement,
                                   struct text *answer, struct text *why);

#endif
