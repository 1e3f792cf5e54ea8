/* verdict.c: notes findings, and reads off the ledger whom to blame. */
#include "checker/verdict.h"

#include "base/assert.h"
#include "base/duration.h"
#include "checker/key_ends.h"
#include "checker/ledger/ledger_late.h"

/* So long nobody overlooks it who does look. */
#define SESSION_SEEN_NS NS_PER_S

static void evidence_add(struct check_result *result, uint64_t index)
{
    uint8_t at = result->evidence_count;
    for (uint8_t i = 0; i < at; i++) {
        if (result->evidence[i] == index) {
            return;
        }
    }
    ASSERT(at < CHECK_EVIDENCE_MAX);
    while (at > 0 && result->evidence[at - 1] > index) {
        result->evidence[at] = result->evidence[at - 1];
        at--;
    }
    result->evidence[at] = index;
    result->evidence_count++;
}

void check_assert_valid(const struct check_result *result)
{
    ASSERT(result->evidence_count <= CHECK_EVIDENCE_MAX);
    ASSERT((result->verdict == VERDICT_FAIL) == (result->violations > 0));
    ASSERT((result->verdict == VERDICT_FAIL) == (result->grade != GRADE_NONE));
    ASSERT(result->verdict != VERDICT_PASS || result->judged > 0);
    ASSERT(!result->inapplicable || result->verdict == VERDICT_SKIPPED);
    bool named = result->blame == BLAME_ASSUMPTION || result->blame == BLAME_DEPLOYMENT;
    ASSERT(named == (result->assumption != ASSUMPTION_NONE));
    for (uint8_t i = 1; i < result->evidence_count; i++) {
        ASSERT(result->evidence[i - 1] < result->evidence[i]);
    }
}

/* Whether it may be our own doing; says so then. */
static bool is_doubtful(struct check_result *result, const struct ledger *ledger,
                        const struct check_rest *rest)
{
    ASSERT(rest->causes == 0 || rest->from_ns <= rest->to_ns);
    struct ledger_lateness lateness = ledger_late(ledger, rest);
    if (lateness.late_ns == 0 || lateness.late_ns < rest->margin_ns) {
        return false;
    }
    if (result->verdict != VERDICT_FAIL) {
        check_unknown(result, CHECK_REASON_LATE, lateness.stood_ns);
        result->number[1] = lateness.cause;
    }
    return true;
}

void check_doubt(struct check_result *result, const struct ledger *ledger)
{
    struct check_result doubted = *result;
    doubted.verdict = VERDICT_SKIPPED;
    doubted.suspects = result->suspects || result->blame == BLAME_LIBRARY;
    if (result->verdict != VERDICT_FAIL || !is_doubtful(&doubted, ledger, &result->rest)) {
        return;
    }
    doubted.blame = BLAME_NONE;
    doubted.assumption = ASSUMPTION_NONE;
    doubted.grade = GRADE_NONE;
    doubted.evidence_count = 0;
    doubted.violations = 0;
    memset(doubted.evidence, 0, sizeof doubted.evidence);
    *result = doubted;
    check_assert_valid(result);
}

bool check_fail(struct check_result *result, const struct ledger *ledger,
                const struct finding *finding)
{
    ASSERT(finding->evidence_count <= CHECK_EVIDENCE_MAX);
    bool of_library = finding->blamed.blame == BLAME_LIBRARY;
    if (is_doubtful(result, ledger, &finding->rest)) {
        result->suspects = result->suspects || of_library;
        return false;
    }
    result->violations++;
    if (result->violations > 1 && (!of_library || result->blame == BLAME_LIBRARY)) {
        return true;
    }
    result->evidence_count = 0;
    memset(result->evidence, 0, sizeof result->evidence);
    result->verdict = VERDICT_FAIL;
    result->grade = GRADE_DEFINITE;
    result->reason = finding->reason;
    result->blame = finding->blamed.blame;
    result->assumption = finding->blamed.assumption;
    result->number[0] = finding->number[0];
    result->number[1] = finding->number[1];
    result->rest = finding->rest;
    for (uint8_t i = 0; i < finding->evidence_count; i++) {
        evidence_add(result, finding->evidence[i]);
    }
    check_assert_valid(result);
    return true;
}

void check_conclude(struct check_result *result)
{
    if (result->verdict == VERDICT_SKIPPED && result->judged > 0) {
        result->verdict = VERDICT_PASS;
    }
}

void check_unknown(struct check_result *result, uint8_t reason, int64_t number)
{
    if (result->verdict == VERDICT_FAIL || result->verdict == VERDICT_UNKNOWN) {
        return; /* the first reason stays */
    }
    result->verdict = VERDICT_UNKNOWN;
    result->reason = reason;
    result->number[0] = number;
}

/* A lock has to live with clocks that drift by no more than it allows for. */
static bool drift_is_allowed(const struct ledger *ledger, const struct ledger_end *end)
{
    if (end->cause != CAUSE_CLOCK_RATE || end->fault < 0 ||
        (uint32_t)end->fault >= ledger->fault_count) {
        return false;
    }
    int64_t drift_ppm = ledger_fault_at(ledger, (uint32_t)end->fault)->asked - 1000000;
    return (drift_ppm < 0 ? -drift_ppm : drift_ppm) <= ledger->drift_ppm;
}

/* Its connection broke, which the holder sees at its own end of it as soon as it runs. */
static bool end_was_seen(const struct ledger *ledger, const struct ledger_claim *claim,
                         const struct ledger_end *end)
{
    uint32_t unseen = UINT32_C(1) << FAULT_PAUSE | UINT32_C(1) << FAULT_SLOW |
                      UINT32_C(1) << FAULT_PARTITION | UINT32_C(1) << FAULT_LATENCY;
    int64_t from_ns = ledger->now_ns - SESSION_SEEN_NS;
    return end->cause == CAUSE_SESSION && end->since_ns < from_ns &&
           !ledger_client_fault(ledger, claim->process, unseen, from_ns, ledger->now_ns);
}

/* What made a key end, if the lock could not help it. */
static struct blamed blame_of_end(const struct ledger *ledger, const struct ledger_claim *claim,
                                  const struct ledger_end *end)
{
    bool could = drift_is_allowed(ledger, end) || end_was_seen(ledger, claim, end);
    return could ? blamed_library() : key_end_of((enum history_cause)end->cause)->blamed;
}

/* How many of a claim's keys the nodes let expire in their time. */
int32_t keys_run_out(const struct ledger *ledger, const struct ledger_claim *claim)
{
    int32_t count = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_end *end = &ledger_ends(claim)[node];
        uint64_t bit = UINT64_C(1) << node;
        bool gone = (claim->set & bit) != 0 && (claim->present & bit) == 0;
        count += gone && end->f == HISTORY_KEY_EXPIRED && end->cause == CAUSE_TTL ? 1 : 0;
    }
    return count;
}

/* A lock that promises nothing and renews nothing holds for a ttl; its holder has to be done. */
static bool section_outlasted(const struct ledger *ledger, const struct ledger_claim *claim)
{
    bool told = claim->until_ns != TIME_NEVER || ledger_declares(ledger, DECLARES_RENEW);
    if (told || ledger->ttl_ns == 0 || ledger->now_ns - claim->asked_ns < ledger->ttl_ns) {
        return false;
    }
    int32_t run_out = keys_run_out(ledger, claim);
    return run_out > 0 && ledger_bits(claim->present) + run_out >= ledger->quorum;
}

/* A lease that outlived its keys on sound node clocks: the holder's own clock, or the lock. */
static struct blamed blame_promise(const struct ledger *ledger, const struct ledger_claim *claim)
{
    uint32_t rate = UINT32_C(1) << FAULT_CLOCK_RATE;
    if (ledger_client_fault(ledger, claim->process, rate, claim->first_set_ns, ledger->now_ns)) {
        return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_CLIENT_CLOCK};
    }
    uint32_t stops = UINT32_C(1) << FAULT_PAUSE | UINT32_C(1) << FAULT_SLOW;
    bool stopped =
        ledger_client_fault(ledger, claim->process, stops, claim->granted_ns, ledger->now_ns);
    /* Without a promised end the holder believes until it is told, which a stopped one cannot be.
     */
    if (claim->until_ns == TIME_NEVER && stopped) {
        return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_CLIENT_PAUSE};
    }
    if (section_outlasted(ledger, claim)) {
        return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_SECTION};
    }
    return blamed_library();
}

/* The nodes, as bits, that had a claim's key at an event. One that ends and is put there again, or
 * comes back with a restart, may have been gone then. */
static uint64_t keys_at(const struct ledger *ledger, const struct ledger_claim *claim,
                        uint64_t index)
{
    uint64_t there = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        uint64_t bit = UINT64_C(1) << node;
        const struct ledger_end *end = &ledger_ends(claim)[node];
        bool ended_later = end->index > index;
        bool put = end->put_index <= index ? (claim->present & bit) != 0 || ended_later
                                           : ended_later && end->index < end->put_index;
        there |= (claim->set & bit) != 0 && put ? bit : 0;
    }
    return there;
}

/* Looks at the keys as they were at an event: what ended later let nobody else in. */
static struct blamed blame_keys_at(const struct ledger *ledger, const struct ledger_claim *claim,
                                   uint64_t index)
{
    if (!ledger_watched(ledger, claim)) {
        return (struct blamed){BLAME_NONE, ASSUMPTION_NONE};
    }
    if (ledger_bits(claim->set) < ledger->quorum) {
        return blamed_library();
    }
    /* The lock is to blame if it lost the majority without the help of what it could not know. */
    int32_t kept_by_nature = ledger->node_count;
    int32_t broken = 0;
    struct blamed worst = blame_promise(ledger, claim);
    uint64_t worst_index = 0;
    uint64_t kept = keys_at(ledger, claim, index);
    const struct ledger_end *ends = ledger_ends(claim);
    for (int32_t node = 0; node < ledger->node_count; node++) {
        uint64_t bit = UINT64_C(1) << node;
        if ((kept & bit) != 0) {
            continue;
        }
        struct blamed end = blame_of_end(ledger, claim, &ends[node]);
        bool was_set = (claim->set & bit) != 0;
        if (!was_set || end.blame == BLAME_LIBRARY) {
            kept_by_nature--;
            continue;
        }
        broken++;
        if (ends[node].index >= worst_index) {
            worst_index = ends[node].index;
            worst = end;
        }
    }
    return broken > 0 && kept_by_nature >= ledger->quorum ? worst : blame_promise(ledger, claim);
}

struct blamed blame_keys(const struct ledger *ledger, const struct ledger_claim *claim)
{
    return blame_keys_at(ledger, claim, ledger->last_index);
}

/* Whose keys were whose is not known, but the second was let in within a ttl of the first one's
 * asking: whatever the lock had set was to be there. Of a lock under test, or two threads of one
 * program: only a run of our own tells of every fault. */
static bool met_within_a_ttl(const struct ledger *ledger, const struct ledger_claim *first,
                             const struct ledger_claim *second)
{
    bool ours = ledger->declared || (ledger->threads > 1 && first->process / ledger->threads ==
                                                                second->process / ledger->threads);
    return ours && second->granted_ns - first->asked_ns < ledger->ttl_ns &&
           ledger_leases_are_sure(ledger);
}

struct blamed blame_overlap(const struct ledger *ledger, const struct ledger_claim *first,
                            const struct ledger_claim *second)
{
    if (!ledger_watched(ledger, first) || !ledger_watched(ledger, second)) {
        return met_within_a_ttl(ledger, first, second)
                   ? blamed_library()
                   : (struct blamed){BLAME_NONE, ASSUMPTION_NONE};
    }
    if (ledger_bits(second->set) < ledger->quorum) {
        return blamed_library();
    }
    /* Where the first had lost nothing, the second's keys were there before: its grant is late. */
    uint64_t both_index = second->fresh_index;
    bool first_has = ledger_bits(keys_at(ledger, first, both_index)) >= ledger->quorum;
    return blame_keys_at(ledger, first_has ? second : first, both_index);
}

struct blamed blame_late(const struct ledger *ledger, const struct ledger_claim *claim)
{
    /* Not even begun: the lease was over when the lock said yes. */
    if (claim->until_ns <= claim->granted_ns) {
        return blamed_library();
    }
    uint32_t stops = UINT32_C(1) << FAULT_PAUSE | UINT32_C(1) << FAULT_SLOW;
    if (ledger_client_fault(ledger, claim->process, stops, claim->granted_ns, ledger->now_ns)) {
        return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_CLIENT_PAUSE};
    }
    uint32_t clocks = UINT32_C(1) << FAULT_CLOCK_RATE | UINT32_C(1) << FAULT_CLOCK_JUMP;
    if (ledger_client_fault(ledger, claim->process, clocks, claim->granted_ns, ledger->now_ns)) {
        return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_CLIENT_CLOCK};
    }
    return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_SECTION};
}

struct blamed blame_meeting(const struct ledger *ledger, int32_t one, int32_t other,
                            uint32_t resource)
{
    const struct ledger_claim *first_claim = ledger_grant(ledger, one, resource);
    const struct ledger_claim *second_claim = ledger_grant(ledger, other, resource);
    if (first_claim == NULL || second_claim == NULL) {
        return (struct blamed){BLAME_NONE, ASSUMPTION_NONE};
    }
    /* A grant whose lease was over when it returned is what lets the two meet, in any order. */
    if (first_claim->until_ns <= first_claim->granted_ns ||
        second_claim->until_ns <= second_claim->granted_ns) {
        return blamed_library();
    }
    const struct ledger_claim *older = first_claim;
    const struct ledger_claim *newer = second_claim;
    if (ledger_granted_before(newer, older)) {
        older = second_claim;
        newer = first_claim;
    }
    if (ledger_lease_end_ns(older) > newer->granted_ns) {
        return blame_overlap(ledger, older, newer);
    }
    struct blamed late = blame_late(ledger, older);
    bool renewed = ledger_declares(ledger, DECLARES_RENEW) && older->renewed_ns > older->granted_ns;
    if (!renewed || late.assumption != ASSUMPTION_SECTION) {
        return late;
    }
    /* Who renews by itself says no end anew: what became of its keys may tell more. */
    struct blamed keys = blame_overlap(ledger, older, newer);
    return keys.assumption == ASSUMPTION_NONE ? late : keys;
}

struct blamed blame_counters(const struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        if (fault->state == FAULT_WAITING) {
            continue;
        }
        if (fault_is((enum fault_kind)fault->kind, FAULT_OF_PROCESS)) {
            return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE};
        }
        if (fault->kind == FAULT_FAILOVER) {
            return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_REPLICATION};
        }
        if (fault->kind == FAULT_EVICT) {
            return (struct blamed){BLAME_DEPLOYMENT, ASSUMPTION_MEMORY};
        }
    }
    return blamed_library();
}

struct blamed blame_kept(const struct ledger *ledger, const struct ledger_claim *claim)
{
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_key *key = ledger_key_at(ledger, node, claim->resource);
        if ((claim->present >> node & 1) != 0 && key->came_back) {
            return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE};
        }
    }
    return blamed_library();
}
