/*
 * cluster.h: nodes that are there already: each under an agent (`picklock node`), or a bare server.
 *
 *     cluster_read("cluster.yaml", &cluster, why);       names are resolved here, once
 *     cluster_fits(&cluster, &scenario, why);            before anything runs
 *
 *     nodes:
 *       - agent: node1:7700
 *       - redis: 10.0.0.9:6379
 *       - {redis: db:6380, tls: {ca: ca.crt, cert: me.crt, key: me.key, sni: db.example}}
 *     secret: /run/secrets/picklock
 *
 * A bare node is somebody else's server: only its links and the clients can be struck.
 */
#ifndef HARNESS_CLUSTER_H
#define HARNESS_CLUSTER_H

#include "base/result.h"
#include "base/text.h"
#include "harness/scenario.h"

enum {
    CLUSTER_SECRET_BYTES_MIN = 16,
    CLUSTER_SECRET_BYTES_MAX = 1024,
    CLUSTER_NAME_BYTES = 128,
    CLUSTER_PORT = 7700, /* of an agent, where none is given */
    CLUSTER_REDIS_PORT = 6379,
};

struct cluster_secret {
    uint8_t bytes[CLUSTER_SECRET_BYTES_MAX];
    uint32_t length;
};

struct cluster_node {
    bool bare;
    char name[CLUSTER_NAME_BYTES]; /* as the file says it */
    uint32_t ip;                   /* in network order */
    uint16_t port;
    struct secure *secure; /* of a bare one that speaks TLS (secure.h); NULL: it does not */
};

struct cluster {
    int32_t count;
    struct cluster_node nodes[LOCK_NODES_MAX];
    struct cluster_secret secret; /* empty where all nodes are bare */
};

/*
 * Read the file. ERROR_SYNTAX or ERROR_SCHEMA with FILE:LINE: where it is wrong; ERROR_USAGE where
 * the secret or a certificate is not fit; ERROR_ENVIRONMENT where a name cannot be resolved, or a
 * library for TLS is missing.
 */
MUST_USE struct result cluster_read(const char *path, struct cluster *cluster, struct text *why);

/* "HOST" or "HOST:PORT" as an IPv4 address; a name is looked up, once, now. */
MUST_USE struct result cluster_resolve(const char *name, uint16_t port, struct cluster_node *node,
                                       struct text *why);

/* Can this scenario run on these nodes? ERROR_SCHEMA says what it needs and they lack. */
MUST_USE struct result cluster_fits(const struct cluster *cluster, const struct scenario *scenario,
                                    struct text *why);

/*
 * Is an agent gone? Tried with a connection to each, for at most a second. `why` names the first.
 */
bool cluster_lost(const struct cluster *cluster, struct text *why);

#endif
