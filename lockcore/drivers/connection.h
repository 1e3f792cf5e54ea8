/*
 * connection.h: one connection to a node, of whatever kind of server: a table of functions.
 *
 *     open -> progress ... CONNECTION_UP -> add, write; read, next, next ...  -> close
 *
 * links.h drives it: it waits for the descriptor, gives up, tries again and remembers what is owed.
 * A kind writes the core's commands as its servers want them and reads their replies; it never
 * blocks. Redis' is hiredis.c; others stand in servers/KIND/.
 */
#ifndef LOCKCORE_DRIVERS_CONNECTION_H
#define LOCKCORE_DRIVERS_CONNECTION_H

#include "lockcore/drivers/address.h"
#include "lockcore/lock.h"

struct lock_request; /* links.h */

enum connection_progress {
    CONNECTION_CONNECTING_READS,  /* not up; go on when it can be read ... */
    CONNECTION_CONNECTING_WRITES, /* ... or written */
    CONNECTION_UP,
    CONNECTION_BROKEN,
};

enum connection_next {
    CONNECTION_REPLY, /* one more reply was read */
    CONNECTION_PUSH,  /* ... or something that was asked for earlier (LOCK_EVENT_PUSH) */
    CONNECTION_EMPTY, /* nothing more has arrived */
    CONNECTION_GARBAGE,
};

/* A push says which command it belongs to; a reply answers the oldest that is owed. */
struct connection_said {
    struct lock_reply reply;
    struct lock_command command; /* PUSH */
    uint64_t tag;                /* PUSH: of the request */
};

struct connection_kind {
    const char *name;

    /* Bytes that all connections of one set of links share, zero at first: for what is made once
     * for all nodes. */
    size_t shared_bytes;

    /* What a lock has at the node may end with the connection: that it broke is told also when
     * nothing was owed. */
    bool holds;

    /* Begin to connect; NULL if the system refuses at once. The first wait is for writing. */
    void *(*open)(const struct lock_address *address, void *shared);

    /* Where it waits: the same for its whole life (a library that changes sockets: an epoll of its
     * own). */
    int (*fd)(const void *connection);

    /* While it connects: the descriptor is ready. */
    enum connection_progress (*progress)(void *connection);

    /* Append a request, also while it connects. False: no memory, or too much waits already. What
     * was appended leaves with `write`, which comes when it is up. */
    bool (*add)(void *connection, const struct lock_request *request);

    /* Write what the socket takes. False: it is broken. `full`: something remains. */
    bool (*write)(void *connection, bool *full);

    /* Read what has arrived; false if the other side is gone. */
    bool (*read)(void *connection);

    /* Take the next reply out of what was read: the answer to `asked`, or NULL if nothing is owed.
     */
    enum connection_next (*next)(void *connection, const struct lock_command *asked,
                                 struct connection_said *said);

    void (*close)(void *connection);

    /* How long it may be left alone, in ns (TIME_NEVER: as long as nothing comes), and what is done
     * then: pings of a session. False: it is broken. NULL: it needs nothing. */
    int64_t (*patience_ns)(const void *connection);
    bool (*tend)(void *connection);
};

/* `progress` of a kind whose descriptor is the socket itself. */
enum connection_progress connection_socket_progress(int fd);

extern const struct connection_kind connection_hiredis;

#endif
