/* ledger_valid.c: what is always true of a ledger. */
#include "checker/ledger/ledger_valid.h"

#include "base/assert.h"

static void assert_claim(const struct ledger *ledger, const struct ledger_claim *claim)
{
    ASSERT((claim->present & ~claim->set) == 0);
    ASSERT((claim->remade & ~claim->set) == 0);
    ASSERT((claim->over == OVER_NOT) == (claim->over_ns == TIME_NEVER));
    ASSERT(claim->until_least_ns <= claim->until_ns);
    ASSERT(claim->resource < ledger->resource_count);
    if (claim->state == CLAIM_GRANTED) {
        ASSERT(claim->order > 0 && claim->order <= ledger->grants);
        ASSERT(claim->granted_ns <= ledger->now_ns);
        ASSERT(claim->fresh_index >= claim->granted_index);
    } else {
        ASSERT(!claim->listed);
        ASSERT(claim->over == OVER_NOT);
    }
}

/* What is listed runs, or ran out by itself. */
static void assert_running(const struct ledger *ledger, uint32_t resource)
{
    uint32_t left = ledger->process_count * LEDGER_CLAIMS;
    uint32_t link = ledger_resource_at(ledger, resource)->running;
    while (link != 0) {
        const struct ledger_claim *claim = ledger_claim_at(ledger, link - 1);
        ASSERT(claim->listed);
        ASSERT(claim->resource == resource);
        ASSERT(claim->over == OVER_NOT);
        ASSERT(left > 0);
        left--;
        link = claim->next;
    }
}

static void assert_key(const struct ledger *ledger, int32_t node, uint32_t resource)
{
    const struct ledger_key *key = ledger_key_at(ledger, node, resource);
    const struct ledger_claim *claim = ledger_key_claim(ledger, key);
    if (claim != NULL && key->present) {
        ASSERT((claim->present >> node & 1) != 0);
        ASSERT(claim->resource == resource);
    }
    ASSERT(key->claim <= ledger->process_count * LEDGER_CLAIMS);
}

void ledger_assert_step(const struct ledger *ledger, const struct history_event *event)
{
    ASSERT(ledger->now_ns == event->time_ns);
    if (event->kind == HISTORY_NODE && ledger->node_count > 0 &&
        event->resource < ledger->resource_count) {
        assert_key(ledger, event->node, event->resource);
    }
    if (event->kind == HISTORY_OP && event->type == HISTORY_OK && event->f == HISTORY_ACQUIRE) {
        const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
        bool again = ledger_nesting(ledger, event->process) == NESTING_INNER;
        ASSERT(claim == NULL || claim->granted_index == event->index || again || ledger->overflow);
    }
}

void ledger_assert_valid(const struct ledger *ledger)
{
    uint32_t listed = 0;
    uint32_t active = 0;
    for (uint32_t i = 0; i < ledger->process_count * LEDGER_CLAIMS; i++) {
        const struct ledger_claim *claim = ledger_claim_at(ledger, i);
        if (claim->state != CLAIM_FREE) {
            assert_claim(ledger, claim);
            ASSERT(claim->process == ledger_process_at(ledger, i / LEDGER_CLAIMS)->process);
        }
        listed += claim->listed ? 1 : 0;
    }
    for (uint32_t resource = 0; resource < ledger->resource_count; resource++) {
        uint32_t link = ledger_resource_at(ledger, resource)->running;
        assert_running(ledger, resource);
        for (; link != 0; link = ledger_claim_at(ledger, link - 1)->next) {
            ASSERT(listed > 0);
            listed--;
        }
        for (int32_t node = 0; node < ledger->node_count; node++) {
            assert_key(ledger, node, resource);
        }
    }
    ASSERT(listed == 0);
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        active += fault->state == FAULT_ACTIVE ? 1 : 0;
        ASSERT(fault->state == FAULT_WAITING || fault->start_ns <= ledger->now_ns);
    }
    ASSERT(active == ledger->faults_active);
}
