/*
 * tap.h: a connection on which a redis-server tells all that it does, in its own order.
 *
 *     tap_open(&tap, address, why);           waits for the server's word; tap.refused says why not
 *     tap_send(&tap, words, count);           questions of our own, before it tells
 *     tap_begin(&tap, why);                   from here on it tells
 *     tap_receive(&tap);                      when tap.fd can be read
 *     while (tap_next(&tap, &message)) ...    effects of a command always come before its line
 *     tap_ask(&tap);                          when its answer is here, all until now was told:
 *                                             tap.passed == tap.asked
 *
 * It costs the server about half of what it can do. Everything is plain Redis: HELLO 3, CLIENT
 * INFO, CONFIG SET notify-keyspace-events, PSUBSCRIBE, MONITOR (docs/REAL.md).
 *
 * A tap belongs to one thread. A message is borrowed until the next call.
 */
#ifndef HARNESS_REAL_TAP_H
#define HARNESS_REAL_TAP_H

#include "base/result.h"
#include "base/text.h"
#include "harness/real/keys/monitor.h"
#include "servers/address.h"

enum { TAP_WAIT_SECONDS = 10, TAP_REFUSED_BYTES = 160, TAP_WORDS_MAX = 6 };

struct tap {
    int fd; /* -1: closed */
    bool effects_first;
    bool ended;      /* the server said its last */
    uint64_t asked;  /* barriers sent ... */
    uint64_t passed; /* ... and come back */
    char *data;      /* owned: bytes [start, end) are not read yet */
    uint32_t capacity;
    uint32_t start;
    uint32_t end;
    char *held; /* owned: a line that waits for the effects behind it; see effects_first */
    uint32_t held_bytes;
    uint32_t held_capacity;
    bool held_out;                   /* ... which the consumer looks at right now */
    char refused[TAP_REFUSED_BYTES]; /* "": it tells */
};

#define TAP_CLOSED ((struct tap){.fd = -1})

/*
 * Connect to the server; have it tell. Both fail with ERROR_ENVIRONMENT where it
 * does not answer; where it answers that it will not tell, `refused` names the command and quotes
 * it, and the tap is closed. A server that tells answers no more questions about its keys.
 */
MUST_USE struct result tap_open(struct tap *tap, struct address address, struct text *why);
MUST_USE struct result tap_begin(struct tap *tap, struct text *why);
void tap_close(struct tap *tap);

/* Read what is there; never waits. */
void tap_receive(struct tap *tap);

/* The next message; false: there is none yet. Barriers are counted and not shown. */
bool tap_next(struct tap *tap, struct monitor_message *message);

/* Send a barrier. */
void tap_ask(struct tap *tap);

/* A question of our own, whose MONITOR_ANSWER comes in order; `count` words. */
void tap_send(struct tap *tap, const struct resp_word *words, uint32_t count);

/* Wait for more to read. ERROR_ENVIRONMENT after TAP_WAIT_SECONDS of silence, or at the end. */
MUST_USE struct result tap_wait(struct tap *tap, struct text *why);

#endif
