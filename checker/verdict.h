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
};

/* Count a violation; the first one is kept with its evidence. Grade: definite. */
void check_fail(struct check_result *result, const struct finding *finding);

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

/* A client went on, at the ledger's now, with a lease that was over: was it stopped, or slow? */
struct blamed blame_late(const struct ledger *ledger, const struct ledger_claim *claim);

/*
 * Two clients that each were granted a resource met in the section or at the store: if their leases
 * overlapped, it is blame_overlap's question, else the older one was late.
 */
struct blamed blame_meeting(const struct ledger *ledger, int32_t one, int32_t other,
                            uint32_t resource);

static inline struct blamed blamed_library(void)
{
    return (struct blamed){BLAME_LIBRARY, ASSUMPTION_NONE};
}

#endif
