/* jsonl.c: reads our own JSON lines: one header line, then one event a line. */
#include "history/jsonl.h"

#include "base/assert.h"
#include "history/fields.h"
#include "history/scan.h"

#include <string.h>

#define BIT(field) (UINT64_C(1) << (field))

/* The words of the format, hashed once a reader. */
struct jsonl {
    struct scan_words header_fields;
    struct scan_words event_fields;
    struct scan_words header_words[HISTORY_FIELDS_MAX]; /* of the vocabulary of a field */
    struct scan_words event_words[HISTORY_FIELDS_MAX];
    uint64_t must[HISTORY_KINDS]; /* which fields each kind of event must and may have */
    uint64_t may[HISTORY_KINDS];
    uint64_t header_must;
    uint64_t resource; /* bit of the field that names it */
    uint8_t kind_of_f[HISTORY_FS];
};

static bool jsonl_detect(const char *bytes, size_t count)
{
    /* Also where the header itself was cut: no other format begins like this. */
    static const char begin[] = "{\"format\":\"picklock-history\"";
    size_t begin_bytes = sizeof begin - 1 < count ? sizeof begin - 1 : count;
    if (memcmp(bytes, begin, begin_bytes) == 0) {
        return true;
    }
    const char *newline = memchr(bytes, '\n', count);
    size_t line_bytes = newline == NULL ? count : (size_t)(newline - bytes);
    return memmem(bytes, line_bytes, "\"picklock-history\"", 18) != NULL;
}

static void words_init(struct scan_words *words, const struct history_vocabulary *vocabulary)
{
    for (size_t i = 0; vocabulary != NULL && i < vocabulary->count; i++) {
        scan_words_add(words, vocabulary->words[i]);
    }
}

static void event_fields_init(struct jsonl *jsonl)
{
    for (size_t i = 0; i < history_event_field_count; i++) {
        const struct history_field *field = &history_event_fields[i];
        scan_words_add(&jsonl->event_fields, field->word);
        words_init(&jsonl->event_words[i], field->vocabulary);
        jsonl->resource |= field->type == FIELD_RESOURCE ? BIT(i) : 0;
        for (size_t kind = 0; kind < HISTORY_KINDS; kind++) {
            bool must = field->need == FIELD_NEEDED || (field->must >> kind & 1) != 0;
            bool may = field->need == FIELD_WRITTEN || (field->may >> kind & 1) != 0;
            jsonl->must[kind] |= must ? BIT(i) : 0;
            jsonl->may[kind] |= must || may ? BIT(i) : 0;
        }
    }
}

static void jsonl_init(struct jsonl *jsonl)
{
    event_fields_init(jsonl);
    for (size_t i = 0; i < history_header_field_count; i++) {
        const struct history_field *field = &history_header_fields[i];
        scan_words_add(&jsonl->header_fields, field->word);
        words_init(&jsonl->header_words[i], field->vocabulary);
        jsonl->header_must |= field->need == FIELD_NEEDED ? BIT(i) : 0;
    }
    for (size_t i = 0; i < HISTORY_FS; i++) {
        jsonl->kind_of_f[i] = (uint8_t)history_f_kind((enum history_f)i);
    }
}

static struct result jsonl_refused(const struct history_parse *parse, const struct scan *scan,
                                   struct text *why)
{
    return history_parse_error(parse, scan->code, why, "column %zu: %s", scan_column(scan),
                               scan->problem);
}

static bool scan_name(struct scan *scan, char *name, size_t bytes_max)
{
    struct scan_word word;
    if (!scan_string(scan, &word)) {
        return false;
    }
    if (word.bytes >= bytes_max || memchr(word.text, '\0', word.bytes) != NULL) {
        return scan_refuse(scan, ERROR_LIMIT, "a name that is too long, or has a zero inside");
    }
    memcpy(name, word.text, word.bytes);
    name[word.bytes] = '\0';
    return true;
}

static bool scan_count(struct scan *scan, int64_t max, int32_t *count)
{
    int64_t number = 0;
    if (!scan_integer(scan, &number)) {
        return false;
    }
    if (number < 0 || number > max) {
        return scan_refuse(scan, ERROR_LIMIT, "a count below 0 or beyond the limit");
    }
    *count = (int32_t)number;
    return true;
}

static bool scan_natural(struct scan *scan, int64_t *number)
{
    return scan_integer(scan, number) &&
           (*number >= 0 || scan_refuse(scan, ERROR_SCHEMA, "a number below 0"));
}

static bool header_format(struct scan *scan)
{
    struct scan_word word;
    return scan_string(scan, &word) &&
           ((word.bytes == 16 && memcmp(word.text, "picklock-history", 16) == 0) ||
            scan_refuse(scan, ERROR_SCHEMA, "a format other than picklock-history"));
}

static bool header_version(struct scan *scan, struct history_header *header)
{
    int64_t version = 0;
    if (!scan_integer(scan, &version)) {
        return false;
    }
    header->format = HISTORY_FORMAT;
    return version == HISTORY_FORMAT ||
           scan_refuse(scan, ERROR_SCHEMA, "a version of the format other than 1");
}

static bool scan_one_of(struct scan *scan, const struct scan_words *words, const char *problem,
                        uint8_t *chosen)
{
    struct scan_word word;
    if (!scan_string(scan, &word)) {
        return false;
    }
    size_t found = scan_words_find(words, word);
    if (found == words->count) {
        return scan_refuse(scan, ERROR_SCHEMA, problem);
    }
    *chosen = (uint8_t)found;
    return true;
}

/* A list of words, each at most once. */
static bool scan_set(struct scan *scan, const struct scan_words *words, const char *problem,
                     uint16_t *set)
{
    bool more = false;
    *set = 0;
    if (!scan_list_begin(scan, &more)) {
        return false;
    }
    while (more) {
        uint8_t chosen = 0;
        if (!scan_one_of(scan, words, problem, &chosen) || !scan_list_more(scan, &more)) {
            return false;
        }
        if ((*set >> chosen & 1) != 0) {
            return scan_refuse(scan, ERROR_SCHEMA, "a word for the second time");
        }
        *set |= (uint16_t)(1u << chosen);
    }
    return true;
}

static bool header_field(struct scan *scan, const struct jsonl *jsonl, size_t index,
                         struct history_header *header)
{
    const struct history_field *field = &history_header_fields[index];
    void *place = history_field_at(field, header);
    struct scan_word note;
    switch ((enum field_type)field->type) {
    case FIELD_FORMAT:
        return header_format(scan);
    case FIELD_VERSION:
        return header_version(scan, header);
    case FIELD_UNSIGNED:
        return scan_unsigned(scan, place);
    case FIELD_NAME:
        return scan_name(scan, place, (size_t)field->max);
    case FIELD_COUNT:
        return scan_count(scan, field->max, place);
    case FIELD_NATURAL:
        return scan_natural(scan, place);
    case FIELD_BOOL:
        return scan_bool(scan, place);
    case FIELD_WORD:
        return scan_one_of(scan, &jsonl->header_words[index], field->problem, place);
    case FIELD_SET:
        return scan_set(scan, &jsonl->header_words[index], field->problem, place);
    case FIELD_NOTE:
        return scan_string(scan, &note);
    case FIELD_INDEX:
    case FIELD_INTEGER:
    case FIELD_PAIR:
    case FIELD_RANGE:
    case FIELD_MEMBERS:
    case FIELD_LABEL:
    case FIELD_ORDINAL:
    case FIELD_FLAG:
    case FIELD_VALUE:
    case FIELD_RESOURCE:
        break;
    }
    UNREACHABLE();
}

static bool header_scan(struct scan *scan, const struct jsonl *jsonl, struct history_header *header)
{
    uint64_t seen = 0;
    struct scan_word key;
    if (!scan_object_begin(scan)) {
        return false;
    }
    while (scan_object_key(scan, &key)) {
        size_t field = scan_words_find(&jsonl->header_fields, key);
        if (field == history_header_field_count) {
            return scan_refuse(scan, ERROR_SCHEMA, "a key that no header has");
        }
        if ((seen & BIT(field)) != 0) {
            return scan_refuse(scan, ERROR_SCHEMA, "a key for the second time");
        }
        seen |= BIT(field);
        if (!header_field(scan, jsonl, field, header)) {
            return false;
        }
    }
    return scan->problem == NULL &&
           ((seen & jsonl->header_must) == jsonl->header_must ||
            scan_refuse(scan, ERROR_SCHEMA, "a header needs \"format\" and \"version\""));
}

static struct result jsonl_begin(struct history_parse *parse, struct text *why)
{
    struct jsonl *jsonl = arena_take(&parse->arena, sizeof *jsonl);
    if (jsonl == NULL) {
        return history_parse_error(parse, ERROR_IO, why, "no memory to read it");
    }
    jsonl_init(jsonl);
    parse->state = jsonl;
    parse->input.bytes_max = HISTORY_LINE_BYTES_MAX;
    struct history_line line;
    bool more = false;
    TRY(history_input_line(&parse->input, &line, &more, why));
    ASSERT(more);
    struct scan scan = scan_line(line.text, line.bytes);
    return header_scan(&scan, jsonl, &parse->header) ? RESULT_OK : jsonl_refused(parse, &scan, why);
}

/* Clients, nodes and faults are counted from 1 in files. */
static bool scan_ordinal(struct scan *scan, int64_t max, const char *problem, int32_t *ordinal)
{
    int64_t number = 0;
    if (!scan_integer(scan, &number)) {
        return false;
    }
    if (number < 1 || number > max) {
        return scan_refuse(scan, ERROR_LIMIT, problem);
    }
    *ordinal = (int32_t)(number - 1);
    return true;
}

/* Two of them, the first below the second. */
static bool scan_range(struct scan *scan, const struct history_field *field, int32_t range[2])
{
    int64_t pair[2] = {0, 0};
    if (!scan_pair(scan, pair)) {
        return false;
    }
    if (pair[0] < 1 || pair[1] <= pair[0] || pair[1] > field->max) {
        return scan_refuse(scan, ERROR_SCHEMA, field->problem);
    }
    range[0] = (int32_t)(pair[0] - 1);
    range[1] = (int32_t)(pair[1] - 1);
    return true;
}

/* A list of them, each at most once. */
static bool scan_members(struct scan *scan, const struct history_field *field, uint64_t *members)
{
    bool more = false;
    *members = 0;
    if (!scan_list_begin(scan, &more)) {
        return false;
    }
    while (more) {
        int32_t member = 0;
        if (!scan_ordinal(scan, field->max, field->problem, &member) ||
            !scan_list_more(scan, &more)) {
            return false;
        }
        if ((*members >> member & 1) != 0) {
            return scan_refuse(scan, ERROR_SCHEMA, field->problem);
        }
        *members |= UINT64_C(1) << member;
    }
    return true;
}

static bool scan_value(struct scan *scan, struct history_value *value)
{
    struct scan_word word;
    if (!scan_string(scan, &word)) {
        return false;
    }
    history_value_parse(word.text, word.bytes, value);
    return true;
}

static bool scan_index(struct scan *scan, uint64_t expected)
{
    uint64_t index = 0;
    return scan_unsigned(scan, &index) &&
           (index == expected ||
            scan_refuse(scan, ERROR_SCHEMA, "an index that does not follow the one before"));
}

/* Older files have a number of the recorder's own here. */
static bool scan_label(struct scan *scan, char *label, size_t bytes_max)
{
    int64_t number = 0;
    if (scan_at_number(scan)) {
        return scan_natural(scan, &number);
    }
    return scan_name(scan, label, bytes_max);
}

static bool scan_flag(struct scan *scan, struct history_event *event, uint16_t flag)
{
    bool truth = false;
    bool scanned = scan_bool(scan, &truth);
    event->flags = (uint16_t)((event->flags & ~flag) | (truth ? flag : 0));
    return scanned;
}

/* One line while it is read. */
struct event_line {
    struct scan scan;
    struct scan_word resource;
    struct history_event *event;
};

static bool event_field(struct event_line *line, const struct jsonl *jsonl, size_t index)
{
    struct scan *scan = &line->scan;
    const struct history_field *field = &history_event_fields[index];
    void *place = history_field_at(field, line->event);
    struct scan_word note;
    line->event->flags |= field->flag;
    switch ((enum field_type)field->type) {
    case FIELD_INDEX:
        return scan_index(scan, line->event->index);
    case FIELD_NATURAL:
        return scan_natural(scan, place);
    case FIELD_INTEGER:
        return scan_integer(scan, place);
    case FIELD_ORDINAL:
        return scan_ordinal(scan, field->max, field->problem, place);
    case FIELD_WORD:
        return scan_one_of(scan, &jsonl->event_words[index], field->problem, place);
    case FIELD_RESOURCE:
        return scan_string(scan, &line->resource);
    case FIELD_VALUE:
        return scan_value(scan, place);
    case FIELD_PAIR:
        return scan_pair(scan, place);
    case FIELD_RANGE:
        return scan_range(scan, field, place);
    case FIELD_MEMBERS:
        return scan_members(scan, field, place);
    case FIELD_LABEL:
        return scan_label(scan, place, (size_t)field->max);
    case FIELD_FLAG:
        return scan_flag(scan, line->event, field->flag);
    case FIELD_NOTE:
        return scan_string(scan, &note);
    case FIELD_FORMAT:
    case FIELD_VERSION:
    case FIELD_UNSIGNED:
    case FIELD_COUNT:
    case FIELD_BOOL:
    case FIELD_SET:
    case FIELD_NAME:
        break;
    }
    UNREACHABLE();
}

static bool event_agrees(struct scan *scan, const struct jsonl *jsonl, uint64_t seen,
                         const struct history_event *event)
{
    uint64_t must = jsonl->must[event->kind];
    if ((seen & must) != must) {
        return scan_refuse(scan, ERROR_SCHEMA, "a field that this kind of event needs is missing");
    }
    if ((seen & ~jsonl->may[event->kind]) != 0) {
        return scan_refuse(scan, ERROR_SCHEMA, "a field that this kind of event does not have");
    }
    if (jsonl->kind_of_f[event->f] != event->kind) {
        return scan_refuse(scan, ERROR_SCHEMA, "an f that does not belong to this kind of event");
    }
    return true;
}

static bool event_scan(struct event_line *line, const struct jsonl *jsonl, uint64_t *seen)
{
    struct scan *scan = &line->scan;
    struct scan_word key;
    if (!scan_object_begin(scan)) {
        return false;
    }
    while (scan_object_key(scan, &key)) {
        size_t field = scan_words_find(&jsonl->event_fields, key);
        if (field == history_event_field_count) {
            return scan_refuse(scan, ERROR_SCHEMA, "a key that no event has");
        }
        if ((*seen & BIT(field)) != 0) {
            return scan_refuse(scan, ERROR_SCHEMA, "a key for the second time");
        }
        *seen |= BIT(field);
        if (!event_field(line, jsonl, field)) {
            return false;
        }
    }
    return scan->problem == NULL && event_agrees(scan, jsonl, *seen, line->event);
}

static struct result jsonl_event(struct history_parse *parse, struct history_line *text,
                                 struct history_event *event, struct text *why)
{
    struct event_line line = {.scan = scan_line(text->text, text->bytes), .event = event};
    uint64_t seen = 0;
    const struct jsonl *jsonl = parse->state;
    if (!event_scan(&line, jsonl, &seen)) {
        return jsonl_refused(parse, &line.scan, why);
    }
    if ((seen & jsonl->resource) == 0) {
        return RESULT_OK;
    }
    return history_parse_resource(parse, line.resource.text, line.resource.bytes, &event->resource,
                                  why);
}

static struct result jsonl_next(struct history_parse *parse, struct history_event *event,
                                bool *more, struct text *why)
{
    struct history_line text;
    struct scan blank;
    do {
        TRY(history_input_line(&parse->input, &text, more, why));
        blank = scan_line(text.text, text.bytes);
    } while (*more && scan_at_end(&blank));
    if (!*more) {
        parse->cut = parse->input.cut;
        return RESULT_OK;
    }
    size_t why_bytes = why->length;
    struct result read = jsonl_event(parse, &text, event, why);
    if (result_failed(read) && !text.whole) {
        /* The run died while it wrote this line. */
        why->length = why_bytes;
        why->data[why_bytes] = '\0';
        parse->cut = true;
        *more = false;
        return RESULT_OK;
    }
    return read;
}

const struct history_format history_jsonl = {
    .name = "picklock JSON lines",
    .detect = jsonl_detect,
    .begin = jsonl_begin,
    .next = jsonl_next,
};
