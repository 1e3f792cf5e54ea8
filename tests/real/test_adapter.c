/* test_adapter.c: an adapter drives a client's program, and what it does wrong is named. */
#include "tests/real/trial.h"

TestSuite(adapter, .fini = trial_end, .timeout = 60);

#define EXAMPLE "python3 adapters/example/adapter.py"

static const struct history_event *record_of(enum history_f f, enum history_type type)
{
    for (uint32_t i = 0; i < trial.count; i++) {
        if (trial.records[i].f == f && trial.records[i].type == type) {
            return &trial.records[i];
        }
    }
    return NULL;
}

Test(adapter, a_client_acquires_writes_and_releases_through_a_library)
{
    trial_begin(EXAMPLE, 10 * NS_PER_S);
    cr_assert_not(trial.failed, "%s", trial.why);
    cr_assert_str_eq(trial.library, "example 1");
    adapter_begin(trial.adapter, 0);
    while (trial.done == 0 && !trial.failed) {
        links_turn();
    }
    cr_assert_not(trial.failed, "%s", trial.why);
    const struct history_event *granted = record_of(HISTORY_ACQUIRE, HISTORY_OK);
    cr_assert_not_null(granted);
    cr_assert((granted->flags & HISTORY_HAS_UNTIL) != 0);
    cr_assert_gt(granted->until_ns, granted->time_ns + 50 * NS_PER_S);
    cr_assert_lt(granted->until_ns, granted->time_ns + 60 * NS_PER_S);
    cr_assert(history_value_equal(&granted->value, &links.events[0].value), "as seen on the wire");
    cr_assert_not_null(record_of(HISTORY_RELEASE, HISTORY_OK));
    cr_assert_eq(trial.cell.version, 2, "one write in each of two sections");
    cr_assert_eq(trial.passes[PROBE_AFTER_GRANTED], 2);
    cr_assert_eq(trial.passes[PROBE_BEFORE_SEND], 2);
    cr_assert_not(links_node_has("r0"));
}

static void fails_with(const char *mode, const char *const expected[], int64_t silence_ns)
{
    char command[128];
    (void)snprintf(command, sizeof command, EXAMPLE " %s", mode);
    trial_begin(command, silence_ns);
    if (!trial.failed) {
        adapter_begin(trial.adapter, 0);
    }
    while (!trial.failed) {
        links_turn();
    }
    for (int i = 0; expected[i] != NULL; i++) {
        cr_assert_not_null(strstr(trial.why, expected[i]), "%s in: %s", expected[i], trial.why);
    }
    cr_assert_eq(adapter_pid(trial.adapter, trial.failed_client), -1, "it is not left running");
}

Test(adapter, garbage_is_named_with_its_line)
{
    const char *const expected[] = {"client 1", "line 5", "I am not JSON", "JSON object", NULL};
    fails_with("garbage", expected, 10 * NS_PER_S);
}

Test(adapter, silence_is_named_with_the_line_that_did_not_come)
{
    const char *const expected[] = {"client 1", "silent", "line 5", NULL};
    fails_with("silent", expected, 5 * NS_PER_S);
}

Test(adapter, death_is_named_with_the_last_words)
{
    const char *const expected[] = {"client 1", "line 4",         "exit code 7",
                                    "died",     "the last words", NULL};
    fails_with("die", expected, 10 * NS_PER_S);
}

static const char dies_with_trace[] =
    "printf 'begins\\nException in thread \"main\" java.lang.RuntimeException: odd\\n"
    "\\tat A.main(A.java:395)\\nCaused by: java.io.IOException: no reply\\n"
    "\\tat B.ask(B.java:7)\\n\\t... 12 more\\n' >&2; exit 1";

Test(adapter, death_with_a_trace_is_named_with_its_cause_not_with_a_place)
{
    trial_begin(dies_with_trace, 10 * NS_PER_S);
    while (!trial.failed) {
        links_turn();
    }
    cr_assert_not_null(
        strstr(trial.why, "its last trace on stderr: Caused by: java.io.IOException: no reply"),
        "%s", trial.why);
    cr_assert_null(strstr(trial.why, "more"), "%s", trial.why);
}

Test(adapter, death_at_the_start_is_named)
{
    const char *const expected[] = {"died", "before it answered init", "no library here", NULL};
    fails_with("die-at-init", expected, 10 * NS_PER_S);
}

Test(adapter, an_answer_to_nothing_is_named)
{
    const char *const expected[] = {"line 5", "not open", NULL};
    fails_with("wrong-id", expected, 10 * NS_PER_S);
}

Test(adapter, an_endless_line_is_named)
{
    const char *const expected[] = {"line 5", "longer than", NULL};
    fails_with("long-line", expected, 10 * NS_PER_S);
}

Test(adapter, a_program_that_is_not_there_is_named)
{
    trial_begin("no-such-program-anywhere", 10 * NS_PER_S);
    cr_assert(trial.failed);
    cr_assert_not_null(strstr(trial.why, "no-such-program-anywhere"), "%s", trial.why);
    cr_assert_not_null(strstr(trial.why, "exit code 127"), "%s", trial.why);
}

static void freeze_at(enum probe_point point)
{
    trial_begin(EXAMPLE, 10 * NS_PER_S);
    trial.freezes = true;
    trial.freeze_at = point;
    trial.watched = 1u << point;
    adapter_begin(trial.adapter, 0);
    while (trial.passes[point] == 0 && !trial.failed) {
        links_turn();
    }
    cr_assert_not(trial.failed, "%s", trial.why);
    cr_assert_eq(proc_state(adapter_pid(trial.adapter, 0)), 'T', "stopped when it is told");
}

static void thaw_and_finish(void)
{
    adapter_thaw(trial.adapter, 0);
    while (trial.done == 0 && !trial.failed) {
        links_turn();
    }
    cr_assert_not(trial.failed, "%s", trial.why);
    cr_assert_not_null(record_of(HISTORY_ACQUIRE, HISTORY_OK));
}

Test(adapter, frozen_before_send_nothing_has_reached_a_node)
{
    freeze_at(PROBE_BEFORE_SEND);
    cr_assert_eq(links.event_count, 0);
    cr_assert_not(links_node_has("r0"));
    thaw_and_finish();
}

Test(adapter, frozen_before_replies_every_node_has_applied_it)
{
    freeze_at(PROBE_BEFORE_REPLIES);
    cr_assert(links_node_has("r0"));
    cr_assert_null(record_of(HISTORY_ACQUIRE, HISTORY_OK));
    thaw_and_finish();
}

Test(adapter, frozen_after_majority_the_reply_is_not_read)
{
    freeze_at(PROBE_AFTER_MAJORITY);
    cr_assert(links_node_has("r0"));
    cr_assert_null(record_of(HISTORY_ACQUIRE, HISTORY_OK));
    thaw_and_finish();
}

Test(adapter, frozen_after_granted_the_program_stands_still)
{
    freeze_at(PROBE_AFTER_GRANTED);
    cr_assert_not_null(record_of(HISTORY_ACQUIRE, HISTORY_OK));
    cr_assert_null(record_of(HISTORY_ENTER, HISTORY_INVOKE));
    thaw_and_finish();
    cr_assert_not_null(record_of(HISTORY_ENTER, HISTORY_INVOKE));
}

Test(adapter, a_slow_client_hears_late_and_its_lease_ends_when_it_would)
{
    trial_begin(EXAMPLE, 10 * NS_PER_S);
    adapter_slow(trial.adapter, 0, 30 * NS_PER_MS, 10 * NS_PER_MS);
    adapter_begin(trial.adapter, 0);
    while (trial.done == 0 && !trial.failed) {
        links_turn();
    }
    const struct history_event *asked = record_of(HISTORY_ACQUIRE, HISTORY_INVOKE);
    const struct history_event *granted = record_of(HISTORY_ACQUIRE, HISTORY_OK);
    cr_assert_not_null(granted);
    cr_assert_geq(granted->time_ns - asked->time_ns, 30 * NS_PER_MS);
    cr_assert_lt(granted->until_ns, links.events[0].until_ns, "inside the key's life");
    cr_assert_gt(adapter_slow_stops(trial.adapter, 0), 0, "its process stood still, too");
}

Test(adapter, a_killed_client_is_gone_and_its_key_stays)
{
    freeze_at(PROBE_AFTER_GRANTED);
    int pid = adapter_pid(trial.adapter, 0);
    adapter_kill(trial.adapter, 0);
    cr_assert_eq(proc_state(pid), 0, "reaped");
    cr_assert(links_node_has("r0"));
}

/* ---- what a library says of itself ----------------------------------------------------------- */

/* The client holds r0 and r1, in this order, when it is told. */
static void told_of_a_loss(const char *words, uint32_t resource)
{
    trial_resources = 2;
    run_bad(words);
    cr_assert_not(trial.failed, "%s", trial.why);
    const struct history_event *told = record_of(HISTORY_LOST, HISTORY_INVOKE);
    cr_assert_not_null(told);
    cr_assert_eq(told->kind, HISTORY_NOTICE);
    cr_assert_eq(told->resource, resource);
}

Test(adapter, a_loss_is_of_the_resource_that_it_names)
{
    told_of_a_loss("lost r0", 0);
}

Test(adapter, a_loss_is_of_the_second_resource_where_it_names_that)
{
    told_of_a_loss("lost r1", 1);
}

static const struct {
    const char *words;
    const char *told;
} slips[] = {
    {"init '{\"features\":[\"magic\"]}'", "\"features\" must be a list of different words of: val"},
    {"init '{\"features\":[\"wait\",\"wait\"]}'", "\"features\" must be a list of different words"},
    {"init '{\"features\":\"wait\"}'", "\"features\" must be a list"},
    {"init '{\"owner\":\"me\"}'", "\"owner\" must be process, thread or object"},
    {"init '{\"drift_factor\":1}'", "\"drift_factor\" must be a number from 0 to below 1"},
    {"init '{\"nodes\":3}'", "\"nodes\" must be 1 or \"N\""},
    {"init '{\"keys\":[\"lock\"]}'", "\"keys\" must be a list of at most 8 names that have"},
    {"init '{\"renew_every_ms\":5}'", "\"renew_every_ms\" is given, but not the feature renew"},
    {"init '{\"features\":[\"reentrant\"],\"owner\":\"object\"}'", "contradict each other"},
    {"init '{\"fetures\":[]}'",
     "\"fetures\" is no member of an answer: did you mean \"features\"?"},
    {"other-for-each", "says of its library what another client's does not"},
    {"twice", "not open: 1 was answered before"},
    {"grant '{\"id\":77}'", "not open: 77 was never made"},
    {"grant '{\"at_ms\":1}'", "at_ms without the feature clock"},
    {"grant '{\"validity_ms\":null}' '{\"features\":[\"validity\"]}'",
     "line 2 of its output grants without validity_ms, although the library declares validity"},
    {"grant '{}' '{\"features\":[\"validity\",\"fence\"]}'", "grants without a fence"},
    {"no-wall '' '{\"features\":[\"clock\"]}'", "op clock was not answered with"},
    {"at-never '' '{\"features\":[\"clock\"]}'", "before it was asked or after it answered"},
};

/* One process a test: the suite's end takes down what one trial began. */
#define SLIP(number)                                                                               \
    Test(adapter, what_it_says_must_hold_##number)                                                 \
    {                                                                                              \
        run_bad(slips[number].words);                                                              \
        cr_assert(trial.failed, "%s", slips[number].words);                                        \
        cr_assert_not_null(strstr(trial.why, "adapter of client "), "%s", trial.why);              \
        cr_assert_not_null(strstr(trial.why, slips[number].told), "%s", trial.why);                \
    }
SLIP(0)
SLIP(1)
SLIP(2)
SLIP(3)
SLIP(4)
SLIP(5)
SLIP(6)
SLIP(7)
SLIP(8)
SLIP(9)
SLIP(10)
SLIP(11)
SLIP(12)
SLIP(13)
SLIP(14)
SLIP(15)
SLIP(16)
SLIP(17)
_Static_assert(sizeof slips / sizeof slips[0] == 18, "each has its test");

Test(adapter, what_a_library_declares_is_handed_on)
{
    run_bad("init '{\"features\":[\"validity\",\"renew\",\"loss_notice\",\"clock\"],"
            "\"renew_every_ms\":333.5,\"owner\":\"thread\",\"drift_factor\":0.02,\"nodes\":1,"
            "\"keys\":[\"lock:{resource}\"],\"flavour\":\"sweet\"}'");
    cr_assert_not(trial.failed, "%s", trial.why);
    cr_assert(trial.said.said && trial.said.clock && trial.said.has_drift && trial.said.one_node);
    cr_assert_eq(trial.said.declares,
                 1 << DECLARES_VALIDITY | 1 << DECLARES_RENEW | 1 << DECLARES_NOTICE);
    cr_assert_eq(trial.said.renew_every_ns, 333500000);
    cr_assert_eq(trial.said.ownership, OWNERSHIP_THREAD);
    cr_assert_eq(trial.said.drift_ppm, 20000);
    cr_assert_str_eq(trial.said.patterns[0], "lock:{resource}");
}

/* ---- when a promise was computed ------------------------------------------------------------- */

Test(adapter, a_promise_counts_from_some_moment_of_its_call)
{
    run_bad("good");
    const struct history_event *asked = record_of(HISTORY_ACQUIRE, HISTORY_INVOKE);
    const struct history_event *granted = record_of(HISTORY_ACQUIRE, HISTORY_OK);
    cr_assert((granted->flags & HISTORY_HAS_UNTIL_LEAST) != 0);
    cr_assert_leq(granted->until_ns, granted->time_ns + 100 * NS_PER_MS);
    cr_assert_geq(granted->until_least_ns, asked->time_ns + 100 * NS_PER_MS);
    cr_assert_leq(granted->until_least_ns, granted->until_ns);
}

Test(adapter, a_promise_counts_from_when_it_was_computed)
{
    run_bad("at '' '{\"features\":[\"validity\",\"clock\"]}'");
    cr_assert_not(trial.failed, "%s", trial.why);
    const struct history_event *granted = record_of(HISTORY_ACQUIRE, HISTORY_OK);
    /* It said so 50 ms before it answered. */
    cr_assert_lt(granted->until_ns, granted->time_ns + 60 * NS_PER_MS);
    cr_assert((granted->flags & HISTORY_HAS_UNTIL_LEAST) != 0);
    cr_assert_lt(granted->until_least_ns, granted->until_ns);
}

Test(adapter, a_clock_that_goes_in_steps_is_believed_that_well)
{
    run_bad("at-coarse '' '{\"features\":[\"validity\",\"clock\"]}'");
    cr_assert_not(trial.failed, "%s", trial.why);
    const struct history_event *asked = record_of(HISTORY_ACQUIRE, HISTORY_INVOKE);
    const struct history_event *granted = record_of(HISTORY_ACQUIRE, HISTORY_OK);
    cr_assert_leq(granted->until_ns, granted->time_ns + 100 * NS_PER_MS);
    cr_assert_geq(granted->until_least_ns, asked->time_ns + 100 * NS_PER_MS);
}

Test(adapter, an_adapter_tells_its_clocks)
{
    trial_begin("python3 tests/adapters/bad.py good '' '{\"features\":[\"clock\"]}'",
                10 * NS_PER_S);
    cr_assert_eq(trial.clocks_told, 0, "what is asked before the run is nobody's matter");
    adapter_clock_ask(trial.adapter, 0);
    while (trial.clocks_told == 0 && !trial.failed) {
        links_turn();
    }
    cr_assert_not(trial.failed, "%s", trial.why);
    cr_assert_geq(trial.clocks.mono_ns, trial.clocks.asked_ns - NS_PER_MS, "Python's is ours");
    cr_assert_leq(trial.clocks.mono_ns, trial.clocks.heard_ns);
    cr_assert_gt(trial.clocks.wall_ns, 1700000000 * NS_PER_S);
}
