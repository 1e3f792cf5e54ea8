/*
 * verdict.h: how a check notes what it found, and whom to blame.
 *
 *     struct finding finding = {.reason = ..., .evidence = {first, second}, .evidence_count = 2};
 *     finding.blame = blame_overlap(ledger, first, second);
 *     check_fail(&state->result, &finding);
 */
#ifndef CHECKER_VERDICT_H
#define CHECKER_VERDICT_H

#include "checker/check.h"
#include "checker/ledger/ledger.h"

struct blamed {
    uint8_t blame;      /* enum blame */
    uint8_t assumption; /* enum assumption */
};

struct finding {
    uint8_t reason;
    uint8_t evidence_count;
    struct blamed blamed;
    uint64_t evidence[CHECK_EVIDENCE_MAX]; /* in any order; kept in order of time */
    int64_t number[2];
    struct check_rest rest;
};

/*
 * Count a violation; the first one that is blamed on the library is kept with its evidence, else
 * the first: what the lock did is not less for what had befallen it before. Grade: definite. One
 * that may be our own lateness is none: the verdict is unknown then, unless another is found that
 * is not.
 */
/* Gives whether it counted. */
bool check_fail(struct check_result *result, const struct ledger *ledger,
                const struct finding *finding);

/* It turned out that the recorder stood still: what was found so far may rest on that. */
void check_doubt(struct check_result *result, const struct ledger *ledger);

/* At the end: pass if something was judged and nothing failed, skipped if nothing was judged. */
void check_conclude(struct check_result *result);

/* Assert what is always true of a result, from its beginning to its end. */
void check_assert_valid(const struct check_result *result);

/* The history cannot answer the question; `reason` says why. */
void check_unknown(struct check_result *result, uint8_t reason, int64_t number);

/*
 * Two clients held a resource at once: why could the second get it? Looks at the keys of the first:
 * whether it ever had a majority, and how each key of it ended that ended before the second's lease
 * began. What became of the others is of no matter: they expire in time, as all keys do.
 */
struct blamed blame_overlap(const struct ledger *ledger, const struct ledger_claim *first,
                            const struct ledger_claim *second);

/* A majority of a claim's keys is gone although its lease runs: whose fault? */
struct blamed blame_keys(const struct ledger *ledger, const struct ledger_claim *claim);

/* How many of a claim's keys the nodes let expire in their time. */
int32_t keys_run_out(const struct ledger *ledger, const struct ledger_claim *claim);

/* Keys are there that were deleted: a deletion that a node forgot at a restart is not the lock's.
 */
struct blamed blame_kept(const struct ledger *ledger, const struct ledger_claim *claim);

/* A client went on, at the ledger's now, with a lease that was over: was it stopped, or slow? */
struct blamed blame_late(const struct ledger *ledger, const struct ledger_claim *claim);

/*
 * Two clients that each were granted a resource met in the section or at the store: if their leases
 * overlapped, it is blame_overlap's question, else the older one was late.
 */
struct blamed blame_meeting(const struct ledger *ledger, int32_t one, int32_t other,
                            uint32_t resource);

/* Fences went backwards: counters that a node lost or threw out cannot go on where they were. */
struct blamed blame_counters(const struct ledger *ledger);

/* Only a lock, or a section, that was wrong by a little can have been right but for us. */
static inline bool blame_rests_on_time(struct blamed blamed)
{
    return blamed.blame == BLAME_LIBRARY || blamed.assumption == ASSUMPTION_SECTION;
}

/* Two clients and what they met at. */
struct finding_cast {
    int32_t one;
    int32_t other;
    uint32_t resource;
};

/*
 * Two leases, of which the second began at `since_ns` while the first ran. Only when time has gone
 * on is it known that neither ended at that very time.
 */
struct lease_pair {
    uint32_t first; /* claims */
    uint32_t second;
    uint64_t first_order; /* of their grants */
    uint64_t second_order;
    int64_t since_ns;
};

struct lease_pair lease_pair_of(const struct ledger *ledger, const struct ledger_claim *first,
                                const struct ledger_claim *second);

/*
 * Such a pair that is a violation, if it turns out that they overlap. Where it rests on a holder
 * that was to be told, it waits until that holds the lock no more, or long enough: so much it is
 * wrong.
 */
struct overlap {
    bool waiting;
    bool met;       /* time went on, and both leases with it */
    int64_t end_ns; /* of the first, as far as is known */
    struct lease_pair pair;
    struct finding finding;
};

/* Whether there is room for one more of this first lease; one of another is judged as it stands. */
bool overlap_is_free(struct overlap *overlap, struct check_result *result,
                     const struct ledger *ledger, const struct ledger_claim *first);
void overlap_begin(struct overlap *overlap, const struct finding *finding, struct lease_pair pair);

/* Something happened, and the ledger has it; the history is over. */
void overlap_step(struct overlap *overlap, struct check_result *result,
                  const struct ledger *ledger);
void overlap_finish(struct overlap *overlap, struct check_result *result,
                    const struct ledger *ledger);

/* The claim whose lease this event makes run, or run again; NULL if it makes none. */
const struct ledger_claim *lease_begins(const struct ledger *ledger,
                                        const struct history_event *event);

/* What it rests on that the first of two leases ran while the second was granted. */
struct check_rest rest_of_overlap(const struct ledger *ledger, const struct ledger_claim *first,
                                  struct blamed blamed);

/* What it rests on that a lease runs now. */
struct check_rest rest_of_promise(const struct ledger *ledger, const struct ledger_claim *claim);

/* Whether a finding is yet to be measured by how long the holder goes on that was to be told. */
bool rest_goes_on(const struct check_rest *rest, int64_t now_ns);

/* What it rests on when that went on until `end_ns`. */
struct check_rest rest_gone_on(struct check_rest rest, int64_t end_ns);

/* What it rests on that two clients met, where that was blamed so. */
struct check_rest rest_of_meeting(const struct ledger *ledger, const struct finding_cast *cast,
                                  struct blamed blamed);

/* What a wait rests on that lasted until now, longer than allowed by `margin_ns`. */
static inline struct check_rest rest_of_wait(const struct ledger *ledger, int64_t from_ns,
                                             int64_t margin_ns)
{
    return (struct check_rest){.from_ns = from_ns,
                               .to_ns = ledger->now_ns,
                               .stamped_ns = ledger->now_ns,
                               .margin_ns = margin_ns,
                               .processes = CHECK_REST_OF(HISTORY_NOBODY),
                               .causes = CHECK_LATE_TIMES,
                               .adds_up = true};
}

/* What is answered within such a part of a ttl was no node waited for in vain, whoever stood still.
 */
enum { CHECK_AT_ONCE_PARTS = 50 };

/* So much of a ttl, as a part of it, a deletion may take that had to wait for something. */
enum { CHECK_DELETION_PARTS = 4 };

/*
 * What it rests on that a client deleted no key from `from_ns` until now: it has to send that, the
 * proxy to pass it on, the node to carry it out, and each of them may be late. A new connection may
 * have to be made first, over a network that may be slow: a part of the ttl is for that.
 */
static inline struct check_rest rest_of_deletion(const struct ledger *ledger, int32_t process,
                                                 int64_t from_ns)
{
    int64_t allowed_ns = ledger->ttl_ns / CHECK_DELETION_PARTS;
    struct check_rest rest = rest_of_wait(ledger, from_ns, ledger->now_ns - from_ns - allowed_ns);
    rest.processes[0] = process;
    rest.causes |= CHECK_LATE_KEYS;
    return rest;
}

/* What it rests on that nodes told all that became of their keys since then. */
static inline struct check_rest rest_of_keys(const struct ledger *ledger, int64_t from_ns)
{
    return (struct check_rest){.from_ns = from_ns,
                               .to_ns = ledger->now_ns,
                               .stamped_ns = ledger->now_ns,
                               .processes = CHECK_REST_OF(HISTORY_NOBODY),
                               .causes = UINT32_C(1) << CAUSE_TAP};
}

static inline struct blamed blamed_library(void)
{
    return (struct blamed){BLAME_LIBRARY, ASSUMPTION_NONE};
}

#endif
