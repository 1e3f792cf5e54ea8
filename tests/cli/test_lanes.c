/* test_lanes.c: every run is handed out once, the simulator's first, the longest where asked. */
#include "cli/lanes.h"

#include <criterion/criterion.h>

enum { FILES = 5, GROUPS = 2 * FILES, ARENA_BYTES = 1 << 16 };

struct bench {
    struct agenda_order order;
    struct arena arena;
    struct lanes lanes;
};

/* Group 5, the real run of file 2, is absent. */
static const bool absent[GROUPS] = {[5] = true};

static void set_up(struct bench *bench)
{
    *bench = (struct bench){.order = {.files = FILES,
                                      .worlds = 2,
                                      .seed_first = 1,
                                      .seeds = 1,
                                      .repeat = 1,
                                      .shard = 1,
                                      .shards = 1,
                                      .absent = absent}};
    bench->arena = arena_empty(ARENA_BYTES);
    cr_assert(!result_failed(lanes_init(&bench->lanes, &bench->order, &bench->arena)));
}

static size_t next(struct bench *bench, enum lane lane)
{
    struct agenda_slice slice = {.group = GROUPS};
    if (!lanes_next(&bench->lanes, lane, &slice)) {
        return GROUPS;
    }
    cr_assert_eq(slice.run_first, 0);
    cr_assert_eq(slice.runs, 1);
    return slice.group;
}

Test(lanes, the_longest_goes_beside_the_files)
{
    static const int64_t lengths_ns[FILES] = {3, 9, 50, 7, 20};
    struct bench bench;
    set_up(&bench);
    for (size_t file = 0; file < FILES; file++) {
        cr_assert_eq(next(&bench, file % 2 == 0 ? LANE_LONGEST : LANE_FILES), 2 * file);
        lanes_saw(&bench.lanes, 2 * file, lengths_ns[file]);
    }
    cr_assert_eq(next(&bench, LANE_LONGEST), 9);
    cr_assert_eq(next(&bench, LANE_FILES), 1);
    cr_assert_eq(next(&bench, LANE_LONGEST), 3);
    cr_assert_eq(next(&bench, LANE_FILES), 7);
    cr_assert_eq(next(&bench, LANE_FILES), GROUPS);
    cr_assert_eq(next(&bench, LANE_LONGEST), GROUPS);
    arena_release(&bench.arena);
}

Test(lanes, all_are_given_where_no_length_is_known)
{
    struct bench bench;
    set_up(&bench);
    bool given[GROUPS] = {false};
    for (size_t i = 0; i + 1 < GROUPS; i++) {
        size_t group = next(&bench, i % 3 == 0 ? LANE_FILES : LANE_LONGEST);
        cr_assert_lt(group, GROUPS);
        cr_assert(!given[group] && !absent[group]);
        given[group] = true;
    }
    cr_assert_eq(next(&bench, LANE_FILES), GROUPS);
    arena_release(&bench.arena);
}

Test(lanes, only_one_run_of_each_scenario_in_both_worlds_fits)
{
    struct bench bench;
    set_up(&bench);
    cr_assert(lanes_fit(&bench.order));
    bench.order.repeat = 2;
    cr_assert_not(lanes_fit(&bench.order));
    bench.order.repeat = 1;
    bench.order.seeds = 2;
    cr_assert_not(lanes_fit(&bench.order));
    bench.order.seeds = 1;
    bench.order.worlds = 1;
    cr_assert_not(lanes_fit(&bench.order));
    bench.order.worlds = 2;
    bench.order.shards = 3;
    cr_assert_not(lanes_fit(&bench.order));
    arena_release(&bench.arena);
}
