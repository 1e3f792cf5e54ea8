/* test_lateness.c: what the clocks of a run tell of its own standing still. */
#include "harness/real/process/lateness.h"

#include "base/duration.h"
#include "harness/real/process/proc.h"
#include "harness/real/process/process.h"
#include "tests/real/story.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct lateness lateness;
static struct lateness_found found[LATENESS_FOUND_MAX];
static struct lateness_clocks clocks;

static void begin(void)
{
    memset(&lateness, 0, sizeof lateness);
    clocks = (struct lateness_clocks){
        .mono_ns = 5 * NS_PER_S, .boot_ns = 9 * NS_PER_S, .wall_ns = 1795000000 * NS_PER_S};
    cr_assert_eq(lateness_look(&lateness, &clocks, found), 0, "nothing precedes the first look");
}

static uint32_t pass(int64_t ns)
{
    clocks.mono_ns += ns;
    clocks.boot_ns += ns;
    clocks.wall_ns += ns;
    return lateness_look(&lateness, &clocks, found);
}

TestSuite(lateness, .init = begin, .timeout = 60);

Test(lateness, beats_that_come_in_time_say_nothing)
{
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(pass(LATENESS_BEAT_NS + i * 900), 0);
    }
}

Test(lateness, a_stop_of_three_seconds_is_all_told)
{
    cr_assert_eq(pass(3 * NS_PER_S), 1);
    cr_assert_eq(found[0].cause, CAUSE_LOOP);
    cr_assert_eq(found[0].length_ns, 3 * NS_PER_S);
    cr_assert_eq(found[0].time_ns, clocks.mono_ns);
    cr_assert_eq(lateness.lost_ns, 3 * NS_PER_S, "nobody's time is up by it");
    cr_assert_eq(pass(LATENESS_BEAT_NS), 0);
}

Test(lateness, two_milliseconds_are_told_and_less_is_not)
{
    cr_assert_eq(pass(LATENESS_BEAT_NS + HISTORY_LATE_NOTED_NS - 1), 0);
    cr_assert_eq(pass(LATENESS_BEAT_NS + HISTORY_LATE_NOTED_NS), 1);
    cr_assert_eq(lateness.lost_ns, 0);
}

Test(lateness, a_wait_for_a_processor_is_the_schedulers)
{
    clocks.waited_ns = 40 * NS_PER_MS;
    cr_assert_eq(pass(50 * NS_PER_MS), 1);
    cr_assert_eq(found[0].cause, CAUSE_SCHEDULER);
}

Test(lateness, a_suspended_machine_is_seen_though_true_time_stood)
{
    clocks.boot_ns += 3600 * NS_PER_S;
    clocks.wall_ns += 3600 * NS_PER_S;
    cr_assert_eq(pass(LATENESS_BEAT_NS), 1);
    cr_assert_eq(found[0].cause, CAUSE_SUSPEND);
    cr_assert_eq(found[0].amount_ns, 3600 * NS_PER_S);
    cr_assert_eq(pass(LATENESS_BEAT_NS), 0, "told once");
}

Test(lateness, a_wall_clock_that_is_set_is_seen_in_both_directions)
{
    clocks.wall_ns += 11 * NS_PER_S;
    cr_assert_eq(pass(LATENESS_BEAT_NS), 1);
    cr_assert_eq(found[0].cause, CAUSE_CLOCK_STEP);
    cr_assert_eq(found[0].amount_ns, 11 * NS_PER_S);
    clocks.wall_ns -= 22 * NS_PER_S;
    cr_assert_eq(pass(LATENESS_BEAT_NS), 1);
    cr_assert_eq(found[0].amount_ns, -22 * NS_PER_S);
    clocks.wall_ns += 100 * NS_PER_US;
    cr_assert_eq(pass(LATENESS_BEAT_NS), 0, "a clock that is led back is not set");
}

Test(lateness, clocks_that_were_read_apart_are_told_by_the_next_look)
{
    clocks.apart = true;
    clocks.wall_ns += NS_PER_S;
    cr_assert_eq(pass(LATENESS_BEAT_NS), 0);
    clocks.apart = false;
    cr_assert_eq(pass(LATENESS_BEAT_NS), 1);
    cr_assert_eq(found[0].cause, CAUSE_CLOCK_STEP);
}

/* ---- the run's own --------------------------------------------------------------------------- */

static struct story story;

static const struct history_event *longest(enum history_cause cause)
{
    const struct history_event *best = NULL;
    for (size_t i = 0; i < story.count; i++) {
        const struct history_event *event = &story.events[i];
        bool fits = event->kind == HISTORY_LATE && event->cause == cause && event->process < 0;
        if (fits && (best == NULL || event->number[0] > best->number[0])) {
            best = event;
        }
    }
    return best;
}

/* At the first grant the whole process stops, until the stopper has it go on. */
static void stop_at_grant(const struct history_event *event)
{
    static bool stopped;
    if (!stopped && event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK) {
        stopped = true;
        (void)raise(SIGSTOP);
    }
}

static void stopper_run(pid_t run)
{
    while (proc_state(run) != 'T') {
        (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    (void)nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    (void)kill(run, SIGCONT);
    _exit(0);
}

Test(lateness, a_run_that_is_stopped_says_so, .timeout = 120)
{
    pid_t run = getpid();
    pid_t stopper = fork();
    if (stopper == 0) {
        stopper_run(run);
    }
    story.seen = stop_at_grant;
    story_must_run(&story,
                   "version: 1\nname: story\nabout: x\nlock: {algorithm: redlock, ttl: 1s}\n"
                   "clients: {count: 2, sections: 2, hold: 20ms}\nduration: 20s\n"
                   "expect: {exclusion: pass}\n",
                   1);
    (void)waitpid(stopper, NULL, 0);
    const struct history_event *stop = longest(CAUSE_LOOP);
    cr_assert_not_null(stop);
    cr_assert_geq(stop->number[0], 2 * NS_PER_S);
    cr_assert_eq(story_count(&story, HISTORY_CLIENT, HISTORY_CLIENT_KILLED), 0, "no time was lost");
}

/* Until its server answers again nobody can have anything of the node. */
Test(lateness, node_that_is_started_again_says_when_it_answers, .timeout = 120)
{
    story_must_run(&story,
                   "version: 1\nname: story\nabout: x\nlock: {algorithm: redlock, ttl: 1s}\n"
                   "clients: {count: 1, sections: 2, hold: 20ms}\nduration: 20s\n"
                   "faults: [{on: client 1 after_granted, do: crash, target: node 1, for: 10ms},\n"
                   "  {on: client 1 after_release, do: pause, target: client 1, for: 500ms}]\n"
                   "expect: {exclusion: pass}\n",
                   1);
    const struct history_event *start = longest(CAUSE_START);
    cr_assert_not_null(start);
    cr_assert_eq(start->node, 0);
    cr_assert_geq(start->number[0], HISTORY_LATE_NOTED_NS);
}

/* ---- a grace that others are given ---- */

static struct lateness_grace grace;
static struct lateness_sight sight;
static int64_t grace_now_ns;

static void grace_begin(int64_t length_ns)
{
    grace_now_ns = 7 * NS_PER_S;
    sight = (struct lateness_sight){.ran_ns = NS_PER_S, .waited_ns = 90 * NS_PER_S};
    grace = (struct lateness_grace){.bound_ns = grace_now_ns + 60 * NS_PER_S};
    lateness_grace_begin(&grace, grace_now_ns, length_ns, &sight);
}

/* How long until it is over where each look shows so much of 50 ms run and waited. */
static int64_t grace_lasts_ns(int64_t ran_ns, int64_t waited_ns, bool ready)
{
    int64_t begun_ns = grace_now_ns;
    bool over = false;
    sight.ready = ready;
    while (!over) {
        grace_now_ns += LATENESS_GRACE_LOOK_NS;
        sight.ran_ns += ran_ns;
        sight.waited_ns += waited_ns;
        over = lateness_grace_look(&grace, grace_now_ns, &sight);
    }
    return grace_now_ns - begun_ns;
}

Test(lateness, who_sleeps_uses_up_a_grace)
{
    grace_begin(5 * NS_PER_S);
    cr_assert_eq(grace_lasts_ns(0, 0, false), 5 * NS_PER_S);
}

Test(lateness, who_runs_all_the_time_uses_up_a_grace)
{
    grace_begin(5 * NS_PER_S);
    cr_assert_eq(grace_lasts_ns(LATENESS_GRACE_LOOK_NS, 0, true), 5 * NS_PER_S);
}

Test(lateness, who_waited_for_a_processor_is_given_that_time_again)
{
    grace_begin(5 * NS_PER_S);
    int64_t lasted_ns = grace_lasts_ns(8 * NS_PER_MS, 40 * NS_PER_MS, false);
    cr_assert_eq(lasted_ns, 25 * NS_PER_S, "a fifth of it counts: %lld ns", (long long)lasted_ns);
}

Test(lateness, who_gets_no_processor_at_all_has_a_grace_to_the_bound)
{
    grace_begin(5 * NS_PER_S);
    cr_assert_eq(grace_lasts_ns(0, 0, true), 60 * NS_PER_S);
    cr_assert_eq(grace.left_ns, 5 * NS_PER_S, "and has used up none of it");
}

Test(lateness, our_own_standing_still_uses_up_no_grace)
{
    grace_begin(5 * NS_PER_S);
    grace_now_ns += 30 * NS_PER_S;
    cr_assert_not(lateness_grace_look(&grace, grace_now_ns, &sight));
    cr_assert_geq(grace.left_ns, 5 * NS_PER_S - 2 * LATENESS_GRACE_LOOK_NS);
}

Test(lateness, threads_that_ended_take_their_sums_and_not_the_grace)
{
    grace_begin(5 * NS_PER_S);
    sight = (struct lateness_sight){.ran_ns = 1, .waited_ns = 1};
    cr_assert_eq(grace_lasts_ns(0, 0, false), 5 * NS_PER_S);
}

Test(lateness, what_is_seen_of_a_process_tells_that_it_runs)
{
    struct lateness_sight first = {.ready = false};
    struct lateness_sight second = {.ready = false};
    lateness_see(getpid(), &first);
    while (second.ran_ns < first.ran_ns + 20 * NS_PER_MS) {
        second = (struct lateness_sight){.ready = false};
        lateness_see(getpid(), &second);
    }
    cr_assert(second.ready, "we who look have a processor");
    cr_assert_geq(second.waited_ns, first.waited_ns);
}

/* Starts one that computes, or waits, for ever; and gives its pid. */
static pid_t child_starts(bool computes)
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        volatile bool goes_on = computes;
        while (goes_on) {
        }
        (void)pause();
        _exit(1);
    }
    return child;
}

static void child_ends(pid_t child)
{
    cr_assert_eq(kill(child, SIGKILL), 0);
    cr_assert_eq(waitpid(child, NULL, 0), child);
}

/* Until that one is seen to be ready, or none (0). */
static void ready_becomes(pid_t child)
{
    while (lateness_held_up(getpid()) != child) {
        (void)usleep(1000);
    }
}

Test(lateness, a_child_that_could_run_is_found_and_one_that_waits_is_not)
{
    pid_t waits = child_starts(false);
    ready_becomes(0);
    pid_t computes = child_starts(true);
    ready_becomes(computes);
    int64_t ran_ns = lateness_ran(computes);
    while (lateness_ran(computes) < ran_ns + 5 * NS_PER_MS) {
    }
    child_ends(computes);
    cr_assert_eq(lateness_held_up(getpid()), 0);
    cr_assert_eq(lateness_ran(computes), 0);
    child_ends(waits);
}

/* The kernel keeps whoever starts a program until that runs. */
Test(lateness, a_process_that_the_kernel_keeps_is_held_up_itself)
{
    pid_t keeper = fork();
    if (keeper == 0) {
        (void)setpgid(0, 0);
        if (vfork() == 0) {
            (void)pause();
            _exit(1);
        }
        _exit(0);
    }
    while (lateness_held_up_main(keeper) != keeper) {
        (void)usleep(1000);
    }
    cr_assert_eq(lateness_held_up(keeper), keeper);
    ready_becomes(keeper);
    cr_assert_eq(lateness_held_up_main(getpid()), 0);
    cr_assert_eq(kill(-keeper, SIGKILL), 0); /* and what it has started */
    cr_assert_eq(waitpid(keeper, NULL, 0), keeper);
}

/* It waits for a program that waits for another: a shell in a shell. */
Test(lateness, a_child_of_a_child_is_found)
{
    int pids[2];
    pid_t computes = 0;
    cr_assert_eq(pipe(pids), 0);
    pid_t child = fork();
    if (child == 0) {
        computes = child_starts(true);
        cr_assert_eq(write(pids[1], &computes, sizeof computes), (ssize_t)sizeof computes);
        (void)waitpid(computes, NULL, 0);
        _exit(0);
    }
    cr_assert_eq(read(pids[0], &computes, sizeof computes), (ssize_t)sizeof computes);
    while (proc_state(child) != 'S') {
        (void)usleep(1000);
    }
    ready_becomes(computes);
    cr_assert_eq(kill(computes, SIGKILL), 0);
    cr_assert_eq(waitpid(child, NULL, 0), child);
}
