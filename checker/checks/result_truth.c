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
    FREED_WHILE_HELD,             /* of several one was given back, and number[0] keys with it */
    EXTENDED_BUT_GONE,            /* its keys were gone when it was asked, and nothing else promises
                                     an end; number[0]: that were there meanwhile */
    EXTENDED_BUT_NOT_PROLONGED,   /* number[0]: nodes that gave a key more time meanwhile */
    NOT_EXTENDED_BUT_HELD,        /* its keys were there, and were to stay for number[0] */
    NOT_HELD_BUT_FREED,           /* "not held", but it deleted number[0] of its keys itself */
    UNKNOWN_FOR_NOTHING,          /* a release, where all was well; number[0]: as above */
};

/* Of what an extension's answer is held against, as parts of a ttl. */
enum {
    TRUTH_OFF_PARTS = 100, /* a key that is to go by so much sooner lasts for a whole ttl */
    TRUTH_STAY_PARTS = 2,  /* a lease that runs on for so long could be extended */
};

struct result_truth {
    struct check_result result;
    bool timely; /* our own lock in the simulator, where nothing is late but by a fault */
    bool tells;  /* a release was answered ok, or fail */
    struct undeleted undeleted;
};

static size_t truth_bytes(const struct history_header *header)
{
    (void)header;
    return sizeof(struct result_truth);
}

static void truth_init(void *state, const struct history_header *header)
{
    struct result_truth *truth = state;
    memset(truth, 0, sizeof *truth);
    truth->timely = header->tries > 0 && !header->declared && strcmp(header->world, "sim") == 0;
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

/* It is the library's, and rests on no time. */
static void truth_library(struct result_truth *truth, const struct ledger *ledger,
                          const struct ledger_claim *claim, enum truth_reason reason,
                          int64_t number)
{
    struct finding finding = {
        .reason = (uint8_t)reason, .blamed = blamed_library(), .number = {number, 0}};
    truth_violated(truth, ledger, claim, &finding);
}

static void truth_granted(struct result_truth *truth, const struct ledger *ledger,
                          const struct ledger_claim *claim)
{
    int32_t set = ledger_bits(claim->set);
    if (set < ledger->quorum) {
        truth_library(truth, ledger, claim, GRANTED_WITHOUT_MAJORITY, set);
    }
}

/* "Not held" is honest of what was given back before: its deletion may still be under way. It is
 * where a fault, or a node that answered with an error, stood in the way, and of what its client
 * was told by then that it lost: `loss_notice` asks whether that was true. Our own lock says so
 * only where the nodes did. */
static bool truth_hindered(const struct ledger *ledger, const struct ledger_claim *claim,
                           bool timely)
{
    const struct ledger_process *process = ledger_process(ledger, claim->process);
    bool again = claim->given_index != 0 && claim->given_index < process->open_index;
    bool fault =
        ledger_client_fault(ledger, claim->process, UINT32_MAX, process->open_ns, ledger->now_ns);
    return again || claim->denied != 0 || (!timely && (claim->told || fault));
}

/* How many nodes are such. */
static int32_t truth_count(const struct ledger *ledger, const struct ledger_claim *claim,
                           bool (*is)(const struct ledger *, const struct ledger_claim *, int32_t))
{
    int32_t count = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        count += is(ledger, claim, node) ? 1 : 0;
    }
    return count;
}

/* A set of the acquire that a fault held back until the release was asked is none of its keys. */
static bool truth_kept(const struct ledger *ledger, const struct ledger_claim *claim, int32_t node)
{
    const struct ledger_key *key = ledger_key_at(ledger, node, claim->resource);
    const struct ledger_process *process = ledger_process(ledger, claim->process);
    return (claim->present >> node & 1) != 0 &&
           (key->set_index < process->open_index || !ledger_held_back(ledger, key, node, 0));
}

static void truth_released(struct result_truth *truth, const struct ledger *ledger,
                           const struct ledger_claim *claim, const struct history_event *event)
{
    int32_t present = truth_count(ledger, claim, truth_kept);
    bool refused = event->type == HISTORY_FAIL;
    if (present < ledger->quorum || (refused && truth_hindered(ledger, claim, truth->timely))) {
        return;
    }
    struct finding finding = {.reason = refused ? NOT_RELEASED_BUT_HELD : RELEASED_BUT_KEPT,
                              .blamed = blame_kept(ledger, claim),
                              .number = {present, 0}};
    truth_violated(truth, ledger, claim, &finding);
}

/* Whether this node gave a key more time since the extension was asked, or had no need to, for a
 * whole ttl or to the end that was promised; where a fault touched it meanwhile, what it told may
 * not be all that it did. */
static bool truth_gave(const struct ledger *ledger, const struct ledger_claim *claim, int32_t node)
{
    const struct ledger_key *key = ledger_key_at(ledger, node, claim->resource);
    const struct ledger_process *process = ledger_process(ledger, claim->process);
    int64_t until_ns = process->open_ns + ledger->ttl_ns - ledger->ttl_ns / TRUTH_OFF_PARTS;
    int64_t end_ns = claim->until_least_ns < until_ns ? claim->until_least_ns : until_ns;
    bool lasts = key->present && (key->endless || key->until_ns >= end_ns);
    return key->kept_index > process->open_index || lasts ||
           ledger_touched(ledger, claim->process, node, process->open_ns, 0);
}

/* Where an end is promised, `validity` holds that against the keys; where none is, ok says that
 * there was something to extend. In both cases it says that this was done, but of a lock that
 * renews, which may leave it to that. Threads that are one owner have one key together. */
static void truth_prolonged(struct result_truth *truth, const struct ledger *ledger,
                            const struct ledger_claim *claim)
{
    bool shared = ledger->ownership == OWNERSHIP_PROCESS && ledger->threads > 1;
    bool renews = ledger_declares(ledger, DECLARES_RENEW);
    if (shared || claim->over != OVER_NOT || ledger_bits(claim->set) < ledger->quorum) {
        return;
    }
    int32_t had = truth_count(ledger, claim, ledger_had_key);
    int32_t gave = truth_count(ledger, claim, truth_gave);
    bool gone = !ledger->promises && had < ledger->quorum;
    bool moves = !ledger->promises || claim->moved_ns > ledger->ttl_ns / TRUTH_OFF_PARTS;
    bool idle = ledger->declared && !renews && moves && ledger->ttl_ns > 0 && gave < ledger->quorum;
    if (gone || idle) {
        truth_library(truth, ledger, claim, gone ? EXTENDED_BUT_GONE : EXTENDED_BUT_NOT_PROLONGED,
                      gone ? had : gave);
    }
}

/* Nothing was in the way of the first extension of what is held for long yet, and it was not waited
 * for: an answer that came so soon was no node's silence, whoever stood still. */
static void truth_not_extended(struct result_truth *truth, const struct ledger *ledger,
                               const struct ledger_claim *claim)
{
    const struct ledger_process *process = ledger_process(ledger, claim->process);
    bool shared = ledger->ownership == OWNERSHIP_PROCESS && ledger->threads > 1;
    int64_t stay_ns = ledger_stay_ns(ledger, claim);
    int64_t enough_ns = ledger->ttl_ns / TRUTH_STAY_PARTS;
    if (shared || claim->over != OVER_NOT || ledger_declares(ledger, DECLARES_REENTRANT) ||
        claim->asked_ns != claim->acquire_ns ||
        ledger->now_ns - process->open_ns >= ledger->ttl_ns / CHECK_AT_ONCE_PARTS ||
        stay_ns < enough_ns || ledger_lease_end_ns(claim) - ledger->now_ns < enough_ns) {
        return;
    }
    for (int32_t node = 0; node < ledger->node_count; node++) {
        if (ledger_touched(ledger, claim->process, node, claim->acquire_ns, 0)) {
            return;
        }
    }
    truth_library(truth, ledger, claim, NOT_EXTENDED_BUT_HELD, stay_ns);
}

/* A key that was gone is no key that was extended: another may have held the lock in between. */
static void truth_extended(struct result_truth *truth, const struct ledger *ledger,
                           const struct ledger_claim *claim)
{
    int32_t stayed = ledger_bits(claim->present & ~claim->remade);
    bool majority_now = ledger_bits(claim->present) >= ledger->quorum;
    if (majority_now && stayed < ledger->quorum) {
        truth_library(truth, ledger, claim, EXTENDED_BUT_REMADE, stayed);
    }
}

/* No fault was there, every node carried it out, and all of them had told so: there was nothing
 * not to know. A reply that is on its way, or was back only just now, may not have been looked at
 * yet. Where nothing is late there is nothing not to know either, whatever the nodes were asked.
 * Some libraries tell nothing of any release. */
static void truth_unknown(struct result_truth *truth, const struct ledger *ledger,
                          const struct ledger_claim *claim)
{
    const struct ledger_process *process = ledger_process(ledger, claim->process);
    int32_t answered = ledger_bits(claim->freed | claim->unfreed);
    struct check_rest rest = rest_of_wait(ledger, process->open_ns, 0);
    rest.processes[0] = claim->process;
    rest.causes |= CHECK_LATE_KEYS;
    bool back = claim->heard_ns <= ledger->now_ns - HISTORY_LATE_NOTED_NS;
    bool heard = answered >= ledger->store_count;
    bool calm = truth->timely && ledger_is_calm_since(ledger, claim->acquire_ns);
    bool untold = ledger->declared && !truth->tells;
    bool first = claim->given_index == process->open_index;
    if (untold || !first || !back || (!heard && !calm) ||
        ledger_any_fault(ledger, process->open_ns) || ledger_late(ledger, &rest).late_ns > 0) {
        return;
    }
    struct finding finding = {
        .reason = heard ? UNKNOWN_BUT_ANSWERED : UNKNOWN_FOR_NOTHING,
        .blamed = blamed_library(),
        .number = {answered, 0},
        .rest = rest, /* that it stood still meanwhile may be told later */
    };
    truth_violated(truth, ledger, claim, &finding);
}

/* Our own lock knows whether it released anything, also by a command that it had to send again; of
 * others only their words tell what ok, or not held, is. */
static void truth_freed(struct result_truth *truth, const struct ledger *ledger,
                        const struct ledger_claim *claim, const struct history_event *event)
{
    bool done = event->type == HISTORY_OK;
    bool first = claim->over_index == ledger_process(ledger, claim->process)->open_index;
    int32_t nodes = ledger_bits(done ? claim->unfreed & ~claim->freed : claim->freed);
    if (ledger->declared || claim->over != OVER_RELEASED || (!done && !first) ||
        nodes < ledger->quorum) {
        return;
    }
    truth_library(truth, ledger, claim, done ? RELEASED_BUT_NOT_HELD : NOT_HELD_BUT_FREED, nodes);
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
    truth_library(truth, ledger, claim, FREED_WHILE_HELD, deleted);
}

static void truth_operation(struct result_truth *truth, const struct ledger *ledger,
                            const struct history_event *event)
{
    bool grants = event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK;
    bool releases = event->f == HISTORY_RELEASE && event->type != HISTORY_INVOKE;
    bool refused = event->type == HISTORY_FAIL && ledger_declares(ledger, DECLARES_EXTEND);
    bool extends = event->f == HISTORY_EXTEND && (event->type == HISTORY_OK || refused);
    if (!grants && !releases && !extends) {
        return;
    }
    truth->tells |= releases && event->type != HISTORY_INFO;
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
    } else if (extends && refused) {
        truth_not_extended(truth, ledger, claim);
    } else if (extends) {
        truth_extended(truth, ledger, claim);
        truth_prolonged(truth, ledger, claim);
    } else if (event->type == HISTORY_INFO) {
        truth_unknown(truth, ledger, claim);
    } else {
        truth_released(truth, ledger, claim, event);
        truth_freed(truth, ledger, claim, event);
    }
}

static void truth_expired(struct result_truth *truth, const struct ledger *ledger,
                          const struct history_event *event)
{
    const struct ledger_key *key = ledger_key_at(ledger, event->node, event->resource);
    const struct ledger_claim *claim = ledger_key_claim(ledger, key);
    if (event->cause != CAUSE_TTL || claim == NULL || claim->state != CLAIM_REFUSED ||
        ledger_bits(claim->present) != ledger->quorum - 1 ||
        ledger_touched(ledger, claim->process, event->node, claim->first_set_ns, 0) ||
        ledger_held_back(ledger, key, event->node, 0)) {
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

/* What stands before the resource, and around a number behind it. */
struct truth_words {
    const char *before;
    const char *behind;
    const char *rest;
};

static const struct truth_words truth_numbers[] = {
    [RELEASED_BUT_KEPT] = {"'s release of ", " said done, but ", " nodes still have its key"},
    [NOT_RELEASED_BUT_HELD] = {"'s release of ", " said that nothing was held, but ",
                               " nodes have its key"},
    [UNKNOWN_BUT_ANSWERED] = {"'s release of ", " was left unknown, but all ",
                              " nodes had carried it out"},
    [UNKNOWN_FOR_NOTHING] = {"'s release of ", " was left unknown without a fault, when ",
                             " nodes had carried it out"},
    [NOT_HELD_BUT_FREED] = {"'s release of ", " said that nothing was held, but it had deleted ",
                            " of the keys itself"},
    [RELEASED_BUT_NOT_HELD] = {"'s release of ", " said done, but ",
                               " nodes had no key of it to delete"},
    [FREED_WHILE_HELD] = {" gave ", " back once, which it held several times, and ",
                          " nodes deleted its key"},
    [EXTENDED_BUT_GONE] = {"'s extension of ", " said done, but from when it was asked only ",
                           " keys that make a majority were there"},
    [EXTENDED_BUT_NOT_PROLONGED] = {"'s extension of ", " said done, but only ",
                                    " nodes that make a majority gave its key more time"},
    [EXTENDED_BUT_REMADE] = {" was told that its lease of ", " goes on, but only ",
                             " keys that make a majority had stayed; the others were gone and set "
                             "anew"},
};

/* "2 of the 3 ", where it is so many of a majority. */
static void say_truth_number(const struct telling *telling, const struct truth_words *words)
{
    uint8_t reason = telling->result->reason;
    const int64_t *number = telling->result->number;
    bool of = reason == EXTENDED_BUT_GONE || reason == EXTENDED_BUT_NOT_PROLONGED ||
              reason == EXTENDED_BUT_REMADE;
    text_add(telling->text, "%s", words->before);
    put_resource(telling, telling_operation(telling)->resource);
    if (reason == EXTENDED_BUT_REMADE && number[1] == 1) {
        text_add(telling->text, " goes on, but its key was gone and set anew");
        return;
    }
    text_add(telling->text, "%s%" PRId64, words->behind, number[0]);
    if (of) {
        text_add(telling->text, " of the %" PRId64, number[1]);
    }
    text_add(telling->text, "%s", words->rest);
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
    case NOT_EXTENDED_BUT_HELD:
    case REFUSED_BUT_KEPT:
        text_add(text,
                 event->f == HISTORY_EXTEND ? " was refused more time for " : " was refused ");
        put_resource(telling, event->resource);
        text_add(text, ", but %s kept its key for another ", keepers(telling));
        put_length(text, number[0]);
        return;
    default:
        say_truth_number(telling, &truth_numbers[telling->result->reason]);
        return;
    }
}

static void effect_truth(const struct telling *telling)
{
    static const char *const words[][2] = {
        [GRANTED_WITHOUT_MAJORITY] = {" was granted ", " without "},
        [RELEASED_BUT_KEPT] = {" released ", ", but its keys stayed"},
        [NOT_RELEASED_BUT_HELD] = {" was told that ", " is not held, but its keys stayed"},
        [REFUSED_BUT_KEPT] = {" was refused ", " kept its key"},
        [EXTENDED_BUT_REMADE] = {" was told that its lease of ",
                                 " goes on, but its keys were gone"},
        [UNKNOWN_BUT_ANSWERED] = {" was told nothing of its release of ",
                                  ", but all nodes had carried it out"},
        [UNKNOWN_FOR_NOTHING] = {" was told nothing of its release of ", " without a fault"},
        [NOT_HELD_BUT_FREED] = {" was told that ", " is not held, but it deleted the keys itself"},
        [RELEASED_BUT_NOT_HELD] = {" released ", " had no key of it"},
        [FREED_WHILE_HELD] = {" gave one of several back of ", ", and its keys were deleted"},
        [EXTENDED_BUT_GONE] = {" extended ", ", but its keys were gone"},
        [EXTENDED_BUT_NOT_PROLONGED] = {" extended ", ", but its keys were given no more time"},
        [NOT_EXTENDED_BUT_HELD] = {" was told that ", " cannot be extended, but its keys stayed"},
    };
    uint8_t reason = telling->result->reason;
    put_client(telling, telling_operation(telling)->process);
    text_add(telling->text, "%s", words[reason][0]);
    put_resource(telling, telling->resource);
    if (reason == REFUSED_BUT_KEPT || reason == RELEASED_BUT_NOT_HELD) {
        text_add(telling->text, ", but %s", keepers(telling));
    }
    text_add(telling->text, "%s", words[reason][1]);
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
                1 << UNKNOWN_BUT_ANSWERED | 1 << RELEASED_BUT_NOT_HELD | 1 << FREED_WHILE_HELD |
                1 << EXTENDED_BUT_NOT_PROLONGED | 1 << NOT_EXTENDED_BUT_HELD |
                1 << NOT_HELD_BUT_FREED | 1 << UNKNOWN_FOR_NOTHING,
};
