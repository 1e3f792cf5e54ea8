/* replica.h: a PostgreSQL server that follows another, and takes its place. */
#ifndef SERVERS_SQL_REAL_REPLICA_H
#define SERVERS_SQL_REAL_REPLICA_H

#include "servers/launch.h"

/* A word that says how it reaches whom it follows, without the password; an empty one: nobody. */
void replica_word(const struct server_process *process, struct server_words *words);

/* What a server is told so that it can follow, or be followed; or that it needs no such log. */
void replica_words(const struct server_process *process, struct server_words *words);

extern const struct server_replica sql_replica;

#endif
