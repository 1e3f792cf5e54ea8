/* test_determinism.c: one seed, the same bytes; a snapshot goes on as the original does. */
#include "tests/sim/sim_fixture.h"

static struct fixture fixture;

/* Everything at once: all kinds of faults, contention, extensions, several resources. */
#define STORM                                                                                      \
    HEAD("algorithm: fenced_redlock, ttl: 2s", "everysec")                                         \
    "clients: {count: 4, resources: 2, sections: 4, hold: 300ms, think_jitter: 50ms, writes: 2,"   \
    " extend_every: 100ms}\n"                                                                      \
    "duration: 20s\nfaults:\n"                                                                     \
    "  - {on: client 1 after_granted, do: pause, for: 3s}\n"                                       \
    "  - {on: client 2 after_majority, nth: 2, do: pause, for: 500ms}\n"                           \
    "  - {at: 500ms, do: clock_jump, by: 3s, target: node 1}\n"                                    \
    "  - {at: 600ms, for: 2s, do: clock_rate, rate: 1.5, target: node 2}\n"                        \
    "  - {at: 700ms, for: 1s, do: clock_rate, rate: 0.5, target: client 3}\n"                      \
    "  - {at: 800ms, for: 1s, do: partition, mode: hold, from: client 2, to: nodes 1-3}\n"         \
    "  - {at: 900ms, for: 1s, do: partition, mode: drop, direction: reply, to: node 4}\n"          \
    "  - {at: 1200ms, for: 300ms, do: partition, mode: refuse, from: client 4}\n"                  \
    "  - {at: 1500ms, for: 1s, do: power_loss, target: node 5}\n"                                  \
    "  - {at: 1600ms, for: 100ms, do: crash, target: node 3}\n"                                    \
    "  - {on: node 2 set, nth: 3, do: lose_reply}\n"                                               \
    "  - {on: node 4 before set, nth: 2, do: delay_command, delay: 1s}\n"                          \
    "  - {at: 2s, for: 1s, do: latency, delay: 5ms, jitter: 20ms}\n"                               \
    "  - {at: 2s, for: 1s, do: slow, delay: 1ms, jitter: 3ms, target: client 1}\n"                 \
    "  - {at: 2500ms, for: 1s, do: stall, target: node 1}\n"                                       \
    "  - {at: 2700ms, for: 1s, do: refuse_writes, error: READONLY, target: node 2}\n"              \
    "  - {at: 2800ms, do: script_flush, target: nodes 1-5}\n"                                      \
    "  - {at: 2900ms, do: evict, target: node 3}\n"                                                \
    "  - {at: 3s, do: failover, lag: 1s, target: node 4}\n"                                        \
    "  - {at: 3500ms, do: kill, target: client 4}\n" TAIL

Test(determinism, the_same_seed_gives_the_same_bytes_whatever_ran_before)
{
    fixture_run(&fixture, STORM, 7);
    uint64_t hash = fixture.hash;
    uint64_t events = fixture.count;
    cr_assert_gt(events, 300);
    for (uint64_t seed = 1; seed < 30; seed++) {
        fixture_again(&fixture, seed);
        fixture_finish(&fixture);
    }
    fixture_again(&fixture, 7);
    fixture_finish(&fixture);
    cr_assert_eq(fixture.hash, hash);
    cr_assert_eq(fixture.count, events);
    fixture_close(&fixture);
}

Test(determinism, the_hash_is_the_same_on_every_machine_compiler_and_level_of_optimization)
{
    fixture_run(&fixture, STORM, 7);
    uint64_t all = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        fixture_again(&fixture, seed);
        fixture_finish(&fixture);
        all = (all ^ fixture.hash) * 0x100000001b3u;
    }
    cr_log_info("storm of 100 seeds: %016lx", (unsigned long)all);
    fixture_close(&fixture);
}

Test(determinism, another_seed_gives_another_history)
{
    fixture_run(&fixture, STORM, 7);
    uint64_t hash = fixture.hash;
    fixture_again(&fixture, 8);
    fixture_finish(&fixture);
    cr_assert_neq(fixture.hash, hash);
    fixture_close(&fixture);
}

Test(determinism, a_snapshot_at_any_step_goes_on_byte_for_byte)
{
    fixture_run(&fixture, STORM, 7);
    uint64_t hash = fixture.hash;
    uint64_t steps = sim_steps(fixture.sim);
    void *memory = arena_take(&fixture.arena, sim_snapshot_bytes_max(fixture.sim));
    cr_assert_not_null(memory);
    for (uint64_t at = 0; at < steps; at++) {
        fixture_again(&fixture, 7);
        for (uint64_t i = 0; i < at; i++) {
            (void)sim_step(fixture.sim, &fixture.recorder);
        }
        sim_save(fixture.sim, memory);
        uint64_t saved_hash = fixture.hash;
        uint64_t saved_count = fixture.count;
        /* Wander off, then come back. */
        for (uint64_t i = 0; i < 50; i++) {
            (void)sim_step(fixture.sim, &fixture.recorder);
        }
        sim_restore(fixture.sim, memory);
        fixture.hash = saved_hash;
        fixture.count = saved_count;
        if (at % 16 == 0 || at + 64 > steps) {
            fixture_finish(&fixture);
            cr_assert_eq(fixture.hash, hash, "restored at step %lu", (unsigned long)at);
            continue;
        }
        for (uint64_t i = 0; i < 50; i++) {
            (void)sim_step(fixture.sim, &fixture.recorder);
        }
        uint64_t there = fixture.hash;
        sim_restore(fixture.sim, memory);
        fixture.hash = saved_hash;
        fixture.count = saved_count;
        for (uint64_t i = 0; i < 50; i++) {
            (void)sim_step(fixture.sim, &fixture.recorder);
        }
        cr_assert_eq(fixture.hash, there, "restored at step %lu", (unsigned long)at);
    }
    fixture_close(&fixture);
}

/* A hash of what one client did and what was done to its keys. */
static uint64_t life_of(int32_t client)
{
    uint64_t hash = 0;
    for (uint64_t i = 0; i < fixture.count; i++) {
        const struct history_event *event = &fixture.events[i];
        if (event->process != client || event->kind == HISTORY_FAULT) {
            continue;
        }
        hash = (hash ^ (uint64_t)event->time_ns) * 0x100000001b3u;
        hash = (hash ^ (uint64_t)event->f) * 0x100000001b3u;
        for (int b = 0; b < HISTORY_VALUE_BYTES; b++) {
            hash = (hash ^ event->value.bytes[b]) * 0x100000001b3u;
        }
    }
    return hash;
}

#define THREE "clients: {count: 3, resources: 512, sections: 3}\n"

Test(determinism, a_new_draw_of_one_actor_moves_no_other_actors_stream)
{
    fixture_run(&fixture, HEAD("algorithm: redlock, ttl: 10s", "none") THREE TAIL, 5);
    uint64_t before[3] = {life_of(0), life_of(1), life_of(2)};
    fixture_close(&fixture);

    /* Client 1 is stepped once more than it was: four more words of its own stream. */
    fixture_run(&fixture,
                HEAD("algorithm: redlock, ttl: 10s", "none") THREE
                "faults:\n  - {on: client 1 after_granted, do: pause, for: 1ms}\n" TAIL,
                5);
    cr_assert_neq(life_of(0), before[0]);
    cr_assert_eq(life_of(1), before[1]);
    cr_assert_eq(life_of(2), before[2]);
    fixture_close(&fixture);
}
