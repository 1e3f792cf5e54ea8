/* story_cast.h: what is known of one cause while its story is made: for the files of this room. */
#ifndef CHECKER_STORY_STORY_CAST_H
#define CHECKER_STORY_STORY_CAST_H

#include "base/assert.h"
#include "checker/explain/explain_words.h"
#include "checker/story/story.h"

/* One check's fail. */
struct story_finding {
    size_t check;
    const struct check_result *result;
    uint32_t resource;
    int32_t clients[2];
    uint64_t first; /* evidence */
    uint64_t last;
    int32_t fault; /* that made it so, or HISTORY_NO_FAULT */
    int32_t group; /* index of the finding that stands for all of one cause */
};

/* One cause, with the ledger as it was at the last evidence of the check that leads. */
struct story_cast {
    const struct explain_history *history;
    const struct check_result *const *results;
    const struct ledger *ledger;
    const struct story_finding *lead;
    struct story_cause *cause;          /* being made */
    struct telling telling;             /* of the check that leads; writes to what is set last */
    const struct ledger_claim *older;   /* the grants of the two clients, ... */
    const struct ledger_claim *younger; /* ... in order; NULL where there is none */
};

static inline const struct history_event *story_event(const struct story_cast *cast, uint64_t index)
{
    return &cast->history->events[index];
}

/* A telling that writes to this text. */
static inline struct telling *story_into(struct story_cast *cast, struct text *text)
{
    cast->telling.text = text;
    return &cast->telling;
}

/* The fault behind a finding, read off the ledger as it is at its last evidence. */
int32_t story_fault_of(const struct ledger *ledger, const struct story_finding *finding);

/* A fault of one of these kinds (bits) in force on a client in [from, to]; the latest. */
int32_t story_fault_on_client(const struct ledger *ledger, int32_t process, uint64_t kinds,
                              const int64_t between_ns[2]);

/* Whether a lease was over by then, or cannot be, because nothing was promised. */
static inline bool story_late(const struct ledger_claim *claim, int64_t at_ns)
{
    return ledger_lease_end_ns(claim) <= at_ns || claim->until_ns == TIME_NEVER;
}

/* The nodes that a fault names as what it strikes. */
static inline uint64_t story_nodes_named(const struct history_event *start)
{
    ASSERT(start->kind == HISTORY_FAULT);
    return start->nodes | (start->node == HISTORY_NO_NODE ? 0 : UINT64_C(1) << start->node);
}

/* Whether a broken check says what the lock did wrong, so that it is the cause of the others. */
bool story_explains(const struct story_cast *cast, size_t check);

/* What a check's fail looks like, as a clause without times. */
void story_put_effect(const struct story_cast *cast, size_t index, struct text *text);

/* story_steps.c: the numbered moments, the box, and what to look at. */
void story_steps(struct story_cast *cast);

/* story_clients.c: a draft about a client; its grant; the faults that struck either of the two. */
struct drafts;
struct draft *story_draft_of(struct story_cast *cast, struct drafts *drafts, uint64_t index,
                             int32_t process);
void story_tell_grant(struct story_cast *cast, struct drafts *drafts,
                      const struct ledger_claim *claim);
void story_tell_faults(struct story_cast *cast, struct drafts *drafts);
void story_add_fault(struct story_cause *cause, int32_t fault);

/* story_faults.c: what stood in the way of what was asked: lost replies, a latency, a refusal. */
void story_tell_ways(struct story_cast *cast, struct drafts *drafts);

/* story_keys.c: how a claim's keys went before event `before`. */
void story_tell_ends(struct story_cast *cast, struct drafts *drafts,
                     const struct ledger_claim *claim, uint64_t before);
/* "node 3 restarted and forgot client 1's key"; false if none but their time took them. */
bool story_put_loss(struct story_cast *cast, const struct ledger_claim *claim, uint64_t before,
                    struct text *text);

/* story_words.c */
void story_title(struct story_cast *cast);
void story_advice(struct story_cast *cast);

/* Kinds of fault that stop a client, bend its clock, or make requests late. */
#define STORY_STOPS (CHECK_BIT(FAULT_PAUSE) | CHECK_BIT(FAULT_SLOW))
#define STORY_BENDS CHECK_BIT(FAULT_CLOCK_RATE)
#define STORY_DELAYS                                                                               \
    (CHECK_BIT(FAULT_LATENCY) | CHECK_BIT(FAULT_DELAY_COMMAND) | CHECK_BIT(FAULT_PARTITION))

#endif
