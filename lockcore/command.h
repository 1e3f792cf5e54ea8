/*
 * command.h: how a command is written for Redis.
 *
 *     struct command_words words;
 *     char scratch[COMMAND_SCRATCH_BYTES];
 *     lock_command_words(&command, "resource", 8, scratch, &words);
 *     redisAsyncCommandArgv(context, callback, data, words.count, words.word, words.bytes);
 *
 * Pure text: knows nothing of sockets. Scripts are sent by SHA-1 and, after NOSCRIPT, by text.
 */
#ifndef LOCKCORE_COMMAND_H
#define LOCKCORE_COMMAND_H

#include "lockcore/lock.h"

#include <stddef.h>

enum {
    COMMAND_WORDS_MAX = 8,
    COMMAND_SCRATCH_BYTES = 128, /* the value in hex and two numbers */
    COMMAND_VALUE_HEX_BYTES = 2 * LOCK_VALUE_BYTES,
};

struct command_words {
    int count;
    const char *word[COMMAND_WORDS_MAX]; /* borrowed: literals, the resource, or scratch */
    size_t bytes[COMMAND_WORDS_MAX];
};

/* Lay out the words of `command` on the key `resource`. */
LOCKCORE_API void lock_command_words(const struct lock_command *command, const char *resource,
                                     size_t resource_bytes, char scratch[COMMAND_SCRATCH_BYTES],
                                     struct command_words *words);

/* The Lua text and its SHA-1 in hex of a script kind; NULL where the kind is no script. */
LOCKCORE_API const char *lock_command_script(enum lock_command_kind kind);
LOCKCORE_API const char *lock_command_script_sha(enum lock_command_kind kind);

/* "SET NX PX", "compare-delete", ...: one name a kind, for histories and messages. */
LOCKCORE_API const char *lock_command_name(enum lock_command_kind kind);

/* Hex digits of a value, without a terminating zero; and back (false if they are none). */
LOCKCORE_API void lock_value_print(const struct lock_value *value,
                                   char hex[COMMAND_VALUE_HEX_BYTES]);
LOCKCORE_API bool lock_value_parse(const char *hex, size_t bytes, struct lock_value *value);

#endif
