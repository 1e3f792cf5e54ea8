/*
 * wire.h: how the bytes between clients and one kind of server read: the proxies' half of a kind.
 *
 *     client --bytes--> request(stream) --whole messages--> node
 *     client <--whole messages-- reply(stream) <--bytes-- node
 *
 * Sans-I/O, and nothing is copied: `data` begins at the start of a message. With WIRE_CUT_MORE it
 * is asked again with the same bytes and more behind them (they may have moved). WIRE_CUT_BROKEN is
 * final.
 *
 * A message is what faults strike and what passes whole: one request with all that belongs to it,
 * and all bytes of its answer. A server answers requests in the order in which they came.
 *
 * `stream` is the memory of one connection, stream_bytes of zeros at first, aligned to 8.
 */
#ifndef SERVERS_WIRE_H
#define SERVERS_WIRE_H

#include "lockcore/lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_MESSAGE_BYTES_MAX = 16 << 20 };

enum wire_cut { WIRE_CUT_MESSAGE, WIRE_CUT_MORE, WIRE_CUT_BROKEN };

struct wire_text {
    const char *data; /* borrowed */
    uint32_t bytes;
};

struct wire_request {
    uint32_t bytes;              /* of the whole message */
    bool silent;                 /* the server answers nothing to it */
    bool ends_replies;           /* from here on what it sends answers no requests any more */
    bool known;                  /* it is a command of the dialect: */
    struct lock_command command; /* kind and value; ttl and number where the row carries them */
    struct wire_text resource;   /* the resource's name; none: bytes 0 */
    int64_t until_ms;            /* a key's end as it says it, since 1970; 0: its ttl says it */
};

/* What an answer tells of the lock, where its type alone does not say it. */
enum wire_tells {
    WIRE_TELLS_BY_TYPE,
    WIRE_TELLS_SET,     /* it is the asker's */
    WIRE_TELLS_REFUSED, /* it is another's */
    WIRE_TELLS_NOTHING,
};

struct wire_reply {
    uint32_t bytes;
    bool unasked;            /* it answers no request: a notice, a push, a greeting */
    struct lock_reply reply; /* GARBLED where nothing was known of the request */
    uint8_t tells;           /* enum wire_tells */
};

struct server_wire {
    size_t stream_bytes;

    /* Nodes tell what becomes of their keys, in their own order, to who listens (harness' taps). */
    bool tapped;

    /* What a command did to its key the answer says: nobody has to be asked. Only for kinds of one
     * store whose keys nothing but commands and the clock changes, with ends in whole ms. */
    bool answers_tell;

    enum wire_cut (*request)(void *stream, const char *data, size_t bytes,
                             struct wire_request *request);
    /* `asked`: the command that this answers; NULL where it was not known, or nothing was asked. */
    enum wire_cut (*reply)(void *stream, const char *data, size_t bytes,
                           const struct lock_command *asked, struct wire_reply *reply);

    /* Where a password opens the node (launch.h): what is to be done when it is connected and then
     * as often as it may be read, until nothing is `owed`: bytes of the node that no client may
     * see. False with errno: it is refused, or the node is gone (EPIPE where it just ended). */
    bool (*password_say)(int fd, const char *password, uint32_t *owed);
    bool (*password_hear)(int fd, const char *password, uint32_t *owed);
};

#endif
