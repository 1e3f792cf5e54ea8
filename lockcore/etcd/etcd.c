/* etcd.c: the lock of an etcd cluster: a lease, a place in the order of revisions, keep-alives. */
#include "lockcore/etcd/etcd.h"

static const struct lock_command_row rows[ETCD_COMMANDS] = {
    [ETCD_NONE] = {"none", "nothing", LOCK_VERB_NONE, 0, LOCK_ANSWERS_YES_NO, false},
    [ETCD_GRANT] = {"grant", "LeaseGrant: begin a lease of this number", LOCK_VERB_OPEN_SESSION,
                    LOCK_CARRIES_TTL, LOCK_ANSWERS_YES_NO, false},
    [ETCD_ENQUEUE] = {"enqueue", "Txn: put our key if it is not there; is it the oldest?",
                      LOCK_VERB_SET_ABSENT, 0, LOCK_ANSWERS_NUMBER, false},
    [ETCD_KEEP_ALIVE] = {"keep-alive", "LeaseKeepAlive: answered with the new ttl",
                         LOCK_VERB_KEEP_SESSION, 0, LOCK_ANSWERS_NUMBER, false},
    [ETCD_REVOKE] = {"revoke", "LeaseRevoke: end the lease, and our key with it",
                     LOCK_VERB_CLOSE_SESSION, 0, LOCK_ANSWERS_YES_NO, false},
    [ETCD_PUT] = {"put", "Txn: put our key if it is not there; its revision", LOCK_VERB_SET_ABSENT,
                  0, LOCK_ANSWERS_NUMBER, false},
    [ETCD_OLDER] = {"older", "Range: is no key older than a revision, be ours there or not?",
                    LOCK_VERB_NONE, LOCK_CARRIES_NUMBER, LOCK_ANSWERS_NUMBER, false},
};

const struct lock_dialect etcd_dialect = {
    .name = "etcd",
    .rows = rows,
    .row_count = ETCD_COMMANDS,
    .renew_percent = 33,
};

static const struct session_rules rules = {ETCD_RULES};

const struct lock_algorithm algorithm_etcd = {
    SESSION_ALGORITHM,
    .name = "etcd",
    .about = "a lease kept alive, a key in it, the oldest key holds, its revision is the fence",
    .source = "etcd client/v3/concurrency: Session, Mutex",
    .fenced = true,
    .dialect = &etcd_dialect,
    .rules = &rules,
};
