/* command.c: how each command is written for Redis, and the scripts. */
#include "lockcore/command.h"

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

struct command_row {
    const char *name;
    const char *script; /* NULL: an ordinary command */
    const char *sha;    /* SHA-1 of the script in hex; a test recomputes it */
};

static const struct command_row rows[LOCK_COMMAND_KINDS] = {
    [LOCK_COMMAND_SET] = {"set", NULL, NULL},
    [LOCK_COMMAND_COMPARE_DELETE] = {"compare-delete", SCRIPT_COMPARE_DELETE,
                                     "e9f69f2beb755be68b5e456ee2ce9aadfbc4ebf4"},
    [LOCK_COMMAND_COMPARE_EXPIRE] = {"compare-expire", SCRIPT_COMPARE_EXPIRE,
                                     "9136fcf51831e5cf49f109b6e9c97d5b675280d6"},
    [LOCK_COMMAND_SET_FENCE] = {"set-fence", SCRIPT_SET_FENCE,
                                "2de47c19c643cad2cf3aa09b7d02f5f959e8b8a4"},
    [LOCK_COMMAND_RAISE_FENCE] = {"raise-fence", SCRIPT_RAISE_FENCE,
                                  "f8ae06f60cf0d5be2f3bc10c45502dd3198730ff"},
    [LOCK_COMMAND_DELETE] = {"delete", NULL, NULL},
    [LOCK_COMMAND_SETNX] = {"setnx", NULL, NULL},
    [LOCK_COMMAND_EXPIRE] = {"expire", NULL, NULL},
    [LOCK_COMMAND_SET_EXPIRE] = {"set-expire", SCRIPT_SET_EXPIRE,
                                 "592dc150d974669c0f274d7354a4ac9650fa5674"},
};

static const struct command_row *row_of(enum lock_command_kind kind)
{
    ASSERT(kind < LOCK_COMMAND_KINDS);
    return &rows[kind];
}

const char *lock_command_script(enum lock_command_kind kind)
{
    return row_of(kind)->script;
}

const char *lock_command_script_sha(enum lock_command_kind kind)
{
    return row_of(kind)->sha;
}

const char *lock_command_name(enum lock_command_kind kind)
{
    return row_of(kind)->name;
}

static const char digits[] = "0123456789abcdef";

void lock_value_print(const struct lock_value *value, char hex[COMMAND_VALUE_HEX_BYTES])
{
    for (size_t i = 0; i < LOCK_VALUE_BYTES; i++) {
        hex[2 * i] = digits[value->bytes[i] >> 4];
        hex[2 * i + 1] = digits[value->bytes[i] & 15];
    }
}

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool lock_value_parse(const char *hex, size_t bytes, struct lock_value *value)
{
    if (bytes != COMMAND_VALUE_HEX_BYTES) {
        return false;
    }
    struct lock_value parsed;
    for (size_t i = 0; i < LOCK_VALUE_BYTES; i++) {
        int high = digit_value(hex[2 * i]);
        int low = digit_value(hex[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        parsed.bytes[i] = (uint8_t)(high * 16 + low);
    }
    *value = parsed;
    return true;
}

/* Words under construction and the scratch bytes that are still free. */
struct writer {
    struct command_words *words;
    char *scratch;
    char *scratch_end;
};

static void word_add(struct writer *writer, const char *word, size_t bytes)
{
    struct command_words *words = writer->words;
    ASSERT(words->count < COMMAND_WORDS_MAX);
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
    ASSERT(writer->scratch_end - writer->scratch >= COMMAND_VALUE_HEX_BYTES);
    lock_value_print(value, writer->scratch);
    word_add(writer, writer->scratch, COMMAND_VALUE_HEX_BYTES);
    writer->scratch += COMMAND_VALUE_HEX_BYTES;
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

/* EVALSHA sha 1 key, or EVAL text 1 key. */
static void script_add(struct writer *writer, const struct lock_command *command,
                       const char *resource, size_t resource_bytes)
{
    const struct command_row *row = row_of((enum lock_command_kind)command->kind);
    ASSERT(row->script != NULL);
    bool by_sha = command->form == LOCK_FORM_SHA;
    literal_add(writer, by_sha ? "EVALSHA" : "EVAL");
    literal_add(writer, by_sha ? row->sha : row->script);
    literal_add(writer, "1");
    word_add(writer, resource, resource_bytes);
}

void lock_command_words(const struct lock_command *command, const char *resource,
                        size_t resource_bytes, char scratch[COMMAND_SCRATCH_BYTES],
                        struct command_words *words)
{
    struct writer writer = {words, scratch, scratch + COMMAND_SCRATCH_BYTES};
    words->count = 0;
    switch ((enum lock_command_kind)command->kind) {
    case LOCK_COMMAND_SET:
        literal_add(&writer, "SET");
        word_add(&writer, resource, resource_bytes);
        value_add(&writer, &command->value);
        literal_add(&writer, "NX");
        literal_add(&writer, "PX");
        number_add(&writer, command->ttl_ms);
        return;
    case LOCK_COMMAND_COMPARE_DELETE:
        script_add(&writer, command, resource, resource_bytes);
        value_add(&writer, &command->value);
        return;
    case LOCK_COMMAND_COMPARE_EXPIRE:
    case LOCK_COMMAND_SET_FENCE:
    case LOCK_COMMAND_SET_EXPIRE:
        script_add(&writer, command, resource, resource_bytes);
        value_add(&writer, &command->value);
        number_add(&writer, command->ttl_ms);
        return;
    case LOCK_COMMAND_RAISE_FENCE:
        script_add(&writer, command, resource, resource_bytes);
        number_add(&writer, command->fence);
        return;
    case LOCK_COMMAND_DELETE:
        literal_add(&writer, "DEL");
        word_add(&writer, resource, resource_bytes);
        return;
    case LOCK_COMMAND_SETNX:
        literal_add(&writer, "SETNX");
        word_add(&writer, resource, resource_bytes);
        value_add(&writer, &command->value);
        return;
    case LOCK_COMMAND_EXPIRE:
        literal_add(&writer, "PEXPIRE");
        word_add(&writer, resource, resource_bytes);
        number_add(&writer, command->ttl_ms);
        return;
    case LOCK_COMMAND_KINDS:
        break;
    }
    UNREACHABLE();
}
