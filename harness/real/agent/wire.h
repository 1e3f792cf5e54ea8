/*
 * wire.h: what the harness and an agent say to each other, as bytes. No I/O: memory in and out.
 *
 *     harness -> agent    hello     magic, version, nonce, MAC under the secret
 *     agent -> harness    welcome   magic, version, status, nonce, MAC that covers both nonces
 *     both ways           frames    length, type, number, body, MAC under the session's key
 *
 * The session's key is the MAC of both nonces under the secret, so that no message of another
 * session fits, and the MAC of a frame covers who sends it and its number, which rises by one: what
 * is changed, cut, repeated, reordered or sent back is WIRE_BROKEN, and the connection is over.
 *
 * docs/CLUSTER.md has the bytes.
 */
#ifndef HARNESS_REAL_WIRE_H
#define HARNESS_REAL_WIRE_H

#include "harness/real/agent/seal.h"
#include "servers/redis/real/password.h"

enum {
    WIRE_VERSION = 1,
    WIRE_NONCE_BYTES = 32,
    WIRE_GREETING_BYTES = 8 + WIRE_NONCE_BYTES + SEAL_BYTES,
    WIRE_HEAD_BYTES = 4 + 1 + 8,
    WIRE_BODY_BYTES_MAX = 16 << 10,
    WIRE_FRAME_BYTES_MAX = WIRE_HEAD_BYTES + WIRE_BODY_BYTES_MAX + SEAL_BYTES,
};

enum wire_side { WIRE_HARNESS = 1, WIRE_AGENT };

/* What a greeting turned out to be. */
enum wire_greeting {
    WIRE_GREETING_FINE,
    WIRE_GREETING_FOREIGN, /* not bytes of ours */
    WIRE_GREETING_VERSION, /* ours, of another version */
    WIRE_GREETING_SECRET,  /* ours, made with another secret */
};

enum wire_type { WIRE_ORDER = 1, WIRE_DONE, WIRE_REFUSED, WIRE_ALIVE, WIRE_NOTE, WIRE_TYPES };

enum wire_status { WIRE_MORE, WIRE_WHOLE, WIRE_BROKEN };

/* One side's state of one connection. Plain data. */
struct wire {
    uint8_t side; /* enum wire_side: who we are */
    struct cluster_secret key;
    uint64_t sent;
    uint64_t received;
};

struct wire_frame {
    uint8_t type;     /* enum wire_type */
    const char *body; /* into the caller's bytes */
    size_t body_bytes;
    size_t bytes;      /* of the whole frame */
    const char *error; /* WIRE_BROKEN: what is wrong with it */
};

/* The first message of each side. `other` is the nonce of the harness in a welcome, else NULL. */
struct wire_greet {
    uint8_t side;
    uint16_t version; /* WIRE_VERSION */
    uint16_t status;  /* enum wire_greeting: what the agent thinks of the hello */
    uint8_t nonce[WIRE_NONCE_BYTES];
    const uint8_t *other;
};

void wire_greet(const struct cluster_secret *secret, const struct wire_greet *greet,
                uint8_t bytes[WIRE_GREETING_BYTES]);

/* Read the greeting of `greet->side`; `greet->other` is given, the rest is filled. */
enum wire_greeting wire_greeted(const struct cluster_secret *secret,
                                const uint8_t bytes[WIRE_GREETING_BYTES], struct wire_greet *greet);

/* From here on frames can be sealed and opened. */
void wire_begin(struct wire *wire, enum wire_side side, const struct cluster_secret *secret,
                const uint8_t harness_nonce[WIRE_NONCE_BYTES],
                const uint8_t agent_nonce[WIRE_NONCE_BYTES]);

/* The password of the servers of this session: both sides know it, and it never travels. */
void wire_password(const struct wire *wire, char password[PASSWORD_BYTES]);

/* Make the next frame; gives its bytes, at most WIRE_FRAME_BYTES_MAX. */
size_t wire_seal(struct wire *wire, enum wire_type type, const char *body, size_t body_bytes,
                 uint8_t *bytes);

/* Open the next frame of the other side, at the beginning of what came. */
enum wire_status wire_open(struct wire *wire, const uint8_t *bytes, size_t count,
                           struct wire_frame *frame);

#endif
