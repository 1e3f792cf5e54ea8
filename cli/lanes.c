/* lanes.c: which run is begun next where each scenario is run once in both worlds. */
#include "cli/lanes.h"

#include "base/assert.h"

enum { WORLDS = 2, SIM = 0, REAL = 1 };

bool lanes_fit(const struct agenda_order *order)
{
    return order->worlds == WORLDS && order->seeds == 1 && order->repeat == 1 && order->shards == 1;
}

struct result lanes_init(struct lanes *lanes, const struct agenda_order *order, struct arena *arena)
{
    size_t groups = order->files * WORLDS;
    ASSERT(lanes_fit(order));
    *lanes = (struct lanes){.order = order};
    lanes->given = arena_take(arena, groups * sizeof *lanes->given);
    lanes->seen_ns = arena_take(arena, groups * sizeof *lanes->seen_ns);
    if (lanes->given == NULL || lanes->seen_ns == NULL) {
        return result_error(ERROR_IO);
    }
    for (size_t i = 0; i < groups; i++) {
        lanes->given[i] = agenda_runs(order, i) == 0;
    }
    return RESULT_OK;
}

void lanes_saw(struct lanes *lanes, size_t group, int64_t length_ns)
{
    ASSERT(lanes->given[group]);
    lanes->seen_ns[group] = length_ns;
}

/* The first file of the world that is not given; order->files if there is none. */
static size_t first_file(struct lanes *lanes, size_t world)
{
    size_t *first = &lanes->first[world];
    while (*first < lanes->order->files && lanes->given[*first * WORLDS + world]) {
        (*first)++;
    }
    return *first;
}

static size_t longest_file(struct lanes *lanes)
{
    size_t longest = first_file(lanes, REAL);
    for (size_t file = longest; file < lanes->order->files; file++) {
        const int64_t *seen_ns = &lanes->seen_ns[SIM];
        if (!lanes->given[file * WORLDS + REAL] &&
            seen_ns[file * WORLDS] > seen_ns[longest * WORLDS]) {
            longest = file;
        }
    }
    return longest;
}

bool lanes_next(struct lanes *lanes, enum lane lane, struct agenda_slice *slice)
{
    size_t world = SIM;
    size_t file = first_file(lanes, SIM);
    if (file == lanes->order->files) {
        world = REAL;
        file = lane == LANE_LONGEST ? longest_file(lanes) : first_file(lanes, REAL);
    }
    if (file == lanes->order->files) {
        return false;
    }
    size_t group = file * WORLDS + world;
    lanes->given[group] = true;
    *slice = (struct agenda_slice){.group = group, .stride = 1, .runs = 1};
    return true;
}
