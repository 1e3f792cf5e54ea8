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
#include "servers/address.h"
#include "servers/server.h"

enum {
    SERVER_WORDS_MAX = 64,
    SERVER_WORD_BYTES = 8192, /* of all words together */
    SERVER_PATH_BYTES = 512,
};

/* One node's server, as its kind sees it. */
struct server_process {
    uint32_t index;
    uint32_t node_count;
    uint8_t fsync;         /* enum fsync_setting */
    uint8_t variant;       /* 0, or what `differs` said */
    bool power_cut;        /* its power will be cut: what it answers must be synced */
    bool exposed;          /* it listens beyond loopback */
    const char *program;   /* NULL: launch->program, from the path */
    const char *directory; /* its own: it is there, and empty before the first start */
    const char *log_path;
    struct address address; /* where it listens */
    int talk_fd;            /* the kind's own, kept between its calls; -1: none. Closed with it */
    uint32_t
        talk_awaited; /* bytes of an answer that are still to come there; 0: nothing is asked */
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

/* What a service of one store holds of a lock: who has it, until when. */
struct server_held {
    bool present;
    struct lock_value owner;
    int64_t until_ms; /* since 1970, by its clock */
};

struct server_launch {
    const char *program; /* "redis-server" */
    const char *package; /* Debian's, which brings it */

    /* Where that is; false: it is not installed. NULL: it is looked for on the PATH. */
    bool (*find)(char *path, size_t bytes);

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

    /* It takes the orders of refuse_writes, evict, script_flush and failover, which are Redis'
     * words yet (harness/real/run/). */
    bool orders;

    /* Before the first start: a program that fills its directory, and what that reads. */
    void (*furnish)(const struct server_process *process, struct server_words *words,
                    struct text *input);

    /* Before each start: the files that it needs. */
    struct result (*prepare)(struct server_process *process, struct text *why);

    /* What stands behind the program's name. */
    void (*words)(const struct server_process *process, struct server_words *words);

    /* It died while it started: is it one that wants other words? Gives its variant; 0: no. */
    uint8_t (*differs)(const struct server_process *process);

    /* Would it carry out a client's command now? It must not wait for long: what it asked it may
     * leave asked until the next look, on talk_fd. */
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

/* Where its program is; false: it is not installed. */
bool server_launch_find(const struct server_launch *launch, char *path, size_t bytes);

/* Where a program on the PATH is; a path stays what it is. */
bool server_program_find(const char *program, char *path, size_t bytes);

/* Has the kind in the real world what this fault of a node needs? */
bool server_launch_has(const struct server_launch *launch, enum fault_kind fault);

#endif
