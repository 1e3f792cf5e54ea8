/* scenario_schema.c: the JSON schema of scenario files, from the table that the parser uses. */
#include "harness/scenario.h"

#include "base/assert.h"
#include "harness/scenario_table.h"
#include "lockcore/algorithms.h"

#include <inttypes.h>
#include <string.h>

static const char duration_pattern[] = "^[-+]?[0-9]+(\\\\.[0-9]*)?(ns|us|ms|s|m|h)$";

static void json_string_print(const char *string, struct text *text)
{
    text_add(text, "\"");
    for (const char *at = string; *at != '\0'; at++) {
        text_add(text, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    }
    text_add(text, "\"");
}

static void schema_words_print(const struct key_word *words, struct text *text)
{
    const char *separator = "\"enum\": [";
    for (const struct key_word *word = words; word->name != NULL; word++) {
        if (words != fault_kind_words || word->value != FAULT_NONE) {
            text_add(text, "%s\"%s\"", separator, word->name);
            separator = ", ";
        }
    }
    text_add(text, "]");
}

static void schema_algorithms_print(struct text *text)
{
    text_add(text, "\"enum\": [");
    for (size_t i = 0; i < lock_algorithm_count(); i++) {
        text_add(text, "%s\"%s\"", i == 0 ? "" : ", ",
                 lock_algorithm_at((lock_algorithm_index)i)->name);
    }
    text_add(text, "]");
}

static void schema_value_print(const struct scenario_key *key, struct text *text)
{
    switch ((enum key_type)key->type) {
    case KEY_VERSION:
        text_add(text, "\"const\": 1");
        return;
    case KEY_COUNT:
        text_add(text, "\"type\": \"integer\", \"minimum\": %" PRId64 ", \"maximum\": %" PRId64,
                 key->min, key->max);
        return;
    case KEY_DURATION:
        text_add(text, "\"type\": \"string\", \"pattern\": \"%s\"", duration_pattern);
        return;
    case KEY_PERCENT:
        text_add(text, "\"type\": \"string\", \"pattern\": \"^[0-9]+(\\\\.[0-9]+)?%%$\"");
        return;
    case KEY_FACTOR:
        text_add(text, "\"type\": \"number\", \"minimum\": 0");
        return;
    case KEY_FLAG:
        text_add(text, "\"type\": \"boolean\"");
        return;
    case KEY_WORD:
        schema_words_print(key->words, text);
        return;
    case KEY_WORDS:
        text_add(text, "\"type\": \"array\", \"minItems\": 1, \"items\": {");
        schema_words_print(key->words, text);
        text_add(text, "}");
        return;
    case KEY_NAME:
        text_add(text,
                 "\"type\": \"string\", \"pattern\": \"^[A-Za-z0-9._-]+$\", "
                 "\"maxLength\": %" PRId64,
                 key->max);
        return;
    case KEY_TEXT:
        text_add(text, "\"type\": \"string\", \"maxLength\": %" PRId64, key->max);
        return;
    case KEY_ALGORITHM:
        schema_algorithms_print(text);
        return;
    case KEY_TRIGGER:
        text_add(text, "\"type\": \"string\", \"pattern\": "
                       "\"^((any client|client [0-9]+) [a-z_]+|(any node|node [0-9]+) (before )?"
                       "[a-z]+( from client [0-9]+)?)$\"");
        return;
    case KEY_TARGET:
        text_add(text, "\"type\": \"string\", \"pattern\": \"^(clients?|nodes?)( [0-9,-]+)?$\"");
        return;
    case KEY_MAP:
    case KEY_FAULTS:
    case KEY_EXPECT:
        break;
    }
    UNREACHABLE();
}

static void schema_required_print(const char *parent, struct text *text)
{
    const char *separator = ", \"required\": [";
    const char *end = "";
    for (size_t i = 0; i < scenario_key_count; i++) {
        if (key_is_child(&scenario_keys[i], parent) && scenario_keys[i].missing == NULL) {
            text_add(text, "%s\"%s\"", separator, key_last_part(&scenario_keys[i]));
            separator = ", ";
            end = "]";
        }
    }
    text_add(text, "%s", end);
}

static void schema_fault_print(struct text *text)
{
    text_add(text, "{\"type\": \"object\", \"additionalProperties\": false, "
                   "\"required\": [\"do\"], \"properties\": {");
    for (size_t i = 0; i < FAULT_KEYS; i++) {
        text_add(text, "%s\"%s\": {\"description\": ", i == 0 ? "" : ", ", fault_keys[i].path);
        json_string_print(fault_keys[i].doc, text);
        text_add(text, ", ");
        schema_value_print(&fault_keys[i], text);
        text_add(text, "}");
    }
    text_add(text, "}}");
}

static void schema_expect_print(const struct scenario_checks *checks, struct text *text)
{
    static const char verdict[] = "\"enum\": [\"pass\", \"fail\", \"unknown\", \"any\"]";
    text_add(text, "\"type\": \"object\", \"minProperties\": 1, ");
    if (checks != NULL) {
        text_add(text, "\"propertyNames\": {\"enum\": [");
        for (size_t i = 0; i < checks->count; i++) {
            text_add(text, "%s\"%s\"", i == 0 ? "" : ", ", checks->names[i]);
        }
        text_add(text, "]}, ");
    }
    text_add(text,
             "\"additionalProperties\": {\"oneOf\": [{%s}, {\"type\": \"object\", "
             "\"additionalProperties\": false, \"required\": [\"verdict\"], \"properties\": "
             "{\"verdict\": {%s}, \"blame\": {\"enum\": [\"library\", \"assumption\", "
             "\"deployment\"]}}}]}",
             verdict, verdict);
}

/* The keys under `parent` that have no keys of their own. */
static void schema_leaves_print(const char *parent, const char *separator, struct text *text)
{
    for (size_t i = 0; i < scenario_key_count; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        bool leaf = key->type != KEY_MAP && key->type != KEY_FAULTS && key->type != KEY_EXPECT;
        if (leaf && key_is_child(key, parent)) {
            text_add(text, "%s\"%s\": {\"description\": ", separator, key_last_part(key));
            json_string_print(key->doc, text);
            text_add(text, ", ");
            schema_value_print(key, text);
            text_add(text, "}");
            separator = ", ";
        }
    }
}

static void schema_open_map(const char *path, struct text *text)
{
    text_add(text, "{\"type\": \"object\", \"additionalProperties\": false");
    schema_required_print(path, text);
    text_add(text, ", \"properties\": {");
}

/* A map whose keys are leaves, except that "lock" holds two such maps. */
static void schema_map_print(const struct scenario_key *map, struct text *text)
{
    schema_open_map(map->path, text);
    const char *separator = "";
    for (size_t i = 0; i < scenario_key_count; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        if (key->type == KEY_MAP && key_is_child(key, map->path)) {
            text_add(text, "%s\"%s\": ", separator, key_last_part(key));
            schema_open_map(key->path, text);
            schema_leaves_print(key->path, "", text);
            text_add(text, "}}");
            separator = ", ";
        }
    }
    schema_leaves_print(map->path, separator, text);
    text_add(text, "}}");
}

static void schema_faults_print(struct text *text)
{
    text_add(text, "{\"oneOf\": [{\"type\": \"array\", \"maxItems\": %d, \"items\": ",
             SCENARIO_FAULTS_MAX);
    schema_fault_print(text);
    text_add(text, "}, ");
    schema_map_print(&(struct scenario_key){.path = "faults"}, text);
    text_add(text, "]}");
}

void scenario_schema_print(const struct scenario_checks *checks, struct text *text)
{
    text_add(text, "{\"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
                   "\"title\": \"picklock scenario\",\n\"type\": \"object\",\n"
                   "\"additionalProperties\": false");
    schema_required_print("", text);
    text_add(text, ",\n\"properties\": {");
    schema_leaves_print("", "\n", text);
    for (size_t i = 0; i < scenario_key_count; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        if (!key_is_child(key, "")) {
            continue;
        }
        if (key->type == KEY_MAP) {
            text_add(text, ",\n\"%s\": ", key->path);
            schema_map_print(key, text);
        } else if (key->type == KEY_FAULTS) {
            text_add(text, ",\n\"faults\": ");
            schema_faults_print(text);
        } else if (key->type == KEY_EXPECT) {
            text_add(text, ",\n\"expect\": {");
            schema_expect_print(checks, text);
            text_add(text, "}");
        }
    }
    text_add(text, "}}\n");
}
