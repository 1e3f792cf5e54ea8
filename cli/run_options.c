/* run_options.c: the command line of `picklock run`. */
#include "cli/run_options.h"

#include "base/duration.h"
#include "base/machine_clock.h"
#include "cli/options.h"
#include "cli/results.h"
#include "cli/seed.h"
#include "cli/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_SEEDS = 1000,
    KEY_KEEP,
    KEY_JSON,
    KEY_TAP,
    KEY_JUNIT,
    KEY_OUT,
    KEY_COLOUR,
    KEY_SCALE,
    KEY_STOP,
    KEY_REPEAT,
    KEY_SHARD,
    KEY_BASELINE,
    KEY_SUMMARY,
    KEY_RESULTS,
    KEY_BUDGET,
    KEY_LINES,
    KEY_TIMING,
    KEY_STRESS,
    KEY_KEEP_LAST,
    KEY_TRIES,
    KEY_FILTER,
    KEY_UPDATE,
    KEY_WATCH,
    KEY_CLUSTER,
    KEY_PROGRAM,
    KEY_SERVER,
    KEY_TRACE,
};

static const struct argp_option run_option_table[] = {
    {"filter", KEY_FILTER, "WORDS", 0,
     "only scenarios whose name has one of these words in it, or that are tagged so: a lock, a "
     "kind "
     "of fault, a folder; !WORD leaves them out",
     0},
    {"update-expect", KEY_UPDATE, NULL, 0,
     "write into the files what came of their runs, where they expect something else", 0},
    {"watch", KEY_WATCH, NULL, 0, "run again whenever one of the files changes", 0},
    {"world", 'w', "WORLD", 0, "sim (default), real, or sim,real: both must agree", 0},
    {"seed", 's', "N", 0, "seed of every draw: a number or a git commit hash (default 1)", 0},
    {"seeds", KEY_SEEDS, "A..B", 0, "one run for each seed from A to B", 0},
    {"repeat", KEY_REPEAT, "N", 0, "run everything N times with the same seed", 0},
    {"jobs", 'j', "N", 0,
     "runs at the same time (default: the number of cores; 12 times as many where there are real "
     "runs, 3 times with an adapter)",
     0},
    {"adapter", 'a', "CMD", 0, "test the library behind this adapter, in the real world", 0},
    {"cluster", KEY_CLUSTER, "FILE", 0,
     "use the nodes that this file names, under agents (`picklock node`) or bare (default "
     "$PICKLOCK_CLUSTER)",
     0},
    {"server", KEY_PROGRAM, "KIND=PATH", 0,
     "run this program as servers of that kind in the real world: redis, sql or etcd", 0},
    {"redis-server", KEY_SERVER, "PATH", 0, "the same for redis, unasked for its version", 0},
    {"time-scale", KEY_SCALE, "X", 0, "multiply every duration by X, such as 0.1", 0},
    {"stress", KEY_STRESS, "TIME", OPTION_ARG_OPTIONAL,
     "put messages and steps of the simulator off as a busy machine does, by up to this much "
     "(100ms): verdicts must not change",
     0},
    {"stop-at-first", KEY_STOP, NULL, 0, "end a run at its first violation", 0},
    {"keep", KEY_KEEP, "WHEN", 0, "keep histories: on-failure (default), always or never", 0},
    {"keep-last", KEY_KEEP_LAST, "N", 0,
     "of a scenario's runs that are not as expected keep N, newer ones first (default 100)", 0},
    {"tries", KEY_TRIES, "N", 0,
     "begin a run on real servers up to N times where nothing but the machine's own lateness "
     "leaves "
     "it unknown (default 3)",
     0},
    {"out", KEY_OUT, "DIR", 0, "folder of the results (default $PICKLOCK_OUT, or picklock-out)", 0},
    {"shard", KEY_SHARD, "K/N", 0,
     "do the K-th of N parts, and leave its results as a file for "
     "`picklock merge`",
     0},
    {"lines", KEY_LINES, "WHICH", 0,
     "runs that have a line in a shard's file: all (default), or "
     "unmet: those not as expected; the rest is counted",
     0},
    {"baseline", KEY_BASELINE, "FILE", 0,
     "compare with what an earlier release's --json printed; exit code 1 only for what is new", 0},
    {"budget", KEY_BUDGET, "TIME", 0,
     "as many runs as fit into this time, such as 120s; what was left out is told", 0},
    {"json", KEY_JSON, NULL, 0, "print one JSON object a run on stdout", 0},
    {"timing", KEY_TIMING, NULL, 0, "tell how long each run took, where there is a line for it", 0},
    {"tap", KEY_TAP, NULL, 0, "print TAP on stdout", 0},
    {"junit", KEY_JUNIT, "FILE", 0, "also write a JUnit file", 0},
    {"results", KEY_RESULTS, "FILE", 0, "also write the lines of --json to this file", 0},
    {"summary", KEY_SUMMARY, "FILE", 0, "also add a short page of Markdown to this file", 0},
    {"trace", KEY_TRACE, "FILE", 0,
     "of one run: also write its bars as a trace that Perfetto opens", 0},
    {"color", KEY_COLOUR, "WHEN", 0, "auto (default), always or never", 0},
    {"quiet", 'q', NULL, 0, "print only what is not as expected, and the table", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static bool parse_count(const char *word, uint32_t maximum, uint32_t *count)
{
    char *end;
    unsigned long number = strtoul(word, &end, 10);
    if (end == word || *end != '\0' || number == 0 || number > maximum) {
        return false;
    }
    *count = (uint32_t)number;
    return true;
}

static bool parse_worlds(const char *word, struct run_options *options)
{
    int index = words_index("world", word); /* sim, real, then both */
    options->order.sim = index >= 0 && index != 1;
    options->order.real = index >= 1;
    return index >= 0;
}

static bool parse_keep(const char *word, enum run_keep *keep)
{
    int index = words_index("keep", word);
    *keep = index >= 0 ? (enum run_keep)index : KEEP_ON_FAILURE;
    return index >= 0;
}

static bool parse_scale(const char *word, int64_t *ppm)
{
    char *end;
    double scale = strtod(word, &end);
    if (end == word || *end != '\0' || !(scale >= 0.001) || !(scale <= 1000)) {
        return false;
    }
    *ppm = (int64_t)llround(scale * 1e6);
    return true;
}

static bool parse_budget(const char *word, int64_t *ns)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    return !result_failed(duration_parse(word, ns, &why)) && *ns > 0;
}

static bool parse_stress(const char *word, int64_t *ns)
{
    if (word == NULL) {
        *ns = 100 * NS_PER_MS;
        return true;
    }
    return parse_budget(word, ns) && *ns <= STRESS_NS_MAX;
}

static error_t run_value(int key, const char *arg, struct run_options *options)
{
    switch (key) {
    case 'w':
        options->world_given = true;
        return parse_worlds(arg, options) ? 0 : EINVAL;
    case 's':
        if (!seed_parse(arg, &options->order.runs.seed_first)) {
            return EINVAL;
        }
        options->seed_last = options->order.runs.seed_first;
        return 0;
    case KEY_SEEDS:
        options->seeds_given = true;
        return seed_range_parse(arg, &options->order.runs.seed_first, &options->seed_last) ? 0
                                                                                           : EINVAL;
    case KEY_REPEAT:
        return parse_count(arg, 1000000, &options->order.runs.repeat) ? 0 : EINVAL;
    case 'j':
        options->jobs_given = true;
        return parse_count(arg, POOL_JOBS_MAX, &options->order.jobs) ? 0 : EINVAL;
    case KEY_SHARD:
        options->sharded = true;
        return shard_parse(arg, &options->order.runs.shard, &options->order.runs.shards) ? 0
                                                                                         : EINVAL;
    case KEY_LINES:
        options->lines = words_index("lines", arg) == 1 ? SHARD_LINES_UNMET : SHARD_LINES_ALL;
        return words_index("lines", arg) >= 0 ? 0 : EINVAL;
    case KEY_BUDGET:
        return parse_budget(arg, &options->order.budget_ns) ? 0 : EINVAL;
    case KEY_STRESS:
        return parse_stress(arg, &options->order.stress_ns) ? 0 : EINVAL;
    case KEY_SCALE:
        return parse_scale(arg, &options->order.time_scale_ppm) ? 0 : EINVAL;
    case KEY_KEEP:
        return parse_keep(arg, &options->order.keep) ? 0 : EINVAL;
    case KEY_KEEP_LAST:
        return parse_count(arg, KEEP_LAST_MAX, &options->order.keep_last) ? 0 : EINVAL;
    case KEY_TRIES:
        return parse_count(arg, POOL_TRIES_MAX, &options->order.tries) ? 0 : EINVAL;
    case KEY_COLOUR:
        options->colour = arg;
        return words_index("color", arg) >= 0 ? 0 : EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t run_option(int key, char *arg, struct argp_state *state)
{
    struct run_options *options = state->input;
    switch (key) {
    case 'a':
        options->order.adapter = arg;
        return 0;
    case KEY_CLUSTER:
        options->cluster = arg;
        return 0;
    case KEY_PROGRAM:
        if (options->server_count == RUN_SERVERS_MAX) {
            return EINVAL;
        }
        options->servers[options->server_count++] = arg;
        return 0;
    case KEY_SERVER:
        options->order.server = arg;
        return 0;
    case KEY_TRACE:
        options->order.trace = arg;
        return 0;
    case KEY_FILTER:
        options->filter = arg;
        return 0;
    case KEY_UPDATE:
        options->update = true;
        return 0;
    case KEY_WATCH:
        options->watch = true;
        return 0;
    case KEY_STOP:
        options->order.stop_at_first = true;
        return 0;
    case KEY_OUT:
        options->order.out = arg;
        return 0;
    case KEY_JSON:
        options->format = REPORT_JSON;
        return 0;
    case KEY_BASELINE:
        options->baseline = arg;
        return 0;
    case KEY_RESULTS:
        options->results = arg;
        return 0;
    case KEY_SUMMARY:
        options->summary = arg;
        return 0;
    case KEY_TIMING:
        options->timing = true;
        return 0;
    case KEY_TAP:
        options->format = REPORT_TAP;
        return 0;
    case KEY_JUNIT:
        options->junit = arg;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        return scenario_paths_option(&options->paths, key, arg, state);
    default:
        break;
    }
    bool valued = arg != NULL || key == KEY_STRESS;
    error_t error = valued ? run_value(key, arg, options) : ARGP_ERR_UNKNOWN;
    if (error == EINVAL) {
        options_refuse_value(state, key, arg);
    }
    return error;
}

const struct argp run_argp = {
    run_option_table,
    run_option,
    "[FILE or FOLDER]...",
    "Run scenarios, check what happened, compare with what they expect. Without a file: every "
    "scenario below scenarios/.",
    NULL,
    NULL,
    NULL};

void run_options_init(struct run_options *options)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *options = (struct run_options){.colour = "auto", .seed_last = 1};
    struct pool_order *order = &options->order;
    order->begun_ns = monotonic_ns();
    order->sim = true;
    order->runs = (struct agenda_order){.seed_first = 1, .repeat = 1, .shard = 1, .shards = 1};
    order->jobs = cores > 0 && cores < POOL_JOBS_MAX ? (uint32_t)cores : 2;
    order->time_scale_ppm = 1000000;
    order->out = results_default();
    order->keep_last = 100;
    order->tries = POOL_TRIES;
}
