/* advisory_stacks.c: tries again on top of an attempt that was not answered, and unlocks once. */
#include "lockcore/sql/advisory.h"

static const struct advisory_rules rules = {.try_kind = SQL_TRY_LOCK, .stacks = true};

const struct lock_algorithm algorithm_wrong_advisory_stacks = {
    ADVISORY_ALGORITHM,
    .name = "wrong/advisory-stacks",
    .about = "tries again on top of an attempt that got no answer: two grants, and one unlock",
    .source = "timescale/prometheus-postgresql-adapter #97; level12/pals #14",
    .rules = &rules,
};
