/* keys_tap.c: what a node tells, cut into units: one command, one script, one transaction. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "harness/real/process/loop.h"

#include <string.h>

/* What its node's clock showed: by the stamp, or for a distant node when it came. */
static int64_t line_wall_ns(const struct keys_node *from, const struct monitor_message *line)
{
    return from->distant ? keys_clock_wall(&from->clock, loop_now_ns()) : line->wall_us * NS_PER_US;
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Events of what a unit did; its command is shown now. */
void keys_unit_close(struct keys *keys, int32_t node)
{
    struct keys_node *from = &keys->nodes[node];
    struct keys_unit *unit = &from->unit;
    if (!unit->open) {
        return;
    }
    struct keys_deed deed = {.seen = true, .resource = KEYS_NO_RESOURCE};
    keys_learn(keys, node, unit);
    keys_tell_unit(keys, node, &deed);
    unit->told = deed.told;
    if (deed.did != 0) {
        keys_habit_seen(keys, &unit->command, deed.did);
    }
    unit->open = false;
    if (unit->channel != NULL && unit->number != KEYS_NO_NUMBER) {
        keys_channel_shown(unit->channel, unit->number, &deed);
    }
    keys_table_tidy(keys);
}

static struct keys_unit *unit_open(struct keys *keys, int32_t node, int64_t wall_ns)
{
    struct keys_node *from = &keys->nodes[node];
    struct keys_unit *unit = &from->unit;
    keys_unit_close(keys, node);
    unit->open = true;
    unit->script = false;
    unit->transaction = false;
    unit->ran = false;
    unit->by_command = false;
    unit->process = HISTORY_NOBODY;
    unit->channel = NULL;
    unit->number = KEYS_NO_NUMBER;
    unit->wall_ns = wall_ns;
    unit->since_wall_ns = from->wall_ns;
    unit->true_ns = loop_now_ns();
    unit->since_ns = from->seen_ns;
    unit->between = false;
    memset(&unit->command, 0, sizeof unit->command);
    unit->command.kind = REDIS_COMMANDS;
    unit->command.role = ROLE_OTHER;
    unit->command.ask = ASK_OTHER;
    unit->word_count = 0;
    unit->change_count = 0;
    unit->mention_count = 0;
    return unit;
}

/* What happens to a key by itself, or by a command that nobody shows. */
struct keys_unit *keys_unit_alone(struct keys *keys, int32_t node)
{
    struct keys_node *from = &keys->nodes[node];
    return unit_open(keys, node, keys_clock_wall(&from->clock, loop_now_ns()));
}

static void unit_words(struct keys_unit *unit, const struct resp_words *words)
{
    for (uint32_t i = 1; i < words->count && unit->word_count < RESP_WORDS_MAX; i++) {
        keys_value(words->word[i].data, words->word[i].bytes, &unit->words[unit->word_count++]);
    }
}

/* It came after the command was sent; a stamp is made afterwards, on a busy machine much later. */
static void unit_between(const struct keys_node *from, struct keys_unit *unit, int64_t sent_ns)
{
    unit->since_ns = sent_ns > from->seen_ns ? sent_ns : from->seen_ns;
    unit->since_wall_ns = keys_clock_wall(&from->clock, unit->since_ns);
    unit->between = true;
}

/* A top-level line begins a unit, or is one of the commands of a transaction. */
static struct keys_unit *unit_of_line(struct keys *keys, int32_t node,
                                      const struct monitor_message *line)
{
    struct keys_node *from = &keys->nodes[node];
    struct keys_channel *channel = keys_channel_find(from, line->port);
    struct keys_command command;
    uint64_t number = KEYS_NO_NUMBER;
    enum effect_ask ask = effect_ask(&line->words);
    bool ends = ask == ASK_EXEC || ask == ASK_DISCARD;
    if (channel != NULL && (!channel->queued || ends)) {
        number = keys_channel_line(channel, &line->words, &command);
    } else {
        keys_words_read(keys, &line->words, &command);
        command.client = HISTORY_NOBODY;
        if (channel != NULL) {
            keys_thread_read(keys, channel->route.client, &line->words, &command);
        }
    }
    struct keys_unit *unit = &from->unit;
    bool inside = unit->open && unit->transaction && unit->channel == channel && channel != NULL;
    if (!inside) {
        unit = unit_open(keys, node, line_wall_ns(from, line));
        unit->by_command = true;
        unit->channel = channel;
        unit->process = command.client;
        unit->transaction = channel != NULL && channel->queued && command.ask != ASK_MULTI;
        unit->true_ns = keys_stamp_true(from, unit->wall_ns, command.sent_ns);
        bool sent = command.sent_ns != 0 && command.sent_ns >= from->clock.base_true_ns;
        if (from->distant || sent) {
            unit_between(from, unit, command.sent_ns);
        }
    }
    if (channel != NULL) {
        channel->queued = command.ask == ASK_MULTI || (channel->queued && command.ask != ASK_EXEC &&
                                                       command.ask != ASK_DISCARD);
    }
    unit->number = number != KEYS_NO_NUMBER ? number : unit->number;
    if (inside && !ends && command.ask != ASK_MULTI) {
        unit->process = command.client; /* its own words say whose it is, MULTI and EXEC do not */
    }
    unit->command = command;
    unit->script = command.ask == ASK_SCRIPT;
    unit_words(unit, &line->words);
    return unit;
}

/* One more line of it: a script's own is stamped when it begins, and its inside when it is done. */
static void unit_goes_on(const struct keys_node *from, struct keys_unit *unit, int64_t wall_ns)
{
    if (wall_ns > unit->wall_ns) {
        unit->wall_ns = wall_ns;
        unit->true_ns = keys_stamp_true(from, wall_ns, unit->command.sent_ns);
    }
}

/* Does all that the unit did stand before us? A script's inside follows its line. */
static bool unit_is_whole(const struct keys_unit *unit)
{
    bool queue =
        unit->transaction && unit->command.ask != ASK_EXEC && unit->command.ask != ASK_DISCARD;
    return !unit->script && !queue;
}

static void unit_mention(struct keys_unit *unit, uint32_t resource)
{
    for (uint32_t i = 0; i < unit->mention_count; i++) {
        if (unit->mentions[i] == resource) {
            return;
        }
    }
    if (unit->mention_count < KEYS_MENTIONS_MAX) {
        unit->mentions[unit->mention_count++] = resource;
    }
}

/* Which locks the words name, whether or not anything became of it. */
static void unit_mentions(struct keys *keys, struct keys_unit *unit,
                          const struct monitor_message *line)
{
    for (uint32_t i = 1; i < line->words.count; i++) {
        uint32_t name = keys_table_find(&keys->table, &line->words.word[i], line->database);
        if (name != UINT32_MAX && keys->table.names[name].part == KEYS_PART_LOCK) {
            unit_mention(unit, keys->table.names[name].resource);
        }
    }
}

/* ---- effects --------------------------------------------------------------------------------- */

static void effect_alone(struct keys *keys, int32_t node, const struct keys_effect *effect)
{
    (void)keys_unit_alone(keys, node);
    keys_change(keys, node, effect, NULL);
    keys_unit_close(keys, node);
}

/* No line has come for these: nobody's command did them. */
void keys_effects_flush(struct keys *keys, int32_t node)
{
    struct keys_node *from = &keys->nodes[node];
    for (uint32_t i = 0; i < from->effect_count; i++) {
        effect_alone(keys, node, &from->effects[i]);
    }
    from->effect_count = 0;
    from->effect_bytes = 0;
}

/* An end at about its time, not told yet: the next line may say that it came earlier. */
static bool effect_in_time(struct keys *keys, int32_t node, const struct keys_effect *effect)
{
    enum effect_shape shape;
    uint32_t name = keys_table_find(&keys->table, &effect->key, effect->database);
    if (name == UINT32_MAX || effect_event(&effect->text, &shape) != EFFECT_EXPIRED) {
        return false;
    }
    const struct keys_key *key = keys_key_on(keys, name, node);
    return key->present && key->has_ttl && key->earliest_ns <= loop_now_ns();
}

/* Nothing is under way: whatever came by itself is told, but for what time itself tells. */
static void effects_rest(struct keys *keys, int32_t node)
{
    struct keys_node *from = &keys->nodes[node];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < from->effect_count; i++) {
        struct keys_effect effect = from->effects[i];
        if (effect_in_time(keys, node, &effect)) {
            from->effects[kept++] = effect;
        } else {
            effect_alone(keys, node, &effect);
        }
    }
    from->effect_count = kept;
    from->effect_bytes = kept > 0 ? from->effect_bytes : 0;
}

static bool effect_copy(struct keys_node *node, const struct resp_word *word,
                        struct resp_word *copy)
{
    if (node->effect_bytes + word->bytes > KEYS_EFFECT_BYTES) {
        return false;
    }
    copy->data = node->effect_memory + node->effect_bytes;
    copy->bytes = word->bytes;
    memcpy(node->effect_memory + node->effect_bytes, word->data, word->bytes);
    node->effect_bytes += word->bytes;
    return true;
}

/* It waits for the line of the command that did it. */
static void effect_wait(struct keys *keys, int32_t node, const struct monitor_message *message)
{
    struct keys_node *from = &keys->nodes[node];
    struct keys_effect effect = {.database = message->database};
    if (from->effect_count == KEYS_EFFECTS_MAX || !effect_copy(from, &message->key, &effect.key) ||
        !effect_copy(from, &message->text, &effect.text)) {
        keys_effects_flush(keys, node);
        if (!effect_copy(from, &message->key, &effect.key) ||
            !effect_copy(from, &message->text, &effect.text)) {
            return; /* a name that is far beyond what is followed */
        }
    }
    from->effects[from->effect_count++] = effect;
}

/* A key that a command does not name changed by itself before it. */
static void effects_before(struct keys *keys, int32_t node, const struct monitor_message *line)
{
    struct keys_node *from = &keys->nodes[node];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < from->effect_count; i++) {
        struct keys_effect effect = from->effects[i];
        if (effect_names(&line->words, &effect.key)) {
            from->effects[kept++] = effect;
        } else {
            effect_alone(keys, node, &effect);
        }
    }
    from->effect_count = kept;
}

/* Those of the line's command. */
static void effects_take(struct keys *keys, int32_t node, const struct monitor_message *line)
{
    struct keys_node *from = &keys->nodes[node];
    for (uint32_t i = 0; i < from->effect_count; i++) {
        const struct keys_effect *effect = &from->effects[i];
        bool named = effect_names(&line->words, &effect->key);
        keys_change(keys, node, effect, named ? &line->words : NULL);
    }
    from->effect_count = 0;
    from->effect_bytes = 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void line_flush(struct keys *keys, int32_t node, const struct monitor_message *line)
{
    enum effect_ask ask = effect_ask(&line->words);
    if (ask != ASK_FLUSH && ask != ASK_FLUSH_ONE) {
        return;
    }
    for (uint32_t i = 0; i < keys->table.count; i++) {
        struct keys_key *key = keys_key_on(keys, i, node);
        if (ask == ASK_FLUSH_ONE && keys->table.names[i].database != line->database) {
            continue;
        }
        if (key->present) {
            keys_tell_ending(keys, node, i,
                             &(struct keys_ending){.f = HISTORY_KEY_LOST,
                                                   .cause = CAUSE_FLUSH,
                                                   .fault = HISTORY_NO_FAULT,
                                                   .true_ns = keys->nodes[node].unit.true_ns,
                                                   .since_ns = TIME_NEVER});
        }
        key->present = false;
        key->lingers = false;
    }
}

/* The word that opens the server, which the proxy says on the client's connection. */
static bool line_is_proxys(const struct monitor_message *line, const struct keys_unit *unit)
{
    return !line->inside && unit->number == KEYS_NO_NUMBER && line->words.count > 0 &&
           resp_word_is(&line->words.word[0], "AUTH");
}

static void line_shown(struct keys *keys, int32_t node, const struct monitor_message *line,
                       const struct keys_unit *unit)
{
    const struct keys_client *client = keys_client_at(keys, unit->process);
    if (keys->options.shown == NULL || line_is_proxys(line, unit)) {
        return;
    }
    struct keys_shown shown = {
        .client = unit->process,
        .node = node,
        .inside = line->inside,
        .f = client != NULL && client->asks ? client->f : HISTORY_READ,
        .true_ns = unit->true_ns,
        .words = &line->words,
    };
    keys->options.shown(keys->options.emit_data, &shown);
}

static void take_line(struct keys *keys, int32_t node, const struct monitor_message *line)
{
    struct keys_node *from = &keys->nodes[node];
    bool orphan = line->inside && !from->unit.open;
    int64_t wall_ns = line_wall_ns(from, line);
    if (!line->inside || orphan) {
        bool transaction = from->unit.open && from->unit.transaction;
        if (!transaction) {
            keys_unit_close(keys, node);
            /* By the last stamp everything before this line was done. */
            keys_expire_until(keys, node, from->seen_ns);
            effects_before(keys, node, line);
        }
        (void)unit_of_line(keys, node, line);
    }
    struct keys_unit *unit = &from->unit;
    unit_goes_on(from, unit, wall_ns);
    line_shown(keys, node, line, unit);
    unit->ran = unit->ran || line->inside;
    effects_take(keys, node, line);
    unit_mentions(keys, unit, line);
    line_flush(keys, node, line);
    /* All before this line is over: since its stamp, or since its command was sent. */
    int64_t seen_ns = from->distant ? unit->since_ns : keys_stamp_seen(from, wall_ns);
    from->wall_ns = wall_ns;
    from->seen_ns = seen_ns > from->seen_ns ? seen_ns : from->seen_ns;
    if (unit_is_whole(unit)) {
        keys_unit_close(keys, node);
        keys_expire_until(keys, node, from->seen_ns);
    }
}

/*
 * An eviction needs no line, and nor does an end that was told. Another end waits for the next one:
 * it came before that at the latest, which may be earlier than what we know of it.
 */
static bool ends_by_itself(struct keys *keys, int32_t node, const struct monitor_message *message)
{
    enum effect_shape shape;
    enum effect_event event = effect_event(&message->text, &shape);
    uint32_t name = keys_table_find(&keys->table, &message->key, message->database);
    if (event == EFFECT_EVICTED) {
        return true;
    }
    return event == EFFECT_EXPIRED && name != UINT32_MAX && keys_key_on(keys, name, node)->lingers;
}

static void take_effect(struct keys *keys, int32_t node, const struct monitor_message *message)
{
    struct keys_node *from = &keys->nodes[node];
    struct keys_effect effect = {message->database, message->key, message->text};
    if (ends_by_itself(keys, node, message) && !from->unit.open) {
        effect_alone(keys, node, &effect);
    } else {
        effect_wait(keys, node, message);
    }
}

static void take_message(struct keys *keys, int32_t node, const struct monitor_message *message)
{
    switch ((enum monitor_type)message->type) {
    case MONITOR_EFFECT:
        take_effect(keys, node, message);
        return;
    case MONITOR_LINE:
        take_line(keys, node, message);
        return;
    case MONITOR_ANSWER: /* a barrier: whatever was under way is over */
        keys_unit_close(keys, node);
        effects_rest(keys, node);
        return;
    case MONITOR_OTHER:
        return;
    }
    UNREACHABLE();
}

static void tap_lost(struct keys *keys, int32_t node)
{
    struct keys_node *from = &keys->nodes[node];
    keys_unit_close(keys, node);
    keys_effects_flush(keys, node);
    from->watched = false;
    from->silent = true;
    tap_close(&from->tap);
}

void keys_receive(struct keys *keys, int32_t node)
{
    struct keys_node *from = &keys->nodes[node];
    struct monitor_message message;
    if (!from->watched) {
        return;
    }
    tap_receive(&from->tap);
    from->heard_ns = from->tap.ended ? from->heard_ns : loop_now_ns();
    while (tap_next(&from->tap, &message)) {
        take_message(keys, node, &message);
    }
    if (from->tap.ended) {
        tap_lost(keys, node);
    }
    keys_channels_free(from, false);
}

void keys_ask(struct keys *keys)
{
    for (int32_t i = 0; i < keys->options.node_count; i++) {
        struct keys_node *node = &keys->nodes[i];
        if (node->ask && node->watched) {
            node->ask = false;
            tap_ask(&node->tap);
        }
    }
}

int keys_fd(const struct keys *keys, int32_t node)
{
    return keys->nodes[node].watched ? keys->nodes[node].tap.fd : -1;
}
