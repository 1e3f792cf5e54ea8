/* kinds.h: the names of the kinds of lock server: a row each, which servers.c and the scenario's
 * table read. */
#ifndef SERVERS_KINDS_H
#define SERVERS_KINDS_H

/* A new kind is a folder here (its model), one in lockcore (its dialect and algorithms), and a row
 * in the table of each. */
#define SERVER_KIND_MAP(X)                                                                         \
    X(redis)                                                                                       \
    X(chubby)                                                                                      \
    X(sql)                                                                                         \
    X(etcd)                                                                                        \
    X(zookeeper)                                                                                   \
    X(hazelcast)

enum server_kind_number {
#define X(name) SERVER_KIND_##name,
    SERVER_KIND_MAP(X)
#undef X
};

#endif
