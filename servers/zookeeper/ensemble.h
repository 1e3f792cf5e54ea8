/*
 * ensemble.h: a ZooKeeper ensemble: sessions and znodes, ordered by a leader, told to followers.
 *
 * Agreement is taken for granted: what the leader has committed is never forgotten while a majority
 * comes back. Everything that a lock may notice of time and place is not (ZooKeeper Programmer's
 * Guide, Internals, Administrator's Guide):
 *
 * - Writes go to the leader, who commits while it has a majority: each gets the next zxid. A member
 *   answers when it has applied what it answers about. "Single System Image": a member that takes a
 *   session up has asked the leader, and has so applied all that was committed before.
 * - Reads are answered by the member that is asked, from what it has applied: they may be stale.
 * "If it is important ... the client should call sync": nobody here has to, see above.
 * - "the expiration of a session is managed by the ZooKeeper cluster itself, not by the client":
 * the leader's monotonic clock decides, in ticks, rounded up, since the newest touch that it heard
 * of. A closed connection ends nothing. A new leader gives every session its whole time anew.
 * - "Expired" is heard of by whoever reconnects, and "disconnected clients will not be notified".
 * - A member that has not heard from the leader for syncLimit ticks, and a leader without a
 * majority for as long, close their clients' connections; until then they answer reads and pings.
 * - Watches are "one-time triggers", kept by the member that was asked, and go with the connection.
 *
 * A session of a lock is 20 ticks, the longest that a server grants; syncLimit is 5 ticks, as in
 * the sample configuration. Measured with ticks of 200 ms: a leader is killed, the next one 1.5
 * ticks later (0.29 to 0.41 s, n=12); stopped or cut off, 2.25 to 2.39 s with a syncLimit of 10.
 *
 * Plain memory without pointers.
 */
#ifndef SERVERS_ZOOKEEPER_ENSEMBLE_H
#define SERVERS_ZOOKEEPER_ENSEMBLE_H

#include "lockcore/zookeeper/zookeeper.h"
#include "servers/server.h"

enum {
    ENSEMBLE_STORE = 0,    /* the node that stands for all of them in what is told of the keys */
    ENSEMBLE_SESSIONS = 4, /* of one client for one resource at a time, as are these: */
    ENSEMBLE_ZNODES = 6,
    ENSEMBLE_REQUESTS = 6,
    ENSEMBLE_SESSION_TICKS = ZOOKEEPER_SESSION_TICKS,
    ENSEMBLE_SYNC_TICKS = ZOOKEEPER_SYNC_TICKS,
};
#define ENSEMBLE_NOBODY UINT32_MAX

struct ensemble_session {
    bool open;
    bool attached; /* by the connection that `connect` came by */
    struct lock_value name;
    struct server_ask connect;
    int64_t serial; /* zxid of its creation */
    int64_t timeout_ns;
    int64_t end_ns;   /* on the leader's clock: in the tick after it, it is over */
    int64_t sound_ns; /* the end in true time, had the clock been sound since: tells the cause */
};

/* A member that has applied a zxid sees what was created by then, and not deleted. */
struct ensemble_znode {
    int64_t created; /* zxid; 0: never */
    int64_t deleted; /* zxid; 0: it is there */
    int64_t place;   /* its sequence and one */
    bool told;       /* known as the lock's key: its client heard that it is the lowest */
    struct lock_value guid;
    struct lock_value session; /* "ephemeralOwner" */
};

/* What a follower has passed on to the leader. */
struct ensemble_request {
    uint32_t serial; /* 0: none; which of those that used the place */
    struct server_ask ask;
    struct lock_reply reply;
    uint64_t event;
};

struct ensemble_watch {
    bool left;
    int64_t since; /* zxid that was applied when it was left */
    struct server_ask ask;
};

/* What one client has for one resource. */
struct ensemble_client {
    uint32_t serials;
    int64_t created; /* of a lock's first client: how many znodes the lock had so far */
    struct ensemble_watch watch;
    struct ensemble_session sessions[ENSEMBLE_SESSIONS];
    struct ensemble_znode znodes[ENSEMBLE_ZNODES];
    struct ensemble_request requests[ENSEMBLE_REQUESTS];
};

enum ensemble_state {
    MEMBER_SERVES,
    MEMBER_DOUBTS, /* it serves, and has not heard from the others for less than syncLimit */
    MEMBER_LOOKS,  /* for a leader: it has no clients */
};

struct ensemble_member {
    uint8_t state; /* enum ensemble_state */
    bool due;      /* its wake is armed */
    uint32_t term; /* how often it has followed, or led: what is of another time is not heard */
    int64_t applied;
};

struct ensemble {
    const struct lock_dialect *dialect; /* constant data: the same in every copy */
    int64_t tick_ns;
    int64_t zxid; /* of the newest write */
    uint32_t node_count;
    uint32_t client_count;
    uint32_t resource_count;
    uint32_t leader; /* ENSEMBLE_NOBODY: none */
    bool electing;
    uint64_t down;   /* bit n: stopped */
    uint64_t frozen; /* bit n: goes on later where it stands now */
    struct ensemble_member members[LOCK_NODES_MAX];
    struct ensemble_client clients[]; /* resource * client_count + client */
};

/* What one member tells another. */
enum ensemble_words {
    WORDS_REQUEST, /* follower: index of the client's row; number: its term, serial of the request
                    */
    WORDS_TOUCH,   /* follower: number of a session; its term, serial, when its client sent it */
    WORDS_COMMIT,  /* leader: its follower's term, zxid */
    WORDS_ANSWER,  /* leader: a row; the follower's term, zxid, serial of the request */
};

/* ensemble.c */
extern const struct server_model ensemble_model;
struct ensemble_client *ensemble_client_of(struct ensemble *ensemble, const struct server_ask *ask);
struct ensemble_client *ensemble_clients_of(struct ensemble *ensemble, uint32_t resource);
uint32_t ensemble_session_count(const struct ensemble *ensemble);
struct ensemble_session *ensemble_session_at(struct ensemble *ensemble, uint32_t number);
int64_t ensemble_clock_of(const struct server_door *door, uint32_t node);

/* sessions.c: the session of the connection that a command came by, or NULL. Begin one, or go on
 * with one, on that connection; touch one; end one that is over; reckon anew when each is; give
 * each its whole time anew. */
struct ensemble_session *session_of(struct ensemble *ensemble, const struct server_ask *ask);
struct lock_reply session_begin(struct ensemble *ensemble, const struct server_ask *ask,
                                struct server_door *door);
struct lock_reply session_attach(struct ensemble *ensemble, const struct server_ask *ask,
                                 struct server_door *door);
void session_touch(struct ensemble *ensemble, struct ensemble_session *session,
                   struct server_door *door);
void session_wake(struct ensemble *ensemble, uint32_t number, struct server_door *door);
void sessions_rearm(struct ensemble *ensemble, struct server_door *door);
void sessions_begin_anew(struct ensemble *ensemble, struct server_door *door);

/* znodes.c: writes, at the leader; reads, at the member that was asked, which answers. */
struct lock_reply znode_create(struct ensemble *ensemble, const struct server_ask *ask,
                               const struct ensemble_session *session);
struct lock_reply znode_delete(struct ensemble *ensemble, const struct server_ask *ask,
                               uint64_t *event, struct server_door *door);
void znode_children(struct ensemble *ensemble, const struct server_ask *ask,
                    const struct ensemble_session *session, struct server_door *door);
void znode_exists(struct ensemble *ensemble, const struct server_ask *ask,
                  struct server_door *door);
/* All that a session of the row created goes with it; it is given more time. */
void znodes_expire(struct ensemble *ensemble, uint32_t row, const struct ensemble_session *session,
                   struct server_door *door);
void znodes_touched(struct ensemble *ensemble, const struct ensemble_session *session,
                    struct server_door *door);
/* A member has applied more than `before`: who watches there is told. */
void watches_fire(struct ensemble *ensemble, uint32_t node, int64_t before,
                  struct server_door *door);

/* members.c: whether the leader can commit. The newest write is committed: all who follow hear of
 * it but `origin`, whom its answer tells. A member has applied all up to `zxid`. */
bool members_commit(const struct ensemble *ensemble);
void members_committed(struct ensemble *ensemble, uint32_t origin, struct server_door *door);
void members_applied(struct ensemble *ensemble, uint32_t node, int64_t zxid,
                     struct server_door *door);
void members_init(struct ensemble *ensemble);
void members_wake(struct ensemble *ensemble, uint32_t node, struct server_door *door);
void members_elect(struct ensemble *ensemble, struct server_door *door);

/* members.c: the model's functions of these names. */
void ensemble_froze(void *state, uint32_t node, bool frozen, struct server_door *door);
void ensemble_reach(void *state, struct server_door *door);
void ensemble_link(void *state, uint32_t a, uint32_t b, bool up, struct server_door *door);
uint32_t ensemble_stop(void *state, const struct server_turn *turn, enum server_stop how,
                       uint32_t kept, struct server_door *door);
void ensemble_start(void *state, const struct server_turn *turn, struct server_door *door);

#endif
