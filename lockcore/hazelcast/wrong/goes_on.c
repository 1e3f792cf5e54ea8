/* goes_on.c: believes in its session for as long as no call says that the group has closed it. */
#include "lockcore/hazelcast/hazelcast.h"

static const struct session_rules rules = {HAZELCAST_RULES, .fenced = true, .grace_percent = 1000,
                                           .ignores_jeopardy = true};

const struct lock_algorithm algorithm_wrong_hazelcast_goes_on = {
    SESSION_ALGORITHM,
    .name = "wrong/hazelcast-goes-on",
    .about = "a holder whose heartbeats nobody answers goes on: the loss is told by its next call",
    .source = "FencedLock javadoc, LockOwnershipLostException; redisson #3636 asks for the same",
    .fenced = true,
    .dialect = &hazelcast_dialect,
    .rules = &rules,
};
