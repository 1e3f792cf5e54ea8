/* exercised.c: were there grants, contention, and did every fault strike while it mattered? */
#include "checker/reasons.h"
#include "checker/rows.h"
#include "checker/verdict.h"

struct exercised {
    struct check_result result;
    int32_t client_count;
    uint32_t fault_count;
    uint64_t grants;
    uint64_t contended; /* acquires that met another's acquire or lease */
    uint32_t resource_count;
    uint32_t asking[]; /* acquires under way, by resource */
};

static size_t exercised_bytes(const struct history_header *header)
{
    return sizeof(struct exercised) + ledger_resource_count(header) * sizeof(uint32_t);
}

static void exercised_init(void *state, const struct history_header *header)
{
    struct exercised *exercised = state;
    memset(state, 0, exercised_bytes(header));
    exercised->client_count = header->client_count;
    exercised->fault_count = (uint32_t)header->fault_count;
    exercised->resource_count = ledger_resource_count(header);
}

static bool held_by_another(const struct ledger *ledger, const struct history_event *event)
{
    uint32_t link = ledger_resource_at(ledger, event->resource)->running;
    while (link != 0) {
        const struct ledger_claim *claim = ledger_claim_at(ledger, link - 1);
        if (claim->process != event->process && ledger_running(ledger, claim)) {
            return true;
        }
        link = claim->next;
    }
    return false;
}

static void exercised_step(void *state, const struct ledger *ledger,
                           const struct history_event *event)
{
    struct exercised *exercised = state;
    bool audit = (event->flags & HISTORY_AUDIT) != 0;
    if (event->f != HISTORY_ACQUIRE || audit || event->resource >= exercised->resource_count) {
        return;
    }
    uint32_t *asking = &exercised->asking[event->resource];
    if (event->type != HISTORY_INVOKE) {
        *asking -= *asking > 0 ? 1 : 0;
        exercised->grants += event->type == HISTORY_OK ? 1 : 0;
        return;
    }
    exercised->result.judged++;
    exercised->contended += *asking > 0 || held_by_another(ledger, event) ? 1 : 0;
    (*asking)++;
}

/* Faults that are over as soon as they have struck. */
static bool fault_is_instant(enum fault_kind kind)
{
    return kind == FAULT_KILL || kind == FAULT_CLOCK_JUMP || kind == FAULT_SCRIPT_FLUSH ||
           kind == FAULT_EVICT || kind == FAULT_LOSE_REPLY || kind == FAULT_FAILOVER;
}

/* Whether every fault of the scenario struck, showed an effect and ended. */
static bool faults_judged(struct exercised *exercised, const struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        if (fault->state == FAULT_WAITING) {
            if (i < exercised->fault_count) {
                check_unknown(&exercised->result, FAULT_DID_NOT_STRIKE, (int64_t)i + 1);
                return false;
            }
            continue;
        }
        if (!fault->effect) {
            check_unknown(&exercised->result, FAULT_WITHOUT_EFFECT, (int64_t)i + 1);
            return false;
        }
        if (fault->state == FAULT_ACTIVE && !fault_is_instant(fault->kind)) {
            check_unknown(&exercised->result, FAULT_WITHOUT_END, (int64_t)i + 1);
            return false;
        }
    }
    return true;
}

static void exercised_finish(void *state, const struct ledger *ledger)
{
    struct exercised *exercised = state;
    if (exercised->grants == 0) {
        check_unknown(&exercised->result, NO_GRANT, 0);
        return;
    }
    if (!faults_judged(exercised, ledger)) {
        return;
    }
    if (exercised->client_count > 1 && exercised->contended == 0) {
        check_unknown(&exercised->result, NO_CONTENTION, 0);
        return;
    }
    check_conclude(&exercised->result);
}

const struct check check_exercised = {
    .name = "exercised",
    .question = "Were there grants, contention, and did every fault strike while it mattered?",
    .kinds = CHECK_WANTS(HISTORY_OP),
    .fs = CHECK_WANTS(HISTORY_ACQUIRE),
    .follows = true,
    .bytes = exercised_bytes,
    .init = exercised_init,
    .step = exercised_step,
    .finish = exercised_finish,
};
