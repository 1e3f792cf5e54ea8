/* adapter_look.c: what a library was seen to do in a run. */
#include "cli/adapter_look.h"

#include "base/duration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096, FIELDS_MAX = 24 };

static void range_take(struct look_range *range, int64_t ns)
{
    range->least_ns = range->count == 0 || ns < range->least_ns ? ns : range->least_ns;
    range->most_ns = range->count == 0 || ns > range->most_ns ? ns : range->most_ns;
    range->count++;
}

/* ---- wire.log -------------------------------------------------------------------------------- */

struct wire_line {
    size_t count;
    char *field[FIELDS_MAX];
};

/* Cut a line at its tabs. */
static void wire_cut(char *bytes, struct wire_line *line)
{
    bytes[strcspn(bytes, "\n")] = '\0';
    line->count = 0;
    while (bytes != NULL && line->count < FIELDS_MAX) {
        line->field[line->count++] = bytes;
        bytes = strchr(bytes, '\t');
        if (bytes != NULL) {
            *bytes++ = '\0';
        }
    }
}

static void copy_word(char word[LOOK_WORD_BYTES], const char *from, size_t bytes)
{
    struct text copy = text_over(word, LOOK_WORD_BYTES);
    text_add_bytes(&copy, from, bytes);
}

/* The value that an answer reports is VALUE from then on. */
static void wire_said(struct look *look, const struct wire_line *line)
{
    static const char mark[] = "\"value\":";
    const char *said = line->count > 3 ? line->field[3] : "";
    const char *at = strstr(said, mark);
    look->says_at = look->says_at || strstr(said, "\"at_ms\":") != NULL;
    if (at == NULL || look->value_count == LOOK_VALUES_MAX) {
        return;
    }
    at += strlen(mark) + strspn(at + strlen(mark), " ");
    if (*at == '"') {
        copy_word(look->values[look->value_count++], at + 1, strcspn(at + 1, "\""));
    }
}

/* Seconds, milliseconds or microseconds of the years 2017 to 2065: the time of day at a call. */
static bool is_time_of_day(const char *word)
{
    static const double seconds[] = {1, 1e-3, 1e-6};
    size_t digits = strspn(word, "0123456789");
    size_t rest = word[digits] == '.' ? 1 + strspn(word + digits + 1, "0123456789") : 0;
    bool number = digits > 0 && word[digits + rest] == '\0';
    bool is_time = false;
    for (size_t i = 0; number && i < sizeof seconds / sizeof seconds[0]; i++) {
        double time = strtod(word, NULL) * seconds[i];
        is_time = is_time || (time >= 1.5e9 && time < 3e9);
    }
    return is_time;
}

static const char *shown_word(const struct look *look, const char *word)
{
    bool is_value = false;
    for (size_t i = 0; i < look->value_count && !is_value; i++) {
        is_value = look->values[i][0] != '\0' && strcmp(look->values[i], word) == 0;
    }
    for (size_t i = 0; i < look->unsaid_count && i < LOOK_UNSAID_KEPT && !is_value; i++) {
        is_value = strcmp(look->unsaid[i], word) == 0;
    }
    return is_value ? "VALUE" : is_time_of_day(word) ? "TIME" : word;
}

/* The words of a command, with VALUE for the values that are known, and for `value`. */
static void wire_words(const struct look *look, const struct wire_line *line, const char *value,
                       struct text *text)
{
    for (size_t i = 5; i < line->count; i++) {
        const char *word = line->field[i];
        bool is_value = value != NULL && strcmp(word, value) == 0;
        text_add(text, "%s%s", i > 5 ? " " : "", is_value ? "VALUE" : shown_word(look, word));
    }
}

static enum look_operation wire_operation(const char *word)
{
    return strcmp(word, "acquire") == 0   ? LOOK_ACQUIRE
           : strcmp(word, "extend") == 0  ? LOOK_EXTEND
           : strcmp(word, "release") == 0 ? LOOK_RELEASE
                                          : LOOK_IDLE;
}

static struct look_shape *shape_of(struct look *look, enum look_operation operation,
                                   const char *words)
{
    struct look_shape *shapes = look->shapes[operation];
    size_t *count = &look->shape_count[operation];
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(shapes[i].words, words) == 0) {
            return &shapes[i];
        }
    }
    if (*count == LOOK_SHAPES_MAX) {
        return NULL;
    }
    (void)snprintf(shapes[*count].words, LOOK_SHAPE_BYTES, "%s", words);
    return &shapes[(*count)++];
}

static bool wire_is(const struct wire_line *line, size_t field, const char *word)
{
    return line->count > field && strcmp(line->field[field], word) == 0;
}

/*
 * A command that says what another of the operation said, but for the word that is VALUE there, has
 * the value of an acquire that was refused, which no answer reports.
 */
static void wire_learn(struct look *look, const struct wire_line *line,
                       enum look_operation operation)
{
    for (size_t i = 6; i < line->count; i++) {
        char memory[LOOK_SHAPE_BYTES];
        struct text text = text_over(memory, sizeof memory);
        const char *value = line->field[i];
        if (shown_word(look, value) != value) {
            continue;
        }
        wire_words(look, line, value, &text);
        for (size_t j = 0; j < look->shape_count[operation]; j++) {
            if (strcmp(look->shapes[operation][j].words, text.data) == 0) {
                copy_word(look->unsaid[look->unsaid_count++ % LOOK_UNSAID_KEPT], value,
                          strlen(value));
                return;
            }
        }
    }
}

/* A command of the first client, once the run has begun; `last` is what calls inside belong to. */
static void wire_command(struct look *look, const struct wire_line *line, struct look_shape **last)
{
    char memory[LOOK_SHAPE_BYTES];
    struct text text = text_over(memory, sizeof memory);
    look->subscribes = look->subscribes || strcasestr(line->field[5], "subscribe") != NULL;
    if (wire_is(line, 0, "sent")) {
        wire_learn(look, line, wire_operation(line->field[4]));
    }
    if (!wire_is(line, 2, "1") || wire_is(line, 1, "0")) {
        return;
    }
    wire_words(look, line, NULL, &text);
    if (strcmp(line->field[0], "sent") == 0) {
        *last = shape_of(look, wire_operation(line->field[4]), text.data);
        if (*last != NULL) {
            (*last)->count++;
            (*last)->nodes |= UINT64_C(1) << (strtoul(line->field[3], NULL, 10) & 63);
        }
    } else if (*last != NULL && strstr((*last)->inside, text.data) == NULL) {
        size_t taken = strlen((*last)->inside);
        (void)snprintf((*last)->inside + taken, LOOK_SHAPE_BYTES - taken, "%s%s",
                       taken > 0 ? "; " : "", text.data);
    }
}

static void wire_key(struct look *look, const struct wire_line *line)
{
    for (size_t i = 0; i < look->key_count; i++) {
        if (strcmp(look->keys[i], line->field[3]) == 0) {
            return;
        }
    }
    if (look->key_count < LOOK_KEYS_MAX) {
        look->key_is_lock[look->key_count] = strcmp(line->field[2], "lock") == 0;
        copy_word(look->keys[look->key_count++], line->field[3], LOOK_WORD_BYTES);
    }
}

/*
 * The first acquire of the second client, at the first node: what begins as its first command does
 * is another attempt.
 */
static void wire_second(struct look *look, const struct wire_line *line)
{
    char begins[LOOK_WORD_BYTES];
    bool sent = wire_is(line, 0, "sent") && wire_is(line, 3, "1") && wire_is(line, 4, "acquire");
    if (look->attempt_count > 0 && wire_is(line, 0, "said")) {
        look->answered = true;
    }
    if (look->answered || !sent || line->count < 7) {
        return;
    }
    (void)snprintf(begins, sizeof begins, "%.20s %.40s", line->field[5], line->field[6]);
    int64_t now_ns = strtoll(line->field[1], NULL, 10);
    if (look->attempt_count == 0) {
        (void)snprintf(look->attempt, sizeof look->attempt, "%s", begins);
    }
    if (strcmp(begins, look->attempt) == 0) {
        if (look->attempt_count++ > 0) {
            range_take(&look->attempts, now_ns - look->attempt_ns);
        }
        look->attempt_ns = now_ns;
    } else if (strstr(look->after, begins) == NULL) {
        size_t taken = strlen(look->after);
        (void)snprintf(look->after + taken, LOOK_SHAPE_BYTES - taken, "%s%s", taken > 0 ? ", " : "",
                       begins);
    }
}

/* Values first: an answer comes after the commands that it stands in. */
static void wire_pass(struct look *look, FILE *file, bool values, bool second)
{
    static char bytes[LINE_BYTES];
    struct look_shape *last = NULL;
    while (fgets(bytes, sizeof bytes, file) != NULL) {
        struct wire_line line;
        wire_cut(bytes, &line);
        bool command = wire_is(&line, 0, "sent") || wire_is(&line, 0, "inside");
        if (!values && second && wire_is(&line, 2, "2")) {
            wire_second(look, &line);
        }
        if (values && wire_is(&line, 0, "said")) {
            wire_said(look, &line);
        } else if (!values && command && line.count > 5) {
            wire_command(look, &line, &last);
        } else if (!values && wire_is(&line, 0, "key") && line.count > 3) {
            wire_key(look, &line);
        } else if (!values && wire_is(&line, 0, "connections") && wire_is(&line, 1, "1")) {
            range_take(&look->connections, strtol(line.field[2], NULL, 10));
        }
    }
}

void look_wire(struct look *look, const char *folder, enum look_story story)
{
    char path[LINE_BYTES];
    (void)snprintf(path, sizeof path, "%s/wire.log", folder);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    wire_pass(look, file, true, false);
    rewind(file);
    wire_pass(look, file, false, story == LOOK_TWO);
    (void)fclose(file);
}

/* ---- the history ----------------------------------------------------------------------------- */

static void seen_add(struct look *look, bool seen, enum history_declares what)
{
    look->seen |= (uint16_t)((seen ? 1u : 0u) << what);
}

static void look_operation(struct look *look, const struct history_event *event)
{
    bool ok = event->type == HISTORY_OK;
    bool acquired = ok && event->f == HISTORY_ACQUIRE;
    seen_add(look, acquired && (event->flags & HISTORY_HAS_UNTIL) != 0, DECLARES_VALIDITY);
    seen_add(look, acquired && (event->flags & HISTORY_HAS_FENCE) != 0, DECLARES_FENCE);
    seen_add(look, ok && event->f == HISTORY_EXTEND, DECLARES_EXTEND);
    look->grants += acquired ? 1 : 0;
}

/*
 * How many different values the grants of the first `clients` have: as they stand in the keys, or,
 * where no value can be read from those (members of a sorted set), as they were `reported`.
 */
static size_t values_of(const struct loaded *loaded, int32_t clients, bool reported)
{
    const struct history_value *known[LOOK_VALUES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < loaded->count; i++) {
        const struct history_event *event = &loaded->events[i];
        bool set = event->kind == HISTORY_NODE && event->f == HISTORY_KEY_SET &&
                   (event->flags & HISTORY_HAS_VALUE) != 0;
        bool granted =
            event->kind == HISTORY_OP && event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK;
        bool fresh = (reported ? granted : set) && event->process >= 0 &&
                     event->process < clients && count < LOOK_VALUES_MAX;
        for (size_t j = 0; j < count && fresh; j++) {
            fresh = !history_value_equal(known[j], &event->value);
        }
        if (fresh) {
            known[count++] = &event->value;
        }
    }
    return count;
}

static size_t grant_values_of(const struct look *look, const struct loaded *loaded, int32_t clients)
{
    size_t count = values_of(loaded, clients, false);
    return count > 0 || look->value_count == 0 ? count : values_of(loaded, clients, true);
}

/* Whether the second program reported the value of a grant of the first one's. */
static bool value_shared(const struct loaded *loaded)
{
    const struct history_value *first = NULL;
    for (size_t i = 0; i < loaded->count; i++) {
        const struct history_event *event = &loaded->events[i];
        if (event->kind != HISTORY_OP || event->f != HISTORY_ACQUIRE || event->type != HISTORY_OK) {
            continue;
        }
        if (event->process == 1 && first != NULL && history_value_equal(first, &event->value)) {
            return true;
        }
        first = event->process == 0 ? &event->value : first;
    }
    return false;
}

/* What the second client was told. */
static void look_second(struct look *look, const struct loaded *loaded)
{
    int64_t asked_ns = 0;
    for (size_t i = 0; i < loaded->count; i++) {
        const struct history_event *event = &loaded->events[i];
        bool acquire = event->kind == HISTORY_OP && event->f == HISTORY_ACQUIRE;
        if (!acquire || event->process != 1) {
            continue;
        }
        if (event->type == HISTORY_INVOKE) {
            asked_ns = event->time_ns;
        } else {
            look->waited = event->type == HISTORY_OK;
            look->refused = event->type == HISTORY_FAIL;
            look->answer_ns = event->time_ns - asked_ns;
            /* As answer_consistency tells a lock that waits. */
            look->lingered = !look->waited && look->answer_ns >= loaded->header.ttl_ns / 20;
            return;
        }
    }
}

/* Extensions that nobody asked for, and how long the key was there. */
static void look_long(struct look *look, const struct loaded *loaded)
{
    int64_t set_ns = TIME_NEVER;
    int64_t before_ns = TIME_NEVER;
    for (size_t i = 0; i < loaded->count; i++) {
        const struct history_event *event = &loaded->events[i];
        bool first = event->kind == HISTORY_NODE && event->node == 0;
        if (event->kind == HISTORY_SECTION && event->f == HISTORY_LEAVE && event->process == 0) {
            look->until_end_ns = event->time_ns - set_ns;
        }
        if (!first || look->until_end_ns != 0) {
            continue;
        }
        if (event->f == HISTORY_KEY_SET && event->process == 0 && set_ns == TIME_NEVER) {
            set_ns = event->time_ns;
            before_ns = set_ns;
        } else if (event->f == HISTORY_KEY_EXTENDED && event->process == 0) {
            range_take(&look->renewals, event->time_ns - before_ns);
            before_ns = event->time_ns;
        } else if (event->f == HISTORY_KEY_EXPIRED && look->held_ns == 0) {
            look->held_ns = event->time_ns - set_ns;
        }
    }
}

/* Did the acquire that was open when a release was asked end before that was answered? */
static bool ended_between(const struct loaded *loaded, size_t from, size_t to, int32_t process)
{
    for (size_t i = from; i < to; i++) {
        const struct history_event *event = &loaded->events[i];
        if (event->kind == HISTORY_OP && event->process == process &&
            event->type != HISTORY_INVOKE) {
            return true;
        }
    }
    return false;
}

/* One thread releases while the other waits for the lock: neither is to wait for the other's
 * answer. A release that took no time says nothing where the acquire ended meanwhile. */
static void look_threads(struct look *look, const struct loaded *loaded)
{
    enum { TELLING_MS = 50 };
    bool acquires[2] = {false, false};
    size_t asked[2] = {0, 0};
    bool beside[2] = {false, false};
    for (size_t i = 0; i < loaded->count; i++) {
        const struct history_event *event = &loaded->events[i];
        if (event->kind != HISTORY_OP || event->process < 0 || event->process > 1) {
            continue;
        }
        int32_t self = event->process;
        bool asks = event->type == HISTORY_INVOKE;
        acquires[self] = asks && event->f == HISTORY_ACQUIRE;
        if (event->f == HISTORY_RELEASE && asks) {
            asked[self] = i;
            beside[self] = acquires[1 - self];
        } else if (event->f == HISTORY_RELEASE && beside[self]) {
            bool over = ended_between(loaded, asked[self], i, 1 - self);
            int64_t took_ns = event->time_ns - loaded->events[asked[self]].time_ns;
            look->beside += over ? 0 : 1;
            look->behind += over && took_ns > TELLING_MS * NS_PER_MS ? 1 : 0;
        }
    }
}

void look_history(struct look *look, const struct loaded *loaded, enum look_story story)
{
    look->header = loaded->header;
    for (size_t i = 0; i < loaded->count; i++) {
        const struct history_event *event = &loaded->events[i];
        bool timed = event->kind == HISTORY_NODE && (event->flags & HISTORY_HAS_TTL) != 0;
        if (event->kind == HISTORY_OP) {
            look_operation(look, event);
        }
        seen_add(look, event->kind == HISTORY_NOTICE, DECLARES_NOTICE);
        look->mismatch = look->mismatch || event->f == HISTORY_VALUE_MISMATCH;
        if (timed && event->f == HISTORY_KEY_SET && story == LOOK_ALONE) {
            range_take(&look->ttl_set, event->ttl_ns);
        } else if (timed && event->f == HISTORY_KEY_EXTENDED &&
                   (story == LOOK_ALONE || story == LOOK_LONG)) {
            range_take(&look->ttl_extended, event->ttl_ns);
        }
    }
    if (story == LOOK_ALONE) {
        look->grant_values = grant_values_of(look, loaded, 1);
    } else if (story == LOOK_TWO) {
        look_second(look, loaded);
        look->value_shared = value_shared(loaded);
        seen_add(look, look->waited, DECLARES_WAIT);
    } else if (story == LOOK_THREADS) {
        look->thread_values = grant_values_of(look, loaded, 2);
        look_threads(look, loaded);
        seen_add(look, look->beside > 0, DECLARES_THREADS);
    } else {
        look_long(look, loaded);
        seen_add(look, look->renewals.count > 0, DECLARES_RENEW);
    }
}
