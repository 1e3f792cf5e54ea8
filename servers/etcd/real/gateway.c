/* gateway.c: a lock's questions and etcd's answers in JSON. */
#include "servers/etcd/real/gateway.h"

#include "base/assert.h"
#include "base/duration.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char paths[ETCD_COMMANDS][24] = {
    [ETCD_GRANT] = "/v3/lease/grant",
    [ETCD_ENQUEUE] = "/v3/kv/txn",
    [ETCD_KEEP_ALIVE] = "/v3/lease/keepalive",
    [ETCD_REVOKE] = "/v3/lease/revoke",
    [ETCD_PUT] = "/v3/kv/txn",
    [ETCD_OLDER] = "/v3/kv/range",
};

/* What gRPC calls its failures. */
enum { GATEWAY_NOT_FOUND = 5, GATEWAY_PRECONDITION = 9, GATEWAY_INVALID = 3 };

int64_t gateway_lease(const struct lock_value *value)
{
    uint64_t number;
    memcpy(&number, value->bytes, sizeof number);
    number &= INT64_MAX;
    return number != 0 ? (int64_t)number : 1;
}

/* ---- base64 ---------------------------------------------------------------------------------- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Terminated. */
static void base64_print(const char *data, size_t bytes, char *base64)
{
    for (size_t at = 0; at < bytes; at += 3) {
        size_t count = bytes - at < 3 ? bytes - at : 3;
        uint32_t group = 0;
        for (size_t i = 0; i < 3; i++) {
            group = group << 8 | (i < count ? (unsigned char)data[at + i] : 0);
        }
        for (size_t i = 0; i < 4; i++) {
            *base64++ = i <= count ? digits[group >> (18 - 6 * i) & 63] : '=';
        }
    }
    *base64 = '\0';
}

/* How many bytes; 0: it is no base64, or too long. */
static size_t base64_read(struct wire_text base64, char *data, size_t bytes_max)
{
    size_t count = 0;
    if (base64.bytes == 0 || base64.bytes % 4 != 0 || base64.bytes / 4 * 3 > bytes_max + 2) {
        return 0;
    }
    for (uint32_t at = 0; at < base64.bytes; at += 4) {
        uint32_t group = 0;
        size_t pads = 0;
        for (uint32_t i = 0; i < 4; i++) {
            char c = base64.data[at + i];
            const char *digit = c != '\0' ? strchr(digits, c) : NULL;
            bool pad = c == '=' && i >= 2 && at + 4 == base64.bytes;
            if ((digit == NULL && !pad) || (digit != NULL && pads > 0)) {
                return 0;
            }
            pads += pad ? 1 : 0;
            group = group << 6 | (pad ? 0 : (uint32_t)(digit - digits));
        }
        for (size_t i = 0; i < 3 - pads && count < bytes_max; i++) {
            data[count++] = (char)(group >> (16 - 8 * i) & 255);
        }
    }
    return count;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* What names may have: the keys under a lock's name are those from NAME/ to before NAME0. */
struct range {
    char from[GATEWAY_KEY_BASE64_MAX + 1];
    char to[GATEWAY_KEY_BASE64_MAX + 1];
};

static void range_of(struct wire_text resource, struct range *range)
{
    char key[GATEWAY_NAME_BYTES_MAX + 1];
    ASSERT(resource.bytes <= GATEWAY_NAME_BYTES_MAX);
    memcpy(key, resource.data, resource.bytes);
    key[resource.bytes] = '/';
    base64_print(key, resource.bytes + 1, range->from);
    key[resource.bytes] = '/' + 1;
    base64_print(key, resource.bytes + 1, range->to);
}

static void key_print(struct wire_text resource, const struct lock_value *value,
                      char base64[GATEWAY_KEY_BASE64_MAX + 1])
{
    char key[GATEWAY_KEY_BYTES_MAX];
    ASSERT(resource.bytes <= GATEWAY_NAME_BYTES_MAX);
    memcpy(key, resource.data, resource.bytes);
    key[resource.bytes] = '/';
    lock_value_print(value, key + resource.bytes + 1);
    base64_print(key, resource.bytes + 1 + LOCK_VALUE_HEX_BYTES, base64);
}

/* How long the name in a key is; 0: it is none of ours. */
static size_t key_read(struct wire_text base64, char key[GATEWAY_KEY_BYTES_MAX],
                       struct lock_value *value)
{
    size_t bytes = base64_read(base64, key, GATEWAY_KEY_BYTES_MAX);
    size_t name_bytes = bytes > LOCK_VALUE_HEX_BYTES + 1 ? bytes - LOCK_VALUE_HEX_BYTES - 1 : 0;
    bool ours = name_bytes > 0 && key[name_bytes] == '/' &&
                lock_value_parse(key + name_bytes + 1, LOCK_VALUE_HEX_BYTES, value);
    return ours ? name_bytes : 0;
}

/* ---- questions ------------------------------------------------------------------------------- */

#define OLDEST                                                                                     \
    "\"key\":\"%s\",\"range_end\":\"%s\",\"sort_order\":\"ASCEND\",\"sort_target\":\"CREATE\","    \
    "\"limit\":\"1\""

void gateway_print_oldest(struct wire_text resource, struct text *body)
{
    struct range range;
    range_of(resource, &range);
    text_add(body, "{" OLDEST "}", range.from, range.to);
}

/* The key is put if it is not there; else it is read. Whoever asks for its turn reads the oldest.
 */
static void transaction_print(const struct lock_command *command, const struct range *range,
                              const char *key, struct text *body)
{
    char oldest[2 * GATEWAY_KEY_BASE64_MAX + 256] = "";
    if (command->kind == ETCD_ENQUEUE) {
        (void)snprintf(oldest, sizeof oldest, ",{\"request_range\":{" OLDEST "}}", range->from,
                       range->to);
    }
    text_add(body,
             "{\"compare\":[{\"key\":\"%s\",\"target\":\"CREATE\",\"create_revision\":\"0\"}],"
             "\"success\":[{\"request_put\":{\"key\":\"%s\",\"lease\":\"%" PRId64 "\"}}%s],"
             "\"failure\":[{\"request_range\":{\"key\":\"%s\"}}%s]}",
             key, key, gateway_lease(&command->value), oldest, key, oldest);
}

void gateway_print(const struct lock_command *command, struct wire_text resource,
                   struct gateway_request *request)
{
    struct text body = text_over(request->body, sizeof request->body);
    struct range range;
    int64_t lease = gateway_lease(&command->value);
    range_of(resource, &range);
    key_print(resource, &command->value, request->id);
    ASSERT(command->kind != ETCD_NONE && command->kind < ETCD_COMMANDS);
    request->path = paths[command->kind];
    switch ((enum etcd_command)command->kind) {
    case ETCD_GRANT:
        text_add(&body, "{\"TTL\":\"%" PRId64 "\",\"ID\":\"%" PRId64 "\"}",
                 (command->ttl_ms + 999) / 1000, lease);
        break;
    case ETCD_ENQUEUE:
    case ETCD_PUT:
        transaction_print(command, &range, request->id, &body);
        break;
    case ETCD_OLDER:
        text_add(&body, "{" OLDEST ",\"max_create_revision\":\"%" PRId64 "\"}", range.from,
                 range.to, command->number);
        break;
    case ETCD_KEEP_ALIVE:
    case ETCD_REVOKE:
        text_add(&body, "{\"ID\":\"%" PRId64 "\"}", lease);
        break;
    case ETCD_NONE:
    case ETCD_COMMANDS:
        UNREACHABLE();
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Large numbers are said as strings; those that are 0 are left out. */
static int64_t number_of(const json_t *object, const char *name)
{
    const json_t *member = json_object_get(object, name);
    return json_is_string(member) ? (int64_t)strtoull(json_string_value(member), NULL, 10)
                                  : json_integer_value(member);
}

static json_t *json_of(struct wire_text body)
{
    return json_loadb(body.data, body.bytes, JSON_DISABLE_EOF_CHECK, NULL);
}

bool gateway_read(struct wire_text path, struct wire_text id, struct wire_text body,
                  char name[GATEWAY_NAME_BYTES_MAX], struct wire_request *request)
{
    char key[GATEWAY_KEY_BYTES_MAX];
    uint32_t kind = ETCD_NONE + 1;
    while (kind < ETCD_COMMANDS &&
           (strlen(paths[kind]) != path.bytes || memcmp(paths[kind], path.data, path.bytes) != 0)) {
        kind++;
    }
    size_t name_bytes = kind < ETCD_COMMANDS ? key_read(id, key, &request->command.value) : 0;
    json_t *asked = name_bytes > 0 ? json_of(body) : NULL;
    if (asked == NULL) {
        return false;
    }
    /* Who only puts asks for nothing behind it. */
    bool puts = kind == ETCD_ENQUEUE && json_array_size(json_object_get(asked, "success")) == 1;
    memcpy(name, key, name_bytes);
    request->resource = (struct wire_text){name, (uint32_t)name_bytes};
    request->command.kind = puts ? ETCD_PUT : kind;
    int64_t ttl_s = kind == ETCD_GRANT ? number_of(asked, "TTL") : 0;
    bool sound = ttl_s >= 0 && ttl_s <= DURATION_NS_MAX / NS_PER_S;
    request->command.ttl_ms = sound ? ttl_s * 1000 : 0;
    request->command.number = kind == ETCD_OLDER ? number_of(asked, "max_create_revision") : 0;
    json_decref(asked);
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The first key that an answer to a range tells. */
static void range_first(const json_t *range, struct gateway_key *key)
{
    char text[GATEWAY_KEY_BYTES_MAX];
    const json_t *first = json_array_get(json_object_get(range, "kvs"), 0);
    const char *name = json_string_value(json_object_get(first, "key"));
    *key = (struct gateway_key){.present = false};
    if (name != NULL) {
        struct wire_text base64 = {name, (uint32_t)strlen(name)};
        key->present = true;
        key->revision = number_of(first, "create_revision");
        key->lease = number_of(first, "lease");
        (void)key_read(base64, text, &key->value);
    }
}

static struct lock_reply number_reply(int64_t number)
{
    return (struct lock_reply){.type = number > 0 ? LOCK_REPLY_NUMBER : LOCK_REPLY_GARBLED,
                               .number = number > 0 ? number : 0};
}

/* The answer to a transaction ends with what the last of its questions gave. */
static struct lock_reply transaction_reply(const struct lock_command *asked, const json_t *said)
{
    const json_t *responses = json_object_get(said, "responses");
    size_t count = json_array_size(responses);
    const json_t *last = count > 0 ? json_array_get(responses, count - 1) : NULL;
    struct gateway_key key;
    if (asked->kind == ETCD_PUT && json_is_true(json_object_get(said, "succeeded"))) {
        return number_reply(number_of(json_object_get(said, "header"), "revision"));
    }
    range_first(json_object_get(last, "response_range"), &key);
    if (!key.present) {
        return (struct lock_reply){.type = LOCK_REPLY_GARBLED};
    }
    bool ours = memcmp(&key.value, &asked->value, sizeof key.value) == 0;
    return ours ? number_reply(key.revision) : (struct lock_reply){.type = LOCK_REPLY_NO};
}

/* Only keys no newer than ours were asked for: is one of them another's? Ours may be gone. */
static struct lock_reply older_reply(const struct lock_command *asked, const json_t *said,
                                     enum wire_tells *tells)
{
    struct gateway_key key;
    range_first(said, &key);
    *tells = key.present ? WIRE_TELLS_SET : WIRE_TELLS_NOTHING;
    if (key.present && memcmp(&key.value, &asked->value, sizeof key.value) != 0) {
        *tells = WIRE_TELLS_REFUSED;
        return (struct lock_reply){.type = LOCK_REPLY_NO};
    }
    return number_reply(key.present ? key.revision
                                    : number_of(json_object_get(said, "header"), "revision"));
}

/* Whatever a failure is called, this was not done: the lease is not there, or was before. */
static struct lock_reply failure_reply(const struct lock_command *asked, const json_t *said)
{
    const json_t *inner = json_object_get(said, "error"); /* of a stream */
    int64_t code = json_is_object(inner) ? number_of(inner, "grpc_code") : number_of(said, "code");
    bool no = asked->kind == ETCD_GRANT ? code == GATEWAY_PRECONDITION : code == GATEWAY_NOT_FOUND;
    return (struct lock_reply){.type = no                        ? LOCK_REPLY_NO
                                       : code == GATEWAY_INVALID ? LOCK_REPLY_ERROR
                                                                 : LOCK_REPLY_UNSURE};
}

static struct lock_reply done_reply(const struct lock_command *asked, const json_t *said,
                                    enum wire_tells *tells)
{
    const json_t *kept = json_object_get(said, "result");
    switch ((enum etcd_command)asked->kind) {
    case ETCD_GRANT:
    case ETCD_REVOKE:
        return (struct lock_reply){.type = LOCK_REPLY_YES};
    case ETCD_ENQUEUE:
    case ETCD_PUT:
        return transaction_reply(asked, said);
    case ETCD_OLDER:
        return older_reply(asked, said, tells);
    case ETCD_KEEP_ALIVE: /* of a lease that is not there the ttl is 0, and left out */
        if (json_is_object(kept) && number_of(kept, "TTL") <= 0) {
            return (struct lock_reply){.type = LOCK_REPLY_NO};
        }
        return kept != NULL ? number_reply(number_of(kept, "TTL") * 1000)
                            : failure_reply(asked, said);
    case ETCD_NONE:
    case ETCD_COMMANDS:
        break;
    }
    UNREACHABLE();
}

struct lock_reply gateway_reply(const struct lock_command *asked, uint32_t status,
                                struct wire_text body, enum wire_tells *tells)
{
    json_t *said = json_of(body);
    struct lock_reply reply = {.type = LOCK_REPLY_GARBLED};
    /* A place in the queue is not the lock. */
    *tells = asked->kind == ETCD_PUT ? WIRE_TELLS_NOTHING : WIRE_TELLS_BY_TYPE;
    if (json_is_object(said)) {
        reply = status == 200 ? done_reply(asked, said, tells) : failure_reply(asked, said);
    }
    json_decref(said);
    return reply;
}

bool gateway_read_oldest(struct wire_text body, struct gateway_key *key)
{
    json_t *said = json_of(body);
    bool read = json_is_object(json_object_get(said, "header"));
    range_first(said, key);
    json_decref(said);
    return read;
}

int64_t gateway_number(struct wire_text body, const char *path)
{
    json_t *said = json_of(body);
    const char *dot = strchr(path, '.');
    char outer[32] = "";
    const json_t *object = said;
    if (dot != NULL && (size_t)(dot - path) < sizeof outer) {
        memcpy(outer, path, (size_t)(dot - path));
        object = json_object_get(said, outer);
        path = dot + 1;
    }
    int64_t number = number_of(object, path);
    json_decref(said);
    return number;
}

int64_t gateway_member(struct wire_text body, const char *name)
{
    json_t *said = json_of(body);
    const json_t *members = json_object_get(said, "members");
    int64_t id = 0;
    for (size_t i = 0; i < json_array_size(members); i++) {
        const json_t *member = json_array_get(members, i);
        const char *known = json_string_value(json_object_get(member, "name"));
        id = known != NULL && strcmp(known, name) == 0 ? number_of(member, "ID") : id;
    }
    json_decref(said);
    return id;
}
