/*
 * monitor.h: what a redis-server says on a connection that subscribed to its keyspace and then
 * asked for MONITOR (RESP3): cut into messages, and each message read.
 *
 *     ">4 pmessage ... __keyspace@0__:r0  set"                  MONITOR_EFFECT
 *     "+1795310027.434638 [0 127.0.0.1:38304] "SET" "r0" ..."   MONITOR_LINE
 *     "$4 ..."  ":5"  "-ERR ..."                                MONITOR_ANSWER
 *
 * Sans-I/O. Nothing is copied: names and words are borrowed from the message, in which quoted words
 * are unquoted in place.
 */
#ifndef HARNESS_REAL_MONITOR_H
#define HARNESS_REAL_MONITOR_H

#include "servers/redis/real/resp.h"

enum {
    /* A line quotes a whole command: each byte of it may take four. */
    MONITOR_MESSAGE_BYTES_MAX = 4 * RESP_MESSAGE_BYTES_MAX + RESP_LINE_BYTES_MAX,
};

enum monitor_type {
    MONITOR_EFFECT, /* a key changed, or went */
    MONITOR_LINE,   /* a command was carried out */
    MONITOR_ANSWER, /* to a command on this very connection */
    MONITOR_OTHER,  /* nothing that tells of keys */
};

struct monitor_message {
    uint8_t type;          /* enum monitor_type */
    bool inside;           /* LINE: called by a script */
    bool error;            /* ANSWER: an error */
    bool null;             /* ANSWER */
    uint16_t port;         /* LINE: of who sent it; 0: not over TCP, or inside a script */
    int32_t database;      /* EFFECT, LINE */
    int64_t wall_us;       /* LINE: the server's clock, since 1970 */
    struct resp_word key;  /* EFFECT */
    struct resp_word text; /* EFFECT: what was done ("set", "del", "expired"); ANSWER: its text */
    int64_t integer;       /* ANSWER: the number that the text is, or 0 */
    uint32_t message_bytes;
    struct resp_words words; /* LINE: the first RESP_WORDS_MAX; message_bytes is not set */
};

/*
 * Find the end of the message at the start of `data`. RESP_MORE: it is not whole yet. RESP_BROKEN:
 * this is no RESP3, or beyond MONITOR_MESSAGE_BYTES_MAX.
 */
enum resp_status monitor_cut(const char *data, size_t bytes, uint32_t *message_bytes);

/* Read a whole message. What is not understood is MONITOR_OTHER. */
void monitor_read(char *data, uint32_t bytes, struct monitor_message *message);

/*
 * Does this server say what a command did before it shows the command? Until 6.2.3 it is the other
 * way round. `version` is what HELLO says: "6.0.16".
 */
bool monitor_effects_first(const char *version, size_t bytes);

#endif
