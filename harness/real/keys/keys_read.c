/* keys_read.c: the words of a command and the bytes of a reply, as locks mean them. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>
#include <strings.h>
#include <time.h>

/* How the words behind a command's name are laid out. */
enum command_layout {
    LAYOUT_SET,         /* key value [NX|XX] [EX s|PX ms|EXAT s|PXAT ms] */
    LAYOUT_KEY_VALUE,   /* key value */
    LAYOUT_TTL_VALUE,   /* key ttl value */
    LAYOUT_KEY_TTL,     /* key ttl */
    LAYOUT_KEY_DATE,    /* key date */
    LAYOUT_KEYS,        /* key key ... */
    LAYOUT_KEY_COMPARE, /* key IFEQ value (Redis 8.4, Valkey 9) */
    LAYOUT_EVAL,        /* text count key ... argument ... */
    LAYOUT_EVALSHA,     /* sha count key ... argument ... */
    LAYOUT_SCRIPT,      /* LOAD text */
    LAYOUT_NONE,
};

struct command_row {
    const char *name;
    uint8_t bytes;
    uint8_t layout;  /* enum command_layout */
    uint8_t verb;    /* enum keys_verb */
    uint8_t kind;    /* enum redis_command */
    int64_t unit_ns; /* of its ttl */
};

/* The commands that a lock's key notices. The most frequent come first. */
static const struct command_row command_rows[] = {
    {"SET", 3, LAYOUT_SET, KEYS_SET, REDIS_SET, 0},
    {"EVALSHA", 7, LAYOUT_EVALSHA, KEYS_NONE, REDIS_COMMANDS, 0},
    {"EVAL", 4, LAYOUT_EVAL, KEYS_NONE, REDIS_COMMANDS, 0},
    {"DEL", 3, LAYOUT_KEYS, KEYS_DELETE, REDIS_DELETE, 0},
    {"UNLINK", 6, LAYOUT_KEYS, KEYS_DELETE, REDIS_DELETE, 0},
    {"GETDEL", 6, LAYOUT_NONE, KEYS_NONE, REDIS_DELETE, 0},
    {"SETNX", 5, LAYOUT_KEY_VALUE, KEYS_SET_ABSENT, REDIS_SETNX, 0},
    {"PEXPIRE", 7, LAYOUT_KEY_TTL, KEYS_EXTEND, REDIS_EXPIRE, NS_PER_MS},
    {"EXPIRE", 6, LAYOUT_KEY_TTL, KEYS_EXTEND, REDIS_EXPIRE, NS_PER_S},
    {"PEXPIREAT", 9, LAYOUT_KEY_DATE, KEYS_EXTEND, REDIS_EXPIRE, NS_PER_MS},
    {"EXPIREAT", 8, LAYOUT_KEY_DATE, KEYS_EXTEND, REDIS_EXPIRE, NS_PER_S},
    {"PSETEX", 6, LAYOUT_TTL_VALUE, KEYS_SET, REDIS_SET, NS_PER_MS},
    {"SETEX", 5, LAYOUT_TTL_VALUE, KEYS_SET, REDIS_SET, NS_PER_S},
    {"SCRIPT", 6, LAYOUT_SCRIPT, KEYS_NONE, REDIS_COMMANDS, 0},
    {"DELEX", 5, LAYOUT_KEY_COMPARE, KEYS_DELETE_COMPARE, REDIS_COMPARE_DELETE, 0},
    {"FLUSHALL", 8, LAYOUT_NONE, KEYS_FLUSH, REDIS_COMMANDS, 0},
    {"FLUSHDB", 7, LAYOUT_NONE, KEYS_FLUSH, REDIS_COMMANDS, 0},
};

static bool word_is(const struct resp_word *word, const char *upper)
{
    return strlen(upper) == word->bytes && strncasecmp(word->data, upper, word->bytes) == 0;
}

static bool word_integer(const struct resp_word *word, int64_t *number)
{
    enum { DIGITS_MAX = 18 };
    uint32_t i = word->bytes > 0 && word->data[0] == '-' ? 1 : 0;
    uint32_t first = i;
    int64_t sum = 0;
    if (word->bytes == first || word->bytes > DIGITS_MAX) {
        return false;
    }
    for (; i < word->bytes; i++) {
        if (word->data[i] < '0' || word->data[i] > '9') {
            return false;
        }
        sum = sum * 10 + (word->data[i] - '0');
    }
    *number = first == 1 ? -sum : sum;
    return true;
}

static void command_ttl(struct keys_command *command, const struct resp_word *word, int64_t unit_ns)
{
    int64_t number = 0;
    if (!word_integer(word, &number)) {
        return;
    }
    number = number > DURATION_NS_MAX / unit_ns ? DURATION_NS_MAX / unit_ns : number;
    command->ttl_ns = number * unit_ns;
}

/* A date becomes a ttl by the machine's wall clock: nodes with skewed clocks are not its business.
 */
static void command_date(struct keys_command *command, const struct resp_word *word,
                         int64_t unit_ns)
{
    int64_t number = 0;
    struct timespec wall;
    if (!word_integer(word, &number) || clock_gettime(CLOCK_REALTIME, &wall) != 0) {
        return;
    }
    number = number > INT64_MAX / unit_ns ? INT64_MAX / unit_ns : number;
    int64_t left_ns = number * unit_ns - (wall.tv_sec * NS_PER_S + wall.tv_nsec);
    command->ttl_ns = left_ns < DURATION_NS_MAX ? left_ns : DURATION_NS_MAX;
}

static void command_value(struct keys_command *command, const struct resp_word *word)
{
    keys_value(word->data, word->bytes, &command->value);
    command->has_value = true;
}

static void command_key(struct keys_command *command, const struct keys_names *names,
                        const struct resp_word *word)
{
    uint32_t resource = keys_names_find(names, word->data, word->bytes);
    if (resource != KEYS_NO_RESOURCE && command->key_count < KEYS_COMMAND_KEYS_MAX) {
        command->resource[command->key_count++] = resource;
    }
}

static void command_set_options(struct keys_command *command, const struct resp_words *words)
{
    for (uint32_t i = 3; i < words->count; i++) {
        const struct resp_word *word = &words->word[i];
        const struct resp_word *next = i + 1 < words->count ? word + 1 : NULL;
        if (word_is(word, "NX")) {
            command->verb = KEYS_SET_ABSENT;
        } else if (word_is(word, "XX")) {
            command->verb = KEYS_SET_PRESENT;
        } else if (next != NULL && word_is(word, "PX")) {
            command_ttl(command, next, NS_PER_MS);
        } else if (next != NULL && word_is(word, "EX")) {
            command_ttl(command, next, NS_PER_S);
        } else if (next != NULL && word_is(word, "PXAT")) {
            command_date(command, next, NS_PER_MS);
        } else if (next != NULL && word_is(word, "EXAT")) {
            command_date(command, next, NS_PER_S);
        }
    }
}

/*
 * The words behind a script: keys, then arguments. A lock passes a value and a ttl in milliseconds,
 * in either order; the value is the first that is no number, or the first.
 */
static void command_script_words(struct keys_command *command, const struct keys_names *names,
                                 const struct resp_words *words)
{
    int64_t keys = 0;
    if (words->count < 3 || !word_integer(&words->word[2], &keys) || keys < 0) {
        return;
    }
    uint32_t first = words->count;
    for (uint32_t i = 3; i < words->count; i++) {
        if (i - 3 < (uint64_t)keys) {
            command_key(command, names, &words->word[i]);
        } else {
            first = i < first ? i : first;
        }
    }
    command->flags |= keys > 1 ? KEYS_FLAG_COUNT : 0;
    uint32_t value = first;
    int64_t number = 0;
    while (value < words->count && word_integer(&words->word[value], &number)) {
        value++;
    }
    value = value < words->count ? value : first;
    if (value >= words->count) {
        return;
    }
    command_value(command, &words->word[value]);
    for (uint32_t i = first; i < words->count; i++) {
        if (i != value && word_integer(&words->word[i], &number)) {
            command_ttl(command, &words->word[i], NS_PER_MS);
            return;
        }
    }
}

static void lock_command_script(struct keys_command *command, const struct keys_script *script)
{
    if (script != NULL) {
        command->verb = script->verb;
        command->kind = script->kind;
        command->flags |= script->flags;
    }
}

static const struct command_row *command_row_find(const struct resp_word *word)
{
    for (size_t i = 0; i < sizeof command_rows / sizeof command_rows[0]; i++) {
        const struct command_row *row = &command_rows[i];
        if (row->bytes == word->bytes && (row->name[0] | 0x20) == (word->data[0] | 0x20) &&
            strncasecmp(row->name, word->data, row->bytes) == 0) {
            return row;
        }
    }
    return NULL;
}

/* Read the words behind the name as the row lays them out; at least one is there. */
static void command_layout_read(struct keys_scripts *scripts, const struct keys_names *names,
                                const struct resp_words *words, const struct command_row *row,
                                struct keys_command *command)
{
    const struct resp_word *word = words->word;
    switch ((enum command_layout)row->layout) {
    case LAYOUT_SET:
    case LAYOUT_KEY_VALUE:
        command_key(command, names, &word[1]);
        if (words->count > 2) {
            command_value(command, &word[2]);
        }
        if (row->layout == LAYOUT_SET) {
            command_set_options(command, words);
        }
        return;
    case LAYOUT_TTL_VALUE:
    case LAYOUT_KEY_COMPARE:
        command_key(command, names, &word[1]);
        if (words->count > 3) {
            command_value(command, &word[3]);
        }
        if (words->count > 3 && row->layout == LAYOUT_TTL_VALUE) {
            command_ttl(command, &word[2], row->unit_ns);
        }
        return;
    case LAYOUT_KEY_TTL:
    case LAYOUT_KEY_DATE:
        command_key(command, names, &word[1]);
        if (words->count > 2 && row->layout == LAYOUT_KEY_TTL) {
            command_ttl(command, &word[2], row->unit_ns);
        } else if (words->count > 2) {
            command_date(command, &word[2], row->unit_ns);
        }
        /* Redis deletes a key whose new time is up already. */
        command->verb = command->ttl_ns > 0 ? command->verb : KEYS_DELETE;
        return;
    case LAYOUT_KEYS:
        for (uint32_t i = 1; i < words->count; i++) {
            command_key(command, names, &word[i]);
        }
        command->flags |= words->total > 2 ? KEYS_FLAG_COUNT : 0;
        return;
    case LAYOUT_EVAL:
        lock_command_script(command, keys_scripts_learn(scripts, word[1].data, word[1].bytes));
        command_script_words(command, names, words);
        return;
    case LAYOUT_EVALSHA:
        lock_command_script(command, keys_scripts_find(scripts, word[1].data, word[1].bytes));
        command_script_words(command, names, words);
        return;
    case LAYOUT_SCRIPT:
        if (words->count > 2 && word_is(&word[1], "LOAD")) {
            (void)keys_scripts_learn(scripts, word[2].data, word[2].bytes);
        }
        return;
    case LAYOUT_NONE:
        return;
    }
    UNREACHABLE();
}

static enum command_role command_role(enum keys_verb verb)
{
    switch (verb) {
    case KEYS_SET:
    case KEYS_SET_ABSENT:
    case KEYS_SET_PRESENT:
        return ROLE_SET;
    case KEYS_EXTEND:
    case KEYS_EXTEND_COMPARE:
    case KEYS_SET_OR_EXTEND:
        return ROLE_EXTEND;
    case KEYS_DELETE:
    case KEYS_DELETE_COMPARE:
        return ROLE_DELETE;
    case KEYS_NONE:
    case KEYS_FLUSH:
        return ROLE_OTHER;
    }
    UNREACHABLE();
}

void keys_command_read(struct keys_scripts *scripts, const struct keys_names *names,
                       const struct resp_words *words, struct keys_command *command)
{
    memset(command, 0, sizeof *command);
    command->kind = REDIS_COMMANDS;
    command->role = ROLE_OTHER;
    const struct command_row *row = words->count > 0 ? command_row_find(&words->word[0]) : NULL;
    if (row == NULL) {
        return;
    }
    command->verb = row->verb;
    command->kind = row->kind;
    if (words->count > 1) {
        command_layout_read(scripts, names, words, row, command);
    }
    command->role = (uint8_t)command_role((enum keys_verb)command->verb);
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
