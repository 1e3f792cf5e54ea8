/* etcd.c: an etcd cluster as a kind: the row. */
#include "servers/etcd/cluster.h"
#include "servers/etcd/real/real.h"

const struct server_kind server_kind_etcd = {
    .name = "etcd",
    .dialect = &etcd_dialect,
    .model = &etcd_cluster,
    .one_store = true,
    .launch = &etcd_launch,
    .wire = &etcd_wire,
    .connection = &etcd_connection,
};
