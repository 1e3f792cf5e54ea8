/*
 * dialect.h: what one kind of lock server can be asked: a row for each command.
 *
 *     static const struct lock_command_row rows[] = {
 *         [REDIS_SET] = {"set", "SET NX PX", LOCK_VERB_SET_ABSENT, LOCK_CARRIES_TTL, ...},
 *     };
 *     const struct lock_dialect redis_dialect = {.name = "redis", .rows = rows, ...};
 *
 * The core, the simulator and the proxies read off the row what a command does to a key; only the
 * kind's own folder (lockcore/redis/) knows how it is written. A lock speaks the dialect of its
 * algorithm. All of it is constant data, for any thread.
 */
#ifndef LOCKCORE_DIALECT_H
#define LOCKCORE_DIALECT_H

#include "lockcore/lock.h"

#include <stddef.h>

/* What a command does to a key, whatever server it is for. */
enum lock_verb {
    LOCK_VERB_NONE,           /* nothing that a lock's key would notice: a read, a counter */
    LOCK_VERB_SET,            /* takes the key, whoever has it */
    LOCK_VERB_SET_ABSENT,     /* takes the key if nobody has it, or a place in its queue */
    LOCK_VERB_SET_PRESENT,    /* takes the key if somebody has it */
    LOCK_VERB_EXTEND,         /* a new end, whoever has it */
    LOCK_VERB_EXTEND_COMPARE, /* a new end if the value is ours */
    LOCK_VERB_SET_OR_EXTEND,  /* a new end if the value is ours, else as SET_ABSENT */
    LOCK_VERB_DELETE,         /* gives the key free, whoever has it */
    LOCK_VERB_DELETE_COMPARE, /* gives the key free if the value is ours */
    LOCK_VERB_FLUSH,          /* gives every key free */
    LOCK_VERB_OPEN_SESSION,   /* keys set in it end with it */
    LOCK_VERB_KEEP_SESSION,   /* a new end for all of them */
    LOCK_VERB_CLOSE_SESSION,  /* gives all of them free */
    LOCK_VERB_HOLD,           /* takes the key for as long as the connection lasts, if no other has
                                 it; once more if this one has */
    LOCK_VERB_LET_GO,         /* gives back once what this connection has */
    LOCK_VERB_WATCH,          /* asks to be told (LOCK_EVENT_PUSH) of the end of a key */
    LOCK_VERBS,
};

/* Which fields of struct lock_command a row fills beside the value, which names the sender. */
enum lock_carries {
    LOCK_CARRIES_TTL = 1 << 0,
    LOCK_CARRIES_NUMBER = 1 << 1,
};

enum lock_answers {
    LOCK_ANSWERS_YES_NO,
    LOCK_ANSWERS_NUMBER, /* YES comes as a number >= 1, not below the one that was sent */
};

enum {
    LOCK_COMMAND_NAME_BYTES = 16,
    LOCK_COMMANDS_MAX = 32, /* rows of a dialect */
};

struct lock_command_row {
    char name[LOCK_COMMAND_NAME_BYTES]; /* in histories and messages: terminated, zeros behind */
    const char *about;                  /* one line */
    uint8_t verb;                       /* enum lock_verb */
    uint8_t carries;                    /* LOCK_CARRIES_... */
    uint8_t answers;                    /* enum lock_answers */
    bool has_long_form;                 /* may be answered LONG_FORM; lock.c then sends it so */
};

struct lock_dialect {
    const char *name; /* the kind of server, as `nodes.kind` says it */
    const struct lock_command_row *rows;
    uint32_t row_count;
    /* What its locks say of themselves. It stands apart from what they do, which a check holds
     * against it. */
    bool own_values; /* each attempt is named by a value of its own, not each acquire */
    bool watches;    /* they ask again as often as they are told of a change */
    /* Of the ttl: how often they renew their leases, or the service answers what renews them;
     * 0: they do not. And what their promises leave out, beside what clocks may be off. */
    uint8_t renew_percent;
    uint8_t spare_percent;
};

/* The row of `kind`; one that the dialect does not have asserts. */
LOCKCORE_API const struct lock_command_row *lock_dialect_row(const struct lock_dialect *dialect,
                                                             uint32_t kind);

/* The dialect that the lock speaks; the row of a command of its own. */
LOCKCORE_API const struct lock_dialect *lock_dialect_of(const struct lock *lock);
LOCKCORE_API const struct lock_command_row *lock_row_of(const struct lock *lock, uint32_t kind);

/* Does the verb ask for the key; does it give keys free? */
LOCKCORE_API bool lock_verb_asks(enum lock_verb verb);
LOCKCORE_API bool lock_verb_frees(enum lock_verb verb);

/* Hex digits of a value, without a terminating zero; and back (false if they are none). */
enum { LOCK_VALUE_HEX_BYTES = 2 * LOCK_VALUE_BYTES };
LOCKCORE_API void lock_value_print(const struct lock_value *value, char hex[LOCK_VALUE_HEX_BYTES]);
LOCKCORE_API bool lock_value_parse(const char *hex, size_t bytes, struct lock_value *value);

#endif
