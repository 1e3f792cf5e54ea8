/* test_replicas_differential.c: the model of redis-servers that follow one of them against real
 * ones: same commands, WAITs among them, same replies, same keys; links that are held and cut,
 * promotions and restarts included. */
#include "tests/sim/herd_steps.h"

static struct herd herd;
static char said_memory[1 << 18];

static void gone(void)
{
    herd_close(&herd);
}

/* One sequence from the beginning; false at the first difference. */
static bool sequence(uint64_t seed, uint32_t events)
{
    struct random_stream stream = random_stream("herd", seed);
    enum { BATCHES = 12 };
    herd_reset(&herd);
    for (uint32_t i = 0; i < events; i++) {
        for (uint32_t k = 0; k < BATCHES; k++) {
            uint32_t told = herd_service(&herd)->told;
            uint32_t node =
                random_below(&stream, 4) > 0 ? told : (uint32_t)random_below(&stream, HERD_NODES);
            uint32_t client = (uint32_t)random_below(&stream, HERD_CLIENTS);
            if (herd.up[node] && !herd_batch(&herd, node, client, &stream)) {
                return false;
            }
        }
        herd_settle(&herd);
        for (uint32_t node = 0; node < HERD_NODES; node++) {
            if (herd.up[node] && !herd_compare(&herd, node)) {
                return false;
            }
        }
        if (!herd_event(&herd, &stream)) {
            return false;
        }
    }
    return true;
}

/* PICKLOCK_SEED=N begins there instead. */
static uint64_t first_seed(uint64_t usual)
{
    const char *wanted = getenv("PICKLOCK_SEED");
    return wanted != NULL ? strtoull(wanted, NULL, 10) : usual;
}

static void agree(uint64_t seed, uint32_t sequences)
{
    for (uint64_t i = seed; i < seed + sequences; i++) {
        herd.said = text_over(said_memory, sizeof said_memory);
        if (!sequence(i, 16)) {
            cr_assert_fail("seed %llu: %s\n%s", (unsigned long long)i, herd.difference,
                           herd.said.data);
        }
    }
    (void)fprintf(stderr, "%llu commands, %llu WAITs that waited, %llu for too few\n",
                  (unsigned long long)herd.commands, (unsigned long long)herd.waits,
                  (unsigned long long)herd.short_waits);
    cr_assert_gt(herd.waits, 20);
    cr_assert_gt(herd.short_waits, 20);
}

Test(replicas_differential, agrees_without_a_file, .fini = gone, .timeout = 1200)
{
    herd_open(&herd, FSYNC_NONE);
    agree(first_seed(1000), 20);
    cr_assert_gt(herd.commands, 12000);
}

Test(replicas_differential, agrees_with_a_file, .fini = gone, .timeout = 1200)
{
    herd_open(&herd, FSYNC_ALWAYS);
    agree(first_seed(2000), 20);
    cr_assert_gt(herd.commands, 12000);
}

Test(replicas_differential, notices_that_a_replica_counts_which_has_said_nothing, .fini = gone,
     .timeout = 1200)
{
    herd_open(&herd, FSYNC_NONE);
    herd.trusts = true;
    uint64_t seed = 1000;
    for (bool same = true; same; seed++) {
        cr_assert_lt(seed, 1010, "it must be noticed");
        herd.said = text_over(said_memory, sizeof said_memory);
        same = sequence(seed, 16);
    }
}
