/* ledger.c: follows leases, keys, open operations and faults through a history. */
#include "checker/ledger/ledger.h"

#include "base/assert.h"
#include "checker/ledger/ledger_claims.h"
#include "checker/ledger/ledger_faults.h"
#include "checker/ledger/ledger_keys.h"
#include "checker/ledger/ledger_late.h"
#include "checker/ledger/ledger_leases.h"
#include "checker/ledger/ledger_valid.h"

enum { ALIGNMENT = 16 };

static uint32_t rounded(size_t bytes)
{
    return (uint32_t)((bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
}

uint32_t ledger_process_count(const struct history_header *header)
{
    uint32_t counted = (uint32_t)header->client_count + 1;
    uint32_t bounded = counted < LEDGER_CLIENTS_MAX ? counted : LEDGER_CLIENTS_MAX;
    return header->client_count > 0 ? bounded : LEDGER_CLIENTS;
}

uint32_t ledger_resource_count(const struct history_header *header)
{
    uint32_t counted = (uint32_t)header->resource_count;
    uint32_t bounded = counted < LEDGER_RESOURCES_MAX ? counted : LEDGER_RESOURCES_MAX;
    return header->resource_count > 0 ? bounded : LEDGER_RESOURCES;
}

uint32_t ledger_fault_count(const struct history_header *header)
{
    return header->fault_count > 0 ? (uint32_t)header->fault_count : LEDGER_FAULTS;
}

/* Set every count and offset of `layout`; gives the bytes of the whole. */
static size_t ledger_layout(const struct history_header *header, struct ledger *layout)
{
    ASSERT(header->node_count >= 0 && header->node_count <= HISTORY_NODES_MAX);
    *layout = (struct ledger){
        .node_count = header->node_count,
        .store_count = history_stores(header),
        .quorum = history_stores(header) / 2 + 1,
        .node_quorum = header->replica_count > 0 ? header->node_count : header->node_count / 2 + 1,
        .drift_ppm = header->drift_ppm,
        .declared = header->declared,
        .declares = header->declares,
        .ownership = header->ownership,
        .threads = header->thread_count > 1 ? header->thread_count : 1,
        .renew_every_ns = header->renew_every_ns,
        .process_count = ledger_process_count(header),
        .resource_count = ledger_resource_count(header),
        .fault_count = ledger_fault_count(header),
        .processes_counted = header->client_count > 0,
        .has_nodes = header->tapped,
        .tapped = header->tapped,
        .promises = header->promises_validity,
        .endless = header->endless,
        .ttl_ns = header->ttl_ns,
        .bound_ns = header->bound_ns,
    };
    uint32_t nodes = (uint32_t)header->node_count;
    layout->claim_bytes = rounded(sizeof(struct ledger_claim) + nodes * sizeof(struct ledger_end));
    uint32_t at = rounded(sizeof *layout);
    layout->claims_at = at;
    at += layout->process_count * LEDGER_CLAIMS * layout->claim_bytes;
    layout->keys_at = at;
    at += rounded(layout->resource_count * nodes * sizeof(struct ledger_key));
    layout->processes_at = at;
    at += rounded(layout->process_count * sizeof(struct ledger_process));
    layout->resources_at = at;
    at += rounded(layout->resource_count * sizeof(struct ledger_resource));
    layout->faults_at = at;
    at += rounded(layout->fault_count * sizeof(struct ledger_fault));
    layout->node_lates_at = at;
    at += rounded(nodes * sizeof(struct ledger_late));
    layout->slots_at = at;
    at += layout->processes_counted ? 0 : rounded(LEDGER_SLOTS * sizeof(uint32_t));
    return at;
}

size_t ledger_bytes(const struct history_header *header)
{
    struct ledger layout;
    return ledger_layout(header, &layout);
}

void ledger_init(struct ledger *ledger, const struct history_header *header)
{
    struct ledger layout;
    size_t bytes = ledger_layout(header, &layout);
    memset(ledger, 0, bytes);
    *ledger = layout;
    for (uint32_t i = 0; i < layout.process_count; i++) {
        ledger_process_at(ledger, i)->process = HISTORY_NOBODY;
    }
    for (uint32_t i = 0; i < layout.fault_count; i++) {
        ledger_fault_at(ledger, i)->process = HISTORY_NOBODY;
    }
}

static void step_phase(struct ledger *ledger, const struct history_event *event)
{
    if (event->f == HISTORY_HEALED) {
        ledger->healed = true;
        ledger->healed_ns = event->time_ns;
        ledger->healed_index = event->index;
    }
}

static bool concerns_resource(const struct history_event *event)
{
    return event->kind == HISTORY_OP || event->kind == HISTORY_SECTION ||
           event->kind == HISTORY_NOTICE || event->kind == HISTORY_LEASE ||
           event->kind == HISTORY_NODE;
}

static void step_kind(struct ledger *ledger, const struct history_event *event)
{
    switch ((enum history_kind)event->kind) {
    case HISTORY_OP:
        ledger_step_operation(ledger, event);
        return;
    case HISTORY_SECTION:
        ledger_step_section(ledger, event);
        return;
    case HISTORY_NOTICE:
        ledger_step_notice(ledger, event);
        return;
    case HISTORY_LEASE:
        ledger_step_lease(ledger, event);
        return;
    case HISTORY_NODE:
        ledger_step_node(ledger, event);
        return;
    case HISTORY_FAULT:
        ledger_step_fault(ledger, event);
        return;
    case HISTORY_CLIENT:
        ledger_step_client(ledger, event);
        return;
    case HISTORY_PHASE:
        step_phase(ledger, event);
        return;
    case HISTORY_LATE:
        ledger_step_late(ledger, event);
        return;
    case HISTORY_KINDS:
        break;
    }
    UNREACHABLE();
}

void ledger_step(struct ledger *ledger, const struct history_event *event)
{
    ASSERT(event->time_ns >= ledger->now_ns);
    ledger->now_ns = event->time_ns;
    ledger->last_index = event->index;
    if (concerns_resource(event) && event->resource >= ledger->resource_count) {
        ledger->overflow = true;
        return;
    }
    step_kind(ledger, event);
    ledger_assert_step(ledger, event);
}
