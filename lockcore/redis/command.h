/*
 * command.h: the dialect of Redis: its commands, how each is written, and how a reply is read.
 *
 *     struct redis_words words;
 *     char scratch[REDIS_SCRATCH_BYTES];
 *     redis_words(&command, "resource", 8, scratch, &words);
 *     redisAsyncCommandArgv(context, callback, data, words.count, words.word, words.bytes);
 *
 * Pure text: knows nothing of sockets. Scripts are sent by SHA-1 (the short form) and, after
 * NOSCRIPT, by text.
 */
#ifndef LOCKCORE_REDIS_COMMAND_H
#define LOCKCORE_REDIS_COMMAND_H

#include "lockcore/dialect.h"

/* The rows of redis_dialect. */
enum redis_command {
    REDIS_SET,            /* SET NX PX: set the key if there is none */
    REDIS_COMPARE_DELETE, /* script: delete the key if it holds our value */
    REDIS_COMPARE_EXPIRE, /* script: new ttl if the key holds our value */
    REDIS_SET_FENCE,      /* script: SET NX PX, then count the grant; number: the fence */
    REDIS_RAISE_FENCE,    /* script: counter = max(counter, fence); number: the counter */
    REDIS_DELETE,         /* DEL, whoever owns the key (wrong locks) */
    REDIS_SETNX,          /* SETNX, without a ttl (wrong locks) */
    REDIS_EXPIRE,         /* PEXPIRE, whoever owns the key (wrong locks) */
    REDIS_SET_EXPIRE,     /* script: extend our key or create it (wrong locks) */
    REDIS_WAIT,           /* WAIT: number: of replicas that have what was written */
    REDIS_COMMANDS,
};

extern const struct lock_dialect redis_dialect;

enum {
    REDIS_WORDS_MAX = 8,
    REDIS_SCRATCH_BYTES = 128, /* the value in hex and two numbers */
};

struct redis_words {
    int count;
    const char *word[REDIS_WORDS_MAX]; /* borrowed: literals, the resource, or scratch */
    size_t bytes[REDIS_WORDS_MAX];
};

/* Lay out the words of `command` on the key `resource`. */
LOCKCORE_API void redis_words(const struct lock_command *command, const char *resource,
                              size_t resource_bytes, char scratch[REDIS_SCRATCH_BYTES],
                              struct redis_words *words);

/* The Lua text and its SHA-1 in hex of a script; NULL where the command is none. */
LOCKCORE_API const char *redis_script(enum redis_command kind);
LOCKCORE_API const char *redis_script_sha(enum redis_command kind);

/* What a node may answer, as RESP has it. */
enum redis_said {
    REDIS_SAID_OK,       /* +OK */
    REDIS_SAID_NIL,      /* $-1, *-1, _ */
    REDIS_SAID_INTEGER,  /* :n */
    REDIS_SAID_NOSCRIPT, /* -NOSCRIPT ... */
    REDIS_SAID_ERROR,    /* any other error */
    REDIS_SAID_OTHER,
};

/* What it means as an answer to this kind of command. */
LOCKCORE_API struct lock_reply redis_reply(enum redis_command kind, enum redis_said said,
                                           int64_t integer);

#endif
