/* sql.h: the parts of the kind "sql", for its row. */
#ifndef SERVERS_SQL_SQL_H
#define SERVERS_SQL_SQL_H

#include "servers/server.h"

extern const struct server_model sql_rows; /* rows.c */

#endif
