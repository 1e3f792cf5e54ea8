/* keys_view.c: the view of one key: facts and endings, as events. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "base/duration.h"

/* number * multiplier / divisor without overflow. */
static int64_t scale(int64_t number, int64_t multiplier, int64_t divisor)
{
    return number / divisor * multiplier + number % divisor * multiplier / divisor;
}

int64_t keys_clock_wall(const struct keys_clock *clock, int64_t true_ns)
{
    return clock->base_wall_ns +
           scale(true_ns - clock->base_true_ns, clock->rate_ppm, KEYS_RATE_SOUND_PPM);
}

/* When the clock shows wall_ns; TIME_NEVER if it stands still before that. */
static int64_t clock_true(const struct keys_clock *clock, int64_t wall_ns)
{
    int64_t ahead_ns = wall_ns - clock->base_wall_ns;
    if (clock->rate_ppm == 0) {
        return ahead_ns > 0 ? TIME_NEVER : clock->base_true_ns;
    }
    return clock->base_true_ns + scale(ahead_ns, KEYS_RATE_SOUND_PPM, clock->rate_ppm);
}

struct keys_entry *keys_entry(struct keys *keys, int32_t node, uint32_t resource)
{
    ASSERT(node >= 0 && node < keys->options.node_count);
    ASSERT(resource < keys->options.resource_count);
    return &keys->entries[(size_t)node * keys->options.resource_count + resource];
}

static size_t entry_index(const struct keys *keys, const struct keys_entry *entry)
{
    return (size_t)(entry - keys->entries);
}

struct keys_clock *keys_entry_clock(struct keys *keys, const struct keys_entry *entry)
{
    return &keys->clocks[entry_index(keys, entry) / keys->options.resource_count];
}

struct history_event keys_event(const struct keys *keys, const struct keys_entry *entry,
                                enum history_f f, int64_t true_ns)
{
    size_t index = entry_index(keys, entry);
    struct history_event event = {
        .time_ns = true_ns - keys->options.start_ns,
        .kind = HISTORY_NODE,
        .f = (uint8_t)f,
        .command = REDIS_COMMANDS,
        .process = HISTORY_NOBODY,
        .node = (int32_t)(index / keys->options.resource_count),
        .fault = HISTORY_NO_FAULT,
        .resource = (uint32_t)(index % keys->options.resource_count),
    };
    if (entry->present) {
        event.owner = entry->value;
        event.flags |= HISTORY_HAS_OWNER;
    }
    return event;
}

void keys_event_until(const struct keys *keys, const struct keys_entry *entry,
                      struct history_event *event)
{
    if (entry->present && entry->has_ttl && entry->latest_ns != TIME_NEVER) {
        event->until_ns = entry->latest_ns - keys->options.start_ns;
        event->flags |= HISTORY_HAS_UNTIL;
    }
}

static void keys_emit_event(const struct keys *keys, const struct history_event *event)
{
    keys->options.emit(keys->options.emit_data, event);
}

void keys_gone(struct keys *keys, struct keys_entry *entry, const struct keys_ending *ending)
{
    ASSERT(entry->present);
    struct history_event event =
        keys_event(keys, entry, (enum history_f)ending->f, ending->true_ns);
    event.cause = ending->cause;
    event.fault = ending->fault;
    keys_event_until(keys, entry, &event);
    entry->present = false;
    keys_emit_event(keys, &event);
}

void keys_expire(struct keys *keys, struct keys_entry *entry, int64_t true_ns)
{
    keys_gone(keys, entry,
              &(struct keys_ending){
                  .f = HISTORY_KEY_EXPIRED,
                  .cause = entry->cause,
                  .fault = entry->fault,
                  .true_ns = entry->latest_ns < true_ns ? entry->latest_ns : true_ns,
              });
}

void keys_entry_schedule(struct keys *keys, const struct keys_entry *entry)
{
    if (entry->present && entry->has_ttl && entry->pending == 0 &&
        entry->latest_ns < keys->next_ns) {
        keys->next_ns = entry->latest_ns;
    }
}

void keys_entry_recompute(const struct keys_clock *clock, struct keys_entry *entry)
{
    entry->earliest_ns = clock_true(clock, entry->earliest_wall_ns);
    entry->latest_ns = clock_true(clock, entry->latest_wall_ns);
}

/*
 * A new ttl, counted by the node from some moment between sending and reply. Redis counts whole
 * milliseconds of its wall clock and ends a key when that is past its date: 1 ms on either side.
 */
static void entry_set_ttl(const struct keys_clock *clock, struct keys_entry *entry,
                          const struct keys_fact *fact)
{
    entry->has_ttl = fact->command->ttl_ns > 0;
    entry->cause = clock->rate_ppm == KEYS_RATE_SOUND_PPM ? CAUSE_TTL : CAUSE_CLOCK_RATE;
    entry->fault =
        (int16_t)(clock->rate_ppm == KEYS_RATE_SOUND_PPM ? HISTORY_NO_FAULT : clock->fault);
    if (!entry->has_ttl) {
        entry->earliest_ns = TIME_NEVER;
        entry->latest_ns = TIME_NEVER;
        return;
    }
    int64_t ttl_ns = fact->command->ttl_ns;
    entry->earliest_wall_ns = keys_clock_wall(clock, fact->command->sent_ns) + ttl_ns - NS_PER_MS;
    entry->latest_wall_ns = keys_clock_wall(clock, fact->true_ns) + ttl_ns + NS_PER_MS;
    keys_entry_recompute(clock, entry);
}

/* Keep what the key is before a change. */
static void entry_remember(struct keys_entry *entry, const struct keys_fact *fact)
{
    entry->past = (struct keys_past){
        .known = true,
        .present = entry->present,
        .has_ttl = entry->has_ttl,
        .yes = fact->yes,
        .owner = entry->owner,
        .process = fact->process,
        .value = entry->value,
        .earliest_ns = entry->earliest_ns,
        .latest_ns = entry->latest_ns,
        .true_ns = fact->true_ns,
        .recorded_ns = fact->recorded_ns,
        .command = *fact->command,
    };
}

/* Carry out what a fact that agrees with the view says, and record it. */
static void keys_carry_out(struct keys *keys, struct keys_entry *entry,
                           const struct keys_fact *fact)
{
    const struct keys_command *command = fact->command;
    enum history_f f = keys_event_f(entry, fact);
    struct history_event event = keys_event(keys, entry, f, fact->recorded_ns);
    event.command = command->kind;
    event.process = fact->process;
    if (command->has_value) {
        event.value = command->value;
        event.flags |= HISTORY_HAS_VALUE;
    }
    bool same_owner = entry->owner == fact->process ||
                      (command->has_value && history_value_equal(&entry->value, &command->value));
    const struct keys_clock *clock = keys_entry_clock(keys, entry);
    if (f == HISTORY_KEY_SET || f == HISTORY_KEY_EXTENDED || f == HISTORY_KEY_DELETED) {
        entry_remember(entry, fact);
    }
    if (f == HISTORY_KEY_SET) {
        entry->present = true;
        entry->owner = fact->process;
        entry->value = command->value;
        entry_set_ttl(clock, entry, fact);
    } else if (f == HISTORY_KEY_EXTENDED) {
        event.cause = same_owner ? CAUSE_NONE : CAUSE_FOREIGN;
        entry_set_ttl(clock, entry, fact);
    } else if (f == HISTORY_KEY_DELETED) {
        event.cause = same_owner ? CAUSE_RELEASED : CAUSE_FOREIGN;
        entry->present = false;
    }
    keys_event_until(keys, entry, &event);
    keys_entry_schedule(keys, entry);
    keys_emit_event(keys, &event);
}

/* The view was wrong: something happened that did not pass here. Make it agree. */
static void keys_correct(struct keys *keys, struct keys_entry *entry, const struct keys_fact *fact)
{
    const struct keys_command *command = fact->command;
    bool compares = command->verb == KEYS_EXTEND_COMPARE || command->verb == KEYS_DELETE_COMPARE;
    if (entry->present && entry->has_ttl && command->sent_ns > entry->latest_ns) {
        keys_expire(keys, entry, fact->recorded_ns);
    } else if (entry->present) {
        keys_gone(keys, entry,
                  &(struct keys_ending){.f = HISTORY_KEY_LOST,
                                        .cause = CAUSE_NONE,
                                        .fault = HISTORY_NO_FAULT,
                                        .true_ns = fact->recorded_ns});
    }
    if (compares && fact->yes) {
        entry->present = true;
        entry->has_ttl = false;
        entry->owner = HISTORY_NOBODY;
        entry->value = command->value;
        entry->earliest_ns = TIME_NEVER;
        entry->latest_ns = TIME_NEVER;
    }
}

/* The last command that was never answered may have been applied: see if that explains `fact`. */
static void keys_try_maybe(struct keys *keys, struct keys_entry *entry,
                           const struct keys_fact *fact)
{
    if (!entry->maybe_set) {
        return;
    }
    entry->maybe_set = false;
    struct keys_command command = entry->maybe;
    struct keys_fact maybe = {&command, entry->maybe_process, true, fact->true_ns,
                              fact->recorded_ns};
    enum keys_agreement agreement = keys_judge(entry, &maybe);
    if (agreement == KEYS_CONTRADICTS) {
        return;
    }
    if (agreement == KEYS_AGREES_EXPIRED) {
        keys_expire(keys, entry, fact->recorded_ns);
    }
    keys_carry_out(keys, entry, &maybe);
}

/*
 * The reply of another connection overtook this one: see if the command ran before the last change,
 * and the change still agrees then. It is recorded just before it, and moves nothing.
 */
static bool keys_take_past(struct keys *keys, struct keys_entry *entry,
                           const struct keys_fact *fact)
{
    struct keys_entry now = *entry;
    const struct keys_past *past = &now.past;
    if (!past->known || fact->command->sent_ns > past->true_ns) {
        return false;
    }
    struct keys_entry before = now;
    before.present = past->present;
    before.has_ttl = past->has_ttl;
    before.owner = past->owner;
    before.value = past->value;
    before.earliest_ns = past->earliest_ns;
    before.latest_ns = past->latest_ns;
    struct keys_entry after = before;
    enum history_f f = keys_event_f(&before, fact);
    bool moves = f == HISTORY_KEY_SET || f == HISTORY_KEY_EXTENDED;
    after.present = moves || (f != HISTORY_KEY_DELETED && before.present);
    after.value = moves ? fact->command->value : before.value;
    struct keys_fact last = {&past->command, past->process, past->yes, past->true_ns,
                             past->recorded_ns};
    if (keys_judge(&before, fact) != KEYS_AGREES || keys_judge(&after, &last) != KEYS_AGREES) {
        return false;
    }
    struct keys_fact earlier = *fact;
    if (earlier.recorded_ns >= past->recorded_ns) {
        earlier.recorded_ns = past->recorded_ns - 1;
    }
    *entry = before;
    keys_carry_out(keys, entry, &earlier);
    *entry = now;
    return true;
}

void keys_take_episode(struct keys *keys, struct keys_entry *entry, const struct keys_fact *set,
                       const struct keys_fact *deletion)
{
    struct keys_entry now = *entry;
    struct keys_fact first = *set;
    struct keys_fact second = *deletion;
    first.recorded_ns = now.past.recorded_ns - 2;
    second.recorded_ns = now.past.recorded_ns - 1;
    entry->present = false;
    keys_carry_out(keys, entry, &first);
    keys_carry_out(keys, entry, &second);
    *entry = now;
}

bool keys_take(struct keys *keys, struct keys_entry *entry, const struct keys_fact *fact,
               bool force)
{
    enum keys_agreement agreement = keys_judge(entry, fact);
    if (agreement == KEYS_CONTRADICTS && keys_take_past(keys, entry, fact)) {
        return true;
    }
    if (agreement != KEYS_AGREES && !force) {
        return false; /* an end that was perhaps not the ttl's: a deletion may be on its way */
    }
    if (agreement == KEYS_CONTRADICTS) {
        keys_try_maybe(keys, entry, fact);
        agreement = keys_judge(entry, fact);
    }
    if (agreement == KEYS_AGREES_EXPIRED) {
        keys_expire(keys, entry, fact->recorded_ns);
    } else if (agreement == KEYS_CONTRADICTS) {
        keys_correct(keys, entry, fact);
    }
    keys_carry_out(keys, entry, fact);
    return true;
}
