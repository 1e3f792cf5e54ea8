/* test_stress.c: what a stressed run puts off is told, so that no lock is blamed for it. */
#include "tests/sim/sim_fixture.h"

enum { HOLD_MS = 20, SEEDS = 30 };

static struct fixture fixture;

#define LOCK     "algorithm: redlock, ttl: 10s"
#define SECTIONS HEAD(LOCK, "none") "clients: {count: 3, hold: 20ms, writes: 0}\n"
#define SLOW     "faults:\n  - {at: 0s, do: slow, delay: 5ms, target: client 1}\n"

static void run_stressed(const char *yaml, uint64_t seed, int64_t stress_ns)
{
    fixture_open(&fixture, yaml, seed);
    fixture.plan.stress_ns = stress_ns;
    sim_reset(fixture.sim, &fixture.plan);
    fixture_finish(&fixture);
}

static bool stood_still(const struct history_event *event)
{
    return event->kind == HISTORY_LATE;
}

/* What a client is told to have stood still at the very time of `event`; NULL if nothing. */
static const struct history_event *told_at(const struct history_event *event)
{
    for (uint64_t i = 0; i < fixture.count; i++) {
        const struct history_event *late = &fixture.events[i];
        if (stood_still(late) && late->process == event->process &&
            late->time_ns == event->time_ns) {
            return late;
        }
    }
    return NULL;
}

/* A section ends by a timer: whatever it outlasts its hold by, the client was put off. */
static int sections_left_late(void)
{
    int found = 0;
    for (uint64_t i = 0; i < fixture.count; i++) {
        const struct history_event *left = &fixture.events[i];
        if (left->kind != HISTORY_SECTION || left->f != HISTORY_LEAVE) {
            continue;
        }
        const struct history_event *entered = NULL;
        for (uint64_t k = 0; k < i; k++) {
            const struct history_event *event = &fixture.events[k];
            bool own = event->kind == HISTORY_SECTION && event->process == left->process;
            entered = own && event->f == HISTORY_ENTER ? event : entered;
        }
        cr_assert_not_null(entered);
        int64_t late_ns = left->time_ns - entered->time_ns - HOLD_MS * NS_PER_MS;
        if (late_ns > 0) {
            const struct history_event *told = told_at(left);
            cr_assert_not_null(told);
            cr_assert_geq(told->number[1], late_ns);
            found++;
        }
    }
    return found;
}

Test(stress, a_step_that_was_put_off_is_told_with_all_of_its_lateness)
{
    int found = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_stressed(SECTIONS TAIL, seed, 100 * NS_PER_MS);
        found += sections_left_late();
        fixture_close(&fixture);
    }
    cr_assert_gt(found, SEEDS);
}

Test(stress, standstills_of_a_client_are_its_own_and_apart_from_each_other)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_stressed(SECTIONS TAIL, seed, 100 * NS_PER_MS);
        int64_t last_ns[4] = {-1, -1, -1, -1};
        for (uint64_t i = 0; i < fixture.count; i++) {
            const struct history_event *late = &fixture.events[i];
            if (!stood_still(late)) {
                continue;
            }
            cr_assert_eq(late->f, HISTORY_STOOD_STILL);
            cr_assert_eq(late->cause, CAUSE_SCHEDULER);
            cr_assert(late->process >= 0 && late->process < 4);
            cr_assert_gt(late->number[1], 0);
            cr_assert_eq(late->number[0], late->number[1]);
            cr_assert_gt(late->time_ns - late->number[0], last_ns[late->process]);
            last_ns[late->process] = late->time_ns;
        }
        fixture_close(&fixture);
    }
}

Test(stress, what_a_slow_fault_adds_is_not_ours)
{
    int found = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_stressed(SECTIONS SLOW TAIL, seed, NS_PER_MS);
        for (uint64_t i = 0; i < fixture.count; i++) {
            const struct history_event *late = &fixture.events[i];
            if (stood_still(late) && late->process == 0) {
                cr_assert_leq(late->number[1], late->number[0] - 5 * NS_PER_MS);
                found++;
            }
        }
        fixture_close(&fixture);
    }
    cr_assert_gt(found, SEEDS);
}

Test(stress, without_it_nobody_stood_still)
{
    fixture_run(&fixture, SECTIONS SLOW TAIL, 1);
    cr_assert_eq(count(&fixture, (struct wanted){.kind = IS(HISTORY_LATE)}), 0);
    fixture_close(&fixture);
}
