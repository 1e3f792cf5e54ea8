/* run.c: `picklock run`: reads scenarios, runs them in processes of their own, reports. */
#include "cli/baseline.h"
#include "cli/command.h"
#include "cli/each.h"
#include "cli/pool.h"
#include "cli/report.h"
#include "cli/seed.h"
#include "cli/shard.h"
#include "cli/words.h"

#include "base/duration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RUN_ARENA_BYTES = 512 << 20 };

/* Of one scenario: in a whole search, and in what one picklock does of it. */
#define RUN_RUNS_MAX  UINT64_C(1000000000000000)
#define RUN_SHARE_MAX UINT64_C(100000000)

/* With a budget, where nobody says how many. */
#define RUN_BUDGET_SEEDS UINT64_C(1000000)

struct run_options {
    struct scenario_paths paths;
    struct pool_order order;
    enum report_format format;
    const char *junit;
    const char *baseline;
    const char *summary;
    const char *results;
    const char *colour;
    uint64_t seed_last;
    enum shard_lines lines;
    bool sharded;
    bool seeds_given;
    bool timing;
    bool quiet;
};

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
    KEY_TIMING
};

static const struct argp_option run_option_table[] = {
    {"world", 'w', "WORLD", 0, "sim (default), real, or sim,real: both must agree", 0},
    {"seed", 's', "N", 0, "seed of every draw: a number or a git commit hash (default 1)", 0},
    {"seeds", KEY_SEEDS, "A..B", 0, "one run for each seed from A to B", 0},
    {"repeat", KEY_REPEAT, "N", 0, "run everything N times with the same seed", 0},
    {"jobs", 'j', "N", 0, "runs at the same time (default: the number of cores)", 0},
    {"adapter", 'a', "CMD", 0, "test the library behind this adapter, in the real world", 0},
    {"time-scale", KEY_SCALE, "X", 0, "multiply every duration by X, such as 0.1", 0},
    {"stop-at-first", KEY_STOP, NULL, 0, "end a run at its first violation", 0},
    {"keep", KEY_KEEP, "WHEN", 0, "keep histories: on-failure (default), always or never", 0},
    {"out", KEY_OUT, "DIR", 0, "folder of the results (default picklock-out)", 0},
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

static error_t run_value(int key, const char *arg, struct run_options *options)
{
    switch (key) {
    case 'w':
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
    case KEY_SCALE:
        return parse_scale(arg, &options->order.time_scale_ppm) ? 0 : EINVAL;
    case KEY_KEEP:
        return parse_keep(arg, &options->order.keep) ? 0 : EINVAL;
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
    error_t error = arg != NULL ? run_value(key, arg, options) : ARGP_ERR_UNKNOWN;
    if (error == EINVAL) {
        argp_error(state, "\"%s\" is not a value of this option; see --help", arg);
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

/* https://no-color.org: --color wins, then NO_COLOR, then FORCE_COLOR, then the terminal. */
static bool wants_colour(const char *colour)
{
    if (strcmp(colour, "auto") != 0) {
        return strcmp(colour, "always") == 0;
    }
    const char *no = getenv("NO_COLOR");
    const char *force = getenv("FORCE_COLOR");
    const char *terminal = getenv("TERM");
    if (no != NULL && no[0] != '\0') {
        return false;
    }
    if (force != NULL && force[0] != '\0') {
        return true;
    }
    return isatty(STDOUT_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

static struct result run_check_options(struct run_options *options, struct text *why)
{
    if (options->order.adapter != NULL && options->order.sim && options->order.real) {
        text_add(why, "--adapter: a foreign library runs in the real world only; leave out sim");
        return result_error(ERROR_USAGE);
    }
    if (options->order.adapter != NULL) {
        options->order.real = true;
        options->order.sim = false;
    }
    struct agenda_order *runs = &options->order.runs;
    if (options->order.budget_ns > 0 && (options->sharded || runs->repeat > 1)) {
        text_add(why, "--budget decides how many runs there are; leave out --shard and --repeat");
        return result_error(ERROR_USAGE);
    }
    if (options->order.budget_ns > 0 && !options->seeds_given) {
        options->seed_last = runs->seed_first + RUN_BUDGET_SEEDS - 1;
    }
    runs->seeds = options->seed_last - runs->seed_first + 1;
    runs->worlds = options->order.sim && options->order.real ? 2 : 1;
    bool counted = runs->seeds > 0 && runs->seeds <= RUN_RUNS_MAX / runs->repeat;
    if (!counted || runs->seeds * runs->repeat / runs->shards > RUN_SHARE_MAX) {
        text_add(why, "more than 100 million runs of each scenario were asked for; --shard takes a "
                      "part of them");
        return result_error(ERROR_LIMIT);
    }
    if (options->lines == SHARD_LINES_UNMET && !options->sharded) {
        text_add(why, "--lines is about a shard's file: give --shard K/N as well");
        return result_error(ERROR_USAGE);
    }
    return RESULT_OK;
}

static struct result run_open_shard(const struct run_options *options, struct report *report,
                                    struct text *why)
{
    const struct pool_order *order = &options->order;
    struct shard_order shard = {
        .scenarios = order->scenarios,
        .runs = &order->runs,
        .worlds = words_at("world", order->sim && order->real ? 2
                                    : order->real             ? 1
                                                              : 0),
        .adapter = order->adapter,
        .time_scale_ppm = order->time_scale_ppm,
        .lines = options->lines,
        .stop_at_first = order->stop_at_first,
        .timing = options->timing,
        .out = order->out,
    };
    return shard_open(&shard, &report->shard, why);
}

/* A file that is written beside the results; without a path there is none. */
static struct result run_open(const char *path, const char *mode, FILE **file, struct text *why)
{
    if (path == NULL) {
        return RESULT_OK;
    }
    *file = fopen(path, mode);
    if (*file == NULL) {
        text_add(why, "cannot write %s: %s", path, strerror(errno));
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}

/* The first failure is the one to tell: `before`, if there was one. */
static struct result run_close(const char *path, FILE *file, struct result before, struct text *why)
{
    bool written = file == NULL || (ferror(file) == 0);
    written = (file == NULL || fclose(file) == 0) && written;
    if (!written && !result_failed(before)) {
        text_add(why, "cannot write %s: %s", path, strerror(errno));
        return result_error(ERROR_IO);
    }
    return before;
}

static struct result run_all(struct run_options *options, struct arena *arena, int *exit_code,
                             struct text *why)
{
    struct scenario_list scenarios;
    TRY(run_check_options(options, why));
    TRY(scenarios_load(options->paths.list, options->paths.count, arena, &scenarios, why));
    struct report report = {
        .format = options->format,
        .colour = wants_colour(options->colour),
        .github = getenv("GITHUB_ACTIONS") != NULL,
        .quiet = options->quiet,
        .timing = options->timing,
        .out = options->order.out,
        .adapter = options->order.adapter,
        .time_scale_ppm = options->order.time_scale_ppm,
    };
    TRY(run_open(options->junit, "we", &report.junit, why));
    TRY(run_open(options->summary, "ae", &report.summary, why));
    TRY(run_open(options->results, "we", &report.results, why));
    options->order.scenarios = &scenarios;
    options->order.runs.files = scenarios.count;
    if (options->baseline != NULL) {
        TRY(baseline_read(options->baseline, arena, &report.baseline, why));
    }
    if (options->sharded) {
        TRY(run_open_shard(options, &report, why));
    }
    struct result result = pool_run(&options->order, arena, &report, exit_code, why);
    if (report.baseline != NULL) {
        baseline_release(report.baseline);
    }
    if (report.shard != NULL) {
        shard_close(report.shard);
        (void)rmdir(options->order.out); /* where nothing was left in it */
    }
    TRY(run_close(options->junit, report.junit, result, why));
    TRY(run_close(options->results, report.results, result, why));
    return run_close(options->summary, report.summary, result, why);
}

int command_run(int argc, char **argv)
{
    static struct run_options options;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    options.order.begun_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    options.order.sim = true;
    options.order.runs =
        (struct agenda_order){.seed_first = 1, .repeat = 1, .shard = 1, .shards = 1};
    options.seed_last = 1;
    options.order.jobs = cores > 0 && cores < POOL_JOBS_MAX ? (uint32_t)cores : 2;
    options.order.time_scale_ppm = 1000000;
    options.order.out = "picklock-out";
    options.colour = "auto";
    command_parse(&run_argp, argc, argv, &options);
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct arena arena = arena_empty(RUN_ARENA_BYTES);
    int exit_code = EXIT_UNKNOWN;
    struct result result = run_all(&options, &arena, &exit_code, &why);
    arena_release(&arena);
    if (result_failed(result)) {
        return command_fail(result, &why);
    }
    if (fflush(stdout) != 0) {
        fprintf(stderr, "picklock: cannot write the results: %s\n", strerror(errno));
        return EXIT_ENVIRONMENT;
    }
    return exit_code;
}
