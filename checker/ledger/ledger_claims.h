/*
 * ledger_claims.h: the ledger's lowest part: the slot of a process, its claims, the running leases.
 *
 * The parts stand on each other in one order, which `make arrows` holds:
 *
 *     ledger.c --> ledger_leases --> ledger_keys --> ledger_claims --> ledger.h
 *        '-------> ledger_faults ------------------------------------> ledger.h
 */
#ifndef CHECKER_LEDGER_CLAIMS_H
#define CHECKER_LEDGER_CLAIMS_H

#include "checker/ledger/ledger.h"

enum { LEDGER_SLOTS = 2 * LEDGER_CLIENTS }; /* places for processes that are not counted */

/* The slot of a process, given one if it is new; process_count, and overflow, if there is none. */
uint32_t ledger_slot_take(struct ledger *ledger, int32_t process);

/* A blank claim of this client: free, or the one touched longest ago that holds no running lease.
 */
struct ledger_claim *ledger_claim_take(struct ledger *ledger, uint32_t slot);

/* An acquire uses a claim's value anew: what is gone of its keys is forgotten. Keeps its state. */
void ledger_claim_renew(struct ledger *ledger, struct ledger_claim *claim);

/* Put a lease before the others of its resource, and drop those that have run out. */
void ledger_running_add(struct ledger *ledger, struct ledger_claim *claim);

/* Take a lease from those of its resource; nothing if it is not among them. */
void ledger_running_drop(struct ledger *ledger, struct ledger_claim *claim);

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
