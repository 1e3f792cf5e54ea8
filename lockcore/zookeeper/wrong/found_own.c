/* found_own.c: looks for its node by name alone, and finds what its session before left behind. */
#include "lockcore/zookeeper/zookeeper.h"

static const struct zookeeper_rules rules = {.finds_own = true};

const struct lock_algorithm algorithm_wrong_zookeeper_found_own = {
    ZOOKEEPER_ALGORITHM,
    .name = "wrong/zookeeper-found-own",
    .about = "takes the node of its session before, which is about to go, for its own",
    .source = "apache/curator #1121 (CURATOR-604), #1018 (CURATOR-498)",
    .rules = &rules,
};
