/* test_chaos.c: every algorithm under late, doubled, garbled and missing replies and mad clocks. */
#include "base/duration.h"
#include "base/random.h"
#include "lockcore/algorithms.h"
#include "lockcore/redis/command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 400, STEPS = 300, OWED_MAX = 512, CALM_STEPS_MAX = 4000 };

/* What the application waits for. */
enum asked { ASKED_NOTHING, ASKED_ACQUIRE, ASKED_EXTEND, ASKED_RELEASE };

struct chaos {
    struct lock lock;
    struct lock twin; /* gets the same events, in other memory */
    struct lock_effects effects;
    struct lock_effects twin_effects;
    struct random_stream dice;
    const struct lock_algorithm *algorithm;
    bool sound;        /* one of ours, not a wrong one */
    bool clocks_sound; /* no clock has jumped yet */
    enum asked asked;
    bool holding;
    int64_t now_ns;
    int64_t latest_ns; /* the highest that the clock has shown */
    int64_t asked_ns;
    uint32_t yes;            /* nodes that agreed to set `value` */
    struct lock_value value; /* of the newest SET */
    struct lock_command owed[LOCK_NODES_MAX][OWED_MAX];
    uint32_t owed_count[LOCK_NODES_MAX];
    struct lock_command answered[LOCK_NODES_MAX];
    int64_t fence_last;
};

static uint64_t below(struct chaos *chaos, uint64_t bound)
{
    return random_below(&chaos->dice, bound);
}

static const struct lock_command_row *row_of(const struct chaos *chaos,
                                             const struct lock_command *command)
{
    return lock_row_of(&chaos->lock, command->kind);
}

static bool kind_sets(const struct chaos *chaos, const struct lock_command *command)
{
    return lock_verb_asks((enum lock_verb)row_of(chaos, command)->verb);
}

static void take_send(struct chaos *chaos, const struct lock_effect *effect)
{
    const struct lock_command *command = &effect->command;
    uint32_t node = effect->node_index;
    cr_assert(node < chaos->lock.config.node_count);
    if (kind_sets(chaos, command) &&
        memcmp(&chaos->value, &command->value, LOCK_VALUE_BYTES) != 0) {
        chaos->value = command->value;
        chaos->yes = 0;
    }
    if (chaos->owed_count[node] < OWED_MAX) {
        chaos->owed[node][chaos->owed_count[node]++] = *command;
    }
}

static void take_grant(struct chaos *chaos, const struct lock_effect *effect)
{
    const struct lock_config *config = &chaos->lock.config;
    cr_assert_eq(chaos->asked, ASKED_ACQUIRE);
    cr_assert_eq(effect->fence > 0, chaos->algorithm->fenced);
    if (!chaos->sound) {
        return;
    }
    bool endless = chaos->algorithm->endless;
    cr_assert(effect->validity_ns > 0, "%s: %lld ns", chaos->algorithm->name,
              (long long)effect->validity_ns);
    cr_assert(endless || effect->validity_ns < config->ttl_ns);
    if (endless) {
        cr_assert_eq(effect->validity_ns, TIME_NEVER);
        cr_assert_eq(effect->until_ns, TIME_NEVER);
    } else {
        cr_assert_eq(effect->until_ns, chaos->now_ns + effect->validity_ns);
    }
    cr_assert_eq(memcmp(&effect->value, &chaos->value, LOCK_VALUE_BYTES), 0);
    uint32_t yes_count = (uint32_t)__builtin_popcount(chaos->yes);
    /* The members of another kind of service are one store. */
    uint32_t stores = chaos->algorithm->dialect == &redis_dialect ? lock_votes(config) : 1;
    cr_assert(yes_count >= lock_quorum(stores), "%u yes of %u", yes_count, stores);
    if (chaos->clocks_sound && !endless) {
        cr_assert(effect->until_ns < chaos->now_ns + config->ttl_ns);
    }
}

static void take_tell(struct chaos *chaos, const struct lock_effect *effect)
{
    switch ((enum lock_told)effect->told) {
    case LOCK_TOLD_GRANTED:
        take_grant(chaos, effect);
        chaos->holding = true;
        break;
    case LOCK_TOLD_REFUSED:
        cr_assert_eq(chaos->asked, ASKED_ACQUIRE);
        cr_assert_neq(effect->reason, LOCK_REASON_NONE);
        break;
    case LOCK_TOLD_EXTENDED:
    case LOCK_TOLD_NOT_EXTENDED:
        cr_assert_eq(chaos->asked, ASKED_EXTEND);
        break;
    case LOCK_TOLD_RELEASED:
    case LOCK_TOLD_NOT_HELD:
    case LOCK_TOLD_UNKNOWN:
        cr_assert_eq(chaos->asked, ASKED_RELEASE);
        break;
    case LOCK_TOLD_LOST:
        cr_assert(chaos->holding, "lost is told once, to a holder");
        chaos->holding = false;
        return; /* unasked */
    case LOCK_TOLD_JEOPARDY:
        cr_assert(chaos->holding, "only a holder is in jeopardy");
        return; /* unasked */
    case LOCK_TOLD_RENEWED:
        cr_assert(chaos->holding);
        cr_assert(!chaos->sound || effect->validity_ns > 0);
        return; /* unasked */
    }
    chaos->asked = ASKED_NOTHING;
}

static void step(struct chaos *chaos, struct lock_event *event)
{
    event->now_ns = chaos->now_ns;
    chaos->latest_ns = chaos->now_ns > chaos->latest_ns ? chaos->now_ns : chaos->latest_ns;
    event->wall_ns = chaos->now_ns + (int64_t)below(chaos, 3) * NS_PER_S;
    for (uint32_t i = 0; i < LOCK_RANDOM_WORDS; i++) {
        event->random[i] = random_word(&chaos->dice);
    }
    memset(&chaos->effects, 0xaa, sizeof chaos->effects);
    memset(&chaos->twin_effects, 0x55, sizeof chaos->twin_effects);
    int64_t wake_ns = chaos->lock.wake_ns;
    lock_step(&chaos->lock, event, &chaos->effects);
    lock_step(&chaos->twin, event, &chaos->twin_effects);
    uint32_t count = chaos->effects.count;
    cr_assert(count <= LOCK_EFFECTS_MAX);
    cr_assert_eq(memcmp(&chaos->lock, &chaos->twin, sizeof chaos->lock), 0);
    cr_assert_eq(count, chaos->twin_effects.count);
    cr_assert_eq(memcmp(chaos->effects.list, chaos->twin_effects.list,
                        count * sizeof chaos->effects.list[0]),
                 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct lock_effect *effect = &chaos->effects.list[i];
        if (effect->type == LOCK_EFFECT_SEND) {
            take_send(chaos, effect);
        } else if (effect->type == LOCK_EFFECT_TELL) {
            take_tell(chaos, effect);
        } else {
            cr_assert_eq(effect->at_ns, chaos->lock.wake_ns);
            cr_assert(event->type == LOCK_EVENT_TIMER || effect->at_ns != wake_ns);
        }
    }
}

static struct lock_reply good_reply(struct chaos *chaos, const struct lock_command *command)
{
    if (row_of(chaos, command)->answers == LOCK_ANSWERS_YES_NO) {
        return (struct lock_reply){.type = LOCK_REPLY_YES};
    }
    if (kind_sets(chaos, command)) {
        chaos->fence_last++;
        return (struct lock_reply){.type = LOCK_REPLY_NUMBER, .number = chaos->fence_last};
    }
    return (struct lock_reply){.type = LOCK_REPLY_NUMBER, .number = command->number};
}

static struct lock_reply some_reply(struct chaos *chaos, const struct lock_command *command)
{
    if (below(chaos, 3) > 0) {
        return good_reply(chaos, command);
    }
    static const int64_t numbers[] = {0, 1, 2, -1, INT64_MAX, INT64_MIN};
    return (struct lock_reply){.type = (uint8_t)below(chaos, LOCK_REPLY_TYPES),
                               .number = numbers[below(chaos, 6)]};
}

static void answer(struct chaos *chaos, uint32_t node, const struct lock_command *command,
                   struct lock_reply reply)
{
    struct lock_event event = {.type = LOCK_EVENT_REPLY, .node_index = (uint8_t)node};
    event.command = *command;
    event.reply = reply;
    bool wants_number = row_of(chaos, command)->answers == LOCK_ANSWERS_NUMBER;
    bool yes = wants_number ? reply.type == LOCK_REPLY_NUMBER && reply.number > 0
                            : reply.type == LOCK_REPLY_YES;
    if (yes && kind_sets(chaos, command) &&
        memcmp(&command->value, &chaos->value, LOCK_VALUE_BYTES) == 0) {
        chaos->yes |= 1u << node;
    }
    step(chaos, &event);
}

/* Answer the oldest command of a node, or lose its answer, or answer another one. */
static void node_step(struct chaos *chaos)
{
    uint32_t node = (uint32_t)below(chaos, chaos->lock.config.node_count);
    if (chaos->owed_count[node] == 0 || below(chaos, 12) == 0) {
        if (chaos->answered[node].attempt > 0) { /* doubled */
            answer(chaos, node, &chaos->answered[node], some_reply(chaos, &chaos->answered[node]));
        }
        return;
    }
    uint32_t index = below(chaos, 8) == 0 ? (uint32_t)below(chaos, chaos->owed_count[node]) : 0;
    struct lock_command command = chaos->owed[node][index];
    chaos->owed_count[node]--;
    memmove(&chaos->owed[node][index], &chaos->owed[node][index + 1],
            (chaos->owed_count[node] - index) * sizeof command);
    chaos->answered[node] = command;
    if (below(chaos, 10) > 0) {
        answer(chaos, node, &command, some_reply(chaos, &command));
    }
}

static void application_step(struct chaos *chaos)
{
    struct lock_event event = {.type = LOCK_EVENT_TIMER};
    bool held = chaos->lock.state == LOCK_STATE_HELD || chaos->lock.state == LOCK_STATE_SPENT;
    if (chaos->asked == ASKED_NOTHING && chaos->lock.state == LOCK_STATE_IDLE) {
        event.type = LOCK_EVENT_ACQUIRE;
        chaos->asked = ASKED_ACQUIRE;
    } else if (chaos->asked == ASKED_NOTHING && held) {
        bool extend = below(chaos, 2) == 0;
        event.type = extend ? LOCK_EVENT_EXTEND : LOCK_EVENT_RELEASE;
        chaos->asked = extend ? ASKED_EXTEND : ASKED_RELEASE;
        chaos->holding = chaos->holding && extend;
    } else {
        return;
    }
    chaos->asked_ns = chaos->now_ns;
    step(chaos, &event);
}

static void clock_step(struct chaos *chaos)
{
    uint64_t luck = below(chaos, 40);
    if (luck == 0) {
        chaos->clocks_sound = false;
        chaos->now_ns += ((int64_t)below(chaos, 7) - 3) * 3 * NS_PER_S;
    } else if (luck < 10 && chaos->lock.wake_ns != TIME_NEVER) {
        chaos->now_ns = chaos->lock.wake_ns > chaos->now_ns ? chaos->lock.wake_ns : chaos->now_ns;
    } else {
        chaos->now_ns += (int64_t)below(chaos, 20 * (uint64_t)NS_PER_MS);
    }
    step(chaos, &(struct lock_event){.type = LOCK_EVENT_TIMER});
}

static void chaos_step(struct chaos *chaos)
{
    switch (below(chaos, 8)) {
    case 0:
        clock_step(chaos);
        break;
    case 1:
    case 2:
        application_step(chaos);
        break;
    case 3:
        if (below(chaos, 4) == 0) {
            uint32_t node = (uint32_t)below(chaos, chaos->lock.config.node_count);
            chaos->owed_count[node] = 0;
            step(chaos,
                 &(struct lock_event){.type = LOCK_EVENT_BROKEN, .node_index = (uint8_t)node});
        }
        break;
    default:
        node_step(chaos);
    }
}

/*
 * Every node answers, timers come in time, and the clock has caught up with what it showed before
 * it jumped back: the lock must be granted, released, and at rest.
 */
static void calm_down(struct chaos *chaos)
{
    bool granted = false;
    chaos->now_ns = chaos->latest_ns;
    for (uint32_t i = 0; i < CALM_STEPS_MAX; i++) {
        if (chaos->asked == ASKED_NOTHING && chaos->lock.state != LOCK_STATE_HELD && granted &&
            chaos->lock.state == LOCK_STATE_IDLE) {
            if (chaos->lock.wake_ns == TIME_NEVER) {
                cr_assert(lock_at_rest(&chaos->lock));
                return;
            }
        } else {
            granted = granted || (chaos->lock.state == LOCK_STATE_HELD);
            application_step(chaos);
        }
        bool answered = false;
        for (uint32_t node = 0; node < chaos->lock.config.node_count; node++) {
            if (chaos->owed_count[node] > 0) {
                struct lock_command command = chaos->owed[node][0];
                chaos->owed_count[node]--;
                memmove(&chaos->owed[node][0], &chaos->owed[node][1],
                        chaos->owed_count[node] * sizeof command);
                answer(chaos, node, &command, good_reply(chaos, &command));
                answered = true;
            }
        }
        if (!answered && chaos->lock.wake_ns != TIME_NEVER) {
            chaos->now_ns =
                chaos->lock.wake_ns > chaos->now_ns ? chaos->lock.wake_ns : chaos->now_ns;
            step(chaos, &(struct lock_event){.type = LOCK_EVENT_TIMER});
        }
    }
    cr_assert_fail("%s does not come to rest: %s", chaos->algorithm->name,
                   lock_state_name((enum lock_state)chaos->lock.state));
}

static void chaos_run(lock_algorithm_index index, uint64_t seed)
{
    static struct chaos chaos;
    memset(&chaos, 0, sizeof chaos);
    chaos.dice = random_stream_at("chaos", index, seed);
    chaos.algorithm = lock_algorithm_at(index);
    chaos.sound = strncmp(chaos.algorithm->name, "wrong/", 6) != 0;
    chaos.clocks_sound = true;
    chaos.now_ns = (int64_t)below(&chaos, 1000) * NS_PER_S;
    uint64_t nodes = chaos.algorithm->nodes_max < 9 ? chaos.algorithm->nodes_max : 9;
    nodes = below(&chaos, 20) == 0 ? chaos.algorithm->nodes_max : nodes;
    struct lock_config config = {
        .algorithm = index,
        .node_count = (uint16_t)(1 + below(&chaos, nodes)),
        .retry_count = (uint16_t)below(&chaos, 30),
        .extend_count = (uint16_t)below(&chaos, 4),
        .ttl_ns = 1 + (int64_t)below(&chaos, 10 * (uint64_t)NS_PER_S),
        .node_timeout_ns = 1 + (int64_t)below(&chaos, 100 * (uint64_t)NS_PER_MS),
        .drift_ppm = (int64_t)below(&chaos, 20000),
        .retry_delay_ns = (int64_t)below(&chaos, 2) * NS_PER_MS,
        .retry_jitter_ns = (int64_t)below(&chaos, 2) * NS_PER_MS,
    };
    bool one = chaos.algorithm->dialect == &redis_dialect && chaos.algorithm->nodes_max == 1;
    if (chaos.algorithm->waits || (one && below(&chaos, 2) == 0)) {
        config.replica_count = 1 + (uint32_t)below(&chaos, LOCK_NODES_MAX - 1);
        config.node_count = (uint16_t)(config.replica_count + 1);
        config.wait_count = 1 + (uint32_t)below(&chaos, config.replica_count);
        config.wait_ns = (int64_t)below(&chaos, 100 * (uint64_t)NS_PER_MS);
    }
    lock_init(&chaos.lock, &config);
    lock_init(&chaos.twin, &config);
    for (uint32_t i = 0; i < STEPS; i++) {
        chaos_step(&chaos);
    }
    bool rests = strcmp(chaos.algorithm->name, "wrong/spins") != 0 &&
                 strcmp(chaos.algorithm->name, "wrong/zookeeper-delete-failed") != 0;
    if (rests && config.ttl_ns > 100 * NS_PER_MS) { /* else nothing can be granted */
        calm_down(&chaos);
    }
}

Test(chaos, no_order_of_events_breaks_an_invariant_or_a_promise)
{
    const char *word = getenv("PICKLOCK_SEED");
    uint64_t seed = word != NULL ? strtoull(word, NULL, 10) : (uint64_t)time(NULL);
    printf("test_chaos: PICKLOCK_SEED=%llu\n", (unsigned long long)seed);
    (void)fflush(stdout);
    for (uint64_t run = 0; run < RUNS; run++) {
        for (size_t i = 0; i < lock_algorithm_count(); i++) {
            chaos_run((lock_algorithm_index)i, seed + run);
        }
    }
}
