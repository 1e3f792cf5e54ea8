/* fence_not_raised.c: a fence that no majority remembers. */
#include "lockcore/redlock.h"

static const struct redlock_rules rules = {FENCED_REDLOCK_RULES, .raise_kind = LOCK_COMMAND_KINDS};

const struct lock_algorithm algorithm_wrong_fence_not_raised = {
    .name = "wrong/fence-not-raised",
    .about = "grants with the highest fence seen, without writing it back to a majority",
    .source = "reads of Attiya, Bar-Noy and Dolev 1995 without the write-back phase",
    .fenced = true,
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
    .step = redlock_step,
};
