/* ignores_events.c: holds until it releases, whatever becomes of its session. */
#include "lockcore/zookeeper/zookeeper.h"

static const struct zookeeper_rules rules = {.ignores_events = true};

const struct lock_algorithm algorithm_wrong_zookeeper_ignores_events = {
    ZOOKEEPER_ALGORITHM,
    .name = "wrong/zookeeper-ignores-events",
    .about = "looks at neither Disconnected nor Expired, and goes on for ten sessions' time",
    .source = "apache/curator #727 (CURATOR-206): no listener, \"still thinks it has the lock\"",
    .rules = &rules,
};
