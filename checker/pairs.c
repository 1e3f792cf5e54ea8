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

bool lease_pair_met(const struct ledger *ledger, const struct lease_pair *pair)
{
    return went_on(ledger, pair->first, pair->first_order, pair->since_ns) &&
           went_on(ledger, pair->second, pair->second_order, pair->since_ns);
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
        .processes = {claim->process, claim->process},
        .causes = keys_run_out(ledger, claim) > 0 ? CHECK_LATE_TIMES : 0,
        .adds_up = true,
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
        .processes = {claim->process, claim->process},
        .causes = exact ? CHECK_LATE_TIMES : CHECK_LATE_CLOCKS,
    };
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
        .processes = {claim->process, claim->process},
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
    if (older->order > newer->order) {
        const struct ledger_claim *swap = older;
        older = newer;
        newer = swap;
    }
    /* Where its promise was to run on, it does not matter how soon it left. */
    bool promised =
        older->until_least_ns != TIME_NEVER && ledger_lease_end_ns(older) > newer->granted_ns;
    return promised ? rest_of_promise(ledger, older) : rest_of_lateness(ledger, older);
}
