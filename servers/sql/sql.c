/* sql.c: a database as a kind: the row. */
#include "servers/sql/sql.h"

#include "lockcore/sql/command.h"
#include "servers/sql/real/real.h"

const struct server_kind server_kind_sql = {
    .name = "sql",
    .dialect = &sql_dialect,
    .model = &sql_rows,
    .one_store = true,
    .launch = &sql_launch,
    .wire = &sql_wire,
    .connection = &sql_connection,
};
