/* sessions.c: sessions of a ZooKeeper ensemble: begun, taken up by other members, touched, over. */
#include "servers/zookeeper/ensemble.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

static bool comes_by(const struct ensemble_session *session, const struct server_ask *ask)
{
    return session->open && session->attached && session->connect.node == ask->node &&
           session->connect.connection == ask->connection;
}

struct ensemble_session *session_of(struct ensemble *ensemble, const struct server_ask *ask)
{
    struct ensemble_client *client = ensemble_client_of(ensemble, ask);
    for (uint32_t i = 0; i < ENSEMBLE_SESSIONS; i++) {
        if (comes_by(&client->sessions[i], ask)) {
            return &client->sessions[i];
        }
    }
    return NULL;
}

static struct ensemble_session *session_named(struct ensemble *ensemble,
                                              const struct server_ask *ask)
{
    struct ensemble_client *client = ensemble_client_of(ensemble, ask);
    for (uint32_t i = 0; i < ENSEMBLE_SESSIONS; i++) {
        struct ensemble_session *session = &client->sessions[i];
        if (session->open &&
            memcmp(&session->name, &ask->command.value, sizeof session->name) == 0) {
            return session;
        }
    }
    return NULL;
}

static uint32_t number_of(const struct ensemble *ensemble, const struct ensemble_session *session)
{
    size_t offset = (size_t)((const char *)session - (const char *)ensemble->clients);
    size_t row = offset / sizeof(struct ensemble_client);
    const struct ensemble_session *first = ensemble->clients[row].sessions;
    return (uint32_t)(row * ENSEMBLE_SESSIONS + (size_t)(session - first));
}

/* ---- time ------------------------------------------------------------------------------------ */

/* "roundToNextInterval": those whose end lies in the same tick are over together, at its end. */
static int64_t over_ns(const struct ensemble *ensemble, const struct ensemble_session *session)
{
    return (session->end_ns / ensemble->tick_ns + 1) * ensemble->tick_ns;
}

static void session_arm(struct ensemble *ensemble, const struct ensemble_session *session,
                        struct server_door *door)
{
    int64_t true_ns = TIME_NEVER;
    if (session->open && members_commit(ensemble)) {
        true_ns = clock_true(&door->nodes[ensemble->leader].mono, over_ns(ensemble, session));
        true_ns = true_ns < door->true_ns ? door->true_ns : true_ns;
    }
    door->arm(door, number_of(ensemble, session), true_ns);
}

void sessions_rearm(struct ensemble *ensemble, struct server_door *door)
{
    for (uint32_t i = 0; i < ensemble_session_count(ensemble); i++) {
        const struct ensemble_session *session = ensemble_session_at(ensemble, i);
        if (session->open) {
            session_arm(ensemble, session, door);
        }
    }
}

static void session_extend(const struct ensemble *ensemble, struct ensemble_session *session,
                           const struct server_door *door)
{
    session->end_ns = ensemble_clock_of(door, ensemble->leader) + session->timeout_ns;
    session->sound_ns = door->true_ns + session->timeout_ns;
}

void session_touch(struct ensemble *ensemble, struct ensemble_session *session,
                   struct server_door *door)
{
    if (ensemble->leader == ENSEMBLE_NOBODY) {
        return;
    }
    session_extend(ensemble, session, door);
    session_arm(ensemble, session, door);
    znodes_touched(ensemble, session, door);
}

void sessions_begin_anew(struct ensemble *ensemble, struct server_door *door)
{
    for (uint32_t i = 0; i < ensemble_session_count(ensemble); i++) {
        struct ensemble_session *session = ensemble_session_at(ensemble, i);
        if (session->open) {
            session_extend(ensemble, session, door);
            session_arm(ensemble, session, door);
        }
    }
}

/* ---- from connection to connection ----------------------------------------------------------- */

/* A connection has one session: another that came by it is without one. */
static void attach(struct ensemble *ensemble, struct ensemble_session *session,
                   const struct server_ask *ask)
{
    struct ensemble_session *before = session_of(ensemble, ask);
    if (before != NULL) {
        before->attached = false;
    }
    session->attached = true;
    session->connect = *ask;
    ensemble_client_of(ensemble, ask)->watch.left = false; /* of the connection before */
}

struct lock_reply session_begin(struct ensemble *ensemble, const struct server_ask *ask,
                                struct server_door *door)
{
    struct ensemble_client *client = ensemble_client_of(ensemble, ask);
    struct ensemble_session *session = session_named(ensemble, ask);
    for (uint32_t i = 0; i < ENSEMBLE_SESSIONS && session == NULL; i++) {
        session = client->sessions[i].open ? NULL : &client->sessions[i];
    }
    if (session == NULL) {
        return (struct lock_reply){.type = LOCK_REPLY_ERROR}; /* more than we follow */
    }
    if (!session->open) {
        *session = (struct ensemble_session){
            .open = true,
            .name = ask->command.value,
            .serial = ++ensemble->zxid,
            .timeout_ns = ask->command.ttl_ms * NS_PER_MS,
        };
    }
    attach(ensemble, session, ask);
    session_touch(ensemble, session, door);
    return (struct lock_reply){.type = LOCK_REPLY_YES};
}

/* "revalidate": the leader is asked whether it is there still. */
struct lock_reply session_attach(struct ensemble *ensemble, const struct server_ask *ask,
                                 struct server_door *door)
{
    struct ensemble_session *session = session_named(ensemble, ask);
    if (session == NULL) {
        return (struct lock_reply){.type = LOCK_REPLY_NO};
    }
    attach(ensemble, session, ask);
    session_touch(ensemble, session, door);
    return (struct lock_reply){.type = LOCK_REPLY_YES};
}

/* ---- the end --------------------------------------------------------------------------------- */

/* closeSession: its znodes go with it; a connection that it still has is closed. */
static void session_expire(struct ensemble *ensemble, uint32_t number, struct server_door *door)
{
    struct ensemble_session *session = ensemble_session_at(ensemble, number);
    ensemble->zxid++;
    znodes_expire(ensemble, number / ENSEMBLE_SESSIONS, session, door);
    bool runs = ((ensemble->down | ensemble->frozen) >> session->connect.node & 1) == 0;
    if (session->attached && runs) {
        door->push(door, &session->connect, (struct lock_reply){.type = LOCK_REPLY_NO});
    }
    memset(session, 0, sizeof *session);
    door->arm(door, number, TIME_NEVER);
    members_committed(ensemble, ENSEMBLE_NOBODY, door);
}

void session_wake(struct ensemble *ensemble, uint32_t number, struct server_door *door)
{
    const struct ensemble_session *session = ensemble_session_at(ensemble, number);
    ASSERT(session->open);
    if (!members_commit(ensemble)) {
        return;
    }
    if (ensemble_clock_of(door, ensemble->leader) < over_ns(ensemble, session)) {
        session_arm(ensemble, session, door);
    } else {
        session_expire(ensemble, number, door);
    }
}
