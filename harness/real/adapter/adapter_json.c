/* adapter_json.c: lines of the adapter protocol, read and written. */
#include "harness/real/adapter/adapter_inner.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/foreign.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { URL_BYTES = 48 };

static const char *json_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void copy_name(char name[HISTORY_NAME_BYTES], const char *text)
{
    struct text copy = text_over(name, HISTORY_NAME_BYTES);
    text_add(&copy, "%s", text != NULL ? text : "");
}

/* A number of milliseconds, whole or not. */
static bool answer_validity(const json_t *number, struct adapter_answer *answer)
{
    double ms = json_number_value(number);
    double ms_max = (double)(DURATION_NS_MAX / NS_PER_MS);
    if (!json_is_number(number) || ms > ms_max || ms < -ms_max) {
        return false;
    }
    answer->has_validity = true;
    answer->validity_ns = (int64_t)(ms * (double)NS_PER_MS);
    return true;
}

static bool answer_value(const json_t *value, struct adapter_answer *answer)
{
    const char *text = json_string_value(value);
    if (text == NULL) {
        return false;
    }
    answer->has_value = true;
    keys_value(text, json_string_length(value), &answer->value);
    return true;
}

/* The members that only some lines have; a null is as good as none. */
static bool answer_members(const json_t *object, struct adapter_answer *answer, struct text *why)
{
    const json_t *id = json_object_get(object, "id");
    const json_t *value = json_object_get(object, "value");
    const json_t *validity = json_object_get(object, "validity_ms");
    const json_t *fence = json_object_get(object, "fence");
    if (id != NULL && !json_is_integer(id)) {
        text_add(why, "\"id\" must be the whole number of the request");
        return false;
    }
    answer->has_id = id != NULL;
    answer->id = json_integer_value(id);
    if (value != NULL && !json_is_null(value) && !answer_value(value, answer)) {
        text_add(why, "\"value\" must be a string");
        return false;
    }
    if (validity != NULL && !json_is_null(validity) && !answer_validity(validity, answer)) {
        text_add(why, "\"validity_ms\" must be a number of milliseconds");
        return false;
    }
    if (fence != NULL && !json_is_null(fence) &&
        (!json_is_integer(fence) || json_integer_value(fence) <= 0)) {
        text_add(why, "\"fence\" must be a whole number above 0");
        return false;
    }
    answer->fence = json_integer_value(fence);
    copy_name(answer->library, json_text(object, "library"));
    copy_name(answer->resource, json_text(object, "resource"));
    return true;
}

static bool answer_read(const json_t *object, struct adapter_answer *answer, struct text *why)
{
    static const char *const types[] = {"ok", "fail", "info", "lost"};
    const char *type = json_text(object, "type");
    if (!json_is_object(object) || type == NULL) {
        text_add(why, "expected an object with a \"type\"");
        return false;
    }
    uint8_t found = 0;
    while (found < 4 && strcmp(types[found], type) != 0) {
        found++;
    }
    if (found == 4) {
        text_add(why, "\"type\" must be ok, fail, info or lost");
        return false;
    }
    answer->type = found;
    if (!answer_members(object, answer, why)) {
        return false;
    }
    if (found != ANSWER_LOST && !answer->has_id) {
        text_add(why, "an answer needs the \"id\" of its request");
        return false;
    }
    return true;
}

bool adapter_answer_read(const char *line, size_t bytes, struct adapter_answer *answer,
                         struct text *why)
{
    json_error_t error;
    memset(answer, 0, sizeof *answer);
    json_t *object = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL) {
        text_add(why, "expected a JSON object: ");
        text_add_foreign(why, error.text, strlen(error.text));
        return false;
    }
    bool fine = answer_read(object, answer, why);
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

char *adapter_init_line(const struct adapter_client *client)
{
    const struct adapter_options *options = &client->adapter->options;
    const struct lock_config *lock = &options->plan->scenario.lock;
    json_t *nodes = json_array();
    for (int32_t node = 0; node < options->plan->scenario.node_count; node++) {
        char url[URL_BYTES];
        (void)snprintf(url, sizeof url, "redis://127.0.0.1:%u",
                       proxy_port(options->proxy, client->index, node));
        (void)json_array_append_new(nodes, json_string(url));
    }
    json_t *object =
        json_pack("{s:s, s:i, s:i, s:o, s:{s:I, s:I, s:I, s:I, s:I, s:f}}", "op", "init", "id", 0,
                  "client", client->index + 1, "nodes", nodes, "options", "ttl_ms",
                  whole_ms(lock->ttl_ns), "retry_count", (json_int_t)lock->retry_count,
                  "retry_delay_ms", whole_ms(lock->retry_delay_ns), "retry_jitter_ms",
                  whole_ms(lock->retry_jitter_ns), "node_timeout_ms",
                  whole_ms(lock->node_timeout_ns), "drift_factor", (double)lock->drift_ppm / 1e6);
    return line_of(object);
}

char *adapter_request_line(enum history_f f, int64_t id, const char *resource, int64_t ttl_ms)
{
    ASSERT(f == HISTORY_ACQUIRE || f == HISTORY_EXTEND || f == HISTORY_RELEASE);
    if (f == HISTORY_RELEASE) {
        return line_of(json_pack("{s:s, s:I, s:s}", "op", "release", "id", (json_int_t)id,
                                 "resource", resource));
    }
    return line_of(json_pack("{s:s, s:I, s:s, s:I}", "op",
                             f == HISTORY_ACQUIRE ? "acquire" : "extend", "id", (json_int_t)id,
                             "resource", resource, "ttl_ms", (json_int_t)ttl_ms));
}

char *adapter_shutdown_line(int64_t id)
{
    return line_of(json_pack("{s:s, s:I}", "op", "shutdown", "id", (json_int_t)id));
}

void adapter_line_free(char *line)
{
    memory_release(line);
}
