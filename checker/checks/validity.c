/* validity.c: did a promise outlive the majority of keys behind it? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum validity_reason {
    SPENT_WHEN_GRANTED = 1, /* the promised end had passed when the grant returned */
    SPENT_WHEN_EXTENDED,    /* ... when the extension returned */
    NO_MAJORITY_WHEN_GRANTED,
    NO_MAJORITY_WHEN_EXTENDED,
    MAJORITY_LOST,  /* while the lease ran; number[0]: how long it still ran */
    BEYOND_ITS_KEYS /* promised for number[0]; its keys have number[1] */
};

/* Of a ttl: more than a program may stand still between a promise and the look at its clock. */
enum { BEYOND_PARTS = 10 };
enum { BROKEN_MAX = 8 }; /* at one moment: a node that crashes has keys of many locks */

/* A majority that breaks at the very moment at which its holder gives it back broke nothing: told
 * once time has moved on. */
struct validity {
    struct check_result result;
    int64_t since_ns;
    uint32_t count;
    struct broken {
        int32_t process;
        uint32_t resource;
        struct finding finding;
    } broken[BROKEN_MAX];
};

static size_t validity_bytes(const struct history_header *header)
{
    (void)header;
    return sizeof(struct validity);
}

static void validity_init(void *state, const struct history_header *header)
{
    (void)header;
    memset(state, 0, sizeof(struct validity));
}

static void settle(struct validity *validity, const struct ledger *ledger)
{
    ASSERT(validity->count <= BROKEN_MAX);
    for (uint32_t i = 0; i < validity->count; i++) {
        check_fail(&validity->result, ledger, &validity->broken[i].finding);
    }
    validity->count = 0;
}

/* A lease was given back, or its loss told, at the moment at which its majority broke. */
static void forgive(struct validity *validity, const struct history_event *event)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < validity->count; i++) {
        const struct broken *broken = &validity->broken[i];
        if (broken->process != event->process || broken->resource != event->resource) {
            validity->broken[kept++] = *broken;
        }
    }
    validity->count = kept;
}

/* The grant, and the last ends of its keys before now. */
static struct finding validity_broken(const struct ledger *ledger, const struct ledger_claim *claim,
                                      enum validity_reason reason)
{
    struct finding finding = {
        .reason = (uint8_t)reason,
        .evidence = {claim->granted_index},
        .evidence_count = 1,
        .blamed = blame_keys(ledger, claim),
        .number = {claim->until_least_ns - ledger->now_ns, ledger_bits(claim->present)},
        .rest = rest_of_promise(ledger, claim),
    };
    finding.rest.causes |= CHECK_LATE_KEYS;
    uint64_t before = UINT64_MAX;
    const struct ledger_end *ends = ledger_ends(claim);
    while (finding.evidence_count < CHECK_EVIDENCE_MAX) {
        uint64_t latest = 0;
        bool found = false;
        for (int32_t node = 0; node < ledger->node_count; node++) {
            uint64_t bit = UINT64_C(1) << node;
            bool gone = (claim->set & bit) != 0 && (claim->present & bit) == 0;
            if (gone && ends[node].index < before && (!found || ends[node].index > latest)) {
                latest = ends[node].index;
                found = true;
            }
        }
        if (!found) {
            break;
        }
        finding.evidence[finding.evidence_count++] = latest;
        before = latest;
    }
    return finding;
}

/*
 * The library alone: it promised a time that had passed. Another's program may have computed the
 * promise in time and then been given no processor to say it.
 */
static void validity_spent(struct validity *validity, const struct ledger *ledger,
                           const struct ledger_claim *claim, const struct history_event *event,
                           int64_t until_ns)
{
    bool granted = event->f == HISTORY_ACQUIRE;
    struct finding finding = {
        .reason = granted ? SPENT_WHEN_GRANTED : SPENT_WHEN_EXTENDED,
        .evidence = {claim->granted_index, event->index},
        .evidence_count = granted ? 1 : 2,
        .blamed = blamed_library(),
        .number = {until_ns - ledger->now_ns, ledger_bits(claim->present)},
    };
    if (ledger->declared) {
        const struct ledger_process *process = ledger_process(ledger, claim->process);
        finding.rest = rest_of_wait(ledger, process->open_ns, -finding.number[0]);
        finding.rest.processes[0] = claim->process;
    }
    check_fail(&validity->result, ledger, &finding);
}

/* The last end that a majority of its keys has, as far as nodes told; TIME_NEVER: not known. */
static int64_t keys_until_ns(const struct ledger *ledger, const struct ledger_claim *claim)
{
    int64_t until_ns[HISTORY_NODES_MAX];
    int32_t count = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_key *key = ledger_key_at(ledger, node, claim->resource);
        if ((claim->present >> node & 1) == 0) {
            continue;
        }
        bool ends = !key->endless && key->until_ns > 0;
        int32_t at = count++;
        for (; at > 0 && until_ns[at - 1] < (ends ? key->until_ns : TIME_NEVER); at--) {
            until_ns[at] = until_ns[at - 1];
        }
        until_ns[at] = ends ? key->until_ns : TIME_NEVER;
    }
    return count < ledger->quorum ? TIME_NEVER : until_ns[ledger->quorum - 1];
}

/*
 * Whether nothing else can be why a promise ends later than its keys: nodes, their keys and all
 * clocks are as they were, and its client ran since it asked, so that it said at once what it had
 * computed.
 */
static bool validity_calm(const struct ledger *ledger, const struct ledger_claim *claim)
{
    return ledger_leases_are_sure(ledger) &&
           !ledger_client_fault(ledger, claim->process, LEDGER_STOPS_A_CLIENT, claim->asked_ns,
                                ledger->now_ns);
}

/*
 * A promise of more than its keys have, by more than a ttl, or by a part of one where all is calm:
 * no rounding, no lateness and no way of counting explains that. Who renews by itself may mean to.
 */
static void validity_beyond(struct validity *validity, const struct ledger *ledger,
                            const struct ledger_claim *claim, const struct history_event *event)
{
    uint32_t clocks = UINT32_C(1) << FAULT_CLOCK_RATE | UINT32_C(1) << FAULT_CLOCK_JUMP;
    int64_t until_ns = keys_until_ns(ledger, claim);
    if (!ledger->declared || ledger_declares(ledger, DECLARES_RENEW) || ledger->ttl_ns == 0 ||
        until_ns == TIME_NEVER ||
        ledger_client_fault(ledger, claim->process, clocks, claim->asked_ns, ledger->now_ns)) {
        return;
    }
    bool calm = validity_calm(ledger, claim);
    int64_t beyond_ns = claim->until_least_ns - until_ns;
    if (beyond_ns <= ledger->ttl_ns / (calm ? BEYOND_PARTS : 1)) {
        return;
    }
    struct finding finding = {
        .reason = BEYOND_ITS_KEYS,
        .evidence = {claim->granted_index, event->index},
        .evidence_count = 2,
        .blamed = blamed_library(),
        .number = {claim->until_least_ns - ledger->now_ns, until_ns - ledger->now_ns},
        .rest = rest_of_wait(ledger, claim->asked_ns, beyond_ns),
    };
    finding.rest.processes[0] = claim->process;
    finding.rest.causes |= CHECK_LATE_KEYS;
    check_fail(&validity->result, ledger, &finding);
}

static void validity_operation(struct validity *validity, const struct ledger *ledger,
                               const struct history_event *event)
{
    bool granted = event->f == HISTORY_ACQUIRE;
    if (event->type != HISTORY_OK || (!granted && event->f != HISTORY_EXTEND)) {
        return;
    }
    const struct ledger_claim *claim = granted
                                           ? ledger_grant(ledger, event->process, event->resource)
                                           : ledger_held(ledger, event);
    if (claim == NULL || claim->until_ns == TIME_NEVER) {
        return;
    }
    /* An extension moves no end of what is over: what it says itself is all there is. */
    bool over = !granted && claim->over != OVER_NOT;
    bool says = (event->flags & HISTORY_HAS_UNTIL) != 0;
    int64_t until_ns = !over ? claim->until_ns : says ? event->until_ns : TIME_NEVER;
    if (until_ns <= ledger_said_ns(event)) {
        validity->result.judged++;
        validity_spent(validity, ledger, claim, event, until_ns);
        return;
    }
    if (over || !ledger_watched(ledger, claim)) {
        return;
    }
    validity->result.judged++;
    if (ledger_running(ledger, claim) && ledger_bits(claim->present) < ledger->quorum) {
        struct finding finding = validity_broken(
            ledger, claim, granted ? NO_MAJORITY_WHEN_GRANTED : NO_MAJORITY_WHEN_EXTENDED);
        check_fail(&validity->result, ledger, &finding);
        return;
    }
    validity_beyond(validity, ledger, claim, event);
}

static void validity_step(void *state, const struct ledger *ledger,
                          const struct history_event *event)
{
    struct validity *validity = state;
    if (event->time_ns > validity->since_ns) {
        settle(validity, ledger);
    }
    bool over =
        (event->f == HISTORY_RELEASE && event->type == HISTORY_INVOKE) || event->f == HISTORY_LOST;
    if (over) {
        forgive(validity, event);
    }
    if (event->kind == HISTORY_OP) {
        validity_operation(validity, ledger, event);
        return;
    }
    bool ends = event->f == HISTORY_KEY_DELETED || event->f == HISTORY_KEY_EXPIRED ||
                event->f == HISTORY_KEY_LOST || event->f == HISTORY_KEY_EVICTED;
    if (!ends || ledger->node_count == 0 || event->resource >= ledger->resource_count) {
        return;
    }
    const struct ledger_claim *claim =
        ledger_key_claim(ledger, ledger_key_at(ledger, event->node, event->resource));
    if (claim == NULL || claim->until_ns == TIME_NEVER || !ledger_running(ledger, claim) ||
        ledger_ends(claim)[event->node].index != event->index) {
        return;
    }
    /* Once a lease: when the majority breaks. */
    if (ledger_bits(claim->present) == ledger->quorum - 1 && validity->count < BROKEN_MAX) {
        validity->since_ns = ledger->now_ns;
        validity->broken[validity->count++] = (struct broken){
            claim->process, claim->resource, validity_broken(ledger, claim, MAJORITY_LOST)};
    }
}

static void validity_finish(void *state, const struct ledger *ledger)
{
    settle(state, ledger);
    check_conclude(state);
}

static void say_validity(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *grant = telling_operation(telling);
    int64_t left_ns = telling->result->number[0];
    if (telling->result->reason == SPENT_WHEN_GRANTED) {
        put_granted(telling, grant);
        text_add(text, " with a lease that had ended ");
        put_length(text, -left_ns);
        text_add(text, " before");
        return;
    }
    put_client(telling, grant->process);
    text_add(text, "'s lease of ");
    put_resource(telling, grant->resource);
    if (telling->result->reason == SPENT_WHEN_EXTENDED) {
        text_add(text, " was extended at ");
        put_time(text, telling_evidence(telling, 1)->time_ns);
        text_add(text, " to a time that had passed ");
        put_length(text, -left_ns);
        text_add(text, " before");
        return;
    }
    if (telling->result->reason == BEYOND_ITS_KEYS) {
        text_add(text, " was promised for another ");
        put_length(text, left_ns);
        text_add(text, ", and the majority of its keys had ");
        put_length(text, telling->result->number[1]);
        return;
    }
    text_add(text, " was to run for another ");
    put_length(text, left_ns);
    int32_t stores = history_stores(telling->history->header);
    if (stores == 1) {
        text_add(text, " when its key was not there");
        return;
    }
    text_add(text, " when only %" PRId64 " of %" PRId32 " nodes had its key",
             telling->result->number[1], stores);
}

static void effect_validity(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct check_result *result = telling->result;
    int32_t process = telling_operation(telling)->process;
    if (result->reason == SPENT_WHEN_GRANTED) {
        text_add(text, "the lock granted ");
        put_client(telling, process);
        text_add(text, " a lease that had ended ");
        put_length(text, -result->number[0]);
        text_add(text, " earlier");
        return;
    }
    if (result->reason == SPENT_WHEN_EXTENDED) {
        text_add(text, "the lock extended ");
        put_client(telling, process);
        text_add(text, "'s lease to a time that had passed");
        return;
    }
    put_client(telling, process);
    if (result->reason == BEYOND_ITS_KEYS) {
        text_add(text, "'s lease was promised for longer than its keys were given");
        return;
    }
    bool one = history_stores(telling->history->header) == 1;
    text_add(text,
             result->reason == MAJORITY_LOST ? "'s lease outlived %s"
                                             : "'s lease never had %s behind it",
             result->reason == MAJORITY_LOST ? (one ? "its key" : "the majority of its keys")
                                             : (one ? "a key" : "a majority of keys"));
}

/* From where the promise had nothing behind it to where it was to end. */
static const char *span_validity(const struct telling *telling, int64_t between_ns[2])
{
    const struct check_result *result = telling->result;
    int64_t told_ns = telling_evidence(telling, result->evidence_count - 1u)->time_ns;
    int64_t end_ns = told_ns + result->number[0];
    bool spent = result->reason == SPENT_WHEN_GRANTED || result->reason == SPENT_WHEN_EXTENDED;
    bool beyond = result->reason == BEYOND_ITS_KEYS;
    between_ns[0] = spent ? end_ns : told_ns + (beyond ? result->number[1] : 0);
    between_ns[1] = spent ? told_ns : end_ns;
    if (spent || beyond) {
        return spent ? "lease over" : "beyond its keys";
    }
    return history_stores(telling->history->header) == 1 ? "no key" : "no majority of keys";
}

const struct check check_validity = {
    .name = "validity",
    .question = "Did a promise outlive the majority of keys behind it?",
    .nothing = "no grant promised an end, or no node told of its keys",
    .needs = CHECK_BIT(DECLARES_VALIDITY),
    .keyed = true,
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_EXTEND) | CHECK_BIT(HISTORY_RELEASE) |
             CHECK_BIT(HISTORY_LOST) | CHECK_BIT(HISTORY_KEY_DELETED) |
             CHECK_BIT(HISTORY_KEY_EXPIRED) | CHECK_BIT(HISTORY_KEY_LOST) |
             CHECK_BIT(HISTORY_KEY_EVICTED),
    .follows = true,
    .bytes = validity_bytes,
    .init = validity_init,
    .step = validity_step,
    .finish = validity_finish,
    .say = say_validity,
    .effect = effect_validity,
    .over = "no majority of keys",
    .lasts = true,
    .span = span_validity,
    .part = PART_LOCK,
    .weight = 3,
    .explains = 1 << SPENT_WHEN_GRANTED | 1 << SPENT_WHEN_EXTENDED,
};
