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
           event->f == HISTORY_VALUE_MISMATCH;
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
    {"index", FIELD_INDEX, .need = FIELD_WRITTEN, EVENT(index)},
    {"time", FIELD_NATURAL, .need = FIELD_NEEDED, EVENT(time_ns)},
    {"kind", FIELD_WORD, .may = UINT16_MAX, EVENT(kind), .vocabulary = &history_kinds,
     .problem = "an unknown kind of event"},
    {"process", FIELD_ORDINAL, .must = ASKED | CLIENT, .may = NODE | FAULT | LATE, EVENT(process),
     .max = HISTORY_PROCESSES_MAX, .problem = "a process below 1 or beyond the limit"},
    {"type", FIELD_WORD, .must = OP, EVENT(type), .vocabulary = &history_types,
     .problem = "a type other than invoke, ok, fail, info"},
    {"f", FIELD_WORD, .need = FIELD_NEEDED, EVENT(f), .vocabulary = &history_fs,
     .problem = "an unknown f"},
    {"node", FIELD_ORDINAL, .must = NODE, .may = FAULT | LATE, EVENT(node),
     .max = HISTORY_NODES_MAX, .problem = "a node below 1 or beyond 64"},
    {"resource", FIELD_RESOURCE, .must = ASKED, .may = NODE | FAULT | CLIENT, EVENT(resource),
     .zero_says = resource_says},
    {"value", FIELD_VALUE, .may = ASKED | NODE | CLIENT, .flag = HISTORY_HAS_VALUE, EVENT(value)},
    {"owner", FIELD_VALUE, .may = OP | NODE, .flag = HISTORY_HAS_OWNER, EVENT(owner)},
    {"fence", FIELD_INTEGER, .may = ASKED | NODE, .flag = HISTORY_HAS_FENCE, EVENT(fence)},
    {"until", FIELD_INTEGER, .must = LEASE, .may = OP | NOTICE | NODE, .flag = HISTORY_HAS_UNTIL,
     EVENT(until_ns)},
    {"until_least", FIELD_INTEGER, .may = OP | LEASE, .flag = HISTORY_HAS_UNTIL_LEAST,
     EVENT(until_least_ns)},
    {"since", FIELD_NATURAL, .may = OP | SECTION | NOTICE | NODE | FAULT | CLIENT,
     .flag = HISTORY_HAS_SINCE, EVENT(since_ns)},
    {"ttl", FIELD_INTEGER, .may = NODE, .flag = HISTORY_HAS_TTL, EVENT(ttl_ns)},
    {"sent", FIELD_NATURAL, .may = NODE, .flag = HISTORY_HAS_SENT, EVENT(sent_ns)},
    {"replied", FIELD_NATURAL, .may = NODE, .flag = HISTORY_HAS_REPLIED, EVENT(replied_ns)},
    {"basis", FIELD_INTEGER, .may = OP, EVENT(basis), .zero_says = basis_says},
    {"version", FIELD_INTEGER, .may = OP, EVENT(version), .zero_says = version_says},
    {"cause", FIELD_WORD, .may = (uint16_t)~SECTION, EVENT(cause), .vocabulary = &history_causes,
     .problem = "an unknown cause"},
    {"fault", FIELD_ORDINAL, .must = FAULT, .may = LEASE | NODE | CLIENT, EVENT(fault),
     .max = HISTORY_FAULTS_MAX, .problem = "a fault below 1 or beyond 1024"},
    {"fault_kind", FIELD_WORD, .must = FAULT, EVENT(fault_kind), .vocabulary = &history_fault_kinds,
     .problem = "an unknown kind of fault"},
    {"clients", FIELD_RANGE, .may = FAULT, EVENT(clients), .max = HISTORY_PROCESSES_MAX,
     .problem = "other than two processes, the first below the second"},
    {"nodes", FIELD_MEMBERS, .may = FAULT, EVENT(nodes), .max = HISTORY_NODES_MAX,
     .problem = "a node below 1, beyond 64 or for the second time"},
    {"links", FIELD_WORD, .may = FAULT, EVENT(links), .vocabulary = &history_link_shapes,
     .problem = "links other than ring or bridge"},
    {"numbers", FIELD_PAIR, .must = LATE, .may = NODE | FAULT | PHASE, EVENT(number)},
    {"command", FIELD_SMALL, .may = NODE, EVENT(command)},
    {"audit", FIELD_FLAG, .may = ASKED | NODE | CLIENT, .flag = HISTORY_AUDIT},
    {"note", FIELD_NOTE, .may = UINT16_MAX},
};
const size_t history_event_field_count = COUNT(history_event_fields);
_Static_assert(COUNT(history_event_fields) <= HISTORY_FIELDS_MAX, "a bit for each field");

#define HEADER(member) .offset = offsetof(struct history_header, member)
#define NAME(member)   HEADER(member), .max = (int64_t)sizeof(((struct history_header *)0)->member)

const struct history_field history_header_fields[] = {
    {"format", FIELD_FORMAT, .need = FIELD_NEEDED},
    {"version", FIELD_VERSION, .need = FIELD_NEEDED, HEADER(format)},
    {"seed", FIELD_UNSIGNED, .need = FIELD_WRITTEN, HEADER(seed)},
    {"scenario", FIELD_NAME, .need = FIELD_WRITTEN, NAME(scenario)},
    {"world", FIELD_NAME, .need = FIELD_WRITTEN, NAME(world)},
    {"algorithm", FIELD_NAME, .need = FIELD_WRITTEN, NAME(algorithm)},
    {"library", FIELD_NAME, .need = FIELD_WRITTEN, NAME(library)},
    {"nodes", FIELD_COUNT, .need = FIELD_WRITTEN, HEADER(node_count), .max = HISTORY_NODES_MAX},
    {"clients", FIELD_COUNT, .need = FIELD_WRITTEN, HEADER(client_count),
     .max = HISTORY_CLIENTS_MAX},
    {"resources", FIELD_COUNT, .need = FIELD_WRITTEN, HEADER(resource_count),
     .max = HISTORY_RESOURCES_MAX},
    {"faults", FIELD_COUNT, .need = FIELD_WRITTEN, HEADER(fault_count), .max = HISTORY_FAULTS_MAX},
    {"ttl", FIELD_NATURAL, .need = FIELD_WRITTEN, HEADER(ttl_ns)},
    {"bound", FIELD_NATURAL, .need = FIELD_WRITTEN, HEADER(bound_ns)},
    {"drift_ppm", FIELD_NATURAL, .need = FIELD_WRITTEN, HEADER(drift_ppm)},
    {"promises_validity", FIELD_BOOL, .need = FIELD_WRITTEN, HEADER(promises_validity)},
    {"fence_check", FIELD_BOOL, .need = FIELD_WRITTEN, HEADER(fence_check)},
    {"value_check", FIELD_BOOL, .need = FIELD_WRITTEN, HEADER(value_check)},
    {"fenced", FIELD_BOOL, .need = FIELD_WRITTEN, HEADER(fenced)},
    {"declared", FIELD_BOOL, HEADER(declared)},
    {"declares", FIELD_SET, HEADER(declares), .vocabulary = &history_declarations,
     .problem = "a declaration that no lock makes"},
    {"owner", FIELD_WORD, HEADER(ownership), .vocabulary = &history_ownerships,
     .problem = "an owner other than process, thread, object"},
    {"renew_every", FIELD_NATURAL, HEADER(renew_every_ns)},
    {"stores", FIELD_COUNT, HEADER(store_count), .max = HISTORY_NODES_MAX},
    {"threads", FIELD_COUNT, HEADER(thread_count), .max = HISTORY_CLIENTS_MAX},
    {"unwatched", FIELD_NAME, NAME(unwatched)},
    {"note", FIELD_NOTE, .need = FIELD_OPTIONAL},
};
const size_t history_header_field_count = COUNT(history_header_fields);
_Static_assert(COUNT(history_header_fields) <= HISTORY_FIELDS_MAX, "a bit for each field");
