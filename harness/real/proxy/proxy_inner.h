/*
 * proxy_inner.h: what the files of proxy.h share; nobody else includes it.
 *
 *     proxy.c             start, stop, the loop, what the run asks
 *     proxy_fault.c       faults on links and what they did
 *     proxy_connection.c  listeners; a connection's beginning and end
 *     proxy_pipe.c        bytes in, whole messages out: one direction of a connection
 *     proxy_between.c     links between nodes: who speaks, and that nothing else is read of it
 *     proxy_message.c     whole messages: commands under way, and what callbacks say of them
 */
#ifndef HARNESS_REAL_PROXY_INNER_H
#define HARNESS_REAL_PROXY_INNER_H

#include "base/random.h"
#include "harness/real/proxy/proxy.h"

enum {
    PIPE_BYTES_FIRST = 16 << 10,
    PIPE_BYTES_MAX = 2 * WIRE_MESSAGE_BYTES_MAX, /* then the sender has to wait */
    PIPE_MARKS_MAX = 1 << 20,
    PROXY_EVENTS_MAX = 128,
    PROXY_ROUNDS_MAX = 16, /* turns of our epoll in one turn of the loop */
    PROXY_EVENTS_FEW = 4,  /* a turn with less is the last */
    PROXY_BACKLOG = 511,
};

/* What an epoll event is about. */
enum source_type { SOURCE_LISTENER, SOURCE_CLIENT, SOURCE_NODE, SOURCE_TAP };

struct proxy_source {
    uint8_t type; /* enum source_type */
};

/* A whole message that cannot pass yet. */
struct proxy_mark {
    uint32_t bytes;
    bool held;                /* by a callback's answer, until proxy_let_go */
    bool seen;                /* request: arrival() was called */
    bool delayed;             /* request: by DELAY_COMMAND already */
    bool silent;              /* request: nobody answers it */
    bool waits;               /* reply: the node has not shown yet what its command did */
    uint64_t counted;         /* bit i: fault i has counted it as held */
    int64_t due_ns;           /* 0: at once */
    struct keys_told told[2]; /* reply: what tells of its command */
};

/* One direction of a connection: data[0..ready) may be written, then come the marks' messages. */
struct proxy_pipe {
    char *data; /* owned */
    uint32_t capacity;
    uint32_t sent;            /* bytes of data that are written already */
    uint32_t ready;           /* end of what may be written */
    uint32_t parsed;          /* end of the last whole message */
    uint32_t end;             /* end of the bytes received */
    struct proxy_mark *marks; /* owned; messages between ready and parsed, a ring */
    uint32_t mark_first;
    uint32_t mark_count;
    uint32_t mark_capacity; /* a power of two */
    int64_t due_last_ns;    /* a later message is never due before an earlier one */
    bool ended;             /* the source will send nothing more */
    bool broken;            /* ... and ended with an error */
    bool dropped;           /* a fault made bytes vanish: the stream is torn */
    bool busy;              /* being worked on: a call from a callback must not begin again */
    bool full;              /* reading stopped at PIPE_BYTES_MAX */
    bool closing;           /* the source is about to end: read until it does */
};

struct proxy_connection {
    struct proxy_source client_source;
    struct proxy_source node_source;
    struct proxy_link *link;
    struct proxy_connection *next;  /* of the link */
    struct proxy_connection **slot; /* where the list points to this one */
    struct proxy_connection *dead_next;
    struct proxy_connection *flush_next;
    uint8_t flush; /* directions to be written at the end of the turn: DIRECTION_... */
    int client_fd; /* -1: gone */
    int node_fd;   /* -1: gone */
    bool connected;
    struct secure *secure;  /* how to speak TLS with the node; NULL: it does not */
    const char *password;   /* of the node; NULL: it has none */
    uint32_t password_owed; /* bytes of the node's answer to it that no client may see */
    bool greeted;           /* between nodes: it is known who speaks */
    bool opaque;            /* subscribed: replies do not answer commands any more */
    bool dead;              /* to be freed after the turn */
    bool delayed;           /* a fault made a command of it late */
    struct proxy_pipe request;
    struct proxy_pipe reply;
    struct keys_channel *channel;          /* commands that were sent; NULL without a node */
    bool waiting;                          /* in the proxy's list of those ... */
    struct proxy_connection *waiting_next; /* ... whose replies the node has to explain */
    struct keys_command *commands;         /* owned; a ring: those that are not sent yet */
    uint32_t command_first;
    uint32_t command_count;
    uint32_t command_capacity;
    _Alignas(8) char stream[]; /* the wire's own (servers/wire.h) */
};

/* Where a node tells what it does. */
struct proxy_tap {
    struct proxy_source source;
    struct proxy *proxy;
    int32_t node;
};

struct proxy_link {
    struct proxy_source source; /* of the listener */
    struct proxy *proxy;
    struct proxy_connection *connections;
    uint64_t faults; /* bit i: fault i is active here, ... */
    uint64_t back;   /* ... and strikes requests where it names replies */
    bool door;       /* it has a listener */
    int32_t client;
    int32_t node;
    int listener_fd; /* -1 while refused */
    int guard_fd;    /* keeps the port while refused; else -1 */
    uint16_t port;
    uint64_t connected; /* connections made so far */
    struct random_stream stream;
};

struct proxy_fault_state {
    bool active;
    struct proxy_fault fault;
    struct proxy_effect effect;
    uint32_t strikes;
};

struct proxy {
    struct proxy_options options;
    const struct server_wire *wire;
    int epoll_fd;
    struct loop_watch watch;
    struct loop_alarm alarm;
    int64_t now_ns;                   /* of this turn */
    const struct server_peers *peers; /* between nodes; else NULL */
    uint16_t *doors;                  /* owned; between nodes: see proxy_doors */
    struct address *node_address;     /* between nodes: port * node_count + node */
    struct proxy_connection *dead;    /* to be freed */
    struct proxy_connection *flush;   /* to be written to at the end of the turn */
    struct proxy_connection *waiting; /* with replies that the node has to explain */
    struct proxy_tap *taps;           /* owned: one a node */
    struct proxy_fault_state faults[SCENARIO_FAULTS_MAX];
    struct proxy_counts counts;
    uint32_t link_count;
    struct proxy_link links[]; /* client * node_count + node */
};

/* ---- proxy.c ---- */

/* Look at everything that waits at this time, or earlier. */
void proxy_wake_at(struct proxy *proxy, int64_t due_ns);

/* ---- proxy_between.c ---- */

/* Bytes are messages, as they come. */
extern const struct server_wire wire_between;
/* The first of them say who speaks: then the connection goes on as that one's link's. */
enum wire_cut between_greeted(struct proxy_connection *connection);

/* ---- proxy_fault.c ---- */

/* What the active faults of a link mean for one direction now. */
struct proxy_rules {
    bool holds;
    bool drops;
};

struct proxy_rules proxy_rules_of(const struct proxy_link *link, uint8_t direction);
/* A message came in: when is it due by LATENCY; 0: at once. */
int64_t proxy_latency_due(struct proxy_link *link, uint8_t direction, int64_t now_ns);
/* DELAY_COMMAND: how long this command waits; 0: not at all. */
int64_t proxy_delay_of(struct proxy_link *link, uint8_t role);
/* LOSE_REPLY: whether the reply to this command is lost. */
bool proxy_loses(struct proxy_link *link, uint8_t role);
/* Count a waiting message for every fault that holds this direction, each once. */
void proxy_count_held(struct proxy_link *link, uint8_t direction, struct proxy_mark *mark);
void proxy_count_dropped(struct proxy_link *link, uint8_t direction, uint32_t bytes);
void proxy_count_answer(struct proxy *proxy, const struct proxy_answer *answer,
                        enum proxy_action action);

/* ---- proxy_connection.c ---- */

MUST_USE struct result link_listen(struct proxy_link *link, struct text *why);
void link_accept(struct proxy_link *link);
/* Where its node listens. */
struct address link_address(const struct proxy_link *link);
/* REFUSE begins or ends. The port stays ours. */
bool link_refused(const struct proxy_link *link);
void link_refuse(struct proxy_link *link);
void link_admit(struct proxy_link *link);
/* RST towards the client; what waits is dropped; the node's side stays until all is answered. */
uint32_t connection_cut(struct proxy_connection *connection);
/* End what has nothing left to do. */
void connection_settle(struct proxy_connection *connection);
/* The node's side is over: what it owes will never come. */
void connection_node_gone(struct proxy_connection *connection);
void connection_client_gone(struct proxy_connection *connection);
void connection_free_dead(struct proxy *proxy);
/* Sent to the node, and not all explained or lost yet. */
bool connection_owes(const struct proxy_connection *connection);
/* Whatever it owes. */
void connection_end(struct proxy_connection *connection);
void connection_node_event(struct proxy_connection *connection, uint32_t events);
void connection_client_event(struct proxy_connection *connection, uint32_t events);

/* ---- proxy_pipe.c ---- */

/* Read all that the source has; pass on what may pass. */
void pipe_receive(struct proxy_connection *connection, uint8_t direction);
/* Pass on what may pass now and write it. */
void pipe_advance(struct proxy_connection *connection, uint8_t direction);
void pipe_flush(struct proxy_connection *connection, uint8_t direction);
/* Write what may pass at the end of the turn; pipe_flush_all is that end. */
void pipe_flush_later(struct proxy_connection *connection, uint8_t direction);
void pipe_flush_all(struct proxy *proxy);
/* Nothing waits, all is written. */
bool pipe_empty(const struct proxy_pipe *pipe);
void pipe_release(struct proxy_pipe *pipe);
/* Forget what waits; gives its bytes. */
uint32_t pipe_discard(struct proxy_pipe *pipe);

/* ---- proxy_message.c ---- */

/* Some replies wait until the node has shown what their commands did; ... */
void connection_wait(struct proxy_connection *connection);
/* ... and those whose commands it has shown by now may pass. */
void connection_answers(struct proxy_connection *connection);
/* A whole message came: pass it on or note that it waits. False: the connection cannot go on. */
bool request_message(struct proxy_connection *connection, const struct wire_request *request);
bool reply_message(struct proxy_connection *connection, const struct wire_reply *reply);
/* Tell the run that the oldest waiting command is about to go. */
struct proxy_answer commands_arrival(struct proxy_connection *connection);
/* Note what a callback wants with a message. */
void mark_answer(struct proxy_connection *connection, struct proxy_mark *mark,
                 const struct proxy_answer *answer);
/* A reply goes on to its client now. */
void reply_passes(struct proxy_connection *connection, const struct keys_told told[2]);
/* The oldest command that is not sent yet goes to the node now, or vanishes. */
void commands_send(struct proxy_connection *connection);
void commands_drop_waiting(struct proxy_connection *connection);

static inline struct proxy_mark *pipe_mark(const struct proxy_pipe *pipe, uint32_t i)
{
    return &pipe->marks[(pipe->mark_first + i) & (pipe->mark_capacity - 1)];
}

static inline struct keys_command *connection_command(const struct proxy_connection *connection,
                                                      uint32_t i)
{
    return &connection
                ->commands[(connection->command_first + i) & (connection->command_capacity - 1)];
}

#endif
