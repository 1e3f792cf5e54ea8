/* keys_read.c: the words of a command and the bytes of a reply, as locks mean them. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "lockcore/redis/command.h"

#include <string.h>
#include <strings.h>

/* ---- what it is ------------------------------------------------------------------------------ */

/* The SHA-1 of a script's text; those seen last are remembered. */
static const char *text_sha(struct keys *keys, const struct resp_word *text)
{
    uint64_t hash = keys_hash(text->data, text->bytes);
    struct keys_text *known = &keys->texts[hash & (KEYS_TEXTS - 1)];
    if (known->hash != hash || known->sha[0] == '\0') {
        known->hash = hash;
        keys_sha1_print(text->data, text->bytes, known->sha);
    }
    return known->sha;
}

/* Which of lockcore's scripts has this SHA-1. */
static enum redis_command sha_kind(const char *sha)
{
    for (int kind = 0; kind < REDIS_COMMANDS; kind++) {
        const char *own = redis_script_sha((enum redis_command)kind);
        if (own != NULL && strncasecmp(own, sha, KEYS_SHA_HEX_BYTES) == 0) {
            return (enum redis_command)kind;
        }
    }
    return REDIS_COMMANDS;
}

/* EVAL and EVALSHA of the same text are the same; so is a function, by its name. */
static void script_read(struct keys *keys, const struct resp_words *words,
                        struct keys_command *command)
{
    char lower[KEYS_SHA_HEX_BYTES];
    const struct resp_word *name = &words->word[0];
    const struct resp_word *what = &words->word[1];
    bool text = resp_word_is(name, "EVAL") || resp_word_is(name, "EVAL_RO");
    bool function = resp_word_is(name, "FCALL") || resp_word_is(name, "FCALL_RO");
    if (function || (!text && what->bytes != KEYS_SHA_HEX_BYTES)) {
        command->habit = keys_hash(what->data, what->bytes);
        return;
    }
    const char *sha = text ? text_sha(keys, what) : what->data;
    for (size_t i = 0; i < sizeof lower; i++) {
        lower[i] = (char)(sha[i] >= 'A' && sha[i] <= 'F' ? sha[i] | 0x20 : sha[i]);
    }
    command->habit = keys_hash(lower, sizeof lower);
    command->kind = (uint8_t)sha_kind(lower);
}

static enum redis_command plain_kind(const struct resp_word *name, enum effect_ask ask)
{
    switch (ask) {
    case ASK_SET:
        return resp_word_is(name, "SETNX") ? REDIS_SETNX : REDIS_SET;
    case ASK_EXPIRY:
        return REDIS_EXPIRE;
    case ASK_DELETE:
        return resp_word_is(name, "DELEX") ? REDIS_COMPARE_DELETE : REDIS_DELETE;
    case ASK_CHANGE:
    case ASK_COUNT:
    case ASK_SCRIPT:
    case ASK_MULTI:
    case ASK_EXEC:
    case ASK_DISCARD:
    case ASK_FLUSH:
    case ASK_FLUSH_ONE:
    case ASK_STREAM:
    case ASK_OTHER:
        return REDIS_COMMANDS;
    }
    UNREACHABLE();
}

/* A command that is no script is what its name is. */
static void plain_read(const struct resp_words *words, struct keys_command *command)
{
    enum { NAME_BYTES = 16 };
    char upper[NAME_BYTES];
    const struct resp_word *name = &words->word[0];
    uint32_t bytes = name->bytes < NAME_BYTES ? name->bytes : NAME_BYTES;
    for (uint32_t i = 0; i < bytes; i++) {
        bool letter = name->data[i] >= 'a' && name->data[i] <= 'z';
        upper[i] = (char)(letter ? name->data[i] & ~0x20 : name->data[i]);
    }
    command->habit = keys_hash(upper, bytes);
    command->kind = (uint8_t)plain_kind(name, (enum effect_ask)command->ask);
}

/* ---- what it names --------------------------------------------------------------------------- */

static void resources_read(struct keys *keys, const struct resp_words *words,
                           struct keys_command *command)
{
    for (uint32_t i = 1; i < words->count && command->key_count < KEYS_COMMAND_KEYS_MAX; i++) {
        uint32_t name = keys_table_find(&keys->table, &words->word[i], KEYS_ANY_DATABASE);
        uint32_t resource = name != UINT32_MAX && keys->table.names[name].part == KEYS_PART_LOCK
                                ? keys->table.names[name].resource
                                : KEYS_NO_RESOURCE;
        if (resource != KEYS_NO_RESOURCE) {
            command->resource[command->key_count++] = resource;
        }
    }
}

/* The value that a command sets, or that lockcore's own script names. */
static void value_read(const struct resp_words *words, struct keys_command *command)
{
    enum { OWN_SCRIPT_VALUE = 4 };
    struct effect effect;
    memset(&effect, 0, sizeof effect);
    if (command->ask == ASK_SET && words->count > 1) {
        effect_said(words, &words->word[1], &effect);
    } else if (command->ask == ASK_SCRIPT && command->kind != REDIS_COMMANDS &&
               words->count > OWN_SCRIPT_VALUE) {
        effect.value = words->word[OWN_SCRIPT_VALUE];
        effect.has_value = true;
    }
    command->has_value = effect.has_value;
    if (effect.has_value) {
        keys_value(effect.value.data, effect.value.bytes, &command->value);
    }
}

static uint64_t words_hash(const struct resp_words *words, enum effect_ask ask)
{
    uint64_t hash = words->total;
    for (uint32_t i = 0; i < words->count; i++) {
        bool text = i > 0 && i == effect_text_word(ask);
        uint64_t word = text ? 0 : keys_hash(words->word[i].data, words->word[i].bytes);
        hash = (hash ^ word) * 0xd6e8feb86659fd93u;
        hash ^= hash >> 29;
    }
    return hash;
}

void keys_words_read(struct keys *keys, const struct resp_words *words,
                     struct keys_command *command)
{
    memset(command, 0, sizeof *command);
    command->kind = REDIS_COMMANDS;
    command->role = ROLE_OTHER;
    command->ask = (uint8_t)effect_ask(words);
    command->ends_replies = command->ask == ASK_STREAM;
    if (words->count == 0) {
        return;
    }
    if (command->ask == ASK_SCRIPT && words->count > 1) {
        script_read(keys, words, command);
    } else {
        plain_read(words, command);
    }
    resources_read(keys, words, command);
    value_read(words, command);
    command->hash = words_hash(words, (enum effect_ask)command->ask);
}

void keys_reply_read(const struct resp_reply *reply, struct keys_reply *read)
{
    read->type = REDIS_SAID_OTHER;
    read->error = false;
    read->integer = reply->integer;
    if (reply->null) {
        read->type = REDIS_SAID_NIL;
        return;
    }
    switch (reply->type) {
    case '+':
        if (reply->bytes == 2 && memcmp(reply->text, "OK", 2) == 0) {
            read->type = REDIS_SAID_OK;
        }
        return;
    case ':':
        read->type = REDIS_SAID_INTEGER;
        return;
    case '#':
        read->type = REDIS_SAID_INTEGER;
        read->integer = reply->bytes == 1 && reply->text[0] == 't' ? 1 : 0;
        return;
    case '-':
    case '!':
        read->error = true;
        read->type = reply->bytes >= 8 && memcmp(reply->text, "NOSCRIPT", 8) == 0
                         ? REDIS_SAID_NOSCRIPT
                         : REDIS_SAID_ERROR;
        return;
    default:
        return;
    }
}
