/*
 * adapter.h: other people's lock libraries as clients, behind the adapter protocol.
 *
 *     client program (client_step, in the run's process)
 *          |  acquire, extend, release                 ^  ok, fail, info, lost
 *          v  {"op":"acquire","id":1,...}              |  {"id":1,"type":"ok",...}
 *     adapter: sh -c "exec COMMAND", one process a client  <-- RESP through its proxies -->  nodes
 *
 * docs/ADAPTERS.md describes the protocol. The client's program runs here, in the run's loop; only
 * the library runs in the adapter. Freezing a client stops its program and its adapter's process
 * (SIGSTOP, confirmed) together. Times are stamped here, at call, return and notice.
 *
 * The probe points inside an acquire are seen on the wire: the run passes every arrival and reply
 * of a client that is an adapter to adapter_arrival and adapter_reply, and does what they answer.
 *
 *   before_send     the first SET of an attempt, or the first look of an acquire, arrived at a
 *                   proxy: it waits there
 *   before_replies  every node that is connected has answered its SET, no reply is out: the
 *                   process is stopped first, then they are put into its socket buffers
 *   after_majority  the same with the reply that makes the majority
 *
 * Life: adapter_start, then ready() for each client, adapter_begin, events, adapter_stop. All in
 * the loop's thread. A callback may call any function here but adapter_stop.
 */
#ifndef HARNESS_REAL_ADAPTER_H
#define HARNESS_REAL_ADAPTER_H

#include "harness/client.h"
#include "harness/real/process/loop.h"
#include "harness/real/proxy/proxy.h"
#include "harness/store.h"

struct adapter;

/* What a library says of itself when its adapter answers init. */
struct adapter_declaration {
    char library[HISTORY_NAME_BYTES];
    bool said;         /* "features" were given: what is not among them, it does not do */
    bool clock;        /* the adapter answers op clock, and may say when it computed a promise */
    bool one_node;     /* the library works with one node only */
    bool has_drift;    /* `drift_ppm` was given */
    uint8_t ownership; /* enum history_ownership */
    uint16_t declares; /* bit n: enum history_declares */
    int64_t drift_ppm;
    int64_t renew_every_ns; /* 0: it did not say */
    uint32_t pattern_count;
    char patterns[KEYS_PATTERNS_MAX][KEYS_NAME_BYTES_MAX]; /* of its keys: keys_pattern */
};

/* What the clocks of an adapter showed at some moment from asked_ns to heard_ns. */
struct adapter_clocks {
    int64_t wall_ns; /* since 1970 */
    int64_t mono_ns; /* since whenever */
    int64_t asked_ns;
    int64_t heard_ns;
};

struct adapter_callbacks {
    void *data;
    /* The adapter of `client` answered init. All clients of a run declare the same. */
    void (*ready)(void *data, int32_t client, const struct adapter_declaration *declaration);
    /* For the history: everything but the index is set. */
    void (*record)(void *data, const struct history_event *event);
    /* The guarded store is asked: f is HISTORY_READ or HISTORY_WRITE. */
    struct store_answer (*store)(void *data, enum history_f f, uint32_t resource,
                                 const struct history_value *value, int64_t fence);
    /* A probe point is passed. The callback may freeze or kill this client. */
    void (*probe)(void *data, int32_t client, enum probe_point point);
    /* Its program is finished. */
    void (*done)(void *data, int32_t client);
    /* What adapter_clock_ask asked for; NULL: nobody wants to know. */
    void (*clocks)(void *data, int32_t client, const struct adapter_clocks *clocks);
    /* A line of its output, as it came; NULL: nobody wants to know. */
    void (*heard)(void *data, int32_t client, const char *line, size_t bytes);
    /* An adapter wrote garbage, was silent or died: the run is over (ERROR_ENVIRONMENT). */
    void (*failed)(void *data, int32_t client, const char *why);
};

struct adapter_options {
    uv_loop_t *loop;
    struct keys *keys;         /* kept: told what clients ask their libraries for */
    struct proxy *proxy;       /* kept: the addresses, and letting go what a probe point holds */
    const char *command;       /* kept: run by sh -c "exec COMMAND" */
    const struct plan *plan;   /* kept */
    int64_t start_ns;          /* loop_now_ns() at the start of the run */
    const char *run_directory; /* kept: adapter N's stderr goes to adapter-N.log there */
    int64_t silence_ns;        /* no answer and no sign of life for so long, time frozen not
        counted, is silence; waiting for nodes is not */
    const uint32_t *probes_watched; /* kept: struct schedule's; before_replies and after_majority
                                       hold replies back only while it has their bit */
    /* Variables such as LD_PRELOAD for the adapter of one client, "NAME=VALUE", NULL ends; or
       NULL. Called while it is started. */
    const char *const *(*environment)(void *data, int32_t client);
    struct adapter_callbacks callbacks;
};

/* The auditor is a client too: its index is plan->scenario.client_count. */
MUST_USE struct result adapter_start(const struct adapter_options *options,
                                     struct adapter **adapter, struct text *why);

/*
 * Ask every adapter to shut down; what is left after a moment is told to by SIGTERM, and killed
 * after that. failed() tells of one that had to be, and of one that left a process behind. It
 * passes everything then.
 */
void adapter_stop(struct adapter *adapter);

/* To be called now and then: one that floods its stderr has failed. */
void adapter_look(struct adapter *adapter);

/* Give the memory back: after the loop's turn that follows adapter_stop. NULL is nothing. */
void adapter_free(struct adapter *adapter);

/* Start the client's program: after ready(), once. */
void adapter_begin(struct adapter *adapter, int32_t client);

/*
 * Stop program and process; returns when the process is stopped. Until adapter_thaw, which lets
 * the process go on at once and the program in the loop's next turn: nothing that it does happens
 * inside the call.
 */
void adapter_freeze(struct adapter *adapter, int32_t client);
void adapter_thaw(struct adapter *adapter, int32_t client);

/* SIGKILL; its program ends. The run records it. */
void adapter_kill(struct adapter *adapter, int32_t client);

/*
 * Make every step of the client's program late by slow_ns and up to jitter_ns more: what its
 * library answers, and what it wakes for. Its process stands still for as long, again and again,
 * and has a processor for 2 ms between. 0, 0: no longer.
 */
void adapter_slow(struct adapter *adapter, int32_t client, int64_t slow_ns, int64_t jitter_ns);

/* How often its process was seen to stand because it is slow. */
int64_t adapter_slow_stops(const struct adapter *adapter, int32_t client);

/* Ask a client's adapter for its clocks: clocks() follows; never where it declares no clock. */
bool adapter_tells_clocks(const struct adapter *adapter);
void adapter_clock_ask(struct adapter *adapter, int32_t client);

/* The process of a client, for clock pages and tests; -1 once it is gone. */
int adapter_pid(const struct adapter *adapter, int32_t client);

/* For the run's proxy callbacks; see above. A PASS leaves the decision to the run. */
struct proxy_answer adapter_arrival(struct adapter *adapter, const struct proxy_message *message);
struct proxy_answer adapter_reply(struct adapter *adapter, const struct proxy_message *message);

#endif
