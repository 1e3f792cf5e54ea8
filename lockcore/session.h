/*
 * session.h: locks that live in a session with one service: opened, kept alive, expired.
 *
 *     open, take -> held: keep, keep, keep ... -> release
 *                    |  ^
 *     no answer      v  | an answer
 *                  jeopardy -- grace is over --> lost
 *
 * All members of the service are one store. A client asks the member that it takes for the master,
 * and the next one where that says that it is not, where its link breaks, or where it is silent.
 * Each acquire has a session of its own, which the release ends: whoever is asked twice does
 * nothing twice, as every command names its session.
 *
 * The end of the session as the client reckons it (its *lease*) is never later than the service's:
 * it counts from when the client sent what the service answered, and less the allowance for clocks
 * that run at different rates.
 */
#ifndef LOCKCORE_SESSION_H
#define LOCKCORE_SESSION_H

#include "lockcore/state.h"

enum { SESSION_CLOSES_MAX = 8 }; /* sessions whose release is still unanswered */

/* A session that must go: after a refused acquire, or a release without an answer. */
struct session_close {
    struct lock_value value;
    uint32_t attempt;
    int64_t resend_ns;
    int64_t deadline_ns; /* the session has ended by itself by then */
};

/* The own part of a lock in a session. */
struct session {
    int64_t lease_ns;      /* the session's end, as reckoned here */
    int64_t sent_ns;       /* when the command was sent from which it counts next */
    int64_t keep_due_ns;   /* when the next member is asked to keep it; TIME_NEVER: nobody is */
    uint32_t keep_attempt; /* 0: no answer to a keep is waited for */
    uint32_t member;       /* that is taken for the master */
    uint32_t refusals;     /* members in a row that were not */
    uint32_t jeopardy;     /* 1: told so, and neither renewed nor lost since */
    uint32_t repeated;     /* 1: the release was sent before, and may have been carried out */
    uint32_t close_count;
    int64_t place;  /* in a queue, where the service keeps one and is asked for it apart; 0: none */
    int64_t opened; /* 1: the service said of this acquire's session that it is open */
    struct session_close closes[SESSION_CLOSES_MAX]; /* oldest first */
};

/* What differs between the kinds of service, and where a variant is wrong. */
struct session_rules {
    uint8_t open_kind;    /* opens the session, or gives it a new end; answered yes */
    uint8_t take_kind;    /* takes the lock in it; answered with a number, which only grows */
    uint8_t keep_kind;    /* gives the session a new end; answered with ms since it came */
    uint8_t release_kind; /* gives the lock free and ends the session */
    uint8_t look_kind;    /* wrong: after a take, which gave a place in a queue, this alone is asked
                           * until it is our turn, whatever became of the session; 0: none */
    bool fenced;          /* the number is handed on as the grant's fence */
    bool ignores_jeopardy;  /* wrong: the promise ends with the grace period, not with the lease */
    bool lease_from_reply;  /* wrong: the lease counts from when an answer came */
    bool opens_once;        /* a late open would begin the session anew: it is kept alive instead
                             * once it was answered */
    bool opens_first;       /* ... and nothing is asked in it before: whatever comes late finds no
                             * session, and does nothing */
    bool never_keeps;       /* wrong: the session is not kept alive */
    uint16_t keep_percent;  /* of the ttl: from one keep to the next; 0: at once, as the service
                             * does not answer before it is time */
    uint16_t wait_percent;  /* of the ttl: how long a take may wait for its turn at the service,
                             * which is told the number of the attempt, too; 0: it does not wait */
    uint16_t grace_percent; /* of the ttl: how long the session may yet be saved after its lease */
    uint16_t delay_percent; /* of the ttl: for how long nobody gets the lock of a dead holder */
};

/* What every algorithm has whose rules are a struct session_rules. */
#define SESSION_ALGORITHM                                                                          \
    .moves = session_moves, .step = session_step, .wake_ns = session_wake_ns,                      \
    .assert_valid = session_assert_valid, .nodes_min = 1, .nodes_max = LOCK_NODES_MAX,             \
    .reply_words = 1, .extends_unasked = true

extern const uint32_t session_moves[LOCK_STATES];
void session_step(struct lock *lock, const struct lock_event *event, struct lock_effects *effects);
int64_t session_wake_ns(const struct lock *lock);
void session_assert_valid(const struct lock *lock);

#endif
