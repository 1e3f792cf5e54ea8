/*
 * sessions.h: the advisory locks of a database, each of one session.
 *
 * A session is a connection, or behind a pooler by transaction one of the pooler's own: clients
 * come and go, and whoever asks next is handed the session that was used last.
 */
#ifndef SERVERS_SQL_SESSIONS_H
#define SERVERS_SQL_SESSIONS_H

#include "servers/server.h"

/* The lock of one name; all zero: nobody's. */
struct sql_held {
    uint32_t count; /* so often it was granted to the session, and not given back */
    uint32_t client;
    uint32_t connection;
    bool told; /* somebody's key, as far as was recorded */
    struct lock_value owner;
};

/* What the sessions of one database share. */
struct sql_sessions {
    bool pooled; /* one session of a pooler's carries out everybody's statements */
    uint32_t resource_count;
};

/* One statement of a session's. */
struct sql_call {
    const struct sql_sessions *sessions;
    struct sql_held *held;
    const struct server_ask *ask;
    struct server_door *door;
    int64_t fence; /* of a grant, where it has one; 0: it has none */
};

/* Would the session of this statement be granted the lock? */
bool sql_session_may(const struct sql_call *call);

void sql_session_try(const struct sql_call *call);
void sql_session_unlock(const struct sql_call *call);

/* Ends of sessions: of one connection; of all, with the server's. Gives how many locks went. */
void sql_session_over(const struct sql_sessions *sessions, struct sql_held *held,
                      const struct server_caller *caller, struct server_door *door);
uint32_t sql_sessions_over(const struct sql_sessions *sessions, struct sql_held *held,
                           const struct server_turn *turn, struct server_door *door);

#endif
