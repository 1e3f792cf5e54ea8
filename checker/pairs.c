/* pairs.c: two leases of one resource, and what a finding about time rests on. */
#include "base/assert.h"
#include "checker/verdict.h"

static uint32_t claim_index(const struct ledger *ledger, const struct ledger_claim *claim)
{
    size_t offset = (size_t)((const char *)claim - (const char *)ledger) - ledger->claims_at;
    ASSERT(offset % ledger->claim_bytes == 0);
    return (uint32_t)(offset / ledger->claim_bytes);
}

struct lease_pair lease_pair_of(const struct ledger *ledger, const struct ledger_claim *first,
                                const struct ledger_claim *second)
{
    ASSERT(first != second);
    ASSERT(first->resource == second->resource);
    return (struct lease_pair){.first = claim_index(ledger, first),
                               .second = claim_index(ledger, second),
                               .first_order = first->order,
                               .second_order = second->order,
                               .since_ns = ledger->now_ns};
}

/* Whether a lease went on behind a time at which it ran; one that is forgotten has ended at once.
 */
static bool went_on(const struct ledger *ledger, uint32_t index, uint64_t order, int64_t since_ns)
{
    const struct ledger_claim *claim = ledger_claim_at(ledger, index);
    return claim->order == order && claim->over_ns > since_ns &&
           (claim->until_least_ns > since_ns || claim->promised_ns > since_ns);
}

static bool lease_pair_met(const struct ledger *ledger, const struct lease_pair *pair)
{
    return went_on(ledger, pair->first, pair->first_order, pair->since_ns) &&
           went_on(ledger, pair->second, pair->second_order, pair->since_ns);
}

/* Until when the first of two leases ran, as far as is known; false once it runs no more. */
static bool overlap_follow(struct overlap *overlap, const struct ledger *ledger)
{
    const struct ledger_claim *first = ledger_claim_at(ledger, overlap->pair.first);
    if (first->order != overlap->pair.first_order) {
        return false;
    }
    int64_t end_ns = ledger_lease_end_ns(first);
    overlap->end_ns = end_ns < ledger->now_ns ? end_ns : ledger->now_ns;
    return end_ns > ledger->now_ns;
}

static void overlap_conclude(struct overlap *overlap, struct check_result *result,
                             const struct ledger *ledger)
{
    ASSERT(overlap->waiting);
    overlap->finding.rest = rest_gone_on(overlap->finding.rest, overlap->end_ns);
    check_fail(result, ledger, &overlap->finding);
    overlap->waiting = false;
}

bool overlap_is_free(struct overlap *overlap, struct check_result *result,
                     const struct ledger *ledger, const struct ledger_claim *first)
{
    if (overlap->waiting && overlap->met && overlap->pair.first_order != first->order) {
        overlap_conclude(overlap, result, ledger);
    }
    return !overlap->waiting;
}

void overlap_begin(struct overlap *overlap, const struct finding *finding, struct lease_pair pair)
{
    ASSERT(!overlap->waiting);
    *overlap = (struct overlap){
        .waiting = true, .end_ns = pair.since_ns, .pair = pair, .finding = *finding};
}

void overlap_step(struct overlap *overlap, struct check_result *result, const struct ledger *ledger)
{
    if (!overlap->waiting || ledger->now_ns <= overlap->pair.since_ns) {
        return;
    }
    overlap->met = overlap->met || lease_pair_met(ledger, &overlap->pair);
    if (!overlap->met) {
        overlap->waiting = false;
        return;
    }
    bool runs = overlap_follow(overlap, ledger);
    if (!runs || !rest_goes_on(&overlap->finding.rest, ledger->now_ns)) {
        overlap_conclude(overlap, result, ledger);
    }
}

void overlap_finish(struct overlap *overlap, struct check_result *result,
                    const struct ledger *ledger)
{
    if (overlap->waiting && (overlap->met || lease_pair_met(ledger, &overlap->pair))) {
        (void)overlap_follow(overlap, ledger);
        overlap_conclude(overlap, result, ledger);
    }
    overlap->waiting = false;
}

const struct ledger_claim *lease_begins(const struct ledger *ledger,
                                        const struct history_event *event)
{
    bool grants = event->kind == HISTORY_OP && event->type == HISTORY_OK &&
                  (event->f == HISTORY_ACQUIRE || event->f == HISTORY_EXTEND);
    if (!grants && event->kind != HISTORY_LEASE) {
        return NULL;
    }
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    return claim != NULL && claim->fresh_index == event->index ? claim : NULL;
}

/* A lease without a promised end: until its keys would have run out, or missed their renewal. */
static struct check_rest rest_of_hold(const struct ledger *ledger, const struct ledger_claim *claim)
{
    bool renews = ledger_declares(ledger, DECLARES_RENEW);
    int64_t outlasted_ns = ledger->now_ns - claim->asked_ns - ledger->ttl_ns;
    int64_t spare_ns =
        ledger->renew_every_ns > 0 ? ledger->ttl_ns - ledger->renew_every_ns : ledger->ttl_ns / 2;
    int64_t margin_ns = renews ? spare_ns : outlasted_ns;
    return (struct check_rest){
        .from_ns = claim->granted_ns,
        .to_ns = ledger->now_ns,
        .stamped_ns = ledger->now_ns,
        .margin_ns = margin_ns > 0 ? margin_ns : 0,
        .processes = CHECK_REST_OF(claim->process),
        .causes = keys_run_out(ledger, claim) > 0 ? CHECK_LATE_TIMES : 0,
        .adds_up = true,
        .goes_on = renews && keys_run_out(ledger, claim) > 0,
        .since_ns = ledger->now_ns,
    };
}

struct check_rest rest_of_promise(const struct ledger *ledger, const struct ledger_claim *claim)
{
    if (claim->until_ns == TIME_NEVER) {
        return rest_of_hold(ledger, claim);
    }
    int64_t left_ns = claim->until_least_ns - ledger->now_ns;
    bool exact = claim->until_least_ns == claim->until_ns;
    return (struct check_rest){
        .from_ns = claim->granted_ns,
        .to_ns = ledger->now_ns,
        .stamped_ns = claim->granted_ns,
        .margin_ns = left_ns > 0 ? left_ns : 0,
        .processes = CHECK_REST_OF(claim->process),
        .causes = exact ? CHECK_LATE_TIMES : CHECK_LATE_CLOCKS,
    };
}

bool rest_goes_on(const struct check_rest *rest, int64_t now_ns)
{
    return rest->goes_on && now_ns - rest->since_ns < rest->margin_ns;
}

struct check_rest rest_gone_on(struct check_rest rest, int64_t end_ns)
{
    if (!rest.goes_on) {
        return rest;
    }
    int64_t over_ns = end_ns > rest.since_ns ? end_ns - rest.since_ns : 0;
    rest.margin_ns = over_ns < rest.margin_ns ? over_ns : rest.margin_ns;
    rest.to_ns = end_ns > rest.to_ns ? end_ns : rest.to_ns;
    rest.stamped_ns = rest.to_ns;
    rest.goes_on = false;
    return rest;
}

struct check_rest rest_of_overlap(const struct ledger *ledger, const struct ledger_claim *first,
                                  struct blamed blamed)
{
    return blame_rests_on_time(blamed) ? rest_of_promise(ledger, first) : (struct check_rest){0};
}

/* A holder that was late by itself: it may have been we who held it up. */
static struct check_rest rest_of_lateness(const struct ledger *ledger,
                                          const struct ledger_claim *claim)
{
    int64_t over_ns = ledger_lease_end_ns(claim);
    if (over_ns == TIME_NEVER || over_ns > ledger->now_ns) {
        return rest_of_hold(ledger, claim);
    }
    return (struct check_rest){
        .from_ns = claim->granted_ns,
        .to_ns = ledger->now_ns,
        .stamped_ns = ledger->now_ns,
        .margin_ns = ledger->now_ns - over_ns,
        .processes = CHECK_REST_OF(claim->process),
        .causes = CHECK_LATE_TIMES,
        .adds_up = true,
    };
}

struct check_rest rest_of_meeting(const struct ledger *ledger, const struct finding_cast *cast,
                                  struct blamed blamed)
{
    const struct ledger_claim *older = ledger_grant(ledger, cast->one, cast->resource);
    const struct ledger_claim *newer = ledger_grant(ledger, cast->other, cast->resource);
    if (older == NULL || newer == NULL || !blame_rests_on_time(blamed)) {
        return (struct check_rest){0};
    }
    if (ledger_granted_before(newer, older)) {
        const struct ledger_claim *swap = older;
        older = newer;
        newer = swap;
    }
    /* Where its promise was to run on, it does not matter how soon it left. */
    bool promised =
        older->until_least_ns != TIME_NEVER && ledger_lease_end_ns(older) > newer->granted_ns;
    struct check_rest rest =
        promised ? rest_of_promise(ledger, older) : rest_of_lateness(ledger, older);
    rest.since_ns = newer->granted_ns;
    return rest;
}
