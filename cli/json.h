/*
 * json.h: one line of JSON that somebody else wrote, and what stands in its object.
 *
 *     struct json json;
 *     if (json_read(&json, line, bytes) && json_is(&json, 0, "type", "run")) {
 *         json_number(&json, 0, "seed", &seed);
 *     }
 *
 * Places are numbers: 0 is the line's value, others come from json_find and json_first. Where
 * nothing stands, -1; from there nothing is found.
 */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "history/datum.h"

struct json {
    struct datum_parse parse;
    struct datum data[DATUM_COUNT_MAX];
};

/* False if the line is not one whole JSON object; parse.problem says why. */
bool json_read(struct json *json, const char *line, size_t bytes);

int32_t json_find(const struct json *json, int32_t map, const char *key);

/* The first member of a list or map, and the one behind a member. */
int32_t json_first(const struct json *json, int32_t place);
int32_t json_next(const struct json *json, int32_t place);

/* False, and nothing is changed, if it is missing, of another type, or does not fit. */
bool json_number(const struct json *json, int32_t map, const char *key, uint64_t *number);
bool json_hash(const struct json *json, int32_t map, const char *key, uint64_t *hash);
bool json_text(const struct json *json, int32_t map, const char *key, char *text, size_t bytes_max);

/* Whether the key has this text. */
bool json_is(const struct json *json, int32_t map, const char *key, const char *text);

/* The number at a place. */
bool json_at(const struct json *json, int32_t place, uint64_t *number);

#endif
