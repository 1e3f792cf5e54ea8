/* keys_learn.c: which keys belong to a resource: said by patterns, or learned from what was seen.
 */
#include "harness/real/keys/keys_inner.h"

#include "base/arena.h"
#include "base/assert.h"

#include <stdio.h>
#include <string.h>

static const char placeholder[] = "{resource}";

bool keys_resources_init(struct keys *keys)
{
    size_t resources = keys->options.resource_count;
    size_t clients = (size_t)keys->options.client_count;
    /* One more of each, so that none of them is no memory. */
    keys->resources = memory_resize(NULL, (resources + 1) * sizeof *keys->resources);
    keys->clients = memory_resize(NULL, (clients + 1) * sizeof *keys->clients);
    if (keys->resources == NULL || keys->clients == NULL) {
        return false;
    }
    memset(keys->resources, 0, (resources + 1) * sizeof *keys->resources);
    memset(keys->clients, 0, (clients + 1) * sizeof *keys->clients);
    return true;
}

struct keys_client *keys_client_at(struct keys *keys, int32_t client)
{
    return client >= 0 && client < keys->options.client_count ? &keys->clients[client] : NULL;
}

/* What was not understood is not judged: say so once, for the whole run. */
void keys_unclear(struct keys *keys, const char *why)
{
    if (keys->unwatched[0] == '\0') {
        (void)snprintf(keys->unwatched, sizeof keys->unwatched, "%s", why);
    }
}

const char *keys_unwatched(const struct keys *keys)
{
    return keys->unwatched;
}

bool keys_tapped(const struct keys *keys)
{
    return keys_kind_tells(keys) && keys->unwatched[0] == '\0';
}

/* ---- binding --------------------------------------------------------------------------------- */

static void name_bind(struct keys *keys, uint32_t name, uint32_t resource, enum keys_part part)
{
    struct keys_resource *owner = &keys->resources[resource];
    struct keys_name *known = &keys->table.names[name];
    if (known->resource == KEYS_NO_RESOURCE && owner->count == KEYS_OF_RESOURCE_MAX) {
        return; /* one of very many that come and go */
    }
    if (known->resource == KEYS_NO_RESOURCE) {
        owner->name[owner->count++] = name;
    }
    known->resource = resource;
    known->part = (uint8_t)part;
    if (part == KEYS_PART_LOCK) {
        owner->lock = name + 1;
    }
}

/* The names that a pattern gives: a command that names one is known before the key is. */
static void pattern_names(struct keys *keys, const char *pattern)
{
    const char *hole = strstr(pattern, placeholder);
    for (uint32_t i = 0; i < keys->options.resource_count; i++) {
        char memory[KEYS_NAME_BYTES_MAX];
        struct text text = text_over(memory, sizeof memory);
        text_add(&text, "%.*s%s%s", (int)(hole - pattern), pattern, keys->options.resource_names[i],
                 hole + sizeof placeholder - 1);
        struct resp_word name = {text.data, (uint32_t)text.length};
        if (!text.cut) {
            (void)keys_table_take(keys, &name, 0);
        }
    }
}

bool keys_pattern(struct keys *keys, const char *pattern)
{
    bool fine = strlen(pattern) < KEYS_NAME_BYTES_MAX && keys->pattern_count < KEYS_PATTERNS_MAX &&
                strstr(pattern, placeholder) != NULL;
    if (fine) {
        (void)snprintf(keys->patterns[keys->pattern_count++], KEYS_NAME_BYTES_MAX, "%s", pattern);
        keys->learns = false;
        pattern_names(keys, pattern);
    }
    return fine;
}

/* The resource that stands in a name where the pattern has its place, or KEYS_NO_RESOURCE. */
static uint32_t pattern_find(const struct keys *keys, const char *pattern,
                             const struct keys_name *name)
{
    const char *hole = strstr(pattern, placeholder);
    size_t before = (size_t)(hole - pattern);
    const char *rest = hole + sizeof placeholder - 1;
    size_t after = strlen(rest);
    if (name->bytes < before + after || memcmp(name->text, pattern, before) != 0 ||
        memcmp(name->text + name->bytes - after, rest, after) != 0) {
        return KEYS_NO_RESOURCE;
    }
    size_t bytes = name->bytes - before - after;
    for (uint32_t i = 0; i < keys->options.resource_count; i++) {
        const char *resource = keys->options.resource_names[i];
        if (strlen(resource) == bytes && memcmp(resource, name->text + before, bytes) == 0) {
            return i;
        }
    }
    return KEYS_NO_RESOURCE;
}

void keys_name_bind(struct keys *keys, uint32_t name)
{
    for (uint32_t i = 0; i < keys->pattern_count; i++) {
        uint32_t resource = pattern_find(keys, keys->patterns[i], &keys->table.names[name]);
        if (resource != KEYS_NO_RESOURCE) {
            name_bind(keys, name, resource, i == 0 ? KEYS_PART_LOCK : KEYS_PART_BESIDE);
            return;
        }
    }
}

/* ---- learning -------------------------------------------------------------------------------- */

static bool name_contains(const struct keys_name *name, const char *resource)
{
    return memmem(name->text, name->bytes, resource, strlen(resource)) != NULL;
}

/*
 * Is this key of another resource already? What the name says decides: a key of r1 that comes to be
 * while r0 is asked for is renewed by its holder.
 */
static bool name_is_anothers(const struct keys *keys, const struct keys_name *name,
                             uint32_t resource)
{
    return name->resource != KEYS_NO_RESOURCE && name->resource != resource &&
           name_contains(name, keys->options.resource_names[name->resource]);
}

/* A key that came to be for two resources belongs to neither. */
static void name_share(struct keys *keys, struct keys_name *name)
{
    struct keys_resource *owner = &keys->resources[name->resource];
    if (name->part == KEYS_PART_LOCK) {
        owner->lock = 0;
        keys_unclear(keys, "one key stands for several resources");
    }
    name->part = KEYS_PART_BESIDE;
}

/* A lock is given an end; of several keys that are, or that are not, the first. */
static bool is_better(const struct keys_key *key, const struct keys_key *lock)
{
    return key->has_ttl && !lock->has_ttl;
}

/* Which of the keys of a resource is its lock, as far as this node's can tell. */
static void resource_elect(struct keys *keys, int32_t node, uint32_t resource, bool settled)
{
    struct keys_resource *owner = &keys->resources[resource];
    uint32_t best = owner->lock;
    for (uint32_t i = 0; i < owner->count; i++) {
        const struct keys_key *key = keys_key_on(keys, owner->name[i], node);
        bool better = best == 0 || is_better(key, keys_key_on(keys, best - 1, node));
        if (key->present && key->shape != SHAPE_UNKNOWN && better) {
            best = owner->name[i] + 1;
        }
    }
    if (best == owner->lock || best == 0) {
        return;
    }
    if (owner->lock != 0) {
        keys->table.names[owner->lock - 1].part = KEYS_PART_BESIDE;
        if (settled) {
            keys_unclear(keys, "which key is the lock was not seen at first: the adapter can "
                               "say it (keys)");
        }
    }
    name_bind(keys, best - 1, resource, KEYS_PART_LOCK);
}

/* Keys that a unit brought to be while its client asked for a resource are that resource's. */
void keys_learn(struct keys *keys, int32_t node, struct keys_unit *unit)
{
    struct keys_client *client = keys_client_at(keys, unit->process);
    if (client == NULL || !client->asked) {
        return;
    }
    client->effects += unit->change_count;
    if (!keys->learns || client->f != HISTORY_ACQUIRE) {
        return;
    }
    uint32_t resource = client->resource;
    bool found = false;
    bool settled = keys->resources[resource].told;
    for (uint32_t i = 0; i < unit->change_count; i++) {
        const struct keys_change *change = &unit->changes[i];
        struct keys_name *name = &keys->table.names[change->name];
        const struct keys_key *key = keys_key_on(keys, change->name, node);
        bool born = change->made && !change->before.present && key->present;
        if (name->resource == resource) {
            found = true;
        }
        if (!born || name->resource == resource || name_is_anothers(keys, name, resource)) {
            continue;
        }
        if (name->resource != KEYS_NO_RESOURCE) {
            name_share(keys, name);
            continue;
        }
        name_bind(keys, change->name, resource, KEYS_PART_BESIDE);
        found = true;
    }
    if (found) {
        resource_elect(keys, node, resource, settled && client->sets == 0);
    }
}

/* ---- what clients ask for -------------------------------------------------------------------- */

void keys_client_value(struct keys_client *client, const struct history_value *value)
{
    for (uint32_t i = 0; i < client->value_count && i < KEYS_VALUES_MAX; i++) {
        if (history_value_equal(&client->values[i], value)) {
            return;
        }
    }
    client->values[client->value_count++ % KEYS_VALUES_MAX] = *value;
}

static uint64_t value_hash(const struct history_value *value)
{
    uint64_t hash;
    memcpy(&hash, value->bytes, sizeof hash);
    return hash;
}

uint64_t keys_word_hash(const struct resp_word *word)
{
    struct history_value value;
    keys_value(word->data, word->bytes, &value);
    return value_hash(&value);
}

void keys_client_word(struct keys_client *client, const struct resp_words *words)
{
    for (uint32_t i = 1; i < words->count; i++) {
        uint64_t hash = keys_word_hash(&words->word[i]);
        bool known = false;
        for (uint32_t j = 0; j < client->word_count && !known; j++) {
            known = client->words[j] == hash;
        }
        if (!known && client->word_count < KEYS_WORDS_MAX) {
            client->words[client->word_count++] = hash;
        }
    }
}

/* What it sent may have been taken for a command of one of those. */
static bool another_thread_asks(const struct keys *keys, int32_t client)
{
    bool asks = false;
    for (int32_t i = keys_thread_first(keys, client); i < keys_thread_last(keys, client); i++) {
        asks = asks || (i != client && keys->clients[i].asks);
    }
    return asks;
}

void keys_asked(struct keys *keys, const struct keys_request *request)
{
    struct keys_client *client = keys_client_at(keys, request->client);
    ASSERT(client != NULL);
    ASSERT(request->resource < keys->options.resource_count);
    client->asks = true;
    client->asked = true;
    client->f = request->f;
    client->resource = request->resource;
    client->asked_ns = request->true_ns;
    client->effects = 0;
    client->sets = 0;
    client->word_count = another_thread_asks(keys, request->client) ? client->word_count : 0;
}

/* Was this value one of the words that the client sent for this request? */
static bool client_sent(const struct keys_client *client, const struct keys_outcome *outcome)
{
    uint64_t hash = value_hash(outcome->value);
    for (uint32_t i = 0; i < client->word_count; i++) {
        if (client->words[i] == hash) {
            return true;
        }
    }
    return client->word_count == 0 || client->word_count == KEYS_WORDS_MAX;
}

/* ... or another thread of its program: two that ask at once are not told apart before. */
static bool value_was_sent(const struct keys *keys, int32_t client,
                           const struct keys_outcome *outcome)
{
    bool sent = false;
    for (int32_t i = keys_thread_first(keys, client); i < keys_thread_last(keys, client); i++) {
        sent = sent || client_sent(&keys->clients[i], outcome);
    }
    return sent;
}

static void tell_mismatch(struct keys *keys, const struct keys_request *request,
                          const struct keys_outcome *outcome)
{
    struct history_event event = {
        .time_ns = outcome->true_ns - keys->options.start_ns,
        .kind = HISTORY_CLIENT,
        .f = HISTORY_VALUE_MISMATCH,
        .flags = HISTORY_HAS_VALUE,
        .process = request->client,
        .node = HISTORY_NO_NODE,
        .fault = HISTORY_NO_FAULT,
        .resource = request->resource,
        .value = *outcome->value,
    };
    (void)keys->options.emit(keys->options.emit_data, &event);
}

/* Of several keys that a node has, none of which has an end, any may be the lock: the others mark
 * what was prepared, wait, or count. */
static bool lock_is_a_guess(struct keys *keys, const struct keys_resource *owner)
{
    for (int32_t node = 0; node < keys->options.node_count; node++) {
        uint32_t endless = 0;
        for (uint32_t i = 0; i < owner->count; i++) {
            const struct keys_key *key = keys_key_on(keys, owner->name[i], node);
            endless += key->present && !key->has_ttl ? 1 : 0;
        }
        const struct keys_key *lock = keys_key_on(keys, owner->lock - 1, node);
        if (endless > 1 && lock->present && !lock->has_ttl) {
            return true;
        }
    }
    return false;
}

/* A sorted set without an end: a member's score may be the end of its lease, which others clear
 * away behind it. */
static bool ends_are_hidden(struct keys *keys, const struct keys_resource *owner)
{
    for (int32_t node = 0; node < keys->options.node_count; node++) {
        const struct keys_key *lock = keys_key_on(keys, owner->lock - 1, node);
        if (lock->present && !lock->has_ttl && lock->shape == SHAPE_OTHER) {
            return true;
        }
    }
    return false;
}

/* The value of a grant stands in keys beside the lock's, which have an end, and not in that: a lock
 * may be a majority of several keys of one node. */
static bool lock_is_elsewhere(struct keys *keys, const struct keys_resource *owner,
                              const struct history_value *value)
{
    for (int32_t node = 0; node < keys->options.node_count; node++) {
        bool own = false;
        bool beside = false;
        for (uint32_t i = 0; i < owner->count; i++) {
            const struct keys_key *key = keys_key_on(keys, owner->name[i], node);
            bool has = key->present && key->has_ttl && key->has_value &&
                       history_value_equal(&key->value, value);
            own = own || (has && owner->name[i] + 1 == owner->lock);
            beside = beside || has;
        }
        if (beside && !own) {
            return true;
        }
    }
    return false;
}

void keys_told(struct keys *keys, const struct keys_request *request,
               const struct keys_outcome *outcome)
{
    struct keys_client *client = keys_client_at(keys, request->client);
    ASSERT(client != NULL);
    client->asks = false;
    if (request->f != HISTORY_ACQUIRE || outcome->type != HISTORY_OK) {
        return;
    }
    if (outcome->value != NULL && !client->mismatched &&
        !value_was_sent(keys, request->client, outcome)) {
        client->mismatched = true;
        tell_mismatch(keys, request, outcome);
    }
    keys_thread_told(keys, request, outcome);
    const struct keys_resource *owner = &keys->resources[request->resource];
    if (owner->lock != 0 && ends_are_hidden(keys, owner)) {
        keys_unclear(keys, "the key that stands for a grant is a sorted set, a set or a list, and "
                           "has no end: when a lease in it is over is not seen");
    }
    if (owner->lock != 0 && outcome->value != NULL &&
        lock_is_elsewhere(keys, owner, outcome->value)) {
        keys_unclear(keys, "the value of a grant stood in keys of its resource, but not in the one "
                           "that is the lock: any of several may be");
    }
    if (!keys->learns) {
        return;
    }
    if (client->effects > 0 && owner->lock == 0) {
        keys_unclear(keys, "a grant was seen, and no key that stands for it");
    } else if (owner->lock != 0 && lock_is_a_guess(keys, owner)) {
        keys_unclear(keys, "several keys without an end were seen at a grant, and not which of "
                           "them is the lock: the adapter can say it (keys)");
    }
}

bool keys_known(const struct keys *keys, uint32_t resource, uint32_t number,
                struct keys_known *known)
{
    const struct keys_resource *owner = &keys->resources[resource];
    if (number >= owner->count) {
        return false;
    }
    const struct keys_name *name = &keys->table.names[owner->name[number]];
    *known = (struct keys_known){
        .name = {name->text, name->bytes},
        .lock = owner->lock == owner->name[number] + 1,
    };
    return true;
}
