/* test_batch.c: what a run takes of the machine. */
#include "cli/batch.h"
#include "servers/kinds.h"

#include <criterion/criterion.h>

static uint32_t weight_of(uint8_t kind, const struct world *world, uint32_t jobs)
{
    static struct scenario scenario;
    scenario.node_kind = kind;
    return batch_weight(&scenario, world, jobs);
}

Test(batch, real_servers_that_take_much_of_the_processors_count_for_several_runs)
{
    cr_assert_gt(weight_of(SERVER_KIND_zookeeper, &world_real, 64), 1);
    cr_assert_eq(weight_of(SERVER_KIND_zookeeper, &world_sim, 64), 1);
    cr_assert_eq(weight_of(SERVER_KIND_redis, &world_real, 64), 1);
    cr_assert_eq(weight_of(SERVER_KIND_chubby, &world_sim, 64), 1, "it has no launch");
}

Test(batch, no_run_counts_for_more_than_all_jobs)
{
    cr_assert_eq(weight_of(SERVER_KIND_zookeeper, &world_real, 2), 2);
    cr_assert_eq(weight_of(SERVER_KIND_zookeeper, &world_real, 1), 1, "it begins at all");
}
