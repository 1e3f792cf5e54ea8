/*
 * scenario_table.h: every key of a scenario file: the one table that the parser, the JSON schema,
 * the canonical print and the test of docs/SCENARIO.md use.
 *
 *     scenario_keys   "lock.retry.count" ...  into struct scenario
 *     fault_keys      "for", "target" ...     into struct fault
 *     fault_rule_of   which of them a fault of a kind needs and takes
 */
#ifndef HARNESS_SCENARIO_TABLE_H
#define HARNESS_SCENARIO_TABLE_H

#include "harness/scenario.h"

/* How a value is written. */
#define KEY_TYPE_MAP(X)                                                                            \
    X(KEY_MAP, "map")                                                                              \
    X(KEY_NAME, "name") /* letters, digits, "-", "_", "." */                                       \
    X(KEY_TEXT, "text")                                                                            \
    X(KEY_VERSION, "version")   /* the number 1 */                                                 \
    X(KEY_COUNT, "count")       /* a whole number */                                               \
    X(KEY_DURATION, "duration") /* 250ms */                                                        \
    X(KEY_PERCENT, "percent")   /* 1%: kept in millionths */                                       \
    X(KEY_FACTOR, "factor")     /* 0.5: kept in millionths */                                      \
    X(KEY_FLAG, "flag")         /* true, false */                                                  \
    X(KEY_WORD, "word")         /* one of `words` */                                               \
    X(KEY_WORDS, "words")       /* a list of `words`: kept as bits */                              \
    X(KEY_ALGORITHM, "algorithm")                                                                  \
    X(KEY_FAULTS, "faults")                                                                        \
    X(KEY_EXPECT, "expect")                                                                        \
    X(KEY_TRIGGER, "trigger")                                                                      \
    X(KEY_TARGET, "target")

enum key_type {
#define X(name, word) name,
    KEY_TYPE_MAP(X)
#undef X
};

struct key_word {
    const char *name; /* NULL ends a list of words */
    uint8_t value;
};

struct scenario_key {
    const char *path;    /* "lock.retry.count"; of a fault just "for" */
    const char *doc;     /* one line */
    const char *missing; /* what is written in docs where it is left out; NULL: it is required */
    uint8_t type;        /* enum key_type */
    uint8_t bytes;       /* size of the field; 0 if it is not kept as a number */
    uint16_t offset;     /* into struct scenario or struct fault */
    int64_t min, max;    /* COUNT, DURATION (ns), PERCENT and FACTOR (millionths) */
    int64_t fallback;    /* the value where it is left out */
    const struct key_word *words;
};

extern const struct scenario_key scenario_keys[];
extern const size_t scenario_key_count;

/* Index of the row with this path, which must exist. */
size_t scenario_key_index(const char *path);

/* Keys of a fault; the order is that of fault_keys and of the canonical print. */
enum fault_key {
    FAULT_KEY_AT,
    FAULT_KEY_ON,
    FAULT_KEY_NTH,
    FAULT_KEY_AFTER,
    FAULT_KEY_DO,
    FAULT_KEY_TARGET,
    FAULT_KEY_SHAPE,
    FAULT_KEY_FROM,
    FAULT_KEY_TO,
    FAULT_KEY_COMMAND,
    FAULT_KEY_DIRECTION,
    FAULT_KEY_MODE,
    FAULT_KEY_ERROR,
    FAULT_KEY_BY,
    FAULT_KEY_RATE,
    FAULT_KEY_LAG,
    FAULT_KEY_DELAY,
    FAULT_KEY_JITTER,
    FAULT_KEY_FOR,
    FAULT_KEY_UNTIL,
    FAULT_KEY_UNTIL_NTH,
    FAULT_KEYS,
};

extern const struct scenario_key fault_keys[FAULT_KEYS];

/* Which keys a fault takes, by its row in history/event.h. */
struct fault_rule {
    uint32_t required; /* bit k: enum fault_key k */
    uint32_t
        allowed; /* these too; beside at, on, nth, do and, where it lasts, for, until, until_nth */
};

struct fault_rule fault_rule_of(enum fault_kind kind);

/* Words that users of other tools know, and what is meant here. */
struct familiar_word {
    const char *word;
    const char *hint;
};

extern const struct familiar_word familiar_words[]; /* ends with a NULL word */

extern const struct key_word fault_kind_words[];
extern const struct key_word needs_words[];
extern const struct key_word probe_words[];
extern const struct key_word role_words[];

/* The value of a field that is kept as a number. `base` is the struct that the offset is of. */
int64_t key_get(const struct scenario_key *key, const void *base);
void key_set(const struct scenario_key *key, void *base, int64_t value);

/* Set every field of a table that is kept as a number to its fallback. */
void keys_set_fallbacks(const struct scenario_key *keys, size_t count, void *base);

const struct key_word *key_word_find(const struct key_word *words, const char *name);

/* Print the value as it is written in a file. */
void key_value_print(const struct scenario_key *key, int64_t value, struct text *text);

/* Print what may be written: `10ms..24h`, `none, everysec, always`. */
void key_range_print(const struct scenario_key *key, struct text *text);

/* The last part of a path: "count" of "lock.retry.count". */
const char *key_last_part(const struct scenario_key *key);

/* Whether `path` is "PARENT.LAST"; the parent of a top key is "". */
bool key_is_child(const struct scenario_key *key, const char *parent);

const char *key_type_name(enum key_type type);

#endif
