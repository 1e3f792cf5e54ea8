/* test_differential.c: the model of Redis against a real redis-server: same commands, same clocks,
 * same replies, same keys, same dates; restarts, power cuts and failovers included. */
#include "tests/sim/differential_events.h"

#include <stdlib.h>

static struct rig rig;

/* Servers are made anew now and then: their files would grow, and each restart reads them. */
enum { SEQUENCES_PER_SERVER = 20 };

/*
 * The model is the same each time. What differs now and then only is the server's own timing: its
 * fsync runs in a thread beside the commands.
 */
static bool agrees_once(const struct steps *steps, uint64_t seed)
{
    enum { ATTEMPTS = 3 };
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (rig_run(&rig, steps, seed)) {
            return true;
        }
        rig_renew(&rig);
    }
    return rig_run(&rig, steps, seed);
}

/* Compare sequences from `seed` on; a difference is shrunk, printed and fails the test. */
static void agree(uint64_t seed, uint32_t sequences, bool replicas)
{
    static struct steps steps;
    for (uint64_t i = seed; i < seed + sequences; i++) {
        if (i > seed && (i - seed) % SEQUENCES_PER_SERVER == 0) {
            rig_renew(&rig);
        }
        steps_draw(&steps, i, replicas ? 100 : 400, replicas);
        if (agrees_once(&steps, i)) {
            continue;
        }
        static char memory[1 << 15];
        struct text text = text_over(memory, sizeof memory);
        text_add(&text, "%s; shrunk to:\n", rig.difference);
        (void)fprintf(stderr, "seed %lu: %s; shrinking\n", (unsigned long)i, rig.difference);
        rig_shrink(&rig, &steps, i);
        for (uint32_t k = 0; k < steps.count; k++) {
            step_print(&steps.list[k], &text);
        }
        cr_assert_fail("seed %lu, shrunk to %u steps: %s\n%s", (unsigned long)i, steps.count,
                       rig.difference, text.data);
    }
}

static void gone(void)
{
    rig_close(&rig);
}

Test(differential, agrees_without_a_file, .fini = gone, .timeout = 1200)
{
    rig_open(&rig, FSYNC_NONE, false);
    agree(1000, 100, false);
    cr_assert_gt(rig.commands, 35000);
}

Test(differential, agrees_with_a_file_synced_every_second, .fini = gone, .timeout = 1200)
{
    rig_open(&rig, FSYNC_EVERYSEC, false);
    agree(2000, 100, false);
    cr_assert_gt(rig.commands, 35000);
}

Test(differential, agrees_with_a_file_that_is_always_synced, .fini = gone, .timeout = 1200)
{
    rig_open(&rig, FSYNC_ALWAYS, false);
    agree(3000, 100, false);
    cr_assert_gt(rig.commands, 35000);
}

Test(differential, agrees_on_what_a_lagging_replica_knows, .fini = gone, .timeout = 1200)
{
    rig_open(&rig, FSYNC_NONE, true);
    agree(4000, 20, true);
}

Test(differential, notices_a_wrong_expiry_rule_and_shrinks_it, .fini = gone, .timeout = 1200)
{
    static struct steps steps;
    rig_open(&rig, FSYNC_NONE, false);
    rig.wrong_expiry = true;
    uint64_t seed = 1;
    for (;; seed++) {
        cr_assert_lt(seed, 100, "it must be noticed");
        steps_draw(&steps, seed, 400, false);
        if (!rig_run(&rig, &steps, seed)) {
            break;
        }
    }
    rig_shrink(&rig, &steps, seed);
    cr_assert_leq(steps.count, 3, "a set, a jump to its date, a look: here are %u", steps.count);
}
