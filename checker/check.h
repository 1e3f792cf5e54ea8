/*
 * check.h: one question put to a history, as a step: event in, finding out.
 *
 *     event --> ledger (what is known so far) --> each check that asked for this kind of event
 *
 * judge.h runs them together: all checks over one history, or the one that a test is about. A check
 * sees the ledger as it stands after the event (ledger.h: leases, keys, open operations, faults),
 * so that what several checks need is kept once.
 *
 * All state lies in the caller's memory, without pointers, so that a check can watch a run live,
 * judge a history larger than memory, and be snapshotted with a simulated world. A step neither
 * allocates nor formats. A new check is one file in checks/, which holds its reasons and its
 * sentences too, and one row in checks.c.
 */
#ifndef CHECKER_CHECK_H
#define CHECKER_CHECK_H

#include "base/text.h"
#include "history/event.h"

#include <stddef.h>
#include <stdint.h>

#define CHECK_VERDICT_MAP(X)                                                                       \
    X(VERDICT_SKIPPED, "skipped") /* it does not apply, or there was nothing to judge */           \
    X(VERDICT_PASS, "pass")                                                                        \
    X(VERDICT_FAIL, "fail")                                                                        \
    X(VERDICT_UNKNOWN, "unknown")

/* What the reader does next. */
#define CHECK_BLAME_MAP(X)                                                                         \
    X(BLAME_NONE, "none")                                                                          \
    X(BLAME_LIBRARY, "library")       /* the lock broke its own algorithm: report it */            \
    X(BLAME_ASSUMPTION, "assumption") /* a correct lease lock cannot survive this: guard, fence */ \
    X(BLAME_DEPLOYMENT, "deployment") /* eviction, even node counts, a pooler: set it up anew */

/* How strong the evidence is. */
#define CHECK_GRADE_MAP(X)                                                                         \
    X(GRADE_NONE, "none")                                                                          \
    X(GRADE_DEFINITE, "definite") /* whatever unknown operations did */                            \
    X(GRADE_NOT_LINEARIZABLE, "not linearizable")                                                  \
    X(GRADE_POSSIBLE, "possible") /* under some outcome of unknown operations */

enum verdict {
#define X(name, word) name,
    CHECK_VERDICT_MAP(X)
#undef X
};

enum blame {
#define X(name, word) name,
    CHECK_BLAME_MAP(X)
#undef X
};

enum grade {
#define X(name, word) name,
    CHECK_GRADE_MAP(X)
#undef X
};

/* Why a lock could not have known better: which assumption broke. */
#define CHECK_ASSUMPTION_MAP(X)                                                                    \
    X(ASSUMPTION_NONE, "")                                                                         \
    X(ASSUMPTION_CLIENT_PAUSE, "the holder is never stopped for longer than its lease")            \
    X(ASSUMPTION_NODE_CLOCK, "node clocks do not jump and run at about the same rate")             \
    X(ASSUMPTION_CLIENT_CLOCK, "the client's clock runs at about the rate of the nodes' clocks")   \
    X(ASSUMPTION_PERSISTENCE, "a restarted node still has its keys, or stays away for a ttl")      \
    X(ASSUMPTION_LEADER, "a leader that was paused ends no lease that its successor keeps")        \
    X(ASSUMPTION_REPLICATION, "a promoted replica has every acknowledged write")                   \
    X(ASSUMPTION_CONSENSUS, "nothing is granted unless a majority of the members agree")           \
    X(ASSUMPTION_SESSION, "the holder's connection lasts as long as it counts on the lock")        \
    X(ASSUMPTION_OWN_SESSION, "each client has a session of the server to itself")                 \
    X(ASSUMPTION_MEMORY, "a node never evicts a lock's key")                                       \
    X(ASSUMPTION_DELAY, "a request is never delayed for longer than the lease")                    \
    X(ASSUMPTION_SECTION, "the holder leaves its section before its lease ends")

enum assumption {
#define X(name, sentence) name,
    CHECK_ASSUMPTION_MAP(X)
#undef X
};

enum { CHECK_EVIDENCE_MAX = 4 };

enum { CHECK_REST_PROCESSES = 4 };

/* Of one client, or of HISTORY_NOBODY. */
#define CHECK_REST_OF(process)                                                                     \
    {                                                                                              \
        process, HISTORY_NOBODY, HISTORY_NOBODY, HISTORY_NOBODY                                    \
    }

/*
 * What a finding rests on: moments in which whoever recorded may have stood still. If it did for as
 * long as the margin by which the lock is wrong, it may be our own doing, and nothing is known.
 */
struct check_rest {
    int64_t from_ns;
    int64_t to_ns;
    int64_t stamped_ns; /* until then it matters who stamped; after it, how clocks went */
    int64_t margin_ns;
    int32_t processes[CHECK_REST_PROCESSES]; /* clients that must not have stood still, each counted
                                                once; HISTORY_NOBODY */
    uint32_t causes;  /* bit n: of an enum history_cause of lateness; 0: rests on no time */
    bool adds_up;     /* it was a long wait: every time counts, not just the longest */
    bool answered;    /* ... which was answered at once, again and again: just the longest does */
    bool goes_on;     /* a holder that is to be told: nor is it wrong by more than it goes on */
    int64_t since_ns; /* ... from then: when another was granted the lock */
};

/* Sorts of lateness. */
#define CHECK_LATE_TIMES                                                                           \
    (UINT32_C(1) << CAUSE_LOOP | UINT32_C(1) << CAUSE_SCHEDULER | UINT32_C(1) << CAUSE_SUSPEND |   \
     UINT32_C(1) << CAUSE_CLOCK_STEP | UINT32_C(1) << CAUSE_START)
#define CHECK_LATE_CLOCKS (UINT32_C(1) << CAUSE_SUSPEND | UINT32_C(1) << CAUSE_CLOCK_STEP)
#define CHECK_LATE_KEYS   (CHECK_LATE_CLOCKS | UINT32_C(1) << CAUSE_TAP)

/* The head of every check's state. */
struct check_result {
    uint8_t verdict;    /* enum verdict; final after finish */
    uint8_t blame;      /* enum blame; of the violation that is described */
    uint8_t grade;      /* enum grade */
    uint8_t assumption; /* enum assumption */
    uint8_t evidence_count;
    uint8_t reason;    /* the check's own number of what went wrong; its `say` words it */
    bool inapplicable; /* skipped, because of what the lock says of itself */
    bool suspects;     /* the library would be to blame for what may be our own lateness */
    uint64_t evidence[CHECK_EVIDENCE_MAX]; /* indices of events, in order of time */
    uint64_t judged;                       /* how many things were judged; 0 is never a pass */
    uint64_t violations;                   /* how many failed; the first one that is blamed on
                                              the library is described, else the first */
    int64_t number[2];                     /* for the sentence: overlap in ns, wait in ns, ... */
    struct check_rest rest;                /* of the violation that is described */
};

/* Numbers of what went wrong that all checks share; their own begin at 1. */
enum {
    CHECK_REASON_LIMIT = 255,     /* the history passed a limit of what the check can follow */
    CHECK_REASON_UNWATCHED = 254, /* no node told what became of its keys */
    CHECK_REASON_LATE = 253,      /* what was found may be our own lateness: number[0] ns of it, for
                                     number[1], an enum history_cause */
};

/* What a check's fail is in a story of several (story/story.h); the later one leads. */
#define CHECK_PART_MAP(X)                                                                          \
    X(PART_OTHER)   /* told where there is nothing else */                                         \
    X(PART_WAITING) /* nobody was let in */                                                        \
    X(PART_LOCK)    /* what the lock did */                                                        \
    X(PART_DAMAGE)  /* what came of it: told behind a meeting */                                   \
    X(PART_MEETING) /* two clients had it at once */

enum check_part {
#define X(name) name,
    CHECK_PART_MAP(X)
#undef X
};

struct ledger;
struct telling; /* explain/explain_words.h: one violation, and the words to tell it with */

struct check {
    const char *name;     /* as in scenario files */
    const char *question; /* one sentence */
    const char *nothing;  /* what it means that nothing was judged: a clause */
    uint16_t needs;       /* bit n: applies to locks that declare enum history_declares n, or ...;
                             0: to all */
    bool keyed;           /* judges what happened to keys: unknown where no node told */
    bool served;          /* a fail presumes a service, not only its members: an ensemble that tells
                             nothing may be long about an election, and then it is unknown */
    uint64_t wants;       /* bit f: step wants the events of this enum history_f */
    bool follows;         /* judges by the ledger: where that overflowed, a pass is unknown */
    bool required;        /* where a file expects nothing of it, all but a pass is unknown */
    size_t (*bytes)(const struct history_header *header);
    void (*init)(void *state, const struct history_header *header);
    void (*step)(void *state, const struct ledger *ledger, const struct history_event *event);
    void (*finish)(void *state, const struct ledger *ledger);
    /* The headline of a fail or an unknown: one clause. All evidence is in the history then. */
    void (*say)(const struct telling *telling);
    /* What people see of a fail: a shorter clause, without times. NULL: what `say` says. */
    void (*effect)(const struct telling *telling);
    const char *over; /* stands over it in a picture; NULL: nothing */
    bool lasts;       /* ... and then how long it was */
    /* When it was so, and the words over it, where that is not from the first evidence to the
     * last. NULL: it is. */
    const char *(*span)(const struct telling *telling, int64_t between_ns[2]);
    uint8_t part;      /* enum check_part */
    uint8_t weight;    /* among those of its part the heaviest leads */
    uint16_t explains; /* bit r: a fail for reason r, blamed on the lock, is the others' cause */
};

/* For sets of enum history_f, and of enum fault_kind. */
#define CHECK_BIT(number) (UINT64_C(1) << (number))

/* Every state begins with its result. */
static inline const struct check_result *check_result(const void *state)
{
    return state;
}

/* The table of checks, in the order of docs/CHECKS.md. */
size_t check_count(void);
const struct check *check_at(size_t index);
const struct check *check_find(const char *name); /* NULL if there is none */

/* Whether a check has nothing to say of a lock, because of what that declares. */
bool check_inapplicable(const struct check *check, const struct history_header *header);

/* Why a result is `skipped`: one clause, "the lock declares no fence". */
void check_print_skipped(const struct check *check, bool inapplicable, struct text *text);

/* Fail beats unknown, unknown beats pass, pass beats skipped. */
enum verdict verdict_worse(enum verdict a, enum verdict b);

const char *verdict_name(enum verdict verdict);
const char *blame_name(enum blame blame);
const char *grade_name(enum grade grade);
const char *assumption_sentence(enum assumption assumption);

#endif
