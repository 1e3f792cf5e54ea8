/* real.h: the parts of the kind "sql" in the real world: PostgreSQL, and libpq. */
#ifndef SERVERS_SQL_REAL_REAL_H
#define SERVERS_SQL_REAL_REAL_H

#include "lockcore/drivers/connection.h"
#include "servers/launch.h"
#include "servers/wire.h"

extern const struct server_launch sql_launch;       /* launch.c */
extern const struct server_wire sql_wire;           /* wire.c */
extern const struct connection_kind sql_connection; /* connect.c */

/* Is libpq there, as a header when this was built and as a library now? */
struct server_lack libpq_lacks(void);

#endif
