/* hazelcast.c: a Hazelcast cluster as a kind: the row. */
#include "servers/hazelcast/grid.h"
#include "servers/hazelcast/real/real.h"

const struct server_kind server_kind_hazelcast = {
    .name = "hazelcast",
    .dialect = &hazelcast_dialect,
    .model = &hazelcast_grid,
    .one_store = true,
    .goes_without_consensus = true,
    .launch = &hazelcast_launch,
    .wire = &hazelcast_wire,
    .connection = &hazelcast_connection,
};
