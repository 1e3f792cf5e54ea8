/*
 * explain_words.h: the words that stories are made of: clients, nodes, times, events.
 *
 * Nodes and faults are counted from 1, clients as their file counts them, times in seconds of the
 * run or relative to the violation.
 */
#ifndef CHECKER_EXPLAIN_WORDS_H
#define CHECKER_EXPLAIN_WORDS_H

#include "checker/explain/explain.h"
#include "checker/ledger/ledger.h"

/* One violation, and what was known when it happened. */
struct telling {
    const struct explain_history *history;
    const struct check *check;
    const struct check_result *result;
    const struct ledger *ledger; /* as it was at the last piece of evidence; NULL: no memory */
    uint32_t resource;           /* that it is about */
    int32_t first;               /* the clients that it is about, in order of their grants */
    int32_t second;              /* HISTORY_NOBODY if there is only one, or none */
    int64_t at_ns;               /* when */
    struct text *text;
};

/* Begin to tell what a check found: the cast and the time are read off the evidence. */
struct telling telling_of(const struct explain_history *history, const struct check *check,
                          const struct check_result *result, struct text *text);

/* Whether all evidence is in the history. */
bool telling_has_evidence(const struct telling *telling);

/* The i-th piece of evidence; NULL if it is not in the history. */
const struct history_event *telling_evidence(const struct telling *telling, uint32_t i);

/* The last operation of the evidence: a grant may stand before the ends of its keys or behind. */
const struct history_event *telling_operation(const struct telling *telling);

/* The first event of a fault; NULL if it never began. */
const struct history_event *telling_fault(const struct telling *telling, int32_t fault);

/* "2 of the 3 keys that make a majority", or "no key" where one is all that it takes. */
void put_quorum(struct text *text, int64_t keys, int64_t quorum);

/* As the history counts: "client 2" in one of ours, "process 1" in one recorded elsewhere. */
void put_client_number(struct text *text, const struct history_header *header, int32_t process);
void put_client(const struct telling *telling, int32_t process); /* "client 2", "the auditor" */
void put_client_first(const struct telling *telling, int32_t process); /* "Client 2" */
void put_resource(const struct telling *telling, uint32_t resource);
void put_time(struct text *text, int64_t time_ns);     /* "1.204 s", "563 ms" */
void put_length(struct text *text, int64_t length_ns); /* "796 ms" */
/* "the run itself stood still for 3.0 s" */
void put_lateness(struct text *text, int64_t stood_ns, enum history_cause cause);
void put_nodes(struct text *text, uint64_t nodes); /* "node 3", "nodes 1, 2 and 3" */
/* Where keys are: nodes, or "the cluster" where they are one service. */
void put_keepers(struct text *text, const struct history_header *header, uint64_t nodes);
void put_fault(const struct telling *telling, const struct history_event *event);

/* What an event says, as a clause: "client 2 is granted r0 until 2.000 s". */
void put_event(const struct telling *telling, const struct history_event *event);

/* "client 2 was granted r0 at 1.204 s", or "was given more time on". */
void put_granted(const struct telling *telling, const struct history_event *grant);

/* All of the evidence, as clauses: for what has no sentence of its own. */
void put_evidence(const struct telling *telling);

/* The same for a key on several nodes: "the keys of r0 on nodes 1 and 2: expired (ttl)". */
void put_node_event(const struct telling *telling, const struct history_event *event,
                    uint64_t nodes);

/* Why a key ended: "expired early because the node's clock jumped by 11.000 s at 1.100 s (fault
 * 1)". */
void put_end(const struct telling *telling, const struct ledger_end *end);

/* The guard of the store that the lock protects. */
enum guard {
    GUARD_NONE,
    GUARD_ON,   /* it compares fences or values */
    GUARD_HELD, /* ... and refused what came late */
};

/* What to do where an assumption broke: never to put up a guard that stands. */
void put_advice(struct text *text, enum assumption assumption, enum guard guard);

/* Whether this is a write or read that the guarded store refused. */
bool telling_refused(const struct history_event *event);

/* Whom to blame, and what to do about it: one paragraph. */
void put_blame(const struct telling *telling);

#endif
