/* result_truth.c: did the lock's answer contradict its effect? */
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/ledger/ledger_late.h"
#include "checker/undeleted.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum truth_reason {
    GRANTED_WITHOUT_MAJORITY = 1, /* number[0]: nodes that set the key, number[1]: needed */
    RELEASED_BUT_KEPT,            /* ok, but a majority still has the key */
    NOT_RELEASED_BUT_HELD,        /* "not held", but a majority had the key all along */
    REFUSED_BUT_KEPT,             /* a majority had the key until its ttl ran out */
    EXTENDED_BUT_REMADE,          /* keys were gone and set anew; number[0]: that had stayed */
    UNKNOWN_BUT_ANSWERED,         /* all nodes carried the release out, and no fault was there */
    RELEASED_BUT_NOT_HELD,        /* a majority had no key of it; number[0]: how many */
    FREED_WHILE_HELD,             /* one of several was given back, and its keys went with it;
                                     number[0]: how many */
    EXTENDED_BUT_GONE,            /* its keys were gone when it was asked, and nothing else promises
                                     an end; number[0]: that were there meanwhile */
};

struct result_truth {
    struct check_result result;
    struct undeleted undeleted;
};

static size_t truth_bytes(const struct history_header *header)
{
    (void)header;
    return sizeof(struct result_truth);
}

static void truth_init(void *state, const struct history_header *header)
{
    (void)header;
    memset(state, 0, sizeof(struct result_truth));
}

static void truth_complete(const struct ledger *ledger, const struct ledger_claim *claim,
                           struct finding *finding)
{
    finding->evidence[finding->evidence_count++] = ledger->last_index;
    finding->number[1] = ledger->quorum;
    if (finding->rest.causes == 0) {
        finding->rest = rest_of_keys(ledger, claim->first_set_ns);
    }
    if (claim->set != 0) {
        finding->evidence[finding->evidence_count++] = claim->first_set_index;
    }
}

static void truth_violated(struct result_truth *truth, const struct ledger *ledger,
                           const struct ledger_claim *claim, struct finding *finding)
{
    truth_complete(ledger, claim, finding);
    check_fail(&truth->result, ledger, finding);
}

static void truth_granted(struct result_truth *truth, const struct ledger *ledger,
                          const struct ledger_claim *claim)
{
    int32_t set = ledger_bits(claim->set);
    if (set < ledger->quorum) {
        struct finding finding = {
            .reason = GRANTED_WITHOUT_MAJORITY, .blamed = blamed_library(), .number = {set, 0}};
        truth_violated(truth, ledger, claim, &finding);
    }
}

/* "Not held" is honest where a fault, or a node that answered with an error, stood in the way, of
 * what was given back before: its deletion may still be under way, and of what its client was told
 * that it lost: `loss_notice` asks whether that was true. */
static bool truth_hindered(const struct ledger *ledger, const struct ledger_claim *claim)
{
    const struct ledger_process *process = ledger_process(ledger, claim->process);
    bool again = (claim->over == OVER_RELEASED || claim->over == OVER_TOLD) &&
                 claim->over_index < process->open_index;
    return again || claim->denied != 0 ||
           ledger_client_fault(ledger, claim->process, UINT32_MAX, process->open_ns,
                               ledger->now_ns);
}

/* A deletion that a node forgot at a restart is not the lock's. */
static struct blamed blame_kept(const struct ledger *ledger, const struct ledger_claim *claim)
{
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_key *key = ledger_key_at(ledger, node, claim->resource);
        if ((claim->present >> node & 1) != 0 && key->came_back) {
            return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE};
        }
    }
    return blamed_library();
}

static void truth_released(struct result_truth *truth, const struct ledger *ledger,
                           const struct ledger_claim *claim, const struct history_event *event)
{
    int32_t present = ledger_bits(claim->present);
    bool refused = event->type == HISTORY_FAIL;
    if (present < ledger->quorum || (refused && truth_hindered(ledger, claim))) {
        return;
    }
    struct finding finding = {
        .reason = event->type == HISTORY_OK ? RELEASED_BUT_KEPT : NOT_RELEASED_BUT_HELD,
        .blamed = blame_kept(ledger, claim),
        .number = {present, 0},
    };
    truth_violated(truth, ledger, claim, &finding);
}

/* Whether this node had a key of the grant, or any of its client, at a moment of the extension. */
static bool truth_had(const struct ledger *ledger, const struct ledger_claim *claim, int32_t node)
{
    uint64_t asked_index = ledger_process(ledger, claim->process)->open_index;
    const struct ledger_key *key = ledger_key_at(ledger, node, claim->resource);
    const struct ledger_claim *last = ledger_key_claim(ledger, key);
    if ((claim->present >> node & 1) != 0 || ledger_ends(claim)[node].index > asked_index) {
        return true;
    }
    if (key->present) {
        return key->process == HISTORY_NOBODY || key->process == claim->process;
    }
    return last != NULL && last->process == claim->process &&
           ledger_ends(last)[node].index > asked_index;
}

/* Where an end is promised, `validity` holds that against the keys; where none is, ok says that
 * there was something to extend. Threads that are one owner have one key together. */
static void truth_prolonged(struct result_truth *truth, const struct ledger *ledger,
                            const struct ledger_claim *claim)
{
    bool shared = ledger->ownership == OWNERSHIP_PROCESS && ledger->threads > 1;
    if (ledger->promises || shared || claim->over != OVER_NOT ||
        ledger_bits(claim->set) < ledger->quorum) {
        return;
    }
    int32_t had = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        had += truth_had(ledger, claim, node) ? 1 : 0;
    }
    if (had < ledger->quorum) {
        struct finding finding = {
            .reason = EXTENDED_BUT_GONE, .blamed = blamed_library(), .number = {had, 0}};
        truth_violated(truth, ledger, claim, &finding);
    }
}

/* A key that was gone is no key that was extended: another may have held the lock in between. */
static void truth_extended(struct result_truth *truth, const struct ledger *ledger,
                           const struct ledger_claim *claim)
{
    int32_t stayed = ledger_bits(claim->present & ~claim->remade);
    bool majority_now = ledger_bits(claim->present) >= ledger->quorum;
    if (majority_now && stayed < ledger->quorum) {
        struct finding finding = {
            .reason = EXTENDED_BUT_REMADE, .blamed = blamed_library(), .number = {stayed, 0}};
        truth_violated(truth, ledger, claim, &finding);
    }
}

/* No fault was there, every node carried it out, and all of them had told so: there was nothing
 * not to know. A reply that was back only just now may not have been looked at yet. */
static void truth_unknown(struct result_truth *truth, const struct ledger *ledger,
                          const struct ledger_claim *claim)
{
    const struct ledger_process *process = ledger_process(ledger, claim->process);
    int32_t answered = ledger_bits(claim->freed | claim->unfreed);
    struct check_rest rest = rest_of_wait(ledger, process->open_ns, 0);
    rest.processes[0] = claim->process;
    rest.causes |= CHECK_LATE_KEYS;
    if (claim->heard_ns > ledger->now_ns - HISTORY_LATE_NOTED_NS) {
        return;
    }
    if (answered < ledger->store_count || ledger_any_fault(ledger, process->open_ns) ||
        ledger_late(ledger, &rest).late_ns > 0) {
        return;
    }
    struct finding finding = {
        .reason = UNKNOWN_BUT_ANSWERED,
        .blamed = blamed_library(),
        .number = {answered, 0},
        .rest = rest, /* that it stood still meanwhile may be told later */
    };
    truth_violated(truth, ledger, claim, &finding);
}

/* Our own lock knows whether it released anything; of others only their words tell what ok is. */
static void truth_freed(struct result_truth *truth, const struct ledger *ledger,
                        const struct ledger_claim *claim)
{
    int32_t without = ledger_bits(claim->unfreed & ~claim->freed);
    if (ledger->declared || claim->over != OVER_RELEASED || without < ledger->quorum) {
        return;
    }
    struct finding finding = {
        .reason = RELEASED_BUT_NOT_HELD, .blamed = blamed_library(), .number = {without, 0}};
    truth_violated(truth, ledger, claim, &finding);
}

/* It was acquired several times, and one of these was given back: the keys are to stay. */
static void truth_inner(struct result_truth *truth, const struct ledger *ledger,
                        const struct ledger_claim *claim)
{
    uint64_t asked_index = ledger_process(ledger, claim->process)->open_index;
    int32_t deleted = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_end *end = &ledger_ends(claim)[node];
        bool gone = (claim->set >> node & 1) != 0 && (claim->present >> node & 1) == 0;
        deleted += gone && end->f == HISTORY_KEY_DELETED && end->process == claim->process &&
                           end->index > asked_index
                       ? 1
                       : 0;
    }
    if (deleted < ledger->quorum) {
        return;
    }
    struct finding finding = {
        .reason = FREED_WHILE_HELD, .blamed = blamed_library(), .number = {deleted, 0}};
    truth_violated(truth, ledger, claim, &finding);
}

static void truth_operation(struct result_truth *truth, const struct ledger *ledger,
                            const struct history_event *event)
{
    bool grants = event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK;
    bool releases = event->f == HISTORY_RELEASE && event->type != HISTORY_INVOKE;
    bool extends = event->f == HISTORY_EXTEND && event->type == HISTORY_OK;
    if (!grants && !releases && !extends) {
        return;
    }
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    if (claim == NULL || !ledger_watched(ledger, claim)) {
        return;
    }
    uint8_t nesting = ledger_nesting(ledger, event->process);
    truth->result.judged++;
    if (releases && nesting != NESTING_NONE) {
        if (nesting == NESTING_INNER) {
            truth_inner(truth, ledger, claim);
        }
    } else if (grants) {
        truth_granted(truth, ledger, claim);
    } else if (extends) {
        truth_extended(truth, ledger, claim);
        truth_prolonged(truth, ledger, claim);
    } else if (event->type == HISTORY_INFO) {
        truth_unknown(truth, ledger, claim);
    } else {
        truth_released(truth, ledger, claim, event);
        if (event->type == HISTORY_OK) {
            truth_freed(truth, ledger, claim);
        }
    }
}

static void truth_expired(struct result_truth *truth, const struct ledger *ledger,
                          const struct history_event *event)
{
    const struct ledger_key *key = ledger_key_at(ledger, event->node, event->resource);
    const struct ledger_claim *claim = ledger_key_claim(ledger, key);
    if (event->cause != CAUSE_TTL || claim == NULL || claim->state != CLAIM_REFUSED ||
        ledger_bits(claim->present) != ledger->quorum - 1 ||
        ledger_touched(ledger, claim->process, event->node, claim->first_set_ns, 0)) {
        return;
    }
    struct finding finding = {
        .reason = REFUSED_BUT_KEPT,
        .evidence = {claim->refused_index},
        .evidence_count = 1,
        .blamed = blamed_library(),
        .number = {ledger->now_ns - claim->refused_ns, 0},
        .rest = rest_of_deletion(ledger, claim->process, claim->refused_ns),
    };
    truth_complete(ledger, claim, &finding);
    undeleted_note(&truth->undeleted, event, key, &finding);
}

static void truth_step(void *state, const struct ledger *ledger, const struct history_event *event)
{
    struct result_truth *truth = state;
    if (ledger->node_count == 0 || !ledger->has_nodes ||
        event->resource >= ledger->resource_count) {
        return;
    }
    undeleted_step(&truth->undeleted, &truth->result, ledger, event);
    if (event->kind == HISTORY_OP) {
        truth_operation(truth, ledger, event);
    } else if (event->f == HISTORY_KEY_EXPIRED) {
        truth_expired(truth, ledger, event);
    }
}

static void truth_finish(void *state, const struct ledger *ledger)
{
    struct result_truth *truth = state;
    undeleted_finish(&truth->undeleted, &truth->result, ledger);
    check_conclude(&truth->result);
}

/* Who keeps or lacks what counts: what is one store says so in one voice. */
static const char *keepers(const struct telling *telling)
{
    const struct history_header *header = telling->history->header;
    if (history_stores(header) > 1) {
        return "a majority of nodes";
    }
    return header->node_count == 1 ? "the node" : "the cluster";
}

static void say_truth(const struct telling *telling)
{
    struct text *text = telling->text;
    const int64_t *number = telling->result->number;
    const struct history_event *event = telling_operation(telling);
    put_client(telling, event->process);
    switch (telling->result->reason) {
    case GRANTED_WITHOUT_MAJORITY:
        text_add(text, " was granted ");
        put_resource(telling, event->resource);
        text_add(text, " with ");
        put_quorum(text, number[0], number[1]);
        return;
    case RELEASED_BUT_KEPT:
        text_add(text, "'s release of ");
        put_resource(telling, event->resource);
        text_add(text, " said done, but %" PRId64 " nodes still have its key", number[0]);
        return;
    case NOT_RELEASED_BUT_HELD:
        text_add(text, "'s release of ");
        put_resource(telling, event->resource);
        text_add(text, " said that nothing was held, but %" PRId64 " nodes have its key",
                 number[0]);
        return;
    case UNKNOWN_BUT_ANSWERED:
        text_add(text, "'s release of ");
        put_resource(telling, event->resource);
        text_add(text, " was left unknown, but all %" PRId64 " nodes had carried it out",
                 number[0]);
        return;
    case RELEASED_BUT_NOT_HELD:
        text_add(text, "'s release of ");
        put_resource(telling, event->resource);
        text_add(text, " said done, but %" PRId64 " nodes had no key of it to delete", number[0]);
        return;
    case FREED_WHILE_HELD:
        text_add(text, " gave ");
        put_resource(telling, event->resource);
        text_add(text,
                 " back once, which it held several times, and %" PRId64 " nodes deleted its key",
                 number[0]);
        return;
    case EXTENDED_BUT_REMADE:
        text_add(text, " was told that its lease of ");
        put_resource(telling, event->resource);
        if (number[1] == 1) {
            text_add(text, " goes on, but its key was gone and set anew");
            return;
        }
        text_add(text,
                 " goes on, but only %" PRId64 " of the %" PRId64
                 " keys that make a majority had stayed; the others were gone and set anew",
                 number[0], number[1]);
        return;
    case EXTENDED_BUT_GONE:
        text_add(text, "'s extension of ");
        put_resource(telling, event->resource);
        text_add(text,
                 " said done, but from when it was asked only %" PRId64 " of the %" PRId64
                 " keys that make a majority were there",
                 number[0], number[1]);
        return;
    default:
        text_add(text, " was refused ");
        put_resource(telling, event->resource);
        text_add(text, ", but %s kept its key for another ", keepers(telling));
        put_length(text, number[0]);
        return;
    }
}

static void effect_truth(const struct telling *telling)
{
    static const char *const before[] = {
        [GRANTED_WITHOUT_MAJORITY] = " was granted ",
        [RELEASED_BUT_KEPT] = " released ",
        [NOT_RELEASED_BUT_HELD] = " was told that ",
        [REFUSED_BUT_KEPT] = " was refused ",
        [EXTENDED_BUT_REMADE] = " was told that its lease of ",
        [UNKNOWN_BUT_ANSWERED] = " was told nothing of its release of ",
        [RELEASED_BUT_NOT_HELD] = " released ",
        [FREED_WHILE_HELD] = " gave one of several back of ",
        [EXTENDED_BUT_GONE] = " extended ",
    };
    static const char *const behind[] = {
        [GRANTED_WITHOUT_MAJORITY] = " without ",
        [RELEASED_BUT_KEPT] = ", but its keys stayed",
        [NOT_RELEASED_BUT_HELD] = " is not held, but its keys stayed",
        [REFUSED_BUT_KEPT] = " kept its key",
        [EXTENDED_BUT_REMADE] = " goes on, but its keys were gone",
        [UNKNOWN_BUT_ANSWERED] = ", but all nodes had carried it out",
        [RELEASED_BUT_NOT_HELD] = " had no key of it",
        [FREED_WHILE_HELD] = ", and its keys were deleted",
        [EXTENDED_BUT_GONE] = ", but its keys were gone",
    };
    uint8_t reason = telling->result->reason;
    put_client(telling, telling_operation(telling)->process);
    text_add(telling->text, "%s", before[reason]);
    put_resource(telling, telling->resource);
    if (reason == REFUSED_BUT_KEPT || reason == RELEASED_BUT_NOT_HELD) {
        text_add(telling->text, ", but %s", keepers(telling));
    }
    text_add(telling->text, "%s", behind[reason]);
    if (reason == GRANTED_WITHOUT_MAJORITY) {
        bool one = history_stores(telling->history->header) == 1;
        text_add(telling->text, one ? "a key" : "a majority of keys");
    }
}

const struct check check_result_truth = {
    .name = "result_truth",
    .question = "Did the lock's answer contradict its effect?",
    .nothing = "no operation was answered, or no node told of its keys",
    .keyed = true,
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_RELEASE) | CHECK_BIT(HISTORY_EXTEND) |
             CHECK_BIT(HISTORY_KEY_EXPIRED) | CHECK_BIT(HISTORY_KEY_DELETED) |
             CHECK_BIT(HISTORY_KEY_KEPT),
    .follows = true,
    .bytes = truth_bytes,
    .init = truth_init,
    .step = truth_step,
    .finish = truth_finish,
    .say = say_truth,
    .effect = effect_truth,
    .over = "said and done differ",
    .part = PART_LOCK,
    .weight = 4,
    .explains = 1 << GRANTED_WITHOUT_MAJORITY | 1 << RELEASED_BUT_KEPT |
                1 << NOT_RELEASED_BUT_HELD | 1 << REFUSED_BUT_KEPT | 1 << EXTENDED_BUT_REMADE |
                1 << UNKNOWN_BUT_ANSWERED | 1 << RELEASED_BUT_NOT_HELD | 1 << FREED_WHILE_HELD,
};
