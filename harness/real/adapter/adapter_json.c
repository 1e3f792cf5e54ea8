/* adapter_json.c: lines of the adapter protocol, read and written. */
#include "harness/real/adapter/adapter_inner.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/foreign.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { URL_BYTES = 48, TYPO_DISTANCE = 2, TYPO_BYTES = 5 };

/* One line that is read: where what it says goes. */
struct reading {
    struct adapter_answer *answer;
    struct adapter_declaration *declaration;
};

/* ---- the members of an answer ---------------------------------------------------------------- */

static bool read_name(const json_t *member, char name[HISTORY_NAME_BYTES])
{
    struct text copy = text_over(name, HISTORY_NAME_BYTES);
    if (json_is_string(member)) {
        text_add(&copy, "%s", json_string_value(member));
    }
    return json_is_string(member);
}

/* A number of milliseconds, whole or not. */
static bool read_ms(const json_t *member, int64_t *ns)
{
    static const double ms_max = 9e12; /* in nanoseconds it fits into 64 bits */
    double ms = json_number_value(member);
    if (!json_is_number(member) || !(ms < ms_max) || !(ms > -ms_max)) {
        return false;
    }
    *ns = (int64_t)(ms * (double)NS_PER_MS);
    return true;
}

static bool read_type(const json_t *member, struct reading *to)
{
    static const char *const types[] = {"ok", "fail", "info", "lost"};
    const char *type = json_string_value(member);
    for (uint8_t i = 0; type != NULL && i < 4; i++) {
        if (strcmp(types[i], type) == 0) {
            to->answer->type = i;
            to->answer->has_type = true;
            return true;
        }
    }
    return false;
}

static bool read_id(const json_t *member, struct reading *to)
{
    to->answer->has_id = true;
    to->answer->id = json_integer_value(member);
    return json_is_integer(member);
}

static bool read_thread(const json_t *member, struct reading *to)
{
    to->answer->thread = json_integer_value(member);
    return json_is_integer(member) && to->answer->thread > 0;
}

static bool read_value(const json_t *member, struct reading *to)
{
    const char *text = json_string_value(member);
    if (text == NULL) {
        return false;
    }
    to->answer->has_value = true;
    keys_value(text, json_string_length(member), &to->answer->value);
    return true;
}

static bool read_validity(const json_t *member, struct reading *to)
{
    to->answer->has_validity = true;
    return read_ms(member, &to->answer->validity_ns) &&
           to->answer->validity_ns <= DURATION_NS_MAX &&
           to->answer->validity_ns >= -DURATION_NS_MAX;
}

static bool read_at(const json_t *member, struct reading *to)
{
    to->answer->has_at = true;
    return read_ms(member, &to->answer->at_ns);
}

static bool read_mono(const json_t *member, struct reading *to)
{
    to->answer->has_mono = true;
    return read_ms(member, &to->answer->mono_ns);
}

static bool read_wall(const json_t *member, struct reading *to)
{
    to->answer->has_wall = true;
    return read_ms(member, &to->answer->wall_ns);
}

static bool read_fence(const json_t *member, struct reading *to)
{
    to->answer->fence = json_integer_value(member);
    return json_is_integer(member) && to->answer->fence > 0;
}

static bool read_resource(const json_t *member, struct reading *to)
{
    return read_name(member, to->answer->resource);
}

/* ---- the members of init's answer ------------------------------------------------------------ */

static bool read_library(const json_t *member, struct reading *to)
{
    return read_name(member, to->declaration->library);
}

static bool feature_find(const char *word, uint16_t *bit)
{
    for (size_t i = 0; i < history_declarations.count; i++) {
        if (strcmp(history_declarations.words[i], word) == 0) {
            *bit = (uint16_t)(1u << i);
            return true;
        }
    }
    *bit = 1u << DECLARES_NOTICE;
    return strcmp(word, "loss_notice") == 0; /* as older adapters call it */
}

static bool read_features(const json_t *member, struct reading *to)
{
    struct adapter_declaration *declaration = to->declaration;
    declaration->said = true;
    for (size_t i = 0; i < json_array_size(member); i++) {
        const char *word = json_string_value(json_array_get(member, i));
        uint16_t bit = 0;
        if (word != NULL && strcmp(word, "clock") == 0 && !declaration->clock) {
            declaration->clock = true;
        } else if (word != NULL && feature_find(word, &bit) && (declaration->declares & bit) == 0) {
            declaration->declares |= bit;
        } else {
            return false;
        }
    }
    return json_is_array(member);
}

static bool read_owner(const json_t *member, struct reading *to)
{
    const char *word = json_string_value(member);
    for (uint8_t i = OWNERSHIP_PROCESS; word != NULL && i < HISTORY_OWNERSHIPS; i++) {
        if (strcmp(history_ownerships.words[i], word) == 0) {
            to->declaration->ownership = i;
            return true;
        }
    }
    return false;
}

static bool read_drift(const json_t *member, struct reading *to)
{
    double factor = json_number_value(member);
    if (!json_is_number(member) || !(factor >= 0) || !(factor < 1)) {
        return false;
    }
    to->declaration->has_drift = true;
    to->declaration->drift_ppm = (int64_t)(factor * 1e6 + 0.5);
    return true;
}

static bool read_renew(const json_t *member, struct reading *to)
{
    return read_ms(member, &to->declaration->renew_every_ns) && to->declaration->renew_every_ns > 0;
}

static bool read_nodes(const json_t *member, struct reading *to)
{
    const char *word = json_string_value(member);
    to->declaration->one_node = json_is_integer(member) && json_integer_value(member) == 1;
    return to->declaration->one_node || (word != NULL && strcmp(word, "N") == 0);
}

static bool read_keys(const json_t *member, struct reading *to)
{
    struct adapter_declaration *declaration = to->declaration;
    size_t count = json_array_size(member);
    if (!json_is_array(member) || count > KEYS_PATTERNS_MAX) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const char *pattern = json_string_value(json_array_get(member, i));
        if (pattern == NULL || strlen(pattern) >= KEYS_NAME_BYTES_MAX ||
            strstr(pattern, "{resource}") == NULL) {
            return false;
        }
        (void)snprintf(declaration->patterns[i], KEYS_NAME_BYTES_MAX, "%s", pattern);
    }
    declaration->pattern_count = (uint32_t)count;
    return true;
}

/* ---- a line ---------------------------------------------------------------------------------- */

static bool read_nothing(const json_t *member, struct reading *to)
{
    (void)member;
    (void)to;
    return true;
}

/* What a line may say; `expected` is the end of a sentence. */
static const struct member {
    const char *name;
    bool (*read)(const json_t *member, struct reading *to);
    const char *expected;
} members[] = {
    {"type", read_type, "ok, fail, info or lost"},
    {"id", read_id, "the whole number of the request"},
    {"thread", read_thread, "the number of the thread that asked"},
    {"value", read_value, "a string"},
    {"validity_ms", read_validity, "a number of milliseconds"},
    {"at_ms", read_at, "a number of milliseconds"},
    {"fence", read_fence, "a whole number above 0"},
    {"resource", read_resource, "a string"},
    {"error", read_nothing, ""},
    {"mono_ms", read_mono, "a number of milliseconds"},
    {"wall_ms", read_wall, "a number of milliseconds"},
    {"library", read_library, "a string"},
    {"features", read_features,
     "a list of different words of: validity extend fence notice renew wait deadline cancel "
     "reentrant several threads clock"},
    {"owner", read_owner, "process, thread or object"},
    {"drift_factor", read_drift, "a number from 0 to below 1"},
    {"renew_every_ms", read_renew, "a number of milliseconds above 0"},
    {"nodes", read_nodes, "1 or \"N\""},
    {"keys", read_keys, "a list of at most 8 names that have {resource} in them"},
};

enum { MEMBERS = sizeof members / sizeof members[0] };

/* A word that is almost one of ours is a slip of the pen; any other is somebody's own. */
static bool member_is_slip(const char *key, struct text *why)
{
    for (size_t i = 0; i < MEMBERS && strlen(key) >= TYPO_BYTES; i++) {
        if (text_distance(key, members[i].name) <= TYPO_DISTANCE) {
            text_add(why, "\"");
            text_add_foreign(why, key, strlen(key));
            text_add(why, "\" is no member of an answer: did you mean \"%s\"?", members[i].name);
            return true;
        }
    }
    return false;
}

/* A null is as good as none. */
static bool answer_member(const char *key, const json_t *value, struct reading *to,
                          struct text *why)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        if (strcmp(members[i].name, key) != 0) {
            continue;
        }
        bool fine = json_is_null(value) || members[i].read(value, to);
        if (!fine) {
            text_add(why, "\"%s\" must be %s", key, members[i].expected);
        }
        return fine;
    }
    return !member_is_slip(key, why);
}

/* What a library says of itself must hold together. */
static bool declaration_holds(const struct adapter_declaration *declaration, struct text *why)
{
    bool renews = (declaration->declares >> DECLARES_RENEW & 1) != 0;
    bool again = (declaration->declares >> DECLARES_REENTRANT & 1) != 0;
    if (declaration->renew_every_ns > 0 && !renews) {
        text_add(why, "\"renew_every_ms\" is given, but not the feature renew");
        return false;
    }
    if (again && declaration->ownership == OWNERSHIP_OBJECT) {
        text_add(why, "the feature reentrant and the owner object contradict each other: each "
                      "acquire would be by an owner of its own");
        return false;
    }
    return true;
}

static bool answer_read(json_t *object, struct reading *to, struct text *why)
{
    struct adapter_answer *answer = to->answer;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (!answer_member(key, value, to, why)) {
            return false;
        }
    }
    if (!answer->has_type) {
        text_add(why, "expected an object with a \"type\"");
        return false;
    }
    if (answer->type != ANSWER_LOST && !answer->has_id) {
        text_add(why, "an answer needs the \"id\" of its request");
        return false;
    }
    return declaration_holds(to->declaration, why);
}

bool adapter_answer_read(const char *line, size_t bytes, struct adapter_answer *answer,
                         struct adapter_declaration *declaration, struct text *why)
{
    json_error_t error;
    struct reading to = {answer, declaration};
    memset(answer, 0, sizeof *answer);
    memset(declaration, 0, sizeof *declaration);
    json_t *object = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL) {
        text_add(why, "expected a JSON object: ");
        text_add_foreign(why, error.text, strlen(error.text));
        return false;
    }
    bool fine = answer_read(object, &to, why);
    json_decref(object);
    return fine;
}

/* Print with a newline and give the object back. */
static char *line_of(json_t *object)
{
    char *text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    size_t bytes = text != NULL ? strlen(text) : 0;
    char *line = text != NULL ? memory_resize(text, bytes + 2) : NULL;
    if (line != NULL) {
        line[bytes] = '\n';
        line[bytes + 1] = '\0';
    }
    return line;
}

static json_int_t whole_ms(int64_t duration_ns)
{
    return (duration_ns + NS_PER_MS - 1) / NS_PER_MS;
}

char *adapter_init_line(const struct adapter_process *process)
{
    const struct adapter_options *options = &process->adapter->options;
    const struct lock_config *lock = &options->plan->scenario.lock;
    json_t *nodes = json_array();
    for (int32_t node = 0; node < options->plan->scenario.node_count; node++) {
        char url[URL_BYTES];
        (void)snprintf(url, sizeof url, "redis://127.0.0.1:%u",
                       proxy_port(options->proxy, process->first, node));
        (void)json_array_append_new(nodes, json_string(url));
    }
    json_t *object =
        json_pack("{s:s, s:i, s:i, s:o, s:{s:I, s:I, s:I, s:I, s:I, s:f}}", "op", "init", "id", 0,
                  "client", process->first + 1, "nodes", nodes, "options", "ttl_ms",
                  whole_ms(lock->ttl_ns), "retry_count", (json_int_t)lock->retry_count,
                  "retry_delay_ms", whole_ms(lock->retry_delay_ns), "retry_jitter_ms",
                  whole_ms(lock->retry_jitter_ns), "node_timeout_ms",
                  whole_ms(lock->node_timeout_ns), "drift_factor", (double)lock->drift_ppm / 1e6);
    return line_of(object);
}

static void set_number(json_t *object, const char *key, json_int_t number)
{
    (void)json_object_set_new(object, key, json_integer(number));
}

char *adapter_request_line(const struct adapter_request *request, const char *resource)
{
    static const char *const ops[ADAPTER_OPS] = {"acquire", "extend", "release",
                                                 "cancel",  "clock",  "shutdown"};
    enum adapter_op op = (enum adapter_op)request->op;
    json_t *object = json_pack("{s:s, s:I}", "op", ops[request->op], "id", (json_int_t)request->id);
    if (op == ADAPTER_ACQUIRE || op == ADAPTER_EXTEND || op == ADAPTER_RELEASE) {
        (void)json_object_set_new(object, "resource", json_string(resource));
    }
    if (op == ADAPTER_ACQUIRE || op == ADAPTER_EXTEND) {
        set_number(object, "ttl_ms", whole_ms(request->ttl_ns));
    }
    if (op == ADAPTER_ACQUIRE && request->deadline_ns > 0) {
        set_number(object, "deadline_ms", whole_ms(request->deadline_ns));
    }
    if (op == ADAPTER_CANCEL) {
        set_number(object, "of", request->of);
    }
    if (request->thread > 0) {
        set_number(object, "thread", request->thread);
    }
    return line_of(object);
}

void adapter_line_free(char *line)
{
    memory_release(line);
}
