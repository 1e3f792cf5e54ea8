/*
 * connection.h: one connection to a redis node: made by hiredis, its replies read by hiredis.
 *
 *     connection_open -> writable -> connection_established -> connection_read, connection_next
 *
 * Never blocks; somebody else waits for the descriptor. connection.c is the only file that
 * includes hiredis. It uses hiredis' non-blocking core rather than redisAsyncContext, which
 * allocates for every command and every reply, and reads replies into one object.
 */
#ifndef LOCKCORE_DRIVERS_CONNECTION_H
#define LOCKCORE_DRIVERS_CONNECTION_H

#include "lockcore/drivers/address.h"
#include "lockcore/lock.h"

struct connection;

enum connection_next {
    CONNECTION_REPLY, /* one more reply was read */
    CONNECTION_EMPTY, /* nothing more has arrived */
    CONNECTION_GARBAGE,
};

/* Begin to connect; NULL if the system refuses at once. */
struct connection *connection_open(const struct address *address);

int connection_fd(const struct connection *connection);

/* Once the descriptor is writable: whether the connection stands. */
bool connection_established(const struct connection *connection);

/* Read what has arrived; false if the other side is gone. */
bool connection_read(struct connection *connection);

/* Take the next reply out of what was read: the answer to `asked`, or NULL if nothing was asked. */
enum connection_next connection_next(struct connection *connection,
                                     const struct lock_command *asked, struct lock_reply *reply);

void connection_close(struct connection *connection);

#endif
