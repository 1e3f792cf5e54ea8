/* test_run.c: whole runs on five real servers, and what faults do to them. */
#include "base/duration.h"
#include "tests/real/story.h"

#include <criterion/criterion.h>

static struct story story;

#define SETUP(clients, sections, hold)                                                             \
    "version: 1\nname: story\nabout: a test\nsource: nowhere\n"                                    \
    "lock: {algorithm: redlock, ttl: 500ms, node_timeout: 100ms, drift: 1%, "                      \
    "retry: {count: 20, delay: 20ms, jitter: 20ms}}\n"                                             \
    "nodes: {kind: redis, count: 5, fsync: none}\n"                                                \
    "clients: {count: " clients ", resources: 1, sections: " sections ", hold: " hold              \
    ", think: 1ms, writes: 1}\n"                                                                   \
    "store: {fence_check: false}\n"                                                                \
    "duration: 5s\nexpect: {exclusion: pass}\n"

/* Client 1 reaches three nodes only: each of them is part of its majority, however late it is. */
#define THREE_NODES                                                                                \
    "  - {at: 0s, do: partition, from: client 1, to: nodes 4-5, mode: refuse, for: 4s}\n"

/* The first effect of a fault of this kind. */
static const struct history_event *effect_of(enum fault_kind kind)
{
    for (size_t i = 0; i < story.count; i++) {
        const struct history_event *event = &story.events[i];
        if (event->f == HISTORY_FAULT_EFFECT && event->fault_kind == kind) {
            return event;
        }
    }
    return NULL;
}

/* An assertion that is about to fail tells what it saw. */
#define TELL_UNLESS(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            story_tell(&story);                                                                    \
        }                                                                                          \
    } while (0)

Test(run, a_healthy_lock_grants_every_section)
{
    story_must_run(&story, SETUP("3", "4", "5ms"), 1);
    cr_assert_eq(story_ended(&story, HISTORY_RELEASE, HISTORY_OK), 12);
    cr_assert_eq(story_ended(&story, HISTORY_WRITE, HISTORY_OK), 12);
    cr_assert_eq(story_count(&story, HISTORY_CLIENT, HISTORY_CLIENT_DONE), 4, "the auditor too");
    cr_assert_eq(story_count(&story, HISTORY_PHASE, HISTORY_HEALED), 1);
    cr_assert_eq(story.events[story.count - 1].f, HISTORY_RUN_END);
    cr_assert_eq(story.events[story.count - 1].cause, CAUSE_ALL_DONE);
    cr_assert(story_count(&story, HISTORY_NODE, HISTORY_KEY_SET) >= 36);
}

/* A lone client is paused exactly after the grant, for longer than its ttl. */
Test(run, a_client_paused_after_its_grant_writes_late)
{
    story_must_run(
        &story,
        SETUP("2", "1", "5ms") "faults: [{on: client 1 after_granted, do: pause, for: 700ms}]\n",
        1);
    const struct history_event *effect = story_find(&story, HISTORY_FAULT, HISTORY_FAULT_EFFECT, 0);
    const struct history_event *grant = NULL;
    const struct history_event *enter = NULL;
    for (size_t i = 0; i < story.count; i++) {
        const struct history_event *event = &story.events[i];
        if (event->process == 0 && event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK) {
            grant = event;
        } else if (event->process == 0 && event->f == HISTORY_ENTER) {
            enter = event;
        }
    }
    cr_assert_not_null(effect);
    cr_assert(effect->number[1] >= 700 * NS_PER_MS);
    cr_assert(grant != NULL && enter != NULL);
    cr_assert(grant->until_ns - grant->time_ns <= 500 * NS_PER_MS);
    cr_assert(enter->time_ns > grant->until_ns, "it enters after its lease has ended");
}

Test(run, a_client_paused_before_it_reads_the_replies_is_refused)
{
    story_must_run(
        &story,
        SETUP("1", "1", "5ms") "faults: [{on: client 1 before_replies, do: pause, for: 700ms}]\n",
        1);
    const struct history_event *first = story_find(&story, HISTORY_NODE, HISTORY_KEY_SET, 4);
    cr_assert_not_null(first, "all five nodes granted while it stood there");
    cr_assert_eq(story_count(&story, HISTORY_FAULT, HISTORY_FAULT_EFFECT), 1);
    cr_assert_eq(story_ended(&story, HISTORY_ACQUIRE, HISTORY_OK), 1, "at a later attempt");
    const struct history_event *granted = NULL;
    for (size_t i = 0; i < story.count && granted == NULL; i++) {
        const struct history_event *event = &story.events[i];
        if (event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK) {
            granted = event;
        }
    }
    cr_assert(granted->time_ns > 700 * NS_PER_MS);
}

Test(run, a_killed_client_is_heard_no_more)
{
    story_must_run(&story,
                   SETUP("2", "3", "5ms") "faults: [{on: client 1 after_granted, do: kill}]\n", 1);
    cr_assert_eq(story_count(&story, HISTORY_CLIENT, HISTORY_CLIENT_KILLED), 1);
    const struct history_event *killed =
        story_find(&story, HISTORY_CLIENT, HISTORY_CLIENT_KILLED, 0);
    for (size_t i = 0; i < story.count; i++) {
        bool of_client = story.events[i].process == 0 && story.events[i].kind == HISTORY_OP;
        cr_assert(!of_client || story.events[i].time_ns <= killed->time_ns);
    }
}

Test(run, a_crashed_node_without_a_file_forgets_the_key)
{
    story_must_run(&story,
                   SETUP("1", "1", "50ms") "faults:\n"
                                           "  - {on: client 1 after_granted, do: crash, target: "
                                           "node 3, for: 10ms}\n" THREE_NODES,
                   1);
    const struct history_event *lost = story_find(&story, HISTORY_NODE, HISTORY_KEY_LOST, 0);
    TELL_UNLESS(lost != NULL);
    cr_assert_not_null(lost);
    cr_assert_eq(lost->node, 2);
    cr_assert_eq(lost->cause, CAUSE_RESTART);
    cr_assert_eq(effect_of(FAULT_CRASH)->number[1], 1);
    const struct history_event *start = story_find(&story, HISTORY_FAULT, HISTORY_FAULT_START, 0);
    cr_assert_eq(start->fault_kind, FAULT_PARTITION);
    cr_assert_eq(start->process, 0);
    cr_assert_eq(start->nodes, 24, "the start of a fault of two nodes names both");
}

Test(run, a_jumped_clock_makes_a_key_expire)
{
    story_must_run(&story,
                   SETUP("1", "1", "50ms") "faults:\n"
                                           "  - {on: client 1 after_granted, do: clock_jump, "
                                           "target: node 2, by: 11s}\n" THREE_NODES,
                   1);
    const struct history_event *gone = story_find(&story, HISTORY_NODE, HISTORY_KEY_EXPIRED, 0);
    const struct history_event *effect = effect_of(FAULT_CLOCK_JUMP);
    TELL_UNLESS(gone != NULL);
    cr_assert_not_null(gone);
    cr_assert_eq(gone->node, 1);
    cr_assert_eq(gone->cause, CAUSE_CLOCK_JUMP);
    cr_assert(effect->number[1] > 10900 * NS_PER_MS && effect->number[1] < 11100 * NS_PER_MS);
}

Test(run, a_lost_reply_was_applied)
{
    story_must_run(
        &story,
        SETUP("1", "1", "5ms") "faults:\n  - {on: node 3 set, do: lose_reply}\n" THREE_NODES, 1);
    cr_assert(story_count(&story, HISTORY_NODE, HISTORY_KEY_SET) >= 3);
    const struct history_event *effect = story_find(&story, HISTORY_FAULT, HISTORY_FAULT_EFFECT, 0);
    cr_assert_eq(effect->fault_kind, FAULT_LOSE_REPLY);
    cr_assert_eq(effect->number[1], 1);
    const struct history_event *end = story_find(&story, HISTORY_FAULT, HISTORY_FAULT_END, 0);
    cr_assert_eq(end->fault, effect->fault);
    cr_assert_eq(end->number[1], 0, "what strikes one command lasts no time");
}

Test(run, a_held_partition_delivers_after_its_end)
{
    story_must_run(
        &story,
        SETUP("1", "1", "5ms") "faults: [{on: client 1 before_send, do: partition, from: client 1, "
                               "to: nodes 1-3, mode: hold, for: 300ms}]\n",
        1);
    const struct history_event *end = story_find(&story, HISTORY_FAULT, HISTORY_FAULT_END, 0);
    cr_assert_eq(story_count(&story, HISTORY_FAULT, HISTORY_FAULT_EFFECT), 1);
    for (size_t i = 0; i < story.count; i++) {
        const struct history_event *event = &story.events[i];
        cr_assert(event->kind != HISTORY_NODE || event->node > 2 || event->time_ns >= end->time_ns);
    }
}

Test(run, the_heal_waits_for_a_command_that_is_late)
{
    story_must_run(&story,
                   SETUP("1", "1", "5ms") "faults:\n  - {on: node 4 before set from client 1, do: "
                                          "delay_command, delay: 700ms}\n",
                   1);
    const struct history_event *healed = story_find(&story, HISTORY_PHASE, HISTORY_HEALED, 0);
    size_t late = 0;
    for (size_t i = 0; &story.events[i] < healed; i++) {
        const struct history_event *event = &story.events[i];
        late += event->kind == HISTORY_NODE && event->f == HISTORY_KEY_SET && event->node == 3;
    }
    TELL_UNLESS(late == 1);
    cr_assert_eq(late, 1);
}

Test(run, a_client_with_a_fast_clock_has_its_lease_end_early)
{
    story_must_run(
        &story,
        SETUP(
            "1", "1",
            "200ms") "faults: [{on: client 1 before_write, do: clock_rate, rate: 2, for: 50ms}]\n",
        1);
    cr_assert(story_count(&story, HISTORY_LEASE, HISTORY_MOVED) >= 1);
    cr_assert(story_count(&story, HISTORY_FAULT, HISTORY_FAULT_EFFECT) >= 1);
}

Test(run, a_node_that_refuses_writes_says_so)
{
    story_must_run(
        &story,
        SETUP(
            "1", "2",
            "5ms") "faults:\n"
                   "  - {at: 0s, do: refuse_writes, target: node 1, error: OOM, for: 700ms}\n"
                   "  - {at: 0s, do: refuse_writes, target: node 2, error: READONLY, for: 700ms}\n"
                   "  - {at: 0s, do: refuse_writes, target: node 3, error: LOADING, for: 700ms}\n",
        1);
    cr_assert(story_count(&story, HISTORY_NODE, HISTORY_NODE_ERROR) > 0);
    cr_assert_eq(story_count(&story, HISTORY_FAULT, HISTORY_FAULT_EFFECT), 3);
    for (size_t i = 0; i < story.count; i++) {
        const struct history_event *event = &story.events[i];
        bool granted = event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK;
        cr_assert(!granted || event->time_ns > 700 * NS_PER_MS, "only two nodes are left");
    }
}

Test(run, a_flushed_script_is_sent_again)
{
    story_must_run(&story,
                   SETUP("1", "3", "5ms") "faults: [{on: client 1 before_release, nth: 2, do: "
                                          "script_flush, target: nodes 1-5}]\n",
                   1);
    cr_assert_eq(story_ended(&story, HISTORY_RELEASE, HISTORY_OK), 3);
    cr_assert_eq(story_count(&story, HISTORY_FAULT, HISTORY_FAULT_EFFECT), 5);
}

Test(run, an_evicted_key_is_gone)
{
    story_must_run(
        &story,
        SETUP("1", "1",
              "50ms") "faults:\n"
                      "  - {on: client 1 after_granted, do: evict, target: node 1}\n" THREE_NODES,
        1);
    cr_assert_eq(story_count(&story, HISTORY_NODE, HISTORY_KEY_EVICTED), 1);
}

Test(run, a_paused_node_answers_after_its_pause)
{
    story_must_run(
        &story,
        SETUP("1", "1", "5ms") "faults:\n"
                               "  - {on: node 2 before set, do: pause, for: 300ms}\n" THREE_NODES,
        1);
    cr_assert(effect_of(FAULT_PAUSE)->number[1] >= 300 * NS_PER_MS);
    for (size_t i = 0; i < story.count; i++) {
        const struct history_event *event = &story.events[i];
        cr_assert(event->kind != HISTORY_NODE || event->node != 1 ||
                  event->time_ns >= 300 * NS_PER_MS);
    }
}

Test(run, a_reply_of_a_node_that_is_paused_behind_it_waits)
{
    story_must_run(
        &story,
        SETUP("1", "1", "5ms") "faults:\n"
                               "  - {on: node 2 set, do: pause, for: 50ms}\n" THREE_NODES,
        1);
    const struct history_event *end = story_find(&story, HISTORY_FAULT, HISTORY_FAULT_END, 0);
    for (size_t i = 0; i < story.count; i++) {
        const struct history_event *event = &story.events[i];
        bool granted = event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK;
        cr_assert(!granted || event->time_ns > end->time_ns, "its third reply was held");
    }
}

Test(run, a_reply_of_a_node_that_crashed_behind_it_is_lost)
{
    story_must_run(
        &story,
        SETUP("1", "1", "5ms") "faults:\n"
                               "  - {on: node 2 set, do: crash, for: 10ms}\n" THREE_NODES,
        1);
    const struct history_event *lost = story_find(&story, HISTORY_NODE, HISTORY_KEY_LOST, 0);
    cr_assert_not_null(lost, "it was applied");
    cr_assert_eq(lost->node, 1);
    cr_assert_eq(effect_of(FAULT_CRASH)->number[1], 1);
}

Test(run, power_loss_is_survived_by_what_was_synced)
{
    story_must_run(
        &story,
        "version: 1\nname: story\nabout: a test\nsource: nowhere\n"
        "lock: {algorithm: redlock, ttl: 2s, node_timeout: 200ms}\n"
        "nodes: {count: 5, fsync: always}\nclients: {count: 1, hold: 300ms}\nduration: 5s\n"
        "expect: {exclusion: pass}\nfaults:\n"
        "  - {on: client 1 after_granted, do: power_loss, target: node 3, for: 1ms}\n" THREE_NODES,
        1);
    cr_assert_eq(story_count(&story, HISTORY_NODE, HISTORY_KEY_BACK), 1);
    cr_assert_eq(story_count(&story, HISTORY_NODE, HISTORY_KEY_LOST), 0);
    cr_assert_eq(effect_of(FAULT_POWER_LOSS)->number[1], 0);
}

Test(run, a_shut_down_node_comes_back_with_its_keys)
{
    story_must_run(
        &story,
        "version: 1\nname: story\nabout: a test\nsource: nowhere\n"
        "lock: {algorithm: redlock, ttl: 2s, node_timeout: 200ms}\n"
        "nodes: {count: 5, fsync: everysec}\nclients: {count: 1, hold: 300ms}\nduration: 5s\n"
        "expect: {exclusion: pass}\nfaults:\n"
        "  - {on: client 1 after_granted, do: shutdown, target: node 3, for: 1ms}\n" THREE_NODES,
        1);
    cr_assert_eq(story_count(&story, HISTORY_NODE, HISTORY_KEY_BACK), 1);
    cr_assert_eq(story_count(&story, HISTORY_NODE, HISTORY_KEY_LOST), 0);
}

Test(run, a_fast_node_expires_its_key_early)
{
    story_must_run(
        &story,
        SETUP("1", "1",
              "200ms") "faults:\n"
                       "  - {on: client 1 after_granted, do: clock_rate, target: node 2, rate: 10, "
                       "for: 150ms}\n" THREE_NODES,
        1);
    const struct history_event *gone = story_find(&story, HISTORY_NODE, HISTORY_KEY_EXPIRED, 0);
    const struct history_event *effect = effect_of(FAULT_CLOCK_RATE);
    TELL_UNLESS(gone != NULL);
    cr_assert_not_null(gone);
    cr_assert_eq(gone->node, 1);
    cr_assert_eq(gone->cause, CAUSE_CLOCK_RATE);
    cr_assert(effect->number[1] > 9000000 && effect->number[1] < 11000000, "observed: %lld",
              (long long)effect->number[1]);
}

Test(run, a_clients_wall_clock_jumps_and_its_lease_stays)
{
    story_must_run(
        &story,
        SETUP("1", "1", "50ms") "faults:\n"
                                "  - {on: client 1 after_granted, do: clock_jump, by: -60s}\n",
        1);
    cr_assert_eq(effect_of(FAULT_CLOCK_JUMP)->number[1], -60 * NS_PER_S);
    cr_assert_eq(story_count(&story, HISTORY_LEASE, HISTORY_MOVED), 0);
}

Test(run, a_slow_client_takes_its_time)
{
    story_must_run(
        &story,
        SETUP("1", "1", "5ms") "faults:\n"
                               "  - {at: 0s, do: slow, target: client 1, delay: 20ms, for: 3s}\n",
        1);
    const struct history_event *done = story_find(&story, HISTORY_CLIENT, HISTORY_CLIENT_DONE, 0);
    cr_assert_not_null(done);
    cr_assert(done->time_ns > 100 * NS_PER_MS);
    cr_assert_not_null(effect_of(FAULT_SLOW));
}

Test(run, a_stalled_node_is_not_heard)
{
    story_must_run(
        &story,
        SETUP("1", "1", "5ms") "faults:\n"
                               "  - {at: 0s, do: stall, target: nodes 1-3, for: 300ms}\n",
        1);
    cr_assert_not_null(effect_of(FAULT_STALL));
    for (size_t i = 0; i < story.count; i++) {
        const struct history_event *event = &story.events[i];
        bool granted = event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK;
        cr_assert(!granted || event->time_ns >= 300 * NS_PER_MS);
    }
}

Test(run, clients_whose_time_is_up_are_stopped)
{
    story_must_run(&story,
                   "version: 1\nname: story\nabout: a test\nsource: nowhere\n"
                   "lock: {algorithm: redlock, ttl: 300ms, node_timeout: 50ms}\n"
                   "clients: {count: 3, sections: 1000, hold: 5ms}\nduration: 200ms\n"
                   "expect: {exclusion: pass}\n",
                   1);
    cr_assert_eq(story_count(&story, HISTORY_CLIENT, HISTORY_CLIENT_KILLED), 3);
    cr_assert_eq(story_find(&story, HISTORY_CLIENT, HISTORY_CLIENT_KILLED, 0)->cause,
                 CAUSE_DEADLINE);
    cr_assert_eq(story.events[story.count - 1].cause, CAUSE_DEADLINE);
    cr_assert_eq(story_count(&story, HISTORY_CLIENT, HISTORY_CLIENT_DONE), 1, "the auditor");
}

Test(run, twenty_clients_share_one_lock)
{
    story_must_run(&story,
                   "version: 1\nname: story\nabout: a test\nsource: nowhere\n"
                   "lock: {algorithm: redlock, ttl: 2s, node_timeout: 500ms, "
                   "retry: {count: 200, delay: 10ms, jitter: 30ms}}\n"
                   "clients: {count: 20, sections: 1, hold: 1ms}\nduration: 30s\n"
                   "expect: {exclusion: pass}\n",
                   1);
    cr_assert_eq(story_ended(&story, HISTORY_RELEASE, HISTORY_OK), 20);
}

Test(run, too_many_clients_are_refused_before_anything_starts)
{
    story_run(&story, SETUP("5000", "1", "5ms"), 1);
    cr_assert_eq(story.result.code, ERROR_ENVIRONMENT);
    cr_assert(strstr(story.why, "5000 clients on 5 nodes are too many for one machine: they would "
                                "take 1.4 GiB of memory and 25005 ports") != NULL,
              "%s", story.why);
}

Test(run, a_missing_server_is_one_sentence)
{
    if (story_cluster() != NULL) {
        return; /* the server is the agent's business there */
    }
    setenv("PATH", "/nowhere", 1);
    story_run(&story, SETUP("1", "1", "5ms"), 1);
    setenv("PATH", "/usr/bin:/bin", 1);
    cr_assert_eq(story.result.code, ERROR_ENVIRONMENT);
    cr_assert(strstr(story.why, "cannot start redis-server") != NULL, "%s", story.why);
    cr_assert(strstr(story.why, "apt-get install redis-server") != NULL, "%s", story.why);
}

#define REPLICATED                                                                                 \
    "version: 1\nname: story\nabout: a test\nsource: nowhere\n"                                    \
    "lock: {algorithm: redlock, ttl: 2s, node_timeout: 500ms}\n"                                   \
    "clients: {count: 1, hold: 300ms}\nduration: 5s\nexpect: {exclusion: pass}\nfaults:\n"

Test(run, a_promoted_replica_that_lags_has_not_got_the_key)
{
    story_must_run(
        &story,
        REPLICATED
        "  - {on: client 1 after_granted, do: failover, target: node 2, lag: 10s}\n" THREE_NODES,
        1);
    const struct history_event *lost = story_find(&story, HISTORY_NODE, HISTORY_KEY_LOST, 0);
    TELL_UNLESS(lost != NULL);
    cr_assert_not_null(lost);
    cr_assert_eq(lost->node, 1);
    cr_assert_eq(lost->cause, CAUSE_FAILOVER);
    cr_assert_eq(effect_of(FAULT_FAILOVER)->number[1], 1);
}

Test(run, a_promoted_replica_in_step_has_the_key)
{
    story_must_run(
        &story,
        REPLICATED
        "  - {on: client 1 before_release, do: failover, target: node 2, lag: 1ms}\n" THREE_NODES,
        1);
    TELL_UNLESS(story_count(&story, HISTORY_NODE, HISTORY_KEY_LOST) == 0);
    cr_assert_eq(story_count(&story, HISTORY_NODE, HISTORY_KEY_LOST), 0);
    cr_assert_eq(story_count(&story, HISTORY_NODE, HISTORY_KEY_BACK), 1);
    cr_assert_eq(effect_of(FAULT_FAILOVER)->number[1], 0);
}
