/* scenario_yaml.c: the one file that knows libyaml: bytes in, a tree with places out. */
#include "harness/scenario_document.h"

#include "base/assert.h"

#include <string.h>
#include <yaml.h>

struct yaml_reading {
    struct problems *problems;
    struct arena *arena;
    enum error_code *code;
    struct document *root;
    struct document *stack[DOCUMENT_DEPTH_MAX]; /* open lists and maps */
    uint32_t depth;
    uint32_t parts;
    uint32_t document_count;
    const char *key; /* a key that waits for its value, or NULL */
    struct place key_place;
    bool stopped;
};

static struct place yaml_place(yaml_mark_t mark)
{
    return (struct place){(uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

static void yaml_stop(struct yaml_reading *reading, enum error_code code)
{
    reading->stopped = true;
    *reading->code = code;
}

/* Length of the UTF-8 sequence at `at`, or 0 if it is none. Overlong forms and surrogates are
   none. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
    if (at[0] < 0x80) {
        return 1;
    }
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || length > left) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool outside = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
    return overlong || outside ? 0 : length;
}

/* Refuse what is no text, and point at every line with a tab. */
static bool yaml_bytes_are_text(struct yaml_reading *reading)
{
    struct problems *problems = reading->problems;
    const unsigned char *bytes = (const unsigned char *)problems->bytes;
    struct place place = {1, 1};
    uint32_t tab_line = 0;
    size_t step = 1;
    for (size_t i = 0; i < problems->length; i += step, place.column++) {
        step = utf8_length(bytes + i, problems->length - i);
        bool control = bytes[i] < 0x20 && strchr("\t\r\n", bytes[i]) == NULL;
        if (step == 0 || bytes[i] == 0 || control || bytes[i] == 0x7f) {
            problem_say(problems, place, "byte 0x%02x: %s; a scenario is a text file in UTF-8",
                        bytes[i], step == 0 ? "this is not UTF-8" : "a control character");
            /* The line cannot be shown. */
            problems->bytes = NULL;
            problems->length = 0;
            yaml_stop(reading, ERROR_SYNTAX);
            return false;
        }
        if (bytes[i] == '\t' && tab_line != place.line) {
            problem_say(problems, place, "a tab; YAML is indented with spaces");
            tab_line = place.line;
            *reading->code = ERROR_SYNTAX;
        }
        if (bytes[i] == '\n') {
            place.line++;
            place.column = 0;
        }
    }
    return true;
}

static struct document *yaml_part(struct yaml_reading *reading, const yaml_event_t *event)
{
    struct place place = yaml_place(event->start_mark);
    if (reading->parts == DOCUMENT_PARTS_MAX) {
        problem_say(reading->problems, place, "the file has more than %d parts",
                    DOCUMENT_PARTS_MAX);
        yaml_stop(reading, ERROR_LIMIT);
        return NULL;
    }
    reading->parts++;
    struct document *part = arena_take(reading->arena, sizeof *part);
    if (part == NULL) {
        problem_say(reading->problems, place, "the file needs too much memory");
        yaml_stop(reading, ERROR_LIMIT);
        return NULL;
    }
    part->place = place;
    part->word = "";
    return part;
}

static void yaml_check_duplicate(struct yaml_reading *reading, const struct document *map)
{
    for (const struct document *child = map->child; child != NULL; child = child->next) {
        if (strcmp(child->key, reading->key) == 0) {
            problem_say(reading->problems, reading->key_place,
                        "\"%.40s\" stands here twice; the first time in line %u", reading->key,
                        child->key_place.line);
            return;
        }
    }
}

/* Hang a new part into the list or map that is open. */
static void yaml_hang(struct yaml_reading *reading, struct document *part)
{
    if (reading->depth == 0) {
        reading->root = part;
        return;
    }
    struct document *parent = reading->stack[reading->depth - 1];
    if (parent->kind == DOCUMENT_MAP) {
        ASSERT(reading->key != NULL);
        yaml_check_duplicate(reading, parent);
        part->key = reading->key;
        part->key_place = reading->key_place;
        reading->key = NULL;
    }
    if (parent->youngest == NULL) {
        parent->child = part;
    } else {
        parent->youngest->next = part;
    }
    parent->youngest = part;
}

static void yaml_refuse_extras(struct yaml_reading *reading, const yaml_char_t *anchor,
                               const yaml_char_t *tag, struct place place)
{
    if (anchor != NULL) {
        problem_say(reading->problems, place,
                    "an anchor (&%.40s); scenarios have no anchors and aliases, write it out",
                    (const char *)anchor);
    }
    if (tag != NULL) {
        problem_say(reading->problems, place, "a tag (%.40s); scenarios have no tags",
                    (const char *)tag);
    }
}

/* Whether the next word is a key. */
static bool yaml_wants_key(const struct yaml_reading *reading)
{
    return reading->depth > 0 && reading->stack[reading->depth - 1]->kind == DOCUMENT_MAP &&
           reading->key == NULL;
}

static void yaml_word(struct yaml_reading *reading, const yaml_event_t *event)
{
    struct place place = yaml_place(event->start_mark);
    size_t length = event->data.scalar.length;
    const char *bytes = (const char *)event->data.scalar.value;
    yaml_refuse_extras(reading, event->data.scalar.anchor, event->data.scalar.tag, place);
    char *word = arena_copy_text(reading->arena, bytes, length);
    if (word == NULL) {
        problem_say(reading->problems, place, "the file needs too much memory");
        yaml_stop(reading, ERROR_LIMIT);
        return;
    }
    if (strlen(word) != length) {
        problem_say(reading->problems, place, "a zero byte in a string");
    }
    if (yaml_wants_key(reading)) {
        reading->key = word;
        reading->key_place = place;
        return;
    }
    struct document *part = yaml_part(reading, event);
    if (part == NULL) {
        return;
    }
    yaml_scalar_style_t style = event->data.scalar.style;
    bool quoted =
        style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    part->kind = DOCUMENT_WORD;
    part->word = word;
    part->word_place = place;
    part->word_place.column += quoted ? 1 : 0;
    part->one_line = event->start_mark.line == event->end_mark.line;
    yaml_hang(reading, part);
}

/* Told once; the part that stands for it is accepted wherever it is. */
static void yaml_alias(struct yaml_reading *reading, const yaml_event_t *event)
{
    struct place place = yaml_place(event->start_mark);
    problem_say(reading->problems, place,
                "an alias (*%.40s); scenarios have no anchors and aliases, write it out",
                (const char *)event->data.alias.anchor);
    if (yaml_wants_key(reading)) {
        yaml_stop(reading, ERROR_SYNTAX);
        return;
    }
    struct document *part = yaml_part(reading, event);
    if (part != NULL) {
        part->refused = true;
        yaml_hang(reading, part);
    }
}

static void yaml_open(struct yaml_reading *reading, const yaml_event_t *event,
                      enum document_kind kind)
{
    struct place place = yaml_place(event->start_mark);
    if (yaml_wants_key(reading)) {
        problem_say(reading->problems, place, "a key must be a word");
        yaml_stop(reading, ERROR_SYNTAX);
        return;
    }
    if (reading->depth == DOCUMENT_DEPTH_MAX) {
        problem_say(reading->problems, place, "nested deeper than %d levels", DOCUMENT_DEPTH_MAX);
        yaml_stop(reading, ERROR_LIMIT);
        return;
    }
    struct document *part = yaml_part(reading, event);
    if (part == NULL) {
        return;
    }
    part->kind = (uint8_t)kind;
    yaml_hang(reading, part);
    reading->stack[reading->depth++] = part;
}

static void yaml_see(struct yaml_reading *reading, const yaml_event_t *event)
{
    struct place place = yaml_place(event->start_mark);
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        yaml_word(reading, event);
        return;
    case YAML_SEQUENCE_START_EVENT:
        yaml_refuse_extras(reading, event->data.sequence_start.anchor,
                           event->data.sequence_start.tag, place);
        yaml_open(reading, event, DOCUMENT_LIST);
        return;
    case YAML_MAPPING_START_EVENT:
        yaml_refuse_extras(reading, event->data.mapping_start.anchor, event->data.mapping_start.tag,
                           place);
        yaml_open(reading, event, DOCUMENT_MAP);
        return;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        ASSERT(reading->depth > 0);
        reading->depth--;
        return;
    case YAML_ALIAS_EVENT:
        yaml_alias(reading, event);
        return;
    case YAML_DOCUMENT_START_EVENT:
        reading->document_count++;
        if (reading->document_count > 1) {
            problem_say(reading->problems, place, "a second document; a file is one scenario");
            yaml_stop(reading, ERROR_SYNTAX);
        }
        return;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return;
    }
}

static void yaml_refuse_syntax(struct yaml_reading *reading, const yaml_parser_t *parser)
{
    struct text *text = problem_add(reading->problems, yaml_place(parser->problem_mark));
    const char *problem = parser->problem == NULL ? "cannot be read" : parser->problem;
    text_add(text, "this is not YAML: %s", problem);
    if (parser->context != NULL) {
        text_add(text, ", %s", parser->context);
        if (parser->context_mark.line != parser->problem_mark.line) {
            text_add(text, " that begins in line %zu", parser->context_mark.line + 1);
        }
    }
    if (strstr(problem, "mapping values") != NULL) {
        text_add(text, " (a text with \": \" in it needs quotes)");
    }
    yaml_stop(reading, ERROR_SYNTAX);
}

static void yaml_run(struct yaml_reading *reading, const char *bytes, size_t length)
{
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0) {
        problem_say(reading->problems, (struct place){0, 0}, "the file needs too much memory");
        yaml_stop(reading, ERROR_LIMIT);
        return;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, length);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    bool ended = false;
    while (!ended && !reading->stopped) {
        yaml_event_t event;
        if (yaml_parser_parse(&parser, &event) == 0) {
            yaml_refuse_syntax(reading, &parser);
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_see(reading, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
}

const struct document *document_parse(struct problems *problems, struct arena *arena,
                                      enum error_code *code)
{
    struct yaml_reading reading = {.problems = problems, .arena = arena, .code = code};
    if (!yaml_bytes_are_text(&reading)) {
        return NULL;
    }
    /* Tabs were told; as spaces they do not hide what else is wrong. */
    char *bytes = arena_copy_text(arena, problems->bytes, problems->length);
    if (bytes == NULL) {
        problem_say(problems, (struct place){0, 0}, "the file needs too much memory");
        *code = ERROR_LIMIT;
        return NULL;
    }
    for (size_t i = 0; i < problems->length; i++) {
        bytes[i] = bytes[i] == '\t' ? ' ' : bytes[i];
    }
    yaml_run(&reading, bytes, problems->length);
    return reading.stopped ? NULL : reading.root;
}
