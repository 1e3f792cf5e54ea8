/*
 * etcd.h: what an etcd cluster is asked for a lock, and its lock as a table of rules.
 *
 *     grant       LeaseGrant(ID, TTL)
 *     enqueue     Txn(If create_revision(KEY) == 0 Then put(KEY, lease ID) Else get(KEY);
 *                     in both: get(the oldest key under the lock's name))
 *     keep-alive  LeaseKeepAlive(ID)
 *     revoke      LeaseRevoke(ID)
 *
 * KEY is the lock's name, a slash, and the lease; the lease is made of the value, so that whoever
 * is asked twice does nothing twice. The holder is who has the key with the lowest create revision,
 * which is the grant's fence: each write is to be a transaction that compares it.
 *
 * The recipe waits for the end of the key before its own by a watch; ours asks again after each
 * retry delay. So a member that is cut off from the others cannot leave it waiting in silence.
 */
#ifndef LOCKCORE_ETCD_ETCD_H
#define LOCKCORE_ETCD_ETCD_H

#include "lockcore/session.h"

enum etcd_command {
    ETCD_NONE, /* never sent: 0 in a table of rules means that it names nothing */
    ETCD_GRANT,
    ETCD_ENQUEUE,
    ETCD_KEEP_ALIVE,
    ETCD_REVOKE,
    ETCD_PUT,
    ETCD_OLDER,
    ETCD_COMMANDS,
};

extern const struct lock_dialect etcd_dialect;

/* A lease is kept alive when a third of it is over, as etcd's own client does it. There is no
 * grace: at the end of its lease a holder has lost the lock. */
#define ETCD_RULES                                                                                 \
    .open_kind = ETCD_GRANT, .take_kind = ETCD_ENQUEUE, .keep_kind = ETCD_KEEP_ALIVE,              \
    .release_kind = ETCD_REVOKE, .keep_percent = 33, .opens_once = true, .fenced = true

#endif
