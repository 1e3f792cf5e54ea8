/*
 * links.h: links to N nodes: sends the core's commands, brings back what came of them.
 *
 *     lock_links_open(&options, &links, why)
 *     lock_links_send(links, node_index, &(struct lock_request){...})
 *         ... loop runs ...                  -> options.replied(...) or options.broken(...)
 *     lock_links_close(links, closed, data)
 *
 * The lowest layer of the driver: it knows commands and replies, but no lock. Over it stand
 * locks.h (many locks on one set of links) and blocking.h (calls that wait). It runs on the
 * caller's libuv loop and in that loop's thread; callbacks come from inside uv_run, never from
 * inside lock_links_send.
 *
 * Pipelined: what is sent in one turn of the loop leaves in one write a node, just before the loop
 * waits. A link keeps order. A link that breaks, or cannot be made, is tried again after a delay
 * that doubles from reconnect_ns_min to reconnect_ns_max; no command is ever sent twice.
 */
#ifndef LOCKCORE_DRIVERS_LINKS_H
#define LOCKCORE_DRIVERS_LINKS_H

#include "base/result.h"
#include "base/why.h"
#include "lockcore/lock.h"

struct uv_loop_s; /* libuv's uv_loop_t */
struct lock_links;
struct connection_kind;

/* One command on one resource. */
struct lock_request {
    const char *resource; /* borrowed for the call */
    size_t resource_bytes;
    uint64_t tag; /* the caller's own; comes back with the reply */
    const struct lock_command *command;
};

/* What a node answered. Borrowed for the call. */
struct lock_answer {
    uint32_t node_index;
    uint64_t tag;
    bool pushed;                 /* told later on, as the command asked for: LOCK_EVENT_PUSH */
    struct lock_command command; /* as it was sent */
    struct lock_reply reply;
};

struct lock_links_options {
    struct uv_loop_s *loop;       /* kept until closed */
    const char *const *addresses; /* node_count of "host:port", "[v6]:port" or "/unix/socket" */
    uint32_t node_count;          /* 1..LOCK_NODES_MAX */
    const struct connection_kind *kind; /* of the nodes; NULL: redis-servers */
    int64_t connect_timeout_ns;         /* 0: 1 s */
    int64_t reconnect_ns_min;           /* 0: 10 ms */
    int64_t reconnect_ns_max;           /* 0: 1 s */
    void *context;                      /* handed to the callbacks */

    /* A node answered. May send. */
    void (*replied)(void *context, const struct lock_answer *answer);

    /* What the node still owed will never come: its link broke, or was down when something was
     * sent to it (then once a turn of the loop, however much was sent). May send. */
    void (*broken)(void *context, uint32_t node_index);
};

/*
 * Make the links and start to connect. What is sent before a link is up waits for it.
 *
 * Fails with ERROR_USAGE (an address is none) or ERROR_IO (no memory, or the loop refuses).
 */
LOCKCORE_API MUST_USE struct result lock_links_open(const struct lock_links_options *options,
                                                    struct lock_links **links, struct text *why);

/* Queue one command for a node. It leaves at the end of this turn of the loop. Cannot fail: a node
 * that is out of reach is reported by `broken`. */
LOCKCORE_API void lock_links_send(struct lock_links *links, uint32_t node_index,
                                  const struct lock_request *request);

/* Write now what is queued, as far as the sockets take it; for a caller about to stop itself. */
LOCKCORE_API void lock_links_flush(struct lock_links *links);

/* Read now what has arrived and report it, without waiting. To be called before a timer is
 * carried into a lock, which must not count as missing what is already here. */
LOCKCORE_API void lock_links_drain(struct lock_links *links);

/* Whether the link to a node is up. */
LOCKCORE_API bool lock_links_up(const struct lock_links *links, uint32_t node_index);

/* Close all links; `closed` (or NULL) is called from the loop when the memory is given back. After
 * this call no other callback comes. */
LOCKCORE_API void lock_links_close(struct lock_links *links, void (*closed)(void *data),
                                   void *data);

#endif
