/*
 * hazelcast.h: what the CP group of a Hazelcast cluster is asked for a FencedLock, and that lock as
 * a table of rules.
 *
 *     create-session  CreateSessionOp
 *     try-lock        TryLockOp(session, invocation uid, timeout)
 *     heartbeat       HeartbeatSessionOp(session)
 *     unlock          UnlockOp(session, invocation uid), then CloseSessionOp(session)
 *
 * A session is named by the value, and an invocation by its session and `number`: who is asked the
 * same twice does nothing twice. An invocation that finds the lock taken waits for its turn for up
 * to its timeout. One more invocation of whoever has the lock enters again: the fence of a grant is
 * where its first invocation stands in the log, and no re-entry makes it grow.
 */
#ifndef LOCKCORE_HAZELCAST_HAZELCAST_H
#define LOCKCORE_HAZELCAST_HAZELCAST_H

#include "lockcore/session.h"

enum hazelcast_command {
    HAZELCAST_NONE, /* never sent: 0 in a table of rules means that it names nothing */
    HAZELCAST_CREATE_SESSION,
    HAZELCAST_TRY_LOCK,
    HAZELCAST_HEARTBEAT,
    HAZELCAST_UNLOCK,
    HAZELCAST_COMMANDS,
};

extern const struct lock_dialect hazelcast_dialect;

/* It waits for its turn for a quarter of a ttl, and beats three times in one. There is no grace: at
 * the end of its session as it reckons it a holder has lost the lock. */
#define HAZELCAST_RULES                                                                            \
    .open_kind = HAZELCAST_CREATE_SESSION, .take_kind = HAZELCAST_TRY_LOCK,                        \
    .keep_kind = HAZELCAST_HEARTBEAT, .release_kind = HAZELCAST_UNLOCK, .wait_percent = 25,        \
    .keep_percent = 33, .opens_once = true, .opens_first = true

#endif
