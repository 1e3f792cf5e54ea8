/* ignores_jeopardy.c: goes on through the grace period as if nothing were. */
#include "lockcore/chubby/chubby.h"

static const struct session_rules rules = {CHUBBY_RULES, .delay_percent = 100,
                                           .ignores_jeopardy = true};

const struct lock_algorithm algorithm_wrong_chubby_ignores_jeopardy = {
    SESSION_ALGORITHM,
    .name = "wrong/chubby-ignores-jeopardy",
    .about = "takes the lock for held until the grace period is over",
    .source = "Burrows 2006, 2.8: in jeopardy a client does not know whether its session is over",
    .fenced = true,
    .dialect = &chubby_dialect,
    .rules = &rules,
};
