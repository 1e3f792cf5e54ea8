/* loss_notice.c: was a holder told before another could be granted? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum loss_reason {
    TOLD_LATE = 1, /* number[0]: how late */
    NEVER_TOLD,    /* it left by itself, number[0] later, or was still inside at the end */
    TOLD_FALSELY,  /* nothing was lost, and its keys were to stay for number[0] more */
    LOSS_IGNORED,  /* its keys were gone, which a renewal finds, and number[0] later it knew not */
    RENEWED_WHEN_LOST, /* it was told, and number[0] later its key was given more time */
    RAN_OUT_UNTOLD,    /* its keys ran out, and number[0] later it knew not */
};

enum { UNTOLD_PARTS = 10 }; /* of a ttl: so much later than its keys run out it may be told */

/*
 * A client inside its section believes that it holds the lock until the lock tells it otherwise, or
 * it leaves or releases by itself. Once another client is granted the resource, telling it is too
 * late. Judged only where the library promises a validity, declares notices, or was seen to give
 * any.
 */
enum { BELIEVERS_MAX = 4 };

struct believer {
    int32_t process;
    uint64_t granted_index;
    int64_t entered_ns;
    uint64_t other_index; /* of another's grant; 0: none yet */
    int64_t other_ns;
    bool by_time;   /* no fault kept it from being told */
    bool left_late; /* no fault kept it, and no promise ran on: it had but to leave */
    struct check_rest rest;
    struct blamed blamed;
};

struct believers {
    uint32_t count;
    struct believer list[BELIEVERS_MAX];
};

struct loss_notice {
    struct check_result result;
    uint32_t resource_count;
    struct believers resources[];
};

static size_t loss_bytes(const struct history_header *header)
{
    return sizeof(struct loss_notice) + ledger_resource_count(header) * sizeof(struct believers);
}

static void loss_init(void *state, const struct history_header *header)
{
    struct loss_notice *loss = state;
    memset(state, 0, loss_bytes(header));
    loss->resource_count = ledger_resource_count(header);
}

static bool is_judged(const struct ledger *ledger)
{
    return ledger->promises || ledger->has_notices || ledger_declares(ledger, DECLARES_NOTICE);
}

static void loss_violated(struct loss_notice *loss, const struct ledger *ledger,
                          const struct believer *believer, enum loss_reason reason)
{
    struct finding finding = {
        .reason = (uint8_t)reason,
        .evidence = {believer->granted_index, believer->other_index, ledger->last_index},
        .evidence_count = 3,
        .blamed = believer->blamed,
        .number = {ledger->now_ns - believer->other_ns, 0},
    };
    finding.rest = believer->rest;
    if ((reason == TOLD_LATE && believer->by_time) || believer->left_late) {
        int64_t stopped_ns =
            ledger_stopped_ns(ledger, believer->process, believer->other_ns, ledger->now_ns);
        finding.rest = rest_of_wait(ledger, believer->other_ns,
                                    ledger->now_ns - believer->other_ns - stopped_ns);
        finding.rest.processes[0] = believer->process;
    }
    check_fail(&loss->result, ledger, &finding);
}

/* Another was granted the resource last, and this one does not know. */
static void believer_too_late(struct believer *believer, const struct ledger *ledger,
                              const struct ledger_resource *resource, uint32_t number)
{
    believer->other_index = resource->granted_index;
    believer->other_ns = resource->granted_ns;
    believer->blamed = blame_meeting(ledger, believer->process, resource->granted_process, number);
    const struct ledger_claim *claim = ledger_grant(ledger, believer->process, number);
    bool runs_on = claim != NULL && claim->until_ns != TIME_NEVER &&
                   ledger_lease_end_ns(claim) > resource->granted_ns;
    struct finding_cast cast = {believer->process, resource->granted_process, number};
    believer->by_time = blame_rests_on_time(believer->blamed);
    believer->left_late = !runs_on && believer->by_time;
    believer->rest = rest_of_meeting(ledger, &cast, believer->blamed);
    /* A section that is too long is what a notice is for, where the lock says that it gives any. */
    bool tells =
        !ledger->declared || ledger_declares(ledger, DECLARES_NOTICE) || ledger->has_notices;
    if (believer->blamed.assumption == ASSUMPTION_SECTION && tells) {
        believer->blamed = blamed_library();
    }
}

static void loss_enter(struct loss_notice *loss, const struct ledger *ledger,
                       const struct history_event *event)
{
    struct believers *believers = &loss->resources[event->resource];
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    if (claim == NULL || claim->told || claim->over == OVER_RELEASED) {
        return; /* what it gave back it does not believe to hold, whatever it enters under */
    }
    loss->result.judged++;
    if (believers->count == BELIEVERS_MAX) {
        return;
    }
    struct believer *believer = &believers->list[believers->count++];
    *believer = (struct believer){.process = event->process,
                                  .granted_index = claim->granted_index,
                                  .entered_ns = event->time_ns};
    /* Stopped between its grant and its section: another may have been granted it meanwhile. */
    const struct ledger_resource *resource = ledger_resource_at(ledger, event->resource);
    if (resource->granted_index > claim->granted_index) {
        believer_too_late(believer, ledger, resource, event->resource);
    }
}

/* Since when so many of a claim's keys have run out that another could be granted: what ended it,
 * and when; NULL where none did, or something else took one. */
static const struct ledger_end *ran_out(const struct ledger *ledger,
                                        const struct ledger_claim *claim)
{
    const struct ledger_end *ends = ledger_ends(claim);
    const struct ledger_end *last = NULL;
    uint64_t gone = claim->set & ~claim->present;
    int32_t kept = ledger_bits(claim->present);
    for (int32_t node = 0; node < ledger->node_count; node++) {
        if ((gone >> node & 1) == 0) {
            continue;
        }
        if (ends[node].f != HISTORY_KEY_EXPIRED || ends[node].cause != CAUSE_TTL) {
            return NULL;
        }
        last = last == NULL || ends[node].index > last->index ? &ends[node] : last;
    }
    return ledger->node_count - kept >= ledger->quorum ? last : NULL;
}

/*
 * Nobody was granted it meanwhile, but could have been: a lock that renews and gives notices knows
 * when the keys end that it could not renew. The last of them counts, whichever let another in.
 */
static void loss_ran_out(struct loss_notice *loss, const struct ledger *ledger,
                         const struct believer *believer, uint32_t resource)
{
    const struct ledger_claim *claim = ledger_grant(ledger, believer->process, resource);
    if (!ledger_declares(ledger, DECLARES_RENEW) || !ledger_declares(ledger, DECLARES_NOTICE) ||
        claim == NULL || claim->granted_index != believer->granted_index || claim->again ||
        !ledger_watched(ledger, claim) || !ledger_leases_are_sure(ledger) ||
        ledger_client_fault(ledger, claim->process, LEDGER_STOPS_A_CLIENT, claim->acquire_ns,
                            ledger->now_ns)) {
        return;
    }
    const struct ledger_end *end = ran_out(ledger, claim);
    int64_t allowed_ns = ledger->ttl_ns / UNTOLD_PARTS;
    int64_t from_ns = believer->entered_ns; /* or, if that is later: */
    from_ns = end != NULL && end->since_ns > from_ns ? end->since_ns : from_ns;
    if (end == NULL || ledger->now_ns - from_ns <= allowed_ns) {
        return;
    }
    struct finding finding = {
        .reason = RAN_OUT_UNTOLD,
        .evidence = {claim->granted_index, end->index, ledger->last_index},
        .evidence_count = 3,
        .blamed = blamed_library(),
        .number = {ledger->now_ns - from_ns, 0},
        .rest = rest_of_wait(ledger, end->since_ns, ledger->now_ns - from_ns - allowed_ns),
    };
    finding.rest.causes |= CHECK_LATE_KEYS;
    finding.rest.processes[0] = claim->process;
    check_fail(&loss->result, ledger, &finding);
}

/* A client has stopped believing: told, or by itself. */
static void loss_end(struct loss_notice *loss, const struct ledger *ledger,
                     const struct history_event *event, enum loss_reason reason)
{
    struct believers *believers = &loss->resources[event->resource];
    for (uint32_t i = 0; i < believers->count; i++) {
        struct believer *believer = &believers->list[i];
        if (believer->process != event->process) {
            continue;
        }
        bool late = believer->other_index != 0 && event->time_ns > believer->other_ns;
        if (late && is_judged(ledger)) {
            loss_violated(loss, ledger, believer, reason);
        } else {
            loss_ran_out(loss, ledger, believer, event->resource);
        }
        *believer = believers->list[--believers->count];
        return;
    }
}

/* A late notice of a lease before it says nothing of this one. */
static bool told_of(const struct ledger_claim *claim, const struct history_event *event)
{
    return (event->flags & HISTORY_HAS_VALUE) == 0 ||
           history_value_equal(&event->value, &claim->value);
}

/* Told that it lost what it holds: without any fault, before its promised end, and with half a ttl
 * to go. */
static void loss_told(struct loss_notice *loss, const struct ledger *ledger,
                      const struct history_event *event)
{
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    if (claim == NULL || claim->over != OVER_TOLD || claim->over_index != event->index ||
        !told_of(claim, event) || claim->until_least_ns <= event->time_ns || ledger->ttl_ns == 0 ||
        ledger_any_fault(ledger, claim->acquire_ns)) {
        return;
    }
    int64_t stay_ns = ledger_stay_ns(ledger, claim);
    if (stay_ns == 0 || stay_ns < ledger->ttl_ns / 2) {
        return;
    }
    struct finding finding = {
        .reason = TOLD_FALSELY,
        .evidence = {claim->granted_index, event->index},
        .evidence_count = 2,
        .blamed = blamed_library(),
        .number = {stay_ns, 0},
        .rest = rest_of_wait(ledger, claim->granted_ns, stay_ns),
    };
    finding.rest.causes |= CHECK_LATE_KEYS;
    finding.rest.processes[0] = event->process;
    check_fail(&loss->result, ledger, &finding);
}

/* Since when nodes have thrown out so many keys of a claim that no majority was left; TIME_NEVER:
 * they have not. One that its client set anew was thrown out all the same. */
static int64_t thrown_out_ns(const struct ledger *ledger, const struct ledger_claim *claim)
{
    int32_t out = 0;
    int64_t last_ns = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_end *end = &ledger_ends(claim)[node];
        bool set = claim->set >> node & 1;
        if (set && end->cause == CAUSE_EVICTION) {
            out++;
            last_ns = end->since_ns > last_ns ? end->since_ns : last_ns;
        }
    }
    ASSERT(out <= ledger_bits(claim->set));
    bool none_left = out > 0 && ledger_bits(claim->set) - out < ledger->quorum;
    return none_left ? last_ns : TIME_NEVER;
}

/* Its keys were thrown out, which the next renewal finds, within its period: half of another is for
 * the slow. Its holder was not told, or later than that. */
static void loss_ignored(struct loss_notice *loss, const struct ledger *ledger,
                         const struct history_event *event)
{
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    int64_t every_ns = ledger->renew_every_ns;
    bool renews = ledger_declares(ledger, DECLARES_RENEW) && every_ns > 0;
    if (!renews || !ledger_declares(ledger, DECLARES_NOTICE) || claim == NULL || claim->again ||
        !ledger_watched(ledger, claim) || claim->over_index != event->index ||
        ledger_faults_over(ledger, claim, CHECK_BIT(FAULT_EVICT)) == TIME_NEVER) {
        return;
    }
    int64_t gone_ns = thrown_out_ns(ledger, claim);
    if (gone_ns == TIME_NEVER || claim->asked_ns >= gone_ns || /* extended since: result_truth */
        ledger->now_ns - gone_ns <= every_ns + every_ns / 2) {
        return;
    }
    struct finding finding = {
        .reason = LOSS_IGNORED,
        .evidence = {claim->granted_index, ledger->last_index},
        .evidence_count = 2,
        .blamed = blamed_library(),
        .number = {ledger->now_ns - gone_ns, 0},
        .rest = rest_of_wait(ledger, gone_ns, ledger->now_ns - gone_ns - every_ns),
    };
    finding.rest.causes |= CHECK_LATE_KEYS;
    finding.rest.processes[0] = claim->process;
    check_fail(&loss->result, ledger, &finding);
}

/* A key was given more time: by a command that was sent a whole period, or half a ttl, behind the
 * notice that it is lost, when its client had asked for nothing since. */
static void loss_renewed(struct loss_notice *loss, const struct ledger *ledger,
                         const struct history_event *event)
{
    const struct ledger_claim *claim =
        ledger_key_claim(ledger, ledger_key_at(ledger, event->node, event->resource));
    const struct ledger_process *process = ledger_process(ledger, event->process);
    if (claim == NULL || process == NULL || claim->process != event->process ||
        claim->over != OVER_TOLD || process->open_index > claim->over_index ||
        (event->flags & HISTORY_HAS_SENT) == 0 || !ledger_declares(ledger, DECLARES_NOTICE)) {
        return;
    }
    int64_t every_ns =
        ledger->renew_every_ns > ledger->ttl_ns / 2 ? ledger->renew_every_ns : ledger->ttl_ns / 2;
    int64_t over_ns = event->sent_ns - claim->over_ns;
    if (ledger->ttl_ns == 0 || over_ns <= every_ns ||
        ledger_client_fault(ledger, process->process, LEDGER_STOPS_A_CLIENT, claim->over_ns,
                            ledger->now_ns)) {
        return;
    }
    struct finding finding = {
        .reason = RENEWED_WHEN_LOST,
        .evidence = {claim->over_index, event->index},
        .evidence_count = 2,
        .blamed = blamed_library(),
        .number = {over_ns, 0},
        .rest = rest_of_wait(ledger, claim->over_ns, over_ns - every_ns / 2),
    };
    finding.rest.processes[0] = process->process;
    check_fail(&loss->result, ledger, &finding);
}

/* Another is granted what they believe to hold. */
static void loss_granted(struct loss_notice *loss, const struct ledger *ledger,
                         const struct history_event *event)
{
    struct believers *believers = &loss->resources[event->resource];
    const struct ledger_resource *resource = ledger_resource_at(ledger, event->resource);
    /* What was granted before, and heard of only now, took nothing away. */
    bool before =
        (event->flags & HISTORY_HAS_SINCE) != 0 && resource->granted_index != event->index;
    for (uint32_t i = 0; i < believers->count; i++) {
        struct believer *believer = &believers->list[i];
        if (believer->process == event->process || believer->other_index != 0 || before) {
            continue;
        }
        believer_too_late(believer, ledger, resource, event->resource);
    }
}

static void loss_killed(struct loss_notice *loss, const struct history_event *event)
{
    for (uint32_t i = 0; i < loss->resource_count; i++) {
        struct believers *believers = &loss->resources[i];
        for (uint32_t k = 0; k < believers->count; k++) {
            if (believers->list[k].process == event->process) {
                believers->list[k] = believers->list[--believers->count];
                break;
            }
        }
    }
}

static void loss_step(void *state, const struct ledger *ledger, const struct history_event *event)
{
    struct loss_notice *loss = state;
    if (event->kind == HISTORY_CLIENT) {
        if (event->f == HISTORY_CLIENT_KILLED) {
            loss_killed(loss, event);
        }
        return;
    }
    if (event->resource >= loss->resource_count) {
        return;
    }
    if (event->kind == HISTORY_NODE) {
        if (event->node >= 0 && event->node < ledger->node_count) {
            loss_renewed(loss, ledger, event);
        }
        return;
    }
    if (event->kind == HISTORY_SECTION) {
        if (event->f == HISTORY_ENTER) {
            loss_enter(loss, ledger, event);
        } else {
            loss_end(loss, ledger, event, NEVER_TOLD);
        }
    } else if (event->kind == HISTORY_NOTICE) {
        loss_told(loss, ledger, event);
        loss_ignored(loss, ledger, event);
        loss_end(loss, ledger, event, TOLD_LATE);
    } else if (event->f == HISTORY_RELEASE && event->type == HISTORY_INVOKE) {
        loss_ignored(loss, ledger, event);
        loss_end(loss, ledger, event, NEVER_TOLD);
    } else if (event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK) {
        loss_granted(loss, ledger, event);
    }
}

static void loss_finish(void *state, const struct ledger *ledger)
{
    struct loss_notice *loss = state;
    for (uint32_t i = 0; is_judged(ledger) && i < loss->resource_count; i++) {
        for (uint32_t k = 0; k < loss->resources[i].count; k++) {
            const struct believer *believer = &loss->resources[i].list[k];
            if (believer->other_index != 0 && ledger->now_ns > believer->other_ns) {
                loss_violated(loss, ledger, believer, NEVER_TOLD);
            } else {
                loss_ran_out(loss, ledger, believer, i);
            }
        }
    }
    loss->result.judged = is_judged(ledger) ? loss->result.judged : 0;
    check_conclude(&loss->result);
}

static void say_loss(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *grant = telling_evidence(telling, 0);
    if (telling->result->reason == RAN_OUT_UNTOLD) {
        put_client(telling, grant->process);
        text_add(text, "'s keys of ");
        put_resource(telling, grant->resource);
        text_add(text,
                 " had run out, so that another could be granted it, and it was not told for ");
        put_length(text, telling->result->number[0]);
        return;
    }
    if (telling->result->reason >= LOSS_IGNORED) {
        bool ignored = telling->result->reason == LOSS_IGNORED;
        put_client(telling, grant->process);
        text_add(text, "%s", ignored ? "'s keys of " : " was told that it had lost ");
        put_resource(telling, grant->resource);
        text_add(text, "%s",
                 ignored ? " were thrown out, which the next renewal finds, and it was not told "
                           "for "
                         : ", and asked for nothing since, and the lock gave its key more time "
                           "after another ");
        put_length(text, telling->result->number[0]);
        return;
    }
    if (telling->result->reason == TOLD_FALSELY) {
        put_client(telling, grant->process);
        text_add(text, " was told that it had lost ");
        put_resource(telling, grant->resource);
        text_add(text, ", but a majority of nodes had its key, for another ");
        put_length(text, telling->result->number[0]);
        return;
    }
    const struct history_event *other = telling_evidence(telling, 1);
    put_client(telling, grant->process);
    if (telling->result->reason == TOLD_LATE) {
        text_add(text, " was told that it had lost ");
    } else {
        text_add(text, " was never told that it had lost ");
    }
    put_resource(telling, grant->resource);
    text_add(text, telling->result->reason == TOLD_LATE ? " only " : ", and went on for ");
    put_length(text, telling->result->number[0]);
    text_add(text, " after ");
    put_client(telling, other->process);
    text_add(text, " had been granted it");
}

static void effect_loss(const struct telling *telling)
{
    static const char *const words[] = {
        [TOLD_LATE] = " was told too late that it had lost ",
        [NEVER_TOLD] = " was never told that it had lost ",
        [TOLD_FALSELY] = " was told falsely that it had lost ",
        [LOSS_IGNORED] = " was told too late that nodes had thrown out its keys of ",
        [RENEWED_WHEN_LOST] = " was told of its loss, and the lock went on renewing ",
        [RAN_OUT_UNTOLD] = " was told too late that its keys had run out of ",
    };
    put_client(telling, telling_evidence(telling, 0)->process);
    text_add(telling->text, "%s", words[telling->result->reason]);
    put_resource(telling, telling->resource);
}

const struct check check_loss_notice = {
    .name = "loss_notice",
    .question = "Was a holder told before another could be granted?",
    .nothing = "no holder was inside a section, or the lock promises nothing and tells nothing",
    .needs = CHECK_BIT(DECLARES_NOTICE),
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_RELEASE) | CHECK_BIT(HISTORY_ENTER) |
             CHECK_BIT(HISTORY_LEAVE) | CHECK_BIT(HISTORY_LOST) | CHECK_BIT(HISTORY_CLIENT_KILLED) |
             CHECK_BIT(HISTORY_KEY_EXTENDED),
    .follows = true,
    .bytes = loss_bytes,
    .init = loss_init,
    .step = loss_step,
    .finish = loss_finish,
    .say = say_loss,
    .effect = effect_loss,
    .over = "not told",
    .lasts = true,
    .part = PART_OTHER,
    .weight = 1,
};
