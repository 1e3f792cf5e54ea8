/* test_schedule.c: when faults begin and end. */
#include "base/duration.h"
#include "harness/schedule.h"

#include <criterion/criterion.h>
#include <string.h>

static struct plan plan;
static struct schedule schedule;
static struct schedule_actions actions;

static struct trigger probe(int32_t client, enum probe_point point, uint32_t nth)
{
    return (struct trigger){.kind = TRIGGER_PROBE,
                            .point = (uint8_t)point,
                            .client = client,
                            .node = SCENARIO_ANY,
                            .nth = nth};
}

static struct fault *add(enum fault_kind kind, struct trigger start)
{
    struct fault *fault = &plan.scenario.faults[plan.scenario.fault_count++];
    memset(fault, 0, sizeof *fault);
    fault->kind = (uint8_t)kind;
    fault->start = start;
    fault->for_ns = TIME_NEVER;
    return fault;
}

static void pass(int32_t client, enum probe_point point, int64_t true_ns)
{
    struct schedule_pass passing = {.point = (uint8_t)point, .client = client, .true_ns = true_ns};
    schedule_probe(&schedule, &plan, &passing, &actions);
}

static void setup(void)
{
    memset(&plan, 0, sizeof plan);
}

TestSuite(schedule, .init = setup);

Test(schedule, a_probe_trigger_strikes_at_its_nth_passing_of_its_client)
{
    add(FAULT_PAUSE, probe(1, PROBE_AFTER_GRANTED, 2))->for_ns = 5 * NS_PER_S;
    schedule_init(&schedule, &plan);
    cr_assert_eq(schedule.probes_watched, 1u << PROBE_AFTER_GRANTED);
    pass(1, PROBE_AFTER_GRANTED, 10);
    cr_assert_eq(actions.count, 0);
    pass(0, PROBE_AFTER_GRANTED, 11);
    pass(1, PROBE_BEFORE_WRITE, 12);
    cr_assert_eq(actions.count, 0, "another client, another point");
    pass(1, PROBE_AFTER_GRANTED, 13);
    cr_assert_eq(actions.count, 1);
    cr_assert_eq(actions.list[0].type, SCHEDULE_BEGIN);
    cr_assert_eq(actions.list[0].client, 1);
    cr_assert_eq(schedule.next_ns, 13 + 5 * NS_PER_S);
    schedule_time(&schedule, &plan, schedule.next_ns, &actions);
    cr_assert_eq(actions.list[0].type, SCHEDULE_END);
    cr_assert_eq(schedule.next_ns, TIME_NEVER);
    cr_assert_eq(schedule.probes_watched, 0);
}

Test(schedule, until_counts_from_the_beginning_of_its_fault)
{
    struct fault *fault = add(FAULT_PAUSE, probe(0, PROBE_AFTER_GRANTED, 1));
    fault->until = probe(1, PROBE_AFTER_WRITE, 1);
    schedule_init(&schedule, &plan);
    pass(1, PROBE_AFTER_WRITE, 1);
    cr_assert_eq(actions.count, 0, "too early to count");
    pass(0, PROBE_AFTER_GRANTED, 2);
    cr_assert_eq(actions.count, 1);
    cr_assert_eq(schedule.next_ns, TIME_NEVER);
    pass(1, PROBE_AFTER_WRITE, 3);
    cr_assert_eq(actions.count, 1);
    cr_assert_eq(actions.list[0].type, SCHEDULE_END);
}

Test(schedule, what_begins_after_an_event_is_still_about_whom_that_was)
{
    struct fault *fault = add(FAULT_PAUSE, probe(SCENARIO_ANY, PROBE_AFTER_GRANTED, 2));
    fault->after_ns = 5;
    fault->until = probe(0, PROBE_AFTER_WRITE, 1);
    schedule_init(&schedule, &plan);
    pass(0, PROBE_AFTER_GRANTED, 10);
    pass(1, PROBE_AFTER_GRANTED, 20);
    cr_assert_eq(actions.count, 0, "not yet");
    cr_assert(actions.changed, "whoever wakes for it must know");
    cr_assert_eq(schedule.next_ns, 25);
    cr_assert_eq(schedule.probes_watched, 1u << PROBE_AFTER_WRITE, "it may begin at any moment");
    pass(0, PROBE_AFTER_WRITE, 22);
    pass(0, PROBE_AFTER_GRANTED, 23);
    cr_assert_eq(actions.count, 0, "too early for its end; and it begins once");
    schedule_time(&schedule, &plan, 24, &actions);
    cr_assert_eq(actions.count, 0);
    schedule_time(&schedule, &plan, 25, &actions);
    cr_assert_eq(actions.count, 1);
    cr_assert_eq(actions.list[0].type, SCHEDULE_BEGIN);
    cr_assert_eq(actions.list[0].client, 1);
    cr_assert_eq(schedule.next_ns, TIME_NEVER);
    pass(0, PROBE_AFTER_WRITE, 30);
    cr_assert_eq(actions.list[0].type, SCHEDULE_END);
}

Test(schedule, healing_forgets_what_was_to_begin_after_an_event)
{
    add(FAULT_PARTITION, probe(0, PROBE_AFTER_GRANTED, 1))->after_ns = 5;
    schedule_init(&schedule, &plan);
    pass(0, PROBE_AFTER_GRANTED, 10);
    schedule_heal(&schedule, &plan, 12, &actions);
    cr_assert_eq(actions.count, 0);
    cr_assert_eq(schedule.next_ns, TIME_NEVER);
}

Test(schedule, a_fault_without_an_end_begins_and_ends_at_once)
{
    add(FAULT_KILL, probe(0, PROBE_BEFORE_RELEASE, 1))->for_ns = 0;
    schedule_init(&schedule, &plan);
    pass(0, PROBE_BEFORE_RELEASE, 7);
    cr_assert_eq(actions.count, 2);
    cr_assert_eq(actions.list[0].type, SCHEDULE_BEGIN);
    cr_assert_eq(actions.list[1].type, SCHEDULE_END);
}

Test(schedule, a_command_trigger_knows_client_node_role_and_moment)
{
    struct trigger on = {
        .kind = TRIGGER_COMMAND, .role = ROLE_SET, .client = 0, .node = 2, .nth = 1};
    add(FAULT_STALL, on);
    schedule_init(&schedule, &plan);
    cr_assert(schedule.commands_watched);
    struct schedule_sight sight = {
        .moment = TRIGGER_ARRIVAL, .role = ROLE_SET, .client = 0, .node = 2, .true_ns = 5};
    schedule_command(&schedule, &plan, &sight, &actions);
    cr_assert_eq(actions.count, 0, "it has not been applied yet");
    sight.moment = TRIGGER_COMMAND;
    sight.role = ROLE_DELETE;
    schedule_command(&schedule, &plan, &sight, &actions);
    cr_assert_eq(actions.count, 0, "another role");
    sight.role = ROLE_SET;
    sight.node = 1;
    schedule_command(&schedule, &plan, &sight, &actions);
    cr_assert_eq(actions.count, 0, "another node");
    sight.node = 2;
    schedule_command(&schedule, &plan, &sight, &actions);
    cr_assert_eq(actions.count, 1);
    cr_assert(!schedule.commands_watched);
}

Test(schedule, healing_ends_what_is_active_and_forgets_what_waits)
{
    struct trigger at = {.kind = TRIGGER_TIME, .at_ns = 10, .nth = 1};
    add(FAULT_PARTITION, at);
    add(FAULT_PAUSE, probe(0, PROBE_AFTER_GRANTED, 1));
    schedule_init(&schedule, &plan);
    cr_assert_eq(schedule.next_ns, 10);
    schedule_time(&schedule, &plan, 10, &actions);
    cr_assert_eq(actions.count, 1);
    schedule_heal(&schedule, &plan, 20, &actions);
    cr_assert_eq(actions.count, 1);
    cr_assert_eq(actions.list[0].type, SCHEDULE_END);
    cr_assert_eq(actions.list[0].fault, 0);
    pass(0, PROBE_AFTER_GRANTED, 30);
    cr_assert_eq(actions.count, 0);
    cr_assert_eq(schedule.next_ns, TIME_NEVER);
}

Test(schedule, a_command_of_a_program_is_of_each_of_its_threads)
{
    struct trigger set = {
        .kind = TRIGGER_COMMAND, .role = ROLE_SET, .client = 1, .node = SCENARIO_ANY, .nth = 1};
    plan.scenario.thread_count = 2;
    add(FAULT_PAUSE, set)->for_ns = NS_PER_S;
    add(FAULT_PAUSE, probe(1, PROBE_AFTER_GRANTED, 1))->for_ns = NS_PER_S;
    schedule_init(&schedule, &plan);
    struct schedule_sight sight = {
        .moment = TRIGGER_COMMAND, .role = ROLE_SET, .client = 2, .true_ns = 1};
    schedule_command(&schedule, &plan, &sight, &actions);
    cr_assert_eq(actions.count, 0, "another program's");
    sight.client = 0;
    schedule_command(&schedule, &plan, &sight, &actions);
    cr_assert_eq(actions.count, 1);
    pass(0, PROBE_AFTER_GRANTED, 2);
    cr_assert_eq(actions.count, 0, "a point is passed by a thread");
    pass(1, PROBE_AFTER_GRANTED, 3);
    cr_assert_eq(actions.count, 1);
}
