/* effect.c: what Redis's commands say of the keys that they change. */
#include "harness/real/keys/effect.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>
#include <strings.h>

/* How the words behind a command's name are laid out, as far as keys and ends go. */
enum layout {
    LAYOUT_SET,        /* key value [NX|XX|GET|KEEPTTL] [EX s|PX ms|EXAT s|PXAT ms] */
    LAYOUT_VALUE,      /* key value */
    LAYOUT_PAIRS,      /* key value key value ... */
    LAYOUT_TTL_VALUE,  /* key ttl value */
    LAYOUT_EXPIRY,     /* key ttl */
    LAYOUT_EXPIRY_AT,  /* key date */
    LAYOUT_GETEX,      /* key [EX s|PX ms|EXAT s|PXAT ms|PERSIST] */
    LAYOUT_COUNT,      /* key [amount] */
    LAYOUT_COUNT_DOWN, /* key [amount] */
    LAYOUT_FIELDS,     /* key field value field value ... */
    LAYOUT_FIELD,      /* key field field ... */
    LAYOUT_SOURCE,     /* from to */
    LAYOUT_NONE,
};

struct command_row {
    const char *name;
    uint8_t layout; /* enum layout */
    uint8_t ask;    /* enum effect_ask */
    int16_t unit_ms;
};

/* The most frequent come first. */
static const struct command_row command_rows[] = {
    {"SET", LAYOUT_SET, ASK_SET, 0},
    {"EVALSHA", LAYOUT_NONE, ASK_SCRIPT, 0},
    {"EVAL", LAYOUT_NONE, ASK_SCRIPT, 0},
    {"DEL", LAYOUT_NONE, ASK_DELETE, 0},
    {"PEXPIRE", LAYOUT_EXPIRY, ASK_EXPIRY, 1},
    {"UNLINK", LAYOUT_NONE, ASK_DELETE, 0},
    {"SETNX", LAYOUT_VALUE, ASK_SET, 0},
    {"EXPIRE", LAYOUT_EXPIRY, ASK_EXPIRY, 1000},
    {"PEXPIREAT", LAYOUT_EXPIRY_AT, ASK_EXPIRY, 1},
    {"EXPIREAT", LAYOUT_EXPIRY_AT, ASK_EXPIRY, 1000},
    {"PSETEX", LAYOUT_TTL_VALUE, ASK_SET, 1},
    {"SETEX", LAYOUT_TTL_VALUE, ASK_SET, 1000},
    {"GETSET", LAYOUT_VALUE, ASK_SET, 0},
    {"MSET", LAYOUT_PAIRS, ASK_SET, 0},
    {"MSETNX", LAYOUT_PAIRS, ASK_SET, 0},
    {"GETDEL", LAYOUT_NONE, ASK_DELETE, 0},
    {"DELEX", LAYOUT_NONE, ASK_DELETE, 0},
    {"DELIFEQ", LAYOUT_NONE, ASK_DELETE, 0},
    {"GETEX", LAYOUT_GETEX, ASK_OTHER, 0},
    {"INCR", LAYOUT_COUNT, ASK_COUNT, 0},
    {"INCRBY", LAYOUT_COUNT, ASK_COUNT, 0},
    {"DECR", LAYOUT_COUNT_DOWN, ASK_COUNT, 0},
    {"DECRBY", LAYOUT_COUNT_DOWN, ASK_COUNT, 0},
    {"HSET", LAYOUT_FIELDS, ASK_CHANGE, 0},
    {"HSETNX", LAYOUT_FIELDS, ASK_CHANGE, 0},
    {"HMSET", LAYOUT_FIELDS, ASK_CHANGE, 0},
    {"HINCRBY", LAYOUT_FIELDS, ASK_CHANGE, 0},
    {"HDEL", LAYOUT_FIELD, ASK_CHANGE, 0},
    {"RENAME", LAYOUT_SOURCE, ASK_CHANGE, 0},
    {"RENAMENX", LAYOUT_SOURCE, ASK_CHANGE, 0},
    {"COPY", LAYOUT_SOURCE, ASK_CHANGE, 0},
    {"MULTI", LAYOUT_NONE, ASK_MULTI, 0},
    {"EXEC", LAYOUT_NONE, ASK_EXEC, 0},
    {"DISCARD", LAYOUT_NONE, ASK_DISCARD, 0},
    {"FCALL", LAYOUT_NONE, ASK_SCRIPT, 0},
    {"FCALL_RO", LAYOUT_NONE, ASK_SCRIPT, 0},
    {"EVAL_RO", LAYOUT_NONE, ASK_SCRIPT, 0},
    {"EVALSHA_RO", LAYOUT_NONE, ASK_SCRIPT, 0},
    {"FLUSHALL", LAYOUT_NONE, ASK_FLUSH, 0},
    {"FLUSHDB", LAYOUT_NONE, ASK_FLUSH_ONE, 0},
    {"SUBSCRIBE", LAYOUT_NONE, ASK_STREAM, 0},
    {"PSUBSCRIBE", LAYOUT_NONE, ASK_STREAM, 0},
    {"SSUBSCRIBE", LAYOUT_NONE, ASK_STREAM, 0},
    {"MONITOR", LAYOUT_NONE, ASK_STREAM, 0},
    {"SYNC", LAYOUT_NONE, ASK_STREAM, 0},
    {"PSYNC", LAYOUT_NONE, ASK_STREAM, 0},
    {"CLIENT", LAYOUT_NONE, ASK_OTHER, 0},
};

/* The server's events; those of an unknown name change a key that is there. */
static const struct {
    const char *name;
    uint8_t event; /* enum effect_event */
    uint8_t shape; /* enum effect_shape */
} event_rows[] = {
    {"set", EFFECT_WRITTEN, SHAPE_STRING},         {"expire", EFFECT_EXPIRY, SHAPE_UNKNOWN},
    {"del", EFFECT_GONE, SHAPE_UNKNOWN},           {"expired", EFFECT_EXPIRED, SHAPE_UNKNOWN},
    {"evicted", EFFECT_EVICTED, SHAPE_UNKNOWN},    {"persist", EFFECT_ENDLESS, SHAPE_UNKNOWN},
    {"incrby", EFFECT_CHANGED, SHAPE_COUNTER},     {"incrbyfloat", EFFECT_CHANGED, SHAPE_STRING},
    {"append", EFFECT_CHANGED, SHAPE_STRING},      {"setrange", EFFECT_CHANGED, SHAPE_STRING},
    {"setbit", EFFECT_CHANGED, SHAPE_STRING},      {"hset", EFFECT_CHANGED, SHAPE_HASH},
    {"hincrby", EFFECT_CHANGED, SHAPE_HASH},       {"hincrbyfloat", EFFECT_CHANGED, SHAPE_HASH},
    {"hdel", EFFECT_CHANGED, SHAPE_HASH},          {"hexpire", EFFECT_CHANGED, SHAPE_HASH},
    {"hexpired", EFFECT_CHANGED, SHAPE_HASH},      {"hpersist", EFFECT_CHANGED, SHAPE_HASH},
    {"rename_from", EFFECT_GONE, SHAPE_UNKNOWN},   {"move_from", EFFECT_GONE, SHAPE_UNKNOWN},
    {"rename_to", EFFECT_MOVED_IN, SHAPE_UNKNOWN}, {"copy_to", EFFECT_MOVED_IN, SHAPE_UNKNOWN},
    {"move_to", EFFECT_MOVED_IN, SHAPE_UNKNOWN},   {"restore", EFFECT_MOVED_IN, SHAPE_UNKNOWN},
    {"keymiss", EFFECT_NOTHING, SHAPE_UNKNOWN},    {"new", EFFECT_NOTHING, SHAPE_UNKNOWN},
};

bool resp_word_is(const struct resp_word *word, const char *upper)
{
    return strlen(upper) == word->bytes && strncasecmp(word->data, upper, word->bytes) == 0;
}

bool resp_word_equal(const struct resp_word *a, const struct resp_word *b)
{
    return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

bool resp_word_number(const struct resp_word *word, int64_t *number)
{
    enum { DIGITS_MAX = 18 };
    uint32_t first = word->bytes > 0 && word->data[0] == '-' ? 1 : 0;
    int64_t sum = 0;
    if (word->bytes == first || word->bytes > DIGITS_MAX) {
        return false;
    }
    for (uint32_t i = first; i < word->bytes; i++) {
        if (word->data[i] < '0' || word->data[i] > '9') {
            return false;
        }
        sum = sum * 10 + (word->data[i] - '0');
    }
    *number = first == 1 ? -sum : sum;
    return true;
}

static const struct command_row *row_find(const struct resp_word *name)
{
    for (size_t i = 0; i < sizeof command_rows / sizeof command_rows[0]; i++) {
        const struct command_row *row = &command_rows[i];
        bool same = name->bytes > 0 && (row->name[0] | 0x20) == (name->data[0] | 0x20);
        if (same && resp_word_is(name, row->name)) {
            return row;
        }
    }
    return NULL;
}

enum effect_ask effect_ask(const struct resp_words *words)
{
    const struct command_row *row = words->count > 0 ? row_find(&words->word[0]) : NULL;
    bool silent = row != NULL && words->count > 1 && strcmp(row->name, "CLIENT") == 0 &&
                  resp_word_is(&words->word[1], "REPLY");
    return silent ? ASK_STREAM : row != NULL ? (enum effect_ask)row->ask : ASK_OTHER;
}

uint32_t effect_text_word(enum effect_ask ask)
{
    return ask == ASK_SCRIPT ? 1 : 0;
}

enum effect_event effect_event(const struct resp_word *event, enum effect_shape *shape)
{
    for (size_t i = 0; i < sizeof event_rows / sizeof event_rows[0]; i++) {
        if (resp_word_is(event, event_rows[i].name)) {
            *shape = (enum effect_shape)event_rows[i].shape;
            return (enum effect_event)event_rows[i].event;
        }
    }
    *shape = SHAPE_OTHER;
    return EFFECT_CHANGED;
}

bool effect_names(const struct resp_words *words, const struct resp_word *key)
{
    for (uint32_t i = 1; i < words->count; i++) {
        if (resp_word_equal(&words->word[i], key)) {
            return true;
        }
    }
    return words->total > words->count;
}

/* ---- what the words say ---- */

static void said_expiry(struct effect *effect, enum effect_expiry how, const struct resp_word *word,
                        int64_t unit_ms)
{
    int64_t number = 0;
    if (resp_word_number(word, &number)) {
        effect->expiry = (uint8_t)how;
        effect->expiry_ms =
            number > INT64_MAX / 1000 / unit_ms ? INT64_MAX / 1000 : number * unit_ms;
    }
}

/* The options behind SET and GETEX: all of them that say when the key ends. */
static void said_options(const struct resp_words *words, uint32_t first, struct effect *effect)
{
    for (uint32_t i = first; i < words->count; i++) {
        const struct resp_word *word = &words->word[i];
        const struct resp_word *next = i + 1 < words->count ? word + 1 : NULL;
        if (resp_word_is(word, "KEEPTTL")) {
            effect->expiry = EXPIRY_KEPT;
        } else if (next != NULL && resp_word_is(word, "PX")) {
            said_expiry(effect, EXPIRY_AFTER, next, 1);
        } else if (next != NULL && resp_word_is(word, "EX")) {
            said_expiry(effect, EXPIRY_AFTER, next, 1000);
        } else if (next != NULL && resp_word_is(word, "PXAT")) {
            said_expiry(effect, EXPIRY_AT, next, 1);
        } else if (next != NULL && resp_word_is(word, "EXAT")) {
            said_expiry(effect, EXPIRY_AT, next, 1000);
        }
    }
}

static void said_value(struct effect *effect, const struct resp_words *words, uint32_t at)
{
    if (at < words->count) {
        effect->value = words->word[at];
        effect->has_value = true;
    }
}

static void said_amount(struct effect *effect, const struct resp_words *words, int64_t sign)
{
    int64_t amount = 1;
    bool fine = words->count < 3 || resp_word_number(&words->word[2], &amount);
    effect->has_amount = fine;
    effect->amount = sign * amount;
}

/* Where the key stands among the words; 1 for commands that have it first. */
static uint32_t key_place(const struct resp_words *words, const struct resp_word *key)
{
    for (uint32_t i = 1; i < words->count; i++) {
        if (resp_word_equal(&words->word[i], key)) {
            return i;
        }
    }
    return 1;
}

void effect_said(const struct resp_words *words, const struct resp_word *key, struct effect *effect)
{
    memset(effect, 0, sizeof *effect);
    const struct command_row *row = words->count > 0 ? row_find(&words->word[0]) : NULL;
    if (row == NULL || words->count < 2) {
        return;
    }
    switch ((enum layout)row->layout) {
    case LAYOUT_SET:
        said_value(effect, words, 2);
        said_options(words, 3, effect);
        return;
    case LAYOUT_VALUE:
        said_value(effect, words, 2);
        return;
    case LAYOUT_PAIRS:
        said_value(effect, words, key_place(words, key) + 1);
        return;
    case LAYOUT_TTL_VALUE:
        said_value(effect, words, 3);
        said_expiry(effect, EXPIRY_AFTER, &words->word[2 < words->count ? 2 : 0], row->unit_ms);
        return;
    case LAYOUT_EXPIRY:
        said_expiry(effect, EXPIRY_AFTER, &words->word[2 < words->count ? 2 : 0], row->unit_ms);
        return;
    case LAYOUT_EXPIRY_AT:
        said_expiry(effect, EXPIRY_AT, &words->word[2 < words->count ? 2 : 0], row->unit_ms);
        return;
    case LAYOUT_GETEX:
        said_options(words, 2, effect);
        return;
    case LAYOUT_COUNT:
        said_amount(effect, words, 1);
        return;
    case LAYOUT_COUNT_DOWN:
        said_amount(effect, words, -1);
        return;
    case LAYOUT_FIELDS:
    case LAYOUT_FIELD:
        effect->fields = words;
        effect->field_step = row->layout == LAYOUT_FIELDS ? 2 : 1;
        return;
    case LAYOUT_SOURCE:
        effect->source = words->word[1];
        return;
    case LAYOUT_NONE:
        return;
    }
    UNREACHABLE();
}
