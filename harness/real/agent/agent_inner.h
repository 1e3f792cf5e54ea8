/*
 * agent_inner.h: what the files of agent.h share; nobody else includes it.
 *
 *     agent.c         connections: greetings, leases, who is the holder
 *     agent_order.c   carries out what the holder orders
 */
#ifndef HARNESS_REAL_AGENT_INNER_H
#define HARNESS_REAL_AGENT_INNER_H

#include "harness/real/agent/agent.h"
#include "harness/real/agent/order.h"
#include "harness/real/agent/wire.h"
#include "harness/real/node/node.h"

enum guest_phase { GUEST_FREE, GUEST_STRANGER, GUEST_GREETED, GUEST_HOLDER };

/* A connection. */
struct guest {
    uint8_t phase; /* enum guest_phase */
    int fd;
    struct address address;
    int64_t since_ns;
    int64_t heard_ns;
    int64_t told_ns;
    struct wire wire;
    char name[ORDER_TEXT_BYTES];
    size_t filled;
    uint8_t bytes[WIRE_FRAME_BYTES_MAX];
};

struct agent {
    const struct agent_options *options;
    int listen_fd;
    struct guest guests[AGENT_GUESTS_MAX];
    struct guest *holder;                /* or NULL */
    char password[PASSWORD_BYTES];       /* of the session's servers */
    char directory[NODE_PATH_BYTES / 2]; /* of the session; "": none */
    bool prepared[ORDER_SLOTS];
    struct node nodes[ORDER_SLOTS];
    uint64_t refused; /* this second */
    int64_t refused_ns;
};

/* Send a frame to a guest; false: the connection is over. */
bool agent_send(struct guest *guest, enum wire_type type, const struct text *body);

/* Carry the holder's order out and answer it; false: the connection is over. */
bool agent_obey(struct agent *agent, struct guest *guest, const struct order *order);

/* Look at servers that start, and at those that died; tell the holder. False: none is starting. */
bool agent_look(struct agent *agent);

/* End all servers, remove the folder. */
void agent_clear(struct agent *agent);

/* A line of the log. */
__attribute__((format(printf, 1, 2))) void agent_say(const char *format, ...);

#endif
