/*
 * zookeeper.h: what a ZooKeeper ensemble is asked for a lock, and its lock by the recipe.
 *
 *     open-session    connect, with a session to begin: SESSION names it, and its password
 *     attach          connect, with a session to take up: it lives on from member to member
 *     ping            touches the session
 *     create          create(LOCK/GUID-lock-, EPHEMERAL_SEQUENTIAL), unless this session's node
 *                     with that GUID is there: "create().withProtection()"
 *     children        getChildren(LOCK, no watch): YES if ours is the lowest, NO if it is not
 *                     there, else the number of the one just before it
 *     exists          exists(that one, watch): pushed when it is gone
 *     children-watch  getChildren(LOCK, watch): pushed when any comes or goes
 *     delete          delete(ours, version 0)
 *
 * "Locks" (ZooKeeper Recipes and Solutions): create; getChildren without a watch, "this is
 * important to avoid the herd effect"; the lowest has the lock; else exists with a watch on the
 * next lower one; when it goes, look again. The number of a node is its sequence and one, and the
 * grant's fence.
 *
 * A connection has one session, and a session may outlive any connection: all but open-session and
 * attach are about the session of the connection by which they come. What a server says of its own
 * accord of a connection (it ends) is a push to its open-session or attach.
 */
#ifndef LOCKCORE_ZOOKEEPER_ZOOKEEPER_H
#define LOCKCORE_ZOOKEEPER_ZOOKEEPER_H

#include "lockcore/state.h"

enum zookeeper_command {
    ZOOKEEPER_OPEN,
    ZOOKEEPER_ATTACH,
    ZOOKEEPER_PING,
    ZOOKEEPER_CREATE,
    ZOOKEEPER_CREATE_FOUND, /* wrong: takes a node with the GUID for ours, whoever's session it is
                             */
    ZOOKEEPER_CHILDREN,
    ZOOKEEPER_CHILDREN_WATCH,
    ZOOKEEPER_EXISTS,
    ZOOKEEPER_DELETE,
    ZOOKEEPER_COMMANDS,
};

/* How an ensemble for such locks is set up: the longest session that it grants has 20 ticks, and
 * who has not heard of the others for 5 of them knows it. */
enum { ZOOKEEPER_SESSION_TICKS = 20, ZOOKEEPER_SYNC_TICKS = 5 };

extern const struct lock_dialect zookeeper_dialect;

/* What differs between the variants. */
struct zookeeper_rules {
    bool herd;           /* everybody watches all nodes, not the one before its own */
    bool finds_own;      /* wrong: one GUID for an acquire, in whichever session */
    bool forgets_delete; /* wrong: a node whose deletion failed is nobody's any more */
    bool ignores_events; /* wrong: neither Disconnected nor Expired is told */
};

enum zookeeper_link {
    ZOOKEEPER_DISCONNECTED,
    ZOOKEEPER_CONNECTING,
    ZOOKEEPER_CONNECTED,
};

/* The own part of the lock: one handle, as an application has it for each session. */
struct zookeeper {
    /* The handle. */
    int64_t touched_ns; /* when the newest command was sent that was answered in the session */
    int64_t connect_ns; /* when a member was asked; DISCONNECTED: when the next one is */
    int64_t ping_ns;    /* when the ping under way was sent, or else the next one is */
    /* The recipe. */
    int64_t asked_ns; /* when the newest question was sent */
    int64_t give_up_ns;
    int64_t place;       /* our node's number; 0: it is not known to be there */
    int64_t ahead;       /* of whom the newest question was; 0: of our own node */
    int64_t stale_place; /* of a node that must go, whose lock is not held any more; 0: none */
    int64_t stale_ns;    /* when its delete was sent */
    struct lock_value session;
    struct lock_value stale;
    uint32_t link;            /* enum zookeeper_link */
    uint32_t known;           /* 1: the session was answered, and is not known to be over */
    uint32_t connect_attempt; /* CONNECTING */
    uint32_t ping_attempt;    /* 0: none is under way */
    uint32_t stale_attempt;   /* 0: none is under way */
    uint32_t question;        /* attempt of the newest one */
    uint32_t member;          /* that is asked */
    uint32_t refusals;        /* members in a row that could not be had */
    uint32_t created;         /* 1: a create was sent, and may have been carried out */
    uint32_t jeopardy;        /* 1: told so, and neither renewed nor lost since */
    uint32_t expired;         /* 1: the lock was lost, and the ensemble said so */
    uint32_t repeated;        /* 1: the delete was sent before, and may have been carried out */
    uint32_t orphan;          /* wrong: 1: a node that must go was forgotten; its session is kept */
    uint32_t zero;
};

struct zookeeper_step {
    struct lock *lock;
    struct zookeeper *own;
    const struct zookeeper_rules *rules;
    const struct lock_event *event;
    struct lock_effects *effects;
};

/* handle.c: the session, from member to member. */
void handle_send(const struct zookeeper_step *step, uint32_t kind, const struct lock_value *value,
                 int64_t number, uint32_t attempt);
void handle_connect(const struct zookeeper_step *step);
void handle_disconnected(const struct zookeeper_step *step); /* "Disconnected" */
void handle_touched(const struct zookeeper_step *step, int64_t sent_ns);
void handle_forget(const struct zookeeper_step *step); /* its session is kept alive no more */
bool handle_hear(const struct zookeeper_step *step);   /* whether the reply was to it */
void handle_timer(const struct zookeeper_step *step);
int64_t handle_wake_ns(const struct lock *lock);
/* The end of the session, and of what its holder may promise, on the client's clock. */
int64_t handle_end_ns(const struct lock *lock);
int64_t handle_promise_ns(const struct lock *lock);

/* recipe.c: what the handle tells of: the connection is there, is gone; the session is over, as
 * the ensemble says or as its end is by our clock. */
void recipe_connected(const struct zookeeper_step *step);
void recipe_disconnected(const struct zookeeper_step *step, bool nobody_left);
void recipe_renewed(const struct zookeeper_step *step);
void recipe_over(const struct zookeeper_step *step, bool expired);
bool recipe_holds(const struct lock *lock); /* it has the lock, or is in jeopardy */
bool recipe_needs_session(const struct lock *lock);

extern const uint32_t zookeeper_moves[LOCK_STATES];
void zookeeper_step(struct lock *lock, const struct lock_event *event,
                    struct lock_effects *effects);
int64_t zookeeper_wake_ns(const struct lock *lock);
void zookeeper_assert_valid(const struct lock *lock);

#define ZOOKEEPER_ALGORITHM                                                                        \
    .moves = zookeeper_moves, .step = zookeeper_step, .wake_ns = zookeeper_wake_ns,                \
    .assert_valid = zookeeper_assert_valid, .nodes_min = 1, .nodes_max = LOCK_NODES_MAX,           \
    .reply_words = 1, .extends_unasked = true, .fenced = true, .dialect = &zookeeper_dialect

#endif
