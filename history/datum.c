/* datum.c: reads EDN and JSON with a stack of open collections. */
#include "history/datum.h"

#include "base/assert.h"

#include <string.h>

struct frame {
    int32_t datum;
    int32_t last; /* child */
    char close;
    uint32_t children;
    bool separated; /* JSON: a comma or colon was read since the last child */
};

struct reading {
    struct datum_parse *parse;
    const char *at;
    const char *end;
    struct frame frames[DATUM_DEPTH_MAX];
    int depth;
    int discard;       /* this many values that come next are dropped */
    int discard_depth; /* the depth at which the last of them stands */
};

static bool is_blank(enum datum_notation notation, char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' ||
           (notation == DATUM_EDN && (c == ',' || c == '\f'));
}

const char *datum_skip(enum datum_notation notation, const char *text, const char *end)
{
    while (text < end) {
        if (is_blank(notation, *text)) {
            text++;
        } else if (notation == DATUM_EDN && *text == ';') {
            const char *newline = memchr(text, '\n', (size_t)(end - text));
            if (newline == NULL) {
                return end;
            }
            text = newline + 1;
        } else {
            break;
        }
    }
    return text;
}

static enum datum_outcome wrong(struct reading *reading, const char *at, const char *problem)
{
    reading->parse->problem = problem;
    reading->parse->at = at;
    return DATUM_WRONG;
}

/* Length of the well-formed UTF-8 sequence at `at` (RFC 3629); 0 if wrong, -1 if cut off. */
static int sequence_bytes(const unsigned char *at, const unsigned char *end)
{
    if (at[0] < 0x80) {
        return 1;
    }
    int bytes = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4) {
        return 0;
    }
    if (end - at < bytes) {
        return -1;
    }
    for (int i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xed && at[1] > 0x9f;
    bool beyond = at[0] == 0xf4 && at[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : bytes;
}

static enum datum_outcome read_string(struct reading *reading, struct datum *datum)
{
    const char *start = ++reading->at;
    datum->type = DATUM_STRING;
    while (reading->at < reading->end) {
        char c = *reading->at;
        if (c == '"') {
            datum->text = start;
            datum->bytes = (uint32_t)(reading->at - start);
            reading->at++;
            return DATUM_READ;
        }
        if (c == '\\') {
            if (reading->end - reading->at < 2) {
                return DATUM_MORE;
            }
            if (strchr("\"\\/bfnrtu", reading->at[1]) == NULL || reading->at[1] == '\0') {
                return wrong(reading, reading->at, "an unknown escape in a string");
            }
            datum->escaped = true;
            reading->at += 2;
            continue;
        }
        if ((unsigned char)c < 0x20 && (reading->parse->notation == DATUM_JSON || c == '\0')) {
            return wrong(reading, reading->at, "a control character in a string");
        }
        int bytes =
            sequence_bytes((const unsigned char *)reading->at, (const unsigned char *)reading->end);
        if (bytes == 0) {
            return wrong(reading, reading->at, "bytes that are no UTF-8");
        }
        if (bytes < 0) {
            return DATUM_MORE;
        }
        reading->at += bytes;
    }
    return DATUM_MORE;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("+-.*!_?$%&=<>/:#'|~@^", c) != NULL) || (unsigned char)c >= 0x80;
}

static const char *word_end(const char *at, const char *end)
{
    while (at < end && is_word(*at)) {
        at++;
    }
    return at;
}

/* Digits with a sign; other numbers keep their text. EDN writes N behind large ones. */
static enum datum_outcome set_number(struct reading *reading, struct datum *datum)
{
    const char *text = datum->text;
    uint32_t bytes = datum->bytes;
    bool negative = text[0] == '-';
    uint32_t i = text[0] == '-' || text[0] == '+' ? 1 : 0;
    uint64_t number = 0;
    uint64_t most = negative ? (uint64_t)1 << 63 : INT64_MAX;
    uint32_t digits_end = bytes > i + 1 && text[bytes - 1] == 'N' ? bytes - 1 : bytes;
    datum->type = DATUM_NUMBER;
    for (; i < digits_end; i++) {
        if (text[i] < '0' || text[i] > '9') {
            bool real = strspn(text + i, "0123456789+-.eEM/") >= digits_end - i;
            return real ? DATUM_READ : wrong(reading, text, "not a number");
        }
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (number > (most - digit) / 10) {
            reading->parse->problem = "a number beyond 64 bits";
            reading->parse->at = text;
            return DATUM_LARGE;
        }
        number = 10 * number + digit;
    }
    datum->type = DATUM_INTEGER;
    datum->integer = negative ? (int64_t)(0 - number) : (int64_t)number;
    return DATUM_READ;
}

static bool word_is(const struct datum *datum, const char *word)
{
    return datum->bytes == strlen(word) && memcmp(datum->text, word, datum->bytes) == 0;
}

static enum datum_outcome read_word(struct reading *reading, struct datum *datum, bool ended)
{
    const char *start = reading->at;
    bool edn = reading->parse->notation == DATUM_EDN;
    bool character = edn && *start == '\\';
    const char *stop =
        word_end(character && start + 1 < reading->end ? start + 2 : start, reading->end);
    if (stop == reading->end && !ended) {
        return DATUM_MORE;
    }
    datum->text = start;
    datum->bytes = (uint32_t)(stop - start);
    datum->type = DATUM_SYMBOL;
    if (stop == start || datum->bytes > 1024) {
        return wrong(reading, start,
                     stop == start ? "an unexpected character" : "a word of over 1024 bytes");
    }
    reading->at = stop;
    bool sign = (*start == '-' || *start == '+') && stop - start > 1;
    char digit = sign ? start[1] : *start;
    if (digit >= '0' && digit <= '9') {
        return set_number(reading, datum);
    }
    if (edn && *start == ':') {
        datum->type = DATUM_KEYWORD;
        datum->text++;
        datum->bytes--;
        return datum->bytes > 0 ? DATUM_READ : wrong(reading, start, "a keyword without a name");
    }
    bool nil = word_is(datum, edn ? "nil" : "null");
    bool yes = word_is(datum, "true");
    bool no = word_is(datum, "false");
    datum->type = nil ? DATUM_NIL : yes ? DATUM_TRUE : no ? DATUM_FALSE : DATUM_SYMBOL;
    if (!edn && datum->type == DATUM_SYMBOL) {
        return wrong(reading, start, "a word that is no JSON");
    }
    for (const char *c = start; c < stop; c += 1) {
        int bytes = sequence_bytes((const unsigned char *)c, (const unsigned char *)stop);
        if (bytes <= 0) {
            return wrong(reading, c, "bytes that are no UTF-8");
        }
        c += bytes - 1;
    }
    return DATUM_READ;
}

/* Add a value behind its siblings; its index, or -1. */
static int32_t add(struct reading *reading)
{
    struct datum_parse *parse = reading->parse;
    if (parse->count == DATUM_COUNT_MAX) {
        return -1;
    }
    int32_t index = (int32_t)parse->count++;
    parse->data[index] = (struct datum){.first = -1, .next = -1};
    if (reading->depth > 0) {
        struct frame *frame = &reading->frames[reading->depth - 1];
        if (frame->last < 0) {
            parse->data[frame->datum].first = index;
        } else {
            parse->data[frame->last].next = index;
        }
        frame->last = index;
        frame->children++;
        frame->separated = false;
    }
    return index;
}

static enum datum_outcome open_collection(struct reading *reading, int32_t index, char close)
{
    if (reading->depth == DATUM_DEPTH_MAX) {
        reading->parse->problem = "values inside each other over 64 deep";
        reading->parse->at = reading->at;
        return DATUM_LARGE;
    }
    bool map = close == '}' && *reading->at == '{';
    reading->parse->data[index].type = map ? DATUM_MAP : DATUM_LIST;
    reading->frames[reading->depth++] =
        (struct frame){.datum = index, .last = -1, .close = close, .separated = true};
    return DATUM_READ;
}

static enum datum_outcome close_collection(struct reading *reading)
{
    struct frame *frame = &reading->frames[reading->depth - 1];
    if (*reading->at != frame->close) {
        return wrong(reading, reading->at, "a bracket that closes nothing");
    }
    bool map = reading->parse->data[frame->datum].type == DATUM_MAP;
    bool json = reading->parse->notation == DATUM_JSON;
    if ((map && frame->children % 2 != 0) || (json && frame->children > 0 && frame->separated)) {
        return wrong(reading, reading->at, "a value is missing before this bracket");
    }
    if (map && datum_has_key_twice(reading->parse->data, frame->datum)) {
        return wrong(reading, reading->at, "a key stands twice in the map that ends here");
    }
    reading->at++;
    reading->depth--;
    return DATUM_READ;
}

/* JSON wants a colon behind a key and a comma between all others. */
static enum datum_outcome read_separator(struct reading *reading)
{
    struct frame *frame = &reading->frames[reading->depth - 1];
    bool map = reading->parse->data[frame->datum].type == DATUM_MAP;
    char wanted = map && frame->children % 2 == 1 ? ':' : ',';
    if (*reading->at != wanted || frame->separated || frame->children == 0) {
        return wrong(reading, reading->at, "an unexpected comma or colon");
    }
    frame->separated = true;
    reading->at++;
    return DATUM_READ;
}

/* `#` in EDN: a set, a discarded value, or a tag, which is dropped. */
static enum datum_outcome read_hash(struct reading *reading)
{
    if (reading->end - reading->at < 2) {
        return DATUM_MORE;
    }
    if (reading->at[1] == '_') {
        if (reading->discard > 0) {
            return wrong(reading, reading->at, "a discarded value inside a discarded one");
        }
        reading->discard = 1;
        reading->discard_depth = reading->depth;
        reading->at += 2;
        return DATUM_READ;
    }
    const char *stop = word_end(reading->at + 1, reading->end);
    if (stop == reading->end) {
        return DATUM_MORE;
    }
    if (stop == reading->at + 1) {
        return wrong(reading, reading->at, "a # without a tag");
    }
    reading->at = stop;
    return DATUM_READ;
}

/* Take what was added since `count` away again: it was discarded. */
static void drop_discarded(struct reading *reading, uint32_t count, const struct frame *before)
{
    reading->parse->count = count;
    if (reading->depth > 0) {
        struct frame *frame = &reading->frames[reading->depth - 1];
        *frame = *before;
        if (frame->last < 0) {
            reading->parse->data[frame->datum].first = -1;
        } else {
            reading->parse->data[frame->last].next = -1;
        }
    }
    reading->discard = 0;
}

static enum datum_outcome read_value(struct reading *reading, bool ended)
{
    char c = *reading->at;
    bool json = reading->parse->notation == DATUM_JSON;
    if (json && reading->depth > 0 && !reading->frames[reading->depth - 1].separated) {
        return wrong(reading, reading->at, "a comma or colon is missing");
    }
    int32_t index = add(reading);
    if (index < 0) {
        reading->parse->problem = "over 4096 values in one operation";
        reading->parse->at = reading->at;
        return DATUM_LARGE;
    }
    struct datum *datum = &reading->parse->data[index];
    enum datum_outcome outcome = DATUM_READ;
    if (c == '{' || c == '[' || (c == '(' && !json)) {
        outcome = open_collection(reading, index, c == '{' ? '}' : c == '[' ? ']' : ')');
        reading->at++;
    } else if (c == '"') {
        outcome = read_string(reading, datum);
    } else {
        outcome = read_word(reading, datum, ended);
    }
    if (json && outcome == DATUM_READ && reading->depth > 0 && datum->type != DATUM_STRING) {
        const struct frame *frame = &reading->frames[reading->depth - 1];
        bool key = reading->parse->data[frame->datum].type == DATUM_MAP && frame->datum != index &&
                   frame->children % 2 == 1;
        return key ? wrong(reading, reading->at, "a key that is no string") : outcome;
    }
    return outcome;
}

/* One token: a scalar, a bracket, a separator or a tag. */
static enum datum_outcome read_token(struct reading *reading)
{
    char c = *reading->at;
    bool json = reading->parse->notation == DATUM_JSON;
    if (c == '}' || c == ']' || (c == ')' && !json)) {
        return reading->depth > 0 ? close_collection(reading)
                                  : wrong(reading, reading->at, "a bracket that closes nothing");
    }
    if (json && reading->depth > 0 && (c == ',' || c == ':')) {
        return read_separator(reading);
    }
    if (!json && c == '#' && !(reading->at + 1 < reading->end && reading->at[1] == '{')) {
        return read_hash(reading);
    }
    if (!json && c == '#') {
        reading->at++; /* a set reads as a map of unknown shape would: see open_collection */
        int32_t index = add(reading);
        if (index < 0) {
            reading->parse->problem = "over 4096 values in one operation";
            reading->parse->at = reading->at;
            return DATUM_LARGE;
        }
        enum datum_outcome outcome = open_collection(reading, index, '}');
        reading->parse->data[index].type = DATUM_LIST;
        reading->at++;
        return outcome;
    }
    return read_value(reading, false);
}

enum datum_outcome datum_read(struct datum_parse *parse, const char *text, const char *end)
{
    struct reading reading = {.parse = parse, .at = text, .end = end};
    uint32_t count_before = 0;
    struct frame before = {.last = -1};
    parse->count = 0;
    for (;;) {
        reading.at = datum_skip(parse->notation, reading.at, end);
        parse->at = reading.at;
        if (reading.at == end) {
            return DATUM_MORE;
        }
        bool fresh = reading.discard == 0;
        enum datum_outcome outcome = read_token(&reading);
        if (outcome != DATUM_READ) {
            return outcome;
        }
        if (reading.discard > 0 && fresh) {
            count_before = parse->count;
            before = reading.depth > 0 ? reading.frames[reading.depth - 1] : before;
        } else if (reading.discard > 0 && reading.depth == reading.discard_depth &&
                   parse->count > count_before) {
            drop_discarded(&reading, count_before, &before);
        }
        if (reading.depth == 0 && reading.discard == 0 && parse->count > 0) {
            parse->at = reading.at;
            return DATUM_READ;
        }
    }
}
