/*
 * marks.h: what each event did to leases, sections, keys and waiting, as the ledger has it.
 *
 *     events --> ledger_step --> what is otherwise than before --> marks: "lease+", "key-lost", ...
 *
 * Whoever draws (the page, the lanes in text, a trace) draws from these, so that the ledger that
 * judges is the one that draws: no rule of when a lease ends or whose a key is stands anywhere
 * else. Needs the events from the first on, in order.
 */
#ifndef CHECKER_REPORT_MARKS_H
#define CHECKER_REPORT_MARKS_H

#include "checker/ledger/ledger.h"

/* What is a bar in the picture. */
#define MARK_BAR_MAP(X)                                                                            \
    X(MARK_LEASE, "lease")     /* of a client: what it was promised, from the grant on */          \
    X(MARK_SECTION, "section") /* of a client */                                                   \
    X(MARK_KEY, "key")         /* of a node */                                                     \
    X(MARK_WAIT, "wait")       /* of a client: from asking to the answer */

/* How it ended. */
#define MARK_HOW_MAP(X)                                                                            \
    X(HOW_NONE, "")                                                                                \
    X(HOW_RELEASED, "released") /* lease: given back */                                            \
    X(HOW_TOLD, "told")         /* lease: the lock said that it was lost */                        \
    X(HOW_KILLED, "killed")     /* lease, section: with its client */                              \
    X(HOW_LEFT, "left")         /* section */                                                      \
    X(HOW_DELETED, "deleted")   /* key: by its owner */                                            \
    X(HOW_EXPIRED, "expired")   /* key: its time was up on a sound clock */                        \
    X(HOW_TAKEN, "taken")       /* key: deleted by another client */                               \
    X(HOW_LOST, "lost")         /* key: it should have lived on */                                 \
    X(HOW_REPLACED, "replaced") /* key: overwritten */                                             \
    X(HOW_OK, "ok")             /* wait: the answer */                                             \
    X(HOW_REFUSED, "refused")                                                                      \
    X(HOW_UNKNOWN, "unknown")

enum mark_bar {
#define X(name, word) name,
    MARK_BAR_MAP(X)
#undef X
        MARK_BARS,
};

enum mark_how {
#define X(name, word) name,
    MARK_HOW_MAP(X)
#undef X
        MARK_HOWS,
};

enum mark_turn {
    MARK_OPEN,  /* it begins, and ends at until_ns if nothing else comes */
    MARK_MOVE,  /* it ends at another until_ns */
    MARK_CLOSE, /* it ends now */
};

struct mark {
    uint8_t bar;     /* enum mark_bar */
    uint8_t turn;    /* enum mark_turn */
    uint8_t how;     /* CLOSE: enum mark_how */
    int32_t process; /* whose: of a key, who set it, or HISTORY_NOBODY */
    int32_t node;    /* of a key; else HISTORY_NO_NODE */
    uint32_t resource;
    int64_t until_ns; /* OPEN and MOVE: TIME_NEVER without a promised end or an expiry */
};

/* At most: a client that is killed ends every claim of its own, its section and its waiting. */
enum { MARKS_MAX = LEDGER_CLAIMS + 4 };

struct marks {
    uint32_t count;
    struct mark list[MARKS_MAX];
};

struct marker;

/* NULL if memory is short. */
struct marker *marker_open(const struct history_header *header);
void marker_step(struct marker *marker, const struct history_event *event, struct marks *marks);
void marker_close(struct marker *marker);

/* As it is after the last event. */
const struct ledger *marker_ledger(const struct marker *marker);

const char *mark_bar_name(enum mark_bar bar);
const char *mark_how_name(enum mark_how how);

#endif
