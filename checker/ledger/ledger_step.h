/* ledger_step.h: the parts of ledger_step, each over one kind of event. */
#ifndef CHECKER_LEDGER_STEP_H
#define CHECKER_LEDGER_STEP_H

#include "checker/ledger/ledger.h"

void ledger_step_operation(struct ledger *ledger, const struct history_event *event);
void ledger_step_section(struct ledger *ledger, const struct history_event *event);
void ledger_step_notice(struct ledger *ledger, const struct history_event *event);
void ledger_step_lease(struct ledger *ledger, const struct history_event *event);
void ledger_step_client(struct ledger *ledger, const struct history_event *event);
void ledger_step_node(struct ledger *ledger, const struct history_event *event);

/* The slot of a process, given one if it is new; process_count, and overflow, if there is none. */
uint32_t ledger_slot_take(struct ledger *ledger, int32_t process);

/* A blank claim of this client: free, or the one touched longest ago that holds no running lease.
 */
struct ledger_claim *ledger_claim_take(struct ledger *ledger, uint32_t slot);

/* An acquire has ended: so have the questions about the keys that it set. */
void ledger_keys_answered(struct ledger *ledger, const struct history_event *event,
                          const struct ledger_claim *granted);

static inline uint32_t ledger_claim_index(const struct ledger *ledger,
                                          const struct ledger_claim *claim)
{
    size_t offset = (size_t)((const char *)claim - (const char *)ledger) - ledger->claims_at;
    return (uint32_t)(offset / ledger->claim_bytes);
}

/* The ledger's own claims may be written by its own parts. */
static inline struct ledger_claim *ledger_own(const struct ledger_claim *claim)
{
    return (struct ledger_claim *)(uintptr_t)claim;
}

#endif
