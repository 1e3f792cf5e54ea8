/* test_agenda.c: shards share out every run once, whatever the numbers are. */
#include "cli/agenda.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FILES_MAX = 5, RUNS_MAX = 24 };

/* Count what every shard does of every run of every file. */
static void count_all(const struct agenda_order *whole, uint32_t shards,
                      unsigned counts[FILES_MAX][RUNS_MAX])
{
    static const uint32_t runs_max[] = {3};
    for (uint32_t k = 1; k <= shards; k++) {
        struct agenda agenda;
        struct agenda_slice slice;
        struct agenda_order order = *whole;
        order.shard = k;
        order.shards = shards;
        agenda_init(&agenda, &order);
        uint64_t planned[FILES_MAX] = {0};
        while (agenda_next(&agenda, runs_max, &slice)) {
            cr_assert(slice.runs >= 1 && slice.runs <= runs_max[0]);
            for (uint32_t i = 0; i < slice.runs; i++) {
                uint64_t run = slice.run_first + i * slice.stride;
                cr_assert(agenda_has(&order, slice.group, run));
                counts[slice.group][run]++;
                planned[slice.group]++;
            }
        }
        for (size_t file = 0; file < order.files; file++) {
            cr_assert_eq(planned[file], agenda_runs(&order, file));
        }
    }
}

Test(agenda, every_run_is_in_one_shard)
{
    for (size_t files = 1; files <= FILES_MAX; files++) {
        for (uint64_t seeds = 1; seeds <= 8; seeds++) {
            for (uint32_t shards = 1; shards <= 30; shards++) {
                unsigned counts[FILES_MAX][RUNS_MAX];
                uint32_t repeat = 1 + shards % 3;
                struct agenda_order whole = {
                    .files = files, .worlds = 1, .seed_first = 9, .seeds = seeds, .repeat = repeat};
                memset(counts, 0, sizeof counts);
                count_all(&whole, shards, counts);
                for (size_t i = 0; i < files * seeds * repeat; i++) {
                    unsigned count = counts[i / (seeds * repeat)][i % (seeds * repeat)];
                    cr_assert_eq(count, 1, "%zu files, %u shards", files, shards);
                }
            }
        }
    }
}

Test(agenda, a_repetition_begins_with_the_first_seed_again)
{
    struct agenda_order order = {.seed_first = 7, .seeds = 3};
    static const uint64_t seeds[] = {7, 8, 9, 7, 8, 9, 7};
    for (uint64_t run = 0; run < sizeof seeds / sizeof seeds[0]; run++) {
        cr_assert_eq(agenda_seed(&order, run), seeds[run]);
    }
}

Test(agenda, holds_for_numbers_that_nobody_counts)
{
    struct agenda_order order = {.files = 4000,
                                 .worlds = 1,
                                 .seeds = UINT64_C(1000000000000000),
                                 .repeat = 1,
                                 .shard = 49999,
                                 .shards = 50000};
    cr_assert_eq(agenda_runs(&order, 3999), UINT64_C(20000000000));
    cr_assert(agenda_has(&order, 0, 49998));
    cr_assert_not(agenda_has(&order, 0, 49999));
}
