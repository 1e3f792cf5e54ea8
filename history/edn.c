/* edn.c: takes one map after the other from a history of Jepsen's. */
#include "history/edn.h"

#include "base/assert.h"
#include "history/foreign.h"

#include <string.h>

enum { EDN_MAP_BYTES_MAX = 1 << 20 };

struct edn {
    struct datum_parse parse;
    struct datum data[DATUM_COUNT_MAX];
    struct foreign_event foreign;
    struct history_map map;
    uint64_t lines; /* newlines before input.begin */
    int64_t count;  /* operations so far: the time where none is recorded */
    int64_t number; /* of the last entry: its :index, or -1 */
    char close;     /* of the vector that they are in, or '\0' */
    bool closed;
    bool timed;
};

static bool detect(const char *bytes, size_t count, enum datum_notation notation)
{
    const char *end = bytes + count;
    const char *at = datum_skip(notation, bytes, end);
    if (at < end && (*at == '[' || (*at == '(' && notation == DATUM_EDN))) {
        at = datum_skip(notation, at + 1, end);
    }
    if (notation == DATUM_EDN && at < end && *at == '#') {
        at = memchr(at, '{', (size_t)(end - at));
        at = at == NULL ? end : at;
    }
    if (at == end || *at != '{') {
        return notation == DATUM_EDN && at < end && *at == ']';
    }
    at = datum_skip(notation, at + 1, end);
    return at < end && (*at == (notation == DATUM_EDN ? ':' : '"'));
}

static bool edn_detect(const char *bytes, size_t count)
{
    return detect(bytes, count, DATUM_EDN);
}

static bool json_detect(const char *bytes, size_t count)
{
    return detect(bytes, count, DATUM_JSON);
}

static struct result begin(struct history_parse *parse, enum datum_notation notation,
                           struct text *why)
{
    struct edn *edn = arena_take(&parse->arena, sizeof *edn);
    if (edn == NULL) {
        return history_parse_error(parse, ERROR_LIMIT, why, "no memory to read it");
    }
    parse->state = edn;
    parse->foreign = true;
    edn->number = -1;
    parse->input.line = 1;
    parse->input.bytes_max = EDN_MAP_BYTES_MAX;
    edn->parse.notation = notation;
    edn->parse.data = edn->data;
    edn->map = history_map_default();
    const char *text = parse->input.data + parse->input.begin;
    size_t mark = strlen(HISTORY_EDN_MARK);
    bool own =
        parse->input.end - parse->input.begin >= mark && memcmp(text, HISTORY_EDN_MARK, mark) == 0;
    if (parse->map != NULL) {
        edn->map = *parse->map;
    } else if (own) {
        TRY(history_map_parse("picklock", &edn->map, why));
    }
    parse->header.format = edn->map.own ? HISTORY_FORMAT : 0;
    return RESULT_OK;
}

static struct result edn_begin(struct history_parse *parse, struct text *why)
{
    return begin(parse, DATUM_EDN, why);
}

static struct result json_begin(struct history_parse *parse, struct text *why)
{
    return begin(parse, DATUM_JSON, why);
}

/* Go on to `at`, counting lines. */
static void advance(struct history_parse *parse, const char *at)
{
    struct edn *edn = parse->state;
    const char *from = parse->input.data + parse->input.begin;
    ASSERT(at >= from && at <= parse->input.data + parse->input.end);
    for (const char *c = memchr(from, '\n', (size_t)(at - from)); c != NULL;
         c = memchr(c + 1, '\n', (size_t)(at - c - 1))) {
        edn->lines++;
    }
    parse->input.begin = (size_t)(at - parse->input.data);
    parse->input.line = edn->lines + 1;
}

/* Read on; a refusal names the line after the one that is known, so that one is the line before. */
static struct result fill(struct history_parse *parse, bool *more, struct text *why)
{
    struct edn *edn = parse->state;
    parse->input.line = edn->lines;
    TRY(history_input_fill(&parse->input, more, why));
    parse->input.line = edn->lines + 1;
    return RESULT_OK;
}

/* Stand on the next byte that matters; *there is false at the end of the file. */
static struct result skip(struct history_parse *parse, bool *there, struct text *why)
{
    struct edn *edn = parse->state;
    bool more = true;
    for (;;) {
        const char *end = parse->input.data + parse->input.end;
        const char *at =
            datum_skip(edn->parse.notation, parse->input.data + parse->input.begin, end);
        bool comma = at < end && *at == ',' && edn->close == ']' && edn->count > 0 &&
                     edn->parse.notation == DATUM_JSON;
        if (at < end && !comma) {
            advance(parse, at);
            *there = true;
            return RESULT_OK;
        }
        if (comma) {
            advance(parse, at + 1);
            continue;
        }
        if (!more) {
            advance(parse, at);
            *there = false;
            return RESULT_OK;
        }
        TRY(fill(parse, &more, why));
    }
}

/* The file ended inside the last map: valid in a list of lines, a mistake in a vector. */
static struct result ended_inside(struct history_parse *parse, struct text *why)
{
    struct edn *edn = parse->state;
    if (edn->close != '\0') {
        return history_parse_error(parse, ERROR_SYNTAX, why,
                                   "the file ends inside the %s that holds the operations",
                                   edn->close == ')' ? "list" : "vector");
    }
    parse->cut = true;
    return RESULT_OK;
}

/* Read the next map into edn->data; *there is false at the end. */
static struct result read_map(struct history_parse *parse, bool *there, struct text *why)
{
    struct edn *edn = parse->state;
    bool more = true;
    for (;;) {
        const char *start = parse->input.data + parse->input.begin;
        const char *end = parse->input.data + parse->input.end;
        enum datum_outcome outcome = datum_read(&edn->parse, start, end);
        if (outcome == DATUM_READ) {
            return RESULT_OK;
        }
        if (outcome != DATUM_MORE) {
            advance(parse, edn->parse.at);
            return history_parse_error(parse, outcome == DATUM_LARGE ? ERROR_LIMIT : ERROR_SYNTAX,
                                       why, "%s", edn->parse.problem);
        }
        if (!more) {
            *there = false;
            return ended_inside(parse, why);
        }
        TRY(fill(parse, &more, why));
    }
}

/* Brackets around all operations: the one that opens, and the one that closes. */
static struct result brackets(struct history_parse *parse, bool *there, struct text *why)
{
    struct edn *edn = parse->state;
    TRY(skip(parse, there, why));
    if (!*there) {
        return edn->close != '\0' && !edn->closed ? ended_inside(parse, why) : RESULT_OK;
    }
    char c = parse->input.data[parse->input.begin];
    bool opens = c == '[' || (c == '(' && edn->parse.notation == DATUM_EDN);
    if (opens && edn->count == 0 && edn->close == '\0') {
        edn->close = c == '[' ? ']' : ')';
        advance(parse, parse->input.data + parse->input.begin + 1);
        TRY(skip(parse, there, why));
        if (!*there) {
            return ended_inside(parse, why);
        }
        c = parse->input.data[parse->input.begin];
    }
    if (edn->close != '\0' && c == edn->close && !edn->closed) {
        edn->closed = true;
        advance(parse, parse->input.data + parse->input.begin + 1);
        TRY(skip(parse, there, why));
    }
    if (*there && edn->closed) {
        return history_parse_error(parse, ERROR_SYNTAX, why,
                                   "something stands behind the last operation");
    }
    return RESULT_OK;
}

static struct result take_time(struct history_parse *parse, struct text *why)
{
    struct edn *edn = parse->state;
    struct foreign_event *foreign = &edn->foreign;
    if (edn->count == 0) {
        edn->timed = foreign->has_time;
    }
    if (edn->timed && !foreign->has_time) {
        return history_parse_error(parse, ERROR_SCHEMA, why,
                                   "an operation without :time, but those before it have one");
    }
    if (!edn->timed) {
        foreign->event.time_ns = edn->count; /* in the order of the file */
    }
    parse->numbered = foreign->number > edn->number;
    edn->number = foreign->number;
    edn->count++;
    return RESULT_OK;
}

static struct result next(struct history_parse *parse, struct history_event *event, bool *more,
                          struct text *why)
{
    struct edn *edn = parse->state;
    struct history_event blank = *event;
    do {
        bool there = true;
        TRY(brackets(parse, &there, why));
        if (there) {
            TRY(read_map(parse, &there, why));
        }
        if (!there) {
            *more = false;
            return RESULT_OK;
        }
        char memory[WHY_BYTES];
        struct text inner = text_over(memory, sizeof memory);
        edn->foreign.event = blank;
        struct result result = foreign_read(&edn->map, edn->data, &edn->foreign, &inner);
        if (result_failed(result)) {
            return history_parse_error(parse, result.code, why, "%s", inner.data);
        }
        for (int i = 0; i < MAP_FIELDS && parse->met != NULL; i++) {
            parse->met->words[i] |= edn->foreign.met.words[i];
        }
        TRY(take_time(parse, why));
        *event = edn->foreign.event;
        const char *key = edn->foreign.key[0] == '\0' ? "lock" : edn->foreign.key;
        bool names = event->kind == HISTORY_OP && event->type == HISTORY_INVOKE;
        if (!edn->foreign.skip && names) {
            TRY(history_parse_resource(parse, key, strlen(key), &event->resource, why));
        }
        uint64_t line = parse->input.line;
        advance(parse, edn->parse.at);
        parse->input.line = line;
    } while (edn->foreign.skip);
    *more = true;
    return RESULT_OK;
}

const struct history_format history_edn = {
    .name = "EDN", .detect = edn_detect, .begin = edn_begin, .next = next};
const struct history_format history_json = {
    .name = "Jepsen's JSON", .detect = json_detect, .begin = json_begin, .next = next};
