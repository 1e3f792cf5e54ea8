/* ledger_faults.c: follows which fault struck whom, and until when. */
#include "checker/ledger/ledger_faults.h"

#include "base/assert.h"
#include "base/duration.h"

/* Older files name nobody in the start of a fault of several: then it may strike anybody. */
static bool strikes_anybody(const struct ledger_fault *fault)
{
    return fault->nodes == 0 && fault->process == HISTORY_NOBODY && fault->last <= fault->first;
}

bool ledger_fault_on_node(const struct ledger_fault *fault, int32_t node)
{
    ASSERT(node >= 0 && node < HISTORY_NODES_MAX);
    bool of_clients = fault->process != HISTORY_NOBODY || fault->last > fault->first;
    return strikes_anybody(fault) || (!of_clients && (fault->nodes >> node & 1) != 0);
}

bool ledger_fault_on_store(const struct ledger *ledger, const struct ledger_fault *fault,
                           int32_t node)
{
    if (ledger->store_count == ledger->node_count) {
        return ledger_fault_on_node(fault, node);
    }
    bool of_clients = fault->process != HISTORY_NOBODY || fault->last > fault->first;
    return strikes_anybody(fault) || (!of_clients && fault->nodes != 0);
}

/* One that struck several clients may have struck any. */
static bool fault_may_touch(const struct ledger_fault *fault, int32_t process)
{
    bool among = fault->last > fault->first && fault->first <= process && process <= fault->last;
    return among || fault->process == process || fault->process == LEDGER_SEVERAL;
}

bool ledger_fault_on_client(const struct ledger_fault *fault, int32_t process)
{
    return strikes_anybody(fault) || fault_may_touch(fault, process);
}

bool ledger_client_healthy(const struct ledger *ledger, int32_t process)
{
    uint64_t cut = 0;
    for (uint32_t i = 0; ledger->faults_active > 0 && i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        if (fault->state != FAULT_ACTIVE) {
            continue;
        }
        bool of_links = fault_is((enum fault_kind)fault->kind, FAULT_ON_LINK) &&
                        fault->nodes != 0 && fault->links == LINKS_ALL &&
                        ledger->store_count == ledger->node_count;
        if (!ledger_fault_on_client(fault, process)) {
            bool of_nodes =
                fault->nodes != 0 && ledger_fault_on_node(fault, __builtin_ctzll(fault->nodes));
            cut |= of_nodes ? fault->nodes : 0;
        } else if (of_links) {
            cut |= fault->nodes;
        } else {
            return false;
        }
    }
    ASSERT(ledger->node_count > 0);
    return ledger->node_count - ledger_bits(cut) >= ledger->node_quorum;
}

bool ledger_majority_healthy(const struct ledger *ledger)
{
    int32_t healthy = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        bool touched = false;
        for (uint32_t i = 0; i < ledger->fault_count; i++) {
            const struct ledger_fault *fault = ledger_fault_at(ledger, i);
            touched |= fault->state == FAULT_ACTIVE && ledger_fault_on_node(fault, node);
        }
        healthy += touched ? 0 : 1;
    }
    return healthy >= ledger->node_quorum;
}

/* After one lost reply the link is back soon: what was owed can be sent again. */
static bool fault_touched(const struct ledger *ledger, const struct ledger_fault *fault,
                          int32_t process, int32_t node)
{
    bool passing = fault->kind == FAULT_LOSE_REPLY && fault->state == FAULT_ENDED &&
                   fault->end_ns - fault->start_ns < LEDGER_PASSING_NS;
    return fault->state != FAULT_WAITING && !passing && fault->start_ns <= ledger->now_ns &&
           (ledger_fault_on_store(ledger, fault, node) || ledger_fault_on_client(fault, process));
}

bool ledger_touched(const struct ledger *ledger, int32_t process, int32_t node, int64_t from_ns,
                    uint64_t spared)
{
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        if ((spared >> fault->kind & 1) == 0 && fault->end_ns >= from_ns &&
            fault_touched(ledger, fault, process, node)) {
            return true;
        }
    }
    return false;
}

/* Connections to a process that was gone are tried again in steps that double, up to a second: so
 * as long again as it was gone. */
static int64_t fault_connected_ns(const struct ledger_fault *fault)
{
    bool gone = fault_is((enum fault_kind)fault->kind, FAULT_OF_PROCESS);
    if (!gone || fault->end_ns == TIME_NEVER) {
        return fault->end_ns;
    }
    int64_t lasted_ns = fault->end_ns - fault->start_ns;
    return fault->end_ns + (lasted_ns < NS_PER_S ? lasted_ns : NS_PER_S);
}

int64_t ledger_touched_until(const struct ledger *ledger, int32_t process, int32_t node)
{
    int64_t until_ns = 0;
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        int64_t connected_ns = fault_connected_ns(fault);
        if (connected_ns > until_ns && fault_touched(ledger, fault, process, node)) {
            until_ns = connected_ns;
        }
    }
    return until_ns;
}

bool ledger_any_fault(const struct ledger *ledger, int64_t from_ns)
{
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        ASSERT(fault->kind < FAULT_KINDS);
        bool stays = fault_trait_of((enum fault_kind)fault->kind)->life == FAULT_STAYS;
        if (fault->state != FAULT_WAITING && (stays || fault->end_ns >= from_ns)) {
            return true;
        }
    }
    return false;
}

bool ledger_is_calm_since(const struct ledger *ledger, int64_t from_ns)
{
    return !ledger_any_fault(ledger, from_ns - ledger->ttl_ns);
}

/* One of another client alone is in nobody else's way. */
static bool fault_in_the_way(const struct ledger_fault *fault, const struct ledger_claim *claim)
{
    bool stays = fault_trait_of((enum fault_kind)fault->kind)->life == FAULT_STAYS;
    bool was = fault->state != FAULT_WAITING && (stays || fault->end_ns >= claim->acquire_ns);
    return was && (fault->nodes != 0 || ledger_fault_on_client(fault, claim->process));
}

int64_t ledger_faults_over(const struct ledger *ledger, const struct ledger_claim *claim,
                           uint64_t kinds)
{
    int64_t over_ns = -1;
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        bool was = fault_in_the_way(fault, claim);
        if (was && (kinds >> fault->kind & 1) == 0) {
            return TIME_NEVER;
        }
        over_ns = was && fault->end_ns > over_ns ? fault->end_ns : over_ns;
    }
    return over_ns < 0 ? TIME_NEVER : over_ns;
}

int32_t ledger_nodes_spared(const struct ledger *ledger, const struct ledger_claim *claim)
{
    uint64_t struck = 0;
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        bool was = fault_in_the_way(fault, claim);
        if (was && ledger_fault_on_client(fault, claim->process)) {
            return 0;
        }
        struck |= was ? fault->nodes : 0;
    }
    bool one_store = ledger->store_count != ledger->node_count;
    return struck != 0 && one_store ? 0 : ledger->node_count - ledger_bits(struck);
}

bool ledger_leases_are_sure(const struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        enum fault_kind kind = (enum fault_kind)fault->kind;
        bool stops_a_node = kind == FAULT_PAUSE && fault->nodes != 0;
        if (fault->state != FAULT_WAITING &&
            (fault_is(kind, FAULT_OF_PROCESS) || kind == FAULT_FAILOVER || kind == FAULT_EVICT ||
             kind == FAULT_CLOCK_JUMP || kind == FAULT_CLOCK_RATE || stops_a_node)) {
            return false;
        }
    }
    return true;
}

int64_t ledger_latency_ns(const struct ledger *ledger)
{
    int64_t latency_ns = 0;
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        bool struck = fault->kind == FAULT_LATENCY && fault->state != FAULT_WAITING;
        latency_ns += struck && fault->asked > 0 ? fault->asked : 0;
    }
    return latency_ns;
}

bool ledger_held_back(const struct ledger *ledger, const struct ledger_key *key, int32_t node,
                      uint64_t spared)
{
    ASSERT(key->sent_ns <= key->set_ns);
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        bool on_its_way = fault->state != FAULT_WAITING && (spared >> fault->kind & 1) == 0 &&
                          fault->start_ns <= key->set_ns && fault->end_ns > key->sent_ns;
        bool of_link = fault_is((enum fault_kind)fault->kind, FAULT_ON_LINK) &&
                       ledger_fault_on_client(fault, key->process);
        /* Its connection was given up: what was on its way there came behind what was sent on the
         * next. */
        on_its_way = on_its_way && (fault->kind != FAULT_LOSE_REPLY || key->overtaken);
        if (on_its_way && (of_link || ledger_fault_on_store(ledger, fault, node))) {
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
        if (in_time && fault_may_touch(fault, process) && (kinds >> fault->kind & 1) != 0) {
            return true;
        }
    }
    return false;
}

int64_t ledger_stopped_ns(const struct ledger *ledger, int32_t process, int64_t from_ns,
                          int64_t to_ns)
{
    int64_t stopped_ns = 0;
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        bool stops = fault->kind == FAULT_PAUSE || fault->kind == FAULT_SLOW;
        if (!stops || fault->state == FAULT_WAITING || !fault_may_touch(fault, process)) {
            continue;
        }
        int64_t since_ns = fault->start_ns > from_ns ? fault->start_ns : from_ns;
        int64_t until_ns = fault->end_ns < to_ns ? fault->end_ns : to_ns;
        stopped_ns += until_ns > since_ns ? until_ns - since_ns : 0;
    }
    return stopped_ns < to_ns - from_ns ? stopped_ns : to_ns - from_ns;
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

/* Of nodes that do not reach each other the fewer are cut off: the others go on without them. */
static uint64_t nodes_cut_off(const struct history_event *event)
{
    uint64_t one = event->node == HISTORY_NO_NODE ? 0 : UINT64_C(1) << event->node;
    uint64_t nodes = event->nodes | one;
    return ledger_bits(event->peers) < ledger_bits(nodes) ? event->peers : nodes;
}

void ledger_step_fault(struct ledger *ledger, const struct history_event *event)
{
    if (event->fault < 0 || (uint32_t)event->fault >= ledger->fault_count) {
        ledger->overflow = true;
        return;
    }
    struct ledger_fault *fault = ledger_fault_at(ledger, (uint32_t)event->fault);
    ASSERT(event->fault_kind < FAULT_KINDS);
    ASSERT(ledger->faults_active <= ledger->fault_count);
    fault->kind = event->fault_kind;
    if (event->process != HISTORY_NOBODY) {
        bool other = fault->process != HISTORY_NOBODY && fault->process != event->process;
        fault->process = other ? LEDGER_SEVERAL : event->process;
    }
    bool one = event->node != HISTORY_NO_NODE && event->peers == 0;
    fault->nodes |= one ? UINT64_C(1) << event->node : 0;
    fault->nodes |= event->peers == 0 ? event->nodes : nodes_cut_off(event);
    fault->links = event->f == HISTORY_FAULT_START ? event->links : fault->links;
    if (event->clients[1] > event->clients[0]) {
        fault->first = event->clients[0];
        fault->last = event->clients[1];
    }
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
        fault->asked = event->number[0];
        fault->end_ns = TIME_NEVER;
        ledger->faults_active++;
    }
}

int64_t ledger_late_until(const struct ledger *ledger, const struct history_event *event)
{
    bool followed = event->fault >= 0 && (uint32_t)event->fault < ledger->fault_count;
    if (!followed || event->f != HISTORY_FAULT_END) {
        return 0;
    }
    const struct ledger_fault *fault = ledger_fault_at(ledger, (uint32_t)event->fault);
    return fault->end_ns + (fault->kind == FAULT_SLOW ? fault->asked : 0); /* its last step */
}
