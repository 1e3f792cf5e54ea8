/* zookeeper.c: a ZooKeeper ensemble as a kind: the row. */
#include "servers/zookeeper/ensemble.h"
#include "servers/zookeeper/real/real.h"

const struct server_kind server_kind_zookeeper = {
    .name = "zookeeper",
    .dialect = &zookeeper_dialect,
    .model = &ensemble_model,
    .one_store = true,
    .launch = &zookeeper_launch,
    .wire = &zookeeper_wire,
    .connection = &zookeeper_connection,
};
