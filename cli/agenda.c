/* agenda.c: the runs that an order is made of, and which of them come next. */
#include "cli/agenda.h"

#include "base/assert.h"

static uint64_t runs_each(const struct agenda_order *order)
{
    return order->seeds * order->repeat;
}

/* The first run of the file that is this shard's; it may lie behind the last one. */
static uint64_t first_run(const struct agenda_order *order, size_t file)
{
    uint64_t shards = order->shards;
    uint64_t before = file % shards * (runs_each(order) % shards) % shards;
    return (order->shard - 1 + shards - before) % shards;
}

void agenda_init(struct agenda *agenda, const struct agenda_order *order)
{
    ASSERT(order->shard >= 1 && order->shard <= order->shards);
    ASSERT(order->seeds > 0 && order->repeat > 0 && order->worlds > 0);
    *agenda = (struct agenda){.order = *order};
}

uint64_t agenda_runs(const struct agenda_order *order, size_t group)
{
    uint64_t first = first_run(order, group / order->worlds);
    uint64_t each = runs_each(order);
    if (order->absent != NULL && order->absent[group]) {
        return 0;
    }
    return first < each ? (each - 1 - first) / order->shards + 1 : 0;
}

bool agenda_has(const struct agenda_order *order, size_t file, uint64_t run)
{
    uint64_t first = first_run(order, file);
    return run < runs_each(order) && run >= first && (run - first) % order->shards == 0;
}

bool agenda_next(struct agenda *agenda, const uint32_t runs_max[], struct agenda_slice *slice)
{
    const struct agenda_order *order = &agenda->order;
    size_t groups = order->files * order->worlds;
    while (agenda->group < groups && agenda->given == agenda_runs(order, agenda->group)) {
        agenda->group++;
        agenda->given = 0;
    }
    if (agenda->group == groups) {
        return false;
    }
    uint64_t left = agenda_runs(order, agenda->group) - agenda->given;
    uint64_t first = first_run(order, agenda->group / order->worlds);
    uint32_t most = runs_max[agenda->group % order->worlds];
    *slice = (struct agenda_slice){
        .group = agenda->group,
        .run_first = first + agenda->given * order->shards,
        .stride = order->shards,
        .runs = left < most ? (uint32_t)left : most,
    };
    agenda->given += slice->runs;
    return true;
}

uint64_t agenda_seed(const struct agenda_order *order, uint64_t run)
{
    return order->seed_first + run % order->seeds;
}
