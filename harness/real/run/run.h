/*
 * run.h: one run of a plan on real servers, as its files see it. Private to the real world.
 *
 *     run.c         world_real: prepare, go, heal, audit, end
 *     run_check.c   whether the plan can be run here at all
 *     run_client.c  the clients: processes of our own, or adapters
 *     run_adapter.c what only adapters need; run_adapter_clock.c their wall clocks
 *     run_fault.c   carries out what the schedule says, and faults of links
 *     run_strikes.c table: what each kind of fault does to one client or one node
 *     run_node.c    how nodes stop, stand still and come back
 *     run_clock.c   the wall clocks of nodes
 *     run_cluster.c nodes that are there already: their agents, and what is known of their clocks
 *     run_server.c  what servers the nodes run
 *     run_replica.c replicas that lag, for failovers
 *     run_follow.c  nodes that follow one of them
 *     run_sentinel.c  what promotes one of them by itself
 *     run_loading.c stands for a server that answers all alike
 *     run_late.c    how late we are, and others
 *     run_trace.c   what an adapter said and its library sent, as a log
 *     run_order.c   faults that are an order to the server: refuse writes, evict, flush scripts
 *
 * Everything happens in one thread, inside the loop's callbacks or between its turns. Whatever
 * fails calls run_fail once; the phases then end.
 */
#ifndef HARNESS_REAL_RUN_H
#define HARNESS_REAL_RUN_H

#include "base/arena.h"
#include "harness/real/adapter/adapter.h"
#include "harness/real/agent/remote.h"
#include "harness/real/keys/keys.h"
#include "harness/real/node/site.h"
#include "harness/real/process/guard.h"
#include "harness/real/process/lateness.h"
#include "harness/real/process/loop.h"
#include "harness/real/process/vdso.h"
#include "harness/real/proxy/proxy.h"
#include "harness/real/run/client_process.h"
#include "harness/schedule.h"
#include "harness/store.h"
#include "harness/world.h"

#include <stdio.h>

enum {
    RUN_START_SECONDS = 60,  /* for servers and clients to come up, on a machine however busy */
    RUN_SILENT_SECONDS = 20, /* that an adapter may be silent at its start */
    RUN_HELD_MAX = 64,
};

enum run_client_state {
    RUN_CLIENT_STARTING,
    RUN_CLIENT_READY,  /* connected, waits for BEGIN */
    RUN_CLIENT_ACTIVE, /* its program runs */
    RUN_CLIENT_DONE,   /* its program is finished */
    RUN_CLIENT_GONE,   /* killed: by a fault, or because the time was up */
};

/* A lease whose promised end is on the client's clock: when that changes its rate, it moves. */
struct run_lease {
    bool held;
    bool fenced;
    struct history_value value;
    int64_t fence;
    int64_t until_own_ns; /* client's monotonic clock */
};

struct run;
struct run_replica;

/* A process that may have to wait for a processor, when it was looked at last. */
struct run_waiter {
    pid_t pid;
    int64_t waited_ns; /* in all; -1: unknown */
    int64_t looked_ns;
    pid_t held_up;  /* who was kept from running then: it, or what it has started; 0: nobody */
    int64_t ran_ns; /* by that one, until then */
};

struct run_late {
    struct lateness lateness;
    struct loop_alarm alarm;
    int64_t sample_ns; /* when others are looked at next */
};

enum run_clock_state {
    CLOCK_PROVED, /* nothing is to be shown */
    CLOCK_TRIED,  /* before the run: does it move at all? */
    CLOCK_ASKED,  /* a fault moved it, and its program is asked what it sees */
};

/* The wall clock of an adapter's program, where the plan will move it. */
struct run_adapter_clock {
    struct clock_page *page; /* what it should show; NULL: it is not moved */
    struct vdso vdso;        /* for programs that go round libc */
    uint8_t state;           /* enum run_clock_state */
    bool waits;              /* for an answer that a sound clock could not give */
    int32_t fault;           /* that moved it last */
    int64_t set_ns;          /* when: older answers say nothing */
    int64_t since_ns;        /* ASKED: the fault began then, ... */
    int64_t off_ns;          /* ... and it was so far off before */
    char path[NODE_PATH_BYTES];
};

struct run_client {
    struct run *run;
    int32_t index;
    uint8_t state;    /* enum run_client_state */
    uint32_t freezes; /* active faults that keep it frozen */
    pid_t pid;        /* 0: none (any more), or an adapter's, which adapter.h keeps */
    int fd;
    int64_t frozen_ns; /* since when */
    struct loop_watch watch;
    struct run_waiter waiter;
    struct run_lease *leases; /* one per resource */
    struct run_adapter_clock adapter_clock;
};

/* A message that a proxy holds because its node was frozen before the reply was out. */
struct run_held {
    int32_t client;
    int32_t node;
};

struct run_node {
    struct site site;
    uint32_t freezes;      /* active faults that keep it frozen */
    uint32_t downs;        /* active faults that keep it down */
    int32_t down_fault;    /* the fault that took it down last */
    int64_t start_ns;      /* when its server was started again; 0: it has been up since */
    int64_t down_ns;       /* when, ... */
    int64_t down_since_ns; /* ... or not before this; 0: exactly then */
    int64_t order_ns;      /* distant: when the last order was sent */
    uint8_t down_cause;    /* CAUSE_RESTART or CAUSE_FAILOVER */
    int64_t frozen_ns;     /* since when */
    int64_t rate_ppm;      /* of its wall clock */
    int32_t clock_fault;   /* a jump whose effect is still to be looked at, or HISTORY_NO_FAULT */
    int32_t refuse_fault;  /* the fault that makes it refuse writes, or HISTORY_NO_FAULT */
    int64_t offset_ns;     /* of its clock, expected: the sum of all jumps */
    struct run_waiter waiter;
};

/* What stands beside a node and watches the primary, and how we hear of what it does: a connection
 * of ours to the node that it ends when it tells the node to follow or to serve. */
struct run_sentinel {
    struct site site; /* zeros: there is none beside this node */
    struct admin ear;
};

/* What a fault did so far. */
struct run_fault {
    bool shown;                          /* its effect was recorded */
    bool active;                         /* it has begun and not ended */
    bool links_pending;                  /* ended, but the proxies may still count what it did */
    int64_t begun_ns;                    /* loop time */
    int64_t measured_ns[LOCK_NODES_MAX]; /* CLOCK_RATE: each node's offset at the beginning */
};

struct run {
    const struct plan *plan;
    const struct world_options *options;
    struct history_header *header;
    struct recorder *recorder;
    uint64_t recorded; /* events handed over */
    struct text *why;

    struct result outcome; /* of the run; once it failed, everything ends */
    bool over;             /* stop at once: failed, interrupted or at the first violation */
    bool stopped;          /* ... by should_stop */
    const struct run_client *spinner; /* whose lock asks to be woken at once for ever, or NULL */
    bool looping;                     /* the loop is made */
    bool going;                       /* events count from start_ns on */
    int64_t start_ns;                 /* loop time of the history's zero: when the clients begin */
    int64_t prepared_ns; /* ... from which keys and adapters count, who were there before */

    struct guard guard;
    char password[PASSWORD_BYTES]; /* of servers that are children of ours */
    struct arena arena;
    uv_loop_t loop;
    uv_signal_t signals[2];
    struct loop_alarm schedule_alarm;
    struct loop_alarm keys_alarm;
    struct loop_alarm nodes_alarm; /* looks at nodes that start */
    struct loop_alarm links_alarm; /* looks for late effects of links' faults */
    struct loop_alarm phase_alarm;
    struct run_late late;
    struct loop_alarm agents_alarm; /* hears agents, and is heard */

    struct schedule schedule;
    /* What the schedule said and is not carried out yet: in order, by whoever began. */
    bool acting;
    uint32_t waiting_count;
    struct schedule_action waiting[2 * SCENARIO_FAULTS_MAX]; /* each fault begins and ends once */
    struct run_fault faults[SCENARIO_FAULTS_MAX];
    int32_t node_count;
    struct run_node nodes[LOCK_NODES_MAX];
    struct remote *remotes; /* one a node; NULL: nodes are children of ours */
    struct run_bare *bares;
    struct loop_watch agent_watches[LOCK_NODES_MAX];
    struct run_replica *replicas[LOCK_NODES_MAX]; /* NULL where no failover is planned */
    struct run_sentinel sentinels[LOCK_NODES_MAX];
    int32_t told;                    /* with nodes.replicas: whose keys are the store's, ... */
    int32_t before_told;             /* ... and whose were before it */
    int32_t follows[LOCK_NODES_MAX]; /* whom each node was told to follow; itself */
    int nowhere_fd; /* a port that is ours and refuses connections: stands for a node that is away
                     */
    struct address nowhere;
    int32_t client_count; /* without the auditor, whose index it is */
    struct run_client *clients;
    struct client_controls *controls;
    struct adapter *adapter;
    FILE *trace;        /* wire.log, or NULL */
    size_t trace_bytes; /* so far */
    bool declared;      /* the adapter's library has said what it is */
    struct proxy *proxy;
    struct proxy *between; /* of the links between nodes; NULL: they do not speak to each other */
    uint16_t *peer_ports;  /* port * node_count + node; where they listen to each other */
    struct keys *keys;
    struct store_cell *cells;
    const char **resource_names;
    uv_tcp_t loading[NODE_ERRORS]; /* listen, and answer all alike; see run_loading.c */
    int loading_port[NODE_ERRORS]; /* 0: not needed by the plan */
    uint32_t held_count;
    struct run_held held[RUN_HELD_MAX];
    /* The message whose passing pulled a trigger, while its actions are carried out. */
    const struct proxy_message *message;
    struct proxy_answer answer;
};

/* ---- run.c ---- */
void run_fail(struct run *run, struct result result, const char *why);
void run_emit(struct run *run, const struct history_event *event);
/* The same for one whose times count from prepared_ns. */
void run_emit_early(struct run *run, const struct history_event *event);
int64_t run_true_ns(const struct run *run);
/* Turn the loop once; waits at most until an alarm. */
void run_turn(struct run *run);

/* ---- run_peers.c ---- */
/* Nodes that speak to each other do so through proxies: those come first, then they are started. */
/* Whether nodes speak to each other. */
bool run_talks(const struct run *run);
MUST_USE struct result run_peers_start(struct run *run, struct text *why);
/* While they are waited for: let pass what they tell each other. */
void run_peers_turn(struct run *run);
/* Which links between nodes a fault touches, and which way: as proxy_fault_begin takes them. */
void run_peers_touched(const struct run *run, const struct fault *fault, uint8_t *links);

/* ---- run_check.c ---- */
/* Has the real world such servers, can they be done what the plan does, and is there room? */
MUST_USE struct result run_check(const struct run *run, struct text *why);

/* ---- run_client.c ---- */
MUST_USE struct result run_clients_start(struct run *run, struct text *why);   /* before the loop */
MUST_USE struct result run_clients_connect(struct run *run, struct text *why); /* to the proxies */
void run_client_begin(struct run *run, int32_t client);
bool run_clients_are(const struct run *run, enum run_client_state state_min);
void run_clients_stop(struct run *run); /* the time is up: those that are not done are killed */
void run_client_freeze(struct run *run, int32_t client);
void run_client_thaw(struct run *run, int32_t client);
void run_client_kill(struct run *run, int32_t client, enum history_cause cause);
void run_client_clock(struct run *run, int32_t client, uint32_t fault, int64_t jump_ns,
                      int64_t rate_ppm);
void run_client_slow(struct run *run, int32_t client, int64_t slow_ns, int64_t jitter_ns);
void run_clients_end(struct run *run);
struct store_answer run_store(struct run *run, enum history_f f, uint32_t resource,
                              const struct history_value *value, int64_t fence);

/* ---- run_adapter.c ---- */
MUST_USE struct result run_adapters_start(struct run *run, struct text *why);

/* ---- run_adapter_clock.c ---- */
const char *const *run_adapter_environment(void *data, int32_t client);
/* Before the run: does each clock that the plan moves move? One that does not ends the run. */
void run_adapter_clocks_try(struct run *run);
/* Ask again those that are still to show what a fault did. */
void run_adapter_clocks_look(struct run *run);
void run_adapter_clocks(void *data, int32_t client, const struct adapter_clocks *said);
void run_adapter_clock(struct run *run, int32_t client, uint32_t fault, int64_t jump_ns,
                       int64_t rate_ppm);

/* ---- run_trace.c: only with an adapter ---- */
void run_trace_start(struct run *run);
void run_trace_shown(void *data, const struct keys_shown *shown);
void run_trace_heard(void *data, int32_t client, const char *said, size_t bytes);
void run_trace_end(struct run *run);

/* ---- run_late.c ---- */
/* What is late only because others keep the processors busy cannot be judged: where we may, we and
 * all that we start go first. */
void run_late_hurry(void);
/* A node answers that was started then. */
void run_late_node(struct run *run, int32_t node, int64_t start_ns);
MUST_USE struct result run_late_start(struct run *run, struct text *why);
/* For how long this process was stopped so far: whoever waits waits so much longer. */
int64_t run_lost_ns(const struct run *run);

/* ---- run_fault.c ---- */
void run_faults_watch(struct run *run); /* tell clients and alarms what the schedule waits for */
void run_faults_act(struct run *run, const struct schedule_actions *actions);
void run_faults_time(struct run *run);
void run_faults_heal(struct run *run);
void run_faults_links(struct run *run); /* record effects that links showed meanwhile */
void run_probe(struct run *run, int32_t client, enum probe_point point);
struct proxy_answer run_arrival(void *data, const struct proxy_message *message);
struct proxy_answer run_reply(void *data, const struct proxy_message *message);
/* Record that fault `k` begins, shows its effect or ends, with what was asked and observed. */
struct run_sight {
    enum history_f f;
    int32_t client; /* or HISTORY_NOBODY */
    int32_t node;   /* or HISTORY_NO_NODE */
    int64_t observed;
    int64_t since_ns; /* loop time: not before this; 0: when the node's order was sent, if ever */
    int64_t at_ns;    /* loop time; 0: now */
};
void run_fault_record(struct run *run, uint32_t k, const struct run_sight *sight);
/* Record what was observed of it at a node. */
void run_fault_show(struct run *run, uint32_t k, int32_t node, int64_t observed);
const struct fault *run_fault_at(const struct run *run, uint32_t k);

/* Record what was observed of it at a client. */
void run_fault_show_client(struct run *run, uint32_t k, int32_t client, int64_t observed);

/* ---- run_strikes.c ---- */
/* Is it carried out by the proxies, on links? */
bool run_strike_is_link(const struct fault *fault);
void run_strike_client(struct run *run, uint32_t k, int32_t client);
void run_spare_client(struct run *run, uint32_t k, int32_t client);
void run_strike_node(struct run *run, uint32_t k, int32_t node);
void run_spare_node(struct run *run, uint32_t k, int32_t node);

/* ---- run_node.c ---- */
MUST_USE struct result run_nodes_start(struct run *run, struct text *why);
int64_t run_start_seconds(const struct run *run); /* for its servers to come up, and come back */
MUST_USE struct result run_nodes_wait(struct run *run, struct text *why); /* all up, at first */
/* Which shims a node needs: only what the plan's faults will do to it. */
void run_node_needs(const struct run *run, int32_t index, struct node_options *options);
void run_node_down(struct run *run, uint32_t k, int32_t node);
void run_node_restart(struct run *run, uint32_t k, int32_t node);
void run_node_fail_over(struct run *run, uint32_t k, int32_t node);
void run_node_promoted(struct run *run, int32_t node); /* by itself */
void run_node_freeze(struct run *run, uint32_t k, int32_t node);
void run_node_thaw(struct run *run, uint32_t k, int32_t node);
void run_nodes_look(struct run *run); /* at those that start; reports those that died */
bool run_nodes_up(const struct run *run);
void run_nodes_end(struct run *run);

/* ---- run_clock.c ---- */
void run_clock_jump(struct run *run, uint32_t k, int32_t node);
void run_clock_rate(struct run *run, uint32_t k, int32_t node, int64_t rate_ppm);
/* Look at the jump that is still to be looked at (run_node.clock_fault); the node is up. */
void run_clock_show(struct run *run, int32_t node);

/* ---- run_cluster.c ---- */
MUST_USE struct result run_cluster_open(struct run *run, struct text *why);
/* Where node `index` is; NULL: a child of ours. */
const struct site_place *run_cluster_place(struct run *run, int32_t index,
                                           struct site_place *place);
/* Our address as the nodes see it, with a port of the kernel's choice. */
struct address run_cluster_own(const struct run *run);
MUST_USE struct result run_cluster_watch(struct run *run, struct text *why); /* with the loop */
void run_cluster_beat(struct run *run); /* fails the run if an agent is lost */
/* Servers that are not ours: are the names free that we will use, and how were they set up? */
MUST_USE struct result run_cluster_borrow(struct run *run, struct text *why);
void run_cluster_finish(struct run *run); /* clocks again, logs, borrowed servers as they were */
void run_cluster_close(struct run *run);
/* An order is sent to a node now; ... */
void run_order_sent(struct run *run, int32_t node);
/* ... and was confirmed: everything waited meanwhile, as the history says. */
void run_order_done(struct run *run, int32_t node);

/* ---- run_server.c ---- */
/* Ask each node what it runs, for the header; refuses different ones. */
MUST_USE struct result run_servers_look(struct run *run, struct text *why);

/* ---- run_replica.c ---- */
MUST_USE struct result run_replicas_start(struct run *run, struct text *why);
/* The node dies and its replica stands in its place; false if there is none. */
bool run_replica_promote(struct run *run, int32_t node);
void run_replicas_end(struct run *run);

/* ---- run_follow.c ---- */
/* Whether nodes follow one of them; whether what happens at this one happens to the store. */
bool run_follows(const struct run *run);
bool run_is_told(const struct run *run, int32_t node);
MUST_USE struct result run_follow_start(struct run *run, struct text *why);
/* Tell those that can be told now whom to follow. */
void run_follow_look(struct run *run);
/* A node is up again and no client has reached it yet. */
void run_follow_back(struct run *run, int32_t node);
void run_follow_tell(struct run *run, int32_t node, int32_t master);
/* One that is not told to be takes itself for a primary: what is set there is lost. */
bool run_follow_is_aside(const struct run *run, int32_t node);
/* It was told by others to serve. */
void run_follow_promoted_itself(struct run *run, int32_t node);
/* It takes over; false: nothing was to be done. Once it is watched, what the one before it had is
 * lost: back->lost keys are in neither. */
bool run_follow_promote(struct run *run, int32_t node);
void run_follow_promoted(struct run *run, struct keys_return *back);

/* ---- run_sentinel.c ---- */
/* Whether sentinels promote one of those that follow. */
bool run_is_watched(const struct run *run);
/* Their ports, before there are proxies; and they themselves, when all nodes are in step. */
MUST_USE struct result run_sentinels_init(struct run *run, struct text *why);
MUST_USE struct result run_sentinels_start(struct run *run, struct text *why);
/* Has one told a node to serve, or to follow another? Before a command goes to any, too. */
void run_sentinels_look(struct run *run);
/* A node's process is gone; it is up again as what it was, and no client has reached it yet. */
void run_sentinels_gone(struct run *run, int32_t node);
void run_sentinels_back(struct run *run, int32_t node);
void run_sentinels_end(struct run *run);

/* ---- run_loading.c: a node that answers all alike ---- */
/* Whether the fault's error is said by what stands in for the node. */
bool run_loading_answers(const struct fault *fault);
MUST_USE struct result run_loading_start(struct run *run, struct text *why);
void run_loading_set(struct run *run, uint32_t k, int32_t node, bool loading);

/* ---- run_order.c: faults that are an order to the server; one that is not up is left alone ----
 */
void run_order_refuse(struct run *run, uint32_t k, int32_t node);
void run_order_accept(struct run *run, uint32_t k, int32_t node);
void run_order_evict(struct run *run, uint32_t k, int32_t node);
void run_order_flush_scripts(struct run *run, uint32_t k, int32_t node);

#endif
