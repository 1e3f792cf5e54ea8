/*
 * proxy.h: our own proxies between clients and nodes, one for each pair, that read what passes.
 *
 *     client 3  --connects to proxy_port(proxy, 3, 1)-->  [ link 3-1 ]  --->  node 1
 *
 *     arrival()   a command is about to reach its node      (TRIGGER_ARRIVAL)
 *     reply()     it was applied, the reply is not out yet  (TRIGGER_COMMAND)
 *
 * Whole messages pass, never half of one. What a callback answers, and what faults are active,
 * decides when a message passes, or whether. Order on a connection is kept, as TCP keeps it; two
 * connections know nothing of each other.
 *
 * A reply passes once the node has shown what its command did (keys.h); one that was never shown
 * because the node is gone is lost, and its connection is reset.
 *
 * A connection that loses its client is kept towards the node until every command that was
 * forwarded is answered, so that keys.h sees all that was applied.
 *
 * The links between nodes have proxies of their own, a second struct proxy that has no keys: it
 * reads nothing but what nodes say first, and passes bytes as they come.
 *
 * Life: proxy_start; proxy_node_set for each node; then callbacks come from inside the loop until
 * proxy_stop; a turn of the loop; proxy_free. All of it in the loop's thread. A callback may call
 * any function here but proxy_stop.
 */
#ifndef HARNESS_REAL_PROXY_H
#define HARNESS_REAL_PROXY_H

#include "base/result.h"
#include "base/text.h"
#include "harness/real/keys/keys.h"
#include "harness/real/process/loop.h"
#include "harness/scenario.h"
#include "servers/launch.h"

struct proxy;

enum { PROXY_NO_FAULT = 0xff };

/* A command on its way to a node, or its reply on the way back. Borrowed for the callback. */
struct proxy_message {
    int32_t client;
    int32_t node;
    int64_t true_ns; /* loop_now_ns() when it was seen */
    const struct keys_command *command;
    const struct keys_reply *reply; /* reply() only */
    const struct keys_deed *deed;   /* reply() only: what the node was seen to do */
};

enum proxy_action {
    PROXY_PASS,
    PROXY_HOLD,  /* it and all behind it on its connection wait for proxy_let_go */
    PROXY_DELAY, /* the same for delay_ns */
    PROXY_LOSE,  /* reply(): it is lost and the connection breaks (RST) */
};

struct proxy_answer {
    uint8_t action; /* enum proxy_action */
    uint8_t fault;  /* counted as an effect of this fault, or PROXY_NO_FAULT */
    int64_t delay_ns;
};

#define PROXY_PASSES ((struct proxy_answer){PROXY_PASS, PROXY_NO_FAULT, 0})

/*
 * What the run is told. `arrival` is called when nothing else keeps the message back any more;
 * faults begun inside it strike this very message. `reply` is called when the reply comes from the
 * node, also where the client is gone already. NOSCRIPT is a reply like others: reply->type says
 * that nothing was applied.
 */
struct proxy_callbacks {
    void *data;
    struct proxy_answer (*arrival)(void *data, const struct proxy_message *message);
    struct proxy_answer (*reply)(void *data, const struct proxy_message *message);
};

struct proxy_options {
    int32_t client_count; /* of all that speak to nodes, the auditor included */
    int32_t node_count;
    uint8_t kind;      /* of servers/kinds.h: whose wire it is */
    struct keys *keys; /* kept; told everything that passes; NULL: links between nodes, */
    /* ... which listen to each other there: port * node_count + node; kept. client_count is then
     * nodes times ports: sender i speaks to the others' port i / node_count. */
    const uint16_t *peer_ports;
    const struct server_peers *peers; /* how they speak; NULL: as the kind's launch says */
    struct proxy_callbacks callbacks;
    uint64_t seed; /* for jitter */
};

/* Open a listener on 127.0.0.1 for every pair. ERROR_ENVIRONMENT if the system refuses. */
MUST_USE struct result proxy_start(uv_loop_t *loop, const struct proxy_options *options,
                                   struct proxy **proxy, struct text *why);

/* Close everything: clients and nodes see their connections reset. */
void proxy_stop(struct proxy *proxy);

/* Give the memory back: after the loop's turn that follows proxy_stop. NULL is nothing. */
void proxy_free(struct proxy *proxy);

/* The port that `client` must connect to for `node`; the same for the whole run. */
uint16_t proxy_port(const struct proxy *proxy, int32_t client, int32_t node);

/* Between nodes: where node `from` finds the port of node `to`: doors[from * node_count + to]. */
const uint16_t *proxy_doors(const struct proxy *proxy, uint32_t port);

/*
 * Where the node listens; again after a restart at another address. Where keys.h watches
 * it, do that first.
 */
void proxy_node_set(struct proxy *proxy, int32_t node, struct address address);

/*
 * Faults of links, by their number in the plan (< SCENARIO_FAULTS_MAX); any number at once.
 *
 *   FAULT_LATENCY        each message of `direction` is amount_ns + [0, jitter_ns] late
 *   FAULT_PARTITION      MODE_HOLD    nothing passes in `direction`; all is delivered at the end
 *                        MODE_DROP    messages of `direction` vanish; connections that lost any
 *                                     are reset at the end
 *                        MODE_REFUSE  connections are reset, new ones get ECONNREFUSED
 *                        MODE_RESET   connections are reset, once, at the start
 *   FAULT_LOSE_REPLY     replies to commands of `role` are lost, their connections break
 *   FAULT_DELAY_COMMAND  commands of `role` wait amount_ns + [0, jitter_ns] before they go on
 *   FAULT_STALL          replies are held
 *
 * A fault that was triggered by one message strikes that one: answer it with PROXY_LOSE or
 * PROXY_DELAY instead.
 */
struct proxy_fault {
    uint8_t kind;         /* enum fault_kind, one of the above */
    uint8_t mode;         /* PARTITION: enum partition_mode */
    uint8_t direction;    /* LATENCY, PARTITION by HOLD or DROP: DIRECTION_... */
    uint8_t role;         /* LOSE_REPLY, DELAY_COMMAND: enum command_role, ROLE_ANY for all */
    uint32_t strikes_max; /* LOSE_REPLY, DELAY_COMMAND: at most so many; 0: any number */
    int64_t amount_ns;
    int64_t jitter_ns;
};

/*
 * Begin fault `index` on the links with links[client * node_count + node] != FAULT_WAY_NONE; with
 * FAULT_WAY_REPLY what it does to requests is done to replies, and the other way round. Borrowed
 * for the call. `index` must not be active.
 */
void proxy_fault_begin(struct proxy *proxy, uint32_t index, const struct proxy_fault *fault,
                       const uint8_t *links);

/*
 * End it: what it held goes on, in order, in the loop's next turn. Its effect can still be asked
 * for.
 */
void proxy_fault_end(struct proxy *proxy, uint32_t index);

/* What a fault did, from its beginning until now. */
struct proxy_effect {
    uint64_t connections_cut;
    uint64_t doors_closed;  /* REFUSE, where no connection was open: whoever comes is refused */
    uint64_t bytes_held;    /* that reached a link while they could not pass */
    uint64_t bytes_dropped; /* also those that waited on a connection that was cut */
    uint64_t messages_held;
    uint64_t messages_dropped;
    uint64_t replies_lost;
    uint64_t commands_delayed;
    uint64_t messages_late;  /* LATENCY */
    int64_t longest_wait_ns; /* LATENCY, DELAY_COMMAND: the longest drawn */
};

void proxy_fault_effect(const struct proxy *proxy, uint32_t index, struct proxy_effect *effect);

/* The number that shows that a fault of this kind and mode struck; 0: it had no effect yet. */
uint64_t proxy_effect_count(enum fault_kind kind, enum partition_mode mode,
                            const struct proxy_effect *effect);

/*
 * Let go what PROXY_HOLD stopped between client and node in one direction. Replies
 * (DIRECTION_REPLY) are written to the client's socket before this returns, unless a fault keeps
 * them back or the socket is full; commands (DIRECTION_REQUEST) go on in the loop's next turn.
 * Nothing held: does nothing.
 */
void proxy_let_go(struct proxy *proxy, int32_t client, int32_t node, uint8_t direction);

/* Has the client a connection to the node on which a command would get through now? */
bool proxy_connected(const struct proxy *proxy, int32_t client, int32_t node);

/* What can be seen of a client that says nothing. */
struct proxy_signs {
    bool waits;           /* for an answer, or under a fault of its links */
    uint64_t connections; /* made so far */
};

struct proxy_signs proxy_signs(const struct proxy *proxy, int32_t client);

/* Is a command that a fault made late still under way, or its answer? */
bool proxy_delays(const struct proxy *proxy);

/* Totals of a run, for tests, the bench and messages. */
struct proxy_counts {
    uint64_t connections;
    uint64_t commands;
    uint64_t replies;
    uint64_t bytes;
    uint64_t broken_streams; /* connections that nobody could read, and were reset */
};

struct proxy_counts proxy_counts(const struct proxy *proxy);

#endif
