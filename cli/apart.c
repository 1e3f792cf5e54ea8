/* apart.c: scenarios that do not apply to the lock under test. */
#include "cli/apart.h"

#include "servers/kinds.h"
#include "servers/launch.h"

#include <inttypes.h>
#include <string.h>

/* What so many seeds draw is looked at before the first run; further ones say it when they run. */
enum { SEEDS_LOOKED_AT = 1000 };

bool apart_needed(const struct scenario_list *scenarios)
{
    for (size_t i = 0; i < scenarios->count; i++) {
        if (scenarios->list[i].needs != 0 || scenarios->list[i].lacks != 0) {
            return true;
        }
    }
    return false;
}

struct result apart_sort(struct scenario_list *scenarios, const struct lock_nature *nature,
                         struct arena *arena, struct apart_list *apart, struct text *why)
{
    size_t kept = 0;
    apart->count = 0;
    apart->list = arena_take(arena, (scenarios->count + 1) * sizeof *apart->list);
    if (apart->list == NULL) {
        text_add(why, "out of memory for %zu scenarios", scenarios->count);
        return result_error(ERROR_IO);
    }
    for (size_t i = 0; i < scenarios->count; i++) {
        const struct scenario *scenario = &scenarios->list[i];
        struct apart *one = &apart->list[apart->count];
        struct text reason = text_over(one->why, sizeof one->why);
        struct lock_nature own;
        nature_of_own(scenario, &own);
        if (scenario_applies(scenario, nature != NULL ? nature : &own, &reason)) {
            scenarios->contents[kept] = scenarios->contents[i];
            if (kept < i) {
                scenarios->list[kept] = *scenario;
            }
            kept++;
            continue;
        }
        memcpy(one->name, scenario->name, sizeof one->name);
        memcpy(one->about, scenario->about, sizeof one->about);
        apart->count++;
    }
    scenarios->count = kept;
    return RESULT_OK;
}

/* Which of a scenario's faults is nothing that can strike real servers of its kind. */
static bool a_fault_cannot_strike(const struct scenario *scenario, struct text *why)
{
    const struct server_kind *kind = server_kind_at(scenario->node_kind);
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        enum fault_kind fault = (enum fault_kind)scenario->faults[i].kind;
        if (scenario->faults[i].node_mask != 0 && !server_launch_has(kind->launch, fault)) {
            server_launch_explain(kind, fault, why);
            return true;
        }
    }
    return false;
}

/* The same of what one of the seeds draws, of the first of them that are many. */
static bool a_draw_cannot_strike(const struct scenario *scenario, const struct agenda_order *runs,
                                 struct text *why)
{
    static struct plan plan;
    for (uint64_t i = 0; scenario->random.present && i < runs->seeds && i < SEEDS_LOOKED_AT; i++) {
        uint64_t seed = runs->seed_first + i;
        char memory[WHY_BYTES];
        struct text what = text_over(memory, sizeof memory);
        scenario_plan(scenario, seed, 1000000, &plan);
        if (a_fault_cannot_strike(&plan.scenario, &what)) {
            text_add(why, "of what seed %" PRIu64 " draws, %s", seed, what.data);
            return true;
        }
    }
    return false;
}

/* Why the real world cannot run it; false: it can. Redis' servers are looked for when they start.
 */
static bool real_lacks(const struct scenario *scenario, const struct agenda_order *runs,
                       bool cluster, struct text *why)
{
    const struct server_kind *kind = server_kind_at(scenario->node_kind);
    const struct server_launch *launch = kind->launch;
    char path[SERVER_PATH_BYTES];
    char memory[2][WHY_BYTES];
    struct text what = text_over(memory[0], sizeof memory[0]);
    struct text remedy = text_over(memory[1], sizeof memory[1]);
    if (cluster && kind != server_kind_at(SERVER_KIND_redis)) {
        text_add(why, "its nodes are %s, and those of a cluster are redis-servers", kind->name);
        return true;
    }
    if (cluster && scenario->lock.replica_count > 0) {
        text_add(why, "its nodes follow each other, and those of a cluster stand alone");
        return true;
    }
    if (launch == NULL) {
        text_add(why, "%s servers are in the simulator only", kind->name);
        return true;
    }
    if (scenario->consensus == CONSENSUS_MAJORITY && scenario->node_count < launch->nodes_min) {
        text_add(why, "real %s servers are %d at least; here %s %d", kind->name, launch->nodes_min,
                 scenario->node_count == 1 ? "is" : "are", (int)scenario->node_count);
        return true;
    }
    if (a_fault_cannot_strike(scenario, why) || a_draw_cannot_strike(scenario, runs, why)) {
        return true;
    }
    if (kind == server_kind_at(SERVER_KIND_redis)) {
        return false;
    }
    if (scenario->pooler != POOLER_NONE &&
        !server_program_find(launch->pooler, path, sizeof path)) {
        text_add(why, "skipped in the real world: %s is not installed (apt-get install %s)",
                 launch->pooler, launch->pooler_package);
        return true;
    }
    if (!server_launch_lacks(launch, &what, &remedy)) {
        return false;
    }
    text_add(why, "skipped in the real world: %s (%s)", what.data, remedy.data);
    return true;
}

struct result apart_absent(const struct scenario_list *scenarios, struct agenda_order *runs,
                           struct arena *arena, struct apart_list *apart, struct text *why)
{
    bool *absent = arena_take(arena, scenarios->count * runs->worlds + 1);
    runs->absent = absent;
    if (absent == NULL) {
        text_add(why, "out of memory for %zu scenarios", scenarios->count);
        return result_error(ERROR_IO);
    }
    memset(absent, 0, scenarios->count * runs->worlds + 1);
    for (size_t i = 0; i < scenarios->count; i++) {
        const struct scenario *scenario = &scenarios->list[i];
        const struct server_kind *kind = server_kind_at(scenario->node_kind);
        struct apart *one = &apart->list[apart->count];
        struct text reason = text_over(one->why, sizeof one->why);
        bool no_real = real_lacks(scenario, runs, apart->cluster, &reason);
        bool no_sim = kind->model == NULL && runs->worlds == 2;
        if (!no_real && !no_sim) {
            continue;
        }
        if (!no_real) {
            text_add(&reason, "%s servers are in the real world only", kind->name);
        }
        absent[i * runs->worlds + runs->worlds - 1] = no_real;
        absent[i * runs->worlds] = runs->worlds == 2 ? no_sim : no_real;
        memcpy(one->name, scenario->name, sizeof one->name);
        memcpy(one->about, scenario->about, sizeof one->about);
        apart->count++;
    }
    return RESULT_OK;
}

void apart_print(const struct apart *apart, struct text *line)
{
    text_add(line, "{\"schema\":1,\"type\":\"apart\",\"scenario\":");
    text_add_json(line, apart->name);
    text_add(line, ",\"why\":");
    text_add_json(line, apart->why);
    text_add(line, "}\n");
}
