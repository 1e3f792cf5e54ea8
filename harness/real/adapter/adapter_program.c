/* adapter_program.c: the client's program, driven by what its adapter says. */
#include "harness/real/adapter/adapter_inner.h"

#include "base/assert.h"

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
    if ((event.flags & HISTORY_HAS_UNTIL_LEAST) != 0) {
        event.until_least_ns -= options->start_ns;
    }
    if ((event.flags & HISTORY_HAS_SINCE) != 0) {
        event.since_ns -= options->start_ns;
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

static enum adapter_op op_of(enum history_f f)
{
    ASSERT(f == HISTORY_ACQUIRE || f == HISTORY_EXTEND || f == HISTORY_RELEASE);
    return f == HISTORY_ACQUIRE  ? ADAPTER_ACQUIRE
           : f == HISTORY_EXTEND ? ADAPTER_EXTEND
                                 : ADAPTER_RELEASE;
}

/* Its number in its program; 0 where there are no threads. */
static int32_t program_thread(const struct adapter_client *client)
{
    return adapter_alone(client) ? 0 : client->index - client->process->first + 1;
}

static void program_ask(struct adapter_client *client, const struct client_effect *effect)
{
    ASSERT(!client->asked);
    adapter_attempt_end(client);
    client->asked = true;
    client->asked_f = effect->f;
    client->asked_id = ++client->process->last_id;
    client->asked_resource = effect->resource;
    client->asked_ns = loop_now_ns();
    client->alive_ns = client->asked_ns;
    client->overdue = false;
    struct keys_request request = program_request(client);
    keys_asked(client->adapter->options.keys, &request);
    adapter_send(client->process, &(struct adapter_request){
                                      .op = (uint8_t)op_of((enum history_f)effect->f),
                                      .thread = program_thread(client),
                                      .id = client->asked_id,
                                      .resource = effect->resource,
                                      .ttl_ns = client->adapter->options.plan->scenario.lock.ttl_ns,
                                      .deadline_ns = effect->deadline_ns,
                                  });
}

void adapter_program_cancel(struct adapter_client *client)
{
    ASSERT(client->asked && client->asked_f == HISTORY_ACQUIRE);
    ASSERT(client->cancel_id == 0);
    const struct adapter_options *options = &client->adapter->options;
    struct history_event event = {
        .time_ns = loop_now_ns() - options->start_ns,
        .kind = HISTORY_CLIENT,
        .f = HISTORY_GIVEN_UP,
        .process = client->index,
        .node = HISTORY_NO_NODE,
        .fault = HISTORY_NO_FAULT,
        .resource = client->asked_resource,
    };
    options->callbacks.record(options->callbacks.data, &event);
    client->cancel_id = ++client->process->last_id;
    adapter_send(client->process, &(struct adapter_request){.op = ADAPTER_CANCEL,
                                                            .thread = program_thread(client),
                                                            .id = client->cancel_id,
                                                            .of = client->asked_id});
}

void adapter_program_declared(struct adapter *adapter)
{
    const struct adapter_declaration *said = &adapter->declaration;
    if (said->said && (said->declares >> DECLARES_EXTEND & 1) == 0) {
        adapter->program.extend_every_ns = 0;
    }
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
                client->wake_ns += adapter_slow_late_ns(client);
            }
            break;
        case CLIENT_EFFECT_PROBE:
            client->passed = true;
            callbacks->probe(callbacks->data, client->index, (enum probe_point)effect->point);
            break;
        case CLIENT_EFFECT_CANCEL:
            /* Not if the answer is there and only waits to be heard. */
            if (client->asked && client->asked_f == HISTORY_ACQUIRE && client->cancel_id == 0) {
                adapter_program_cancel(client);
            }
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
    ASSERT(type != ANSWER_LOST);
    return type == ANSWER_OK ? OUTCOME_OK : type == ANSWER_FAIL ? OUTCOME_FAIL : OUTCOME_INFO;
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

/* Does another thread of the program hold by the same value what this one is granted? Where each
 * thread is said to be an owner, that is no more than it seems: two of them hold it. */
static bool program_shares(const struct adapter_client *client, const struct adapter_answer *answer)
{
    const struct adapter_process *process = client->process;
    uint8_t ownership = client->adapter->declaration.ownership;
    bool apart = ownership == OWNERSHIP_THREAD || ownership == OWNERSHIP_OBJECT;
    bool shares = false;
    for (int32_t i = 0; i < process->count && answer->has_value && !apart; i++) {
        const struct client *other = &adapter_first(process)[i].client;
        for (int32_t held = 0; held < other->held && other != &client->client; held++) {
            shares = shares || (other->holds[held].resource == client->asked_resource &&
                                history_value_equal(&other->holds[held].value, &answer->value));
        }
    }
    return shares;
}

void adapter_program_told(struct adapter_client *client, const struct adapter_answer *answer)
{
    struct client_event event = {
        .type = CLIENT_EVENT_TOLD,
        .outcome = (uint8_t)answer_outcome((enum answer_type)answer->type),
        .cause = answer->type == ANSWER_FAIL || answer->type == ANSWER_INFO ? CAUSE_LIBRARY_ERROR
                                                                            : CAUSE_NONE,
        .value = answer->value,
        .fence = answer->fence,
    };
    if (!answer->has_value) {
        program_value(client, &event);
    }
    if (answer->has_validity && answer->type == ANSWER_OK) {
        struct adapter_moment moment;
        if (!adapter_clock_moment(client, answer, &moment)) {
            adapter_fail(client->process,
                         "computed a promise before it was asked or after it answered: "
                         "at_ms is not of the clock that op clock tells");
            return;
        }
        event.until_ns = moment.most_ns + answer->validity_ns;
        event.until_least_ns = moment.least_ns + answer->validity_ns;
        event.has_until = true;
        event.since_ns = answer->held ? answer->heard_ns : 0;
    }
    program_keys_told(client, answer);
    if (answer->type == ANSWER_OK && client->asked_f == HISTORY_ACQUIRE &&
        program_shares(client, answer)) {
        keys_shared(client->adapter->options.keys);
    }
    client->asked = false;
    adapter_attempt_end(client);
    adapter_program_step(client, event);
}

void adapter_program_lost(struct adapter_client *client, uint32_t resource)
{
    if (!adapter_stands(client)) {
        adapter_program_step(client, (struct client_event){.type = CLIENT_EVENT_TOLD,
                                                           .outcome = OUTCOME_LOST,
                                                           .resource = resource});
    } else if (client->lost_count < SCENARIO_HOLDS_MAX) {
        client->lost[client->lost_count++] = resource;
    }
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
    while (client->lost_count > 0 && !adapter_stands(client)) {
        adapter_program_lost(client, client->lost[--client->lost_count]);
    }
    if (client->answered && !adapter_stands(client)) {
        struct adapter_answer answer = client->answer;
        client->answered = false;
        client->late_ns = TIME_NEVER;
        adapter_program_told(client, &answer);
    }
    adapter_alarm(client);
}
