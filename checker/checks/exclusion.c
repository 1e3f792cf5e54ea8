/* exclusion.c: did two leases, as promised to the holders, overlap in true time? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum exclusion_reason { OVERLAP_PROMISED = 1, OVERLAP_UNTIL_TOLD };

/*
 * Intervals that only touch are concurrent in the generous sense: two leases overlap if they have a
 * time in common that is inside both. So a violation waits until time goes on: if either ends at
 * the very time at which the second begins, there was none.
 */
struct exclusion {
    struct check_result result;
    struct overlap overlap;
};

static size_t exclusion_bytes(const struct history_header *header)
{
    (void)header;
    return sizeof(struct exclusion);
}

static void exclusion_init(void *state, const struct history_header *header)
{
    (void)header;
    memset(state, 0, sizeof(struct exclusion));
}

static void judge_grant(struct exclusion *exclusion, const struct ledger *ledger,
                        const struct ledger_claim *second)
{
    ASSERT(second->state == CLAIM_GRANTED);
    exclusion->result.judged++;
    if (!ledger_running(ledger, second)) {
        return;
    }
    const struct ledger_claim *first = ledger_other_holder(ledger, second);
    if (first == NULL || !overlap_is_free(&exclusion->overlap, &exclusion->result, ledger, first)) {
        return;
    }
    bool promised = first->until_ns != TIME_NEVER;
    int64_t end_ns = first->until_least_ns < second->until_least_ns ? first->until_least_ns
                                                                    : second->until_least_ns;
    struct blamed blamed = blame_overlap(ledger, first, second);
    struct finding finding = {
        .reason = promised ? OVERLAP_PROMISED : OVERLAP_UNTIL_TOLD,
        .evidence = {first->granted_index, second->fresh_index},
        .evidence_count = 2,
        .blamed = blamed,
        .number = {end_ns == TIME_NEVER ? 0 : end_ns - ledger->now_ns, ledger->now_ns},
        .rest = rest_of_overlap(ledger, first, blamed),
    };
    overlap_begin(&exclusion->overlap, &finding, lease_pair_of(ledger, first, second));
}

static void exclusion_step(void *state, const struct ledger *ledger,
                           const struct history_event *event)
{
    struct exclusion *exclusion = state;
    overlap_step(&exclusion->overlap, &exclusion->result, ledger);
    const struct ledger_claim *claim = lease_begins(ledger, event);
    if (claim != NULL) {
        judge_grant(exclusion, ledger, claim);
    }
}

static void exclusion_finish(void *state, const struct ledger *ledger)
{
    struct exclusion *exclusion = state;
    overlap_finish(&exclusion->overlap, &exclusion->result, ledger);
    check_conclude(&exclusion->result);
}

static void say_exclusion(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *first = telling_evidence(telling, 0);
    const struct history_event *second = telling_evidence(telling, 1);
    put_granted(telling, second);
    text_add(text, " while ");
    put_client(telling, first->process);
    if (telling->result->reason == OVERLAP_UNTIL_TOLD) {
        text_add(text, " held it and had not been told otherwise");
        return;
    }
    text_add(text, "'s lease ran until ");
    put_time(text, second->time_ns + telling->result->number[0]);
    text_add(text, " (");
    put_length(text, telling->result->number[0]);
    text_add(text, " of overlap)");
}

static void effect_exclusion(const struct telling *telling)
{
    bool promised = telling->result->reason == OVERLAP_PROMISED;
    text_add(telling->text, promised ? "two clients were promised " : "two clients held ");
    put_resource(telling, telling->resource);
    text_add(telling->text, " at the same time");
}

const struct check check_exclusion = {
    .name = "exclusion",
    .question = "Did two leases, as promised to the holders, overlap in true time?",
    .nothing = "nobody was granted the lock",
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_EXTEND) | CHECK_BIT(HISTORY_RELEASE) |
             CHECK_BIT(HISTORY_LOST) | CHECK_BIT(HISTORY_MOVED),
    .follows = true,
    .bytes = exclusion_bytes,
    .init = exclusion_init,
    .step = exclusion_step,
    .finish = exclusion_finish,
    .say = say_exclusion,
    .effect = effect_exclusion,
    .over = "both promised",
    .lasts = true,
    .part = PART_MEETING,
    .weight = 2,
};
