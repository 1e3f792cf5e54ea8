/* explain_words.c: clients, nodes, times, events and faults in words. */
#include "checker/explain/explain_words.h"

#include "base/assert.h"
#include "base/foreign.h"
#include "checker/key_ends.h"

#include <inttypes.h>

const struct history_event *telling_evidence(const struct telling *telling, uint32_t i)
{
    if (i >= telling->result->evidence_count ||
        telling->result->evidence[i] >= telling->history->count) {
        return NULL;
    }
    return &telling->history->events[telling->result->evidence[i]];
}

const struct history_event *telling_operation(const struct telling *telling)
{
    const struct history_event *operation = telling_evidence(telling, 0);
    for (uint32_t i = 0; i < telling->result->evidence_count; i++) {
        const struct history_event *event = telling_evidence(telling, i);
        operation = event->kind == HISTORY_OP ? event : operation;
    }
    return operation;
}

const struct history_event *telling_fault(const struct telling *telling, int32_t fault)
{
    for (size_t i = 0; i < telling->history->count; i++) {
        const struct history_event *event = &telling->history->events[i];
        if (event->kind == HISTORY_FAULT && event->fault == fault) {
            return event;
        }
    }
    return NULL;
}

void put_client_number(struct text *text, const struct history_header *header, int32_t process)
{
    if (header->format == 0) {
        text_add(text, "process %" PRId32, process);
    } else {
        text_add(text, "client %" PRId32, process + 1);
    }
}

void put_client(const struct telling *telling, int32_t process)
{
    int32_t count = telling->history->header->client_count;
    if (process == HISTORY_NOBODY) {
        text_add(telling->text, "somebody");
    } else if (count > 0 && process == count) {
        text_add(telling->text, "the auditor");
    } else {
        put_client_number(telling->text, telling->history->header, process);
    }
}

void put_client_first(const struct telling *telling, int32_t process)
{
    size_t at = telling->text->length;
    put_client(telling, process);
    if (at < telling->text->length) {
        telling->text->data[at] = (char)(telling->text->data[at] - 'a' + 'A');
    }
}

void put_resource(const struct telling *telling, uint32_t resource)
{
    if (telling->history->resources != NULL) {
        const char *name = telling->history->resources[resource];
        text_add_foreign(telling->text, name, strlen(name));
    } else {
        text_add(telling->text, "r%" PRIu32, resource);
    }
}

void put_time(struct text *text, int64_t time_ns)
{
    moment_print(time_ns, text);
}

void put_quorum(struct text *text, int64_t keys, int64_t quorum)
{
    if (quorum == 1 && keys == 0) {
        text_add(text, "no key");
        return;
    }
    text_add(text, "%" PRId64 " of the %" PRId64 " keys that make a majority", keys, quorum);
}

void put_length(struct text *text, int64_t length_ns)
{
    duration_print_short(length_ns, text);
}

void put_lateness(struct text *text, int64_t stood_ns, enum history_cause cause)
{
    static const char *const before[HISTORY_CAUSES] = {
        [CAUSE_SCHEDULER] = "a process was given no processor for ",
        [CAUSE_SUSPEND] = "the machine was suspended for ",
        [CAUSE_CLOCK_STEP] = "somebody set the machine's clock by ",
        [CAUSE_START] = "a node's server was not up yet for ",
        [CAUSE_TAP] = "a node did not tell what it did for ",
    };
    ASSERT(cause < HISTORY_CAUSES);
    text_add(text, "%s", before[cause] == NULL ? "the run itself stood still for " : before[cause]);
    put_length(text, stood_ns);
}

void put_nodes(struct text *text, uint64_t nodes)
{
    int32_t left = ledger_bits(nodes);
    text_add(text, left == 0 ? "no node" : left == 1 ? "node " : "nodes ");
    for (int32_t node = 0; node < HISTORY_NODES_MAX; node++) {
        if ((nodes >> node & 1) == 0) {
            continue;
        }
        left--;
        text_add(text, "%" PRId32 "%s", node + 1, left == 0 ? "" : left == 1 ? " and " : ", ");
    }
}

void put_keepers(struct text *text, const struct history_header *header, uint64_t nodes)
{
    if (nodes != 0 && history_is_cluster(header)) {
        text_add(text, "the cluster");
    } else {
        put_nodes(text, nodes);
    }
}

/* What the fault asked for, in its unit: docs/FAULTS.md. */
static void put_amount(struct text *text, const struct history_event *event)
{
    int64_t asked = event->number[0];
    if (asked == 0) {
        return;
    }
    switch ((enum fault_unit)fault_trait_of((enum fault_kind)event->fault_kind)->unit) {
    case FAULT_UNIT_JUMP:
        text_add(text, " by %s", asked < 0 ? "" : "+");
        put_length(text, asked);
        return;
    case FAULT_UNIT_PPM:
        text_add(text, " to %" PRId64 " ppm", asked);
        return;
    case FAULT_UNIT_LENGTH:
        if (asked != TIME_NEVER) {
            text_add(text, " for ");
            put_length(text, asked);
        }
        return;
    case FAULT_UNIT_AMOUNT:
        text_add(text, " of ");
        put_length(text, asked);
        return;
    case FAULT_UNIT_NONE:
    case FAULT_UNIT_MODE:
    case FAULT_UNIT_ERROR:
        return;
    }
    UNREACHABLE();
}

/* Whom it strikes: its start names them all, its effects and its end only one of one. */
static void put_targets(const struct telling *telling, const struct history_event *event)
{
    struct text *text = telling->text;
    const char *before = " of ";
    if (event->process != HISTORY_NOBODY) {
        text_add(text, "%s", before);
        put_client(telling, event->process);
        before = " and ";
    } else if (event->clients[1] > event->clients[0]) {
        text_add(text, "%sclients %" PRId32 " to %" PRId32, before, event->clients[0] + 1,
                 event->clients[1] + 1);
        before = " and ";
    }
    if (event->peers != 0) {
        text_add(text, " between ");
        put_nodes(text, event->peers);
        before = " and ";
    }
    if (event->node != HISTORY_NO_NODE) {
        text_add(text, "%snode %" PRId32, before, event->node + 1);
    } else if (event->nodes != 0) {
        text_add(text, "%s", before);
        put_nodes(text, event->nodes);
    }
}

void put_fault(const struct telling *telling, const struct history_event *event)
{
    struct text *text = telling->text;
    const char *name = fault_kind_name((enum fault_kind)event->fault_kind);
    text_add(text, "fault %" PRId32 ": ", event->fault + 1);
    for (const char *at = name; *at != '\0'; at++) {
        text_add(text, "%c", *at == '_' ? ' ' : *at);
    }
    put_targets(telling, event);
    put_amount(text, event);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void put_operation(const struct telling *telling, const struct history_event *event)
{
    struct text *text = telling->text;
    put_client(telling, event->process);
    if (event->type == HISTORY_INVOKE) {
        text_add(text, " asks to %s ", history_f_name((enum history_f)event->f));
        put_resource(telling, event->resource);
        return;
    }
    if (event->type == HISTORY_OK && event->f == HISTORY_ACQUIRE) {
        text_add(text, " is granted ");
        put_resource(telling, event->resource);
    } else if (event->type == HISTORY_OK && event->f == HISTORY_EXTEND) {
        text_add(text, " is given more time on ");
        put_resource(telling, event->resource);
    } else if (event->type == HISTORY_OK && event->f == HISTORY_WRITE) {
        text_add(text, " writes version %" PRId64 " of ", event->version);
        put_resource(telling, event->resource);
        text_add(text, ", having read version %" PRId64, event->basis);
    } else {
        static const char *const ends[] = {"", "done", "refused", "unknown"};
        text_add(text, "'s %s of ", history_f_name((enum history_f)event->f));
        put_resource(telling, event->resource);
        text_add(text, ": %s", ends[event->type]);
    }
    if ((event->flags & HISTORY_HAS_UNTIL) != 0) {
        text_add(text, " until ");
        put_time(text, event->until_ns);
        bool passed = event->f == HISTORY_EXTEND && event->until_ns < event->time_ns;
        text_add(text, "%s", passed ? ", which has passed" : "");
    }
    if ((event->flags & HISTORY_HAS_FENCE) != 0) {
        text_add(text, " (fence %" PRId64 ")", event->fence);
    }
    if (event->cause != CAUSE_NONE) {
        text_add(text, " (%s)", history_cause_name((enum history_cause)event->cause));
    }
}

/* What happened to the key on these nodes, of which the event tells of one. */
void put_node_event(const struct telling *telling, const struct history_event *event,
                    uint64_t nodes)
{
    struct text *text = telling->text;
    bool by_client = event->process != HISTORY_NOBODY;
    const char *does = !by_client                        ? NULL
                       : event->f == HISTORY_KEY_DELETED ? " deletes the"
                       : event->f == HISTORY_KEY_SET     ? " sets the"
                       : event->f == HISTORY_KEY_KEPT    ? " finds none of its"
                                                         : NULL;
    bool one = ledger_bits(nodes) == 1 && event->f != HISTORY_KEY_KEPT;
    if (does != NULL) {
        put_client(telling, event->process);
    }
    text_add(text, "%s %s of ", does != NULL ? does : "the", one ? "key" : "keys");
    put_resource(telling, event->resource);
    text_add(text, " on ");
    put_keepers(text, telling->history->header, nodes);
    if (does == NULL) {
        text_add(text, ": %s", history_f_name((enum history_f)event->f));
    } else if (event->f == HISTORY_KEY_SET && (event->flags & HISTORY_HAS_UNTIL) == 0) {
        text_add(text, ", without an expiry");
    }
    if (event->cause != CAUSE_NONE) {
        text_add(text, " (%s", history_cause_name((enum history_cause)event->cause));
        if (event->fault != HISTORY_NO_FAULT) {
            text_add(text, ", fault %" PRId32, event->fault + 1);
        }
        text_add(text, ")");
    }
}

void put_event(const struct telling *telling, const struct history_event *event)
{
    struct text *text = telling->text;
    switch ((enum history_kind)event->kind) {
    case HISTORY_OP:
        put_operation(telling, event);
        return;
    case HISTORY_SECTION:
        put_client(telling, event->process);
        text_add(text, " %s the section of ", event->f == HISTORY_ENTER ? "enters" : "leaves");
        put_resource(telling, event->resource);
        return;
    case HISTORY_NOTICE:
        put_client(telling, event->process);
        text_add(text, " is told that it lost ");
        put_resource(telling, event->resource);
        return;
    case HISTORY_LEASE:
        put_client(telling, event->process);
        text_add(text, event->fault == HISTORY_NO_FAULT
                           ? "'s lease was renewed, until "
                           : "'s clock moved the end of its lease to ");
        put_time(text, event->until_ns);
        return;
    case HISTORY_NODE:
        put_node_event(telling, event, UINT64_C(1) << event->node);
        return;
    case HISTORY_FAULT:
        put_fault(telling, event);
        text_add(text, " %s",
                 event->f == HISTORY_FAULT_START ? "begins"
                 : event->f == HISTORY_FAULT_END ? "ends"
                                                 : "takes effect");
        return;
    case HISTORY_CLIENT:
        put_client(telling, event->process);
        text_add(text, " is %s", history_f_name((enum history_f)event->f));
        return;
    case HISTORY_PHASE:
        text_add(text, event->f == HISTORY_HEALED ? "all faults are healed" : "the run ends");
        return;
    case HISTORY_LATE:
        text_add(text, "whoever recorded this stood still for ");
        put_length(text, event->number[0]);
        text_add(text, " (%s)", history_cause_name((enum history_cause)event->cause));
        return;
    case HISTORY_KINDS:
        break;
    }
    UNREACHABLE();
}

void put_granted(const struct telling *telling, const struct history_event *grant)
{
    put_client(telling, grant->process);
    text_add(telling->text,
             grant->f == HISTORY_EXTEND ? " was given more time on " : " was granted ");
    put_resource(telling, grant->resource);
    text_add(telling->text, " at ");
    put_time(telling->text, grant->time_ns);
}

void put_evidence(const struct telling *telling)
{
    for (uint32_t i = 0; i < telling->result->evidence_count; i++) {
        const struct history_event *event = telling_evidence(telling, i);
        if (event == NULL) {
            continue;
        }
        text_add(telling->text, "%s", i == 0 ? "" : "; ");
        put_event(telling, event);
        text_add(telling->text, " at ");
        put_time(telling->text, event->time_ns);
    }
}

/* ---- ends of keys ---------------------------------------------------------------------------- */

void put_end(const struct telling *telling, const struct ledger_end *end)
{
    struct text *text = telling->text;
    text_add(text, "%s", key_end_of((enum history_cause)end->cause)->words);
    bool by_another = end->cause == CAUSE_FOREIGN && end->process != HISTORY_NOBODY;
    if (by_another) {
        text_add(text, " (");
        put_client(telling, end->process);
        text_add(text, ")");
    }
    const struct history_event *start =
        end->fault == HISTORY_NO_FAULT ? NULL : telling_fault(telling, end->fault);
    if (start != NULL) {
        text_add(text, " (");
        put_fault(telling, start);
        text_add(text, ", at ");
        put_time(text, start->time_ns);
        text_add(text, ")");
    }
}

/* ---- blame ----------------------------------------------------------------------------------- */

/* What mends it at its root; NULL where only a guard helps. */
static const char *mending(enum assumption assumption)
{
    switch (assumption) {
    case ASSUMPTION_SECTION:
        return "Extend the lease in time, or leave the section when the lock says that it is lost";
    case ASSUMPTION_NODE_CLOCK:
        return "Let the nodes slew their clocks and never step them";
    case ASSUMPTION_PERSISTENCE:
        return "Let a node keep what it acknowledged (Redis: appendfsync always), or stay away for "
               "one ttl after a restart";
    case ASSUMPTION_REPLICATION:
        return "Do not fail over to a replica that may lack what was acknowledged: replicate "
               "synchronously, or use independent nodes and a majority";
    case ASSUMPTION_LEADER:
        return "Let every write be a transaction that compares the revision of the lock's key";
    case ASSUMPTION_OWN_SESSION:
        return "Let those who take locks of sessions go past the pooler, or let it pool by session";
    case ASSUMPTION_CONSENSUS:
        return "Let a majority of the members agree: Hazelcast, for one, has to be told so by a "
               "cp-member-count of 3 or more";
    case ASSUMPTION_MEMORY:
        return "Set maxmemory-policy noeviction on the lock nodes";
    case ASSUMPTION_NONE:
    case ASSUMPTION_CLIENT_PAUSE:
    case ASSUMPTION_CLIENT_CLOCK:
    case ASSUMPTION_DELAY:
    case ASSUMPTION_SESSION:
        return NULL;
    }
    UNREACHABLE();
}

void put_advice(struct text *text, enum assumption assumption, enum guard guard)
{
    const char *mend = mending(assumption);
    bool by_guard = assumption != ASSUMPTION_REPLICATION && assumption != ASSUMPTION_MEMORY &&
                    assumption != ASSUMPTION_OWN_SESSION && assumption != ASSUMPTION_CONSENSUS;
    text_add(text, "%s", mend != NULL ? mend : "");
    if (guard == GUARD_HELD) {
        text_add(text, mend != NULL ? ". The guard held: keep it."
                                    : "Nothing: the guard of the store held. Keep it.");
    } else if (by_guard && guard == GUARD_NONE) {
        text_add(text, mend != NULL ? "; and guard what the lock protects."
                                    : "Guard what the lock protects: let it refuse older fences, "
                                      "or other values than the last.");
    } else if (by_guard && mend == NULL) {
        text_add(text, "The store is guarded: keep it so, and let nothing past the guard.");
    } else {
        text_add(text, ".");
    }
}

bool telling_refused(const struct history_event *event)
{
    return event->kind == HISTORY_OP && event->type == HISTORY_FAIL &&
           (event->cause == CAUSE_STALE_FENCE || event->cause == CAUSE_OTHER_VALUE);
}

/* What came late and was refused came from one of the two, behind the violation. */
static enum guard guard_of(const struct telling *telling)
{
    const struct history_header *header = telling->history->header;
    const struct check_result *result = telling->result;
    bool damage = telling->check->part == PART_DAMAGE;
    if (!header->fence_check && !header->value_check) {
        return GUARD_NONE;
    }
    for (uint64_t i = result->evidence[result->evidence_count - 1u];
         !damage && i < telling->history->count; i++) {
        const struct history_event *event = &telling->history->events[i];
        bool theirs = event->process == telling->first || event->process == telling->second;
        if (telling_refused(event) && theirs && event->resource == telling->resource) {
            return GUARD_HELD;
        }
    }
    return GUARD_ON;
}

/* The paragraph's end: what to do. */
static void put_what_to_do(const struct telling *telling, enum assumption assumption)
{
    text_add(telling->text, "What to do: ");
    put_advice(telling->text, assumption, guard_of(telling));
    text_add(telling->text, "\n");
}

void put_blame(const struct telling *telling)
{
    struct text *text = telling->text;
    enum assumption assumption = (enum assumption)telling->result->assumption;
    switch ((enum blame)telling->result->blame) {
    case BLAME_LIBRARY:
        text_add(text,
                 "Blame: the library. It broke its own algorithm; no fault in this run excuses "
                 "it.\nWhat to do: report it, with this history.\n");
        return;
    case BLAME_ASSUMPTION:
        text_add(text,
                 "Blame: an assumption, not the library's code. A lease lock relies on this: %s.\n",
                 assumption_sentence(assumption));
        put_what_to_do(telling, assumption);
        return;
    case BLAME_DEPLOYMENT:
        text_add(text,
                 "Blame: the deployment. A lock's nodes must be set up so that this holds: %s.\n",
                 assumption_sentence(assumption));
        put_what_to_do(telling, assumption);
        return;
    case BLAME_NONE:
        text_add(text,
                 "Blame: cannot be told, because the history does not say what happened on the "
                 "nodes.\n");
        return;
    }
    UNREACHABLE();
}
