/*
 * message.h: messages of PostgreSQL's protocol 3.0: a letter, four bytes of length, a body.
 *
 *     struct message message;
 *     if (message_cut(data, bytes, &message) == WIRE_CUT_MESSAGE) { message.type, message.body ...
 * }
 *
 * The first message of a client has no letter (message_first). Numbers are big-endian.
 */
#ifndef SERVERS_SQL_REAL_MESSAGE_H
#define SERVERS_SQL_REAL_MESSAGE_H

#include "servers/wire.h"

enum {
    MESSAGE_HEAD_BYTES = 5,
    MESSAGE_START = 0, /* the first message's type */
    MESSAGE_PROTOCOL = 196608,
    /* What the first message may ask instead, answered by a letter alone. */
    MESSAGE_ASKS_CANCEL = 80877102,
    MESSAGE_ASKS_TLS = 80877103,
    MESSAGE_ASKS_GSS = 80877104,
    /* What 'R' says, where it does not ask for more. */
    MESSAGE_WELCOME = 0,
    MESSAGE_ASKS_PASSWORD = 3,
    MESSAGE_SASL_FINAL = 12,
};

struct message {
    char type;
    const char *body; /* borrowed */
    uint32_t body_bytes;
    uint32_t bytes; /* all of it */
};

uint32_t message_number(const char *at);

enum wire_cut message_cut(const char *data, size_t bytes, struct message *message);
enum wire_cut message_first(const char *data, size_t bytes, struct message *message);

#endif
