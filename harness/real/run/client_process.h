/*
 * client_process.h: one client of our own: the actor, in a process of its own.
 *
 *     run's process  <-- messages over a socket pair -->  client's process  <-- RESP --> proxies
 *
 *     CONNECT ->            <- CONNECTED       all links are up
 *     BEGIN ->              <- RECORD ...      what goes into the history, with its true time
 *                           <- STORE           the guarded store is asked, it lives with the run
 *     ANSWER ->
 *                           <- PROBE           a watched probe point is reached: it stands there
 *     PASS ->                                  and goes on
 *     CLOCK ->              <- CLOCK_SEEN      its clock was changed: what it shows now
 *                           <- DONE            its program is finished; releases may go on
 *
 * The process is forked without exec, before the run has a loop, and does nothing but run the
 * actor over lockcore's driver. It reads its clocks through a page that the run writes: a jump
 * moves the wall clock, a rate both. Because it stands still at a probe point until it is let
 * pass, a fault strikes exactly there, however busy the machine is.
 */
#ifndef HARNESS_REAL_CLIENT_PROCESS_H
#define HARNESS_REAL_CLIENT_PROCESS_H

#include "harness/actor.h"
#include "harness/real/preload/clock_page.h"
#include "harness/store.h"

#include <stdatomic.h>
#include <sys/types.h>

/* What the run changes while a client runs; shared memory. */
struct client_control {
    struct clock_page monotonic; /* sound: CLOCK_MONOTONIC */
    struct clock_page wall;      /* sound: CLOCK_REALTIME */
    _Atomic int64_t slow_ns;     /* before every step, ... */
    _Atomic int64_t slow_jitter_ns;
    _Atomic int64_t slow_steps; /* counted by the client */
};

struct client_controls {
    _Atomic uint32_t probes_watched; /* struct schedule's */
    struct client_control clients[];
};

enum client_message_type {
    CLIENT_MESSAGE_CONNECT,
    CLIENT_MESSAGE_BEGIN,
    CLIENT_MESSAGE_ANSWER,
    CLIENT_MESSAGE_PASS,
    CLIENT_MESSAGE_CLOCK,
    CLIENT_MESSAGE_CONNECTED,
    CLIENT_MESSAGE_RECORD,
    CLIENT_MESSAGE_STORE,
    CLIENT_MESSAGE_PROBE,
    CLIENT_MESSAGE_CLOCK_SEEN,
    CLIENT_MESSAGE_DONE,
    CLIENT_MESSAGE_LIVELOCK,
    CLIENT_MESSAGE_FAILED,
};

enum { CLIENT_MESSAGE_TEXT_BYTES = 160, CLIENT_RESOURCE_NAME_BYTES = 16 };

/* One packet, always of this size. */
struct client_message {
    uint32_t type;  /* enum client_message_type */
    uint32_t point; /* PROBE: enum probe_point; CLOCK, CLOCK_SEEN: number of the fault */
    union {
        uint16_t ports[LOCK_NODES_MAX]; /* CONNECT: its proxies, by node */
        struct history_event record;    /* RECORD: time_ns is CLOCK_MONOTONIC, until_ns the
                                           client's own monotonic clock */
        struct {
            uint32_t f; /* HISTORY_READ or HISTORY_WRITE */
            uint32_t resource;
            struct history_value value;
            int64_t fence;
        } store;
        struct store_answer answer;
        struct {
            int64_t monotonic_ns; /* what its clocks show, less what the machine's do */
            int64_t wall_ns;
        } seen;
        char text[CLIENT_MESSAGE_TEXT_BYTES]; /* FAILED */
    } u;
};

struct client_process_options {
    const struct plan *plan; /* the child has its copy */
    int32_t index;           /* client_count: the auditor */
    struct client_controls *controls;
    const char *log_path; /* its standard error */
};

/* Fork it. `fd` is the run's end of the socket pair, non-blocking. */
MUST_USE struct result client_process_start(const struct client_process_options *options,
                                            pid_t *pid, int *fd, struct text *why);

/* Send to a client. False if it is dead or does not take any more. */
bool client_message_send(int fd, const struct client_message *message);

/* Memory shared with children that are forked later; NULL if there is none to be had. */
struct client_controls *client_controls_map(int32_t client_count);

void client_controls_unmap(struct client_controls *controls, int32_t client_count);

/* The name of a resource's key: "r0". */
void client_resource_name(uint32_t resource, char name[CLIENT_RESOURCE_NAME_BYTES]);

#endif
