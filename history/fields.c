/* fields.c: the tables of fields. docs/HISTORY.md says what each means. */
#include "history/fields.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define KIND(kind)   (1 << (kind))

enum {
    OP = KIND(HISTORY_OP),
    SECTION = KIND(HISTORY_SECTION),
    NOTICE = KIND(HISTORY_NOTICE),
    LEASE = KIND(HISTORY_LEASE),
    NODE = KIND(HISTORY_NODE),
    FAULT = KIND(HISTORY_FAULT),
    CLIENT = KIND(HISTORY_CLIENT),
    PHASE = KIND(HISTORY_PHASE),
    LATE = KIND(HISTORY_LATE),
    ASKED = OP | SECTION | NOTICE | LEASE, /* what a client does with a resource */
};

/* A node's error has the first resource only where it says so: with a number that is not 0. */
static bool resource_says(const struct history_event *event)
{
    return (event->kind == HISTORY_NODE && event->f != HISTORY_NODE_ERROR) ||
           event->f == HISTORY_VALUE_MISMATCH || event->f == HISTORY_GIVEN_UP;
}

static bool basis_says(const struct history_event *event)
{
    return event->kind == HISTORY_OP && event->f == HISTORY_WRITE;
}

static bool version_says(const struct history_event *event)
{
    return event->kind == HISTORY_OP && event->type == HISTORY_OK &&
           (event->f == HISTORY_READ || event->f == HISTORY_WRITE);
}

#define EVENT(member) .offset = offsetof(struct history_event, member)

const struct history_field history_event_fields[] = {
    {"index", FIELD_INDEX, .doc = "0, 1, 2, ...", .need = FIELD_WRITTEN, EVENT(index)},
    {"time", FIELD_NATURAL, .doc = "true time in ns since the run began; never decreases",
     .need = FIELD_NEEDED, EVENT(time_ns)},
    {"kind", FIELD_WORD, .doc = "what the event is about; may be left out of operations",
     .may = UINT16_MAX, EVENT(kind), .vocabulary = &history_kinds,
     .problem = "an unknown kind of event"},
    {"process", FIELD_ORDINAL, .doc = "the client; of a node event, who sent the command",
     .must = ASKED | CLIENT, .may = NODE | FAULT | PHASE | LATE, EVENT(process),
     .max = HISTORY_PROCESSES_MAX, .problem = "a process below 1 or beyond the limit"},
    {"type", FIELD_WORD,
     .doc = "of an operation: whether it begins, happened, did not, or nobody knows", .must = OP,
     EVENT(type), .vocabulary = &history_types,
     .problem = "a type other than invoke, ok, fail, info"},
    {"f", FIELD_WORD, .doc = "what was done", .need = FIELD_NEEDED, EVENT(f),
     .vocabulary = &history_fs, .problem = "an unknown f"},
    {"node", FIELD_ORDINAL, .doc = "the node", .must = NODE, .may = FAULT | LATE, EVENT(node),
     .max = HISTORY_NODES_MAX, .problem = "a node below 1 or beyond 64"},
    {"resource", FIELD_RESOURCE, .doc = "the name that is locked", .must = ASKED,
     .may = NODE | FAULT | CLIENT, EVENT(resource), .zero_says = resource_says},
    {"value", FIELD_VALUE,
     .doc = "the unique string of a grant; of a node event: what the command named",
     .may = ASKED | NODE | CLIENT, .flag = HISTORY_HAS_VALUE, EVENT(value)},
    {"owner", FIELD_VALUE,
     .doc = "of a node event: the value that the key held before; elsewhere the owner's name",
     .may = OP | NODE, .flag = HISTORY_HAS_OWNER, EVENT(owner)},
    {"fence", FIELD_INTEGER, .doc = "of a grant: a number that grows with every grant",
     .may = ASKED | NODE, .flag = HISTORY_HAS_FENCE, EVENT(fence)},
    {"until", FIELD_INTEGER,
     .doc = "the promised end in true time, ns; of a node event: when the key expires",
     .must = LEASE, .may = OP | NOTICE | NODE, .flag = HISTORY_HAS_UNTIL, EVENT(until_ns)},
    {"until_least", FIELD_INTEGER,
     .doc = "the promised end at its earliest reading, where `until` is the latest",
     .may = OP | LEASE, .flag = HISTORY_HAS_UNTIL_LEAST, EVENT(until_least_ns)},
    {"since", FIELD_NATURAL,
     .doc = "the moment is not known exactly: it lies between this and `time`",
     .may = OP | SECTION | NOTICE | NODE | FAULT | CLIENT, .flag = HISTORY_HAS_SINCE,
     EVENT(since_ns)},
    {"ttl", FIELD_INTEGER, .doc = "of a set or extended key: the ttl that it was really given, ns",
     .may = NODE, .flag = HISTORY_HAS_TTL, EVENT(ttl_ns)},
    {"sent", FIELD_NATURAL, .doc = "of a node event: when the client sent the command, ns",
     .may = NODE, .flag = HISTORY_HAS_SENT, EVENT(sent_ns)},
    {"replied", FIELD_NATURAL, .doc = "of a node event: when the reply came to the client, ns",
     .may = NODE, .flag = HISTORY_HAS_REPLIED, EVENT(replied_ns)},
    {"basis", FIELD_INTEGER, .doc = "of a write: the version that its writer had read", .may = OP,
     EVENT(basis), .zero_says = basis_says},
    {"version", FIELD_INTEGER,
     .doc = "of a write: the store's version after it; of a read: what was seen", .may = OP,
     EVENT(version), .zero_says = version_says},
    {"cause", FIELD_WORD, .doc = "why", .may = (uint16_t)~SECTION, EVENT(cause),
     .vocabulary = &history_causes, .problem = "an unknown cause"},
    {"fault", FIELD_ORDINAL,
     .doc = "which fault of the scenario; of other events: the fault that did it", .must = FAULT,
     .may = LEASE | NODE | CLIENT, EVENT(fault), .max = HISTORY_FAULTS_MAX,
     .problem = "a fault below 1 or beyond 1024"},
    {"fault_kind", FIELD_WORD, .doc = "the kind of the fault", .must = FAULT, EVENT(fault_kind),
     .vocabulary = &history_fault_kinds, .problem = "an unknown kind of fault"},
    {"clients", FIELD_RANGE, .doc = "of a fault of several clients: the first and the last",
     .may = FAULT, EVENT(clients), .max = HISTORY_PROCESSES_MAX,
     .problem = "other than two processes, the first below the second"},
    {"nodes", FIELD_MEMBERS, .doc = "of a fault of several nodes: which", .may = FAULT,
     EVENT(nodes), .max = HISTORY_NODES_MAX,
     .problem = "a node below 1, beyond 64 or for the second time"},
    {"peers", FIELD_MEMBERS,
     .doc = "of a fault of links between nodes: those at their one end; `node` or `nodes` are at "
            "the other",
     .may = FAULT, EVENT(peers), .max = HISTORY_NODES_MAX,
     .problem = "a node below 1, beyond 64 or for the second time"},
    {"links", FIELD_WORD, .doc = "of a fault of links: the shape of the cut", .may = FAULT,
     EVENT(links), .vocabulary = &history_link_shapes,
     .problem = "links other than ring or bridge"},
    {"numbers", FIELD_PAIR, .doc = "of a fault: what was asked and what was observed", .must = LATE,
     .may = NODE | FAULT | PHASE, EVENT(number)},
    {"command", FIELD_LABEL,
     .doc = "what the client sent, by the name that its kind of server has "
            "for it, such as `set` or `compare-delete`; a number, in older files, says nothing",
     .may = NODE, EVENT(command), .max = HISTORY_COMMAND_BYTES},
    {"audit", FIELD_FLAG, .doc = "by the auditor, who asks after the last heal",
     .may = ASKED | NODE | CLIENT, .flag = HISTORY_AUDIT},
    {"note", FIELD_NOTE, .doc = "for people; says nothing to the checks", .may = UINT16_MAX},
};
const size_t history_event_field_count = COUNT(history_event_fields);
_Static_assert(COUNT(history_event_fields) <= HISTORY_FIELDS_MAX, "a bit for each field");

#define HEADER(member) .offset = offsetof(struct history_header, member)
#define NAME(member)   HEADER(member), .max = (int64_t)sizeof(((struct history_header *)0)->member)

const struct history_field history_header_fields[] = {
    {"format", FIELD_FORMAT, .doc = "always `picklock-history`", .need = FIELD_NEEDED},
    {"version", FIELD_VERSION, .doc = "always 1", .need = FIELD_NEEDED, HEADER(format)},
    {"seed", FIELD_UNSIGNED, .doc = "the seed of the run", .need = FIELD_WRITTEN, HEADER(seed)},
    {"scenario", FIELD_NAME, .doc = "its name", .need = FIELD_WRITTEN, NAME(scenario)},
    {"world", FIELD_NAME, .doc = "`sim`, `real`, or empty for a history from elsewhere",
     .need = FIELD_WRITTEN, NAME(world)},
    {"algorithm", FIELD_NAME, .doc = "the lock", .need = FIELD_WRITTEN, NAME(algorithm)},
    {"library", FIELD_NAME, .doc = "who implements it", .need = FIELD_WRITTEN, NAME(library)},
    {"nodes", FIELD_COUNT, .doc = "lock nodes; a majority is nodes / 2 + 1", .need = FIELD_WRITTEN,
     HEADER(node_count), .max = HISTORY_NODES_MAX},
    {"clients", FIELD_COUNT, .doc = "clients; the auditor is one more", .need = FIELD_WRITTEN,
     HEADER(client_count), .max = HISTORY_CLIENTS_MAX},
    {"resources", FIELD_COUNT, .doc = "resources, then called `r0`, `r1`, ...",
     .need = FIELD_WRITTEN, HEADER(resource_count), .max = HISTORY_RESOURCES_MAX},
    {"faults", FIELD_COUNT, .doc = "faults of the scenario, each of which must strike",
     .need = FIELD_WRITTEN, HEADER(fault_count), .max = HISTORY_FAULTS_MAX},
    {"ttl", FIELD_NATURAL, .doc = "what is asked of the nodes, ns", .need = FIELD_WRITTEN,
     HEADER(ttl_ns)},
    {"bound", FIELD_NATURAL,
     .doc = "after the last heal the lock must be free within ttl + bound, ns",
     .need = FIELD_WRITTEN, HEADER(bound_ns)},
    {"drift_ppm", FIELD_NATURAL, .doc = "the lock's own allowance for drift, in millionths",
     .need = FIELD_WRITTEN, HEADER(drift_ppm)},
    {"endless", FIELD_BOOL, .doc = "the lock asks the nodes for no ttl: its keys end otherwise",
     HEADER(endless)},
    {"promises_validity", FIELD_BOOL, .doc = "leases have a promised end", .need = FIELD_WRITTEN,
     HEADER(promises_validity)},
    {"fence_check", FIELD_BOOL, .doc = "the guarded store refuses older fences",
     .need = FIELD_WRITTEN, HEADER(fence_check)},
    {"value_check", FIELD_BOOL,
     .doc = "the guarded store refuses other values than the last that read it",
     .need = FIELD_WRITTEN, HEADER(value_check)},
    {"fenced", FIELD_BOOL, .doc = "grants carry fences", .need = FIELD_WRITTEN, HEADER(fenced)},
    {"declared", FIELD_BOOL,
     .doc = "the lock said of itself what `declares`, `owner`, `renew_every` and `drift_ppm` say",
     HEADER(declared)},
    {"declares", FIELD_SET, .doc = "what the lock says that it does", HEADER(declares),
     .vocabulary = &history_declarations, .problem = "a declaration that no lock makes"},
    {"owner", FIELD_WORD, .doc = "whom the lock takes for one owner", HEADER(ownership),
     .vocabulary = &history_ownerships, .problem = "an owner other than process, thread, object"},
    {"renew_every", FIELD_NATURAL, .doc = "how often a lock that renews by itself does so, ns",
     HEADER(renew_every_ns)},
    {"stores", FIELD_COUNT, .doc = "votes: 0 is as many as nodes", HEADER(store_count),
     .max = HISTORY_NODES_MAX},
    {"replicas", FIELD_COUNT, .doc = "of the nodes of one store: all but the one that serves",
     HEADER(replica_count), .max = HISTORY_NODES_MAX},
    {"threads", FIELD_COUNT, .doc = "threads of each program; 0 is 1", HEADER(thread_count),
     .max = HISTORY_CLIENTS_MAX},
    {"at_once", FIELD_COUNT, .doc = "resources that each client is to hold at once; 0 is 1",
     HEADER(at_once), .max = HISTORY_RESOURCES_MAX},
    {"again", FIELD_COUNT, .doc = "how often each client is to acquire what it holds already",
     HEADER(again), .max = HISTORY_RESOURCES_MAX},
    {"deadline", FIELD_NATURAL, .doc = "an acquire was to be answered within this, ns; 0: no limit",
     HEADER(deadline_ns)},
    {"patience", FIELD_NATURAL,
     .doc = "how much later than that, or than it was given up, its answer may come, ns",
     HEADER(patience_ns)},
    {"attempts", FIELD_NATURAL,
     .doc = "what all attempts of an acquire were to take at most, ns; 0: it is not tried again",
     HEADER(attempts_ns)},
    {"tries", FIELD_COUNT,
     .doc = "an acquire makes so many attempts at most, each with a value of its own; 0: unknown, "
            "and so are `retry_delay`, `extends` and `allowance`",
     HEADER(tries), .max = INT32_MAX},
    {"one_value", FIELD_BOOL,
     .doc = "all attempts of an acquire have one value: each time that it is asked for is one",
     HEADER(one_value)},
    {"retry_delay", FIELD_NATURAL, .doc = "no less than this is between two attempts, ns",
     HEADER(retry_delay_ns)},
    {"extends", FIELD_COUNT, .doc = "so many extensions of a grant are done at most",
     HEADER(extends), .max = INT32_MAX},
    {"allowance", FIELD_NATURAL,
     .doc = "so much sooner than a ttl after it was asked for a promise ends, ns",
     HEADER(allowance_ns)},
    {"resend", FIELD_NATURAL,
     .doc = "a release that a node did not answer is sent to it again after so long, until it does "
            "or a ttl is over, ns; 0: unknown",
     HEADER(resend_ns)},
    {"set_decides", FIELD_BOOL,
     .doc = "a majority that has set its key is all that a grant takes: no other question follows",
     HEADER(set_decides)},
    {"server", FIELD_NAME, .doc = "what the nodes run, such as `redis 7.0.15`", NAME(server)},
    {"sites", FIELD_NAME,
     .doc = "nodes under agents: their addresses, and how far their clocks are from ours",
     NAME(sites)},
    {"clock_bound", FIELD_NATURAL,
     .doc = "what is not known of the worst of these clocks, to both sides, ns: half a round trip",
     HEADER(clock_bound_ns)},
    {"unwatched", FIELD_NAME,
     .doc = "why no node told what became of its keys; empty where they did", NAME(unwatched)},
    {"tapped", FIELD_BOOL,
     .doc = "nodes were listened to from the first command to the last, and told all that became "
            "of their keys: a grant of which they tell nothing has none",
     HEADER(tapped)},
    {"note", FIELD_NOTE, .doc = "for people", .need = FIELD_OPTIONAL},
};
const size_t history_header_field_count = COUNT(history_header_fields);
_Static_assert(COUNT(history_header_fields) <= HISTORY_FIELDS_MAX, "a bit for each field");
