/* no_delay.c: the same without a lock-delay, which its client may choose. */
#include "lockcore/chubby/chubby.h"

static const struct session_rules rules = {CHUBBY_RULES, .delay_percent = 0};

const struct lock_algorithm algorithm_chubby_no_delay = {
    SESSION_ALGORITHM,
    .name = "chubby_no_delay",
    .about = "the same with a lock-delay of 0: free as soon as the holder's session is over",
    .source = "Burrows 2006, 2.4: the lock-delay is the client's choice",
    .fenced = true,
    .dialect = &chubby_dialect,
    .rules = &rules,
};
