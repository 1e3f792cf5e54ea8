/* chubby.c: the lock of a Chubby cell: session, KeepAlives, jeopardy, sequencer, lock-delay. */
#include "lockcore/chubby/chubby.h"

static const struct lock_command_row rows[CHUBBY_COMMANDS] = {
    [CHUBBY_OPEN] = {"open-session", "begin a session, or give it a new end",
                     LOCK_VERB_OPEN_SESSION, LOCK_CARRIES_TTL, LOCK_ANSWERS_YES_NO, false},
    [CHUBBY_ACQUIRE] = {"acquire", "TryAcquire: take the lock in the session, with a lock-delay",
                        LOCK_VERB_SET_ABSENT, LOCK_CARRIES_TTL, LOCK_ANSWERS_NUMBER, false},
    [CHUBBY_KEEP_ALIVE] = {"keep-alive", "KeepAlive: answered when the lease is about to end",
                           LOCK_VERB_KEEP_SESSION, 0, LOCK_ANSWERS_NUMBER, false},
    [CHUBBY_RELEASE] = {"release", "give the lock free and end the session",
                        LOCK_VERB_CLOSE_SESSION, 0, LOCK_ANSWERS_YES_NO, false},
};

const struct lock_dialect chubby_dialect = {
    .name = "chubby",
    .rows = rows,
    .row_count = CHUBBY_COMMANDS,
    .renew_percent = 75,
};

static const struct session_rules rules = {CHUBBY_RULES, .delay_percent = 100};

const struct lock_algorithm algorithm_chubby = {
    SESSION_ALGORITHM,
    .name = "chubby",
    .about = "a session kept alive with a master, a sequencer, a lock-delay",
    .source = "Burrows 2006, \"The Chubby lock service for loosely-coupled distributed systems\"",
    .fenced = true,
    .dialect = &chubby_dialect,
    .rules = &rules,
};
