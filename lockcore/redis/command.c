/* command.c: how each command is written for Redis, the scripts, and what replies mean. */
#include "lockcore/redis/command.h"

#include "base/assert.h"

#include <string.h>

/* A node's fence counter lives beside the key, without a ttl: "resource:fence". */
#define SCRIPT_COMPARE_DELETE                                                                      \
    "if redis.call('get', KEYS[1]) == ARGV[1] then"                                                \
    " return redis.call('del', KEYS[1])"                                                           \
    " else return 0 end"

#define SCRIPT_COMPARE_EXPIRE                                                                      \
    "if redis.call('get', KEYS[1]) == ARGV[1] then"                                                \
    " return redis.call('pexpire', KEYS[1], ARGV[2])"                                              \
    " else return 0 end"

/* The counter is never lower than the node's clock in microseconds: a node that has lost its
 * memory goes on above the fences that it gave before, as long as its clock does. */
#define SCRIPT_SET_FENCE                                                                           \
    "if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end"        \
    " local counter = KEYS[1] .. ':fence'"                                                         \
    " local fence = tonumber(redis.call('get', counter) or '0') + 1"                               \
    " local time = redis.call('time')"                                                             \
    " local clock = tonumber(time[1]) * 1000000 + tonumber(time[2])"                               \
    " if fence < clock then fence = clock end"                                                     \
    " redis.call('set', counter, string.format('%.0f', fence))"                                    \
    " return fence"

#define SCRIPT_RAISE_FENCE                                                                         \
    "local counter = KEYS[1] .. ':fence'"                                                          \
    " local fence = tonumber(ARGV[1])"                                                             \
    " local have = tonumber(redis.call('get', counter) or '0')"                                    \
    " if have >= fence then return have end"                                                       \
    " redis.call('set', counter, ARGV[1])"                                                         \
    " return fence"

#define SCRIPT_SET_EXPIRE                                                                          \
    "if redis.call('get', KEYS[1]) == ARGV[1] then"                                                \
    " return redis.call('pexpire', KEYS[1], ARGV[2]) end"                                          \
    " if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end"               \
    " return 0"

/* The words behind the command's name, or behind a script's key. */
enum redis_layout {
    LAYOUT_NONE,
    LAYOUT_VALUE,
    LAYOUT_TTL,
    LAYOUT_VALUE_TTL,
    LAYOUT_NUMBER,
    LAYOUT_SET,  /* value NX PX ttl */
    LAYOUT_WAIT, /* number and ttl, and no key before them */
};

enum redis_answers {
    ANSWERS_OK,             /* +OK, or nil for no */
    ANSWERS_FLAG,           /* 1 or 0 */
    ANSWERS_INTEGER,        /* a number */
    ANSWERS_INTEGER_OR_NIL, /* a number, or nil for no */
};

/* How a command is written, and what it answers. */
struct redis_form {
    const char *word;   /* the command's name; NULL: a script */
    const char *script; /* its text */
    const char *sha;    /* SHA-1 of the text in hex; a test recomputes it */
    uint8_t layout;     /* enum redis_layout */
    uint8_t answers;    /* enum redis_answers */
};

static const struct redis_form forms[REDIS_COMMANDS] = {
    [REDIS_SET] = {.word = "SET", .layout = LAYOUT_SET, .answers = ANSWERS_OK},
    [REDIS_COMPARE_DELETE] = {.script = SCRIPT_COMPARE_DELETE,
                              .sha = "e9f69f2beb755be68b5e456ee2ce9aadfbc4ebf4",
                              .layout = LAYOUT_VALUE,
                              .answers = ANSWERS_FLAG},
    [REDIS_COMPARE_EXPIRE] = {.script = SCRIPT_COMPARE_EXPIRE,
                              .sha = "9136fcf51831e5cf49f109b6e9c97d5b675280d6",
                              .layout = LAYOUT_VALUE_TTL,
                              .answers = ANSWERS_FLAG},
    [REDIS_SET_FENCE] = {.script = SCRIPT_SET_FENCE,
                         .sha = "2de47c19c643cad2cf3aa09b7d02f5f959e8b8a4",
                         .layout = LAYOUT_VALUE_TTL,
                         .answers = ANSWERS_INTEGER_OR_NIL},
    [REDIS_RAISE_FENCE] = {.script = SCRIPT_RAISE_FENCE,
                           .sha = "f8ae06f60cf0d5be2f3bc10c45502dd3198730ff",
                           .layout = LAYOUT_NUMBER,
                           .answers = ANSWERS_INTEGER},
    [REDIS_DELETE] = {.word = "DEL", .layout = LAYOUT_NONE, .answers = ANSWERS_FLAG},
    [REDIS_SETNX] = {.word = "SETNX", .layout = LAYOUT_VALUE, .answers = ANSWERS_FLAG},
    [REDIS_EXPIRE] = {.word = "PEXPIRE", .layout = LAYOUT_TTL, .answers = ANSWERS_FLAG},
    [REDIS_SET_EXPIRE] = {.script = SCRIPT_SET_EXPIRE,
                          .sha = "592dc150d974669c0f274d7354a4ac9650fa5674",
                          .layout = LAYOUT_VALUE_TTL,
                          .answers = ANSWERS_FLAG},
    [REDIS_WAIT] = {.word = "WAIT", .layout = LAYOUT_WAIT, .answers = ANSWERS_INTEGER},
};

enum {
    NOTHING = 0,
    TTL = LOCK_CARRIES_TTL,
    NUMBER = LOCK_CARRIES_NUMBER,
};

static const struct lock_command_row rows[REDIS_COMMANDS] = {
    [REDIS_SET] = {"set", "SET NX PX: set the key if there is none", LOCK_VERB_SET_ABSENT, TTL,
                   LOCK_ANSWERS_YES_NO, false},
    [REDIS_COMPARE_DELETE] = {"compare-delete", "script: delete the key if it holds our value",
                              LOCK_VERB_DELETE_COMPARE, NOTHING, LOCK_ANSWERS_YES_NO, true},
    [REDIS_COMPARE_EXPIRE] = {"compare-expire", "script: new ttl if the key holds our value",
                              LOCK_VERB_EXTEND_COMPARE, TTL, LOCK_ANSWERS_YES_NO, true},
    [REDIS_SET_FENCE] = {"set-fence", "script: SET NX PX, then count the grant",
                         LOCK_VERB_SET_ABSENT, TTL, LOCK_ANSWERS_NUMBER, true},
    [REDIS_RAISE_FENCE] = {"raise-fence", "script: counter = max(counter, fence)", LOCK_VERB_NONE,
                           NUMBER, LOCK_ANSWERS_NUMBER, true},
    [REDIS_DELETE] = {"delete", "DEL, whoever owns the key (wrong locks)", LOCK_VERB_DELETE,
                      NOTHING, LOCK_ANSWERS_YES_NO, false},
    [REDIS_SETNX] = {"setnx", "SETNX, without a ttl (wrong locks)", LOCK_VERB_SET_ABSENT, NOTHING,
                     LOCK_ANSWERS_YES_NO, false},
    [REDIS_EXPIRE] = {"expire", "PEXPIRE, whoever owns the key (wrong locks)", LOCK_VERB_EXTEND,
                      TTL, LOCK_ANSWERS_YES_NO, false},
    [REDIS_SET_EXPIRE] = {"set-expire", "script: extend our key or create it (wrong locks)",
                          LOCK_VERB_SET_OR_EXTEND, TTL, LOCK_ANSWERS_YES_NO, true},
    [REDIS_WAIT] = {"wait", "WAIT: how many replicas have what was written before it",
                    LOCK_VERB_NONE, TTL | NUMBER, LOCK_ANSWERS_NUMBER, false},
};

const struct lock_dialect redis_dialect = {
    .name = "redis",
    .rows = rows,
    .row_count = REDIS_COMMANDS,
    .own_values = true,
};

static const struct redis_form *form_of(uint32_t kind)
{
    ASSERT(kind < REDIS_COMMANDS);
    return &forms[kind];
}

const char *redis_script(enum redis_command kind)
{
    return form_of(kind)->script;
}

const char *redis_script_sha(enum redis_command kind)
{
    return form_of(kind)->sha;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Words under construction and the scratch bytes that are still free. */
struct writer {
    struct redis_words *words;
    char *scratch;
    char *scratch_end;
};

static void word_add(struct writer *writer, const char *word, size_t bytes)
{
    struct redis_words *words = writer->words;
    ASSERT(words->count < REDIS_WORDS_MAX);
    words->word[words->count] = word;
    words->bytes[words->count] = bytes;
    words->count++;
}

static void literal_add(struct writer *writer, const char *word)
{
    word_add(writer, word, strlen(word));
}

static void value_add(struct writer *writer, const struct lock_value *value)
{
    ASSERT(writer->scratch_end - writer->scratch >= LOCK_VALUE_HEX_BYTES);
    lock_value_print(value, writer->scratch);
    word_add(writer, writer->scratch, LOCK_VALUE_HEX_BYTES);
    writer->scratch += LOCK_VALUE_HEX_BYTES;
}

static void number_add(struct writer *writer, int64_t number)
{
    ASSERT(number >= 0);
    char reversed[20];
    size_t bytes = 0;
    do {
        reversed[bytes++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    ASSERT((size_t)(writer->scratch_end - writer->scratch) >= bytes);
    for (size_t i = 0; i < bytes; i++) {
        writer->scratch[i] = reversed[bytes - 1 - i];
    }
    word_add(writer, writer->scratch, bytes);
    writer->scratch += bytes;
}

/* EVALSHA sha 1, or EVAL text 1: what stands before the key of a script. */
static void script_add(struct writer *writer, const struct redis_form *form,
                       enum lock_command_form length)
{
    ASSERT(form->script != NULL);
    ASSERT(form->sha != NULL);
    bool by_sha = length == LOCK_FORM_SHORT;
    literal_add(writer, by_sha ? "EVALSHA" : "EVAL");
    literal_add(writer, by_sha ? form->sha : form->script);
    literal_add(writer, "1");
}

void redis_words(const struct lock_command *command, const char *resource, size_t resource_bytes,
                 char scratch[REDIS_SCRATCH_BYTES], struct redis_words *words)
{
    const struct redis_form *form = form_of(command->kind);
    struct writer writer = {words, scratch, scratch + REDIS_SCRATCH_BYTES};
    words->count = 0;
    if (form->word != NULL) {
        literal_add(&writer, form->word);
    } else {
        script_add(&writer, form, (enum lock_command_form)command->form);
    }
    if (form->layout != LAYOUT_WAIT) {
        word_add(&writer, resource, resource_bytes);
    }
    switch ((enum redis_layout)form->layout) {
    case LAYOUT_NONE:
        return;
    case LAYOUT_VALUE:
        value_add(&writer, &command->value);
        return;
    case LAYOUT_TTL:
        number_add(&writer, command->ttl_ms);
        return;
    case LAYOUT_VALUE_TTL:
        value_add(&writer, &command->value);
        number_add(&writer, command->ttl_ms);
        return;
    case LAYOUT_NUMBER:
        number_add(&writer, command->number);
        return;
    case LAYOUT_SET:
        value_add(&writer, &command->value);
        literal_add(&writer, "NX");
        literal_add(&writer, "PX");
        number_add(&writer, command->ttl_ms);
        return;
    case LAYOUT_WAIT:
        number_add(&writer, command->number);
        number_add(&writer, command->ttl_ms);
        return;
    }
    UNREACHABLE();
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct lock_reply reply_nil(enum redis_answers answers)
{
    bool says_no = answers == ANSWERS_OK || answers == ANSWERS_INTEGER_OR_NIL;
    return (struct lock_reply){.type = says_no ? LOCK_REPLY_NO : LOCK_REPLY_GARBLED};
}

static struct lock_reply reply_integer(enum redis_answers answers, int64_t integer)
{
    if (answers == ANSWERS_INTEGER || answers == ANSWERS_INTEGER_OR_NIL) {
        return (struct lock_reply){.type = LOCK_REPLY_NUMBER, .number = integer};
    }
    bool flag = answers == ANSWERS_FLAG && (integer == 0 || integer == 1);
    enum lock_reply_type told = integer == 1 ? LOCK_REPLY_YES : LOCK_REPLY_NO;
    return (struct lock_reply){.type = (uint8_t)(flag ? told : LOCK_REPLY_GARBLED)};
}

struct lock_reply redis_reply(enum redis_command kind, enum redis_said said, int64_t integer)
{
    enum redis_answers answers = (enum redis_answers)form_of(kind)->answers;
    switch (said) {
    case REDIS_SAID_OK:
        return (struct lock_reply){.type =
                                       answers == ANSWERS_OK ? LOCK_REPLY_YES : LOCK_REPLY_GARBLED};
    case REDIS_SAID_NIL:
        return reply_nil(answers);
    case REDIS_SAID_INTEGER:
        return reply_integer(answers, integer);
    case REDIS_SAID_NOSCRIPT:
        return (struct lock_reply){.type = LOCK_REPLY_LONG_FORM};
    case REDIS_SAID_ERROR:
        return (struct lock_reply){.type = LOCK_REPLY_ERROR};
    case REDIS_SAID_OTHER:
        return (struct lock_reply){.type = LOCK_REPLY_GARBLED};
    }
    UNREACHABLE();
}
