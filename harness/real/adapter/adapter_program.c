/* adapter_program.c: the client's program, driven by what its adapter says. */
#include "harness/real/adapter/adapter_inner.h"

#include "base/assert.h"
#include "harness/real/run/client_process.h"

#include <string.h>

static const struct client_program *program_of(const struct adapter_client *client)
{
    const struct adapter *adapter = client->adapter;
    return client->index + 1 == adapter->count ? &adapter->auditor_program : &adapter->program;
}

static void program_record(struct adapter_client *client, const struct client_effect *effect,
                           int64_t now_ns)
{
    const struct adapter_options *options = &client->adapter->options;
    struct history_event event = effect->record;
    event.time_ns = now_ns - options->start_ns;
    event.process = client->index;
    if ((event.flags & HISTORY_HAS_UNTIL) != 0) {
        event.until_ns -= options->start_ns;
    }
    options->callbacks.record(options->callbacks.data, &event);
}

/* What the client asks for, for the view of keys. */
static struct keys_request program_request(const struct adapter_client *client)
{
    return (struct keys_request){
        .client = client->index,
        .f = client->asked_f,
        .resource = client->asked_resource,
        .true_ns = client->alive_ns,
    };
}

static void program_ask(struct adapter_client *client, const struct client_effect *effect)
{
    const struct scenario *scenario = &client->adapter->options.plan->scenario;
    char name[CLIENT_RESOURCE_NAME_BYTES];
    client_resource_name(effect->resource, name);
    ASSERT(!client->asked);
    adapter_attempt_end(client);
    client->asked = true;
    client->asked_f = effect->f;
    client->asked_id++;
    client->asked_resource = effect->resource;
    client->alive_ns = loop_now_ns();
    char *line = adapter_request_line((enum history_f)effect->f, client->asked_id, name,
                                      (scenario->lock.ttl_ns + NS_PER_MS - 1) / NS_PER_MS);
    if (line == NULL) {
        adapter_fail(client, "no memory for a request");
        return;
    }
    struct keys_request request = program_request(client);
    keys_asked(client->adapter->options.keys, &request);
    adapter_write(client, line, strlen(line));
    adapter_line_free(line);
}

static struct client_event program_store(struct adapter_client *client,
                                         const struct client_effect *effect)
{
    const struct adapter_callbacks *callbacks = &client->adapter->options.callbacks;
    struct store_answer answer = callbacks->store(callbacks->data, (enum history_f)effect->f,
                                                  effect->resource, &effect->value, effect->fence);
    return (struct client_event){
        .type = CLIENT_EVENT_STORE,
        .outcome = answer.accepted ? OUTCOME_OK : OUTCOME_FAIL,
        .cause = answer.cause,
        .version = answer.version,
    };
}

int64_t adapter_program_late_ns(struct adapter_client *client)
{
    int64_t late_ns = client->slow_ns;
    if (client->slow_jitter_ns > 0) {
        late_ns += (int64_t)random_below(&client->slow, (uint64_t)client->slow_jitter_ns + 1);
    }
    return late_ns;
}

void adapter_slow(struct adapter *adapter, int32_t index, int64_t slow_ns, int64_t jitter_ns)
{
    struct adapter_client *client = &adapter->clients[index];
    client->slow_ns = slow_ns;
    client->slow_jitter_ns = jitter_ns;
}

/* Carry out the effects of one step. True: `next` is the event that follows at once. */
static bool program_carry_out(struct adapter_client *client, const struct client_effects *effects,
                              int64_t now_ns, struct client_event *next)
{
    const struct adapter_callbacks *callbacks = &client->adapter->options.callbacks;
    bool follows = false;
    for (uint32_t i = 0; i < effects->count && client->state == ADAPTER_ACTIVE; i++) {
        const struct client_effect *effect = &effects->list[i];
        switch ((enum client_effect_type)effect->type) {
        case CLIENT_EFFECT_RECORD:
            program_record(client, effect, now_ns);
            break;
        case CLIENT_EFFECT_ASK:
            program_ask(client, effect);
            break;
        case CLIENT_EFFECT_STORE:
            *next = program_store(client, effect);
            follows = true;
            break;
        case CLIENT_EFFECT_WAKE:
            client->wake_ns = effect->at_ns;
            if (effect->at_ns != TIME_NEVER) {
                client->wake_ns += adapter_program_late_ns(client);
            }
            break;
        case CLIENT_EFFECT_PROBE:
            client->passed = true;
            callbacks->probe(callbacks->data, client->index, (enum probe_point)effect->point);
            break;
        case CLIENT_EFFECT_DONE:
            client->state = ADAPTER_DONE;
            callbacks->done(callbacks->data, client->index);
            break;
        }
    }
    if (client->state == ADAPTER_ACTIVE && client->passed && !adapter_stands(client)) {
        client->passed = false;
        *next = (struct client_event){.type = CLIENT_EVENT_PASSED};
        follows = true;
    }
    return follows && client->state == ADAPTER_ACTIVE;
}

void adapter_program_step(struct adapter_client *client, struct client_event event)
{
    bool follows = client->state == ADAPTER_ACTIVE;
    while (follows) {
        struct client_effects effects;
        event.now_ns = loop_now_ns();
        client_step(&client->client, program_of(client), &event, &effects);
        follows = program_carry_out(client, &effects, event.now_ns, &event);
    }
    if (client->state == ADAPTER_ACTIVE) {
        adapter_alarm(client);
    }
}

/* A library that names no value still has one owner a grant: make one of client and request. */
static void program_value(const struct adapter_client *client, struct client_event *event)
{
    char name[64];
    struct text text = text_over(name, sizeof name);
    text_add(&text, "client %d request %lld", (int)client->index, (long long)client->asked_id);
    keys_value(text.data, text.length, &event->value);
}

static enum client_outcome answer_outcome(enum answer_type type)
{
    switch (type) {
    case ANSWER_OK:
        return OUTCOME_OK;
    case ANSWER_FAIL:
        return OUTCOME_FAIL;
    case ANSWER_INFO:
        return OUTCOME_INFO;
    case ANSWER_LOST:
        return OUTCOME_LOST;
    }
    UNREACHABLE();
}

/* The value that the library reports is held against what it sent. */
static void program_keys_told(const struct adapter_client *client,
                              const struct adapter_answer *answer)
{
    struct keys_request request = program_request(client);
    struct keys_outcome outcome = {
        .type = answer->type == ANSWER_OK     ? HISTORY_OK
                : answer->type == ANSWER_FAIL ? HISTORY_FAIL
                                              : HISTORY_INFO,
        .value = answer->has_value ? &answer->value : NULL,
        .true_ns = answer->heard_ns,
    };
    keys_told(client->adapter->options.keys, &request, &outcome);
}

void adapter_program_told(struct adapter_client *client, const struct adapter_answer *answer)
{
    struct client_event event = {
        .type = CLIENT_EVENT_TOLD,
        .outcome = (uint8_t)answer_outcome((enum answer_type)answer->type),
        .cause = answer->type == ANSWER_FAIL || answer->type == ANSWER_INFO ? CAUSE_LIBRARY_ERROR
                                                                            : CAUSE_NONE,
        .has_until = answer->has_validity,
        .until_ns = answer->heard_ns + answer->validity_ns,
        .value = answer->value,
        .fence = answer->fence,
    };
    if (!answer->has_value) {
        program_value(client, &event);
    }
    if (answer->type != ANSWER_LOST) {
        program_keys_told(client, answer);
        client->asked = false;
        adapter_attempt_end(client);
    }
    adapter_program_step(client, event);
}

void adapter_program_thaw(struct adapter_client *client)
{
    if (client->begins) {
        client->begins = false;
        adapter_program_step(client, (struct client_event){.type = CLIENT_EVENT_START});
    }
    if (client->passed && client->state == ADAPTER_ACTIVE) {
        client->passed = false;
        adapter_program_step(client, (struct client_event){.type = CLIENT_EVENT_PASSED});
    }
    if (client->lost && !adapter_stands(client)) {
        client->lost = false;
        adapter_program_told(client, &(struct adapter_answer){.type = ANSWER_LOST});
    }
    if (client->answered && !adapter_stands(client)) {
        struct adapter_answer answer = client->answer;
        client->answered = false;
        client->late_ns = TIME_NEVER;
        adapter_program_told(client, &answer);
    }
    adapter_alarm(client);
}
