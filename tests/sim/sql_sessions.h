/* sql_sessions.h: sessions with a PostgreSQL, over the connection that locks have to it. */
#ifndef TESTS_SIM_SQL_SESSIONS_H
#define TESTS_SIM_SQL_SESSIONS_H

#include "lockcore/drivers/links.h"
#include "servers/sql/real/real.h"
#include "tests/sim/sql_steps.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SESSION_WAIT_MS = 60000 };

/* One session: what it was asked since all was answered, and the answers that came. */
struct session {
    void *connection; /* NULL: it has ended */
    uint32_t asked;
    uint32_t answered;
    struct step steps[STEPS_MAX];
    struct lock_reply replies[STEPS_MAX];
};

static inline void session_wait(const struct session *session, short events)
{
    struct pollfd wait = {.fd = sql_connection.fd(session->connection), .events = events};
    cr_assert_eq(poll(&wait, 1, SESSION_WAIT_MS), 1, "the database says nothing");
}

static inline void session_open(struct session *session, int port)
{
    struct lock_address address = {.name = "127.0.0.1", .port = port};
    enum connection_progress progress = CONNECTION_CONNECTING_WRITES;
    session->connection = sql_connection.open(&address, NULL);
    cr_assert_not_null(session->connection);
    while (progress != CONNECTION_UP) {
        session_wait(session, progress == CONNECTION_CONNECTING_READS ? POLLIN : POLLOUT);
        progress = sql_connection.progress(session->connection);
        cr_assert_neq(progress, CONNECTION_BROKEN);
    }
}

static inline void session_forget(struct session *session)
{
    session->asked = 0;
    session->answered = 0;
}

static inline void session_close(struct session *session)
{
    if (session->connection != NULL) {
        sql_connection.close(session->connection);
        session->connection = NULL;
    }
}

/* The port by which the database knows it. */
static inline int session_port(const struct session *session)
{
    struct sockaddr_in address;
    socklen_t bytes = sizeof address;
    int fd = sql_connection.fd(session->connection);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)(void *)&address, &bytes), 0);
    return ntohs(address.sin_port);
}

static inline void session_ask(struct session *session, const struct step *step)
{
    char name[16];
    int bytes = snprintf(name, sizeof name, "r%u", step->resource);
    struct lock_request request = {name, (size_t)bytes, 0, &step->command};
    cr_assert_lt(session->asked, (uint32_t)STEPS_MAX);
    cr_assert(sql_connection.add(session->connection, &request));
    session->steps[session->asked++] = *step;
}

static inline void session_write(struct session *session)
{
    bool full = false;
    if (session->asked > 0) {
        (void)sql_connection.write(session->connection, &full);
        cr_assert(!full, "so little always fits");
    }
}

static inline void session_take(struct session *session)
{
    struct connection_said said;
    while (session->answered < session->asked &&
           sql_connection.next(session->connection, &session->steps[session->answered].command,
                               &said) == CONNECTION_REPLY) {
        session->replies[session->answered++] = said.reply;
    }
}

/* Read until all is answered; false: the session ended before that. */
static inline bool session_read(struct session *session)
{
    bool there = true;
    session_take(session);
    while (there && session->answered < session->asked) {
        session_wait(session, POLLIN);
        there = sql_connection.read(session->connection);
        session_take(session);
    }
    return session->answered == session->asked;
}

#endif
