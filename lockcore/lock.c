/* lock.c: the one door of the lock core: checks an event, dispatches it, asks for the next wake. */
#include "lockcore/lock.h"

#include "base/assert.h"
#include "lockcore/algorithms.h"
#include "lockcore/state.h"

#include <string.h>

/* memcmp compares locks and effects, so no byte of them may be padding. */
_Static_assert(sizeof(struct lock_command) == 4 + 4 + 4 + LOCK_VALUE_BYTES + 8 + 8, "no padding");
_Static_assert(sizeof(struct lock_effect) ==
                   4 + LOCK_VALUE_BYTES + sizeof(struct lock_command) + 4 * 8,
               "no padding");
_Static_assert(sizeof(struct lock_config) == 4 * 2 + 2 * 4 + 6 * 8, "no padding");
_Static_assert(sizeof(struct lock) ==
                   sizeof(struct lock_config) + 5 * 4 + LOCK_VALUE_BYTES + 5 * 8 + LOCK_OWN_BYTES,
               "no padding");

static const struct lock_algorithm *algorithm_of(const struct lock *lock)
{
    return lock_algorithm_at(lock->config.algorithm);
}

void lock_move(struct lock *lock, enum lock_state state)
{
    ASSERT(lock->state < LOCK_STATES);
    ASSERT((algorithm_of(lock)->moves[lock->state] & (1u << state)) != 0);
    lock->state = state;
}

static struct lock_effect *effect_add(struct lock_effects *effects, enum lock_effect_type type)
{
    ASSERT(effects->count < LOCK_EFFECTS_MAX);
    struct lock_effect *effect = &effects->list[effects->count++];
    memset(effect, 0, sizeof *effect);
    effect->type = (uint8_t)type;
    return effect;
}

void lock_send(const struct lock *lock, uint32_t node_index, const struct lock_command *command,
               struct lock_effects *effects)
{
    ASSERT(node_index < lock->config.node_count);
    const struct lock_command_row *row = lock_row_of(lock, command->kind);
    struct lock_effect *effect = effect_add(effects, LOCK_EFFECT_SEND);
    effect->node_index = (uint8_t)node_index;
    effect->command = *command;
    effects->marks |= lock_verb_asks((enum lock_verb)row->verb) ? LOCK_MARK_ASKS : 0;
}

struct lock_effect *lock_tell(struct lock_effects *effects, enum lock_told told,
                              enum lock_reason reason, const struct lock_value *value)
{
    struct lock_effect *effect = effect_add(effects, LOCK_EFFECT_TELL);
    effect->told = (uint8_t)told;
    effect->reason = (uint8_t)reason;
    effect->value = *value;
    return effect;
}

void lock_init(struct lock *lock, const struct lock_config *config)
{
    const struct lock_algorithm *algorithm = lock_algorithm_at(config->algorithm);
    ASSERT(algorithm->dialect->row_count <= LOCK_COMMANDS_MAX);
    ASSERT(config->node_count > config->replica_count);
    ASSERT(config->replica_count == 0 || lock_votes(config) == 1);
    ASSERT(lock_votes(config) >= algorithm->nodes_min);
    ASSERT(lock_votes(config) <= algorithm->nodes_max);
    ASSERT(config->wait_count > 0 || !algorithm->waits);
    ASSERT(config->wait_ns >= 0 && config->wait_ns <= DURATION_NS_MAX);
    ASSERT(config->ttl_ns > 0 && config->ttl_ns <= DURATION_NS_MAX);
    ASSERT(config->node_timeout_ns > 0 && config->node_timeout_ns <= DURATION_NS_MAX);
    ASSERT(config->drift_ppm >= 0 && config->drift_ppm <= 1000000);
    ASSERT(config->retry_delay_ns >= 0 && config->retry_delay_ns <= DURATION_NS_MAX);
    ASSERT(config->retry_jitter_ns >= 0 && config->retry_jitter_ns <= DURATION_NS_MAX);
    memset(lock, 0, sizeof *lock);
    lock->config = *config;
    lock->state = LOCK_STATE_IDLE;
    lock->wake_ns = TIME_NEVER;
    lock_assert_valid(lock);
}

/* Ask for the earliest time at which anything is due, if that is not what was asked for last. */
static void wake_update(struct lock *lock, struct lock_effects *effects)
{
    int64_t wake_ns = algorithm_of(lock)->wake_ns(lock);
    if (wake_ns != lock->wake_ns) {
        lock->wake_ns = wake_ns;
        effect_add(effects, LOCK_EFFECT_WAKE)->at_ns = wake_ns;
    }
}

/* The node did not know the short form, and nothing was done. */
static bool asks_for_long_form(const struct lock *lock, const struct lock_event *event)
{
    return event->type == LOCK_EVENT_REPLY && event->reply.type == LOCK_REPLY_LONG_FORM &&
           event->command.form == LOCK_FORM_SHORT &&
           lock_row_of(lock, event->command.kind)->has_long_form;
}

/*
 * Send it at length, in the same round. What frees a key is sent whenever that is told: behind a
 * set that came as late, nobody else would delete its key. An extension that others have decided is
 * sent as long as the lock is held: it compares the value, so that being late does no harm, and
 * without it the node never knows the script and its key runs out. Any other late command is of no
 * use.
 */
static void send_long_form(const struct lock *lock, const struct lock_event *event,
                           struct lock_effects *effects)
{
    enum lock_verb verb = (enum lock_verb)lock_row_of(lock, event->command.kind)->verb;
    bool newest = event->command.attempt == lock->attempt;
    bool waited_for = newest && (lock->pending & lock_bit(event->node_index)) != 0;
    bool extends = newest && lock->state == LOCK_STATE_HELD && verb == LOCK_VERB_EXTEND_COMPARE;
    if (waited_for || extends || lock_verb_frees(verb)) {
        struct lock_command command = event->command;
        command.form = LOCK_FORM_LONG;
        lock_send(lock, event->node_index, &command, effects);
    }
}

static void event_assert_valid(const struct lock *lock, const struct lock_event *event)
{
    ASSERT(event->type <= LOCK_EVENT_PUSH);
    bool told = event->type == LOCK_EVENT_REPLY || event->type == LOCK_EVENT_PUSH;
    if (told || event->type == LOCK_EVENT_BROKEN) {
        ASSERT(event->node_index < lock->config.node_count);
    }
    if (told) {
        ASSERT(event->reply.type < LOCK_REPLY_TYPES);
        ASSERT(event->command.kind < lock_dialect_of(lock)->row_count);
    }
}

void lock_step(struct lock *lock, const struct lock_event *event, struct lock_effects *effects)
{
    event_assert_valid(lock, event);
    effects->count = 0;
    effects->marks = 0;
    if (event->type == LOCK_EVENT_TIMER) {
        lock->wake_ns = TIME_NEVER; /* used up: whatever is due next is asked for anew */
    }
    if (asks_for_long_form(lock, event)) {
        send_long_form(lock, event, effects);
    } else {
        algorithm_of(lock)->step(lock, event, effects);
    }
    wake_update(lock, effects);
    lock_assert_valid(lock);
}

bool lock_at_rest(const struct lock *lock)
{
    return lock->state == LOCK_STATE_IDLE && lock->wake_ns == TIME_NEVER;
}

void lock_assert_valid(const struct lock *lock)
{
    ASSERT(lock->state < LOCK_STATES);
    ASSERT((lock->pending & ~lock_all_nodes(lock)) == 0);
    ASSERT(lock->attempts_left <= lock->config.retry_count);
    ASSERT(lock->extends_left <= lock->config.extend_count);
    ASSERT(lock->fence >= 0);
    /* Whoever waits for something has a time at which the waiting ends. */
    bool endless = lock->state == LOCK_STATE_HELD && algorithm_of(lock)->endless;
    ASSERT(lock->state == LOCK_STATE_IDLE || lock->state == LOCK_STATE_SPENT || endless ||
           lock->wake_ns != TIME_NEVER);
    algorithm_of(lock)->assert_valid(lock);
}

static const char *const state_names[LOCK_STATES] = {
    [LOCK_STATE_IDLE] = "idle",       [LOCK_STATE_ACQUIRING] = "acquiring",
    [LOCK_STATE_FENCING] = "fencing", [LOCK_STATE_WAITING] = "waiting",
    [LOCK_STATE_HELD] = "held",       [LOCK_STATE_EXTENDING] = "extending",
    [LOCK_STATE_SPENT] = "spent",     [LOCK_STATE_RELEASING] = "releasing",
};

const char *lock_state_name(enum lock_state state)
{
    ASSERT(state < LOCK_STATES);
    return state_names[state];
}

const char *lock_told_name(enum lock_told told)
{
#define X(told, name) [told] = (name),
    static const char *const names[] = {LOCK_TOLD_MAP(X)};
#undef X
    ASSERT(told < sizeof names / sizeof names[0]);
    return names[told];
}

const char *lock_reason_sentence(enum lock_reason reason)
{
#define X(reason, sentence) [reason] = (sentence),
    static const char *const sentences[] = {LOCK_REASON_MAP(X)};
#undef X
    ASSERT(reason < sizeof sentences / sizeof sentences[0]);
    return sentences[reason];
}
