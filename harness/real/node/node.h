/*
 * node.h: one server as a child process, and everything that can be done to it.
 *
 *     node_init(&node, &options, why);    its directory and its port; nothing runs yet
 *     node_start(&node, why);             poll node_ready() every millisecond or two
 *     node_crash, node_power_loss, node_shutdown; node_start again ...
 *     node_release(&node);                kill it, give the port back
 *
 *     DOWN --start--> STARTING --ready--> UP <--thaw/freeze--> FROZEN;  any --crash--> DOWN
 *
 * The port is the kernel's choice and ours for the whole life: a socket that is bound to it and
 * never listens keeps it (SO_REUSEADDR lets the server bind it too). While the server is away,
 * connections are refused, as on a real machine whose process died.
 */
#ifndef HARNESS_REAL_NODE_H
#define HARNESS_REAL_NODE_H

#include "base/random.h"
#include "harness/real/preload/clock_page.h"
#include "harness/scenario.h"
#include "servers/launch.h"
#include "servers/redis/real/admin.h"

#include <sys/types.h>

enum node_state { NODE_DOWN, NODE_STARTING, NODE_UP, NODE_FROZEN };

enum { NODE_PATH_BYTES = 512 };

struct node_options {
    uint8_t kind; /* of servers/kinds.h; one that the real world has */
    int32_t index;
    int32_t node_count;                /* of the service */
    uint8_t fsync;                     /* enum fsync_setting */
    uint8_t pooler;                    /* enum pooler_setting */
    uint8_t consensus;                 /* enum consensus_setting */
    int64_t ttl_ns;                    /* that clients ask for; 0: nobody says it */
    bool fake_clock;                   /* its wall clock will be moved: preload the clock shim */
    bool followed;                     /* its failover is planned: it can be followed */
    bool replica;                      /* its folder and log are called so; it follows who is ... */
    struct address at;                 /* ... here, if its kind's launch has a `replica` */
    bool sentinel;                     /* no node, but the sentinel beside it */
    struct server_sentinels sentinels; /* that watch the nodes */
    bool track_fsync;                  /* its power will be cut: preload the fsync shim */
    const char *run_directory;         /* absolute; for its log */
    const char *data_directory;        /* for what is of no use after the run; NULL: the same */
    const char *server;                /* the program; NULL: the kind's, from the path */
    uint32_t ip;                       /* where it listens, in network order; 0: 127.0.0.1 */
    const char *password;              /* without it, it answers nobody; kept. NULL: it is open */
};

struct node {
    struct node_options options;
    uint8_t state; /* enum node_state */
    bool furnished;
    int port;
    int port_fd;                        /* bound, never listening */
    int peer_fd[SERVER_PEER_PORTS_MAX]; /* the same of those that its fellows come to; -1: none */
    uint16_t peer_port[SERVER_PEER_PORTS_MAX];
    pid_t pid; /* 0 while DOWN */
    const struct server_launch *launch;
    struct server_process server; /* as its kind sees it */
    struct clock_page *clock;     /* owned mapping; NULL without fake_clock */
    char directory[NODE_PATH_BYTES];
    char log_path[NODE_PATH_BYTES];
    char clock_path[NODE_PATH_BYTES];
    char fsync_path[NODE_PATH_BYTES];
};

/* How what these options say is started. */
const struct server_launch *node_launch(const struct node_options *options);
MUST_USE struct result node_init(struct node *node, const struct node_options *options,
                                 struct text *why);
/* For the files of node.h: an error with errno's sentence. */
MUST_USE struct result node_refused(const struct node *node, const char *what, struct text *why);
/* It was copied to here: what its kind sees of it points here again. */
void node_moved(struct node *node);
struct address node_address(const struct node *node);
MUST_USE struct result node_start(struct node *node, struct text *why);

/*
 * STARTING: try to reach it; makes it UP. Fails with ERROR_ENVIRONMENT, naming the log's end, when
 * the server died. Asking again too early is harmless.
 */
MUST_USE struct result node_ready(struct node *node, bool *ready, struct text *why);

/* Has the process ended by itself? `why` says how then. */
bool node_died(struct node *node, struct text *why);

/* SIGKILL; what was written survives in the page cache. Returns when the process is gone. */
void node_crash(struct node *node);

/* The clean way: the server saves what its configuration says and exits. */
MUST_USE struct result node_shutdown(struct node *node, struct text *why);

/*
 * SIGKILL, and what had not reached the disk is gone: the file that grows ends at a length drawn
 * from [synced, written]; of writes into files that were long before, a number drawn are kept in
 * their order, and the others are zeros. A cut in the middle of a record is repaired by the
 * server's start.
 */
struct node_power_loss {
    int64_t written_bytes; /* length of the file when the power went; 0 without a file */
    int64_t synced_bytes;
    int64_t kept_bytes;
};

MUST_USE struct result node_power_loss(struct node *node, struct random_stream *random,
                                       struct node_power_loss *loss, struct text *why);

/* SIGSTOP, and back. freeze returns when every thread is stopped. */
MUST_USE struct result node_freeze(struct node *node, struct text *why);
void node_thaw(struct node *node);

/* Move the wall clock and set its rate; needs fake_clock. */
void node_clock_set(struct node *node, int64_t jump_ns, int64_t rate_ppm);

/* What the server says its wall clock shows, less what the machine's shows now. UP only. */
MUST_USE struct result node_clock_offset(struct node *node, int64_t *offset_ns, struct text *why);

/* Ask a redis-server something; `words` end with NULL. UP only. */
MUST_USE struct result node_ask(struct node *node, const char *const *words,
                                struct admin_reply *reply, struct text *why);

/* Ask and insist that the answer is no error. */
MUST_USE struct result node_order(struct node *node, const char *const *words,
                                  struct admin_reply *reply, struct text *why);

void node_release(struct node *node);

#endif
