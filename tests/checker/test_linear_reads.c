/* test_linear_reads.c: observers of an owner's lock: what they may see, and what a fail names. */
#include "base/random.h"
#include "checker/linear/certificate.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { EVENTS_MAX = 160, CLIENTS_MAX = 5, HISTORIES = 20000 };

struct story {
    struct history_event events[EVENTS_MAX];
    int count;
};

/* One event of `process`, about the value `who`, or what it saw. */
static struct history_event *tell(struct story *story, int64_t time, int process, enum history_f f,
                                  enum history_type type)
{
    cr_assert_lt(story->count, EVENTS_MAX);
    struct history_event *event = &story->events[story->count];
    *event = (struct history_event){.time_ns = time,
                                    .index = (uint64_t)story->count++,
                                    .kind = HISTORY_OP,
                                    .type = (uint8_t)type,
                                    .f = (uint8_t)f,
                                    .process = process};
    return event;
}

static void name(struct history_event *event, bool by_value, int who)
{
    event->flags = by_value ? HISTORY_HAS_VALUE : HISTORY_HAS_OWNER;
    event->value.bytes[0] = event->owner.bytes[0] = (uint8_t)who;
}

static struct linear_result judge(const struct story *story, const struct linear_options *options)
{
    struct linear *linear = linear_open(options);
    for (int i = 0; i < story->count; i++) {
        linear_event(linear, &story->events[i]);
    }
    linear_finish(linear);
    struct linear_result result = *linear_result(linear);
    linear_close(linear);
    return result;
}

/* Whether the operations that a fail names contradict each other alone. */
static bool is_confirmed(const struct story *story, const struct linear_options *options,
                         const struct linear_result *result)
{
    struct linear_witness witnesses[LINEAR_OPERATIONS_SHOWN] = {0};
    for (int i = 0; i < result->operation_count; i++) {
        struct linear_witness *witness = &witnesses[i];
        witness->invoke = story->events[result->operations[i]];
        for (int j = (int)result->operations[i] + 1; j < story->count && !witness->ended; j++) {
            witness->ended = story->events[j].process == witness->invoke.process;
            witness->end = story->events[j];
        }
    }
    return linear_certificate_holds(options, witnesses, result->operation_count);
}

/* ---- a few operations ---------------------------------------------------------------------------
 */

enum what { TOOK, MAYBE_TOOK, LET_GO, MAYBE_LET_GO, REFUSED, NOT_HELD, SAW, SAW_HELD, SAW_FREE };

/* Each by a process of its own. */
struct row {
    int64_t call, ret;
    enum what what;
    int who;
};

static void tell_row(struct story *story, const struct row *row, int process, bool end)
{
    static const enum history_f f[] = {
        [TOOK] = HISTORY_ACQUIRE,    [MAYBE_TOOK] = HISTORY_ACQUIRE,
        [LET_GO] = HISTORY_RELEASE,  [MAYBE_LET_GO] = HISTORY_RELEASE,
        [REFUSED] = HISTORY_ACQUIRE, [NOT_HELD] = HISTORY_RELEASE,
        [SAW] = HISTORY_OBSERVE,     [SAW_HELD] = HISTORY_OBSERVE,
        [SAW_FREE] = HISTORY_OBSERVE};
    bool failed = row->what == REFUSED || row->what == NOT_HELD;
    bool unknown = row->what == MAYBE_TOOK || row->what == MAYBE_LET_GO;
    enum history_type type = failed ? HISTORY_FAIL : unknown ? HISTORY_INFO : HISTORY_OK;
    struct history_event *event =
        tell(story, end ? row->ret : row->call, process, f[row->what], end ? type : HISTORY_INVOKE);
    event->version = row->what == SAW || row->what == SAW_HELD;
    if (row->what < SAW || (row->what == SAW && end)) {
        name(event, true, row->who);
    }
}

static struct linear_result judge_rows(const struct row *rows, int count)
{
    struct story story = {.count = 0};
    for (int64_t time = 0; time < 100; time++) {
        for (int i = 0; i < 2 * count; i++) {
            const struct row *row = &rows[i % count];
            if ((i < count ? row->call : row->ret) == time) {
                tell_row(&story, row, i % count, i >= count);
            }
        }
    }
    cr_assert_eq(story.count, 2 * count);
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    options.log_bytes_max = (size_t)1 << 20;
    options.refused_acquire = LINEAR_REFUSED_HELD;
    options.failed_release = LINEAR_RELEASE_NOT_HELD;
    struct linear_result result = judge(&story, &options);
    cr_assert(result.verdict != VERDICT_FAIL || is_confirmed(&story, &options, &result));
    options.order = true;
    cr_assert_eq(judge(&story, &options).verdict, result.verdict);
    return result;
}

#define JUDGE(...)                                                                                 \
    judge_rows((const struct row[]){__VA_ARGS__},                                                  \
               (int)(sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row)))

/* Value 1 is held from within [0, 10] until within [40, 50], value 2 until within [80, 90]. */
#define ONE_THEN_TWO                                                                               \
    {0, 10, TOOK, 1}, {40, 50, LET_GO, 1}, {45, 60, TOOK, 2},                                      \
    {                                                                                              \
        80, 90, LET_GO, 2                                                                          \
    }

static void assert_reason(struct linear_result result, enum linear_reason reason)
{
    cr_assert_eq(result.frontier_count, (uint64_t)0, "it was searched");
    cr_assert_eq(result.verdict, reason == LINEAR_LEGAL ? VERDICT_PASS : VERDICT_FAIL);
    cr_assert_eq(result.reason, reason, "%s",
                 linear_reason_sentence((enum linear_reason)result.reason));
}

Test(linear_reads, intervals_that_only_touch_a_hold_may_be_outside)
{
    assert_reason(JUDGE(ONE_THEN_TWO, {11, 39, SAW_FREE, 0}), LINEAR_SEEN);
    assert_reason(JUDGE(ONE_THEN_TWO, {10, 39, SAW_FREE, 0}), LINEAR_LEGAL);
    assert_reason(JUDGE(ONE_THEN_TWO, {11, 40, SAW_FREE, 0}), LINEAR_LEGAL);
    assert_reason(JUDGE(ONE_THEN_TWO, {11, 39, NOT_HELD, 1}), LINEAR_NOT_HELD_WHILE_HELD);
    assert_reason(JUDGE(ONE_THEN_TWO, {11, 40, NOT_HELD, 1}), LINEAR_LEGAL);
    assert_reason(JUDGE(ONE_THEN_TWO, {91, 95, SAW_HELD, 0}), LINEAR_SEEN);
    assert_reason(JUDGE(ONE_THEN_TWO, {90, 95, SAW_HELD, 0}), LINEAR_LEGAL);
    assert_reason(JUDGE(ONE_THEN_TWO, {91, 95, REFUSED, 3}), LINEAR_UNEXPLAINED);
    assert_reason(JUDGE(ONE_THEN_TWO, {90, 95, REFUSED, 3}), LINEAR_LEGAL);
    assert_reason(JUDGE(ONE_THEN_TWO, {51, 70, SAW, 1}), LINEAR_SEEN);
    assert_reason(JUDGE(ONE_THEN_TWO, {50, 70, SAW, 1}), LINEAR_LEGAL);
}

Test(linear_reads, a_hold_is_seen_until_the_next_one_is)
{
    assert_reason(JUDGE(ONE_THEN_TWO, {45, 47, SAW, 1}, {47, 49, SAW, 2}), LINEAR_LEGAL);
    struct linear_result result = JUDGE(ONE_THEN_TWO, {45, 46, SAW, 2}, {47, 49, SAW, 1});
    assert_reason(result, LINEAR_SEEN);
    cr_assert_leq(result.operation_count, 4);
    assert_reason(JUDGE(ONE_THEN_TWO, {45, 46, SAW_FREE, 0}, {47, 49, SAW, 1}), LINEAR_SEEN);
    assert_reason(JUDGE(ONE_THEN_TWO, {45, 46, SAW, 2}, {47, 49, SAW_FREE, 0}), LINEAR_SEEN);
    assert_reason(JUDGE(ONE_THEN_TWO, {45, 48, SAW, 2}, {47, 49, SAW_FREE, 0}), LINEAR_LEGAL);
}

Test(linear_reads, a_release_of_unknown_outcome_took_effect_before_what_shows_it)
{
#define NO_ANSWER {0, 10, TOOK, 1}, {20, 30, MAYBE_LET_GO, 1}
    assert_reason(JUDGE(NO_ANSWER, {50, 60, SAW, 1}), LINEAR_LEGAL);
    assert_reason(JUDGE(NO_ANSWER, {50, 60, SAW_FREE, 0}), LINEAR_LEGAL);
    assert_reason(JUDGE(NO_ANSWER, {50, 60, SAW_FREE, 0}, {70, 80, SAW, 1}), LINEAR_SEEN);
    assert_reason(JUDGE(NO_ANSWER, {70, 80, SAW_FREE, 0}, {50, 60, SAW, 1}), LINEAR_LEGAL);
    assert_reason(JUDGE(NO_ANSWER, {50, 60, TOOK, 2}, {70, 80, SAW, 1}), LINEAR_SEEN);
    assert_reason(JUDGE(NO_ANSWER, {11, 19, SAW_FREE, 0}), LINEAR_SEEN);
}

Test(linear_reads, an_acquire_of_unknown_outcome_may_hold_behind_all_others)
{
#define NO_WORD                                                                                    \
    {0, 10, TOOK, 1}, {20, 30, LET_GO, 1}, {25, 35, MAYBE_TOOK, 2}, {26, 36, MAYBE_TOOK, 3}
    assert_reason(JUDGE(NO_WORD, {50, 60, SAW, 2}), LINEAR_LEGAL);
    assert_reason(JUDGE(NO_WORD, {50, 60, SAW, 3}), LINEAR_LEGAL);
    assert_reason(JUDGE(NO_WORD, {40, 45, SAW_FREE, 0}, {50, 60, SAW_HELD, 0}), LINEAR_LEGAL);
    assert_reason(JUDGE(NO_WORD, {15, 16, SAW_FREE, 0}, {50, 60, SAW, 3}), LINEAR_SEEN);
    assert_reason(JUDGE(NO_WORD, {11, 12, SAW, 2}), LINEAR_SEEN);
}

Test(linear_reads, an_identity_may_hold_more_than_once_if_its_turns_are_known)
{
#define TWO_TURNS {0, 10, TOOK, 1}, {20, 30, LET_GO, 1}, {40, 60, TOOK, 1}, {70, 80, LET_GO, 1}
    assert_reason(JUDGE(TWO_TURNS, {31, 39, SAW, 1}), LINEAR_SEEN);
    assert_reason(JUDGE(TWO_TURNS, {31, 40, SAW, 1}), LINEAR_LEGAL);
    assert_reason(JUDGE(TWO_TURNS, {15, 65, NOT_HELD, 1}), LINEAR_LEGAL);
    assert_reason(JUDGE(TWO_TURNS, {61, 69, NOT_HELD, 1}), LINEAR_NOT_HELD_WHILE_HELD);
}

Test(linear_reads, a_turn_that_an_earlier_release_may_have_ended_is_searched)
{
#define LATE                                                                                       \
    {0, 10, TOOK, 1}, {20, 90, MAYBE_LET_GO, 1}, {25, 30, LET_GO, 1},                              \
    {                                                                                              \
        40, 50, TOOK, 1                                                                            \
    }
    struct linear_result result = JUDGE(LATE, {60, 70, TOOK, 2}, {75, 80, SAW, 2});
    cr_assert_eq(result.frontier_count, (uint64_t)1);
    cr_assert_eq(result.verdict, VERDICT_PASS);
}

/* 2,000 turns one after the other, each seen. */
static struct linear_result judge_turns(size_t bytes_max)
{
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    options.log_bytes_max = (size_t)1 << 24;
    options.bytes_max = bytes_max;
    struct linear *linear = linear_open(&options);
    int64_t time = 0;
    for (int turn = 0; turn < 2000; turn++) {
        static const enum what turns[] = {TOOK, SAW_HELD, LET_GO};
        for (int i = 0; i < 6; i++) {
            struct story story = {.count = 0};
            tell_row(&story, &(struct row){time, time, turns[i / 2], 1}, 1, i % 2 == 1);
            struct history_event *event = &story.events[0];
            event->index = (uint64_t)time++;
            event->value.bytes[1] = (uint8_t)(turn % 256);
            event->value.bytes[2] = (uint8_t)(turn / 256);
            linear_event(linear, event);
        }
    }
    linear_finish(linear);
    struct linear_result result = *linear_result(linear);
    linear_close(linear);
    return result;
}

Test(linear_reads, beyond_its_memory_the_verdict_is_unknown)
{
    assert_reason(judge_turns((size_t)1 << 20), LINEAR_LEGAL);
    for (size_t bytes = (size_t)1 << 15; bytes < (size_t)1 << 18; bytes += (size_t)1 << 15) {
        struct linear_result result = judge_turns(bytes);
        cr_assert_eq(result.verdict, VERDICT_UNKNOWN);
        cr_assert_eq(result.limit, LINEAR_LIMIT_BYTES);
        cr_assert_eq(result.frontier_count, (uint64_t)0);
    }
}

/* ---- long histories, as a lock makes them, with some answers changed --------------------------
 */

enum step { IDLE, ASKED, GRANTED, HOLDS, FREEING, FREED, LOOKING, LOOKED };

struct client {
    enum step step, after; /* looking: and then */
    enum history_type end;
    int value, seen;
};

struct world {
    struct random_stream dice;
    struct story story;
    struct client clients[CLIENTS_MAX];
    int client_count, holder, values;
    int lies, unknown_takes, unknown_frees; /* in percent */
    int64_t now;
    bool values_used; /* else owners are processes */
};

static int draw(struct world *world, int bound)
{
    return (int)random_below(&world->dice, (uint64_t)bound);
}

static struct history_event *say(struct world *world, int process, enum history_f f,
                                 enum history_type type)
{
    struct history_event *event = tell(&world->story, world->now, process, f, type);
    if (f != HISTORY_OBSERVE) {
        name(event, world->values_used, world->clients[process].value);
    }
    return event;
}

static void look(struct world *world, int process)
{
    struct client *client = &world->clients[process];
    if (client->step == LOOKING) {
        client->seen = world->holder;
        client->step = LOOKED;
        return;
    }
    struct history_event *event = say(world, process, HISTORY_OBSERVE, HISTORY_OK);
    int names = world->values_used ? world->values : world->client_count;
    int seen = draw(world, 100) < world->lies ? draw(world, names + 1) : client->seen;
    event->version = seen != 0;
    if (seen != 0 && draw(world, 2) == 0) {
        name(event, world->values_used, seen);
    }
    client->step = client->after;
}

static void acquire(struct world *world, int process)
{
    struct client *client = &world->clients[process];
    if (client->step == GRANTED) {
        struct history_event *event = say(world, process, HISTORY_ACQUIRE, client->end);
        event->fence = client->end == HISTORY_OK ? client->seen : 0;
        client->step = client->end == HISTORY_FAIL ? IDLE : HOLDS;
        return;
    }
    bool unknown = draw(world, 100) < world->unknown_takes;
    client->end = unknown ? HISTORY_INFO : HISTORY_OK;
    if (world->holder == 0 && (!unknown || draw(world, 2) == 0)) {
        world->holder = client->value;
        client->seen = world->story.count + 1;
        client->step = GRANTED;
    } else if (world->holder != 0 && draw(world, 4) == 0) {
        client->end = unknown ? HISTORY_INFO : HISTORY_FAIL;
        client->step = GRANTED;
    }
}

static void release(struct world *world, int process)
{
    struct client *client = &world->clients[process];
    if (client->step == FREEING) {
        bool unknown = draw(world, 100) < world->unknown_frees;
        bool held = world->holder == client->value && (!unknown || draw(world, 4) > 0);
        world->holder = held ? 0 : world->holder;
        client->end = unknown ? HISTORY_INFO : held ? HISTORY_OK : HISTORY_FAIL;
        client->step = FREED;
        return;
    }
    say(world, process, HISTORY_RELEASE, client->end);
    client->step = IDLE;
}

static void next_step(struct world *world, int process)
{
    struct client *client = &world->clients[process];
    bool free_to_choose = client->step == IDLE || client->step == HOLDS;
    if (free_to_choose && draw(world, 3) == 0) {
        client->after = client->step;
        client->step = LOOKING;
        say(world, process, HISTORY_OBSERVE, HISTORY_INVOKE);
    } else if (client->step == IDLE) {
        client->value = world->values_used ? ++world->values : process + 1;
        client->step = ASKED;
        say(world, process, HISTORY_ACQUIRE, HISTORY_INVOKE);
    } else if (client->step == HOLDS) {
        client->step = FREEING;
        say(world, process, HISTORY_RELEASE, HISTORY_INVOKE);
    } else if (client->step == LOOKING || client->step == LOOKED) {
        look(world, process);
    } else if (client->step == ASKED || client->step == GRANTED) {
        acquire(world, process);
    } else {
        release(world, process);
    }
}

static void make_story(struct world *world)
{
    struct random_stream dice = world->dice;
    *world = (struct world){.dice = dice};
    world->client_count = 2 + draw(world, CLIENTS_MAX - 1);
    world->lies = draw(world, 3) == 0 ? 0 : 15;
    world->unknown_takes = draw(world, 4) == 0 ? 5 : 0;
    world->unknown_frees = draw(world, 2) == 0 ? 10 : 0;
    world->values_used = draw(world, 4) > 0;
    int events = 20 + draw(world, EVENTS_MAX - 20);
    for (int i = 0; i < 10 * EVENTS_MAX && world->story.count < events; i++) {
        world->now += draw(world, 20) == 0 ? 0 : 1;
        next_step(world, draw(world, world->client_count));
    }
}

Test(linear_reads, long_histories_are_judged_as_the_search_judges_them)
{
    const char *seed_word = getenv("PICKLOCK_SEED");
    const char *soak_word = getenv("PICKLOCK_SOAK");
    static struct world world;
    world.dice = random_stream("reads", seed_word == NULL ? 1 : strtoull(seed_word, NULL, 10));
    long histories = soak_word == NULL ? HISTORIES : strtol(soak_word, NULL, 10);
    long legal = 0, fast = 0, told = 0, helped = 0, untold = 0;
    for (long i = 0; i < histories; i++) {
        make_story(&world);
        bool fenced = world.values_used && draw(&world, 4) == 0;
        struct linear_options options =
            linear_options_default(fenced ? LINEAR_FENCED : LINEAR_OWNER);
        options.log_bytes_max = options.bytes_max = (size_t)1 << 26;
        options.refused_acquire = (uint8_t)draw(&world, LINEAR_REFUSED_ACQUIRES);
        options.failed_release = (uint8_t)draw(&world, 2);
        options.engine = LINEAR_ENGINE_FRONTIER;
        struct linear_result searched = judge(&world.story, &options);
        options.engine = LINEAR_ENGINE_AUTO;
        options.order = draw(&world, 4) == 0; /* which is confirmed where it is made */
        struct linear_result result = judge(&world.story, &options);
        cr_assert_eq(result.verdict, searched.verdict, "history %ld: %s, the search: %s", i,
                     verdict_name((enum verdict)result.verdict),
                     verdict_name((enum verdict)searched.verdict));
        legal += result.verdict == VERDICT_PASS ? 1 : 0;
        fast += result.frontier_count == 0 ? 1 : 0;
        if (result.verdict == VERDICT_FAIL && result.frontier_count == 0) {
            bool confirmed = is_confirmed(&world.story, &options, &result);
            told += confirmed && !result.helped ? 1 : 0;
            helped += confirmed && result.helped ? 1 : 0;
            untold += confirmed ? 0 : 1;
        }
    }
    fprintf(stderr, "%ld histories, %ld legal, %ld fast; fails: %ld told, %ld helped, %ld untold\n",
            histories, legal, fast, told, helped, untold);
    cr_assert(legal > histories / 4 && legal < histories / 4 * 3);
    cr_assert(fast > histories / 10 * 8, "the fast path steps aside");
    cr_assert(1000 * untold <= histories && 100 * helped <= histories);
}
