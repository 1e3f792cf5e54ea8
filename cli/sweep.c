/* sweep.c: `picklock sweep`: every single fault at every point of a lock's own protocol. */
#include "cli/command.h"
#include "cli/dry.h"
#include "cli/options.h"
#include "cli/pool.h"
#include "cli/report_library.h"
#include "cli/results.h"
#include "cli/sweep_cases.h"

#include "base/assert.h"
#include "base/duration.h"
#include "base/foreign.h"
#include "base/machine_clock.h"
#include "lockcore/algorithms.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SWEEP_ARENA_BYTES = 512 << 20, SWEEP_TEXT_BYTES = 4096 };

struct sweep {
    struct pool_order order;
    const char *algorithm; /* or NULL: the library behind the adapter */
    const char *colour;
    uint32_t nodes; /* 0: three, or one */
    bool jobs_given;
    bool quiet;
    struct sweep_protocol protocol;
    struct sweep_cases cases;
    char library[HISTORY_NAME_BYTES];
};

enum { KEY_ALGORITHM = 1000, KEY_NODES, KEY_BUDGET, KEY_OUT };

static const struct argp_option sweep_option_table[] = {
    {"adapter", 'a', "CMD", 0, "the library behind this adapter, in the real world", 0},
    {"algorithm", KEY_ALGORITHM, "NAME", 0, "a lock of picklock's own, in the simulator", 0},
    {"nodes", KEY_NODES, "N", 0, "how many; default 3, for a lock of one node 1", 0},
    {"budget", KEY_BUDGET, "TIME", 0, "begin no run after this time, such as 120s", 0},
    {"jobs", 'j', "N", 0, "runs at the same time (default: three times the number of cores)", 0},
    {"out", KEY_OUT, "DIR", 0, "folder of the results (default $PICKLOCK_OUT, or picklock-out)", 0},
    {"quiet", 'q', NULL, 0, "print only the table", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static bool sweep_count(const char *word, uint32_t maximum, uint32_t *count)
{
    char *end;
    unsigned long number = strtoul(word, &end, 10);
    if (end == word || *end != '\0' || number == 0 || number > maximum) {
        return false;
    }
    *count = (uint32_t)number;
    return true;
}

static bool sweep_budget(const char *word, int64_t *ns)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    return !result_failed(duration_parse(word, ns, &why)) && *ns > 0;
}

static error_t sweep_option(int key, char *arg, struct argp_state *state)
{
    struct sweep *sweep = state->input;
    bool good = true;
    switch (key) {
    case 'a':
        sweep->order.adapter = arg;
        return 0;
    case KEY_ALGORITHM:
        sweep->algorithm = arg;
        return 0;
    case KEY_OUT:
        sweep->order.out = arg;
        return 0;
    case 'q':
        sweep->quiet = true;
        return 0;
    case KEY_NODES:
        good = sweep_count(arg, SWEEP_NODES_MAX, &sweep->nodes);
        break;
    case 'j':
        sweep->jobs_given = true;
        good = sweep_count(arg, POOL_JOBS_MAX, &sweep->order.jobs);
        break;
    case KEY_BUDGET:
        good = sweep_budget(arg, &sweep->order.budget_ns);
        break;
    case ARGP_KEY_END:
        if ((sweep->order.adapter == NULL) == (sweep->algorithm == NULL)) {
            options_refuse(state, "expected either --adapter CMD or --algorithm NAME");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (!good) {
        options_refuse_value(state, key, arg);
    }
    return 0;
}

const struct argp sweep_argp = {
    sweep_option_table,
    sweep_option,
    NULL,
    "Look at the commands that a lock sends, then try every single fault at every point of them: "
    "before and after each command, at one node, at most of them and at all. Each violation that "
    "the library is to blame for becomes a scenario file.",
    NULL,
    NULL,
    NULL};

/* The kind of server that a lock of ours asks. */
static const struct server_kind *sweep_kind(const char *algorithm)
{
    lock_algorithm_index index = 0;
    bool known = lock_algorithm_find(algorithm, &index);
    ASSERT(known);
    return server_kind_at(server_kind_of(lock_algorithm_at(index)->dialect));
}

/* What is known of the lock before it is seen at work. */
static struct result sweep_know(struct sweep *sweep, struct arena *arena, struct text *why)
{
    struct sweep_protocol *protocol = &sweep->protocol;
    struct lock_nature nature;
    if (sweep->order.adapter != NULL) {
        TRY(dry_nature(sweep->order.adapter, sweep->order.out, arena, &nature, why));
        bool one = nature.nodes_max == 1;
        protocol->nodes = one ? 1 : sweep->nodes > 0 ? (int32_t)sweep->nodes : 3;
        protocol->algorithm = protocol->nodes == 1 ? "single" : "redlock";
        protocol->extends = (nature.declares >> DECLARES_EXTEND & 1u) != 0;
        protocol->renews = (nature.declares >> DECLARES_RENEW & 1u) != 0;
        memcpy(sweep->library, nature.library, sizeof sweep->library);
        return RESULT_OK;
    }
    lock_algorithm_index index;
    if (!lock_algorithm_find(sweep->algorithm, &index)) {
        text_add(why, "--algorithm %s: unknown; `picklock list algorithms` shows all of them",
                 sweep->algorithm);
        return result_error(ERROR_USAGE);
    }
    const struct lock_algorithm *algorithm = lock_algorithm_at(index);
    if (algorithm->waits) {
        text_add(why, "--algorithm %s: waits for replicas, and the nodes of a sweep have none",
                 sweep->algorithm);
        return result_error(ERROR_USAGE);
    }
    int32_t nodes = sweep->nodes > 0 ? (int32_t)sweep->nodes : 3;
    protocol->nodes = nodes < algorithm->nodes_max ? nodes : algorithm->nodes_max;
    protocol->algorithm = sweep->algorithm;
    protocol->extends = true;
    (void)snprintf(sweep->library, sizeof sweep->library, "%s", sweep->algorithm);
    return RESULT_OK;
}

/* One run in which nothing goes wrong tells the points. */
static struct result sweep_dry(struct sweep *sweep, struct arena *arena, struct text *why)
{
    static struct scenario scenario;
    char memory[SWEEP_TEXT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    struct loaded loaded;
    sweep_base(&sweep->protocol, &text);
    dry_scenario("dry", text.data, arena, &scenario);
    struct dry_order order = {.scenario = &scenario,
                              .adapter = sweep->order.adapter,
                              .time_scale_ppm = 1000000,
                              .out = sweep->order.out};
    TRY(dry_run(&order, arena, &loaded, why));
    bool seen = sweep_look(&loaded, &sweep->protocol);
    loaded_release(&loaded);
    if (!seen) {
        text_add(why, "nothing was seen of the lock in a run without faults: no key was set%s",
                 sweep->order.adapter != NULL ? "; `picklock run --adapter` may say more" : "");
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

static void sweep_expect_any(struct text *text)
{
    text_add(text, "expect:\n");
    for (size_t i = 0; i < check_count(); i++) {
        text_add(text, "  %s: any\n", check_at(i)->name);
    }
}

static struct result sweep_scenarios(struct sweep *sweep, struct arena *arena,
                                     struct scenario_list *scenarios, struct text *why)
{
    char memory[SWEEP_TEXT_BYTES];
    scenarios->count = sweep->cases.count;
    scenarios->list = arena_take(arena, scenarios->count * sizeof *scenarios->list);
    scenarios->contents = arena_take(arena, scenarios->count * sizeof *scenarios->contents);
    if (scenarios->list == NULL || scenarios->contents == NULL) {
        text_add(why, "out of memory for %zu scenarios", scenarios->count);
        return result_error(ERROR_IO);
    }
    for (size_t i = 0; i < scenarios->count; i++) {
        char name_memory[SCENARIO_NAME_BYTES];
        char path[FILES_PATH_BYTES];
        struct text text = text_over(memory, sizeof memory);
        struct text name = text_over(name_memory, sizeof name_memory);
        sweep_print(&sweep->protocol, &sweep->cases.list[i], &text);
        sweep_expect_any(&text);
        ASSERT(!text.cut);
        sweep_name(&sweep->cases.list[i], &name);
        (void)snprintf(path, sizeof path, "%.900s/sweep/%s.yaml", sweep->order.out, name.data);
        dry_scenario(path, text.data, arena, &scenarios->list[i]);
    }
    return RESULT_OK;
}

/* Leave the scenario, which now expects what was found. */
static void sweep_keep(const struct sweep *sweep, const struct report_group *group,
                       const struct sweep_case *one)
{
    char memory[SWEEP_TEXT_BYTES];
    char told[WHY_BYTES];
    char folder[FILES_PATH_BYTES];
    struct text text = text_over(memory, sizeof memory);
    struct text why = text_over(told, sizeof told);
    text_add(&text, "# Found by picklock sweep in ");
    text_add_json(&text, sweep->library);
    text_add(&text, ".\n");
    sweep_print(&sweep->protocol, one, &text);
    text_add(&text, "expect:\n");
    for (size_t i = 0; i < check_count(); i++) {
        bool blamed = group->failed[i] > 0 && group->last.blames[i] == BLAME_LIBRARY;
        text_add(&text, "  %s: %s\n", check_at(i)->name,
                 blamed ? "{verdict: fail, blame: library}" : "any");
    }
    (void)snprintf(folder, sizeof folder, "%.900s/sweep", sweep->order.out);
    struct result result = folder_make(folder, &why);
    if (!result_failed(result)) {
        result = file_write(group->scenario->path, text.data, text.length, &why);
    }
    if (result_failed(result)) {
        fprintf(stderr, "picklock: ");
        foreign_print_line(stderr, why.data);
        fprintf(stderr, "\n");
    }
}

static void sweep_print_row(const char *about, const size_t outcomes[LIBRARY_OUTCOMES])
{
    size_t tried = 0;
    for (int i = 0; i < LIBRARY_OUTCOMES; i++) {
        tried += outcomes[i];
    }
    printf("%-46s %6zu %6zu %8zu %10zu %8zu %7zu\n", about, tried, outcomes[LIBRARY_PASSED],
           outcomes[LIBRARY_BLAMED], outcomes[LIBRARY_ASSUMPTION], outcomes[LIBRARY_UNKNOWN],
           outcomes[LIBRARY_ERROR]);
}

static void sweep_print_protocol(const struct sweep *sweep)
{
    const struct sweep_protocol *protocol = &sweep->protocol;
    const char *comma = "";
    foreign_print_line(stdout, sweep->library);
    printf(", at each of %" PRId32 " nodes%s: ", protocol->nodes,
           protocol->in_turn ? ", one after the other" : "");
    for (int role = 0; role < ROLE_OTHER; role++) {
        if (protocol->commands[role] > 0) {
            printf("%s%s", comma, command_role_name((enum command_role)role));
            if (protocol->commands[role] > 1) {
                printf(" (%" PRIu32 " times)", protocol->commands[role]);
            }
            comma = ", ";
        }
    }
    printf("\n\n%-46s %6s %6s %8s %10s %8s %7s\n", "at every point of that", "tried", "passed",
           "library", "assumption", "unknown", "not run");
}

/* At the end: what was found becomes files, and a row for each kind of fault. */
static void sweep_table(const struct report *report, const struct report_group *groups,
                        size_t count)
{
    const struct sweep *sweep = report->table_of;
    size_t found = 0;
    size_t total[LIBRARY_OUTCOMES] = {0};
    sweep_print_protocol(sweep);
    for (size_t strike = 0; strike < sweep_strike_count(); strike++) {
        size_t outcomes[LIBRARY_OUTCOMES] = {0};
        for (size_t i = 0; i < count; i++) {
            if (sweep->cases.list[i].strike == strike && groups[i].runs > 0) {
                outcomes[library_outcome(&groups[i])]++;
                total[library_outcome(&groups[i])]++;
            }
        }
        sweep_print_row(sweep_strike_about(strike), outcomes);
    }
    sweep_print_row("all", total);
    for (size_t i = 0; i < count; i++) {
        if (groups[i].runs > 0 && library_outcome(&groups[i]) == LIBRARY_BLAMED) {
            sweep_keep(sweep, &groups[i], &sweep->cases.list[i]);
            printf("%s", found++ == 0 ? "\nThe library is to blame in:\n  " : "  ");
            foreign_print_line(stdout, groups[i].scenario->path);
            printf("\n");
        }
    }
    if (found == 0) {
        printf("\nNothing was found that the library is to blame for.\n");
    }
}

static struct result sweep_all(struct sweep *sweep, struct arena *arena, int *exit_code,
                               struct text *why)
{
    struct scenario_list scenarios;
    TRY(sweep_know(sweep, arena, why));
    sweep->protocol.kind = sweep_kind(sweep->protocol.algorithm);
    TRY(sweep_dry(sweep, arena, why));
    sweep_list(&sweep->protocol, &sweep->cases);
    TRY(sweep_scenarios(sweep, arena, &scenarios, why));
    sweep->order.scenarios = &scenarios;
    sweep->order.sim = sweep->algorithm != NULL;
    sweep->order.real = sweep->algorithm == NULL;
    sweep->order.runs.files = scenarios.count;
    struct report report = {
        .format = REPORT_TEXT,
        .quiet = true,
        .brief = sweep->quiet,
        .out = sweep->order.out,
        .adapter = sweep->order.adapter,
        .time_scale_ppm = sweep->order.time_scale_ppm,
        .table = sweep_table,
        .table_of = sweep,
    };
    return pool_run(&sweep->order, arena, &report, exit_code, why);
}

int command_sweep(int argc, char **argv)
{
    static struct sweep sweep;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    sweep.order = (struct pool_order){
        .runs = {.worlds = 1, .seed_first = 1, .seeds = 1, .repeat = 1, .shard = 1, .shards = 1},
        .begun_ns = monotonic_ns(),
        .jobs = cores > 0 && cores < POOL_JOBS_MAX / POOL_LIBRARY_JOBS ? (uint32_t)cores : 2,
        .time_scale_ppm = 1000000,
        .keep = KEEP_ON_FAILURE,
        .keep_last = 1,
        .tries = POOL_TRIES,
        .out = results_default(),
    };
    command_parse(&sweep_argp, argc, argv, &sweep);
    if (!sweep.jobs_given && sweep.algorithm == NULL) {
        sweep.order.jobs *= POOL_LIBRARY_JOBS;
    }
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct arena arena = arena_empty(SWEEP_ARENA_BYTES);
    int exit_code = EXIT_UNKNOWN;
    struct result result = sweep_all(&sweep, &arena, &exit_code, &why);
    arena_release(&arena);
    if (result_failed(result)) {
        return command_fail(result, &why);
    }
    return exit_code;
}
