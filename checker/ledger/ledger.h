/*
 * ledger.h: what a history has told so far: leases, keys, open operations, faults.
 *
 *     judge_event --> ledger_step --> each check's step reads the ledger
 *
 * Several checks ask the same things, such as "whose lease runs now" and "which keys stand behind
 * it"; the ledger keeps the answers once, as they are after the event that is being judged. Only
 * judge.c writes it.
 *
 * A *claim* is one value that a client tried to set for a resource: the keys that the nodes set for
 * it and how each of them ended, and, once an acquire has returned ok, the lease. Where the nodes
 * do not show values, all keys that a client sets for a resource are one claim. A client that uses
 * one value for several acquires has one claim, which begins anew with each of them: only the keys
 * that are still there stay. A lease runs from the grant's return to the earliest of release asked,
 * loss notified, promised end; without a promised end it also ends when its client is killed.
 *
 * Memory is one flat block without pointers, sized from the header. Where the header does not
 * count, the named limits below hold; what does not fit sets `overflow`, and a pass is then
 * unknown.
 */
#ifndef CHECKER_LEDGER_H
#define CHECKER_LEDGER_H

#include "base/assert.h"
#include "base/duration.h"
#include "history/event.h"

#include <stddef.h>
#include <string.h>

enum {
    LEDGER_CLIENTS = 4096,       /* followed where the header does not count clients */
    LEDGER_CLIENTS_MAX = 16384,  /* ... and where it does */
    LEDGER_RESOURCES = 256,      /* followed where the header does not count resources */
    LEDGER_RESOURCES_MAX = 4096, /* ... and where it does */
    LEDGER_FAULTS = 64,          /* followed where the header does not count faults */
    LEDGER_CLAIMS = 8,           /* of one client at a time */
    LEDGER_STANDSTILLS = 16,     /* of one told apart; of more the nearest are put together */
};

enum claim_state {
    CLAIM_FREE,
    CLAIM_ASKED,   /* keys are set, no answer yet */
    CLAIM_GRANTED, /* acquire returned ok */
    CLAIM_REFUSED, /* acquire returned fail */
    CLAIM_UNKNOWN, /* acquire returned info: it may yet set keys */
};

enum claim_over { OVER_NOT, OVER_RELEASED, OVER_TOLD, OVER_KILLED };

struct ledger_claim {
    struct history_value value;
    int32_t process;
    uint32_t resource;
    uint8_t state;        /* enum claim_state */
    uint8_t over;         /* enum claim_over */
    uint8_t depth;        /* so often its owner acquired it again and has not given that back */
    bool doubtful;        /* ... and nobody can say whether it held it then */
    bool again;           /* that ever happened */
    bool has_value;       /* the nodes, or the grant, told the value */
    bool other_value;     /* the grant told another value than its keys have */
    bool told;            /* a loss notice came, before or after the lease was over */
    bool listed;          /* among its resource's running leases */
    uint32_t next;        /* there: index + 1 */
    uint64_t set;         /* bit n: node n has set the key for this value */
    uint64_t present;     /* bit n: and it is still there */
    uint64_t freed;       /* bit n: its release deleted it there */
    uint64_t unfreed;     /* bit n: its release found no key of it there */
    uint64_t denied;      /* bit n: and there it was answered with an error, last */
    int64_t heard_ns;     /* when the last reply to those was back; TIME_NEVER: one never was */
    uint64_t remade;      /* bit n: gone, and set for this value again, since it was granted */
    uint64_t stamp;       /* index of the event that touched it last */
    uint64_t serial;      /* of the claim among all claims, from 1 */
    uint64_t order;       /* in which grants were heard, from 1; ledger_granted_before */
    uint64_t fresh_index; /* of the event that last made its lease run */
    int64_t fresh_ns;
    int64_t fence; /* 0: none */
    uint64_t first_set_index;
    int64_t first_set_ns;
    uint64_t granted_index;
    int64_t granted_ns;
    int64_t acquire_ns;     /* when its acquire was asked, or the last of what it held already */
    int64_t asked_ns;       /* the same, or when the last extension that succeeded was */
    int64_t until_ns;       /* TIME_NEVER without a promise; at its latest reading ... */
    int64_t until_least_ns; /* ... and at its earliest: not after until_ns */
    int64_t promised_ns;    /* when that was said */
    int64_t moved_ns;       /* so much later than the end before, where there was one */
    uint64_t over_index;
    int64_t renewed_ns; /* a key of it was given more time last, asked or not; 0: never */
    int64_t over_ns;    /* TIME_NEVER: not released, told or killed yet */
    uint64_t refused_index;
    int64_t refused_ns;
    uint64_t given_index; /* of the first release that its client asked; 0: none yet */
    uint64_t freed_index; /* its release was answered ok; 0: not yet */
    int64_t freed_ns;
    uint64_t left_index; /* the same, or the last that was left unknown until then */
    int64_t left_ns;
};

/* How the key of a claim ended on one node, last. */
struct ledger_end {
    uint64_t index;     /* 0: it has not ended */
    uint64_t put_index; /* of the event that put the key there last; may be later */
    int64_t since_ns;   /* when it ended, at the earliest */
    int32_t process;    /* who sent the command, or HISTORY_NOBODY */
    int16_t fault;      /* or HISTORY_NO_FAULT */
    uint8_t cause;      /* enum history_cause */
    uint8_t f;          /* enum history_f; HISTORY_KEY_DELETED, ... */
};

/* A delete that found no key: the last one at a node. */
struct ledger_miss {
    bool any;
    bool named;                 /* it told the value that it was after: */
    struct history_value value; /* ... this one */
    int32_t process;
    uint64_t index;
    int64_t sent_ns; /* TIME_NEVER where that is not told */
};

struct ledger_key {
    struct history_value value; /* all zero where it cannot be seen */
    int32_t process;            /* who set it; HISTORY_NOBODY if unknown */
    int32_t before;             /* who had set the key that this one took the place of */
    uint32_t claim;             /* index + 1; 0: unknown. May be another's by now: */
    uint64_t serial;            /* ... of the claim that it was: ledger_key_claim */
    bool present;
    bool came_back; /* with a restart or a failover */
    bool shortened; /* ... as it was before an extension, which was lost */
    uint8_t back_cause;
    int16_t back_fault;
    bool endless;    /* has no expiry */
    uint8_t outcome; /* of the acquire that set it: enum claim_state; FREE: not told by whom */
    uint64_t outcome_index;
    int64_t outcome_ns;
    struct ledger_miss miss;
    bool overtaken; /* by a command that its client sent later: its miss */
    uint64_t set_index;
    int64_t set_ns;
    int64_t until_ns;    /* on a sound clock; 0 where unknown */
    int64_t ttl_ns;      /* that it was given last; TIME_NEVER: none, or unknown */
    uint64_t kept_index; /* of the event that gave it */
    int64_t kept_ns;     /* ... and its time */
    int64_t sent_ns;     /* when its client sent it; at the earliest, where that is not told */
};

/* Somebody stood still once, or several times that are put together. */
struct ledger_standstill {
    int64_t from_ns;
    int64_t to_ns;
    int64_t longest_ns;
    int64_t sum_ns;
    uint32_t causes; /* bit n: enum history_cause */
    uint8_t cause;   /* of the longest */
};

struct ledger_late {
    uint32_t count;
    struct ledger_standstill list[LEDGER_STANDSTILLS]; /* in order of their ends */
};

/* A client that acquires again what it holds has a lock that counts how often. */
enum ledger_nesting {
    NESTING_NONE,
    NESTING_INNER,    /* it is about such an acquire: what is held stays so */
    NESTING_DOUBTFUL, /* nobody can say which of the two it is about */
};

struct ledger_process {
    int32_t process; /* HISTORY_NOBODY: free */
    bool open;       /* an operation is under way */
    uint8_t nesting; /* of it, or of the last one: enum ledger_nesting */
    bool dead;
    bool inside; /* its section, ... */
    uint8_t open_f;
    uint16_t open_flags;
    uint32_t open_resource;
    uint64_t open_index; /* of the invoke; stays after the end */
    int64_t open_ns;
    int64_t asked_ns;      /* the invoke of its last acquire, ... */
    uint64_t held_index;   /* ... when it held that already since this; 0: it did not */
    int64_t held_asked_ns; /* ... which it had asked for then, ... */
    int64_t held_end_ns;   /* ... until then, at the least */
    struct history_value held_value;
    int64_t given_up_ns;      /* when it gave up its last acquire; TIME_NEVER: it did not */
    bool unsettled;           /* the acquire before that ended unknown: its sets may still come */
    uint8_t last_end;         /* enum history_type of the acquire that ended last */
    uint32_t inside_resource; /* ... of this resource */
    uint64_t inside_index;    /* of the enter; all three stay after the end */
    int64_t inside_ns;
    int64_t sent_ns; /* the key that it asked a node for last; 0: none */
    int64_t replied_ns;
    int32_t sent_node;
    struct ledger_late late;
};

struct ledger_resource {
    uint32_t running;   /* newest running lease: claim index + 1 */
    bool keys_seen;     /* a key of it was set by a client that is known */
    int64_t granted_ns; /* last */
    uint64_t granted_index;
    int32_t granted_process;
};

enum fault_state { FAULT_WAITING, FAULT_ACTIVE, FAULT_ENDED };

enum { LEDGER_SEVERAL = -2 }; /* a fault's process: more than one */

#define LEDGER_PASSING_NS ((int64_t)10000000) /* a fault of one command is over by then */

struct ledger_fault {
    uint8_t kind;  /* enum fault_kind */
    uint8_t state; /* enum fault_state */
    bool effect;   /* an effect was observed */
    uint8_t links; /* enum history_links */
    int32_t process;
    int32_t first; /* of several clients, up to `last`; where that is not behind it, none */
    int32_t last;
    uint64_t nodes; /* bit n */
    int64_t start_ns;
    int64_t end_ns; /* TIME_NEVER: not yet */
    int64_t asked;  /* number[0] of its start: of a clock's rate, millionths */
};

struct ledger {
    int32_t node_count;  /* 0: unknown; then keys are not followed */
    int32_t store_count; /* votes: each node has one, or all of them together */
    int32_t quorum;      /* of the votes: store_count / 2 + 1 */
    int32_t node_quorum; /* of the nodes, which must be there: node_count / 2 + 1 */
    int64_t drift_ppm;   /* the lock's own allowance */
    bool declared;       /* the lock said what it is: */
    uint16_t declares;   /* bit n: enum history_declares */
    uint8_t ownership;   /* enum history_ownership */
    int32_t threads;     /* of each program, at least 1 */
    int64_t renew_every_ns;
    uint32_t process_count;
    uint32_t slots_used; /* where processes are not counted */
    uint32_t resource_count;
    uint32_t fault_count;
    bool processes_counted; /* slot = process */
    bool overflow;
    bool has_nodes;   /* a node event was seen, or would have been */
    bool tapped;      /* the header says so: a grant of which no node tells anything has no keys */
    bool has_notices; /* a loss notice was seen */
    bool promises;    /* the header says so */
    bool endless;     /* ... the same */
    bool at_once;     /* a client was seen to ask a node before another could have answered */
    bool healed;
    int64_t ttl_ns;
    int64_t bound_ns;
    int64_t now_ns;
    int64_t healed_ns;
    uint64_t healed_index;
    uint64_t last_index;
    uint64_t grants;
    uint64_t claims; /* made so far */
    uint32_t faults_active;
    uint32_t claims_at; /* offsets from the ledger's first byte */
    uint32_t claim_bytes;
    uint32_t keys_at;
    uint32_t processes_at;
    uint32_t resources_at;
    uint32_t faults_at;
    uint32_t slots_at;       /* process -> slot + 1, where processes are not counted */
    uint32_t node_lates_at;  /* struct ledger_late of each node, as it waited for a processor */
    uint32_t lates;          /* standstills told of so far, of whomever */
    struct ledger_late late; /* of whoever recorded */
};

size_t ledger_bytes(const struct history_header *header);
void ledger_init(struct ledger *ledger, const struct history_header *header);
void ledger_step(struct ledger *ledger, const struct history_event *event);

/* How many resources are followed for this header: the size of a check's own table. */
uint32_t ledger_resource_count(const struct history_header *header);
/* How many clients, the auditor included. */
uint32_t ledger_process_count(const struct history_header *header);
uint32_t ledger_fault_count(const struct history_header *header);

/* NULL where it is not followed. */
const struct ledger_process *ledger_process(const struct ledger *ledger, int32_t process);

/* The slot of a process, < process_count; process_count where it is not followed. */
uint32_t ledger_slot(const struct ledger *ledger, int32_t process);

/* The newest grant that a client got for a resource, running or over; NULL if there is none. */
const struct ledger_claim *ledger_grant(const struct ledger *ledger, int32_t process,
                                        uint32_t resource);

/* What an event gives back, extends or tells the loss of: what its client holds of that value, or
 * else its newest grant. */
const struct ledger_claim *ledger_held(const struct ledger *ledger,
                                       const struct history_event *event);

/* Another owner's lease of the same resource that surely runs now; NULL if there is none. */
const struct ledger_claim *ledger_other_holder(const struct ledger *ledger,
                                               const struct ledger_claim *claim);

/* The claim that an event with a resource is about: of its client and value, or, where that has
 * none, of its client alone. NULL if there is none. */
const struct ledger_claim *ledger_find(const struct ledger *ledger,
                                       const struct history_event *event);

/* Whether the lock takes two clients for one and the same owner; a client is one with itself. */
bool ledger_same_owner(const struct ledger *ledger, int32_t one, int32_t other);

/* When a lock said this; its client stood still where it heard of it later. */
static inline int64_t ledger_said_ns(const struct history_event *event)
{
    bool later = (event->flags & HISTORY_HAS_SINCE) != 0 && event->since_ns < event->time_ns;
    return later ? event->since_ns : event->time_ns;
}

/* Whether one lease was granted before another. */
static inline bool ledger_granted_before(const struct ledger_claim *one,
                                         const struct ledger_claim *other)
{
    return one->granted_ns != other->granted_ns ? one->granted_ns < other->granted_ns
                                                : one->order < other->order;
}

/* Of a client's operation, or of its last one: enum ledger_nesting. */
static inline uint8_t ledger_nesting(const struct ledger *ledger, int32_t client)
{
    const struct ledger_process *process = ledger_process(ledger, client);
    return process != NULL ? process->nesting : (uint8_t)NESTING_NONE;
}

/* Whether the lock says of itself that it does this. */
static inline bool ledger_declares(const struct ledger *ledger, enum history_declares what)
{
    return ledger->declared && (ledger->declares >> what & 1) != 0;
}

/* Whether the nodes tell what stands behind a grant: its keys, or that it has none. */
bool ledger_watched(const struct ledger *ledger, const struct ledger_claim *claim);

/* Whether so many of its keys ran out, as the nodes told, that no majority of them was left; those
 * that were set anew for its value behind that count as gone. */
bool ledger_ran_out(const struct ledger *ledger, const struct ledger_claim *claim);

/* The claim that a key was set for, if it is still known; else NULL. */
const struct ledger_claim *ledger_key_claim(const struct ledger *ledger,
                                            const struct ledger_key *key);

/* Whether this node had a key of a claim, or any of its client, at a moment of the operation that
 * the client asked last. */
bool ledger_had_key(const struct ledger *ledger, const struct ledger_claim *claim, int32_t node);

/* Whether a fault touched this client, this node, or all of them, at any time from then to now; but
 * for those of the kinds that are spared (bits). */
bool ledger_touched(const struct ledger *ledger, int32_t process, int32_t node, int64_t from_ns,
                    uint64_t spared);

/* When the last fault was over that touched any of them, what it held back had come, and a process
 * that it ended was connected to again; TIME_NEVER where one goes on, 0 where there was none. */
int64_t ledger_touched_until(const struct ledger *ledger, int32_t process, int32_t node);

/* How long a question and its answer take at most by the latencies of the run, all added up. */
int64_t ledger_latency_ns(const struct ledger *ledger);

/* Whether a client is touched by no fault but those that leave it a majority: of nodes themselves,
 * and of its links to some nodes. */
bool ledger_client_healthy(const struct ledger *ledger, int32_t process);

/* Whether a majority of nodes is touched by no fault now. */
bool ledger_majority_healthy(const struct ledger *ledger);

/* Whether any fault was in force since then, or left something behind that stays. */
bool ledger_any_fault(const struct ledger *ledger, int64_t from_ns);

/* The opposite; and since a ttl before then, as what a fault left on its way may be so late. */
bool ledger_is_calm_since(const struct ledger *ledger, int64_t from_ns);

/* When the last fault since a claim was asked for was over, if there was any, and all were of these
 * kinds (bits), but for those of other clients: nothing else was in the way. TIME_NEVER: no. */
int64_t ledger_faults_over(const struct ledger *ledger, const struct ledger_claim *claim,
                           uint64_t kinds);

/* How many nodes no fault struck since a claim was asked for, but for those of other clients alone;
 * 0 where one struck its client, or one of the nodes that are one store. */
int32_t ledger_nodes_spared(const struct ledger *ledger, const struct ledger_claim *claim);

/* Whether no fault takes keys, or shows a node another time: then a lease that was promised is
 * one. */
bool ledger_leases_are_sure(const struct ledger *ledger);

/* Whether a fault of a node, or of a link, may have held up the set of this key on its way; but for
 * those of the kinds that are spared (bits). */
bool ledger_held_back(const struct ledger *ledger, const struct ledger_key *key, int32_t node,
                      uint64_t spared);

/* Until when what the fault that ends here held back may still come, or who was slow is so; 0 where
 * none ends. */
int64_t ledger_late_until(const struct ledger *ledger, const struct history_event *event);

/* Whether keys that expire never, or not within ttl + bound, leave nobody a majority; those of
 * whom the last event granted the resource kept nobody waiting. */
bool ledger_blocked(const struct ledger *ledger, uint32_t resource);

/* For how long a majority of a claim's keys is to stay yet; 0 where there is none. */
int64_t ledger_stay_ns(const struct ledger *ledger, const struct ledger_claim *claim);

/* Who has asked for a resource longest, and still does; HISTORY_NOBODY if nobody does. */
int32_t ledger_asker(const struct ledger *ledger, uint32_t resource);

/* Whether clients that ask for a resource now have keys of it, and none of them a majority. */
bool ledger_undecided(const struct ledger *ledger, uint32_t resource);

/* Whether a majority of its keys is of clients that a fault keeps from hearing so, where a
 * re-entrant lock gives each acquire of theirs its ttl anew, or from giving back what no ttl ends.
 */
bool ledger_unheard(const struct ledger *ledger, uint32_t resource);

/* The kinds of fault that make a client late, or show it another time than ours. */
#define LEDGER_STOPS_A_CLIENT                                                                      \
    (UINT32_C(1) << FAULT_PAUSE | UINT32_C(1) << FAULT_SLOW | UINT32_C(1) << FAULT_CLOCK_JUMP |    \
     UINT32_C(1) << FAULT_CLOCK_RATE)

/* Whether a fault of one of these kinds (bits) touched this client in [from, to]. */
bool ledger_client_fault(const struct ledger *ledger, int32_t process, uint32_t kinds,
                         int64_t from_ns, int64_t to_ns);

/* How much of [from, to] faults kept this client from running, or slow. */
int64_t ledger_stopped_ns(const struct ledger *ledger, int32_t process, int64_t from_ns,
                          int64_t to_ns);

/* Whether a fault is about this node itself, not about one client's link to it. */
bool ledger_fault_on_node(const struct ledger_fault *fault, int32_t node);
bool ledger_fault_on_client(const struct ledger_fault *fault, int32_t process);

/* Whether it is about a node of the store that this one stands for: see history_header. */
bool ledger_fault_on_store(const struct ledger *ledger, const struct ledger_fault *fault,
                           int32_t node);

/* The byte at an offset: how a block without pointers finds its own parts. */
static inline void *ledger_at(const struct ledger *ledger, size_t offset)
{
    return (char *)(uintptr_t)ledger + offset;
}

static inline struct ledger_claim *ledger_claim_at(const struct ledger *ledger, uint32_t index)
{
    return ledger_at(ledger, ledger->claims_at + (size_t)index * ledger->claim_bytes);
}

static inline struct ledger_end *ledger_ends(const struct ledger_claim *claim)
{
    return (struct ledger_end *)(uintptr_t)(claim + 1);
}

static inline struct ledger_key *ledger_key_at(const struct ledger *ledger, int32_t node,
                                               uint32_t resource)
{
    ASSERT(node >= 0 && node < ledger->node_count);
    ASSERT(resource < ledger->resource_count);
    struct ledger_key *keys = ledger_at(ledger, ledger->keys_at);
    return keys + (size_t)resource * (size_t)ledger->node_count + (size_t)node;
}

static inline struct ledger_resource *ledger_resource_at(const struct ledger *ledger,
                                                         uint32_t resource)
{
    struct ledger_resource *resources = ledger_at(ledger, ledger->resources_at);
    return resources + resource;
}

static inline struct ledger_process *ledger_process_at(const struct ledger *ledger, uint32_t slot)
{
    struct ledger_process *processes = ledger_at(ledger, ledger->processes_at);
    return processes + slot;
}

static inline struct ledger_fault *ledger_fault_at(const struct ledger *ledger, uint32_t fault)
{
    struct ledger_fault *faults = ledger_at(ledger, ledger->faults_at);
    return faults + fault;
}

/* Until when a claim's lease runs, or ran, for sure: whatever moment its promise counts from. */
static inline int64_t ledger_lease_end_ns(const struct ledger_claim *claim)
{
    return claim->until_least_ns < claim->over_ns ? claim->until_least_ns : claim->over_ns;
}

/* Whether a claim's lease surely runs at the ledger's now. */
static inline bool ledger_running(const struct ledger *ledger, const struct ledger_claim *claim)
{
    return claim->state == CLAIM_GRANTED && ledger_lease_end_ns(claim) > ledger->now_ns;
}

static inline int32_t ledger_bits(uint64_t set)
{
    return __builtin_popcountll(set);
}

#endif
