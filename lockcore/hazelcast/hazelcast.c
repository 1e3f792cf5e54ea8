/* hazelcast.c: the FencedLock of a Hazelcast cluster: a CP session, heartbeats, a fence. */
#include "lockcore/hazelcast/hazelcast.h"

static const struct lock_command_row rows[HAZELCAST_COMMANDS] = {
    [HAZELCAST_NONE] = {"none", "nothing", LOCK_VERB_NONE, 0, LOCK_ANSWERS_YES_NO, false},
    [HAZELCAST_CREATE_SESSION] = {"create-session", "begin a CP session", LOCK_VERB_OPEN_SESSION,
                                  LOCK_CARRIES_TTL, LOCK_ANSWERS_YES_NO, false},
    [HAZELCAST_TRY_LOCK] = {"try-lock", "take the lock in the session; its turn is waited for",
                            LOCK_VERB_SET_ABSENT, LOCK_CARRIES_TTL | LOCK_CARRIES_NUMBER,
                            LOCK_ANSWERS_NUMBER, false},
    [HAZELCAST_HEARTBEAT] = {"heartbeat", "keep the session; answered with its ttl",
                             LOCK_VERB_KEEP_SESSION, 0, LOCK_ANSWERS_NUMBER, false},
    [HAZELCAST_UNLOCK] = {"unlock", "give the lock free and close the session",
                          LOCK_VERB_CLOSE_SESSION, 0, LOCK_ANSWERS_YES_NO, false},
};

const struct lock_dialect hazelcast_dialect = {
    .name = "hazelcast",
    .rows = rows,
    .row_count = HAZELCAST_COMMANDS,
    .renew_percent = 33,
};

static const struct session_rules rules = {HAZELCAST_RULES, .fenced = true};

const struct lock_algorithm algorithm_fenced_lock = {
    SESSION_ALGORITHM,
    .name = "fenced_lock",
    .about = "a CP session kept by heartbeats, a queue of invocations, a fence from the log",
    .source = "Hazelcast documentation, FencedLock; com.hazelcast.cp.internal 5.4",
    .fenced = true,
    .dialect = &hazelcast_dialect,
    .rules = &rules,
};
