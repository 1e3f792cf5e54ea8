/*
 * effect.h: what Redis's commands say of the keys that they change: a value, an end, an amount.
 *
 *     the server tells: "r0" "set", then the line SET r0 v NX PX 1000
 *     effect_event("set")       -> EFFECT_WRITTEN
 *     effect_said(line, "r0")   -> a string, of value "v", that ends 1000 ms from now
 *
 * Whether a command did anything is the server's word alone; this only reads what the command that
 * did it said. Nothing here is guessed: what a command does not say is not known.
 */
#ifndef HARNESS_REAL_EFFECT_H
#define HARNESS_REAL_EFFECT_H

#include "servers/redis/real/resp.h"

/* What became of a key, by the name of the server's event. */
enum effect_event {
    EFFECT_WRITTEN,  /* it is there, and may not have been before; a string loses its expiry */
    EFFECT_CHANGED,  /* it is there, and may not have been before; its expiry stays */
    EFFECT_EXPIRY,   /* it has a new expiry */
    EFFECT_ENDLESS,  /* it lost its expiry */
    EFFECT_GONE,     /* deleted, or moved away */
    EFFECT_MOVED_IN, /* it is there, with the value and the expiry of another */
    EFFECT_EXPIRED,
    EFFECT_EVICTED,
    EFFECT_NOTHING, /* of no consequence for the key */
};

enum effect_shape {
    SHAPE_UNKNOWN,
    SHAPE_STRING,
    SHAPE_COUNTER, /* a string that is counted up and down: above 0 is there, 0 is not */
    SHAPE_HASH,
    SHAPE_OTHER, /* lists, sets, sorted sets, streams: who owns what in them is not followed */
};

enum effect_expiry {
    EXPIRY_NONE, /* the command says none */
    EXPIRY_KEPT, /* ... that the old one stays */
    EXPIRY_AFTER,
    EXPIRY_AT, /* on the server's clock, since 1970 */
};

/* What a command says of one key. */
struct effect {
    uint8_t shape;  /* enum effect_shape; of a written string: SHAPE_STRING */
    uint8_t expiry; /* enum effect_expiry */
    bool has_value;
    bool has_amount;
    struct resp_word value;          /* a string's new value */
    const struct resp_words *fields; /* of a hash: the command that names them; else NULL */
    uint32_t field_step;             /* 2: each with its value behind it; 1: alone */
    int64_t amount;                  /* what a counter is counted up by */
    int64_t expiry_ms;               /* AFTER, AT */
    struct resp_word source; /* MOVED_IN: whose value and expiry it has; 0 bytes: not known */
};

enum effect_event effect_event(const struct resp_word *event, enum effect_shape *shape);

/* `key` is the name of a key that the command of `words` changed. */
void effect_said(const struct resp_words *words, const struct resp_word *key,
                 struct effect *effect);

/* Does the command name this key? One with more words than were kept may. */
bool effect_names(const struct resp_words *words, const struct resp_word *key);

/* What a command asks for, by its name alone. */
enum effect_ask {
    ASK_SET,    /* SET, SETNX, PSETEX ... */
    ASK_EXPIRY, /* PEXPIRE, EXPIREAT ... */
    ASK_DELETE, /* DEL, UNLINK, GETDEL ... */
    ASK_CHANGE, /* HSETNX, RENAMENX ...: whatever its client asked for, until it was seen */
    ASK_COUNT,  /* INCR ...: the same, where it names a lock; else it counts fences */
    ASK_SCRIPT, /* EVAL, EVALSHA, FCALL and their _RO: what it does is seen, never read */
    ASK_MULTI,
    ASK_EXEC,
    ASK_DISCARD,
    ASK_FLUSH,     /* FLUSHALL: of every database */
    ASK_FLUSH_ONE, /* FLUSHDB: of the one that is selected */
    ASK_STREAM,    /* SUBSCRIBE, MONITOR ...: replies do not answer commands one by one any more */
    ASK_OTHER,
};

enum effect_ask effect_ask(const struct resp_words *words);

/* The word of a command that may hold another than was sent: a script's text. 0: none. */
uint32_t effect_text_word(enum effect_ask ask);

bool resp_word_is(const struct resp_word *word, const char *upper);
bool resp_word_equal(const struct resp_word *a, const struct resp_word *b);
bool resp_word_number(const struct resp_word *word, int64_t *number);

#endif
