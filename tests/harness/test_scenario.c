/* test_scenario.c: what a scenario file means. */
#include "base/duration.h"
#include "tests/harness/scenario_text.h"

#include <criterion/criterion.h>

static const char example[] =
    "# yaml-language-server: $schema=../picklock.schema.json\n"
    "version: 1\n"
    "name: demo            # the file's name\n"
    "about: >\n"
    "  The holder stops for longer than its ttl after it was granted the lock, then writes.\n"
    "source: Kleppmann 2016, \"How to do distributed locking\"\n"
    "lock: {algorithm: redlock, ttl: 10s, node_timeout: 50ms, drift: 1%, retry: {count: 3, "
    "delay: 200ms, jitter: 200ms}}\n"
    "nodes: {kind: redis, count: 5, fsync: everysec}\n"
    "clients: {count: 5, resources: 1, sections: 20, hold: 2s, think: 100ms, writes: 3}\n"
    "store: {fence_check: false}\n"
    "faults:\n"
    "  - {on: \"client 1 after_granted\", nth: 1, do: pause, for: 12s}\n"
    "  - {at: 30s, for: 5s, do: partition, from: client 2, to: nodes 1-3, mode: hold}\n"
    "expect:\n"
    "  exclusion: pass\n"
    "  section_exclusion: {verdict: fail, blame: assumption}\n"
    "  store_integrity: fail\n";

Test(scenario, design_example_is_read)
{
    const struct parsed *parsed = parse(example);
    cr_assert(!result_failed(parsed->result), "%s", parsed->told);
    const struct scenario *scenario = &parsed->scenario;
    cr_assert_str_eq(scenario->name, "demo");
    cr_assert_str_eq(scenario->about, "The holder stops for longer than its ttl after it was "
                                      "granted the lock, then writes.\n");
    cr_assert_eq(scenario->lock.ttl_ns, 10 * NS_PER_S);
    cr_assert_eq(scenario->lock.node_timeout_ns, 50 * NS_PER_MS);
    cr_assert_eq(scenario->lock.drift_ppm, 10000);
    cr_assert_eq(scenario->lock.node_count, 5);
    cr_assert_eq(scenario->lock.retry_jitter_ns, 200 * NS_PER_MS);
    cr_assert_eq(scenario->fsync, FSYNC_EVERYSEC);
    cr_assert_eq(scenario->sections, 20);
    cr_assert_eq(scenario->think_ns, 100 * NS_PER_MS);
    cr_assert_eq(scenario->fault_count, 2);
    const struct fault *pause = &scenario->faults[0];
    cr_assert_eq(pause->kind, FAULT_PAUSE);
    cr_assert_eq(pause->start.kind, TRIGGER_PROBE);
    cr_assert_eq(pause->start.point, PROBE_AFTER_GRANTED);
    cr_assert_eq(pause->client_first, 0);
    cr_assert_eq(pause->client_last, 0);
    cr_assert_eq(pause->node_mask, 0);
    cr_assert_eq(pause->for_ns, 12 * NS_PER_S);
    const struct fault *partition = &scenario->faults[1];
    cr_assert_eq(partition->start.at_ns, 30 * NS_PER_S);
    cr_assert_eq(partition->client_first, 1);
    cr_assert_eq(partition->node_mask, 7);
    cr_assert_eq(partition->direction, DIRECTION_BOTH);
    cr_assert_eq(partition->line, 13);
    cr_assert_str_eq(scenario->expects[1].check, "section_exclusion");
    cr_assert_str_eq(scenario->expects[1].verdict, "fail");
    cr_assert_str_eq(scenario->expects[1].blame, "assumption");
}

Test(scenario, what_is_left_out_has_its_default)
{
    const struct parsed *parsed = parse(HEAD);
    cr_assert(!result_failed(parsed->result), "%s", parsed->told);
    const struct scenario *scenario = &parsed->scenario;
    cr_assert_eq(scenario->node_count, 5);
    cr_assert_eq(scenario->client_count, 2);
    cr_assert_eq(scenario->sections, 1);
    cr_assert_eq(scenario->fsync, FSYNC_NONE);
    cr_assert_eq(scenario->lock.retry_count, 3);
    cr_assert_eq(scenario->fault_count, 0);
    cr_assert(!scenario->random.present);
    cr_assert_eq(scenario->on_lost, ON_LOST_FINISH);
    cr_assert_eq(scenario->releases, 1);
}

Test(scenario, single_has_one_node_by_itself)
{
    const struct parsed *parsed = parse("version: 1\nname: demo\nlock: {algorithm: single}\n"
                                        "expect: {exclusion: pass}\n");
    cr_assert(!result_failed(parsed->result), "%s", parsed->told);
    cr_assert_eq(parsed->scenario.node_count, 1);
    cr_assert_eq(parsed->scenario.lock.node_count, 1);
}
