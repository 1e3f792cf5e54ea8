/* map.c: presets, and what `--map` changes of them. */
#include "history/foreign.h"

#include "base/assert.h"
#include "base/foreign.h"

#include <string.h>

static const char *const field_names[] = {
#define X(name, word) word,
    HISTORY_MAP_FIELDS(X)
#undef X
};

static const struct history_map presets[] = {
    {.preset = "plain",
     .field = {[MAP_ACQUIRE] = "acquire|lock|take|acq",
               [MAP_RELEASE] = "release|unlock|free|rel",
               [MAP_EXTEND] = "extend|refresh|renew",
               [MAP_OBSERVE] = "observe",
               [MAP_OWNER] = "owner",
               [MAP_FENCE] = "fence",
               [MAP_KEY] = "resource|key|lock|name",
               [MAP_UNTIL] = "until",
               [MAP_UNIT] = "ns"}},
    {.preset = "etcd",
     .field = {[MAP_ACQUIRE] = "acquire",
               [MAP_RELEASE] = "release",
               [MAP_KEY] = "key",
               [MAP_UNKNOWN] = "timeout|unavailable",
               [MAP_NOT_HELD] = "not-held",
               [MAP_HELD] = "already-held",
               [MAP_UNIT] = "ns"}},
    {.preset = "hazelcast",
     .field = {[MAP_ACQUIRE] = "acquire",
               [MAP_RELEASE] = "release",
               [MAP_OWNER] = "value.client|debug.client|client",
               [MAP_FENCE] = "value.fence|fence",
               [MAP_KEY] = "key",
               [MAP_NOT_HELD] = "not-lock-owner|not-permit-owner",
               [MAP_CARRY] = "owner",
               [MAP_UNIT] = "ns"}},
    {.preset = "atlasdb",
     .field = {[MAP_ACQUIRE] = "lock",
               [MAP_RELEASE] = "unlock",
               [MAP_EXTEND] = "refresh",
               [MAP_KEY] = "value",
               [MAP_DECLINED] = "\"\"|false",
               [MAP_UNIT] = "ns"}},
    {.preset = "valued",
     .field = {[MAP_ACQUIRE] = "acquire|lock",
               [MAP_RELEASE] = "release|unlock",
               [MAP_EXTEND] = "extend|refresh",
               [MAP_OBSERVE] = "observe",
               [MAP_VALUE] = "value",
               [MAP_OWNER] = "owner",
               [MAP_FENCE] = "fence",
               [MAP_KEY] = "resource|key|lock|name",
               [MAP_UNTIL] = "until",
               [MAP_UNIT] = "ns"}},
    {.preset = "independent",
     .field = {[MAP_ACQUIRE] = "acquire|lock",
               [MAP_RELEASE] = "release|unlock",
               [MAP_FENCE] = "value[1].fence",
               [MAP_KEY] = "value[0]",
               [MAP_UNIT] = "ns"}},
    {.preset = "picklock",
     .field = {[MAP_ACQUIRE] = "acquire",
               [MAP_RELEASE] = "release",
               [MAP_EXTEND] = "extend",
               [MAP_OBSERVE] = "observe",
               [MAP_VALUE] = "value",
               [MAP_OWNER] = "owner",
               [MAP_FENCE] = "fence",
               [MAP_KEY] = "resource",
               [MAP_UNTIL] = "until",
               [MAP_UNIT] = "ns"},
     .own = true},
};

enum { PRESETS = sizeof presets / sizeof presets[0] };

size_t history_preset_count(void)
{
    return PRESETS;
}

const char *history_preset_name(size_t index)
{
    ASSERT(index < PRESETS);
    return presets[index].preset;
}

struct history_map history_map_default(void)
{
    return presets[0];
}

static struct result map_word_error(const char *word, size_t bytes, struct text *why)
{
    text_add(why, "--map: \"%.*s\" is neither a preset (", (int)bytes, word);
    for (size_t i = 0; i < PRESETS; i++) {
        text_add(why, "%s%s", i == 0 ? "" : ", ", presets[i].preset);
    }
    text_add(why, ") nor NAME=WHAT with a name of");
    for (size_t i = 0; i < MAP_FIELDS; i++) {
        text_add(why, "%s %s", i == 0 ? "" : ",", field_names[i]);
    }
    return result_error(ERROR_USAGE);
}

static bool map_find_preset(const char *word, size_t bytes, struct history_map *map)
{
    for (size_t i = 0; i < PRESETS; i++) {
        if (strlen(presets[i].preset) == bytes && memcmp(presets[i].preset, word, bytes) == 0) {
            *map = presets[i];
            return true;
        }
    }
    return false;
}

static struct result map_set(const char *word, size_t bytes, struct history_map *map,
                             struct text *why)
{
    const char *equals = memchr(word, '=', bytes);
    size_t name_bytes = equals == NULL ? 0 : (size_t)(equals - word);
    for (size_t i = 0; i < MAP_FIELDS && equals != NULL; i++) {
        if (strlen(field_names[i]) != name_bytes || memcmp(field_names[i], word, name_bytes) != 0) {
            continue;
        }
        size_t what_bytes = bytes - name_bytes - 1;
        if (what_bytes >= HISTORY_MAP_WORD_BYTES) {
            text_add(why, "--map: %s is over %d bytes", field_names[i], HISTORY_MAP_WORD_BYTES - 1);
            return result_error(ERROR_LIMIT);
        }
        memcpy(map->field[i], equals + 1, what_bytes);
        map->field[i][what_bytes] = '\0';
        map->said[i] = true;
        return RESULT_OK;
    }
    return map_word_error(word, bytes, why);
}

struct result history_map_parse(const char *text, struct history_map *map, struct text *why)
{
    *map = history_map_default();
    for (const char *word = text; *word != '\0';) {
        size_t bytes = strcspn(word, ",");
        bool preset = word == text && map_find_preset(word, bytes, map);
        if (!preset) {
            TRY(map_set(word, bytes, map, why));
        }
        word += bytes + (word[bytes] == ',' ? 1 : 0);
    }
    const char *carry = map->field[MAP_CARRY];
    if (carry[0] != '\0' && strcmp(carry, "owner") != 0) {
        text_add(why, "--map: carry=%s; expected owner, or nothing", carry);
        return result_error(ERROR_USAGE);
    }
    const char *unit = map->field[MAP_UNIT];
    bool known = strcmp(unit, "ns") == 0 || strcmp(unit, "us") == 0 || strcmp(unit, "ms") == 0 ||
                 strcmp(unit, "s") == 0;
    if (!known) {
        text_add(why, "--map: unit=%s; expected ns, us, ms or s", unit);
        return result_error(ERROR_USAGE);
    }
    return RESULT_OK;
}

int history_map_word(const char *words, const char *word, size_t bytes)
{
    for (int i = 0; *words != '\0'; i++) {
        size_t next = strcspn(words, "|");
        if (next == bytes && memcmp(words, word, bytes) == 0) {
            return i;
        }
        words += next + (words[next] == '|' ? 1 : 0);
    }
    return -1;
}

void history_map_unmet(const struct history_map *map, const struct history_met *met,
                       struct text *names)
{
    static const enum history_map_field errors[] = {MAP_UNKNOWN, MAP_NOT_HELD, MAP_HELD};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        const char *words = map->field[errors[i]];
        for (int word = 0; map->said[errors[i]] && *words != '\0'; word++) {
            size_t bytes = strcspn(words, "|");
            if (bytes > 0 && (met->words[errors[i]] >> word & 1) == 0) {
                text_add(names, "%s%s=", names->length == 0 ? "" : ", ", field_names[errors[i]]);
                text_add_foreign(names, words, bytes);
            }
            words += bytes + (words[bytes] == '|' ? 1 : 0);
        }
    }
}
