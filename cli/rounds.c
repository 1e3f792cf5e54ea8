/* rounds.c: which runs come next where there is a budget of time. */
#include "cli/rounds.h"

#include "base/assert.h"
#include "cli/baseline.h"

#include <string.h>

enum {
    ROUND_DOUBLINGS_MAX = 9,
    ROUND_RUNS_DRAWN = 8, /* of a scenario whose faults are drawn, in round 1 */
    ROUND_RUNS_FIXED = 1,
};

/* A real run also takes the time to start and stop its servers. */
static const int64_t start_ns = 300000000;

static bool is_real(const struct report_group *group)
{
    return strcmp(group->world, world_real.name) == 0;
}

/* How long a run of the group will be, as far as it is known; else 0. */
static int64_t length_ns(const struct rounds *rounds, size_t group)
{
    const struct report_group *own = &rounds->groups[group];
    const struct report_group *twin = rounds->order->worlds == 2 && is_real(own) ? own - 1 : own;
    int64_t seen_ns = own->runs > 0 ? own->last.virtual_ns : twin->last.virtual_ns;
    if (seen_ns == 0 && rounds->baseline != NULL) {
        seen_ns = baseline_virtual_ns(rounds->baseline, own->scenario, own->world);
    }
    return seen_ns;
}

static bool comes_before(const struct rounds *rounds, size_t a, size_t b)
{
    const struct report_group *one = &rounds->groups[a * rounds->order->worlds];
    const struct report_group *other = &rounds->groups[b * rounds->order->worlds];
    bool a_matters =
        rounds->baseline != NULL && baseline_matters(rounds->baseline, one->scenario, one->content);
    bool b_matters = rounds->baseline != NULL &&
                     baseline_matters(rounds->baseline, other->scenario, other->content);
    size_t last = rounds->order->worlds - 1; /* real, where both are run */
    if (a_matters != b_matters) {
        return a_matters;
    }
    return length_ns(rounds, a * rounds->order->worlds + last) <
           length_ns(rounds, b * rounds->order->worlds + last);
}

static void sort_turns(struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->order->files; i++) {
        size_t at = i;
        while (at > 0 && comes_before(rounds, i, rounds->turns[at - 1])) {
            rounds->turns[at] = rounds->turns[at - 1];
            at--;
        }
        rounds->turns[at] = i;
    }
}

struct result rounds_init(struct rounds *rounds, const struct agenda_order *order,
                          const struct report_group *groups, const struct baseline *baseline,
                          struct arena *arena)
{
    *rounds = (struct rounds){.order = order, .groups = groups, .baseline = baseline};
    rounds->turns = arena_take(arena, order->files * sizeof *rounds->turns);
    rounds->given = arena_take(arena, order->files * order->worlds * sizeof *rounds->given);
    if (rounds->turns == NULL || rounds->given == NULL) {
        return result_error(ERROR_IO);
    }
    sort_turns(rounds);
    return RESULT_OK;
}

/* How many runs of the group this round has. */
static uint64_t round_runs(const struct rounds *rounds, const struct report_group *group)
{
    if (rounds->round == 0 || is_real(group)) {
        return 1;
    }
    uint32_t doublings = rounds->round < ROUND_DOUBLINGS_MAX ? rounds->round : ROUND_DOUBLINGS_MAX;
    uint64_t first = group->scenario->random.present ? ROUND_RUNS_DRAWN : ROUND_RUNS_FIXED;
    return first << doublings;
}

/* Try the place where the round is; false if nothing of it is to be begun. */
static bool take_place(struct rounds *rounds, int64_t left_ns, struct agenda_slice *slice)
{
    size_t world = rounds->place / rounds->order->files;
    size_t file = rounds->turns[rounds->place % rounds->order->files];
    size_t group = file * rounds->order->worlds + world;
    uint64_t left = agenda_runs(rounds->order, group) - rounds->given[group];
    uint64_t runs = round_runs(rounds, &rounds->groups[group]);
    bool real = is_real(&rounds->groups[group]);
    runs = runs < left ? runs : left;
    if (runs == 0 || (real && length_ns(rounds, group) + start_ns > left_ns)) {
        return false;
    }
    *slice = (struct agenda_slice){
        .group = group, .run_first = rounds->given[group], .stride = 1, .runs = (uint32_t)runs};
    rounds->given[group] += runs;
    rounds->gave = true;
    return true;
}

bool rounds_next(struct rounds *rounds, int64_t left_ns, struct agenda_slice *slice)
{
    size_t places = rounds->order->files * rounds->order->worlds;
    ASSERT(rounds->order->shards == 1);
    while (left_ns > 0) {
        if (rounds->place == places) {
            if (!rounds->gave) {
                return false;
            }
            rounds->round++;
            rounds->place = 0;
            rounds->gave = false;
        }
        if (rounds->round == 0 && rounds->place == rounds->order->files) {
            sort_turns(rounds); /* by now the simulator has told how long each will be */
        }
        bool taken = take_place(rounds, left_ns, slice);
        rounds->place++;
        if (taken) {
            return true;
        }
    }
    return false;
}
