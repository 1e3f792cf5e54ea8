/* session_kept.c: an acquire that got no answer leaves its session behind, and its heartbeats. */
#include "lockcore/hazelcast/hazelcast.h"

static const struct session_rules rules = {HAZELCAST_RULES, .fenced = true,
                                           .keeps_unanswered = true};

const struct lock_algorithm algorithm_wrong_hazelcast_session_kept = {
    SESSION_ALGORITHM,
    .name = "wrong/hazelcast-session-kept",
    .about = "a session whose try-lock got no answer is kept alive for ever, with what it took",
    .source = "hazelcast PR #17697; fixed in 4.1",
    .fenced = true,
    .dialect = &hazelcast_dialect,
    .rules = &rules,
};
