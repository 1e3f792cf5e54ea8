/* story.c: finds which findings have one cause, and has each told. */
#include "checker/story/story.h"

#include "base/arena.h"
#include "base/assert.h"
#include "checker/key_ends.h"
#include "checker/story/story_cast.h"

#include <string.h>

enum { FINDINGS_MAX = 32 };

struct findings {
    const struct explain_history *history;
    const struct check_result *const *results;
    size_t count;
    struct story_finding list[FINDINGS_MAX]; /* in the order of the table of checks */
};

/* ---- what was found -------------------------------------------------------------------------- */

static void findings_take(struct findings *findings, size_t check)
{
    const struct check_result *result = findings->results[check];
    struct telling telling = telling_of(findings->history, check_at(check), result, NULL);
    bool told = result->verdict == VERDICT_FAIL && result->evidence_count > 0 &&
                telling_has_evidence(&telling);
    if (!told) {
        return;
    }
    ASSERT(findings->count < FINDINGS_MAX);
    findings->list[findings->count] = (struct story_finding){
        .check = check,
        .result = result,
        .resource = telling.resource,
        .clients = {telling.first, telling.second},
        .first = result->evidence[0],
        .last = result->evidence[result->evidence_count - 1u],
        .fault = HISTORY_NO_FAULT,
        .group = (int32_t)findings->count,
    };
    findings->count++;
}

/* ---- the fault behind it --------------------------------------------------------------------- */

int32_t story_fault_on_client(const struct ledger *ledger, int32_t process, uint64_t kinds,
                              const int64_t between_ns[2])
{
    int32_t found = HISTORY_NO_FAULT;
    for (uint32_t i = 0; i < ledger->fault_count && process != HISTORY_NOBODY; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        bool in_force = fault->state != FAULT_WAITING && fault->start_ns <= between_ns[1] &&
                        fault->end_ns >= between_ns[0] && (kinds >> fault->kind & 1) != 0;
        bool later = found == HISTORY_NO_FAULT ||
                     ledger_fault_at(ledger, (uint32_t)found)->start_ns <= fault->start_ns;
        if (in_force && later && ledger_fault_on_client(fault, process)) {
            found = (int32_t)i;
        }
    }
    return found;
}

/* The fault that took the last key of a claim that ended as this assumption forbids. */
static int32_t fault_of_keys(const struct ledger *ledger, const struct ledger_claim *claim,
                             uint8_t assumption)
{
    int32_t fault = HISTORY_NO_FAULT;
    uint64_t latest = 0;
    for (int32_t node = 0; claim != NULL && node < ledger->node_count; node++) {
        const struct ledger_end *end = &ledger_ends(claim)[node];
        bool fits = end->index > 0 && end->fault != HISTORY_NO_FAULT &&
                    key_end_of((enum history_cause)end->cause)->blamed.assumption == assumption;
        if (fits && end->index >= latest) {
            latest = end->index;
            fault = end->fault;
        }
    }
    return fault;
}

static uint64_t kinds_of(enum assumption assumption)
{
    switch (assumption) {
    case ASSUMPTION_CLIENT_PAUSE:
        return STORY_STOPS;
    case ASSUMPTION_CLIENT_CLOCK:
        return STORY_BENDS | CHECK_BIT(FAULT_CLOCK_JUMP);
    case ASSUMPTION_DELAY:
        return STORY_DELAYS;
    case ASSUMPTION_NONE:
    case ASSUMPTION_NODE_CLOCK:
    case ASSUMPTION_PERSISTENCE:
    case ASSUMPTION_LEADER:
    case ASSUMPTION_SESSION:
    case ASSUMPTION_OWN_SESSION:
    case ASSUMPTION_CONSENSUS:
    case ASSUMPTION_REPLICATION:
    case ASSUMPTION_MEMORY:
    case ASSUMPTION_SECTION:
        return 0;
    }
    UNREACHABLE();
}

int32_t story_fault_of(const struct ledger *ledger, const struct story_finding *finding)
{
    uint8_t assumption = finding->result->assumption;
    uint64_t kinds = kinds_of((enum assumption)assumption);
    for (int i = 0; i < 2; i++) {
        const struct ledger_claim *claim =
            ledger_grant(ledger, finding->clients[i], finding->resource);
        int32_t fault = fault_of_keys(ledger, claim, assumption);
        if (fault == HISTORY_NO_FAULT && claim != NULL && story_late(claim, ledger->now_ns)) {
            int64_t between_ns[2] = {claim->granted_ns, ledger->now_ns};
            fault = story_fault_on_client(ledger, claim->process, kinds, between_ns);
        }
        if (fault != HISTORY_NO_FAULT) {
            return fault;
        }
    }
    return HISTORY_NO_FAULT;
}

/* Go through the history once, and look at each finding when its evidence is complete. */
static void findings_find_faults(struct findings *findings, struct ledger *ledger)
{
    uint64_t end = 0;
    for (size_t i = 0; i < findings->count; i++) {
        end = findings->list[i].last > end ? findings->list[i].last : end;
    }
    ledger_init(ledger, findings->history->header);
    for (uint64_t at = 0; at <= end; at++) {
        ledger_step(ledger, &findings->history->events[at]);
        for (size_t i = 0; i < findings->count; i++) {
            if (findings->list[i].last == at) {
                findings->list[i].fault = story_fault_of(ledger, &findings->list[i]);
            }
        }
    }
}

/* ---- one cause ------------------------------------------------------------------------------- */

static bool share_client(const struct story_finding *a, const struct story_finding *b)
{
    for (int i = 0; i < 2; i++) {
        bool known = a->clients[i] != HISTORY_NOBODY;
        if (known && (a->clients[i] == b->clients[0] || a->clients[i] == b->clients[1])) {
            return true;
        }
    }
    return false;
}

/*
 * Whether two findings are one event seen from two sides: blamed alike, and by the same fault; or
 * about the same resource, and, where both faults are known, about a common client at the same
 * time, else about one or the other.
 */
static bool have_one_cause(const struct story_finding *a, const struct story_finding *b)
{
    bool alike =
        a->result->blame == b->result->blame && a->result->assumption == b->result->assumption;
    bool known = a->fault != HISTORY_NO_FAULT && b->fault != HISTORY_NO_FAULT;
    bool meet = a->first <= b->last && b->first <= a->last;
    bool share = share_client(a, b);
    bool near = a->resource == b->resource && (known ? meet && share : meet || share);
    return alike && ((known && a->fault == b->fault) || near);
}

static void findings_join(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        for (size_t j = 0; j < i; j++) {
            int32_t from = findings->list[i].group;
            int32_t to = findings->list[j].group;
            if (from == to || !have_one_cause(&findings->list[i], &findings->list[j])) {
                continue;
            }
            for (size_t k = 0; k < findings->count; k++) {
                int32_t *group = &findings->list[k].group;
                *group = *group == from ? to : *group;
            }
        }
    }
}

static bool leads(const struct story_finding *a, const struct story_finding *b)
{
    const struct check *one = check_at(a->check);
    const struct check *other = check_at(b->check);
    if (one->part != other->part) {
        return one->part > other->part;
    }
    return one->weight != other->weight ? one->weight > other->weight : a->last < b->last;
}

static const struct story_finding *lead_of(const struct findings *findings, int32_t group)
{
    const struct story_finding *lead = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        const struct story_finding *finding = &findings->list[i];
        if (finding->group == group && (lead == NULL || leads(finding, lead))) {
            lead = finding;
        }
    }
    return lead;
}

/* What the reader must know first: the lock's own faults, then set-ups, then assumptions. */
static int badness(const struct story_finding *lead)
{
    static const int by_blame[] = {
        [BLAME_NONE] = 0, [BLAME_ASSUMPTION] = 1, [BLAME_DEPLOYMENT] = 2, [BLAME_LIBRARY] = 3};
    return 100 * by_blame[lead->result->blame] + 10 * check_at(lead->check)->part +
           check_at(lead->check)->weight;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void cast_grants(struct story_cast *cast)
{
    const struct ledger *ledger = cast->ledger;
    const struct story_finding *lead = cast->lead;
    cast->older = ledger_grant(ledger, lead->clients[0], lead->resource);
    cast->younger = ledger_grant(ledger, lead->clients[1], lead->resource);
    if (cast->older == NULL ||
        (cast->younger != NULL && ledger_granted_before(cast->younger, cast->older))) {
        const struct ledger_claim *swap = cast->older;
        cast->older = cast->younger;
        cast->younger = swap;
    }
}

static void tell_cause(const struct findings *findings, const struct story_finding *lead,
                       struct ledger *ledger, struct story_cause *cause)
{
    struct story_cast cast = {.history = findings->history,
                              .results = findings->results,
                              .ledger = ledger,
                              .lead = lead,
                              .cause = cause};
    ledger_init(ledger, findings->history->header);
    for (uint64_t at = 0; at <= lead->last; at++) {
        ledger_step(ledger, &findings->history->events[at]);
    }
    cast.telling = telling_of(findings->history, check_at(lead->check), lead->result, NULL);
    cast.telling.ledger = ledger;
    cast_grants(&cast);
    *cause = (struct story_cause){
        .lead = (uint32_t)lead->check,
        .blame = lead->result->blame,
        .assumption = lead->result->assumption,
        .involved = {lead->clients[0], lead->clients[1]},
        .resource = lead->resource,
        .event = lead->last,
        .at_ns = cast.telling.at_ns,
    };
    for (size_t i = 0; i < findings->count; i++) {
        const struct story_finding *finding = &findings->list[i];
        if (finding->group == lead->group) {
            cause->checks |= CHECK_BIT(finding->check);
        }
    }
    story_steps(&cast);
    story_title(&cast);
    story_advice(&cast);
}

static void tell_causes(const struct findings *findings, struct ledger *ledger,
                        struct stories *stories)
{
    bool told[FINDINGS_MAX] = {false};
    for (;;) {
        const struct story_finding *worst = NULL;
        for (size_t i = 0; i < findings->count; i++) {
            const struct story_finding *lead = lead_of(findings, (int32_t)i);
            if (lead != NULL && !told[i] && (worst == NULL || badness(lead) > badness(worst))) {
                worst = lead;
            }
        }
        if (worst == NULL || stories->cause_count == STORY_CAUSES_MAX) {
            return;
        }
        told[worst->group] = true;
        tell_cause(findings, worst, ledger, &stories->causes[stories->cause_count++]);
    }
}

void stories_tell(const struct explain_history *history, const struct check_result *const *results,
                  struct stories *stories)
{
    struct findings findings = {.history = history, .results = results};
    memset(stories, 0, sizeof *stories);
    for (size_t i = 0; i < check_count(); i++) {
        findings_take(&findings, i);
    }
    if (findings.count == 0) {
        return;
    }
    struct ledger *ledger = memory_resize(NULL, ledger_bytes(history->header));
    if (ledger == NULL) {
        return; /* the verdicts stand without their story */
    }
    findings_find_faults(&findings, ledger);
    findings_join(&findings);
    tell_causes(&findings, ledger, stories);
    memory_release(ledger);
}

const struct story_cause *stories_cause_of(const struct stories *stories, size_t check)
{
    for (uint32_t i = 0; i < stories->cause_count; i++) {
        if ((stories->causes[i].checks >> check & 1) != 0) {
            return &stories->causes[i];
        }
    }
    return NULL;
}
