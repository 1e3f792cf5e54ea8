/* answer_consistency.c: do the answers to one client contradict each other, or what the lock says
 * of itself? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum answer_reason {
    GRANTED_TWICE = 1,   /* it holds it, and the lock says that it is not re-entrant */
    REFUSED_ITS_HOLDER,  /* ... or that it is */
    EXTENDED_WHEN_FREED, /* its release had been answered ok */
    EXTENDED_WHEN_LOST,  /* it had been told that it was lost */
    PROMISED_NOTHING,    /* the lock declares validity, and a grant promises no end */
    FENCED_NOTHING,      /* ... a fence, and a grant has none */
    ANSWERED_UNASKED,    /* a client that had asked nothing */
    RENEWED_NOTHING,     /* ... that it renews, and none was seen; number[0]: held for so long */
    RENEWED_TOO_LATE,    /* ... or none since number[0] before it told of the loss */
    RENEWED_NO_LONGER,   /* ... or before it was released */
    DEADLINE_IGNORED,    /* ... or that it takes a deadline; number[0]: so much later it answered */
    GIVING_UP_IGNORED,   /* ... or that an acquire can be given up */
    EXTENDED_NEVER,      /* ... that it extends, and no extension was done */
    REFUSED_AT_ONCE,     /* ... that it waits, and nobody was seen to */
    WAITED,              /* it does not declare that; number[0]: so long after all attempts */
    REFUSED_ITS_OWNER,   /* a program is one owner, and another thread of it was refused */
    RENEWED_NO_MORE,     /* ... nor behind errors that were over, number[0] before the loss */
    VALUE_NOT_ITS_OWN,   /* unknown: what client number[0] reported is in none of its commands */
};

/* What a lock declares and was not seen to do: by and by, and in the end of it. */
struct answer_doubt {
    uint32_t count; /* so often it did not */
    bool seen;      /* it did once */
    struct finding first;
};

enum { DOUBTS_LEAST = 2 };

struct answer_consistency {
    struct check_result result;
    struct answer_doubt extends;
    struct answer_doubt waits;
    int64_t attempts_ns; /* that an acquire with its retries takes at most; 0: not known */
    int64_t deadline_ns; /* of every acquire; 0: none */
    int64_t patience_ns;
    int64_t patience_at_once_ns; /* ... of a lock that asks all nodes at once */
    struct answer_doubt hurries; /* late by that */
};

/* What is between two attempts, and no part of what a node may take: such a part of a ttl. */
enum { PAUSE_PARTS = 10 };

static size_t answer_bytes(const struct history_header *header)
{
    (void)header;
    return sizeof(struct answer_consistency);
}

static void answer_init(void *state, const struct history_header *header)
{
    struct answer_consistency *answers = state;
    memset(answers, 0, sizeof *answers);
    int64_t each_ns = header->patience_ns / (header->node_count > 0 ? header->node_count : 1);
    answers->patience_at_once_ns = each_ns + header->ttl_ns / PAUSE_PARTS;
    answers->deadline_ns = header->deadline_ns;
    answers->patience_ns = header->patience_ns;
    answers->attempts_ns = header->attempts_ns;
}

/* Evidence: what it is about, and the answer. */
static struct finding answer_finding(const struct ledger *ledger, enum answer_reason reason,
                                     uint64_t index)
{
    return (struct finding){
        .reason = (uint8_t)reason,
        .evidence = {index, ledger->last_index},
        .evidence_count = 2,
        .blamed = blamed_library(),
    };
}

/* When its keys were given time last. */
static int64_t answer_renewed_ns(const struct ledger_claim *claim)
{
    return claim->renewed_ns == 0 ? claim->granted_ns : claim->renewed_ns;
}

static void answer_violated(struct answer_consistency *answers, const struct ledger *ledger,
                            const struct ledger_claim *claim, enum answer_reason reason)
{
    struct finding finding = answer_finding(ledger, reason, claim->granted_index);
    finding.number[0] = ledger->now_ns - claim->granted_ns;
    ASSERT(finding.number[0] >= 0);
    if (reason == GRANTED_TWICE || reason == REFUSED_ITS_HOLDER) {
        bool same = claim->granted_index == ledger->last_index;
        finding.evidence[0] =
            same ? ledger_process(ledger, claim->process)->held_index : claim->granted_index;
        finding.rest = rest_of_promise(ledger, claim);
        if (reason == REFUSED_ITS_HOLDER) {
            /* Whoever has no processor may lose patience with nodes that have answered. */
            finding.rest = rest_of_wait(ledger, claim->asked_ns, 0);
            finding.rest.processes[0] = claim->process;
        }
    } else if (reason >= RENEWED_NOTHING && reason <= RENEWED_NO_LONGER) {
        finding.number[0] = ledger->now_ns - answer_renewed_ns(claim);
        finding.rest = rest_of_wait(ledger, answer_renewed_ns(claim), ledger->ttl_ns / 2);
        finding.rest.causes |= CHECK_LATE_KEYS;
        finding.rest.processes[0] = claim->process;
    }
    check_fail(&answers->result, ledger, &finding);
}

/*
 * A lease of this client that was granted before it asked and surely runs still; NULL: none. A
 * grant of the same value stands where that lease stood: then what it was when it asked has to do.
 */
static const struct ledger_claim *held_before(const struct ledger *ledger,
                                              const struct history_event *event)
{
    uint32_t slot = ledger_slot(ledger, event->process);
    if (slot == ledger->process_count) {
        return NULL;
    }
    const struct ledger_process *process = ledger_process_at(ledger, slot);
    for (uint32_t i = 0; i < LEDGER_CLAIMS; i++) {
        const struct ledger_claim *claim = ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        bool before =
            claim->granted_index < process->open_index ||
            (claim->granted_index == event->index && process->held_end_ns > ledger->now_ns &&
             history_value_equal(&claim->value, &process->held_value));
        if (claim->state == CLAIM_GRANTED && claim->resource == event->resource && before &&
            ledger_running(ledger, claim)) {
            return claim;
        }
    }
    return NULL;
}

/* The answer to an acquire came, or did not yet: so much later than it was to come at `due_ns`. */
static void answer_late(struct answer_consistency *answers, const struct ledger *ledger,
                        const struct ledger_process *process, enum answer_reason reason)
{
    int64_t due_ns =
        reason == DEADLINE_IGNORED ? process->open_ns + answers->deadline_ns : process->given_up_ns;
    bool late = due_ns <= ledger->now_ns - answers->patience_ns;
    int64_t patience_ns = late ? answers->patience_ns : answers->patience_at_once_ns;
    if (due_ns > ledger->now_ns - patience_ns ||
        ledger_client_fault(ledger, process->process, LEDGER_STOPS_A_CLIENT, process->open_ns,
                            ledger->now_ns)) {
        return;
    }
    struct finding finding = answer_finding(ledger, reason, process->open_index);
    finding.number[0] = ledger->now_ns - due_ns;
    finding.number[1] = due_ns - process->open_ns;
    finding.rest = rest_of_wait(ledger, due_ns, ledger->now_ns - due_ns - patience_ns);
    finding.rest.processes[0] = process->process;
    if (late) {
        check_fail(&answers->result, ledger, &finding);
    } else if (answers->hurries.count++ == 0) {
        answers->hurries.first = finding;
    }
}

/* Whoever declares that it takes a deadline, or that an acquire can be given up, is to answer by
 * then, whatever befalls nodes and links. */
static void answer_in_time(struct answer_consistency *answers, const struct ledger *ledger,
                           const struct ledger_process *process)
{
    if ((process->open_flags & HISTORY_AUDIT) != 0) {
        return;
    }
    if (answers->deadline_ns > 0 && ledger_declares(ledger, DECLARES_DEADLINE)) {
        answer_late(answers, ledger, process, DEADLINE_IGNORED);
    }
    if (process->given_up_ns != TIME_NEVER && ledger_declares(ledger, DECLARES_CANCEL)) {
        answer_late(answers, ledger, process, GIVING_UP_IGNORED);
    }
}

static void answer_doubted(struct answer_doubt *doubt, const struct ledger *ledger,
                           const struct ledger_claim *held, const struct ledger_process *process,
                           enum answer_reason reason)
{
    if (doubt->count++ > 0) {
        return;
    }
    doubt->first = answer_finding(ledger, reason, held->granted_index);
    doubt->first.number[0] = ledger->now_ns - process->open_ns;
    if (reason == EXTENDED_NEVER) { /* whoever has no processor may lose patience with nodes */
        doubt->first.rest = rest_of_wait(ledger, process->open_ns, 0);
        doubt->first.rest.processes[0] = process->process;
    }
}

/* Somebody's lease that ran from before this client asked until now; NULL: none. */
static const struct ledger_claim *
held_meanwhile(const struct ledger *ledger, const struct ledger_process *process, uint32_t resource)
{
    uint32_t running = ledger_resource_at(ledger, resource)->running;
    const struct ledger_claim *held = running > 0 ? ledger_claim_at(ledger, running - 1) : NULL;
    bool ran = held != NULL && ledger_running(ledger, held) && held->process != process->process &&
               held->granted_index < process->open_index;
    return ran ? held : NULL;
}

/* Whether it waits for its turn, as it declares or does not: all was well, and there was no other
 * limit than its attempts. */
static void answer_waited(struct answer_consistency *answers, const struct ledger *ledger,
                          const struct ledger_process *process, const struct history_event *event)
{
    int64_t took_ns = ledger->now_ns - process->open_ns;
    if (!ledger->declared || answers->attempts_ns == 0 || answers->deadline_ns > 0 ||
        process->given_up_ns != TIME_NEVER || (process->open_flags & HISTORY_AUDIT) != 0 ||
        ledger_any_fault(ledger, process->open_ns)) {
        return;
    }
    if (!ledger_declares(ledger, DECLARES_WAIT)) {
        if (took_ns > 2 * answers->attempts_ns) {
            int64_t over_ns = took_ns - 2 * answers->attempts_ns;
            struct finding finding = answer_finding(ledger, WAITED, process->open_index);
            finding.number[0] = took_ns - answers->attempts_ns;
            finding.rest = rest_of_wait(ledger, process->open_ns, over_ns);
            finding.rest.processes[0] = process->process;
            check_fail(&answers->result, ledger, &finding);
        }
        return;
    }
    answers->waits.seen |= took_ns >= ledger->ttl_ns / 20;
    const struct ledger_claim *held = held_meanwhile(ledger, process, event->resource);
    if (event->type == HISTORY_FAIL && held != NULL && took_ns < ledger->ttl_ns / 100 &&
        !ledger_same_owner(ledger, held->process, process->process)) {
        answer_doubted(&answers->waits, ledger, held, process, REFUSED_AT_ONCE);
    }
}

/* Another thread of a program that is one owner, and may acquire again what it holds, was refused.
 */
static void answer_owner(struct answer_consistency *answers, const struct ledger *ledger,
                         const struct ledger_process *process, const struct history_event *event)
{
    const struct ledger_claim *held = held_meanwhile(ledger, process, event->resource);
    if (held == NULL || ledger->ownership != OWNERSHIP_PROCESS || event->type != HISTORY_FAIL ||
        !ledger_declares(ledger, DECLARES_REENTRANT) ||
        ledger_any_fault(ledger, held->acquire_ns) ||
        !ledger_same_owner(ledger, held->process, process->process)) {
        return;
    }
    answer_violated(answers, ledger, held, REFUSED_ITS_OWNER);
}

/* An extension of a lease that runs was not done, though all is well. */
static void answer_not_extended(struct answer_consistency *answers, const struct ledger *ledger,
                                const struct history_event *event)
{
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    const struct ledger_process *process = ledger_process(ledger, event->process);
    answers->extends.seen |= event->type == HISTORY_OK;
    if (event->type != HISTORY_OK && claim != NULL && claim->over == OVER_NOT &&
        ledger_declares(ledger, DECLARES_EXTEND) && ledger_running(ledger, claim) &&
        ledger->now_ns - claim->asked_ns < ledger->ttl_ns &&
        !ledger_any_fault(ledger, claim->acquire_ns)) {
        answer_doubted(&answers->extends, ledger, claim, process, EXTENDED_NEVER);
    }
}

static void answer_acquire(struct answer_consistency *answers, const struct ledger *ledger,
                           const struct history_event *event)
{
    const struct ledger_claim *held = held_before(ledger, event);
    const struct ledger_process *process = ledger_process(ledger, event->process);
    bool reentrant = ledger_declares(ledger, DECLARES_REENTRANT);
    bool same = held != NULL && held->granted_index == event->index;
    int64_t asked_ns = same ? process->held_asked_ns : held != NULL ? held->acquire_ns : 0;
    bool sound =
        held != NULL && !ledger_any_fault(ledger, asked_ns) && !ledger_ran_out(ledger, held);
    if (event->type == HISTORY_FAIL) {
        if (sound && reentrant) {
            answer_violated(answers, ledger, held, REFUSED_ITS_HOLDER);
        }
        return;
    }
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    if (sound && ledger->declared && !reentrant) {
        answer_violated(answers, ledger, held, GRANTED_TWICE);
    }
    if (claim == NULL || claim->granted_index != event->index) {
        return;
    }
    if (ledger_declares(ledger, DECLARES_VALIDITY) && claim->until_ns == TIME_NEVER) {
        answer_violated(answers, ledger, claim, PROMISED_NOTHING);
    }
    if (ledger_declares(ledger, DECLARES_FENCE) && claim->fence == 0) {
        answer_violated(answers, ledger, claim, FENCED_NOTHING);
    }
}

/* What ended before it was asked cannot be extended, unless a node brought it back. */
static void answer_extended(struct answer_consistency *answers, const struct ledger *ledger,
                            const struct history_event *event)
{
    const struct ledger_claim *claim = ledger_held(ledger, event);
    if (claim == NULL || ledger_declares(ledger, DECLARES_REENTRANT) ||
        ledger_any_fault(ledger, claim->acquire_ns)) {
        return;
    }
    uint64_t asked = ledger_process(ledger, event->process)->open_index;
    if (claim->over == OVER_RELEASED && claim->freed_index != 0 && claim->freed_index < asked) {
        answer_violated(answers, ledger, claim, EXTENDED_WHEN_FREED);
    } else if (claim->over == OVER_TOLD && claim->over_index < asked) {
        answer_violated(answers, ledger, claim, EXTENDED_WHEN_LOST);
    }
}

/* It lost what it held, and did not try again when the errors were over, though a renewal was due
 * then within its period: half of another is for the slow. */
static void answer_renews_no_more(struct answer_consistency *answers, const struct ledger *ledger,
                                  const struct ledger_claim *claim)
{
    const uint64_t errors = CHECK_BIT(FAULT_REFUSE_WRITES) | CHECK_BIT(FAULT_SCRIPT_FLUSH);
    int64_t every_ns = ledger->renew_every_ns;
    int64_t over_ns = ledger_faults_over(ledger, claim, errors);
    if (claim->over != OVER_TOLD || every_ns == 0 || over_ns == TIME_NEVER ||
        over_ns < claim->granted_ns || claim->renewed_ns >= over_ns ||
        ledger->now_ns - over_ns <= every_ns + every_ns / 2) {
        return;
    }
    struct finding finding = answer_finding(ledger, RENEWED_NO_MORE, claim->granted_index);
    finding.number[0] = ledger->now_ns - over_ns;
    finding.rest = rest_of_wait(ledger, over_ns, ledger->now_ns - over_ns - every_ns);
    finding.rest.causes |= CHECK_LATE_KEYS;
    finding.rest.processes[0] = claim->process;
    check_fail(&answers->result, ledger, &finding);
}

/* Held for longer than two renewals, or a ttl, and no key was given more time; or for a ttl behind
 * the last; or told lost for want of one. Nodes that a majority can do without cost who asks them
 * one by one some time, but no ttl. */
static void answer_renewal(struct answer_consistency *answers, const struct ledger *ledger,
                           const struct history_event *event)
{
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    if (!ledger_declares(ledger, DECLARES_RENEW) || ledger->ttl_ns == 0 || claim == NULL ||
        claim->over_index != event->index || claim->again || !ledger_watched(ledger, claim) ||
        ledger_bits(claim->set) < ledger->quorum) {
        return;
    }
    int32_t spared = ledger_nodes_spared(ledger, claim);
    bool told = claim->over == OVER_TOLD;
    bool never = claim->renewed_ns == 0;
    if (spared < ledger->node_count) {
        answer_renews_no_more(answers, ledger, claim);
    }
    int64_t due_ns = told || never ? 2 * ledger->renew_every_ns : 0;
    due_ns = due_ns > 0 && due_ns < ledger->ttl_ns ? due_ns : ledger->ttl_ns;
    int64_t least_ns = ledger->ttl_ns - ledger->ttl_ns / 10;
    due_ns = spared < ledger->node_count && due_ns < least_ns ? least_ns : due_ns;
    bool judged = spared >= ledger->quorum && (told || claim->over == OVER_RELEASED);
    if (judged && ledger->now_ns - answer_renewed_ns(claim) > due_ns) {
        enum answer_reason late = told ? RENEWED_TOO_LATE : RENEWED_NO_LONGER;
        answer_violated(answers, ledger, claim, never ? RENEWED_NOTHING : late);
    }
}

static void answer_step(void *state, const struct ledger *ledger, const struct history_event *event)
{
    struct answer_consistency *answers = state;
    const struct ledger_process *process = ledger_process(ledger, event->process);
    if (event->kind == HISTORY_CLIENT) {
        if (event->f == HISTORY_VALUE_MISMATCH) {
            check_unknown(&answers->result, VALUE_NOT_ITS_OWN, event->process);
        } else if (event->f == HISTORY_UNASKED) {
            struct finding finding = answer_finding(ledger, ANSWERED_UNASKED, event->index);
            finding.evidence_count = 1;
            answers->result.judged++;
            check_fail(&answers->result, ledger, &finding);
        } else if (event->f == HISTORY_CLIENT_KILLED && process != NULL && process->open &&
                   process->open_f == HISTORY_ACQUIRE) {
            answer_in_time(answers, ledger, process);
        }
        return;
    }
    if (event->resource >= ledger->resource_count) {
        return;
    }
    bool answered = event->type == HISTORY_OK || event->type == HISTORY_FAIL;
    answers->result.judged += answered ? 1 : 0;
    if (event->f == HISTORY_ACQUIRE && event->type != HISTORY_INVOKE && process != NULL) {
        answer_in_time(answers, ledger, process);
        answer_waited(answers, ledger, process, event);
        answer_owner(answers, ledger, process, event);
    }
    if (event->f == HISTORY_EXTEND && event->type != HISTORY_INVOKE) {
        answer_not_extended(answers, ledger, event);
    }
    if (answered && event->f == HISTORY_ACQUIRE) {
        answer_acquire(answers, ledger, event);
    } else if (event->type == HISTORY_OK && event->f == HISTORY_EXTEND) {
        answer_extended(answers, ledger, event);
    } else {
        answer_renewal(answers, ledger, event);
    }
}

static void answer_finish(void *state, const struct ledger *ledger)
{
    struct answer_consistency *answers = state;
    const struct answer_doubt *doubts[] = {&answers->extends, &answers->waits};
    for (size_t i = 0; i < sizeof doubts / sizeof doubts[0]; i++) {
        if (doubts[i]->count >= DOUBTS_LEAST && !doubts[i]->seen) {
            check_fail(&answers->result, ledger, &doubts[i]->first);
        }
    }
    if (answers->hurries.count > 0 && ledger->at_once) {
        check_fail(&answers->result, ledger, &answers->hurries.first);
    }
    check_conclude(&answers->result);
}

static void say_answers(const struct telling *telling)
{
    static const char *const words[] = {
        [GRANTED_TWICE] = " was granted it again while it held it, and the lock does not declare "
                          "that it is re-entrant",
        [REFUSED_ITS_HOLDER] = " was refused what it held, and the lock declares that it is "
                               "re-entrant",
        [ANSWERED_UNASKED] = " was given an answer, and had asked nothing",
        [EXTENDED_WHEN_FREED] = "'s extension was told done behind a release that was told done",
        [EXTENDED_WHEN_LOST] = "'s extension was told done although it had been told of its loss",
        [PROMISED_NOTHING] = "'s grant promises no end, and the lock declares validity",
        [FENCED_NOTHING] = "'s grant has no fence, and the lock declares fences",
        [RENEWED_NOTHING] = "'s keys were never given more time, and the lock declares that it "
                            "renews: it was held for ",
        [RENEWED_TOO_LATE] = " was told of a loss, and the lock declares that it renews: no key "
                             "was given more time for ",
        [RENEWED_NO_LONGER] = " held on, and the lock declares that it renews: it did not for ",
        [DEADLINE_IGNORED] = ", which the lock declares that it takes, and was not answered for "
                             "another ",
        [GIVING_UP_IGNORED] = "'s acquire was given up, which the lock declares that it can be, "
                              "and was not answered for another ",
        [EXTENDED_NEVER] = "'s lease ran and could not be extended, nor any other, and the lock "
                           "declares that it extends: it said so after ",
        [REFUSED_AT_ONCE] = " was refused what another held, and nobody was seen to wait, though "
                            "the lock declares that it does: after ",
        [WAITED] = "'s acquire went on when all its attempts could be over, and the lock does not "
                   "declare that it waits: for another ",
        [REFUSED_ITS_OWNER] = " was granted it, another thread of its program was refused, and the "
                              "lock declares that a program is one owner and may acquire it "
                              "again: it was held for ",
        [RENEWED_NO_MORE] = " was told of a loss, and the lock declares that it renews: nodes had "
                            "answered with errors, and when that was over no key was given more "
                            "time for ",
    };
    struct text *text = telling->text;
    const struct check_result *result = telling->result;
    if (result->reason == VALUE_NOT_ITS_OWN) {
        put_client(telling, (int32_t)result->number[0]);
        text_add(text, " reported a value that stood in none of its commands: its keys are judged "
                       "by who set them");
        return;
    }
    bool refused = result->reason == REFUSED_AT_ONCE; /* ... what another holds */
    put_client(telling, telling_evidence(telling, refused ? 1 : 0)->process);
    if (result->reason == DEADLINE_IGNORED) {
        text_add(text, "'s acquire had a deadline of ");
        put_length(text, result->number[1]);
    }
    text_add(text, "%s", words[result->reason]);
    if (result->reason >= RENEWED_NOTHING) {
        put_length(text, result->number[0]);
    }
}

static void effect_answers(const struct telling *telling)
{
    if (telling->result->reason >= PROMISED_NOTHING) { /* which says what was declared */
        say_answers(telling);
    } else {
        text_add(telling->text, "two answers to one client contradict each other");
    }
}

const struct check check_answer_consistency = {
    .name = "answer_consistency",
    .question = "Do the answers to a client contradict each other, or what the lock declares?",
    .nothing = "no operation was answered",
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_EXTEND) | CHECK_BIT(HISTORY_RELEASE) |
             CHECK_BIT(HISTORY_LOST) | CHECK_BIT(HISTORY_VALUE_MISMATCH) |
             CHECK_BIT(HISTORY_UNASKED) | CHECK_BIT(HISTORY_CLIENT_KILLED),
    .follows = true,
    .bytes = answer_bytes,
    .init = answer_init,
    .step = answer_step,
    .finish = answer_finish,
    .say = say_answers,
    .effect = effect_answers,
    .over = "answers differ",
    .part = PART_LOCK,
    .weight = 1,
};
