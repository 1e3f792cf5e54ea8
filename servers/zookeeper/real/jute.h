/*
 * jute.h: ZooKeeper's protocol on the wire: numbers with the highest byte first, texts behind their
 * lengths, each message behind its own.
 *
 *     struct jute jute;
 *     if (jute_cut(data, bytes, &jute) == WIRE_CUT_MESSAGE) { xid = jute_number(&jute, 4); ... }
 *
 * What is read beyond the end of a message is 0, and `short_of` is set.
 */
#ifndef SERVERS_ZOOKEEPER_REAL_JUTE_H
#define SERVERS_ZOOKEEPER_REAL_JUTE_H

#include "servers/wire.h"

/* Operations, as a request says them. */
enum jute_operation {
    JUTE_CREATE = 1,
    JUTE_DELETE = 2,
    JUTE_EXISTS = 3,
    JUTE_CHILDREN = 8,
    JUTE_PING = 11,
    JUTE_CHILDREN2 = 12,
    JUTE_CREATE2 = 15,
    JUTE_CLOSE = -11,
};

enum {
    JUTE_LENGTH_BYTES = 4,
    JUTE_XID_WATCH = -1, /* of what nobody asked for: a watch */
    JUTE_PASSWORD_BYTES = 16,
};

/* What went wrong, as an answer says it. */
enum { JUTE_NO_NODE = -101 };

struct jute {
    const char *at; /* borrowed */
    const char *end;
    uint32_t bytes; /* of the whole message, its length included */
    bool short_of;
};

/* The message that begins there. */
enum wire_cut jute_cut(const char *data, size_t bytes, struct jute *jute);

int64_t jute_number(struct jute *jute, uint32_t bytes); /* 1, 4 or 8 */
struct wire_text jute_text(struct jute *jute);

/* Append to a message of at most bytes_max; nothing is written beyond them. */
struct jute_writer {
    char *memory;
    uint32_t bytes;
    uint32_t bytes_max;
};

void jute_add_number(struct jute_writer *writer, int64_t number, uint32_t bytes);
void jute_add_text(struct jute_writer *writer, const char *text, uint32_t bytes);
/* What a client says first: the newest zxid that it has seen, and its session; 0: one is to begin.
 */
void jute_add_connect(struct jute_writer *writer, int64_t zxid, int64_t ttl_ms, int64_t session,
                      const char password[JUTE_PASSWORD_BYTES]);
/* Its length, which is known last, stands first. */
void jute_begin(struct jute_writer *writer, char *memory, uint32_t bytes_max);
void jute_end(struct jute_writer *writer);

#endif
