/* json.c: one line of JSON that somebody else wrote. */
#include "cli/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 24 };

bool json_read(struct json *json, const char *line, size_t bytes)
{
    const char *end = line + bytes;
    json->parse = (struct datum_parse){.notation = DATUM_JSON, .data = json->data};
    if (datum_read(&json->parse, line, end) != DATUM_READ || json->data[0].type != DATUM_MAP) {
        return false;
    }
    const char *rest = datum_skip(DATUM_JSON, json->parse.at, end);
    return rest == end;
}

int32_t json_find(const struct json *json, int32_t map, const char *key)
{
    bool is_map = map >= 0 && json->data[map].type == DATUM_MAP;
    return is_map ? datum_find(json->data, map, key, strlen(key)) : -1;
}

int32_t json_first(const struct json *json, int32_t place)
{
    return place >= 0 ? json->data[place].first : -1;
}

int32_t json_next(const struct json *json, int32_t place)
{
    return place >= 0 ? json->data[place].next : -1;
}

bool json_at(const struct json *json, int32_t place, uint64_t *number)
{
    char digits[DIGITS_MAX];
    char *end;
    bool is_number = place >= 0 && (json->data[place].type == DATUM_INTEGER ||
                                    json->data[place].type == DATUM_NUMBER);
    if (!is_number || json->data[place].bytes >= sizeof digits) {
        return false;
    }
    memcpy(digits, json->data[place].text, json->data[place].bytes);
    digits[json->data[place].bytes] = '\0';
    errno = 0;
    unsigned long long value = strtoull(digits, &end, 10);
    if (digits[0] == '-' || *end != '\0' || errno != 0) {
        return false;
    }
    *number = value;
    return true;
}

bool json_number(const struct json *json, int32_t map, const char *key, uint64_t *number)
{
    return json_at(json, json_find(json, map, key), number);
}

bool json_text(const struct json *json, int32_t map, const char *key, char *text, size_t bytes_max)
{
    int32_t place = json_find(json, map, key);
    if (place < 0 || json->data[place].type != DATUM_STRING ||
        json->data[place].bytes >= bytes_max) {
        return false;
    }
    size_t bytes = datum_text(&json->data[place], text, bytes_max);
    return strlen(text) == bytes; /* a zero byte inside is none of ours */
}

bool json_hash(const struct json *json, int32_t map, const char *key, uint64_t *hash)
{
    char digits[DIGITS_MAX];
    char *end;
    if (!json_text(json, map, key, digits, sizeof digits) || strlen(digits) != 16) {
        return false;
    }
    unsigned long long value = strtoull(digits, &end, 16);
    if (*end != '\0' || strspn(digits, "0123456789abcdef") != 16) {
        return false;
    }
    *hash = value;
    return true;
}

bool json_is(const struct json *json, int32_t map, const char *key, const char *text)
{
    int32_t place = json_find(json, map, key);
    return place >= 0 && json->data[place].type == DATUM_STRING &&
           json->data[place].bytes == strlen(text) &&
           memcmp(json->data[place].text, text, strlen(text)) == 0;
}
