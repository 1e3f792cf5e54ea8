/* herd.c: the same, and whoever waits is woken whenever any node comes or goes. */
#include "lockcore/zookeeper/zookeeper.h"

static const struct zookeeper_rules rules = {.herd = true};

const struct lock_algorithm algorithm_zookeeper_herd = {
    ZOOKEEPER_ALGORITHM,
    .name = "zookeeper_herd",
    .about = "the same, and each that waits watches all the nodes: what the recipe warns of",
    .source = "ZooKeeper Recipes and Solutions, \"Locks\": the herd effect",
    .rules = &rules,
};
