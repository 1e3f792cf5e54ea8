/* sql.c: a database as a kind: the row. */
#include "lockcore/sql/command.h"
#include "servers/sql/real/real.h"
#include "servers/sql/rows.h"

const struct server_kind server_kind_sql = {
    .name = "sql",
    .dialect = &sql_dialect,
    .model = &sql_rows,
    .one_store = true,
    .launch = &sql_launch,
    .wire = &sql_wire,
    .connection = &sql_connection,
};
