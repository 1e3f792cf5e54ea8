/* test_actor.c: the client with our lock core, told as transcripts of effects. */
#include "base/assert.h"
#include "base/duration.h"
#include "harness/actor.h"
#include "lockcore/algorithms.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 3 };

static union {
    struct actor actor;
    char bytes[16 * 1024];
} memory;
static struct client_program program;
static struct actor_effects effects;
static struct lock_command sent[NODES]; /* the newest command to each node */
static char transcript[1024];

static void setup_with(const char *algorithm)
{
    struct lock_config config = {
        .node_count = NODES,
        .retry_count = 0,
        .extend_count = 3,
        .ttl_ns = 10 * NS_PER_S,
        .node_timeout_ns = 50 * NS_PER_MS,
        .drift_ppm = 10000,
    };
    program = (struct client_program){
        .resource_count = 1, .at_once = 1, .sections = 1, .writes = 1, .hold_ns = 100 * NS_PER_MS};
    cr_assert(lock_algorithm_find(algorithm, &config.algorithm));
    cr_assert_leq(actor_bytes(&program), sizeof memory);
    actor_init(&memory.actor, &program, &config, 0, 1);
    transcript[0] = '\0';
}

static void setup(void)
{
    setup_with("redlock");
}

static void note(const char *word, const char *detail)
{
    size_t length = strlen(transcript);
    snprintf(transcript + length, sizeof transcript - length, "%s%s%s%s", length > 0 ? " " : "",
             word, detail[0] != '\0' ? ":" : "", detail);
}

static void note_record(const struct history_event *record)
{
    char detail[64];
    bool op = record->kind == HISTORY_OP;
    snprintf(detail, sizeof detail, "%s%s%s", history_f_name((enum history_f)record->f),
             op ? "-" : "", op ? history_type_name((enum history_type)record->type) : "");
    note("record", detail);
}

/* Step, and write down what the actor wants, in order. */
static void step(struct actor_event event, int64_t now_ns, uint32_t watched)
{
    event.now_ns = now_ns;
    event.wall_ns = now_ns;
    event.probes_watched = watched;
    transcript[0] = '\0';
    actor_step(&memory.actor, &program, &event, &effects);
    int sends = 0;
    for (uint32_t i = 0; i < effects.count; i++) {
        const struct actor_effect *effect = &effects.list[i];
        bool last_send = i + 1 == effects.count || effects.list[i + 1].type != ACTOR_EFFECT_SEND;
        switch ((enum actor_effect_type)effect->type) {
        case ACTOR_EFFECT_SEND:
            sent[effect->node_index] = effect->u.command;
            sends++;
            if (last_send) {
                note("send", sends == NODES ? "all" : "some");
                sends = 0;
            }
            break;
        case ACTOR_EFFECT_WAKE:
            break;
        case ACTOR_EFFECT_STORE:
            note("store", history_f_name((enum history_f)effect->f));
            break;
        case ACTOR_EFFECT_RECORD:
            note_record(&effect->u.record);
            break;
        case ACTOR_EFFECT_PROBE:
            note("probe", probe_point_name((enum probe_point)effect->point));
            break;
        case ACTOR_EFFECT_AGAIN:
            note("again", "");
            break;
        case ACTOR_EFFECT_DONE:
            note("done", "");
            break;
        }
    }
}

static void reply(uint8_t node, struct lock_reply answer, int64_t now_ns, uint32_t watched)
{
    step(
        (struct actor_event){
            .type = ACTOR_EVENT_REPLY, .node_index = node, .reply = answer, .command = sent[node]},
        now_ns, watched);
}

static const struct lock_reply yes = {.type = LOCK_REPLY_YES};
static const struct lock_reply deleted = {.type = LOCK_REPLY_YES};

static void start(uint32_t watched)
{
    step((struct actor_event){.type = ACTOR_EVENT_START}, 0, watched);
    cr_assert_str_eq(transcript, "record:started");
    step((struct actor_event){.type = ACTOR_EVENT_WAKE}, 0, watched);
}

static void again(int64_t now_ns, uint32_t watched)
{
    step((struct actor_event){.type = ACTOR_EVENT_AGAIN}, now_ns, watched);
}

TestSuite(actor, .init = setup);

Test(actor, a_section_from_start_to_end)
{
    start(0);
    cr_assert_str_eq(transcript, "record:acquire-invoke send:all");
    reply(0, yes, 1, 0);
    cr_assert_str_eq(transcript, "");
    reply(1, yes, 2, 0);
    cr_assert_str_eq(transcript, "record:acquire-ok record:enter record:read-invoke store:read");
    step((struct actor_event){.type = ACTOR_EVENT_STORE, .version = 7}, 3, 0);
    cr_assert_str_eq(transcript, "record:read-ok record:write-invoke store:write");
    step((struct actor_event){.type = ACTOR_EVENT_STORE, .version = 8}, 4, 0);
    cr_assert_str_eq(transcript, "record:write-ok");
    step((struct actor_event){.type = ACTOR_EVENT_WAKE}, NS_PER_S, 0);
    cr_assert_str_eq(transcript, "record:leave record:release-invoke send:all");
    reply(0, deleted, NS_PER_S, 0);
    reply(1, deleted, NS_PER_S, 0);
    cr_assert_str_eq(transcript, "record:release-ok record:done done");
}

Test(actor, every_watched_probe_point_of_an_acquire_is_passed_in_order)
{
    uint32_t all = (1u << PROBE_POINTS) - 1;
    start(all);
    cr_assert_str_eq(transcript, "record:acquire-invoke probe:before_send again");
    again(0, all);
    cr_assert_str_eq(transcript, "send:all probe:before_replies");
    reply(0, yes, 1, all);
    cr_assert_str_eq(transcript, "");
    reply(1, yes, 2, all);
    cr_assert_str_eq(transcript, "probe:after_majority again");
    again(3, all);
    cr_assert_str_eq(transcript, "record:acquire-ok probe:after_granted again");
    again(4, all);
    cr_assert_str_eq(transcript, "record:enter record:read-invoke store:read");
}

/* Kleppmann 2016, second figure, as antirez answered it: the time is looked at after the replies.
 */
Test(actor, a_pause_before_the_majority_is_seen_by_the_lock)
{
    uint32_t watched = 1u << PROBE_AFTER_MAJORITY;
    start(watched);
    reply(0, yes, 1, watched);
    reply(1, yes, 2, watched);
    cr_assert_str_eq(transcript, "probe:after_majority again");
    again(12 * NS_PER_S, watched);
    cr_assert_str_eq(transcript, "send:all record:acquire-fail");
}

Test(actor, a_pause_before_sending_counts_as_elapsed)
{
    uint32_t watched = 1u << PROBE_BEFORE_SEND;
    start(watched);
    again(12 * NS_PER_S, watched);
    cr_assert_str_eq(transcript, "send:all");
    reply(0, yes, 12 * NS_PER_S, watched);
    reply(1, yes, 12 * NS_PER_S, watched);
    cr_assert_str_eq(transcript, "send:all record:acquire-fail");
}

Test(actor, a_lock_without_the_second_look_grants_what_has_ended)
{
    setup_with("wrong/no-recheck");
    uint32_t watched = 1u << PROBE_AFTER_MAJORITY;
    start(watched);
    reply(0, yes, 1, watched);
    reply(1, yes, 2, watched);
    again(12 * NS_PER_S, 0);
    cr_assert_str_eq(transcript, "record:acquire-ok record:enter record:read-invoke store:read");
}

Test(actor, a_lease_that_runs_out_in_the_section_is_noticed_once)
{
    start(0);
    reply(0, yes, 1, 0);
    reply(1, yes, 2, 0);
    step((struct actor_event){.type = ACTOR_EVENT_STORE, .version = 1}, 3, 0);
    step((struct actor_event){.type = ACTOR_EVENT_WAKE}, 11 * NS_PER_S, 0);
    cr_assert_str_eq(transcript, "record:lost");
}

Test(actor, the_same_events_give_the_same_bytes)
{
    static union {
        struct actor actor;
        char bytes[16 * 1024];
    } twin;
    start(0);
    reply(0, yes, 1, 0);
    memcpy(&twin, &memory, sizeof twin);
    reply(1, yes, 2, 0);
    struct actor_event event = {
        .type = ACTOR_EVENT_REPLY, .node_index = 1, .reply = yes, .now_ns = 2, .wall_ns = 2};
    event.command = sent[1];
    struct actor_effects twin_effects;
    actor_step(&twin.actor, &program, &event, &twin_effects);
    cr_assert_eq(memcmp(&twin, &memory, actor_bytes(&program)), 0);
    cr_assert_eq(twin_effects.count, effects.count);
}
