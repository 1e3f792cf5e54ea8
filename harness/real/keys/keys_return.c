/* keys_return.c: nodes that are watched, go, and come back. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "harness/real/process/loop.h"

#include <stdio.h>
#include <string.h>

static struct result node_open(struct keys *keys, int32_t node, struct address address,
                               struct text *why)
{
    struct keys_node *from = &keys->nodes[node];
    ASSERT(!from->watched);
    TRY(tap_open(&from->tap, address, why));
    from->life++;
    from->address = address;
    from->silent = false;
    from->deposed = false;
    from->heard_ns = loop_now_ns();
    from->wall_ns = 0;
    from->unit.open = false;
    from->effect_count = 0;
    from->effect_bytes = 0;
    return RESULT_OK;
}

static struct result node_begin(struct keys *keys, int32_t node, struct text *why)
{
    struct keys_node *from = &keys->nodes[node];
    TRY(tap_begin(&from->tap, why));
    from->watched = from->tap.fd >= 0;
    if (!from->watched) {
        char memory[TAP_REFUSED_BYTES];
        struct text sentence = text_over(memory, sizeof memory);
        text_add(&sentence, "node %d: %s", node + 1, from->tap.refused);
        keys_unclear(keys, sentence.data);
    }
    return RESULT_OK;
}

void keys_distant(struct keys *keys, int32_t node, int64_t wall_ahead_ns)
{
    ASSERT(node >= 0 && node < keys->options.node_count);
    keys->nodes[node].distant = true;
    keys->nodes[node].clock.base_wall_ns += wall_ahead_ns;
}

struct result keys_watch(struct keys *keys, int32_t node, struct address address, struct text *why)
{
    ASSERT(node >= 0 && node < keys->options.node_count);
    if (!keys_kind_tells(keys)) {
        keys_do_not_tell(keys, node);
        return RESULT_OK;
    }
    TRY(node_open(keys, node, address, why));
    return node_begin(keys, node, why);
}

/* ---- what it holds --------------------------------------------------------------------------- */

static struct resp_word word_of(const char *text)
{
    return (struct resp_word){text, (uint32_t)strlen(text)};
}

/* The next answer to a question of our own. */
static struct result answer_await(struct keys *keys, int32_t node, struct monitor_message *answer,
                                  struct text *why)
{
    struct tap *tap = &keys->nodes[node].tap;
    for (;;) {
        if (!tap_next(tap, answer)) {
            TRY(tap_wait(tap, why));
        } else if (answer->type == MONITOR_ANSWER) {
            return RESULT_OK;
        }
    }
}

/*
 * When a key ends of which it was asked at asked_ns how long it has left: the answer was made at
 * some time since then, however late it is read.
 */
static void found_end(const struct keys_node *node, int64_t asked_ns, struct keys_key *found)
{
    int64_t slack_ns = (node->distant ? 20 : 1) * NS_PER_MS; /* whole ms; what is known of clocks */
    found->earliest_wall_ns = keys_clock_wall(&node->clock, asked_ns) + found->ttl_ns - slack_ns;
    found->latest_wall_ns = keys_clock_wall(&node->clock, loop_now_ns()) + found->ttl_ns + slack_ns;
}

/* Does the node hold this key? Fills `found` as far as it tells. */
static struct result key_ask(struct keys *keys, int32_t node, uint32_t index,
                             struct keys_key *found, struct text *why)
{
    const struct keys_name *name = &keys->table.names[index];
    struct tap *tap = &keys->nodes[node].tap;
    struct monitor_message answer;
    struct resp_word key = {name->text, name->bytes};
    char number[16];
    int64_t asked_ns = loop_now_ns();
    (void)snprintf(number, sizeof number, "%d", name->database);
    tap_send(tap, (struct resp_word[]){word_of("SELECT"), word_of(number)}, 2);
    tap_send(tap, (struct resp_word[]){word_of("PTTL"), key}, 2);
    tap_send(tap, (struct resp_word[]){word_of("GET"), key}, 2);
    TRY(answer_await(keys, node, &answer, why));
    TRY(answer_await(keys, node, &answer, why));
    int64_t left_ms = answer.integer;
    memset(found, 0, sizeof *found);
    found->present = left_ms != -2;
    found->has_ttl = left_ms >= 0;
    found->ttl_ns = left_ms * NS_PER_MS;
    found_end(&keys->nodes[node], asked_ns, found);
    TRY(answer_await(keys, node, &answer, why));
    found->has_value = !answer.error && !answer.null;
    if (found->has_value) {
        keys_value(answer.text.data, answer.text.bytes, &found->value);
        found->has_number = resp_word_number(&answer.text, &found->number);
    }
    return RESULT_OK;
}

/* The client whose command it was that set this value, if it was seen. */
static int32_t owner_find(const struct keys *keys, const struct history_value *value)
{
    for (int32_t i = 0; i < keys->options.client_count; i++) {
        const struct keys_client *client = &keys->clients[i];
        for (uint32_t j = 0; j < client->value_count && j < KEYS_VALUES_MAX; j++) {
            if (history_value_equal(&client->values[j], value)) {
                return i;
            }
        }
    }
    return HISTORY_NOBODY;
}

/* Is it the key that was known? One that was set or extended since has another value or end. */
static bool key_known(const struct keys_key *key, const struct keys_key *found)
{
    bool was = key->present || key->lingers;
    bool same_value =
        !found->has_value || !key->has_value || history_value_equal(&key->value, &found->value);
    bool same_end = !key->has_ttl || (key->earliest_wall_ns <= found->latest_wall_ns &&
                                      key->latest_wall_ns >= found->earliest_wall_ns);
    return was && key->has_ttl == found->has_ttl && same_value && same_end;
}

/* The node read this key back. Its end is an absolute date, so what was known of it holds. */
static void key_back(struct keys *keys, const struct keys_return *back, uint32_t index,
                     const struct keys_key *found)
{
    struct keys_key *key = keys_key_on(keys, index, back->node);
    bool was = key->present || key->lingers;
    bool known = key_known(key, found);
    int64_t now_ns = loop_now_ns();
    if (!known) {
        *key = *found;
        key->shape = found->has_value ? SHAPE_STRING : SHAPE_OTHER;
        key->owner = found->has_value ? owner_find(keys, &found->value) : HISTORY_NOBODY;
        key->fault = HISTORY_NO_FAULT;
        key->earliest_ns = TIME_NEVER;
        key->latest_ns = TIME_NEVER;
    }
    key->present = true;
    key->lingers = false;
    key->number = found->has_number ? found->number : key->number;
    if (key->has_ttl) {
        keys_key_end(keys, back->node, index);
    }
    if (back->cause != CAUSE_NONE || !was || !known) {
        keys_tell_back(keys, back, index, now_ns);
    }
}

/* It is not there any more: its time was up, or it was lost with the node. */
static void key_lost(struct keys *keys, struct keys_return *back, uint32_t index)
{
    struct keys_key *key = keys_key_on(keys, index, back->node);
    int64_t now_ns = loop_now_ns();
    if (!key->present) {
        key->lingers = false;
        return;
    }
    if (key->has_ttl && key->earliest_ns <= now_ns) {
        keys_expire(keys, back->node, index, now_ns);
    } else {
        back->lost += keys->table.names[index].part == KEYS_PART_LOCK ? 1 : 0;
        keys_tell_ending(
            keys, back->node, index,
            &(struct keys_ending){.f = HISTORY_KEY_LOST,
                                  .cause = back->cause,
                                  .fault = back->fault,
                                  .true_ns = back->lost_ns,
                                  .since_ns = back->since_ns != 0 ? back->since_ns : TIME_NEVER});
    }
    key->present = false;
    key->lingers = false;
}

/* Only what belongs to a resource is asked for. */
static struct result keys_read_back(struct keys *keys, struct keys_return *back, struct text *why)
{
    for (uint32_t i = 0; i < keys->table.count; i++) {
        struct keys_key found;
        if (keys->table.names[i].part == KEYS_PART_NONE) {
            keys_key_on(keys, i, back->node)->present = false;
            continue;
        }
        TRY(key_ask(keys, back->node, i, &found, why));
        if (found.present) {
            key_back(keys, back, i, &found);
        } else {
            key_lost(keys, back, i);
        }
    }
    return RESULT_OK;
}

/* For a while nobody heard what the node did. */
static void tell_gap(struct keys *keys, const struct keys_return *back)
{
    int64_t now_ns = loop_now_ns();
    struct history_event event = {
        .time_ns = now_ns - keys->options.start_ns,
        .kind = HISTORY_LATE,
        .f = HISTORY_STOOD_STILL,
        .cause = CAUSE_TAP,
        .process = HISTORY_NOBODY,
        .node = back->node,
        .fault = HISTORY_NO_FAULT,
        .number = {now_ns - back->lost_ns, 0},
    };
    (void)keys->options.emit(keys->options.emit_data, &event);
}

struct result keys_watch_again(struct keys *keys, struct keys_return *back, struct text *why)
{
    struct keys_node *node = &keys->nodes[back->node];
    back->lost = 0;
    if (!keys_kind_tells(keys)) {
        return keys_own_back(keys, back, why);
    }
    if (node->watched) {
        keys_gone(keys, back, false);
    }
    TRY(node_open(keys, back->node, back->address, why));
    if (node->tap.fd >= 0) {
        TRY(keys_read_back(keys, back, why));
    }
    TRY(node_begin(keys, back->node, why));
    if (back->cause == CAUSE_NONE) {
        tell_gap(keys, back);
    }
    return RESULT_OK;
}

void keys_gone(struct keys *keys, struct keys_return *gone, bool forgets)
{
    struct keys_node *node = &keys->nodes[gone->node];
    gone->lost = 0;
    if (node->watched) {
        keys_receive(keys, gone->node);
    }
    node->silent = false;
    if (node->watched) {
        keys_unit_close(keys, gone->node);
        keys_effects_flush(keys, gone->node);
        node->watched = false;
        tap_close(&node->tap);
    }
    for (uint32_t i = 0; i < keys->table.count && forgets; i++) {
        key_lost(keys, gone, i);
    }
}

void keys_handed_on(struct keys *keys, int32_t from, int32_t to)
{
    ASSERT(from != to);
    for (uint32_t i = 0; i < keys->table.count; i++) {
        struct keys_key *key = keys_key_on(keys, i, to);
        *key = *keys_key_on(keys, i, from);
        key->lingers = key->present || key->lingers;
        key->present = false;
    }
}

void keys_deposed(struct keys *keys, struct keys_return *gone)
{
    struct keys_node *node = &keys->nodes[gone->node];
    ASSERT(!node->deposed);
    gone->lost = 0;
    if (node->watched) {
        keys_receive(keys, gone->node);
    }
    for (uint32_t i = 0; i < keys->table.count; i++) {
        key_lost(keys, gone, i);
    }
    node->deposed = true;
    node->deposed_fault = gone->fault;
}

bool keys_went_silent(const struct keys *keys, int32_t node)
{
    return keys->nodes[node].silent;
}

int64_t keys_heard_ns(const struct keys *keys, int32_t node)
{
    return keys->nodes[node].heard_ns;
}
