/* redis.c: redis-servers as a kind: the row. */
#include "servers/redis/redis.h"

#include "lockcore/drivers/connection.h"
#include "lockcore/redis/command.h"

const struct server_kind server_kind_redis = {
    .name = "redis",
    .dialect = &redis_dialect,
    .model = &redis_service,
    .syncs = true,
    .replicates = true,
    .launch = &redis_launch,
    .wire = &redis_wire,
    .connection = &connection_hiredis,
};
