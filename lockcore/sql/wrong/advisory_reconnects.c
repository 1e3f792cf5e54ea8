/* advisory_reconnects.c: connects anew and goes on, though its session held the lock. */
#include "lockcore/sql/advisory.h"

static const struct advisory_rules rules = {.try_kind = SQL_TRY_LOCK, .reconnects = true};

const struct lock_algorithm algorithm_wrong_advisory_reconnects = {
    ADVISORY_ALGORITHM,
    .name = "wrong/advisory-reconnects",
    .about = "goes on over a new connection when the one that held the lock broke",
    .source = "rails/rails #58658: connects anew in silence since Rails 7",
    .rules = &rules,
};
