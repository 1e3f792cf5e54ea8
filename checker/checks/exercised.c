/* exercised.c: were there grants, contention, and did every fault strike while it mattered? */
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum exercised_reason {
    NO_GRANT = 1,
    NO_CONTENTION,
    FAULT_DID_NOT_STRIKE, /* number[0]: which, from 1 */
    FAULT_WITHOUT_EFFECT,
    FAULT_WITHOUT_END,
    NEVER_AT_ONCE,    /* nobody held as many as it was to; number[0]: how many, at most */
    NEVER_AGAIN,      /* nobody acquired what it held, and was answered */
    FAULT_WHILE_IDLE, /* nobody held the lock, asked for it or gave it back meanwhile */
};

/*
 * A fault mattered if, while it was in force, whom it struck held the lock, or asked for it, or
 * gave it back: between two turns of a client it tries nothing.
 */
enum fault_use {
    USE_UNSEEN, /* it has not begun */
    USE_IDLE,   /* it has begun, and nothing was under way yet */
    USE_MATTERED,
};

struct exercised {
    struct check_result result;
    int32_t client_count;
    uint32_t fault_count;
    uint64_t grants;
    int32_t at_once;     /* each client was to hold so many, ... */
    int32_t at_once_max; /* ... and one did so many */
    bool again_wanted;
    bool again;         /* some client acquired what it held, and was answered while it did */
    uint64_t contended; /* acquires that met another's acquire or lease */
    uint32_t resource_count;
    uint32_t idle_count; /* faults in USE_IDLE */
    uint32_t uses_at;    /* offset of uint8_t use[], enum fault_use, by fault */
    uint32_t asking[];   /* acquires under way, by resource */
};

static size_t uses_offset(const struct history_header *header)
{
    return sizeof(struct exercised) + ledger_resource_count(header) * sizeof(uint32_t);
}

static size_t exercised_bytes(const struct history_header *header)
{
    return uses_offset(header) + ledger_fault_count(header);
}

static uint8_t *use_of(struct exercised *exercised, uint32_t fault)
{
    return (uint8_t *)exercised + exercised->uses_at + fault;
}

static void exercised_init(void *state, const struct history_header *header)
{
    struct exercised *exercised = state;
    memset(state, 0, exercised_bytes(header));
    exercised->client_count = header->client_count;
    exercised->fault_count = (uint32_t)header->fault_count;
    exercised->at_once = header->at_once > 1 ? header->at_once : 1;
    exercised->again_wanted = header->again > 0;
    exercised->resource_count = ledger_resource_count(header);
    exercised->uses_at = (uint32_t)uses_offset(header);
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

/* Whether a client holds, is in the middle of an operation, or has keys that are yet to go. */
static bool is_busy(const struct ledger *ledger, uint32_t slot)
{
    const struct ledger_process *process = ledger_process_at(ledger, slot);
    if ((process->open_flags & HISTORY_AUDIT) != 0) {
        return false; /* the auditor tries nothing but whether the lock is free */
    }
    if (process->open || process->inside) {
        return true;
    }
    for (uint32_t i = 0; i < LEDGER_CLAIMS; i++) {
        const struct ledger_claim *claim = ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        if (claim->state != CLAIM_FREE && (claim->present != 0 || ledger_running(ledger, claim))) {
            return true;
        }
    }
    return false;
}

static bool anybody_is_busy(const struct ledger *ledger)
{
    for (uint32_t slot = 0; slot < ledger->process_count; slot++) {
        if (is_busy(ledger, slot)) {
            return true;
        }
    }
    return false;
}

static void step_fault(struct exercised *exercised, const struct ledger *ledger,
                       const struct history_event *event)
{
    if (event->fault < 0 || (uint32_t)event->fault >= ledger->fault_count) {
        return;
    }
    uint8_t *use = use_of(exercised, (uint32_t)event->fault);
    if (*use == USE_UNSEEN) {
        *use = USE_IDLE;
        exercised->idle_count++;
    }
    if (*use == USE_IDLE && anybody_is_busy(ledger)) {
        *use = USE_MATTERED;
        exercised->idle_count--;
    }
}

/* A client begins an operation: that is what the faults that are in force were waiting for. */
static void step_under_faults(struct exercised *exercised, const struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->fault_count && exercised->idle_count > 0; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        /* Over at once, but what it did to a clock or to a node is there for all that follows. */
        bool stays = fault_trait_of((enum fault_kind)fault->kind)->life == FAULT_STAYS;
        bool in_force = fault->state == FAULT_ACTIVE || stays;
        if (*use_of(exercised, i) == USE_IDLE && in_force) {
            *use_of(exercised, i) = USE_MATTERED;
            exercised->idle_count--;
        }
    }
}

/* How many resources a client holds for sure. */
static int32_t held_count(const struct ledger *ledger, uint32_t slot)
{
    int32_t count = 0;
    for (uint32_t i = 0; i < LEDGER_CLAIMS; i++) {
        const struct ledger_claim *claim = ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        bool newest = claim->state == CLAIM_GRANTED &&
                      ledger_grant(ledger, claim->process, claim->resource) == claim;
        count += newest && ledger_running(ledger, claim) ? 1 : 0;
    }
    return count;
}

/* An acquire was answered: what does its client hold now, and did it hold it before? */
static void step_answered(struct exercised *exercised, const struct ledger *ledger,
                          const struct history_event *event)
{
    uint32_t slot = ledger_slot(ledger, event->process);
    if (slot == ledger->process_count) {
        return;
    }
    int32_t held = exercised->at_once > 1 ? held_count(ledger, slot) : 1;
    exercised->at_once_max = held > exercised->at_once_max ? held : exercised->at_once_max;
    exercised->again |= ledger_process_at(ledger, slot)->held_end_ns > ledger->now_ns &&
                        (event->type == HISTORY_OK || event->type == HISTORY_FAIL);
}

static void exercised_step(void *state, const struct ledger *ledger,
                           const struct history_event *event)
{
    struct exercised *exercised = state;
    if (event->kind == HISTORY_FAULT) {
        step_fault(exercised, ledger, event);
        return;
    }
    bool audit = (event->flags & HISTORY_AUDIT) != 0;
    if (event->type == HISTORY_INVOKE && !audit && exercised->idle_count > 0) {
        step_under_faults(exercised, ledger);
    }
    if (event->f != HISTORY_ACQUIRE || audit || event->resource >= exercised->resource_count) {
        return;
    }
    uint32_t *asking = &exercised->asking[event->resource];
    if (event->type != HISTORY_INVOKE) {
        *asking -= *asking > 0 ? 1 : 0;
        exercised->grants += event->type == HISTORY_OK ? 1 : 0;
        step_answered(exercised, ledger, event);
        return;
    }
    exercised->result.judged++;
    exercised->contended += *asking > 0 || held_by_another(ledger, event) ? 1 : 0;
    (*asking)++;
}

/* Faults that are over as soon as they have struck. */
static bool fault_is_instant(enum fault_kind kind)
{
    return fault_trait_of(kind)->life != FAULT_LASTS || kind == FAULT_LOSE_REPLY;
}

/* Whether every fault of the scenario struck while it mattered, showed an effect and ended. */
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
        if (*use_of(exercised, i) != USE_MATTERED) {
            check_unknown(&exercised->result, FAULT_WHILE_IDLE, (int64_t)i + 1);
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
    if (exercised->at_once_max < exercised->at_once) {
        check_unknown(&exercised->result, NEVER_AT_ONCE, exercised->at_once_max);
        return;
    }
    if (exercised->again_wanted && !exercised->again) {
        check_unknown(&exercised->result, NEVER_AGAIN, 0);
        return;
    }
    check_conclude(&exercised->result);
}

/* How the client that a fault struck had ended before: NULL if it had not. */
static const struct history_event *client_end(const struct telling *telling,
                                              const struct history_event *struck)
{
    for (const struct history_event *event = telling->history->events; event < struck; event++) {
        bool ended = event->f == HISTORY_CLIENT_DONE || event->f == HISTORY_CLIENT_KILLED;
        if (ended && event->process == struck->process) {
            return event;
        }
    }
    return NULL;
}

/* Which fault of the scenario was in vain, and why. */
static void say_fault(const struct telling *telling)
{
    struct text *text = telling->text;
    int64_t number = telling->result->number[0];
    const struct history_event *struck = telling_fault(telling, (int32_t)number - 1);
    if (struck == NULL) {
        text_add(text, "fault %" PRId64 " of the scenario did not strike", number);
        return;
    }
    put_fault(telling, struck);
    if (telling->result->reason == FAULT_WITHOUT_END) {
        text_add(text, " never ended");
        return;
    }
    text_add(text, " struck at ");
    put_time(text, struck->time_ns);
    if (telling->result->reason == FAULT_WHILE_IDLE) {
        text_add(text, ", when nobody held the lock, asked for it or gave it back");
        return;
    }
    text_add(text, ", but no effect of it was seen");
    const struct history_event *end = client_end(telling, struck);
    if (end != NULL) {
        text_add(text, ": ");
        put_client(telling, struck->process);
        text_add(text, " was %s by then", history_f_name((enum history_f)end->f));
    } else {
        text_add(text, " (`picklock explain %s` tells what it does, and what it does not)",
                 fault_kind_name((enum fault_kind)struck->fault_kind));
    }
}

static void say_exercised(const struct telling *telling)
{
    switch (telling->result->reason) {
    case NO_GRANT:
        text_add(telling->text, "the lock was never granted, so nothing was tried");
        return;
    case NO_CONTENTION:
        text_add(telling->text,
                 "no client asked while another asked or held, so exclusion was not tried");
        return;
    case NEVER_AT_ONCE:
        text_add(telling->text,
                 "no client held as many locks at once as it was to: %" PRId64 " at most",
                 telling->result->number[0]);
        return;
    case NEVER_AGAIN:
        text_add(telling->text, "no client acquired what it held already while that was sure");
        return;
    default:
        say_fault(telling);
        return;
    }
}

const struct check check_exercised = {
    .name = "exercised",
    .question = "Were there grants, contention, and did every fault strike while it mattered?",
    .nothing = "nothing was asked for",
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_EXTEND) | CHECK_BIT(HISTORY_RELEASE) |
             CHECK_BIT(HISTORY_FAULT_START) | CHECK_BIT(HISTORY_FAULT_EFFECT) |
             CHECK_BIT(HISTORY_FAULT_END),
    .follows = true,
    .required = true,
    .bytes = exercised_bytes,
    .init = exercised_init,
    .step = exercised_step,
    .finish = exercised_finish,
    .say = say_exercised,
    .effect = say_exercised,
    .part = PART_OTHER,
};
