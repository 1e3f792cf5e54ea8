/*
 * foreign.h: where operations, owners, values and fences stand in a history recorded elsewhere.
 *
 *     struct history_map map;
 *     TRY(history_map_parse("hazelcast,key=value.lock", &map, why));
 *     struct history_reader_options options = {.map = &map};
 *
 * A map is a preset, changed by `name=what` pairs with commas between them:
 *
 *     acquire, release, extend, observe   the words that f can be, with | between them
 *     value, owner, fence, key, until     the path of a field: key, value.client, value[0]
 *     unknown                             errors that make a `fail` an unknown outcome, with |
 *     not-held                            errors of a failed release that say that its caller did
 *                                         not hold the lock; none named: any may say it
 *     held                                errors of a refused acquire that say that someone held
 *                                         it; none named: any may say it
 *     declined                            values of an `ok` that make it a `fail`, "" for none
 *     carry                               `owner`: an operation that names no owner is its client's
 *     unit                                of time and until: ns (Jepsen's), us, ms or s
 *
 * The lock's name, `key`, is read from the invoke.
 *
 * docs/LINEARIZABLE.md shows each preset with an example.
 */
#ifndef HISTORY_FOREIGN_H
#define HISTORY_FOREIGN_H

#include "base/result.h"
#include "base/text.h"
#include "history/datum.h"
#include "history/event.h"

#include <assert.h>

enum { HISTORY_MAP_WORD_BYTES = 128 };

#define HISTORY_MAP_FIELDS(X)                                                                      \
    X(MAP_ACQUIRE, "acquire")                                                                      \
    X(MAP_RELEASE, "release")                                                                      \
    X(MAP_EXTEND, "extend")                                                                        \
    X(MAP_OBSERVE, "observe")                                                                      \
    X(MAP_VALUE, "value")                                                                          \
    X(MAP_OWNER, "owner")                                                                          \
    X(MAP_FENCE, "fence")                                                                          \
    X(MAP_KEY, "key")                                                                              \
    X(MAP_UNTIL, "until")                                                                          \
    X(MAP_UNKNOWN, "unknown")                                                                      \
    X(MAP_NOT_HELD, "not-held")                                                                    \
    X(MAP_HELD, "held")                                                                            \
    X(MAP_DECLINED, "declined")                                                                    \
    X(MAP_CARRY, "carry")                                                                          \
    X(MAP_UNIT, "unit")

enum history_map_field {
#define X(name, word) name,
    HISTORY_MAP_FIELDS(X)
#undef X
        MAP_FIELDS,
};

struct history_map {
    char preset[24];
    char field[MAP_FIELDS][HISTORY_MAP_WORD_BYTES]; /* "" where there is none */
    bool said[MAP_FIELDS];                          /* by --map, not by a preset */
    bool own; /* written by picklock: guarded-store operations, causes and faults are there too */
};

/* The preset `plain`, and no NULL text anywhere. */
struct history_map history_map_default(void);

/* ERROR_USAGE, with the words there are, if the text makes no map. */
MUST_USE struct result history_map_parse(const char *text, struct history_map *map,
                                         struct text *why);

/* Which words of a field of errors were met in a history: bit 0 is the first word. */
struct history_met {
    uint64_t words[MAP_FIELDS];
};

static_assert(HISTORY_MAP_WORD_BYTES / 2 <= 64, "a bit for each word");

/* The place of a word among words with | between them, or -1. */
int history_map_word(const char *words, const char *word, size_t bytes);

/* Add the errors that the map's text names and no failure had: "held=taken, unknown=late". */
void history_map_unmet(const struct history_map *map, const struct history_met *met,
                       struct text *names);

size_t history_preset_count(void);
const char *history_preset_name(size_t index);

/* What became of one entry of a foreign history. */
struct foreign_event {
    struct history_event event; /* without index and resource */
    char key[HISTORY_RESOURCE_BYTES_MAX + 1];
    struct history_met met; /* only added to */
    uint16_t named;         /* HISTORY_HAS_VALUE, _OWNER: what operations named so far */
    bool skip;              /* not about a lock: another's nemesis, or another operation */
    bool has_time;
    int64_t number; /* :index, or -1 */
};

/* Turn a map into an event. `why` gets a sentence without the place. */
MUST_USE struct result foreign_read(const struct history_map *map, const struct datum *data,
                                    struct foreign_event *foreign, struct text *why);

#endif
