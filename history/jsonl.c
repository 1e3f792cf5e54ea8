/* jsonl.c: reads our own JSON lines: one header line, then one event a line. */
#include "history/jsonl.h"

#include "base/assert.h"
#include "history/scan.h"

#include <string.h>

#define BIT(field) (UINT32_C(1) << (field))

/* The words of the format, hashed once a reader. */
struct jsonl {
    struct scan_words header_fields;
    struct scan_words event_fields;
    struct scan_words kinds;
    struct scan_words types;
    struct scan_words fs;
    struct scan_words causes;
    struct scan_words faults;
    uint8_t kind_of_f[HISTORY_FS];
};

/* Which fields each kind of event must and may have. */
struct event_rule {
    uint32_t must;
    uint32_t may;
};

#define FIELDS_ALWAYS (BIT(FIELD_INDEX) | BIT(FIELD_TIME) | BIT(FIELD_KIND) | BIT(FIELD_NOTE))
#define FIELDS_GRANT  (BIT(FIELD_VALUE) | BIT(FIELD_FENCE) | BIT(FIELD_UNTIL))

static const struct event_rule event_rules[HISTORY_KINDS] = {
    [HISTORY_OP] = {BIT(FIELD_PROCESS) | BIT(FIELD_TYPE) | BIT(FIELD_F) | BIT(FIELD_RESOURCE),
                    FIELDS_GRANT | BIT(FIELD_OWNER) | BIT(FIELD_VERSION) | BIT(FIELD_BASIS) |
                        BIT(FIELD_CAUSE) | BIT(FIELD_AUDIT)},
    [HISTORY_SECTION] = {BIT(FIELD_PROCESS) | BIT(FIELD_F) | BIT(FIELD_RESOURCE),
                         BIT(FIELD_VALUE) | BIT(FIELD_FENCE) | BIT(FIELD_AUDIT)},
    [HISTORY_NOTICE] = {BIT(FIELD_PROCESS) | BIT(FIELD_F) | BIT(FIELD_RESOURCE),
                        FIELDS_GRANT | BIT(FIELD_CAUSE) | BIT(FIELD_AUDIT)},
    [HISTORY_LEASE] = {BIT(FIELD_PROCESS) | BIT(FIELD_F) | BIT(FIELD_RESOURCE) | BIT(FIELD_UNTIL),
                       BIT(FIELD_VALUE) | BIT(FIELD_FENCE) | BIT(FIELD_CAUSE) | BIT(FIELD_FAULT) |
                           BIT(FIELD_AUDIT)},
    [HISTORY_NODE] = {BIT(FIELD_NODE) | BIT(FIELD_F),
                      FIELDS_GRANT | BIT(FIELD_RESOURCE) | BIT(FIELD_PROCESS) | BIT(FIELD_OWNER) |
                          BIT(FIELD_CAUSE) | BIT(FIELD_FAULT) | BIT(FIELD_COMMAND) |
                          BIT(FIELD_AUDIT) | BIT(FIELD_NUMBERS)},
    [HISTORY_FAULT] = {BIT(FIELD_FAULT) | BIT(FIELD_F) | BIT(FIELD_FAULT_KIND),
                       BIT(FIELD_PROCESS) | BIT(FIELD_NODE) | BIT(FIELD_CAUSE) |
                           BIT(FIELD_NUMBERS) | BIT(FIELD_RESOURCE)},
    [HISTORY_CLIENT] = {BIT(FIELD_PROCESS) | BIT(FIELD_F),
                        BIT(FIELD_CAUSE) | BIT(FIELD_FAULT) | BIT(FIELD_AUDIT)},
    [HISTORY_PHASE] = {BIT(FIELD_F), BIT(FIELD_CAUSE)},
};

static const char *const header_words[] = {
#define X(name, word) word,
    HISTORY_HEADER_FIELDS(X)
#undef X
};

static const char *const event_words[] = {
#define X(name, word) word,
    HISTORY_EVENT_FIELDS(X)
#undef X
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

static void jsonl_init(struct jsonl *jsonl)
{
    for (size_t i = 0; i < HEADER_FIELDS; i++) {
        scan_words_add(&jsonl->header_fields, header_words[i]);
    }
    for (size_t i = 0; i < EVENT_FIELDS; i++) {
        scan_words_add(&jsonl->event_fields, event_words[i]);
    }
    for (size_t i = 0; i < HISTORY_KINDS; i++) {
        scan_words_add(&jsonl->kinds, history_kind_name((enum history_kind)i));
    }
    for (size_t i = 0; i < HISTORY_TYPES; i++) {
        scan_words_add(&jsonl->types, history_type_name((enum history_type)i));
    }
    for (size_t i = 0; i < HISTORY_FS; i++) {
        scan_words_add(&jsonl->fs, history_f_name((enum history_f)i));
        jsonl->kind_of_f[i] = (uint8_t)history_f_kind((enum history_f)i);
    }
    for (size_t i = 0; i < HISTORY_CAUSES; i++) {
        scan_words_add(&jsonl->causes, history_cause_name((enum history_cause)i));
    }
    for (size_t i = 0; i < FAULT_KINDS; i++) {
        scan_words_add(&jsonl->faults, fault_kind_name((enum fault_kind)i));
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

static bool header_field(struct scan *scan, enum history_header_field field,
                         struct history_header *header)
{
    char note[HISTORY_RESOURCE_BYTES_MAX + 1];
    switch (field) {
    case HEADER_FORMAT:
        return header_format(scan);
    case HEADER_VERSION:
        return header_version(scan, header);
    case HEADER_SEED:
        return scan_unsigned(scan, &header->seed);
    case HEADER_SCENARIO:
        return scan_name(scan, header->scenario, sizeof header->scenario);
    case HEADER_WORLD:
        return scan_name(scan, header->world, sizeof header->world);
    case HEADER_ALGORITHM:
        return scan_name(scan, header->algorithm, sizeof header->algorithm);
    case HEADER_LIBRARY:
        return scan_name(scan, header->library, sizeof header->library);
    case HEADER_NODES:
        return scan_count(scan, HISTORY_NODES_MAX, &header->node_count);
    case HEADER_CLIENTS:
        return scan_count(scan, HISTORY_CLIENTS_MAX, &header->client_count);
    case HEADER_RESOURCES:
        return scan_count(scan, HISTORY_RESOURCES_MAX, &header->resource_count);
    case HEADER_FAULTS:
        return scan_count(scan, HISTORY_FAULTS_MAX, &header->fault_count);
    case HEADER_TTL:
        return scan_natural(scan, &header->ttl_ns);
    case HEADER_BOUND:
        return scan_natural(scan, &header->bound_ns);
    case HEADER_DRIFT:
        return scan_natural(scan, &header->drift_ppm);
    case HEADER_PROMISES_VALIDITY:
        return scan_bool(scan, &header->promises_validity);
    case HEADER_FENCE_CHECK:
        return scan_bool(scan, &header->fence_check);
    case HEADER_VALUE_CHECK:
        return scan_bool(scan, &header->value_check);
    case HEADER_FENCED:
        return scan_bool(scan, &header->fenced);
    case HEADER_NOTE:
        return scan_name(scan, note, sizeof note);
    case HEADER_FIELDS:
        break;
    }
    UNREACHABLE();
}

static bool header_scan(struct scan *scan, const struct jsonl *jsonl, struct history_header *header)
{
    uint32_t seen = 0;
    struct scan_word key;
    if (!scan_object_begin(scan)) {
        return false;
    }
    while (scan_object_key(scan, &key)) {
        size_t field = scan_words_find(&jsonl->header_fields, key);
        if (field == HEADER_FIELDS) {
            return scan_refuse(scan, ERROR_SCHEMA, "a key that no header has");
        }
        if ((seen & BIT(field)) != 0) {
            return scan_refuse(scan, ERROR_SCHEMA, "a key for the second time");
        }
        seen |= BIT(field);
        if (!header_field(scan, (enum history_header_field)field, header)) {
            return false;
        }
    }
    uint32_t must = BIT(HEADER_FORMAT) | BIT(HEADER_VERSION);
    return scan->problem == NULL &&
           ((seen & must) == must ||
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

static bool scan_value(struct scan *scan, struct history_event *event, uint8_t flag,
                       struct history_value *value)
{
    struct scan_word word;
    if (!scan_string(scan, &word)) {
        return false;
    }
    event->flags |= flag;
    history_value_parse(word.text, word.bytes, value);
    return true;
}

static bool scan_flagged(struct scan *scan, struct history_event *event, uint8_t flag,
                         int64_t *number)
{
    event->flags |= flag;
    return scan_integer(scan, number);
}

static bool scan_index(struct scan *scan, uint64_t expected)
{
    uint64_t index = 0;
    return scan_unsigned(scan, &index) &&
           (index == expected ||
            scan_refuse(scan, ERROR_SCHEMA, "an index that does not follow the one before"));
}

static bool scan_command(struct scan *scan, struct history_event *event)
{
    int64_t number = 0;
    if (!scan_natural(scan, &number)) {
        return false;
    }
    event->command = (uint16_t)number;
    return number <= UINT16_MAX || scan_refuse(scan, ERROR_LIMIT, "a command beyond 65535");
}

static bool scan_audit(struct scan *scan, struct history_event *event)
{
    bool audit = false;
    bool scanned = scan_bool(scan, &audit);
    event->flags |= audit ? HISTORY_AUDIT : 0;
    return scanned;
}

/* One line while it is read. */
struct event_line {
    struct scan scan;
    struct scan_word resource;
    struct history_event *event;
};

static bool event_field(struct event_line *line, const struct jsonl *jsonl,
                        enum history_event_field field)
{
    struct scan *scan = &line->scan;
    struct history_event *event = line->event;
    struct scan_word note;
    switch (field) {
    case FIELD_INDEX:
        return scan_index(scan, event->index);
    case FIELD_TIME:
        return scan_natural(scan, &event->time_ns);
    case FIELD_KIND:
        return scan_one_of(scan, &jsonl->kinds, "an unknown kind of event", &event->kind);
    case FIELD_PROCESS:
        return scan_ordinal(scan, HISTORY_PROCESSES_MAX, "a process below 1 or beyond the limit",
                            &event->process);
    case FIELD_TYPE:
        return scan_one_of(scan, &jsonl->types, "a type other than invoke, ok, fail, info",
                           &event->type);
    case FIELD_F:
        return scan_one_of(scan, &jsonl->fs, "an unknown f", &event->f);
    case FIELD_RESOURCE:
        return scan_string(scan, &line->resource);
    case FIELD_VALUE:
        return scan_value(scan, event, HISTORY_HAS_VALUE, &event->value);
    case FIELD_OWNER:
        return scan_value(scan, event, HISTORY_HAS_OWNER, &event->owner);
    case FIELD_FENCE:
        return scan_flagged(scan, event, HISTORY_HAS_FENCE, &event->fence);
    case FIELD_UNTIL:
        return scan_flagged(scan, event, HISTORY_HAS_UNTIL, &event->until_ns);
    case FIELD_VERSION:
        return scan_integer(scan, &event->version);
    case FIELD_BASIS:
        return scan_integer(scan, &event->basis);
    case FIELD_CAUSE:
        return scan_one_of(scan, &jsonl->causes, "an unknown cause", &event->cause);
    case FIELD_NODE:
        return scan_ordinal(scan, HISTORY_NODES_MAX, "a node below 1 or beyond 64", &event->node);
    case FIELD_FAULT:
        return scan_ordinal(scan, HISTORY_FAULTS_MAX, "a fault below 1 or beyond 1024",
                            &event->fault);
    case FIELD_FAULT_KIND:
        return scan_one_of(scan, &jsonl->faults, "an unknown kind of fault", &event->fault_kind);
    case FIELD_NUMBERS:
        return scan_pair(scan, event->number);
    case FIELD_COMMAND:
        return scan_command(scan, event);
    case FIELD_AUDIT:
        return scan_audit(scan, event);
    case FIELD_NOTE:
        return scan_string(scan, &note);
    case EVENT_FIELDS:
        break;
    }
    UNREACHABLE();
}

static bool event_agrees(struct scan *scan, const struct jsonl *jsonl, uint32_t seen,
                         const struct history_event *event)
{
    const struct event_rule *rule = &event_rules[event->kind];
    uint32_t must = rule->must | BIT(FIELD_TIME);
    if ((seen & must) != must) {
        return scan_refuse(scan, ERROR_SCHEMA, "a field that this kind of event needs is missing");
    }
    if ((seen & ~(must | rule->may | FIELDS_ALWAYS)) != 0) {
        return scan_refuse(scan, ERROR_SCHEMA, "a field that this kind of event does not have");
    }
    if (jsonl->kind_of_f[event->f] != event->kind) {
        return scan_refuse(scan, ERROR_SCHEMA, "an f that does not belong to this kind of event");
    }
    return true;
}

static bool event_scan(struct event_line *line, const struct jsonl *jsonl, uint32_t *seen)
{
    struct scan *scan = &line->scan;
    struct scan_word key;
    if (!scan_object_begin(scan)) {
        return false;
    }
    while (scan_object_key(scan, &key)) {
        size_t field = scan_words_find(&jsonl->event_fields, key);
        if (field == EVENT_FIELDS) {
            return scan_refuse(scan, ERROR_SCHEMA, "a key that no event has");
        }
        if ((*seen & BIT(field)) != 0) {
            return scan_refuse(scan, ERROR_SCHEMA, "a key for the second time");
        }
        *seen |= BIT(field);
        if (!event_field(line, jsonl, (enum history_event_field)field)) {
            return false;
        }
    }
    return scan->problem == NULL && event_agrees(scan, jsonl, *seen, line->event);
}

static struct result jsonl_event(struct history_parse *parse, struct history_line *text,
                                 struct history_event *event, struct text *why)
{
    struct event_line line = {.scan = scan_line(text->text, text->bytes), .event = event};
    uint32_t seen = 0;
    if (!event_scan(&line, parse->state, &seen)) {
        return jsonl_refused(parse, &line.scan, why);
    }
    if ((seen & BIT(FIELD_RESOURCE)) == 0) {
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
