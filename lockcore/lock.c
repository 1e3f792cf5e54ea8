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
_Static_assert(sizeof(struct lock_config) == 4 * 2 + 5 * 8, "no padding");
_Static_assert(sizeof(struct lock_cleanup) == LOCK_VALUE_BYTES + 3 * 4 + 2 * 8, "no padding");
_Static_assert(sizeof(struct lock) == sizeof(struct lock_config) + 4 * 2 + 5 * 4 +
                                          LOCK_VALUE_BYTES + 5 * 8 +
                                          LOCK_CLEANUPS_MAX * sizeof(struct lock_cleanup),
               "no padding");

#define TO(state) (1u << LOCK_STATE_##state)

/* From each state, the states that may follow. */
static const uint32_t moves[LOCK_STATES] = {
    [LOCK_STATE_IDLE] = TO(ACQUIRING) | TO(WAITING),
    [LOCK_STATE_ACQUIRING] = TO(IDLE) | TO(WAITING) | TO(FENCING) | TO(HELD),
    [LOCK_STATE_FENCING] = TO(IDLE) | TO(WAITING) | TO(HELD),
    [LOCK_STATE_WAITING] = TO(ACQUIRING),
    [LOCK_STATE_HELD] = TO(EXTENDING) | TO(SPENT) | TO(RELEASING),
    [LOCK_STATE_EXTENDING] = TO(HELD) | TO(RELEASING),
    [LOCK_STATE_SPENT] = TO(RELEASING),
    [LOCK_STATE_RELEASING] = TO(IDLE),
};

void lock_move(struct lock *lock, enum lock_state state)
{
    ASSERT(lock->state < LOCK_STATES);
    ASSERT((moves[lock->state] & (1u << state)) != 0);
    lock->state = (uint16_t)state;
}

static struct lock_effect *effect_add(struct lock_effects *effects, enum lock_effect_type type)
{
    ASSERT(effects->count < LOCK_EFFECTS_MAX);
    struct lock_effect *effect = &effects->list[effects->count++];
    memset(effect, 0, sizeof *effect);
    effect->type = (uint8_t)type;
    return effect;
}

void lock_send(struct lock_effects *effects, uint32_t node_index,
               const struct lock_command *command)
{
    ASSERT(node_index < LOCK_NODES_MAX);
    ASSERT(command->kind < LOCK_COMMAND_KINDS);
    struct lock_effect *effect = effect_add(effects, LOCK_EFFECT_SEND);
    effect->node_index = (uint8_t)node_index;
    effect->command = *command;
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
    ASSERT(config->node_count >= algorithm->nodes_min);
    ASSERT(config->node_count <= algorithm->nodes_max);
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

static int64_t earlier(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* When the state itself next needs the clock. */
static int64_t state_wake_ns(const struct lock *lock)
{
    switch ((enum lock_state)lock->state) {
    case LOCK_STATE_IDLE:
    case LOCK_STATE_SPENT:
        return TIME_NEVER;
    case LOCK_STATE_ACQUIRING:
    case LOCK_STATE_FENCING:
    case LOCK_STATE_WAITING:
    case LOCK_STATE_RELEASING:
        return lock->deadline_ns;
    case LOCK_STATE_HELD:
        return lock->until_ns;
    case LOCK_STATE_EXTENDING:
        return earlier(lock->deadline_ns, lock->until_ns);
    case LOCK_STATES:
        break;
    }
    UNREACHABLE();
}

/* Ask for the earliest time at which anything is due, if that is not what was asked for last. */
static void wake_update(struct lock *lock, struct lock_effects *effects)
{
    int64_t wake_ns = state_wake_ns(lock);
    for (uint32_t i = 0; i < lock->cleanup_count; i++) {
        wake_ns = earlier(wake_ns, lock->cleanups[i].resend_ns);
        wake_ns = earlier(wake_ns, lock->cleanups[i].deadline_ns);
    }
    if (wake_ns != lock->wake_ns) {
        lock->wake_ns = wake_ns;
        effect_add(effects, LOCK_EFFECT_WAKE)->at_ns = wake_ns;
    }
}

void lock_step(struct lock *lock, const struct lock_event *event, struct lock_effects *effects)
{
    ASSERT(event->type <= LOCK_EVENT_TIMER);
    if (event->type == LOCK_EVENT_REPLY || event->type == LOCK_EVENT_BROKEN) {
        ASSERT(event->node_index < lock->config.node_count);
    }
    effects->count = 0;
    if (event->type == LOCK_EVENT_TIMER) {
        lock->wake_ns = TIME_NEVER; /* used up: whatever is due next is asked for anew */
    }
    lock_algorithm_at(lock->config.algorithm)->step(lock, event, effects);
    wake_update(lock, effects);
    lock_assert_valid(lock);
}

static bool bytes_zero(const void *memory, size_t bytes)
{
    const uint8_t *byte = memory;
    for (size_t i = 0; i < bytes; i++) {
        if (byte[i] != 0) {
            return false;
        }
    }
    return true;
}

static void assert_valid_cleanups(const struct lock *lock)
{
    ASSERT(lock->cleanup_count <= LOCK_CLEANUPS_MAX);
    for (uint32_t i = 0; i < lock->cleanup_count; i++) {
        const struct lock_cleanup *cleanup = &lock->cleanups[i];
        ASSERT(cleanup->unanswered != 0);
        ASSERT((cleanup->unanswered & ~lock_all_nodes(lock)) == 0);
        for (uint32_t j = 0; j < i; j++) {
            ASSERT(cleanup->attempt != lock->cleanups[j].attempt);
        }
    }
    if (lock->cleanup_count < LOCK_CLEANUPS_MAX) { /* one is enough: removal shifts zeros in */
        ASSERT(bytes_zero(&lock->cleanups[lock->cleanup_count], sizeof lock->cleanups[0]));
    }
}

void lock_assert_valid(const struct lock *lock)
{
    ASSERT(lock->state < LOCK_STATES);
    ASSERT(((lock->pending | lock->agreed | lock->refused) & ~lock_all_nodes(lock)) == 0);
    ASSERT((lock->pending & (lock->agreed | lock->refused)) == 0);
    ASSERT((lock->agreed & lock->refused) == 0);
    ASSERT(lock->attempts_left <= lock->config.retry_count);
    ASSERT(lock->extends_left <= lock->config.extend_count);
    ASSERT(lock->fence >= 0);
    bool asking = lock->state == LOCK_STATE_ACQUIRING || lock->state == LOCK_STATE_FENCING ||
                  lock->state == LOCK_STATE_EXTENDING || lock->state == LOCK_STATE_RELEASING;
    ASSERT(asking == (lock->pending != 0)); /* a round without open answers has been judged */
    ASSERT(lock->state == LOCK_STATE_IDLE || lock->state == LOCK_STATE_SPENT ||
           lock->wake_ns != TIME_NEVER);
    assert_valid_cleanups(lock);
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
