/* jsonl.h: our own JSON lines: docs/HISTORY.md. */
#ifndef HISTORY_JSONL_H
#define HISTORY_JSONL_H

#include "history/format.h"

extern const struct history_format history_jsonl;

/* The fields of the two kinds of line, by the names that stand in the file. */
#define HISTORY_HEADER_FIELDS(X)                                                                   \
    X(HEADER_FORMAT, "format")                                                                     \
    X(HEADER_VERSION, "version")                                                                   \
    X(HEADER_SEED, "seed")                                                                         \
    X(HEADER_SCENARIO, "scenario")                                                                 \
    X(HEADER_WORLD, "world")                                                                       \
    X(HEADER_ALGORITHM, "algorithm")                                                               \
    X(HEADER_LIBRARY, "library")                                                                   \
    X(HEADER_NODES, "nodes")                                                                       \
    X(HEADER_CLIENTS, "clients")                                                                   \
    X(HEADER_RESOURCES, "resources")                                                               \
    X(HEADER_FAULTS, "faults")                                                                     \
    X(HEADER_TTL, "ttl")                                                                           \
    X(HEADER_BOUND, "bound")                                                                       \
    X(HEADER_DRIFT, "drift_ppm")                                                                   \
    X(HEADER_PROMISES_VALIDITY, "promises_validity")                                               \
    X(HEADER_FENCE_CHECK, "fence_check")                                                           \
    X(HEADER_VALUE_CHECK, "value_check")                                                           \
    X(HEADER_FENCED, "fenced")                                                                     \
    X(HEADER_NOTE, "note")

#define HISTORY_EVENT_FIELDS(X)                                                                    \
    X(FIELD_INDEX, "index")                                                                        \
    X(FIELD_TIME, "time")                                                                          \
    X(FIELD_KIND, "kind")                                                                          \
    X(FIELD_PROCESS, "process")                                                                    \
    X(FIELD_TYPE, "type")                                                                          \
    X(FIELD_F, "f")                                                                                \
    X(FIELD_RESOURCE, "resource")                                                                  \
    X(FIELD_VALUE, "value")                                                                        \
    X(FIELD_OWNER, "owner")                                                                        \
    X(FIELD_FENCE, "fence")                                                                        \
    X(FIELD_UNTIL, "until")                                                                        \
    X(FIELD_VERSION, "version")                                                                    \
    X(FIELD_BASIS, "basis")                                                                        \
    X(FIELD_CAUSE, "cause")                                                                        \
    X(FIELD_NODE, "node")                                                                          \
    X(FIELD_FAULT, "fault")                                                                        \
    X(FIELD_FAULT_KIND, "fault_kind")                                                              \
    X(FIELD_NUMBERS, "numbers")                                                                    \
    X(FIELD_COMMAND, "command")                                                                    \
    X(FIELD_AUDIT, "audit")                                                                        \
    X(FIELD_NOTE, "note")

enum history_header_field {
#define X(name, word) name,
    HISTORY_HEADER_FIELDS(X)
#undef X
        HEADER_FIELDS,
};

enum history_event_field {
#define X(name, word) name,
    HISTORY_EVENT_FIELDS(X)
#undef X
        EVENT_FIELDS,
};

#endif
