/* deadlock_freedom.c: after the last heal, is the lock free again within ttl + bound? */
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum deadlock_reason {
    GRANTED_LATE = 1,
    NEVER_GRANTED,
    RUN_TOO_SHORT, /* unknown: it ended before ttl + bound were over */
};

/*
 * The auditor asks for each resource after the heal. The wait runs from the heal, or from when
 * somebody first asked after it, to the first grant to anybody; anew from a key that came while
 * what delays of the run held back may still come: it stays for a ttl.
 */
struct deadlock_wait {
    int64_t since_ns;  /* TIME_NEVER: nobody asked */
    uint64_t index;    /* of that ask, or of the heal */
    int32_t askers[2]; /* who asked first, and who was answered last */
    bool granted;
};

struct deadlock_freedom {
    struct check_result result;
    int64_t ttl_ns;
    int64_t bound_ns;
    uint32_t resource_count;
    struct deadlock_wait waits[];
};

static size_t deadlock_bytes(const struct history_header *header)
{
    return sizeof(struct deadlock_freedom) +
           ledger_resource_count(header) * sizeof(struct deadlock_wait);
}

static void deadlock_init(void *state, const struct history_header *header)
{
    struct deadlock_freedom *deadlock = state;
    memset(state, 0, deadlock_bytes(header));
    deadlock->ttl_ns = header->ttl_ns;
    deadlock->bound_ns = header->bound_ns;
    deadlock->resource_count = ledger_resource_count(header);
    for (uint32_t i = 0; i < deadlock->resource_count; i++) {
        deadlock->waits[i] = (struct deadlock_wait){.since_ns = TIME_NEVER,
                                                    .askers = {HISTORY_NOBODY, HISTORY_NOBODY}};
    }
}

static void deadlock_violated(struct deadlock_freedom *deadlock, const struct ledger *ledger,
                              uint32_t resource, uint64_t end_index, enum deadlock_reason reason)
{
    const struct deadlock_wait *wait = &deadlock->waits[resource];
    struct finding finding = {
        .reason = (uint8_t)reason,
        .evidence = {ledger->healed_index, wait->index, end_index},
        .evidence_count = 3,
        .blamed = blamed_library(),
        .number = {ledger->now_ns - wait->since_ns, deadlock->ttl_ns + deadlock->bound_ns},
    };
    if (!ledger_blocked(ledger, resource)) {
        finding.rest = rest_of_wait(ledger, wait->since_ns, finding.number[0] - finding.number[1]);
        finding.rest.processes[0] = wait->askers[0];
        finding.rest.processes[1] = wait->askers[1];
    }
    /* What stands in the way: a key that never expires, if there is one. */
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_key *key = ledger_key_at(ledger, node, resource);
        if (key->present && key->endless && finding.evidence_count < CHECK_EVIDENCE_MAX) {
            finding.evidence[finding.evidence_count++] = key->set_index;
        }
    }
    check_fail(&deadlock->result, ledger, &finding);
}

/* Until when what delays held back may still come; TIME_NEVER while a fault goes on. */
static int64_t comes_until_ns(const struct ledger *ledger)
{
    int64_t late_ns = 0;
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        bool lasts = fault_trait_of((enum fault_kind)fault->kind)->life == FAULT_LASTS;
        bool counts = fault->state != FAULT_WAITING && (lasts || fault->end_ns != TIME_NEVER);
        late_ns = counts && fault->end_ns > late_ns ? fault->end_ns : late_ns;
    }
    return late_ns;
}

/* A key was set, or given more time, by what a delay had held back. */
static void deadlock_came(struct deadlock_wait *wait, const struct ledger *ledger,
                          const struct history_event *event)
{
    if (wait->since_ns != TIME_NEVER && event->time_ns <= comes_until_ns(ledger)) {
        wait->since_ns = event->time_ns;
    }
}

/* What came last may have been a place in a queue, of which no node tells; and a fault that goes on
 * behind the heal may be what stands in the way. */
static void deadlock_settle(struct deadlock_wait *wait, const struct ledger *ledger)
{
    int64_t come_ns = comes_until_ns(ledger);
    int64_t least_ns = come_ns < ledger->now_ns ? come_ns : ledger->now_ns;
    wait->since_ns = wait->since_ns > least_ns ? wait->since_ns : least_ns;
}

static void deadlock_step(void *state, const struct ledger *ledger,
                          const struct history_event *event)
{
    struct deadlock_freedom *deadlock = state;
    if (!ledger->healed || deadlock->ttl_ns == 0 || event->resource >= deadlock->resource_count) {
        return;
    }
    struct deadlock_wait *wait = &deadlock->waits[event->resource];
    if (event->kind == HISTORY_NODE) {
        deadlock_came(wait, ledger, event);
        return;
    }
    if (event->type == HISTORY_INVOKE) {
        bool first = wait->since_ns == TIME_NEVER;
        wait->since_ns = first ? event->time_ns : wait->since_ns;
        wait->index = first ? event->index : wait->index;
        wait->askers[0] = first ? event->process : wait->askers[0];
        return;
    }
    wait->askers[1] = wait->granted ? wait->askers[1] : event->process;
    if (event->type != HISTORY_OK || wait->granted) {
        return;
    }
    if (wait->since_ns == TIME_NEVER) {
        wait->since_ns = ledger->healed_ns;
        wait->index = ledger->healed_index;
    }
    wait->granted = true;
    deadlock_settle(wait, ledger);
    deadlock->result.judged++;
    if (event->time_ns - wait->since_ns > deadlock->ttl_ns + deadlock->bound_ns) {
        deadlock_violated(deadlock, ledger, event->resource, event->index, GRANTED_LATE);
    }
}

static void deadlock_finish(void *state, const struct ledger *ledger)
{
    struct deadlock_freedom *deadlock = state;
    for (uint32_t i = 0; ledger->healed && i < deadlock->resource_count; i++) {
        struct deadlock_wait *wait = &deadlock->waits[i];
        if (wait->granted || wait->since_ns == TIME_NEVER) {
            continue;
        }
        deadlock_settle(wait, ledger);
        deadlock->result.judged++;
        if (ledger->now_ns - wait->since_ns > deadlock->ttl_ns + deadlock->bound_ns) {
            deadlock_violated(deadlock, ledger, i, ledger->last_index, NEVER_GRANTED);
        } else {
            check_unknown(&deadlock->result, RUN_TOO_SHORT, ledger->now_ns - wait->since_ns);
        }
    }
    check_conclude(&deadlock->result);
}

static void say_deadlock(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct check_result *result = telling->result;
    if (result->verdict == VERDICT_UNKNOWN) {
        text_add(text, "the run ended ");
        put_length(text, result->number[0]);
        text_add(text, " after somebody asked, too early to tell");
        return;
    }
    put_resource(telling, telling->resource);
    if (result->reason == NEVER_GRANTED) {
        text_add(text, " was granted to nobody in the ");
        put_length(text, result->number[0]);
        text_add(text, " after the heal");
    } else {
        text_add(text, " was granted to somebody only ");
        put_length(text, result->number[0]);
        text_add(text, " after it was asked for behind the heal");
    }
    text_add(text, "; ttl + bound allow ");
    put_length(text, result->number[1]);
}

static void effect_deadlock(const struct telling *telling)
{
    text_add(telling->text, "nobody got ");
    put_resource(telling, telling->resource);
    text_add(telling->text, telling->result->reason == NEVER_GRANTED
                                ? " any more after the heal"
                                : " for too long after the heal");
}

const struct check check_deadlock_freedom = {
    .name = "deadlock_freedom",
    .question = "After the last heal, is the lock free again within ttl + bound?",
    .nothing = "nobody asked for the lock after a heal, or the ttl is not known",
    .wants =
        CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_KEY_SET) | CHECK_BIT(HISTORY_KEY_EXTENDED),
    .follows = true,
    .bytes = deadlock_bytes,
    .init = deadlock_init,
    .step = deadlock_step,
    .finish = deadlock_finish,
    .say = say_deadlock,
    .effect = effect_deadlock,
    .over = "granted to nobody",
    .lasts = true,
    .part = PART_WAITING,
    .weight = 2,
};
