/* linearizable.c: is there a legal order of all operations, for a lock of leases? Live, and flat.
 */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum linearizable_reason {
    TWO_HOLD = 1,    /* one was granted it while another surely held it */
    EXTENDED_BEHIND, /* an extension kept what another had been granted meanwhile */
};

/*
 * A grant holds for sure from its return to the first of release asked, loss noticed and promised
 * end: its core. Cores cannot be moved, so a legal order needs them to be disjoint; what was
 * extended is one core from its grant on. A run gives each acquire a value of its own, so that this
 * is all that its operations say (docs/LINEARIZABLE.md, P2a). The cores are the leases of
 * `exclusion`, and so the two never differ about the same two grants.
 */
struct linearizable {
    struct check_result result;
    struct overlap overlap;
};

static size_t linearizable_bytes(const struct history_header *header)
{
    (void)header;
    return sizeof(struct linearizable);
}

static void linearizable_init(void *memory, const struct history_header *header)
{
    (void)header;
    memset(memory, 0, sizeof(struct linearizable));
}

/* A core begins: another's must not run. */
static void core_begins(struct linearizable *state, const struct ledger *ledger,
                        const struct ledger_claim *second)
{
    const struct ledger_claim *first =
        ledger_running(ledger, second) ? ledger_other_holder(ledger, second) : NULL;
    if (first == NULL || !overlap_is_free(&state->overlap, &state->result, ledger, first)) {
        return;
    }
    struct blamed blamed = blame_overlap(ledger, first, second);
    struct finding finding = {
        .reason = TWO_HOLD,
        .evidence = {first->granted_index, second->fresh_index},
        .evidence_count = 2,
        .blamed = blamed,
        .rest = rest_of_overlap(ledger, first, blamed),
    };
    overlap_begin(&state->overlap, &finding, lease_pair_of(ledger, first, second));
}

/* The newest grant of another owner since this one's; NULL if there is none, or it held nothing. */
static const struct ledger_claim *granted_since(const struct ledger *ledger,
                                                const struct ledger_claim *claim)
{
    const struct ledger_resource *resource = ledger_resource_at(ledger, claim->resource);
    if (resource->granted_index <= claim->granted_index || resource->granted_ns >= ledger->now_ns ||
        ledger_same_owner(ledger, resource->granted_process, claim->process)) {
        return NULL;
    }
    const struct ledger_claim *other =
        ledger_grant(ledger, resource->granted_process, claim->resource);
    bool held = other != NULL && ledger_lease_end_ns(other) > other->granted_ns;
    return held ? other : NULL;
}

/* Time was added to a core: behind another's that lies in it. */
static void core_extended(struct linearizable *state, const struct ledger *ledger,
                          const struct ledger_claim *claim)
{
    const struct ledger_claim *other = granted_since(ledger, claim);
    if (other == NULL || !ledger_running(ledger, claim)) {
        return;
    }
    ASSERT(other->granted_index > claim->granted_index);
    struct finding finding = {
        .reason = EXTENDED_BEHIND,
        .evidence = {claim->granted_index, other->granted_index, ledger->last_index},
        .evidence_count = 3,
        .blamed = blame_overlap(ledger, claim, other),
    };
    finding.rest = rest_of_overlap(ledger, claim, finding.blamed);
    check_fail(&state->result, ledger, &finding);
}

static void linearizable_step(void *memory, const struct ledger *ledger,
                              const struct history_event *event)
{
    struct linearizable *state = memory;
    overlap_step(&state->overlap, &state->result, ledger);
    bool granted = event->type == HISTORY_OK && event->f == HISTORY_ACQUIRE;
    bool extended = event->type == HISTORY_OK && event->f == HISTORY_EXTEND;
    state->result.judged += granted ? 1 : 0;
    const struct ledger_claim *begun = lease_begins(ledger, event);
    if (begun != NULL) {
        core_begins(state, ledger, begun);
    }
    const struct ledger_claim *claim =
        extended ? ledger_grant(ledger, event->process, event->resource) : NULL;
    if (claim != NULL && claim->over == OVER_NOT) {
        core_extended(state, ledger, claim);
    }
}

static void linearizable_finish(void *memory, const struct ledger *ledger)
{
    struct linearizable *state = memory;
    overlap_finish(&state->overlap, &state->result, ledger);
    check_conclude(&state->result);
}

static void say_linearizable(const struct telling *telling)
{
    text_add(telling->text, "no order of the operations is legal for a lock, because of these: ");
    put_evidence(telling);
}

static void effect_linearizable(const struct telling *telling)
{
    text_add(telling->text, "two clients held ");
    put_resource(telling, telling->resource);
    text_add(telling->text, " at once, by what the lock told them");
}

const struct check check_linearizable = {
    .name = "linearizable",
    .question = "Is there a legal order of all operations for a lock?",
    .nothing = "nobody was granted the lock",
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_EXTEND) | CHECK_BIT(HISTORY_RELEASE) |
             CHECK_BIT(HISTORY_LOST) | CHECK_BIT(HISTORY_MOVED),
    .follows = true,
    .bytes = linearizable_bytes,
    .init = linearizable_init,
    .step = linearizable_step,
    .finish = linearizable_finish,
    .say = say_linearizable,
    .effect = effect_linearizable,
    .over = "both hold it",
    .lasts = true,
    .part = PART_MEETING,
    .weight = 1,
};
