/* sql.c: a database as a kind: rows, and the locks of sessions. */
#include "lockcore/sql/command.h"
#include "servers/sql/real/real.h"
#include "servers/sql/rows.h"

const struct server_kind server_kind_sql = {
    .name = "sql",
    .dialect = &sql_dialect,
    .model = &sql_rows,
    .one_store = true,
    .pools = true,
    .launch = &sql_launch,
    .wire = &sql_wire,
    .connection = &sql_connection,
};
