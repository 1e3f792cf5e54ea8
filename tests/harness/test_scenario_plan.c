/* test_scenario_plan.c: a seed leaves nothing open, and always the same way. */
#include "base/duration.h"
#include "tests/harness/scenario_text.h"

#include <criterion/criterion.h>

static struct plan first;
static struct plan second;

static struct scenario scenario_of(const char *yaml)
{
    const struct parsed *parsed = parse(yaml);
    cr_assert(!result_failed(parsed->result), "%s", parsed->told);
    return parsed->scenario;
}

static const char random_yaml[] =
    "version: 1\n"
    "name: demo\n"
    "lock: {algorithm: redlock, ttl: 2s}\n"
    "clients: {count: 3, sections: 4}\n"
    "expect: {exclusion: pass}\n"
    "faults: {random: {kinds: [pause, crash, partition, clock_rate], count: 6}}\n";

Test(scenario_plan, same_seed_gives_the_same_plan)
{
    struct scenario scenario = scenario_of(random_yaml);
    for (uint64_t seed = 0; seed < 1000; seed++) {
        scenario_plan(&scenario, seed, 1000000, &first);
        scenario_plan(&scenario, seed, 1000000, &second);
        cr_assert_eq(memcmp(&first, &second, sizeof first), 0, "seed %lu", seed);
    }
}

/* Each seed leaves some kinds out; together the seeds have all of them and nothing else. */
Test(scenario_plan, seeds_switch_subsets_of_kinds_on)
{
    struct scenario scenario = scenario_of(random_yaml);
    uint32_t all = 0;
    uint32_t fewer = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        scenario_plan(&scenario, seed, 1000000, &first);
        uint32_t kinds = 0;
        cr_assert_leq(first.scenario.fault_count, 6);
        for (size_t i = 0; i < first.scenario.fault_count; i++) {
            kinds |= 1u << first.scenario.faults[i].kind;
        }
        all |= kinds;
        fewer += kinds != scenario.random.kinds ? 1 : 0;
    }
    cr_assert_eq(all, scenario.random.kinds);
    cr_assert_gt(fewer, 800);
}

/* The allowance is 1 %: rates of 0, 0.5, 1, 1.01 and 2 times that. */
Test(scenario_plan, drift_is_drawn_around_the_allowance)
{
    struct scenario scenario = scenario_of(random_yaml);
    bool seen[20001] = {false};
    for (uint64_t seed = 0; seed < 5000; seed++) {
        scenario_plan(&scenario, seed, 1000000, &first);
        for (size_t i = 0; i < first.scenario.fault_count; i++) {
            const struct fault *fault = &first.scenario.faults[i];
            if (fault->kind == FAULT_CLOCK_RATE) {
                int64_t drift_ppm = fault->rate_ppm - 1000000;
                seen[drift_ppm < 0 ? -drift_ppm : drift_ppm] = true;
            }
        }
    }
    static const int64_t wanted[] = {0, 5000, 10000, 10100, 20000};
    size_t kinds = 0;
    for (size_t i = 0; i < sizeof seen; i++) {
        kinds += seen[i] ? 1 : 0;
    }
    cr_assert_eq(kinds, 5);
    for (size_t i = 0; i < 5; i++) {
        cr_assert(seen[wanted[i]], "%ld ppm", wanted[i]);
    }
}

Test(scenario_plan, pauses_are_drawn_around_the_ttl)
{
    struct scenario scenario = scenario_of(random_yaml);
    uint32_t seen = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        scenario_plan(&scenario, seed, 1000000, &first);
        for (size_t i = 0; i < first.scenario.fault_count; i++) {
            int64_t over_ns = first.scenario.faults[i].for_ns - 2 * NS_PER_S;
            if (over_ns == -NS_PER_MS || over_ns == 0 || over_ns == NS_PER_MS) {
                seen |= 1u << (over_ns / NS_PER_MS + 1);
            }
        }
    }
    cr_assert_eq(seen, 7);
}

Test(scenario_plan, window_of_random_faults_is_kept)
{
    struct scenario scenario =
        scenario_of(HEAD "faults: {random: {kinds: [pause], from: 1s, to: 2s, count: 4}}\n");
    size_t count = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        scenario_plan(&scenario, seed, 1000000, &first);
        for (size_t i = 0; i < first.scenario.fault_count; i++, count++) {
            const struct trigger *start = &first.scenario.faults[i].start;
            cr_assert_eq(start->kind, TRIGGER_TIME);
            cr_assert_geq(start->at_ns, NS_PER_S);
            cr_assert_lt(start->at_ns, 2 * NS_PER_S);
        }
    }
    cr_assert_gt(count, 500);
}

Test(scenario_plan, named_partitions_have_the_size_of_their_name)
{
    struct scenario scenario = scenario_of(HEAD "faults:\n"
                                                "  - {at: 1s, do: partition, shape: one}\n"
                                                "  - {at: 2s, do: partition, shape: minority}\n"
                                                "  - {at: 3s, do: partition, shape: majority}\n");
    uint32_t ones = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        scenario_plan(&scenario, seed, 1000000, &first);
        int sizes[3];
        for (int i = 0; i < 3; i++) {
            cr_assert_eq(first.scenario.faults[i].shape, SHAPE_LINKS);
            sizes[i] = __builtin_popcount(first.scenario.faults[i].node_mask);
        }
        cr_assert_eq(sizes[0], 1);
        cr_assert(sizes[1] == 1 || sizes[1] == 2);
        cr_assert(sizes[2] >= 3 && sizes[2] <= 5);
        ones |= first.scenario.faults[0].node_mask;
    }
    cr_assert_eq(ones, 31);
}

Test(scenario_plan, ring_leaves_each_client_its_own_majority)
{
    struct fault ring = {.kind = FAULT_PARTITION, .shape = SHAPE_RING};
    for (int32_t client = 0; client < 12; client++) {
        for (int32_t node = 0; node < 5; node++) {
            int32_t behind = (node + 5 - client % 5) % 5;
            cr_assert_eq(fault_touches_link(&ring, 5, client, node), behind >= 3);
        }
    }
}

Test(scenario_plan, bridge_shows_halves_and_the_middle)
{
    struct fault bridge = {.kind = FAULT_PARTITION, .shape = SHAPE_BRIDGE};
    static const bool cut[2][5] = {{false, false, false, true, true},
                                   {true, true, false, false, false}};
    for (int32_t client = 0; client < 4; client++) {
        for (int32_t node = 0; node < 5; node++) {
            cr_assert_eq(fault_touches_link(&bridge, 5, client, node), cut[client % 2][node]);
        }
    }
}

Test(scenario_plan, links_are_clients_times_nodes)
{
    struct fault cut = {
        .kind = FAULT_PARTITION, .client_first = 1, .client_last = 2, .node_mask = 5};
    cr_assert(fault_touches_link(&cut, 3, 1, 0));
    cr_assert(fault_touches_link(&cut, 3, 2, 2));
    cr_assert(!fault_touches_link(&cut, 3, 2, 1));
    cr_assert(!fault_touches_link(&cut, 3, 0, 0));
    cr_assert(!fault_touches_link(&cut, 3, 3, 0));
}

/* The start of a fault says whom it strikes, and exactly those. */
Test(scenario_plan, starts_of_faults_name_whom_they_strike)
{
    struct scenario scenario = scenario_of(
        "version: 1\nname: demo\nlock: {algorithm: redlock}\nclients: {count: 6}\n"
        "expect: {exclusion: pass}\nfaults:\n"
        "  - {at: 1s, do: pause, target: clients 2-4, for: 1s}\n"
        "  - {at: 1s, do: pause, target: nodes 1-2, for: 1s}\n"
        "  - {at: 1s, do: crash, target: node 3, for: 1s}\n"
        "  - {at: 1s, do: partition, from: client 2, to: nodes 2-3, mode: hold, for: 1s}\n"
        "  - {at: 1s, do: partition, shape: minority, mode: hold, for: 1s}\n"
        "  - {at: 1s, do: partition, shape: ring, mode: hold, for: 1s}\n"
        "  - {at: 1s, do: partition, shape: bridge, mode: hold, for: 1s}\n"
        "  - {at: 1s, do: latency, delay: 1ms, for: 1s}\n");
    scenario_plan(&scenario, 3, 1000000, &first);
    for (size_t k = 0; k < first.scenario.fault_count; k++) {
        const struct fault *fault = &first.scenario.faults[k];
        struct history_event start = {.kind = HISTORY_FAULT, .f = HISTORY_FAULT_START};
        fault_name_targets(fault, &start);
        for (int32_t client = 0; client < 6; client++) {
            cr_assert_eq(history_fault_names_client(&start, client),
                         fault->client_first <= client && client <= fault->client_last,
                         "fault %zu, client %d", k, client);
        }
        for (int32_t node = 0; node < 5; node++) {
            cr_assert_eq(history_fault_names_node(&start, node), fault->node_mask >> node & 1,
                         "fault %zu, node %d", k, node);
            cr_assert(k < 3 || !history_fault_names_node(&start, node) ||
                      history_links_cut((enum history_links)start.links, 5, 1, node) ==
                          fault_touches_link(fault, 5, 1, node));
        }
    }
}

Test(scenario_plan, times_are_scaled_and_never_overflow)
{
    struct scenario scenario =
        scenario_of(HEAD "faults:\n"
                         "  - {at: 10s, do: pause, target: client 1, for: 1s}\n"
                         "  - {at: 1s, do: clock_jump, target: node 1, by: -60s}\n"
                         "  - {at: 1s, do: stall, target: node 1}\n");
    scenario_plan(&scenario, 1, 100000, &first);
    cr_assert_eq(first.scenario.lock.ttl_ns, 200 * NS_PER_MS);
    cr_assert_eq(first.scenario.duration_ns, 6 * NS_PER_S);
    cr_assert_eq(first.scenario.faults[0].start.at_ns, NS_PER_S);
    cr_assert_eq(first.scenario.faults[0].for_ns, 100 * NS_PER_MS);
    cr_assert_eq(first.scenario.faults[1].amount_ns, -6 * NS_PER_S);
    cr_assert_eq(first.scenario.faults[1].for_ns, 0);
    cr_assert_eq(first.scenario.faults[2].for_ns, TIME_NEVER);
    scenario_plan(&scenario, 1, INT64_MAX, &first);
    cr_assert_eq(first.scenario.duration_ns, DURATION_NS_MAX);
    cr_assert_eq(first.scenario.faults[1].amount_ns, -DURATION_NS_MAX);
    scenario_plan(&scenario, 1, 1, &first);
    cr_assert_geq(first.scenario.lock.ttl_ns, NS_PER_MS);
    cr_assert_geq(first.scenario.faults[0].for_ns, 1);
}

Test(scenario_plan, header_tells_the_set_up)
{
    struct scenario scenario =
        scenario_of("version: 1\nname: demo\nlock: {algorithm: fenced_redlock, ttl: 3s}\n"
                    "store: {fence_check: true}\nexpect: {exclusion: pass}\n");
    struct history_header header;
    scenario_plan(&scenario, 42, 1000000, &first);
    plan_header(&first, "sim", &header);
    cr_assert_eq(header.format, HISTORY_FORMAT);
    cr_assert_eq(header.seed, 42);
    cr_assert_str_eq(header.scenario, "demo");
    cr_assert_str_eq(header.world, "sim");
    cr_assert_str_eq(header.algorithm, "fenced_redlock");
    cr_assert_eq(header.node_count, 5);
    cr_assert_eq(header.ttl_ns, 3 * NS_PER_S);
    cr_assert(header.promises_validity);
    cr_assert(header.fence_check);
    cr_assert(!header.value_check);
    cr_assert(header.fenced);
}

Test(scenario_plan, what_strikes_a_thread_strikes_its_program)
{
    struct scenario scenario =
        scenario_of(HEAD "faults:\n"
                         "  - {at: 1s, do: pause, target: client 2, for: 1s}\n"
                         "  - {at: 2s, do: crash, target: node 1, for: 1s}\n");
    scenario.client_count = 4;
    scenario.thread_count = 2;
    scenario_plan(&scenario, 1, 1000000, &first);
    cr_assert_eq(first.scenario.faults[0].client_first, 0);
    cr_assert_eq(first.scenario.faults[0].client_last, 1);
    cr_assert_eq(first.scenario.faults[1].client_first, -1);
    struct history_header header;
    plan_header(&first, "sim", &header);
    cr_assert_eq(header.thread_count, 2);
}
