/*
 * agent.h: `picklock node`: looks after the servers of one node, as a harness orders.
 *
 *     agent_serve(&options, why);        until SIGTERM or SIGINT
 *
 * It listens at one address and takes orders from whoever knows the secret (wire.h), from one
 * harness at a time: a second one is refused and told by whom the node is in use. Everything that
 * is not a well made message of ours is refused, and logged on stderr.
 *
 * A node is found without a server and is left so: the servers of a session live in a folder of
 * their own and end with it. A session ends when its connection does, and when its harness says
 * nothing for AGENT_LEASE_MS: paused, cut off or dead, it no longer rules here. Within 5 s from its
 * last word nothing runs, nothing is stopped, no clock is moved and the folder is gone.
 */
#ifndef HARNESS_REAL_AGENT_H
#define HARNESS_REAL_AGENT_H

#include "harness/cluster.h"
#include "servers/address.h"

enum {
    AGENT_LEASE_MS = 4000,
    AGENT_ALIVE_MS = 200,     /* how often each side says that it is there */
    AGENT_SILENCE_MS = 1000,  /* how long a harness waits for that */
    AGENT_GREETING_MS = 2000, /* how long a stranger may take to become somebody */
    AGENT_GUESTS_MAX = 16,
};

struct agent_options {
    struct address address;     /* where it listens, and nowhere else */
    const char *data_directory; /* for the servers' folders */
    const char *server;         /* the redis-server, or NULL */
    const struct cluster_secret *secret;
};

/* Serve until a signal asks for the end: RESULT_OK then. ERROR_ENVIRONMENT where it cannot. */
MUST_USE struct result agent_serve(const struct agent_options *options, struct text *why);

#endif
