/*
 * znode.h: the names of a lock's znodes.
 *
 *     /lock-NAME/VALUE-lock-0000000007     the lock NAME's, of VALUE in hex; its place is 8
 *
 * What may not stand in a path is written %XX. The place is the number that the ensemble counts,
 * and one: 0 is none.
 */
#ifndef SERVERS_ZOOKEEPER_REAL_ZNODE_H
#define SERVERS_ZOOKEEPER_REAL_ZNODE_H

#include "lockcore/dialect.h"
#include "servers/wire.h"

enum {
    ZNODE_NAME_BYTES_MAX = 512,                               /* of a lock */
    ZNODE_PARENT_BYTES = 3 * ZNODE_NAME_BYTES_MAX + 8,        /* "/lock-NAME", terminated */
    ZNODE_CHILD_BYTES = LOCK_VALUE_HEX_BYTES + 24,            /* "VALUE-lock-0000000007" */
    ZNODE_PATH_BYTES = ZNODE_PARENT_BYTES + ZNODE_CHILD_BYTES /* both */
};

/* A name longer than ZNODE_NAME_BYTES_MAX asserts. */
void znode_print_parent(struct wire_text name, char parent[ZNODE_PARENT_BYTES]);

/* The znode of this place; 0: what is asked for when it is to be created. */
void znode_print(const char *parent, const struct lock_value *value, int64_t place,
                 char path[ZNODE_PATH_BYTES]);

/* "VALUE-lock-0000000007", or with nothing behind "lock-": then the place is 0. */
bool znode_read_child(struct wire_text child, struct lock_value *value, int64_t *place);

/* A parent's path, or a child's: the lock's name is put into `name`; false: it is none of ours. */
bool znode_read_parent(struct wire_text path, char name[ZNODE_NAME_BYTES_MAX],
                       struct wire_text *read);
bool znode_read(struct wire_text path, char name[ZNODE_NAME_BYTES_MAX], struct wire_text *read,
                struct lock_value *value, int64_t *place);

#endif
