/* test_scenario_print.c: what is printed is read back as the same scenario. */
#include "base/duration.h"
#include "base/random.h"
#include "tests/harness/scenario_text.h"

#include <criterion/criterion.h>

enum { PRINT_BYTES = 1 << 16 };

static const char *print(const struct scenario *scenario)
{
    static char memory[PRINT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    scenario_print(scenario, &text);
    cr_assert(!text.cut);
    return memory;
}

/* Equal in everything but where it stands in a file. */
static void assert_same(const struct scenario *a, const struct scenario *b)
{
    static struct scenario left;
    static struct scenario right;
    left = *a;
    right = *b;
    struct scenario *both[] = {&left, &right};
    for (int i = 0; i < 2; i++) {
        memset(both[i]->path, 0, sizeof both[i]->path);
        both[i]->expect_line = 0;
        for (size_t k = 0; k < SCENARIO_FAULTS_MAX; k++) {
            both[i]->faults[k].line = 0;
            both[i]->faults[k].column = 0;
        }
        for (size_t k = 0; k < SCENARIO_EXPECTS_MAX; k++) {
            both[i]->expects[k].line = 0;
            both[i]->expects[k].column = 0;
        }
    }
    cr_assert_eq(left.fault_count, right.fault_count);
    for (size_t k = 0; k < left.fault_count; k++) {
        cr_assert_eq(memcmp(&left.faults[k], &right.faults[k], sizeof left.faults[k]), 0,
                     "fault %zu", k);
    }
    cr_assert_str_eq(left.about, right.about);
    cr_assert_eq(memcmp(&left, &right, sizeof left), 0);
}

static void assert_round_trip(const struct scenario *scenario)
{
    static char printed[PRINT_BYTES];
    static struct scenario before;
    before = *scenario;
    memcpy(printed, print(scenario), PRINT_BYTES);
    const struct parsed *parsed = parse(printed);
    cr_assert(!result_failed(parsed->result), "%s\n%s", parsed->told, printed);
    assert_same(&before, &parsed->scenario);
    cr_assert_str_eq(print(&parsed->scenario), printed);
}

Test(scenario_print, every_fault_is_read_back)
{
    const struct parsed *parsed =
        parse("version: 1\n"
              "name: demo\n"
              "about: \"a \\\"quoted\\\" \\\\ line\\nand \\x07, \\u2028, \xc3\xa9, \\u0085\"\n"
              "lock: {algorithm: redlock, ttl: 1s, drift: 0.35%, extend: {count: 7}}\n"
              "clients: {count: 4, sections: 3, writes: 2, extend_every: 300ms, on_lost: leave}\n"
              "store: {value_check: true}\n"
              "expect: {exclusion: {verdict: fail, blame: library}, exercised: pass}\n"
              "faults:\n"
              "  - {on: client 1 after_granted, nth: 2, do: pause, until: client 2 after_write}\n"
              "  - {at: 0s, do: pause, target: client 2-3, until: node 1 before set from client 4, "
              "until_nth: 3}\n"
              "  - {on: any client after_write, nth: 5, do: kill, target: clients}\n"
              "  - {on: any client after_write, nth: 3, after: 20ms, do: kill, target: clients}\n"
              "  - {on: client 3 before_send, do: slow, delay: 3ms, jitter: 2ms, for: 1s}\n"
              "  - {on: any node set, nth: 4, do: clock_jump, target: node 3, by: -11s}\n"
              "  - {at: 1s, do: clock_rate, target: client 2, rate: 0.999}\n"
              "  - {on: node 5 set, from: client 2, do: crash, for: 0s}\n"
              "  - {on: node 5 before delete, do: power_loss, target: \"nodes 1,3-5\", for: 2s}\n"
              "  - {at: 3ms, do: shutdown, target: nodes, for: 10ms}\n"
              "  - {at: 3ms, do: stall, target: nodes 2-3}\n"
              "  - {at: 3ms, do: refuse_writes, target: node 1, error: LOADING}\n"
              "  - {at: 3ms, do: script_flush, target: nodes}\n"
              "  - {at: 3ms, do: evict, target: node 2}\n"
              "  - {at: 3ms, do: failover, target: node 2, lag: 20ms}\n"
              "  - {on: client 2 before_send, do: latency, delay: 5ms, direction: reply}\n"
              "  - {at: 1s, do: partition, shape: ring, mode: reset, for: 1s}\n"
              "  - {on: node 3 set from client 1, do: partition, mode: refuse}\n"
              "  - {on: node 3 set, from: client 1, nth: 2, do: lose_reply}\n"
              "  - {at: 2s, do: lose_reply, to: nodes 1-2, command: delete, for: 1s}\n"
              "  - {on: any node before extend from client 4, do: delay_command, delay: 2s}\n"
              "  - {on: node 1 before set, do: delay_command, delay: 2s, for: 3s}\n");
    cr_assert(!result_failed(parsed->result), "%s", parsed->told);
    cr_assert_eq(parsed->scenario.fault_count, 22);
    assert_round_trip(&parsed->scenario);
}

Test(scenario_print, needs_are_read_back)
{
    const struct parsed *parsed = parse(HEAD "needs: [validity, several]\n");
    cr_assert_eq(parsed->scenario.needs, 1u << DECLARES_VALIDITY | 1u << DECLARES_SEVERAL);
    assert_round_trip(&parsed->scenario);
    parsed = parse(HEAD "lacks: [reentrant]\n");
    cr_assert_eq(parsed->scenario.lacks, 1u << DECLARES_REENTRANT);
    assert_round_trip(&parsed->scenario);
}

Test(scenario_print, random_faults_are_read_back)
{
    const struct parsed *parsed =
        parse(HEAD "faults: {random: {kinds: [crash, pause], count: 5, from: 1s, to: 2s}}\n");
    cr_assert(!result_failed(parsed->result), "%s", parsed->told);
    assert_round_trip(&parsed->scenario);
}

/* Scenarios of every size, with every kind of fault that a seed can draw. */
Test(scenario_print, ten_thousand_drawn_scenarios_are_read_back)
{
    static struct scenario scenario;
    static struct plan plan;
    const struct parsed *parsed = parse(HEAD);
    scenario = parsed->scenario;
    for (uint64_t seed = 1; seed <= 10000; seed++) {
        struct random_stream stream = random_stream("print test", seed);
        scenario.node_count = 1 + (int32_t)random_below(&stream, LOCK_NODES_MAX);
        scenario.lock.node_count = (uint8_t)scenario.node_count;
        scenario.client_count = 1 + (int32_t)random_below(&stream, 20);
        scenario.sections = 1 + (int32_t)random_below(&stream, 5);
        scenario.writes = (int32_t)random_below(&stream, 3);
        scenario.extend_every_ns = (int64_t)random_below(&stream, 2) * NS_PER_MS;
        scenario.lock.drift_ppm = (int64_t)random_below(&stream, 500001);
        scenario.lock.ttl_ns = NS_PER_S + (int64_t)random_below(&stream, 9 * (uint64_t)NS_PER_S);
        scenario.duration_ns = 20 * NS_PER_S;
        scenario.random = (struct random_faults){
            .present = true,
            .kinds = ((1u << FAULT_KINDS) - 1) & ~(1u << FAULT_NONE),
            .count_max = 8,
            .from_ns = 0,
            .to_ns = 20 * NS_PER_S,
        };
        scenario_plan(&scenario, seed, 1000000, &plan);
        cr_assert(!plan.scenario.random.present);
        assert_round_trip(&plan.scenario);
    }
}
