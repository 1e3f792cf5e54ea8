/* dead_lease.c: waits for the older keys to go, and never looks whether its own is still there. */
#include "lockcore/etcd/etcd.h"

static const struct session_rules rules = {
    .open_kind = ETCD_GRANT,
    .take_kind = ETCD_PUT,
    .look_kind = ETCD_OLDER,
    .release_kind = ETCD_REVOKE,
    .never_keeps = true,
};

const struct lock_algorithm algorithm_wrong_etcd_dead_lease = {
    SESSION_ALGORITHM,
    .name = "wrong/etcd-dead-lease",
    .about = "takes the lock when all older keys are gone, though its own lease ended meanwhile",
    .source = "etcd #11456; fixed in 3.5, not in 3.4",
    .asks_more = true,
    .dialect = &etcd_dialect,
    .rules = &rules,
};
