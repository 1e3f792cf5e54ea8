/* delete_failed.c: forgets its node when the deletion fails, and keeps the session alive. */
#include "lockcore/zookeeper/zookeeper.h"

static const struct zookeeper_rules rules = {.forgets_delete = true};

const struct lock_algorithm algorithm_wrong_zookeeper_delete_failed = {
    ZOOKEEPER_ALGORITHM,
    .name = "wrong/zookeeper-delete-failed",
    .about = "a release whose delete got no answer forgets the node, which stays with its session",
    .source = "apache/curator #1193 (CURATOR-678), #1006 (CURATOR-486)",
    .rules = &rules,
};
