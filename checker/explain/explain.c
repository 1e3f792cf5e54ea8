/* explain.c: tells a violation as a story: who held what, why it was gone, which fault did it. */
#include "checker/explain/explain.h"

#include "base/arena.h"
#include "base/assert.h"
#include "checker/explain/explain_words.h"

#include <inttypes.h>

enum { TIMELINE_LINES = 12, OFFSET_COLUMN = 13 };

static bool tells_of_resource(const struct history_event *event)
{
    return event->kind != HISTORY_FAULT && event->kind != HISTORY_CLIENT &&
           event->kind != HISTORY_PHASE;
}

/* Who it is about: the clients and the resource of the evidence. */
static void telling_cast(struct telling *telling)
{
    telling->first = HISTORY_NOBODY;
    telling->second = HISTORY_NOBODY;
    for (uint32_t i = 0; i < telling->result->evidence_count; i++) {
        const struct history_event *event = telling_evidence(telling, i);
        if (event == NULL) {
            continue;
        }
        telling->at_ns = event->time_ns;
        telling->resource = tells_of_resource(event) ? event->resource : telling->resource;
        if (event->process == HISTORY_NOBODY) {
            continue;
        }
        if (telling->first == HISTORY_NOBODY) {
            telling->first = event->process;
        } else if (event->process != telling->first && telling->second == HISTORY_NOBODY) {
            telling->second = event->process;
        }
    }
}

struct telling telling_of(const struct explain_history *history, const struct check *check,
                          const struct check_result *result, struct text *text)
{
    struct telling telling = {.history = history, .check = check, .result = result, .text = text};
    telling_cast(&telling);
    return telling;
}

bool telling_has_evidence(const struct telling *telling)
{
    for (uint32_t i = 0; i < telling->result->evidence_count; i++) {
        if (telling_evidence(telling, i) == NULL) {
            return false;
        }
    }
    return true;
}

static void put_headline(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct check_result *result = telling->result;
    text_add(text, "%s: ", telling->check->name);
    if (result->reason == CHECK_REASON_LIMIT) {
        text_add(text, "the history has more clients, resources or faults than this check follows");
    } else if (result->reason == CHECK_REASON_UNWATCHED) {
        text_add(text, "no node told what became of its keys: %s",
                 telling->history->header->unwatched);
    } else if (result->reason == CHECK_REASON_LATE) {
        put_lateness(text, result->number[0], (enum history_cause)result->number[1]);
        text_add(text, ", and what looked wrong may be its doing");
    } else if (result->verdict == VERDICT_SKIPPED) {
        check_print_skipped(telling->check, result->inapplicable, text);
    } else if (result->verdict == VERDICT_PASS) {
        text_add(text, "%" PRIu64 " judged, none violated", result->judged);
    } else if (telling_has_evidence(telling)) {
        telling->check->say(telling);
    } else {
        put_evidence(telling);
    }
}

void explain_headline(const struct explain_history *history, const struct check *check,
                      const struct check_result *result, struct text *text)
{
    struct telling telling = telling_of(history, check, result, text);
    put_headline(&telling);
}

/* ---- leases and their keys ------------------------------------------------------------------- */

static void put_lease(const struct telling *telling, const struct ledger_claim *claim)
{
    struct text *text = telling->text;
    const struct ledger *ledger = telling->ledger;
    text_add(text, "  ");
    put_client_first(telling, claim->process);
    text_add(text, " was granted ");
    put_resource(telling, claim->resource);
    text_add(text, " at ");
    put_time(text, claim->granted_ns);
    if (claim->until_ns == TIME_NEVER) {
        text_add(text, ", without a promised end");
    } else {
        text_add(text, ", promised until ");
        put_time(text, claim->until_ns);
        if (claim->until_ns < telling->at_ns) {
            text_add(text, " (");
            put_length(text, telling->at_ns - claim->until_ns);
            text_add(text, " before the violation)");
        }
    }
    if (claim->over == OVER_RELEASED) {
        text_add(text, ", released at ");
        put_time(text, claim->over_ns);
    } else if (claim->over == OVER_TOLD) {
        text_add(text, ", told of its loss at ");
        put_time(text, claim->over_ns);
    }
    if (ledger->node_count > 0 && ledger->has_nodes) {
        text_add(text, ";\n    its key was set on ");
        put_keepers(text, telling->history->header, claim->set);
        if (claim->set == 0 || !history_is_cluster(telling->history->header)) {
            text_add(text, " of %" PRId32, ledger->store_count);
        }
        text_add(text, ledger_bits(claim->set) < ledger->quorum ? ", which is no majority" : "");
    }
    text_add(text, ".\n");
}

static bool ends_alike(const struct ledger_end *a, const struct ledger_end *b)
{
    return a->cause == b->cause && a->fault == b->fault && a->process == b->process;
}

/* When the key that ended here was to expire: from its set, or its last extension. */
static int64_t key_due_ns(const struct telling *telling, const struct ledger_end *end, int32_t node)
{
    for (uint64_t i = end->index; i > 0; i--) {
        const struct history_event *event = &telling->history->events[i - 1];
        bool here = event->kind == HISTORY_NODE && event->node == node &&
                    event->resource == telling->resource;
        if (here && (event->f == HISTORY_KEY_SET || event->f == HISTORY_KEY_EXTENDED)) {
            return (event->flags & HISTORY_HAS_UNTIL) != 0 ? event->until_ns : TIME_NEVER;
        }
    }
    return TIME_NEVER;
}

/* One line for all keys that ended alike. */
static void put_ends(const struct telling *telling, const struct ledger_claim *claim,
                     uint64_t alike)
{
    struct text *text = telling->text;
    int32_t node = __builtin_ctzll(alike);
    const struct ledger_end *end = &ledger_ends(claim)[node];
    int64_t time_ns = telling->history->events[end->index].time_ns;
    text_add(text, "    ");
    put_keepers(text, telling->history->header, alike);
    text_add(text, " at ");
    put_time(text, time_ns);
    text_add(text, ": ");
    put_end(telling, end);
    int64_t due_ns = key_due_ns(telling, end, node);
    bool early =
        end->f == HISTORY_KEY_EXPIRED && due_ns != TIME_NEVER && due_ns - time_ns >= NS_PER_MS;
    if (early) {
        text_add(text, ", ");
        put_length(text, due_ns - time_ns);
        text_add(text, " early");
    }
    text_add(text, ".\n");
}

/* What became of a claim's keys up to the violation. */
static void put_keys(const struct telling *telling, const struct ledger_claim *claim)
{
    struct text *text = telling->text;
    if (claim->set == 0) {
        return;
    }
    uint64_t gone = claim->set & ~claim->present;
    text_add(text, "  Of ");
    put_client(telling, claim->process);
    text_add(text, "'s keys, ");
    if (gone == 0) {
        text_add(text, "all were still there.\n");
        return;
    }
    if (claim->present != 0) {
        text_add(text, "%s still on ", ledger_bits(claim->present) == 1 ? "one was" : "some were");
        put_keepers(text, telling->history->header, claim->present);
        text_add(text, "; ");
    }
    text_add(text, "gone were:\n");
    const struct ledger_end *ends = ledger_ends(claim);
    while (gone != 0) {
        int32_t first = __builtin_ctzll(gone);
        uint64_t alike = 0;
        for (int32_t node = first; node < telling->ledger->node_count; node++) {
            bool same = (gone >> node & 1) != 0 && ends_alike(&ends[node], &ends[first]);
            alike |= same ? UINT64_C(1) << node : 0;
        }
        put_ends(telling, claim, alike);
        gone &= ~alike;
    }
}

static void put_leases(const struct telling *telling)
{
    const struct ledger *ledger = telling->ledger;
    if (ledger == NULL) {
        return;
    }
    const struct ledger_claim *one = ledger_grant(ledger, telling->first, telling->resource);
    const struct ledger_claim *two = ledger_grant(ledger, telling->second, telling->resource);
    if (one != NULL && two != NULL && ledger_granted_before(two, one)) {
        const struct ledger_claim *swap = one;
        one = two;
        two = swap;
    }
    if (one == NULL && two == NULL) {
        return;
    }
    if (one != NULL) {
        put_lease(telling, one);
    }
    if (two != NULL) {
        put_lease(telling, two);
    }
    if (!ledger->has_nodes || ledger->node_count == 0) {
        text_add(telling->text, "  The history has no node events: it cannot be told which keys "
                                "stood behind the leases.\n");
    } else if (one != NULL) {
        put_keys(telling, one);
        bool kept = ledger_bits(one->present) >= ledger->quorum;
        if (kept && two != NULL && (two->set & ~two->present) != 0) {
            put_keys(telling, two); /* its keys were there first, and its grant was late */
        }
    }
    text_add(telling->text, "\n");
}

/* ---- timeline -------------------------------------------------------------------------------- */

static bool is_evidence(const struct telling *telling, uint64_t index)
{
    for (uint32_t i = 0; i < telling->result->evidence_count; i++) {
        if (telling->result->evidence[i] == index) {
            return true;
        }
    }
    return false;
}

static bool is_cast(const struct telling *telling, int32_t process)
{
    return process != HISTORY_NOBODY && (process == telling->first || process == telling->second);
}

/* Events that move the story: what the two clients did with the resource, faults, ends of keys. */
static bool matters(const struct telling *telling, const struct history_event *event)
{
    if (is_evidence(telling, event->index)) {
        return true;
    }
    bool here = event->resource == telling->resource;
    switch ((enum history_kind)event->kind) {
    case HISTORY_OP:
        return here && is_cast(telling, event->process) && event->f != HISTORY_READ &&
               !(event->f == HISTORY_WRITE && event->type == HISTORY_INVOKE);
    case HISTORY_SECTION:
    case HISTORY_NOTICE:
    case HISTORY_LEASE:
        return here && is_cast(telling, event->process);
    case HISTORY_NODE:
        return here && event->cause != CAUSE_RELEASED &&
               (event->f == HISTORY_KEY_EXPIRED || event->f == HISTORY_KEY_LOST ||
                event->f == HISTORY_KEY_EVICTED || event->f == HISTORY_KEY_DELETED ||
                event->f == HISTORY_KEY_BACK);
    case HISTORY_FAULT:
        return event->f != HISTORY_FAULT_EFFECT;
    case HISTORY_CLIENT:
        return event->f == HISTORY_CLIENT_KILLED;
    case HISTORY_PHASE:
    case HISTORY_LATE:
        return true;
    case HISTORY_KINDS:
        break;
    }
    UNREACHABLE();
}

/* Where a client asked for what it was granted last; `begin` if that is later, or unknown. */
static uint64_t asked_at(const struct telling *telling, int32_t process, uint64_t begin)
{
    const struct ledger_claim *claim =
        telling->ledger == NULL ? NULL : ledger_grant(telling->ledger, process, telling->resource);
    uint64_t from = claim != NULL ? claim->granted_index : begin;
    const struct history_event *events = telling->history->events;
    for (uint64_t i = from + 1; i > 0 && process != HISTORY_NOBODY; i--) {
        const struct history_event *event = &events[i - 1];
        if (event->kind == HISTORY_OP && event->type == HISTORY_INVOKE &&
            event->f == HISTORY_ACQUIRE && event->process == process &&
            event->resource == telling->resource) {
            return i - 1 < begin ? i - 1 : begin;
        }
    }
    return begin;
}

/* One line of the timeline: an event, or several nodes of which the same is told. */
struct moment {
    uint64_t index;
    uint64_t next; /* where to look for the next one */
    uint64_t nodes;
};

static bool tells_alike(const struct history_event *a, const struct history_event *b)
{
    return a->kind == HISTORY_NODE && b->kind == HISTORY_NODE && a->f == b->f &&
           a->cause == b->cause && a->fault == b->fault && a->process == b->process;
}

/* The first moment in [begin, end]; false if nothing there matters. */
static bool moment_find(const struct telling *telling, uint64_t begin, uint64_t end,
                        struct moment *moment)
{
    const struct history_event *events = telling->history->events;
    while (begin <= end && !matters(telling, &events[begin])) {
        begin++;
    }
    if (begin > end) {
        return false;
    }
    const struct history_event *first = &events[begin];
    *moment = (struct moment){.index = begin, .next = begin + 1};
    if (first->kind != HISTORY_NODE) {
        return true;
    }
    moment->nodes = UINT64_C(1) << first->node;
    for (uint64_t i = begin + 1; i <= end && !is_evidence(telling, begin); i++) {
        if (!matters(telling, &events[i])) {
            continue;
        }
        if (!tells_alike(first, &events[i]) || is_evidence(telling, i)) {
            break;
        }
        moment->nodes |= UINT64_C(1) << events[i].node;
        moment->next = i + 1;
    }
    return true;
}

static void put_offset(const struct telling *telling, int64_t time_ns)
{
    char memory[40];
    struct text offset = text_over(memory, sizeof memory);
    int64_t offset_ns = time_ns - telling->at_ns;
    text_add(&offset, "%s", offset_ns >= 0 ? "+" : "");
    if (offset_ns == 0) {
        text_clear(&offset);
        text_add(&offset, "now");
    } else {
        put_length(&offset, offset_ns);
    }
    text_add(telling->text, "  %*s  ", OFFSET_COLUMN, memory);
}

static void put_moment(const struct telling *telling, const struct moment *moment)
{
    const struct history_event *event = &telling->history->events[moment->index];
    put_offset(telling, event->time_ns);
    if (event->kind == HISTORY_NODE) {
        put_node_event(telling, event, moment->nodes);
    } else {
        put_event(telling, event);
    }
    text_add(telling->text, "%s\n", is_evidence(telling, moment->index) ? "   <--" : "");
}

static void put_timeline(const struct telling *telling)
{
    const struct check_result *result = telling->result;
    struct text *text = telling->text;
    uint64_t begin = asked_at(telling, telling->first, result->evidence[0]);
    begin = asked_at(telling, telling->second, begin);
    uint64_t end = result->evidence[result->evidence_count - 1u];
    struct moment moment;
    uint64_t count = 0;
    for (uint64_t at = begin; moment_find(telling, at, end, &moment); at = moment.next) {
        count++;
    }
    uint64_t left_out = count > TIMELINE_LINES ? count - TIMELINE_LINES : 0;
    text_add(text, "  What happened, relative to the violation at ");
    put_time(text, telling->at_ns);
    text_add(text, ":\n");
    if (left_out > 0) {
        text_add(text, "  %*s  (some of %" PRIu64 " events are left out)\n", OFFSET_COLUMN, "",
                 count);
    }
    for (uint64_t at = begin; moment_find(telling, at, end, &moment); at = moment.next) {
        if (left_out > 0 && !is_evidence(telling, moment.index)) {
            left_out--;
            continue;
        }
        put_moment(telling, &moment);
    }
    text_add(text, "\n");
}

/* ---- the story ------------------------------------------------------------------------------- */

/* The ledger as it was when the violation showed. */
static struct ledger *replay(const struct telling *telling)
{
    struct ledger *ledger = memory_resize(NULL, ledger_bytes(telling->history->header));
    if (ledger == NULL) {
        return NULL;
    }
    ledger_init(ledger, telling->history->header);
    uint64_t end = telling->result->evidence[telling->result->evidence_count - 1u];
    for (uint64_t i = 0; i <= end; i++) {
        ledger_step(ledger, &telling->history->events[i]);
    }
    return ledger;
}

void explain_story(const struct explain_history *history, const struct check *check,
                   const struct check_result *result, struct text *text)
{
    struct telling telling = telling_of(history, check, result, text);
    put_headline(&telling);
    text_add(text, ".\n");
    bool told = result->verdict == VERDICT_FAIL && result->evidence_count > 0 &&
                telling_evidence(&telling, result->evidence_count - 1u) != NULL;
    if (!told) {
        return;
    }
    text_add(text, "(evidence: %s; %" PRIu64 " violation%s of %" PRIu64 " judged)\n\n",
             grade_name((enum grade)result->grade), result->violations,
             result->violations == 1 ? "" : "s", result->judged);
    struct ledger *ledger = replay(&telling);
    telling.ledger = ledger;
    put_leases(&telling);
    put_timeline(&telling);
    put_blame(&telling);
    memory_release(ledger);
}
