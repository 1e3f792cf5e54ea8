/* keys.c: what passes between clients and nodes, and replies that come out of order. */
#include "harness/real/keys/keys.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "harness/real/keys/keys_inner.h"

#include <string.h>

static void deferred_remove(struct keys *keys, uint32_t i)
{
    keys->deferred_count--;
    memmove(&keys->deferred[i], &keys->deferred[i + 1],
            (keys->deferred_count - i) * sizeof keys->deferred[0]);
}

static bool deferred_take(struct keys *keys, uint32_t i, bool force)
{
    struct keys_deferred deferred = keys->deferred[i];
    deferred.fact.command = &deferred.command;
    if (!keys_take(keys, deferred.entry, &deferred.fact, force)) {
        return false;
    }
    deferred_remove(keys, i);
    return true;
}

static void keys_defer(struct keys *keys, struct keys_entry *entry, const struct keys_fact *fact)
{
    if (keys->deferred_count == KEYS_DEFERRED_MAX) {
        (void)deferred_take(keys, 0, true);
    }
    struct keys_deferred *deferred = &keys->deferred[keys->deferred_count++];
    deferred->command = *fact->command;
    deferred->fact = *fact;
    deferred->entry = entry;
    deferred->waits = entry->pending;
}

/* Does a fact of the same client wait before place `end`? Its commands run in their order. */
static bool deferred_before(const struct keys *keys, const struct keys_entry *entry,
                            int32_t process, uint32_t end)
{
    for (uint32_t i = 0; i < end; i++) {
        const struct keys_deferred *deferred = &keys->deferred[i];
        if (deferred->entry == entry && deferred->fact.process == process) {
            return true;
        }
    }
    return false;
}

/*
 * A command on the key is answered, or never will be: look again at what waits for that. Each one
 * taken may make another agree, so it begins anew; it ends because each turn takes one away.
 */
static void deferred_review(struct keys *keys, const struct keys_entry *entry, int64_t sent_ns)
{
    for (uint32_t i = 0; i < keys->deferred_count; i++) {
        struct keys_deferred *deferred = &keys->deferred[i];
        if (deferred->entry == entry && sent_ns <= deferred->fact.true_ns && deferred->waits > 0) {
            deferred->waits--;
        }
    }
    uint32_t i = 0;
    while (i < keys->deferred_count) {
        const struct keys_deferred *deferred = &keys->deferred[i];
        if (deferred->entry == entry && !deferred_before(keys, entry, deferred->fact.process, i) &&
            deferred_take(keys, i, deferred->waits == 0)) {
            i = 0;
        } else {
            i++;
        }
    }
}

/* Nothing that is recorded now may come behind what waits for it. */
static int64_t deferred_first_ns(const struct keys *keys, const struct keys_entry *entry,
                                 int64_t true_ns)
{
    for (uint32_t i = 0; i < keys->deferred_count; i++) {
        const struct keys_deferred *deferred = &keys->deferred[i];
        if (deferred->entry == entry && deferred->fact.true_ns < true_ns) {
            true_ns = deferred->fact.true_ns;
        }
    }
    return true_ns;
}

struct keys *keys_new(const struct keys_options *options)
{
    ASSERT(options->node_count > 0);
    ASSERT(options->emit != NULL);
    size_t entries = (size_t)options->node_count * options->resource_count;
    struct keys *keys = memory_resize(NULL, sizeof *keys + entries * sizeof keys->entries[0]);
    struct keys_clock *clocks =
        memory_resize(NULL, (size_t)options->node_count * sizeof *keys->clocks);
    if (keys == NULL || clocks == NULL) {
        memory_release(keys);
        memory_release(clocks);
        return NULL;
    }
    memset(keys, 0, sizeof *keys + entries * sizeof keys->entries[0]);
    keys->options = *options;
    keys->clocks = clocks;
    keys->next_ns = TIME_NEVER;
    if (!keys_names_init(&keys->names, options->resource_names, options->resource_count)) {
        keys_free(keys);
        return NULL;
    }
    keys_scripts_init(&keys->scripts);
    for (int32_t node = 0; node < options->node_count; node++) {
        clocks[node] =
            (struct keys_clock){options->start_ns, 0, KEYS_RATE_SOUND_PPM, HISTORY_NO_FAULT};
    }
    return keys;
}

void keys_free(struct keys *keys)
{
    if (keys != NULL) {
        memory_release(keys->names.slot);
        memory_release(keys->clocks);
        memory_release(keys);
    }
}

uint32_t keys_resource(const struct keys *keys, const char *name, size_t bytes)
{
    return keys_names_find(&keys->names, name, bytes);
}

void keys_read(struct keys *keys, const struct resp_words *words, struct keys_command *command)
{
    keys_command_read(&keys->scripts, &keys->names, words, command);
}

void keys_sent(struct keys *keys, const struct keys_passage *passage)
{
    struct keys_command *command = passage->command;
    command->sent_ns = passage->true_ns;
    for (uint8_t i = 0; i < command->key_count; i++) {
        keys_entry(keys, passage->node, command->resource[i])->pending++;
    }
}

/* The command is not under way any more. */
static void keys_settled(struct keys *keys, struct keys_entry *entry, int64_t sent_ns)
{
    ASSERT(entry->pending > 0);
    entry->pending--;
    if (keys->deferred_count > 0) {
        deferred_review(keys, entry, sent_ns);
    }
    keys_entry_schedule(keys, entry);
}

static bool keys_yes(const struct keys_command *command, const struct keys_reply *reply)
{
    if ((command->flags & KEYS_FLAG_NIL_IS_YES) != 0) {
        return reply->type == REDIS_SAID_NIL;
    }
    return reply->type == REDIS_SAID_OK ||
           (reply->type == REDIS_SAID_INTEGER && reply->integer > 0);
}

static void keys_refused(struct keys *keys, const struct keys_passage *passage)
{
    const struct keys_command *command = passage->command;
    const struct keys_entry *entry = keys_entry(keys, passage->node, command->resource[0]);
    struct history_event event = keys_event(keys, entry, HISTORY_NODE_ERROR, passage->true_ns);
    event.command = command->kind;
    event.process = passage->process;
    if (command->has_value) {
        event.value = command->value;
        event.flags |= HISTORY_HAS_VALUE;
    }
    keys->options.emit(keys->options.emit_data, &event);
}

/*
 * A deletion of a value that the view never saw: its SET waits here, and both ran before the last
 * change, whose reply overtook theirs.
 */
static bool deferred_episode(struct keys *keys, struct keys_entry *entry,
                             const struct keys_fact *deletion)
{
    const struct keys_past *past = &entry->past;
    if (deletion->command->verb != KEYS_DELETE_COMPARE || !deletion->yes || !past->known ||
        deletion->command->sent_ns > past->true_ns) {
        return false;
    }
    for (uint32_t i = 0; i < keys->deferred_count; i++) {
        struct keys_deferred set = keys->deferred[i];
        set.fact.command = &set.command;
        if (set.entry == entry && set.fact.yes && set.command.verb == KEYS_SET_ABSENT &&
            set.command.sent_ns <= past->true_ns &&
            history_value_equal(&set.command.value, &deletion->command->value)) {
            deferred_remove(keys, i);
            keys_take_episode(keys, entry, &set.fact, deletion);
            return true;
        }
    }
    return false;
}

/* No other answer can explain `fact`: what waits for it is taken first, the oldest first. */
static void keys_settle_all(struct keys *keys, struct keys_entry *entry,
                            const struct keys_fact *fact)
{
    uint32_t i = 0;
    while (i < keys->deferred_count) {
        if (keys->deferred[i].entry != entry) {
            i++;
            continue;
        }
        (void)deferred_take(keys, i, true);
        if (!deferred_before(keys, entry, fact->process, keys->deferred_count) &&
            keys_take(keys, entry, fact, false)) {
            return;
        }
    }
    (void)keys_take(keys, entry, fact, true);
}

/* What the reply says about one key of the command. */
static void keys_learn(struct keys *keys, struct keys_entry *entry,
                       const struct keys_passage *passage, bool yes)
{
    struct keys_fact fact = {passage->command, passage->process, yes, passage->true_ns,
                             deferred_first_ns(keys, entry, passage->true_ns)};
    bool alone = entry->pending == 1;
    bool first = !deferred_before(keys, entry, passage->process, keys->deferred_count);
    if ((first && keys_take(keys, entry, &fact, false)) || deferred_episode(keys, entry, &fact)) {
        return;
    }
    if (alone) {
        keys_settle_all(keys, entry, &fact);
        return;
    }
    fact.recorded_ns = passage->true_ns;
    keys_defer(keys, entry, &fact);
}

void keys_answered(struct keys *keys, const struct keys_passage *passage,
                   const struct resp_reply *reply, struct keys_reply *read)
{
    const struct keys_command *command = passage->command;
    keys_reply_read(reply, read);
    bool told = read->type != REDIS_SAID_OTHER && !read->error;
    if (command->verb == KEYS_FLUSH && told) {
        keys_evicted(keys, &(struct keys_eviction){.node = passage->node,
                                                   .fault = HISTORY_NO_FAULT,
                                                   .resource = KEYS_NO_RESOURCE,
                                                   .true_ns = passage->true_ns});
    }
    bool effective = command->verb != KEYS_NONE && command->verb != KEYS_FLUSH;
    if (read->type == REDIS_SAID_ERROR && effective && command->key_count > 0) {
        keys_refused(keys, passage);
    }
    for (uint8_t i = 0; i < command->key_count; i++) {
        struct keys_entry *entry = keys_entry(keys, passage->node, command->resource[i]);
        if (effective && told) {
            keys_learn(keys, entry, passage, keys_yes(command, read));
        }
        keys_settled(keys, entry, command->sent_ns);
    }
}

void keys_unanswered(struct keys *keys, const struct keys_passage *passage)
{
    const struct keys_command *command = passage->command;
    bool effective = command->verb != KEYS_NONE && command->verb != KEYS_FLUSH;
    for (uint8_t i = 0; i < command->key_count; i++) {
        struct keys_entry *entry = keys_entry(keys, passage->node, command->resource[i]);
        if (effective) {
            entry->maybe_set = true;
            entry->maybe = *command;
            entry->maybe_process = passage->process;
        }
        keys_settled(keys, entry, command->sent_ns);
    }
}

void keys_look(struct keys *keys, int32_t node, uint32_t resource, int64_t true_ns,
               struct keys_view *view)
{
    const struct keys_entry *entry = keys_entry(keys, node, resource);
    memset(view, 0, sizeof *view);
    view->owner = HISTORY_NOBODY;
    if (entry->present && (!entry->has_ttl || true_ns < entry->latest_ns)) {
        view->present = true;
        view->value = entry->value;
        view->owner = entry->owner;
        view->earliest_ns = entry->has_ttl ? entry->earliest_ns : TIME_NEVER;
        view->latest_ns = entry->has_ttl ? entry->latest_ns : TIME_NEVER;
    }
}
