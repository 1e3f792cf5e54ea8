/* world_sim.c: the simulator behind the door that both worlds share. */
#include "harness/sim/sim.h"

#include "base/version.h"

#include <stddef.h>

static struct result world_sim_run(const struct plan *plan, const struct world_options *options,
                                   struct history_header *header, struct recorder *recorder,
                                   struct text *why)
{
    if (options->adapter != NULL) {
        text_add(why, "an adapter's program needs real nodes; choose --world real");
        return result_error(ERROR_SCHEMA);
    }
    const struct server_kind *kind = server_kind_at(plan->scenario.node_kind);
    if (kind->model == NULL) {
        text_add(why, "%s servers are in the real world only; use --world real", kind->name);
        return result_error(ERROR_SCHEMA);
    }
    struct text library = text_over(header->library, sizeof header->library);
    text_add(&library, "lockcore %s", PICKLOCK_VERSION);
    struct arena arena = arena_empty(SIM_BYTES_MAX);
    struct sim_options sim_options = {0};
    struct sim *sim = NULL;
    struct result result = sim_create(&arena, plan, &sim_options, &sim, why);
    if (!result_failed(result)) {
        sim_reset(sim, plan);
        result = sim_run(sim, recorder, why);
    }
    arena_release(&arena);
    return result;
}

const struct world world_sim = {"sim", world_sim_run};
