/*
 * connect.h: a connection to a member of a ZooKeeper ensemble, for its three files: nobody else.
 *
 *     connect.c   the door: what links.h asks of a connection; what is to be told, in its order
 *     handle.c    a lock's session, as one member has it
 *     question.c  what is asked in a session, and what the answers say
 */
#ifndef SERVERS_ZOOKEEPER_REAL_CONNECT_H
#define SERVERS_ZOOKEEPER_REAL_CONNECT_H

#include "lockcore/drivers/address.h"
#include "lockcore/zookeeper/zookeeper.h"
#include "servers/zookeeper/real/libzookeeper.h"
#include "servers/zookeeper/real/znode.h"

enum { CONNECT_SESSIONS = 1024 /* of all locks: those that were begun last */ };

/* ---- sessions, which outlive connections ------------------------------------------------------
 */

struct session {
    uint64_t used; /* when: of the oldest the place is taken; 0: never */
    uint64_t tag;  /* of the lock */
    int ttl_ms;
    bool known;  /* `id` is */
    bool parent; /* the lock's own znode is there */
    clientid_t id;
    struct lock_value name;
    struct lock_value created; /* whose create was sent last */
};

struct sessions {
    uint64_t uses;
    struct session list[CONNECT_SESSIONS];
};

/* ---- one connection -------------------------------------------------------------------------- */

struct connection;

/* A lock's session, as this member has it. */
struct handle {
    struct handle *next; /* owned */
    struct connection *connection;
    uint64_t tag;
    struct lock_command asked; /* open-session or attach */
    zhandle_t *zoo;            /* owned */
    int fd;                    /* the library's */
    bool writes;               /* it is waited for until it can be written */
    bool up;
    bool over;                      /* it is of no more use */
    bool expired;                   /* ... for the ensemble says so */
    bool watches;                   /* `watching` waits to be told */
    struct lock_command watching;   /* the newest question that left a watch */
    char watched[ZNODE_PATH_BYTES]; /* on what */
    int64_t ahead;                  /* place of whom the lock was told that it is before it */
    struct lock_value ahead_value;  /* ... and whose that is */
};

/* How a create goes on: where it was sent before, its znode is looked for first. */
enum entry_step { STEP_LOOK, STEP_OWNER, STEP_PARENT, STEP_CREATE };

/* A question, or what is told without one. */
struct entry {
    struct entry *next;    /* owned */
    struct handle *handle; /* NULL: it is answered, or told */
    uint64_t tag;
    bool push;
    bool answered;
    uint8_t step; /* enum entry_step */
    struct lock_command command;
    struct lock_reply reply;
    int64_t found; /* STEP_OWNER: the place of the znode that may be ours */
    int64_t asked_ns;
    char parent[ZNODE_PARENT_BYTES];
};

struct connection {
    const struct libzookeeper *zk;
    struct sessions *sessions;
    struct handle *handles; /* owned */
    struct entry *first;    /* owned */
    struct entry *last;
    uint32_t entry_count;
    int fd;       /* owned: an epoll of all handles, and of: */
    int ready_fd; /* owned: something may be told that no socket shows */
    int idle_fd;  /* owned: of the connection that stands for the link; -1: it was closed */
    struct lock_address address;
    char host[ADDRESS_NAME_BYTES + 16];
};

/* ---- connect.c ---- */
/* A question, or what is told, at the end; NULL: no memory, or too many. */
struct entry *entry_add(struct connection *connection, uint64_t tag,
                        const struct lock_command *command);
void entry_answer(struct entry *entry, enum lock_reply_type type, int64_t number);
/* Tell a lock, unasked, more of what it asked. */
void entry_push(struct handle *handle, const struct lock_command *command);
/* ... that it was not asked at all, if it was not. */
void entry_sent(struct entry *entry, int code);
/* Of an answer that says nothing of the question, as the library reports it. */
void entry_fail(struct entry *entry, int code);

/* ---- handle.c ---- */
struct session *session_kept(struct sessions *sessions, uint64_t tag);
struct handle *handle_of(const struct connection *connection, uint64_t tag);
/* A new handle in place of the one before. */
bool handle_ask(struct connection *connection, struct entry *entry);
/* Let the library do what can be done. */
void handle_process(struct handle *handle, int events);
void handle_free(struct handle *handle);
/* Those that are over: who asks them is told, and who has the session as well. */
void handles_end(struct connection *connection);

/* ---- question.c ---- */
void question_ask(struct entry *entry);
/* What comes of a session when another member has taken it up. */
void question_synced(int code, const char *path, const void *of);
void question_event(zhandle_t *zoo, int type, int state, const char *path, void *of);

#endif
