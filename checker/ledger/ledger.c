/* ledger.c: follows leases, keys, open operations and faults through a history. */
#include "checker/ledger/ledger.h"

#include "base/assert.h"
#include "checker/ledger/ledger_step.h"

enum { ALIGNMENT = 16, SLOTS = 2 * LEDGER_CLIENTS };

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
        .quorum = header->node_count / 2 + 1,
        .drift_ppm = header->drift_ppm,
        .process_count = ledger_process_count(header),
        .resource_count = ledger_resource_count(header),
        .fault_count = ledger_fault_count(header),
        .processes_counted = header->client_count > 0,
        .promises = header->promises_validity,
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
    layout->slots_at = at;
    at += layout->processes_counted ? 0 : rounded(SLOTS * sizeof(uint32_t));
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

/* Where an uncounted process stands in the slots, or would. */
static uint32_t *slot_of(const struct ledger *ledger, int32_t process)
{
    uint32_t *slots = ledger_at(ledger, ledger->slots_at);
    uint32_t at = ((uint32_t)process * 2654435761u) % SLOTS;
    while (slots[at] != 0 && ledger_process_at(ledger, slots[at] - 1)->process != process) {
        at = (at + 1) % SLOTS;
    }
    return &slots[at];
}

uint32_t ledger_slot(const struct ledger *ledger, int32_t process)
{
    if (process < 0) {
        return ledger->process_count;
    }
    if (ledger->processes_counted) {
        return (uint32_t)process < ledger->process_count ? (uint32_t)process
                                                         : ledger->process_count;
    }
    uint32_t slot = *slot_of(ledger, process);
    return slot == 0 ? ledger->process_count : slot - 1;
}

const struct ledger_process *ledger_process(const struct ledger *ledger, int32_t process)
{
    uint32_t slot = ledger_slot(ledger, process);
    return slot == ledger->process_count ? NULL : ledger_process_at(ledger, slot);
}

uint32_t ledger_slot_take(struct ledger *ledger, int32_t process)
{
    uint32_t slot = ledger_slot(ledger, process);
    if (slot < ledger->process_count) {
        ledger_process_at(ledger, slot)->process = process;
        return slot;
    }
    if (process < 0) {
        return slot;
    }
    if (ledger->processes_counted) {
        ledger->overflow = true;
        return slot;
    }
    if (ledger->slots_used < ledger->process_count) {
        uint32_t *place = slot_of(ledger, process);
        slot = ledger->slots_used++;
        ledger_process_at(ledger, slot)->process = process;
        *place = slot + 1;
        return slot;
    }
    ledger->overflow = true;
    return slot;
}

const struct ledger_claim *ledger_find(const struct ledger *ledger, int32_t process,
                                       const struct history_value *value)
{
    uint32_t slot = ledger_slot(ledger, process);
    if (slot == ledger->process_count) {
        return NULL;
    }
    for (uint32_t i = 0; i < LEDGER_CLAIMS; i++) {
        struct ledger_claim *claim = ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        if (claim->state != CLAIM_FREE && claim->has_value &&
            memcmp(&claim->value, value, sizeof *value) == 0) {
            return claim;
        }
    }
    return NULL;
}

const struct ledger_claim *ledger_grant(const struct ledger *ledger, int32_t process,
                                        uint32_t resource)
{
    uint32_t slot = ledger_slot(ledger, process);
    const struct ledger_claim *newest = NULL;
    for (uint32_t i = 0; slot < ledger->process_count && i < LEDGER_CLAIMS; i++) {
        struct ledger_claim *claim = ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        if (claim->state == CLAIM_GRANTED && claim->resource == resource &&
            (newest == NULL || claim->order > newest->order)) {
            newest = claim;
        }
    }
    return newest;
}

const struct ledger_claim *ledger_key_claim(const struct ledger *ledger,
                                            const struct ledger_key *key)
{
    if (key->claim == 0) {
        return NULL;
    }
    const struct ledger_claim *claim = ledger_claim_at(ledger, key->claim - 1);
    bool same = claim->state != CLAIM_FREE && claim->has_value && claim->process == key->process &&
                memcmp(&claim->value, &key->value, sizeof key->value) == 0;
    return same ? claim : NULL;
}

bool ledger_fault_on_node(const struct ledger_fault *fault, int32_t node)
{
    bool everywhere = fault->nodes == 0 && fault->process == HISTORY_NOBODY;
    bool named = (fault->nodes >> node & 1) != 0 && fault->process == HISTORY_NOBODY;
    return everywhere || named;
}

bool ledger_fault_on_client(const struct ledger_fault *fault, int32_t process)
{
    bool everywhere = fault->nodes == 0 && fault->process == HISTORY_NOBODY;
    return everywhere || fault->process == process || fault->process == LEDGER_SEVERAL;
}

bool ledger_touched(const struct ledger *ledger, int32_t process, int32_t node, int64_t from_ns,
                    int64_t to_ns)
{
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        /* After one lost reply the link is back at once: what was owed can be sent again. */
        bool passing = fault->kind == FAULT_LOSE_REPLY && fault->state == FAULT_ENDED &&
                       fault->end_ns - fault->start_ns < LEDGER_PASSING_NS;
        if (fault->state != FAULT_WAITING && !passing && fault->start_ns <= to_ns &&
            fault->end_ns >= from_ns &&
            (ledger_fault_on_node(fault, node) || ledger_fault_on_client(fault, process))) {
            return true;
        }
    }
    return false;
}

bool ledger_client_fault(const struct ledger *ledger, int32_t process, uint32_t kinds,
                         int64_t from_ns, int64_t to_ns)
{
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        bool in_time =
            fault->state != FAULT_WAITING && fault->start_ns <= to_ns && fault->end_ns >= from_ns;
        bool on_client = fault->process == process || fault->process == LEDGER_SEVERAL;
        if (in_time && on_client && (kinds >> fault->kind & 1) != 0) {
            return true;
        }
    }
    return false;
}

/*
 * What was on its way when a delay ended still comes late, and all that is behind it. Delays of
 * one link add up; all of the run are taken, so that none is missed.
 */
static int64_t fault_lingers_ns(const struct ledger *ledger, const struct ledger_fault *ended)
{
    int64_t lingers_ns = 0;
    if (ended->kind != FAULT_LATENCY && ended->kind != FAULT_DELAY_COMMAND) {
        return 0;
    }
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        bool delays = fault->kind == FAULT_LATENCY || fault->kind == FAULT_DELAY_COMMAND;
        if (delays && fault->state != FAULT_WAITING && fault->asked > 0) {
            lingers_ns += fault->asked;
        }
    }
    return lingers_ns;
}

static void step_fault(struct ledger *ledger, const struct history_event *event)
{
    if (event->fault < 0 || (uint32_t)event->fault >= ledger->fault_count) {
        ledger->overflow = true;
        return;
    }
    struct ledger_fault *fault = ledger_fault_at(ledger, (uint32_t)event->fault);
    fault->kind = event->fault_kind;
    if (event->process != HISTORY_NOBODY) {
        bool other = fault->process != HISTORY_NOBODY && fault->process != event->process;
        fault->process = other ? LEDGER_SEVERAL : event->process;
    }
    fault->nodes |= event->node == HISTORY_NO_NODE ? 0 : UINT64_C(1) << event->node;
    if (event->f == HISTORY_FAULT_END) {
        ledger->faults_active -= fault->state == FAULT_ACTIVE ? 1 : 0;
        fault->state = FAULT_ENDED;
        fault->end_ns = event->time_ns + fault_lingers_ns(ledger, fault);
        return;
    }
    fault->effect |= event->f == HISTORY_FAULT_EFFECT;
    if (fault->state == FAULT_WAITING) {
        fault->state = FAULT_ACTIVE;
        fault->start_ns = event->time_ns;
        fault->start_index = event->index;
        fault->asked = event->number[0];
        fault->end_ns = TIME_NEVER;
        ledger->faults_active++;
    }
}

static void step_phase(struct ledger *ledger, const struct history_event *event)
{
    if (event->f == HISTORY_HEALED) {
        ledger->healed = true;
        ledger->healed_ns = event->time_ns;
        ledger->healed_index = event->index;
        return;
    }
    ledger->ended = true;
    ledger->end_cause = event->cause;
    ledger->ended_ns = event->time_ns;
    ledger->ended_index = event->index;
}

static bool concerns_resource(const struct history_event *event)
{
    return event->kind == HISTORY_OP || event->kind == HISTORY_SECTION ||
           event->kind == HISTORY_NOTICE || event->kind == HISTORY_LEASE ||
           event->kind == HISTORY_NODE;
}

void ledger_step(struct ledger *ledger, const struct history_event *event)
{
    ledger->now_ns = event->time_ns;
    ledger->last_index = event->index;
    if (concerns_resource(event) && event->resource >= ledger->resource_count) {
        ledger->overflow = true;
        return;
    }
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
        step_fault(ledger, event);
        return;
    case HISTORY_CLIENT:
        ledger_step_client(ledger, event);
        return;
    case HISTORY_PHASE:
        step_phase(ledger, event);
        return;
    case HISTORY_LATE: /* moves no lease, key or fault */
        return;
    case HISTORY_KINDS:
        break;
    }
    UNREACHABLE();
}
