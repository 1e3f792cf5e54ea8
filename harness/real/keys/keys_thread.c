/* keys_thread.c: which thread of a program a command is of, where they share their connections. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"

#include <string.h>

int32_t keys_thread_first(const struct keys *keys, int32_t client)
{
    int32_t threads = keys->options.thread_count;
    return threads > 1 ? client - client % threads : client;
}

int32_t keys_thread_last(const struct keys *keys, int32_t client)
{
    int32_t threads = keys->options.thread_count;
    int32_t last = keys_thread_first(keys, client) + (threads > 1 ? threads : 1);
    return last < keys->options.client_count ? last : keys->options.client_count;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* Clients of one program, a bit each from its first. */
struct thread_choice {
    const struct keys *keys;
    int32_t first;
    int32_t count;
    uint32_t among;
};

static const struct keys_client *choice_at(const struct thread_choice *choice, int32_t i)
{
    return &choice->keys->clients[choice->first + i];
}

/* Keep those that fit, unless none does. */
static void choice_narrow(struct thread_choice *choice, uint32_t fitting)
{
    choice->among = (choice->among & fitting) != 0 ? choice->among & fitting : choice->among;
}

static bool choice_is_made(const struct thread_choice *choice)
{
    return (choice->among & (choice->among - 1)) == 0;
}

static bool client_owns(const struct keys_client *client, const struct history_value *value)
{
    for (uint32_t i = 0; i < client->owned_count && i < KEYS_VALUES_MAX; i++) {
        if (history_value_equal(&client->owned[i], value)) {
            return true;
        }
    }
    return false;
}

/* Those whose grants named a word of it. */
static uint32_t choice_owners(const struct thread_choice *choice, const struct resp_words *words)
{
    uint32_t owners = 0;
    for (uint32_t w = 1; w < words->count; w++) {
        struct history_value value;
        keys_value(words->word[w].data, words->word[w].bytes, &value);
        for (int32_t i = 0; i < choice->count; i++) {
            owners |= client_owns(choice_at(choice, i), &value) ? 1u << i : 0;
        }
    }
    return owners;
}

static uint32_t choice_asking(const struct thread_choice *choice)
{
    uint32_t asking = 0;
    for (int32_t i = 0; i < choice->count; i++) {
        asking |= choice_at(choice, i)->asks ? 1u << i : 0;
    }
    return asking;
}

/* Those that ask for a resource which the command names. */
static uint32_t choice_of_resource(const struct thread_choice *choice,
                                   const struct resp_words *words)
{
    uint32_t fitting = 0;
    for (int32_t i = 0; i < choice->count; i++) {
        const struct keys_client *client = choice_at(choice, i);
        const char *name = choice->keys->options.resource_names[client->resource];
        for (uint32_t w = 1; w < words->count && client->asks; w++) {
            bool named = memmem(words->word[w].data, words->word[w].bytes, name, strlen(name));
            fitting |= named ? 1u << i : 0;
        }
    }
    return fitting;
}

/* Those whose request such a command carries out. Deletions clean up after an acquire, too. */
static uint32_t choice_of_ask(const struct thread_choice *choice,
                              const struct keys_command *command)
{
    uint32_t fitting = 0;
    for (int32_t i = 0; i < choice->count; i++) {
        uint8_t f = choice_at(choice, i)->f;
        bool fits = command->ask == ASK_SET      ? f != HISTORY_RELEASE
                    : command->ask == ASK_EXPIRY ? f == HISTORY_EXTEND
                    : command->ask == ASK_DELETE ? f == HISTORY_RELEASE
                                                 : true;
        fitting |= fits ? 1u << i : 0;
    }
    return fitting;
}

/* How many of its words this client has sent since it asked. */
static uint32_t client_words(const struct keys_client *client, const struct resp_words *words)
{
    uint32_t count = 0;
    for (uint32_t w = 1; w < words->count; w++) {
        uint64_t hash = keys_word_hash(&words->word[w]);
        bool sent = false;
        for (uint32_t i = 0; i < client->word_count && !sent; i++) {
            sent = client->words[i] == hash;
        }
        count += sent ? 1 : 0;
    }
    return count;
}

/* The one that has sent most of its words since it asked, as for other nodes; else one that has
 * sent nothing yet. */
static int32_t choice_guess(const struct thread_choice *choice, const struct resp_words *words)
{
    int32_t best = __builtin_ctz(choice->among);
    int64_t best_score = INT64_MIN;
    for (int32_t i = best; i < choice->count; i++) {
        const struct keys_client *client = choice_at(choice, i);
        bool whole = words->count > 1 && client_words(client, words) == words->count - 1;
        int64_t score = whole ? 1 : -(int64_t)client->word_count;
        if ((choice->among >> i & 1) != 0 && score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

void keys_thread_read(const struct keys *keys, int32_t first, const struct resp_words *words,
                      struct keys_command *command)
{
    command->client = first;
    command->doubtful = false;
    if (keys->options.thread_count <= 1 || first < 0 || first >= keys->options.client_count) {
        return;
    }
    struct thread_choice choice = {
        .keys = keys, .first = first, .count = keys_thread_last(keys, first) - first};
    ASSERT(choice.count > 0 && choice.count < 32);
    choice.among = (1u << choice.count) - 1;
    choice_narrow(&choice, choice_owners(&choice, words));
    if (!choice_is_made(&choice)) {
        choice_narrow(&choice, choice_asking(&choice));
        choice_narrow(&choice, choice_of_resource(&choice, words));
        choice_narrow(&choice, choice_of_ask(&choice, command));
    }
    command->doubtful = !choice_is_made(&choice);
    command->client = first + choice_guess(&choice, words);
}

/* ---- what turns out -------------------------------------------------------------------------- */

void keys_thread_doubt(struct keys *keys, uint64_t event, const struct history_event *told)
{
    if ((told->flags & HISTORY_HAS_VALUE) == 0) {
        return;
    }
    keys->doubts[keys->doubt_count++ % KEYS_DOUBTS_MAX] = (struct keys_doubt){
        .event = event,
        .client = told->process,
        .resource = told->resource,
        .true_ns = told->time_ns + keys->options.start_ns,
        .value = told->value,
    };
}

static void owner_change(struct keys *keys, const struct keys_doubt *doubt, int32_t client)
{
    const struct keys_resource *resource = &keys->resources[doubt->resource];
    for (uint32_t i = 0; i < resource->count; i++) {
        for (int32_t node = 0; node < keys->options.node_count; node++) {
            struct keys_key *key = keys_key_on(keys, resource->name[i], node);
            bool same = key->has_value && history_value_equal(&key->value, &doubt->value);
            key->owner = same && key->owner == doubt->client ? client : key->owner;
        }
    }
}

/* The last doubts that are kept. */
static struct keys_doubt *doubt_at(struct keys *keys, uint32_t i)
{
    return i < keys->doubt_count && i < KEYS_DOUBTS_MAX ? &keys->doubts[i] : NULL;
}

/* It is this client's, whosever it was taken for. */
static void doubt_settle(struct keys *keys, struct keys_doubt *doubt, int32_t client)
{
    if (doubt->client != client) {
        owner_change(keys, doubt, client);
        if (keys->options.whose != NULL) {
            keys->options.whose(keys->options.emit_data, doubt->event, client);
        }
    }
    doubt->resource = KEYS_NO_RESOURCE;
}

/* Whether a grant of another thread of its program named this value, too. */
static bool value_is_shared(const struct keys *keys, int32_t client,
                            const struct history_value *value)
{
    for (int32_t i = keys_thread_first(keys, client); i < keys_thread_last(keys, client); i++) {
        if (i != client && client_owns(&keys->clients[i], value)) {
            return true;
        }
    }
    return false;
}

void keys_thread_told(struct keys *keys, const struct keys_request *request,
                      const struct keys_outcome *outcome)
{
    struct keys_client *client = keys_client_at(keys, request->client);
    if (keys->options.thread_count <= 1) {
        return;
    }
    if (outcome->value != NULL && value_is_shared(keys, request->client, outcome->value)) {
        keys_unclear(keys, "two threads of one program were granted a lock with one value: whose "
                           "of them its keys are is not known");
        return;
    }
    if (outcome->value != NULL && !client_owns(client, outcome->value)) {
        client->owned[client->owned_count++ % KEYS_VALUES_MAX] = *outcome->value;
        keys_client_value(client, outcome->value);
    }
    for (uint32_t i = 0; doubt_at(keys, i) != NULL; i++) {
        struct keys_doubt *doubt = doubt_at(keys, i);
        bool concerns =
            doubt->resource == request->resource &&
            keys_thread_first(keys, doubt->client) == keys_thread_first(keys, request->client) &&
            doubt->true_ns >= client->asked_ns;
        if (concerns && outcome->value == NULL) {
            keys_unclear(keys, "two threads of one program asked for a lock at once, and its grant "
                               "names no value: which of them set a key is not known");
            return;
        }
        if (concerns && history_value_equal(&doubt->value, outcome->value)) {
            doubt_settle(keys, doubt, request->client);
        }
    }
}

void keys_shared(struct keys *keys)
{
    keys_unclear(keys, "two threads of one program hold a lock as one owner: whose of them its "
                       "keys are is not known");
}
