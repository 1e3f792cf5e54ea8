/* lease_from_reply.c: counts a lease from the wrong end of the time that its KeepAlive took. */
#include "lockcore/chubby/chubby.h"

static const struct session_rules rules = {CHUBBY_RULES, .delay_percent = 0,
                                           .lease_from_reply = true};

const struct lock_algorithm algorithm_wrong_chubby_lease_from_reply = {
    SESSION_ALGORITHM,
    .name = "wrong/chubby-lease-from-reply",
    .about = "counts its lease from when the answer came, not from when it was asked for",
    .source = "Burrows 2006, 2.8: \"conservative assumptions both of the time its KeepAlive reply "
              "spent in flight\"",
    .fenced = true,
    .dialect = &chubby_dialect,
    .rules = &rules,
};
