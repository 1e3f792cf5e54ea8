/* foreign.c: the way from a map of EDN or JSON to an event. */
#include "history/foreign.h"

#include "base/assert.h"
#include "base/duration.h"
#include "base/foreign.h"
#include "history/nemesis.h"

#include <stdlib.h>
#include <string.h>

static int32_t nth_child(const struct datum *data, int32_t list, unsigned long nth)
{
    if (list < 0 || data[list].type != DATUM_LIST) {
        return -1;
    }
    int32_t at = data[list].first;
    for (; at >= 0 && nth > 0; nth--) {
        at = data[at].next;
    }
    return at;
}

/* Follow "value.client[0]" of `bytes` from the top; -1 if it leads nowhere. */
static int32_t follow(const struct datum *data, const char *path, size_t bytes)
{
    const char *end = path + bytes;
    int32_t at = 0;
    while (path < end && at >= 0) {
        if (*path == '[') {
            char *behind = NULL;
            unsigned long nth = strtoul(path + 1, &behind, 10);
            at = nth_child(data, at, nth);
            path = behind < end && *behind == ']' ? behind + 1 : end;
            continue;
        }
        path += *path == '.' ? 1 : 0;
        size_t word = strcspn(path, ".[|");
        word = word < (size_t)(end - path) ? word : (size_t)(end - path);
        at = datum_find(data, at, path, word);
        path += word;
        if (word == 0 && path < end && *path != '[') {
            return -1;
        }
    }
    return at;
}

/* The first of several paths that leads to something other than nil, or -1. */
static int32_t field_of(const struct history_map *map, const struct datum *data,
                        enum history_map_field field)
{
    const char *path = map->field[field];
    while (*path != '\0') {
        size_t bytes = strcspn(path, "|");
        int32_t found = follow(data, path, bytes);
        if (found >= 0 && data[found].type != DATUM_NIL) {
            return found;
        }
        path += bytes + (path[bytes] == '|' ? 1 : 0);
    }
    return -1;
}

static bool is_one_of(const char *words, const char *word, size_t bytes)
{
    return history_map_word(words, word, bytes) >= 0;
}

static bool datum_is(const struct datum *datum, const char *word)
{
    return datum->bytes == strlen(word) && memcmp(datum->text, word, datum->bytes) == 0;
}

static struct result read_type(const struct datum *data, struct history_event *event,
                               struct text *why)
{
    int32_t at = datum_find(data, 0, "type", 4);
    if (at < 0 || data[at].first >= 0 || data[at].text == NULL) {
        text_add(why, "an operation without :type (invoke, ok, fail or info)");
        return result_error(ERROR_SCHEMA);
    }
    for (int type = 0; type < HISTORY_TYPES; type++) {
        if (datum_is(&data[at], history_type_name((enum history_type)type))) {
            event->type = (uint8_t)type;
            return RESULT_OK;
        }
    }
    text_add(why, "type is \"");
    text_add_foreign(why, data[at].text, data[at].bytes < 64 ? data[at].bytes : 64);
    text_add(why, "\"; expected invoke, ok, fail or info");
    return result_error(ERROR_SCHEMA);
}

static bool read_f(const struct history_map *map, const struct datum *data,
                   struct history_event *event)
{
    static const enum history_f known[] = {HISTORY_ACQUIRE, HISTORY_RELEASE, HISTORY_EXTEND,
                                           HISTORY_OBSERVE};
    int32_t at = datum_find(data, 0, "f", 1);
    if (at < 0 || data[at].text == NULL) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        if (is_one_of(map->field[MAP_ACQUIRE + i], data[at].text, data[at].bytes)) {
            event->f = (uint8_t)known[i];
            return true;
        }
    }
    event->f = datum_is(&data[at], "write") ? HISTORY_WRITE : HISTORY_READ;
    return map->own && (event->f == HISTORY_WRITE || datum_is(&data[at], "read"));
}

static struct result read_integer(const struct datum *datum, const char *name, int64_t *number,
                                  struct text *why)
{
    if (datum->type != DATUM_INTEGER) {
        text_add(why, "%s is no whole number", name);
        return result_error(ERROR_SCHEMA);
    }
    *number = datum->integer;
    return RESULT_OK;
}

static struct result read_time(const struct history_map *map, const struct datum *datum,
                               const char *name, int64_t *time_ns, struct text *why)
{
    const char *unit = map->field[MAP_UNIT];
    int64_t scale = strcmp(unit, "s") == 0    ? NS_PER_S
                    : strcmp(unit, "ms") == 0 ? NS_PER_MS
                    : strcmp(unit, "us") == 0 ? NS_PER_US
                                              : 1;
    int64_t number = 0;
    TRY(read_integer(datum, name, &number, why));
    if (__builtin_mul_overflow(number, scale, time_ns) || *time_ns > INT64_MAX / 4 ||
        *time_ns < 0) {
        text_add(why, "%s is %lld %s; expected 0 to 73 years", name, (long long)number, unit);
        return result_error(ERROR_SCHEMA);
    }
    return RESULT_OK;
}

/* Any scalar names something; a collection is named by its text up to its first bracket's end. */
static bool read_name(const struct datum *data, int32_t at, struct history_value *name)
{
    char text[HISTORY_RESOURCE_BYTES_MAX + 1];
    if (at < 0 || data[at].text == NULL) {
        return false;
    }
    size_t bytes = data[at].bytes;
    if (data[at].escaped || bytes <= HISTORY_RESOURCE_BYTES_MAX) {
        bytes = datum_text(&data[at], text, sizeof text);
        history_value_parse(text, bytes, name);
    } else {
        history_value_parse(data[at].text, bytes, name);
    }
    return true;
}

/* Whether a scalar is one of the field's words, which then was met. */
static bool is_word(const struct history_map *map, const struct datum *datum,
                    enum history_map_field field, struct history_met *met)
{
    char text[2 * HISTORY_MAP_WORD_BYTES]; /* longer than any word, also where cut */
    if (datum->text == NULL || datum->first >= 0) {
        return false;
    }
    size_t bytes = datum_text(datum, text, sizeof text);
    int word = history_map_word(map->field[field], text, bytes);
    met->words[field] |= word >= 0 ? UINT64_C(1) << word : 0;
    return word >= 0;
}

/* The first child; of a map the first value. */
static int32_t first_part(const struct datum *data, int32_t at)
{
    int32_t first = data[at].first;
    return first >= 0 && data[at].type == DATUM_MAP ? data[first].next : first;
}

/* Whether one of the field's words stands in the error: it is the error, or, of one that has parts
 * ([:timeout "what it said"], {:type :timeout}), any of these. */
static bool error_has(const struct history_map *map, const struct datum *data, int32_t error,
                      enum history_map_field field, struct history_met *met)
{
    struct {
        int32_t at;
        bool valued; /* a value in a map: the next one stands behind its key */
    } open[DATUM_DEPTH_MAX];
    bool has = is_word(map, &data[error], field, met);
    int depth = 0;
    open[0].valued = data[error].type == DATUM_MAP;
    open[0].at = first_part(data, error);
    depth += open[0].at >= 0 ? 1 : 0;
    while (depth > 0) {
        int32_t at = open[depth - 1].at;
        bool found = is_word(map, &data[at], field, met);
        has = has || found;
        int32_t next = data[at].next;
        next = next >= 0 && open[depth - 1].valued ? data[next].next : next;
        open[depth - 1].at = next;
        depth -= next < 0 ? 1 : 0;
        int32_t part = first_part(data, at);
        if (part >= 0) {
            ASSERT(depth < DATUM_DEPTH_MAX); /* no value is deeper */
            open[depth].valued = data[at].type == DATUM_MAP;
            open[depth++].at = part;
        }
    }
    return has;
}

/* An error that the map does not name says nothing more than that there was one. */
static void read_error(const struct history_map *map, const struct datum *data, int32_t error,
                       struct foreign_event *foreign)
{
    struct history_event *event = &foreign->event;
    bool release = event->f == HISTORY_RELEASE;
    enum history_map_field field = release ? MAP_NOT_HELD : MAP_HELD;
    bool failed = event->type == HISTORY_FAIL || event->type == HISTORY_INFO;
    bool unknown = failed && error_has(map, data, error, MAP_UNKNOWN, &foreign->met);
    if (unknown) {
        event->type = HISTORY_INFO;
    } else if (event->type == HISTORY_FAIL && map->field[field][0] != '\0') {
        bool says = error_has(map, data, error, field, &foreign->met);
        event->cause = !says ? CAUSE_LIBRARY_ERROR : release ? CAUSE_NOT_HOLDING : CAUSE_NO_QUORUM;
    }
    for (int cause = 1; cause < HISTORY_CAUSES && map->own && data[error].text != NULL; cause++) {
        if (datum_is(&data[error], history_cause_name((enum history_cause)cause))) {
            event->cause = (uint8_t)cause;
        }
    }
}

static void read_outcome(const struct history_map *map, const struct datum *data,
                         struct foreign_event *foreign)
{
    struct history_event *event = &foreign->event;
    int32_t value = datum_find(data, 0, "value", 5);
    bool empty = value >= 0 && data[value].text != NULL && data[value].bytes == 0;
    if (event->type == HISTORY_OK && event->f != HISTORY_OBSERVE && value >= 0 &&
        data[value].text != NULL &&
        is_one_of(map->field[MAP_DECLINED], empty ? "\"\"" : data[value].text,
                  empty ? 2 : data[value].bytes)) {
        event->type = HISTORY_FAIL;
    }
    int32_t error = datum_find(data, 0, "error", 5);
    if (error >= 0 && data[error].type != DATUM_NIL) {
        read_error(map, data, error, foreign);
    }
}

static struct result read_numbers(const struct history_map *map, const struct datum *data,
                                  struct history_event *event, struct text *why)
{
    int32_t fence = field_of(map, data, MAP_FENCE);
    if (fence >= 0 && data[fence].type == DATUM_INTEGER && data[fence].integer > 0) {
        event->fence = data[fence].integer;
        event->flags |= HISTORY_HAS_FENCE;
    } else if (fence >= 0 && data[fence].type != DATUM_INTEGER) {
        text_add(why, "the fence is no whole number");
        return result_error(ERROR_SCHEMA);
    }
    int32_t until = field_of(map, data, MAP_UNTIL);
    if (until >= 0) {
        TRY(read_time(map, &data[until], "until", &event->until_ns, why));
        event->flags |= HISTORY_HAS_UNTIL;
    }
    int32_t version = datum_find(data, 0, "version", 7);
    if (version >= 0 && map->own) {
        TRY(read_integer(&data[version], "version", &event->version, why));
    }
    int32_t basis = datum_find(data, 0, "basis", 5);
    if (basis >= 0 && map->own) {
        TRY(read_integer(&data[basis], "basis", &event->basis, why));
    }
    int32_t audit = datum_find(data, 0, "audit", 5);
    if (audit >= 0 && map->own && data[audit].type == DATUM_TRUE) {
        event->flags |= HISTORY_AUDIT;
    }
    return RESULT_OK;
}

/* What an observation saw: a holder's name, true or false, or nil for nobody. A holder is named as
 * acquires are: by a value, an owner or, where none of them named either, a process. */
static void read_observation(const struct history_map *map, const struct datum *data,
                             struct foreign_event *foreign)
{
    struct history_event *event = &foreign->event;
    bool by_value = map->field[MAP_VALUE][0] != '\0' && foreign->named != HISTORY_HAS_OWNER;
    int32_t seen = datum_find(data, 0, "value", 5);
    event->flags &= (uint16_t) ~(HISTORY_HAS_VALUE | HISTORY_HAS_OWNER);
    if (seen < 0 || data[seen].type == DATUM_NIL || data[seen].type == DATUM_FALSE) {
        return;
    }
    event->version = 1;
    if (data[seen].type == DATUM_TRUE) {
        return;
    }
    bool number = data[seen].type == DATUM_INTEGER && data[seen].integer >= 0 &&
                  data[seen].integer < HISTORY_PROCESSES_MAX;
    if (number && !by_value && foreign->named == 0) {
        event->number[0] = data[seen].integer;
        event->flags |= HISTORY_SEEN_PROCESS;
    } else if (read_name(data, seen, &event->owner)) {
        event->value = event->owner;
        event->flags |= HISTORY_HAS_OWNER | (by_value ? HISTORY_HAS_VALUE : 0);
    }
}

struct result foreign_read(const struct history_map *map, const struct datum *data,
                           struct foreign_event *foreign, struct text *why)
{
    struct history_event *event = &foreign->event;
    foreign->skip = true;
    foreign->key[0] = '\0';
    foreign->number = -1;
    if (data[0].type != DATUM_MAP) {
        text_add(why, "expected a map, one for each operation");
        return result_error(ERROR_SYNTAX);
    }
    TRY(read_type(data, event, why));
    int32_t time = datum_find(data, 0, "time", 4);
    foreign->has_time = time >= 0 && data[time].type != DATUM_NIL;
    if (foreign->has_time) {
        TRY(read_time(map, &data[time], "time", &event->time_ns, why));
    }
    int32_t number_at = datum_find(data, 0, "index", 5);
    if (number_at >= 0 && data[number_at].type == DATUM_INTEGER) {
        foreign->number = data[number_at].integer;
    }
    int32_t process = datum_find(data, 0, "process", 7);
    if (process < 0 || data[process].text == NULL) {
        text_add(why, "an operation without :process");
        return result_error(ERROR_SCHEMA);
    }
    if (map->own && datum_is(&data[process], "nemesis")) {
        bool ours = false;
        TRY(nemesis_read(data, event, &ours, why));
        foreign->skip = !ours;
        return RESULT_OK;
    }
    if (data[process].type != DATUM_INTEGER || !read_f(map, data, event)) {
        return RESULT_OK; /* a nemesis, or an operation on something else */
    }
    int64_t number = data[process].integer;
    int32_t base = map->own ? 1 : 0; /* picklock counts from 1 in its files */
    if (number < base || number >= HISTORY_PROCESSES_MAX) {
        text_add(why, "process %lld; expected %d to %d", (long long)number, base,
                 HISTORY_PROCESSES_MAX - 1);
        return result_error(ERROR_LIMIT);
    }
    foreign->skip = false;
    event->kind = HISTORY_OP;
    event->process = (int32_t)number - base;
    event->flags |=
        read_name(data, field_of(map, data, MAP_VALUE), &event->value) ? HISTORY_HAS_VALUE : 0;
    event->flags |=
        read_name(data, field_of(map, data, MAP_OWNER), &event->owner) ? HISTORY_HAS_OWNER : 0;
    if (event->f == HISTORY_OBSERVE && !map->own) {
        read_observation(map, data, foreign);
    } else {
        foreign->named =
            (uint16_t)(foreign->named | (event->flags & (HISTORY_HAS_VALUE | HISTORY_HAS_OWNER)));
    }
    int32_t key = field_of(map, data, MAP_KEY);
    if (key >= 0 && data[key].text != NULL) {
        datum_text(&data[key], foreign->key, sizeof foreign->key);
    }
    read_outcome(map, data, foreign);
    return read_numbers(map, data, event, why);
}
