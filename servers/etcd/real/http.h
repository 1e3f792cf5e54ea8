/*
 * http.h: messages of HTTP/1.1, as etcd and its clients say them: a head, and a body of a length
 * that is known or in chunks.
 *
 *     struct http_message message;
 *     if (http_cut(data, bytes, HTTP_REQUEST, &message) == WIRE_CUT_MESSAGE) { message.line ... }
 */
#ifndef SERVERS_ETCD_REAL_HTTP_H
#define SERVERS_ETCD_REAL_HTTP_H

#include "servers/wire.h"

enum { HTTP_HEAD_BYTES_MAX = 16384 };

enum http_side { HTTP_REQUEST, HTTP_REPLY };

/* What is pointed to is borrowed. */
struct http_message {
    uint32_t bytes;        /* all of it */
    struct wire_text line; /* the first */
    struct wire_text head; /* the lines behind it, each with its end */
    struct wire_text body; /* as it stands there: */
    bool chunked;          /* in chunks, or whole */
    uint32_t status;       /* HTTP_REPLY: 200 */
};

enum wire_cut http_cut(const char *data, size_t bytes, enum http_side side,
                       struct http_message *message);

/* Only its line and its head: what is behind them may not be there yet. */
enum wire_cut http_head(const char *data, size_t bytes, struct http_message *message);

/* What a header says; false: there is none of that name. */
bool http_header(const struct http_message *message, const char *name, struct wire_text *value);

/* Put the chunks of a body together, as far as they fit. Gives the length. */
size_t http_body(const struct http_message *message, char *memory, size_t bytes_max);

#endif
