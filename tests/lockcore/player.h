/*
 * player.h: plays a transcript against a lock: event in, effects out, as readable lines.
 *
 *     play(&config, "0ms acquire        => send 0-4 set v1 10000ms; wake 50ms\n"
 *                   "1ms reply 0 ok     =>\n"
 *                   "# a sentence of the rule that the next lines show\n"
 *                   "9ms timer          => tell lost v1\n");
 *
 * Left of the arrow: the client's clock and what happens.
 *     acquire, extend, release, timer
 *     reply N ok|nil|error|garbled|noscript|INTEGER   to the oldest command that N has not answered
 *     again N ok|...                                  to the command that N answered last
 *     push N ok|...                                   N says more of the command it answered last
 *     lose N                                          the reply to N's oldest command is lost
 *     broken N                                        the link broke: N owes nothing any more
 *     wall TIME                                       the wall clock says TIME (no event)
 * Right of it: all effects, in order, equal commands to several nodes as one. v1, v2, ... are the
 * values in the order of their first appearance. Nodes answer in order, as on a real connection.
 * Every random jitter is half of its maximum.
 */
#ifndef TESTS_LOCKCORE_PLAYER_H
#define TESTS_LOCKCORE_PLAYER_H

#include "base/duration.h"
#include "lockcore/algorithms.h"
#include "lockcore/redis/command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a transcript begins that is about what comes after the grant: of one node, of three. */
#define GRANT_1                                                                                    \
    "0ms acquire    => send 0 set v1 10000ms; wake 50ms\n"                                         \
    "0ms reply 0 ok => tell granted v1 validity 9898ms until 9898ms; wake 9898ms\n"
#define GRANT_3                                                                                    \
    "0ms acquire    => send 0-2 set v1 10000ms; wake 50ms\n"                                       \
    "0ms reply 0 ok =>\n"                                                                          \
    "0ms reply 1 ok => tell granted v1 validity 9898ms until 9898ms; wake 9898ms\n"                \
    "1ms reply 2 ok =>\n"

enum { PLAYER_QUEUE_MAX = 64, PLAYER_VALUES_MAX = 64, PLAYER_LINE_BYTES = 1024 };

struct player {
    struct lock lock;
    struct lock_effects effects;
    struct lock_command queue[LOCK_NODES_MAX][PLAYER_QUEUE_MAX]; /* unanswered, oldest first */
    uint32_t queued[LOCK_NODES_MAX];
    struct lock_command answered[LOCK_NODES_MAX];
    struct lock_value values[PLAYER_VALUES_MAX];
    uint32_t value_count;
    uint64_t draws;
    int64_t wall_ns;
    const char *line; /* under way, for messages */
};

static inline struct lock_config player_config(const char *algorithm, uint16_t node_count)
{
    struct lock_config config = {
        .node_count = node_count,
        .retry_count = 1,
        .extend_count = 2,
        .ttl_ns = 10 * NS_PER_S,
        .node_timeout_ns = 50 * NS_PER_MS,
        .drift_ppm = 10000,
        .retry_delay_ns = 200 * NS_PER_MS,
        .retry_jitter_ns = 200 * NS_PER_MS,
    };
    cr_assert(lock_algorithm_find(algorithm, &config.algorithm), "no algorithm %s", algorithm);
    return config;
}

static inline uint32_t player_value(struct player *player, const struct lock_value *value)
{
    for (uint32_t i = 0; i < player->value_count; i++) {
        if (memcmp(&player->values[i], value, sizeof *value) == 0) {
            return i + 1;
        }
    }
    cr_assert(player->value_count < PLAYER_VALUES_MAX);
    player->values[player->value_count++] = *value;
    return player->value_count;
}

static inline void player_print_send(struct player *player, uint32_t from, uint32_t to,
                                     struct text *out)
{
    const struct lock_effect *effect = &player->effects.list[from];
    const struct lock_command *command = &effect->command;
    text_add(out, "send %u", effect->node_index);
    bool range = to - from > 1 && (uint32_t)player->effects.list[to - 1].node_index ==
                                      effect->node_index + (to - from) - 1;
    for (uint32_t i = from + 1; i < to && !range; i++) {
        text_add(out, ",%u", player->effects.list[i].node_index);
    }
    if (range) {
        text_add(out, "-%u", player->effects.list[to - 1].node_index);
    }
    text_add(out, " %s v%u", lock_row_of(&player->lock, command->kind)->name,
             player_value(player, &command->value));
    if (command->ttl_ms > 0) {
        text_add(out, " %ldms", (long)command->ttl_ms);
    }
    if (command->number > 0) {
        text_add(out, " fence %ld", (long)command->number);
    }
    text_add(out, "%s", command->form == LOCK_FORM_LONG ? " as text" : "");
}

static inline void player_print_tell(struct player *player, const struct lock_effect *effect,
                                     struct text *out)
{
    text_add(out, "tell %s v%u", lock_told_name((enum lock_told)effect->told),
             player_value(player, &effect->value));
    if (effect->reason != LOCK_REASON_NONE) {
        text_add(out, ": %s", lock_reason_sentence((enum lock_reason)effect->reason));
    }
    bool promises = effect->told == LOCK_TOLD_GRANTED || effect->told == LOCK_TOLD_EXTENDED ||
                    effect->told == LOCK_TOLD_RENEWED;
    if (promises && effect->until_ns == TIME_NEVER) {
        text_add(out, " without an end");
    } else if (promises) {
        text_add(out, " validity ");
        duration_print(effect->validity_ns, out);
        text_add(out, " until ");
        duration_print(effect->until_ns, out);
    }
    if (effect->fence > 0) {
        text_add(out, " fence %ld", (long)effect->fence);
    }
}

static inline void player_print(struct player *player, struct text *out)
{
    for (uint32_t i = 0; i < player->effects.count;) {
        const struct lock_effect *effect = &player->effects.list[i];
        uint32_t next = i + 1;
        text_add(out, "%s", i > 0 ? "; " : "");
        if (effect->type == LOCK_EFFECT_SEND) {
            while (next < player->effects.count &&
                   player->effects.list[next].type == LOCK_EFFECT_SEND &&
                   memcmp(&player->effects.list[next].command, &effect->command,
                          sizeof effect->command) == 0) {
                next++;
            }
            player_print_send(player, i, next, out);
        } else if (effect->type == LOCK_EFFECT_TELL) {
            player_print_tell(player, effect, out);
        } else if (effect->at_ns == TIME_NEVER) {
            text_add(out, "wake never");
        } else {
            text_add(out, "wake ");
            duration_print(effect->at_ns, out);
        }
        i = next;
    }
}

static inline void player_queue(struct player *player)
{
    for (uint32_t i = 0; i < player->effects.count; i++) {
        const struct lock_effect *effect = &player->effects.list[i];
        if (effect->type == LOCK_EFFECT_SEND) {
            uint32_t node = effect->node_index;
            cr_assert(player->queued[node] < PLAYER_QUEUE_MAX);
            player->queue[node][player->queued[node]++] = effect->command;
        }
    }
}

static inline struct lock_command player_take(struct player *player, uint32_t node)
{
    cr_assert(player->queued[node] > 0, "node %u owes nothing: %s", node, player->line);
    player->answered[node] = player->queue[node][0];
    player->queued[node]--;
    memmove(&player->queue[node][0], &player->queue[node][1],
            player->queued[node] * sizeof player->queue[node][0]);
    return player->answered[node];
}

/* What a server of another kind than Redis says: ok, no, error, garbled or a number. */
static inline struct lock_reply player_plain(const char *word)
{
    static const char *const words[] = {"ok", "no", NULL, NULL, "error", NULL, "garbled"};
    for (uint8_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (words[i] != NULL && strcmp(word, words[i]) == 0) {
            return (struct lock_reply){.type = i};
        }
    }
    return (struct lock_reply){.type = LOCK_REPLY_NUMBER, .number = strtoll(word, NULL, 10)};
}

static inline struct lock_reply player_reply(const struct player *player,
                                             const struct lock_command *command, const char *word)
{
    if (lock_dialect_of(&player->lock) != &redis_dialect) {
        return player_plain(word);
    }
    static const char *const words[] = {"ok", "nil", "", "noscript", "error", "garbled"};
    for (uint8_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(word, words[i]) == 0) {
            return redis_reply((enum redis_command)command->kind, (enum redis_said)i, 0);
        }
    }
    return redis_reply((enum redis_command)command->kind, REDIS_SAID_INTEGER,
                       strtoll(word, NULL, 10));
}

/* Read "acquire" or "reply 2 ok" into an event; false if it is none for the lock. */
static inline bool player_event(struct player *player, char *words, struct lock_event *event)
{
    char *rest = NULL;
    const char *verb = strtok_r(words, " ", &rest);
    const char *first = strtok_r(NULL, " ", &rest);
    const char *second = strtok_r(NULL, " ", &rest);
    static const char *const verbs[] = {"acquire", "extend", "release", "", "broken", "timer"};
    event->node_index = first == NULL ? 0 : (uint8_t)strtol(first, NULL, 10);
    if (strcmp(verb, "wall") == 0) {
        char memory[WHY_BYTES];
        struct text why = text_over(memory, sizeof memory);
        cr_assert(!result_failed(duration_parse(first, &player->wall_ns, &why)));
        return false;
    }
    if (strcmp(verb, "lose") == 0) {
        (void)player_take(player, event->node_index);
        return false;
    }
    bool pushed = strcmp(verb, "push") == 0;
    if (strcmp(verb, "reply") == 0 || strcmp(verb, "again") == 0 || pushed) {
        event->type = pushed ? LOCK_EVENT_PUSH : LOCK_EVENT_REPLY;
        event->command = verb[0] == 'r' ? player_take(player, event->node_index)
                                        : player->answered[event->node_index];
        event->reply = player_reply(player, &event->command, second);
        return true;
    }
    for (uint8_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verb, verbs[i]) == 0) {
            event->type = i;
            player->queued[event->node_index] =
                i == LOCK_EVENT_BROKEN ? 0 : player->queued[event->node_index];
            return true;
        }
    }
    cr_assert_fail("no event: %s", player->line);
    return false;
}

/* Play one line; false if the effects are not those that it says: `got` then has them. */
static inline bool player_line(struct player *player, char *line, struct text *got)
{
    char *arrow = strstr(line, "=>");
    const char *expected = arrow == NULL ? "" : arrow + 2 + (arrow[2] == ' ');
    char words[PLAYER_LINE_BYTES];
    (void)snprintf(words, sizeof words, "%.*s",
                   arrow == NULL ? (int)strlen(line) : (int)(arrow - line), line);
    char *rest = NULL;
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct lock_event event = {.wall_ns = player->wall_ns};
    const char *time = strtok_r(words, " ", &rest);
    cr_assert(!result_failed(duration_parse(time, &event.now_ns, &why)), "%s", why.data);
    player->draws++;
    for (uint64_t i = 0; i + 1 < LOCK_RANDOM_WORDS; i++) {
        event.random[i] = player->draws * 16 + i;
    }
    event.random[LOCK_RANDOM_WORDS - 1] = UINT64_MAX / 2;
    if (!player_event(player, rest, &event)) {
        return true;
    }
    event.wall_ns = player->wall_ns;
    lock_step(&player->lock, &event, &player->effects);
    player_queue(player);
    player_print(player, got);
    return strcmp(got->data, expected) == 0;
}

/* Play until the effects are not those of the transcript, and say so in `why`. */
static inline bool player_agrees(const struct lock_config *config, const char *transcript,
                                 struct text *why)
{
    static struct player player;
    memset(&player, 0, sizeof player);
    lock_init(&player.lock, config);
    char line[PLAYER_LINE_BYTES];
    for (const char *at = transcript; *at != '\0';) {
        size_t bytes = strcspn(at, "\n");
        cr_assert(bytes < sizeof line);
        memcpy(line, at, bytes);
        line[bytes] = '\0';
        at += bytes + (at[bytes] == '\n');
        char copy[PLAYER_LINE_BYTES];
        memcpy(copy, line, bytes + 1);
        player.line = copy;
        char printed[4 * PLAYER_LINE_BYTES];
        struct text got = text_over(printed, sizeof printed);
        if (line[0] != '#' && line[0] != '\0' && !player_line(&player, line, &got)) {
            text_add(why, "%s\n  got: %s", copy, printed);
            return false;
        }
    }
    return true;
}

static inline void play(const struct lock_config *config, const char *transcript)
{
    char memory[4 * PLAYER_LINE_BYTES];
    struct text why = text_over(memory, sizeof memory);
    cr_assert(player_agrees(config, transcript, &why), "%s", why.data);
}

/* What a wrong lock does, and the right one, by the same events, does not. */
static inline void play_wrong(const struct lock_config *wrong, const char *right,
                              const char *transcript)
{
    play(wrong, transcript);
    struct lock_config config = *wrong;
    cr_assert(lock_algorithm_find(right, &config.algorithm));
    char memory[4 * PLAYER_LINE_BYTES];
    struct text why = text_over(memory, sizeof memory);
    cr_assert(!player_agrees(&config, transcript, &why), "%s does just the same", right);
}

/* The same with the usual configuration, and with one that never tries again. */
static inline void play_usual(const char *algorithm, uint16_t node_count, const char *transcript)
{
    struct lock_config config = player_config(algorithm, node_count);
    play(&config, transcript);
}

static inline void play_once(const char *algorithm, uint16_t node_count, const char *transcript)
{
    struct lock_config config = player_config(algorithm, node_count);
    config.retry_count = 0;
    play(&config, transcript);
}

#endif
