/*
 * advisory.h: session advisory locks of PostgreSQL.
 *
 *     acquire            try-lock: yes                          unlock
 *     IDLE ------> ACQUIRING -------------> HELD ------------------------> RELEASING --> IDLE
 *                   |   ^                     | the connection broke:           ^
 *               no  v   | delay               v told lost                       |
 *                  WAITING                  SPENT ---- told unknown, at once ---+
 *
 * The server keeps the lock for a session, which is a connection: it is free when that ends, and
 * never before. Nothing runs out, so nothing is promised but that: whoever loses the connection has
 * lost the lock. What a session is granted twice it must give back twice: an attempt that was not
 * answered in time is unlocked behind itself, on the same connection, so that it is never sent
 * again. Either that is carried out in order, or the session is over and all is free.
 */
#ifndef LOCKCORE_SQL_ADVISORY_H
#define LOCKCORE_SQL_ADVISORY_H

#include "lockcore/sql/command.h"
#include "lockcore/state.h"

/* What differs between the variants. */
struct advisory_rules {
    uint8_t try_kind;
    bool stacks;     /* wrong: an attempt without an answer is tried again on top of itself */
    bool reconnects; /* wrong: whose connection broke goes on with the next one */
};

extern const uint32_t advisory_moves[LOCK_STATES];
void advisory_step(struct lock *lock, const struct lock_event *event, struct lock_effects *effects);
int64_t advisory_wake_ns(const struct lock *lock);
void advisory_assert_valid(const struct lock *lock);

#define ADVISORY_ALGORITHM                                                                         \
    .dialect = &sql_dialect, .moves = advisory_moves, .step = advisory_step,                       \
    .wake_ns = advisory_wake_ns, .assert_valid = advisory_assert_valid, .reply_words = 1,          \
    .nodes_min = 1, .nodes_max = 1, .endless = true

#endif
