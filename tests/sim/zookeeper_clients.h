/*
 * zookeeper_clients.h: sessions with a real ZooKeeper ensemble, which say what its client library
 * keeps to itself: the zxid by which each question was answered, and when a watch was told.
 *
 *     client_connect(client, address, node, 10000);      a session begins, or goes on
 *     client_ask(client, &step); client_write(client);   many, none of which is waited for
 *     client_read(client);                               what has come, in its order
 */
#ifndef TESTS_SIM_ZOOKEEPER_CLIENTS_H
#define TESTS_SIM_ZOOKEEPER_CLIENTS_H

#include "lockcore/zookeeper/zookeeper.h"
#include "servers/address.h"
#include "servers/zookeeper/real/jute.h"
#include "servers/zookeeper/real/znode.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLIENT_STEPS_MAX = 64, /* that are under way at once */
    CLIENT_SAID_MAX = 512, /* watches included */
    CLIENT_CHILDREN_MAX = 32,
    CLIENT_BYTES_MAX = 1 << 16,
    CLIENT_WAIT_MS = 60000,
    CLIENT_SYNC = ZOOKEEPER_COMMANDS, /* no command of a lock's, as is: */
    CLIENT_PARENT,                    /* create the lock's own znode */
};

/* A question, of one client for one lock. */
struct rig_step {
    uint32_t kind; /* enum zookeeper_command, or one of the above */
    int64_t number;
    struct lock_value value;
};

struct client_child {
    int64_t place;
    struct lock_value value;
};

/* An answer, or what was told unasked, or the end. */
struct client_said {
    enum { SAID_ANSWER, SAID_WATCH, SAID_END } what;
    uint32_t step;   /* ANSWER: which one */
    int64_t zxid;    /* ... the newest write that its member had applied */
    int32_t error;   /* ... 0: it was done */
    int32_t type;    /* WATCH: what happened, as the protocol says it */
    int64_t place;   /* of the znode that it is about; 0: of the lock's own */
    int64_t created; /* of its Stat: czxid, ... */
    int64_t owner;   /* ... ephemeralOwner, ... */
    int64_t changes; /* ... cversion, ... */
    int64_t changed; /* ... pzxid */
    uint32_t child_count;
    struct client_child children[CLIENT_CHILDREN_MAX];
};

struct client {
    int fd; /* -1: none */
    uint32_t node;
    uint32_t resource;
    int64_t session; /* 0: none yet */
    char password[JUTE_PASSWORD_BYTES];
    char parent[ZNODE_PARENT_BYTES];
    int64_t zxid; /* of the newest answer */
    int64_t xid;  /* of the first question. No two of a session have the same, or a member takes
                     what it hears of one that came by another member for its own */
    uint32_t asked;
    uint32_t answered;
    uint32_t said_count;
    size_t in_bytes;
    uint32_t out_bytes;
    struct rig_step steps[CLIENT_STEPS_MAX];
    struct client_said said[CLIENT_SAID_MAX];
    char in[CLIENT_BYTES_MAX];
    char out[CLIENT_BYTES_MAX];
};

enum { JUTE_SYNC = 9, JUTE_XID_PING = -2, JUTE_NODE_EXISTS = -110, JUTE_SESSION_MOVED = -118 };

/* As the protocol calls what a watch tells. */
enum { WATCH_CREATED = 1, WATCH_DELETED = 2, WATCH_CHILDREN = 4 };

/* ---- asking ---------------------------------------------------------------------------------- */

static inline void client_begin(struct client *client, struct jute_writer *writer)
{
    jute_begin(writer, client->out + client->out_bytes, CLIENT_BYTES_MAX - client->out_bytes);
}

static inline void client_end(struct client *client, struct jute_writer *writer)
{
    jute_end(writer);
    client->out_bytes += writer->bytes;
}

static inline void client_add_path(struct jute_writer *writer, const char *path)
{
    jute_add_text(writer, path, (uint32_t)strlen(path));
}

/* "world:anyone" may do everything. */
static inline void client_add_create(struct jute_writer *writer, const char *path, int32_t flags)
{
    client_add_path(writer, path);
    jute_add_text(writer, "", 0);
    jute_add_number(writer, 1, 4);
    jute_add_number(writer, 31, 4);
    jute_add_text(writer, "world", 5);
    jute_add_text(writer, "anyone", 6);
    jute_add_number(writer, flags, 4);
}

static inline void client_add(struct client *client, const struct rig_step *step,
                              struct jute_writer *writer)
{
    enum { PLAIN = 0, EPHEMERAL_SEQUENTIAL = 3 };
    static const int32_t operations[CLIENT_PARENT + 1] = {
        [ZOOKEEPER_PING] = JUTE_EXISTS,
        [ZOOKEEPER_CREATE] = JUTE_CREATE,
        [ZOOKEEPER_CHILDREN] = JUTE_CHILDREN2,
        [ZOOKEEPER_CHILDREN_WATCH] = JUTE_CHILDREN2,
        [ZOOKEEPER_EXISTS] = JUTE_EXISTS,
        [ZOOKEEPER_DELETE] = JUTE_DELETE,
        [CLIENT_SYNC] = JUTE_SYNC,
        [CLIENT_PARENT] = JUTE_CREATE,
    };
    char path[ZNODE_PATH_BYTES];
    znode_print(client->parent, &step->value, step->number, path);
    jute_add_number(writer, client->xid + client->asked, 4);
    jute_add_number(writer, operations[step->kind], 4);
    switch (step->kind) {
    case ZOOKEEPER_PING:
        client_add_path(writer, "/");
        jute_add_number(writer, false, 1);
        return;
    case ZOOKEEPER_CREATE:
        client_add_create(writer, path, EPHEMERAL_SEQUENTIAL);
        return;
    case ZOOKEEPER_CHILDREN:
    case ZOOKEEPER_CHILDREN_WATCH:
        client_add_path(writer, client->parent);
        jute_add_number(writer, step->kind == ZOOKEEPER_CHILDREN_WATCH, 1);
        return;
    case ZOOKEEPER_EXISTS:
        client_add_path(writer, path);
        jute_add_number(writer, true, 1);
        return;
    case ZOOKEEPER_DELETE:
        client_add_path(writer, path);
        jute_add_number(writer, 0, 4);
        return;
    case CLIENT_SYNC:
        client_add_path(writer, "/");
        return;
    case CLIENT_PARENT:
        client_add_create(writer, client->parent, PLAIN);
        return;
    default:
        cr_assert_fail("nobody asks that of a session");
    }
}

static inline void client_ask(struct client *client, const struct rig_step *step)
{
    struct jute_writer writer;
    cr_assert_lt(client->asked, (uint32_t)CLIENT_STEPS_MAX);
    client_begin(client, &writer);
    client_add(client, step, &writer);
    client_end(client, &writer);
    client->steps[client->asked++] = *step;
}

/* What keeps a session, and is answered as if nobody had asked. */
static inline void client_ping(struct client *client)
{
    struct jute_writer writer;
    client_begin(client, &writer);
    jute_add_number(&writer, JUTE_XID_PING, 4);
    jute_add_number(&writer, JUTE_PING, 4);
    client_end(client, &writer);
}

/* So little always fits; a member that is gone reads it no more. */
static inline void client_write(struct client *client)
{
    if (client->fd >= 0 && client->out_bytes > 0) {
        (void)send(client->fd, client->out, client->out_bytes, MSG_NOSIGNAL);
    }
    client->out_bytes = 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

static inline struct client_said *client_say(struct client *client)
{
    cr_assert_lt(client->said_count, (uint32_t)CLIENT_SAID_MAX);
    struct client_said *said = &client->said[client->said_count++];
    memset(said, 0, sizeof *said);
    return said;
}

static inline int64_t client_place(struct wire_text path)
{
    char name[ZNODE_NAME_BYTES_MAX];
    struct wire_text read;
    struct lock_value value;
    int64_t place = 0;
    (void)znode_read(path, name, &read, &value, &place);
    return place;
}

static inline void client_take_stat(struct jute *jute, struct client_said *said)
{
    said->created = jute_number(jute, 8);
    (void)jute_number(jute, 8); /* mzxid */
    (void)jute_number(jute, 8); /* ctime */
    (void)jute_number(jute, 8); /* mtime */
    (void)jute_number(jute, 4); /* version */
    said->changes = jute_number(jute, 4);
    (void)jute_number(jute, 4); /* aversion */
    said->owner = jute_number(jute, 8);
    (void)jute_number(jute, 4); /* dataLength */
    int64_t children = jute_number(jute, 4);
    said->changed = jute_number(jute, 8);
    cr_assert_not(jute->short_of);
    cr_assert_eq(children, said->child_count);
}

/* In the order of their places: ZooKeeper's own is none. */
static inline void client_take_children(struct jute *jute, struct client_said *said)
{
    int64_t count = jute_number(jute, 4);
    cr_assert_leq(count, CLIENT_CHILDREN_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct client_child child;
        uint32_t at = i;
        cr_assert(znode_read_child(jute_text(jute), &child.value, &child.place));
        for (; at > 0 && said->children[at - 1].place > child.place; at--) {
            said->children[at] = said->children[at - 1];
        }
        said->children[at] = child;
    }
    said->child_count = (uint32_t)count;
}

static inline void client_take_answer(struct client *client, int64_t xid, struct jute *jute)
{
    const struct rig_step *step = &client->steps[client->answered];
    struct client_said *said = client_say(client);
    cr_assert_lt(client->answered, client->asked);
    cr_assert_eq(xid, client->xid + client->answered, "answers come in the order of questions");
    said->step = client->answered++;
    said->zxid = jute_number(jute, 8);
    said->error = (int32_t)jute_number(jute, 4);
    cr_assert_geq(said->zxid, client->zxid, "no member goes back");
    client->zxid = said->zxid;
    bool children = step->kind == ZOOKEEPER_CHILDREN || step->kind == ZOOKEEPER_CHILDREN_WATCH;
    if (said->error == 0 && children) {
        client_take_children(jute, said);
        client_take_stat(jute, said);
    } else if (said->error == 0 && step->kind == ZOOKEEPER_EXISTS) {
        client_take_stat(jute, said);
    } else if (said->error == 0 && step->kind == ZOOKEEPER_CREATE) {
        said->place = client_place(jute_text(jute));
    }
}

static inline void client_take(struct client *client, struct jute *jute)
{
    int64_t xid = jute_number(jute, 4);
    if (xid == JUTE_XID_WATCH) {
        struct client_said *said = client_say(client);
        (void)jute_number(jute, 8);
        (void)jute_number(jute, 4);
        said->what = SAID_WATCH;
        said->type = (int32_t)jute_number(jute, 4);
        (void)jute_number(jute, 4);
        said->place = client_place(jute_text(jute));
    } else if (xid != JUTE_XID_PING) {
        client_take_answer(client, xid, jute);
    }
}

static inline void client_close(struct client *client)
{
    if (client->fd >= 0) {
        (void)close(client->fd);
    }
    client->fd = -1;
    client->in_bytes = 0;
    client->out_bytes = 0;
}

/* What has come; it blocks for nothing. */
static inline void client_read(struct client *client)
{
    struct jute jute;
    ssize_t got = recv(client->fd, client->in + client->in_bytes,
                       sizeof client->in - client->in_bytes, MSG_DONTWAIT);
    client->in_bytes += got > 0 ? (size_t)got : 0;
    size_t at = 0;
    while (jute_cut(client->in + at, client->in_bytes - at, &jute) == WIRE_CUT_MESSAGE) {
        client_take(client, &jute);
        at += jute.bytes;
    }
    client->in_bytes -= at;
    memmove(client->in, client->in + at, client->in_bytes);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        client_say(client)->what = SAID_END;
        client_close(client);
    }
}

/* Write, and read until all is answered. */
static inline void client_finish(struct client *client)
{
    client_write(client);
    while (client->answered < client->asked) {
        struct pollfd wait = {.fd = client->fd, .events = POLLIN};
        cr_assert_eq(poll(&wait, 1, CLIENT_WAIT_MS), 1, "ZooKeeper says nothing");
        client_read(client);
        cr_assert_geq(client->fd, 0, "the connection ended");
    }
}

/* What was said before is forgotten. */
static inline void client_forget(struct client *client)
{
    client->xid += client->asked;
    client->asked = 0;
    client->answered = 0;
    client->said_count = 0;
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* Begin one, or go on with the one that it has; false: that one is over. */
static inline bool client_connect(struct client *client, struct address address, uint32_t node,
                                  int64_t ttl_ms)
{
    struct jute_writer writer;
    struct jute jute;
    client->fd = address_connect(address);
    client->node = node;
    client->zxid = 0;
    cr_assert_geq(client->fd, 0);
    client_begin(client, &writer);
    jute_add_connect(&writer, 0, ttl_ms, client->session, client->password);
    client_end(client, &writer);
    client_write(client);
    while (jute_cut(client->in, client->in_bytes, &jute) != WIRE_CUT_MESSAGE) {
        ssize_t got = recv(client->fd, client->in + client->in_bytes,
                           sizeof client->in - client->in_bytes, 0);
        cr_assert_gt(got, 0, "member %u takes no session", node + 1);
        client->in_bytes += (size_t)got;
    }
    (void)jute_number(&jute, 4);
    bool lives = jute_number(&jute, 4) > 0;
    client->session = jute_number(&jute, 8);
    struct wire_text password = jute_text(&jute);
    cr_assert_eq(password.bytes, JUTE_PASSWORD_BYTES);
    memcpy(client->password, password.data, JUTE_PASSWORD_BYTES);
    client->in_bytes = 0; /* nothing was asked yet */
    if (!lives) {
        client->session = 0;
        client_close(client);
    }
    return lives;
}

#endif
