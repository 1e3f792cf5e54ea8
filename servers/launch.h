/*
 * launch.h: how servers of one kind are started, looked at and stopped: the real world's half.
 *
 *     prepare, words -> the process is started -> alive, alive ... -> shut_down, or a kill
 *
 * A kind says what its processes are; who starts, kills, freezes and reaps them, keeps their ports,
 * moves their clocks and cuts their files is the same for all (harness/real/node/node.h). Functions
 * may block for a moment, never for long. NULL where the kind has no such thing: faults that need
 * it are then refused.
 */
#ifndef SERVERS_LAUNCH_H
#define SERVERS_LAUNCH_H

#include "base/result.h"
#include "base/text.h"
#include "lockcore/drivers/connection.h"
#include "servers/address.h"
#include "servers/server.h"
#include "servers/wire.h"

enum {
    SERVER_WORDS_MAX = 64,
    SERVER_WORD_BYTES = 8192, /* of all words together */
    SERVER_PATH_BYTES = 512,
    SERVER_PEER_PORTS_MAX = 2,
};

/* One node's server, as its kind sees it. */
struct server_process {
    uint32_t index;
    uint32_t node_count;
    uint8_t fsync;     /* enum fsync_setting */
    uint8_t pooler;    /* enum pooler_setting */
    uint8_t consensus; /* enum consensus_setting */
    uint8_t variant;   /* 0, or what `differs` said */
    uint32_t starts;   /* how often it was started */
    int64_t ttl_ns;    /* that clients ask for; 0: nobody says it */
    bool power_cut;    /* its power will be cut: what it answers must be synced */
    bool clock_moves;  /* its wall clock will be moved, and is looked at */
    bool exposed;      /* it listens beyond loopback */
    bool followed;     /* a server of its kind will take its place: it can be followed */
    bool follows;      /* ... that is this one: it listens to who is `at` */
    struct server_sentinels sentinels; /* that watch it, or that this is one of */
    struct address at;
    const char *program;   /* NULL: launch->program, from the path */
    const char *directory; /* its own: it is there, and empty before the first start */
    const char *log_path;
    struct address address;                    /* where it listens */
    uint16_t peer_port[SERVER_PEER_PORTS_MAX]; /* ... to its fellows */
    /* Where it finds node j: peers[port * node_count + j]; its own: where the others find it (one
     * door), or its own port. NULL: it speaks to nobody. */
    const uint16_t *peers;
    int talk_fd; /* the kind's own, kept between its calls; -1: none. Closed with it */
    uint32_t
        talk_awaited; /* bytes of an answer that are still to come there; 0: nothing is asked */
};

#define SERVER_PEER_NOBODY UINT32_MAX

/* A connection to a node's `port` for its fellows: by whom, where that is known. */
struct server_greeting {
    uint32_t node_count;
    uint32_t node;         /* to whom */
    uint32_t port;         /* 0.. */
    uint16_t source_port;  /* where it comes from */
    uint32_t source_ip;    /* ... in network order */
    const uint16_t *doors; /* of this port: where `from` finds `to`: from * node_count + to */
};

/* A command line, made by server_word. */
struct server_words {
    uint32_t count;
    const char *word[SERVER_WORDS_MAX + 1]; /* NULL at the end */
    size_t used;
    char memory[SERVER_WORD_BYTES];
};

/* Append a word. */
FORMATTED(2, 3) void server_word(struct server_words *words, const char *format, ...);

/* What picklock lacks to speak to it, and how to get it. Both NULL: nothing. */
struct server_lack {
    const char *what;
    const char *remedy;
};

/* What a service of one store holds of a lock: who has it, until when. */
struct server_held {
    bool present;
    struct lock_value owner;
    int64_t until_ms; /* since 1970, by its clock */
};

/*
 * How its nodes speak to each other. Each link between two of them goes through a proxy, so that
 * faults can strike it: a node is told where to find the others, and that is the proxies.
 *
 *     node 1 --peers[1]--> [ proxy 1-2 ] --> node 2's peer_port     (doors: one a pair)
 *     nodes 1, 3 --door--> [ proxies 1-2, 3-2 ] --> node 2          (one_door: `greeting` says who)
 */
struct server_peers {
    uint8_t ports; /* that a node has for its fellows; 0: they come where clients come */

    /* All must know a node by one address: who speaks is seen in what it says first. */
    bool one_door;

    /*
     * What one node says first on a connection to another's port: MORE until there is enough of it
     * (`bytes` grow), then MESSAGE; BROKEN: it is nobody's. May change what is said, not its
     * length. one_door: sets `from`; SERVER_PEER_NOBODY passes as from the node itself, where no
     * fault strikes. NULL, where each pair has its own door: nothing is looked at.
     */
    enum wire_cut (*greeting)(const struct server_greeting *greeting, char *data, size_t bytes,
                              uint32_t *from);
};

/* How a server follows another from its first start on, and takes its place (failover). */
struct server_replica {
    /* Has all that was written to `followed` by now arrived? It must not wait until it has. */
    struct result (*in_step)(struct server_process *replica, struct server_process *followed,
                             bool *in_step, struct text *why);
    /* Nothing more will come: it shall take writes. Returns when it does. */
    struct result (*promote)(struct server_process *replica, struct text *why);
};

struct server_launch {
    const char *program; /* "redis-server" */
    const char *package; /* Debian's, which brings it; NULL: none does, ... */
    const char *remedy;  /* ... and it is to be had so */

    /* What nodes.pooler has before it, and Debian's package of that; NULL: nothing ever is. */
    const char *pooler;
    const char *pooler_package;

    /* Where that is; false: it is not installed. NULL: it is looked for on the PATH. */
    bool (*find)(char *path, size_t bytes);

    /* A library, or its header when picklock was built. NULL: nothing is needed. */
    struct server_lack (*lacks)(void);

    /* How long it may take to come up, on a machine however busy; 0: as long as others. */
    uint32_t start_seconds;

    /* What it says first when it is asked for its --version, and the least that works, as
     * major * 100 + minor. NULL: it is not asked. */
    const char *version_words;
    uint32_t version_min;

    /* It refuses to run as root, so nobody runs it there, who may still go into every folder. */
    bool unprivileged;

    /* It asks for memory that would outlive it (shmget): it is taken back as soon as it has it. */
    bool shared_memory;

    /* Its processes are a family: what strikes one strikes all that it started. */
    bool family;

    /* What it answered stays when it goes, whatever `fsync` says. */
    bool durable;

    /* It is opened by a password (address.password): the proxies say it (wire.h), and no client
     * ever sees it. Else everybody on the machine may speak to it. */
    bool password;

    /* Of so many nodes a service is made, at least, where a majority of them must agree; 0: one. */
    uint8_t nodes_min;

    /* How many runs of other kinds a run with such servers counts for where several go on at once:
     * what it takes of the processors while it starts the others would miss. 0: one. */
    uint8_t weight;

    /* Why the clocks of its nodes cannot be moved, or their power not be cut, where that is so; or
     * NULL. */
    const char *untouched;

    /* Why its wall clock can be moved, and the rate of its clocks not; NULL: it can. */
    const char *wall_only;

    /* It takes the orders of refuse_writes, evict, script_flush and failover, which are Redis'
     * words yet (harness/real/run/). */
    bool orders;

    /* Failover, where these are not its words. NULL: it is never followed. */
    const struct server_replica *replica;

    /* Before the first start: a program that fills its directory, and what that reads. */
    void (*furnish)(const struct server_process *process, struct server_words *words,
                    struct text *input);

    /* NULL: its nodes do not speak to each other. */
    const struct server_peers *peers;

    /* How a sentinel is started, and how nodes and sentinels speak to each other: a node's port is
     * 0, a sentinel's 1. NULL: there are none. */
    const struct server_launch *sentinel;
    const struct server_peers *sentinel_peers;

    /* Before each start: the files that it needs. */
    struct result (*prepare)(struct server_process *process, struct text *why);

    /* What stands before the program's name: another that starts something beside it and then
     * becomes it. NULL: nothing ever does. */
    struct result (*before)(const struct server_process *process, struct server_words *words,
                            struct text *why);

    /* What stands behind the program's name. */
    void (*words)(const struct server_process *process, struct server_words *words);

    /* It died while it started: is it one that wants other words? Gives its variant; 0: no. */
    uint8_t (*differs)(const struct server_process *process);

    /* Would it carry out a client's command now? It must not wait for long: what it asked it may
     * leave asked until the next look, on talk_fd. What nodes tell each other passes between two
     * looks, not while one lasts. */
    bool (*alive)(struct server_process *process);

    /* Tell it to end in the clean way; its end is waited for. NULL: SIGTERM. */
    void (*shut_down)(struct server_process *process);

    /* The file that grows with each write, of which a power cut takes an end that was not synced.
     * False: there is none. NULL: its power cannot be cut. */
    bool (*growing_file)(const struct server_process *process, char *path, size_t bytes);

    /* The folder, in its own, of files that it writes into and that were made long before: of
     * these a power cut leaves zeros where a write was not synced. NULL: there is none. */
    const char *log_folder;

    /* What its wall clock shows, less what ours shows. NULL: its clocks cannot be moved. */
    struct result (*clock_offset)(struct server_process *process, int64_t *offset_ns,
                                  struct text *why);

    /* What it holds of a lock: for kinds whose answers tell what commands did (wire.h), where an
     * answer was lost with it. */
    struct result (*held)(struct server_process *process, const char *resource,
                          struct server_held *held, struct text *why);

    /* What it is: "redis 7.0.15". */
    struct result (*version)(struct server_process *process, struct text *name, struct text *why);
};

/* Say what is missing to start it and to speak to it, and how to get that; false: nothing is. */
bool server_launch_lacks(const struct server_launch *launch, struct text *what,
                         struct text *remedy);

/* How to get its program. */
void server_launch_remedy(const struct server_launch *launch, struct text *remedy);

/* Where its program is; false: it is not installed. */
bool server_launch_find(const struct server_launch *launch, char *path, size_t bytes);

/* Another program than the one that is found, for a kind that has a launch: kept, and inherited by
 * all processes that are begun later. */
void server_program_choose(size_t kind, const char *path);

/* What was chosen; NULL: nothing. */
const char *server_program_chosen(size_t kind);

/* Where a program on the PATH is; a path stays what it is. */
bool server_program_find(const char *program, char *path, size_t bytes);

/* The user's cache, for what takes long to make and is the same for all runs. Without its folder
 * there is none: what is to be kept in it is kept nowhere then. */
void server_cache(char path[SERVER_PATH_BYTES]);

/* Has the kind in the real world what this fault of a node needs? */
bool server_launch_has(const struct server_launch *launch, enum fault_kind fault);

/* That it has not, and why, where that is known: "clock_rate is nothing that can strike ...". */
void server_launch_explain(const struct server_kind *kind, enum fault_kind fault, struct text *why);

/* What opens a connection of a kind whose header was missing when picklock was built: nobody comes
 * so far, launch->lacks says why. */
void *server_connection_unbuilt(const struct lock_address *address, void *shared);

#endif
