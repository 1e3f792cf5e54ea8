/*
 * libzookeeper.h: ZooKeeper's own client library, the one without threads, loaded when it is first
 * needed: no run of another kind pays for it, and picklock runs where it is not installed.
 *
 *     const struct libzookeeper *zk = libzookeeper();     NULL: it is not there
 *     zk->zookeeper_close(handle);
 *     zk->zoo_state(handle) == *zk->ZOO_CONNECTED_STATE   its constants are variables
 *
 * Only connect.c and whoever measures it include this: it needs zookeeper/zookeeper.h.
 */
#ifndef SERVERS_ZOOKEEPER_REAL_LIBZOOKEEPER_H
#define SERVERS_ZOOKEEPER_REAL_LIBZOOKEEPER_H

#include "servers/loaded.h"

#include <zookeeper/zookeeper.h>

#define LIBZOOKEEPER_MAP(X)                                                                        \
    X(zookeeper_init)                                                                              \
    X(zookeeper_close)                                                                             \
    X(zookeeper_interest)                                                                          \
    X(zookeeper_process)                                                                           \
    X(zoo_state)                                                                                   \
    X(zoo_client_id)                                                                               \
    X(zoo_set_debug_level)                                                                         \
    X(zoo_acreate)                                                                                 \
    X(zoo_adelete)                                                                                 \
    X(zoo_awexists)                                                                                \
    X(zoo_awget_children)                                                                          \
    X(zoo_async)                                                                                   \
    X(ZOO_OPEN_ACL_UNSAFE)                                                                         \
    X(ZOO_EPHEMERAL_SEQUENTIAL)                                                                    \
    X(ZOO_CONNECTED_STATE)                                                                         \
    X(ZOO_CONNECTING_STATE)                                                                        \
    X(ZOO_EXPIRED_SESSION_STATE)                                                                   \
    X(ZOO_DELETED_EVENT)                                                                           \
    X(ZOO_CHILD_EVENT)                                                                             \
    X(ZOOKEEPER_READ)                                                                              \
    X(ZOOKEEPER_WRITE)

struct libzookeeper {
    LIBZOOKEEPER_MAP(LOADED_MEMBER)
};

const struct libzookeeper *libzookeeper(void);

#endif
