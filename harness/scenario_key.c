/* scenario_key.c: fields, values, ranges and paths of the keys in the table. */
#include "harness/scenario_table.h"

#include "base/assert.h"
#include "base/duration.h"

#include <inttypes.h>
#include <string.h>

int64_t key_get(const struct scenario_key *key, const void *base)
{
    const char *field = (const char *)base + key->offset;
    if (key->bytes == 1) {
        uint8_t value = 0;
        memcpy(&value, field, sizeof value);
        return value;
    }
    if (key->bytes == 2) {
        uint16_t value = 0;
        memcpy(&value, field, sizeof value);
        return value;
    }
    if (key->bytes == 4) {
        uint32_t value = 0;
        memcpy(&value, field, sizeof value);
        return value;
    }
    ASSERT(key->bytes == 8);
    int64_t value = 0;
    memcpy(&value, field, sizeof value);
    return value;
}

void key_set(const struct scenario_key *key, void *base, int64_t value)
{
    char *field = (char *)base + key->offset;
    if (key->bytes == 1) {
        memcpy(field, &(uint8_t){(uint8_t)value}, 1);
    } else if (key->bytes == 2) {
        memcpy(field, &(uint16_t){(uint16_t)value}, 2);
    } else if (key->bytes == 4) {
        memcpy(field, &(uint32_t){(uint32_t)value}, 4);
    } else {
        ASSERT(key->bytes == 8);
        memcpy(field, &value, 8);
    }
}

void keys_set_fallbacks(const struct scenario_key *keys, size_t count, void *base)
{
    for (size_t i = 0; i < count; i++) {
        if (keys[i].bytes > 0) {
            key_set(&keys[i], base, keys[i].fallback);
        }
    }
}

const struct key_word *key_word_find(const struct key_word *words, const char *name)
{
    for (const struct key_word *word = words; word->name != NULL; word++) {
        if (strcmp(word->name, name) == 0) {
            return word;
        }
    }
    return NULL;
}

size_t scenario_key_index(const char *path)
{
    for (size_t i = 0; i < scenario_key_count; i++) {
        if (strcmp(scenario_keys[i].path, path) == 0) {
            return i;
        }
    }
    UNREACHABLE();
}

static enum fault_key fault_key_find(const char *word, size_t bytes)
{
    for (uint32_t k = 0; k < FAULT_KEYS; k++) {
        if (strlen(fault_keys[k].path) == bytes && memcmp(fault_keys[k].path, word, bytes) == 0) {
            return (enum fault_key)k;
        }
    }
    UNREACHABLE();
}

struct fault_rule fault_rule_of(enum fault_kind kind)
{
    struct fault_rule rule = {0, 0};
    for (const char *at = fault_trait_of(kind)->keys; *at != '\0';) {
        size_t bytes = strcspn(at, "! ");
        uint32_t bit = 1u << fault_key_find(at, bytes);
        bool required = at[bytes] == '!';
        rule.required |= required ? bit : 0;
        rule.allowed |= bit;
        at += bytes + (required ? 1 : 0);
        at += *at == ' ' ? 1 : 0;
    }
    return rule;
}

/* Millionths as a decimal number without zeros at its end: 1010000 -> 1.01. */
static void millionths_print(int64_t millionths, struct text *text)
{
    text_add(text, "%" PRId64, millionths / 1000000);
    int64_t rest = millionths % 1000000;
    if (rest == 0) {
        return;
    }
    char digits[8];
    struct text fraction = text_over(digits, sizeof digits);
    text_add(&fraction, "%06" PRId64, rest);
    while (fraction.data[fraction.length - 1] == '0') {
        fraction.length--;
    }
    text_add(text, ".%.*s", (int)fraction.length, fraction.data);
}

static void key_words_print(const struct scenario_key *key, int64_t value, struct text *text)
{
    const char *separator = "[";
    for (const struct key_word *word = key->words; word->name != NULL; word++) {
        if ((value & ((int64_t)1 << word->value)) != 0) {
            text_add(text, "%s%s", separator, word->name);
            separator = ", ";
        }
    }
    text_add(text, "]");
}

static const char *key_word_name(const struct scenario_key *key, int64_t value)
{
    for (const struct key_word *word = key->words; word->name != NULL; word++) {
        if (word->value == value) {
            return word->name;
        }
    }
    UNREACHABLE();
}

void key_value_print(const struct scenario_key *key, int64_t value, struct text *text)
{
    switch ((enum key_type)key->type) {
    case KEY_VERSION:
    case KEY_COUNT:
        text_add(text, "%" PRId64, value);
        return;
    case KEY_DURATION:
        duration_print(value, text);
        return;
    case KEY_PERCENT:
        millionths_print(value * 100, text);
        text_add(text, "%%");
        return;
    case KEY_FACTOR:
        millionths_print(value, text);
        return;
    case KEY_FLAG:
        text_add(text, "%s", value != 0 ? "true" : "false");
        return;
    case KEY_WORD:
        text_add(text, "%s", key_word_name(key, value));
        return;
    case KEY_WORDS:
        key_words_print(key, value, text);
        return;
    case KEY_MAP:
    case KEY_NAME:
    case KEY_TEXT:
    case KEY_ALGORITHM:
    case KEY_FAULTS:
    case KEY_EXPECT:
    case KEY_TRIGGER:
    case KEY_TARGET:
        break;
    }
    UNREACHABLE();
}

static void key_choice_print(const struct scenario_key *key, struct text *text)
{
    const char *separator = "";
    for (const struct key_word *word = key->words; word->name != NULL; word++) {
        if (key->words != fault_kind_words || word->value != FAULT_NONE) {
            text_add(text, "%s%s", separator, word->name);
            separator = ", ";
        }
    }
}

void key_range_print(const struct scenario_key *key, struct text *text)
{
    switch ((enum key_type)key->type) {
    case KEY_VERSION:
        text_add(text, "1");
        return;
    case KEY_COUNT:
    case KEY_DURATION:
    case KEY_PERCENT:
    case KEY_FACTOR:
        key_value_print(key, key->min, text);
        text_add(text, "..");
        key_value_print(key, key->max, text);
        return;
    case KEY_FLAG:
        text_add(text, "true, false");
        return;
    case KEY_WORD:
    case KEY_WORDS:
        key_choice_print(key, text);
        return;
    case KEY_NAME:
        text_add(text, "letters, digits, - _ ., at most %" PRId64, key->max);
        return;
    case KEY_TEXT:
        text_add(text, "at most %" PRId64 " bytes", key->max);
        return;
    case KEY_ALGORITHM:
        text_add(text, "a name of the table of algorithms");
        return;
    case KEY_EXPECT:
        text_add(text, "check: verdict, or check: {verdict, blame}");
        return;
    case KEY_TRIGGER:
        text_add(text, "see below");
        return;
    case KEY_TARGET:
        text_add(text, "client 2, client 2-5, clients, node 3, nodes 1-3, nodes");
        return;
    case KEY_FAULTS:
        text_add(text, "at most %d", SCENARIO_FAULTS_MAX);
        return;
    case KEY_MAP:
        text_add(text, "the keys below");
        return;
    }
    UNREACHABLE();
}

const char *key_last_part(const struct scenario_key *key)
{
    const char *dot = strrchr(key->path, '.');
    return dot == NULL ? key->path : dot + 1;
}

bool key_is_child(const struct scenario_key *key, const char *parent)
{
    size_t length = strlen(parent);
    const char *last = key_last_part(key);
    if (length == 0) {
        return last == key->path;
    }
    return strncmp(key->path, parent, length) == 0 && key->path + length + 1 == last;
}

const char *key_type_name(enum key_type type)
{
    switch (type) {
#define X(name, word)                                                                              \
    case name:                                                                                     \
        return word;
        KEY_TYPE_MAP(X)
#undef X
    }
    UNREACHABLE();
}
