/* check.c: `picklock check`: judges histories recorded anywhere. */
#include "base/assert.h"
#include "base/foreign.h"
#include "cli/command.h"
#include "cli/evidence.h"
#include "cli/files.h"
#include "cli/loaded.h"
#include "cli/maps.h"
#include "cli/spool.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/machine_clock.h"
#include "checker/judge.h"
#include "checker/linear/file.h"
#include "cli/options.h"
#include "history/foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_PATHS_MAX = 4096, CHECK_TEXT_BYTES = 16 * 1024, CHECK_RESULTS_MAX = 64 };

static const struct check_result check_nothing_found; /* in place of what another judges */

struct check_options {
    char *paths[CHECK_PATHS_MAX];
    size_t path_count;
    bool model_given;
    bool json;
    int64_t time_ns; /* for the search of each history; 0: any */
    int64_t until_ns;
    const char *shown; /* the history at hand, as the user named it */
    const char *linearization;
    const char *map_text;
    struct history_map map;
    struct history_met met; /* its errors, in the history at hand */
    struct history_reader_options reading;
    struct linear_options linear;
};

enum {
    KEY_FAILED = 1000,
    KEY_REFUSED,
    KEY_PERMITS,
    KEY_DEPTH,
    KEY_TTL,
    KEY_DRIFT,
    KEY_BY_OWNER,
    KEY_LIMIT,
    KEY_TIME,
    KEY_SKEW,
    KEY_ORDER,
    KEY_MAP,
    KEY_JSON,
};

static const struct argp_option check_option_table[] = {
    {"model", 'm', "MODEL", 0,
     "ask only whether the history is linearizable as this kind of lock: mutex, owner, reentrant, "
     "fenced, reentrant-fenced, lease, lease-exact, lease-refreshed, semaphore, tokens",
     0},
    {"failed-release", KEY_FAILED, "POLICY", 0,
     "what a failed release says: nothing (default), not-held, released", 0},
    {"refused-acquire", KEY_REFUSED, "POLICY", 0,
     "what a refused acquire says: nothing (default), held", 0},
    {"permits", KEY_PERMITS, "K", 0, "of a semaphore (default 1)", 0},
    {"depth", KEY_DEPTH, "N", 0, "how often an owner may hold at a time (default: any)", 0},
    {"ttl", KEY_TTL, "DURATION", 0, "of a lease, where the history promises no end", 0},
    {"drift", KEY_DRIFT, "DURATION", 0, "allowance of a lease, beside --ttl", 0},
    {"by-owner", KEY_BY_OWNER, NULL, 0, "tell holds apart by owner, also where there are values",
     0},
    {"memory", KEY_LIMIT, "MB", 0, "limit of the search; beyond it the verdict is unknown", 0},
    {"time", KEY_TIME, "DURATION", 0,
     "limit of the search of each history; beyond it the verdict is unknown", 0},
    {"skew", KEY_SKEW, "DURATION", 0,
     "how much the clocks of two processes may differ: times may go back by so much from one to "
     "another",
     0},
    {"map", KEY_MAP, "MAP", 0,
     "where a foreign history says what: a preset (docs/LINEARIZABLE.md), or name=path pairs", 0},
    {"linearization", KEY_ORDER, "FILE", 0, "write the legal order of a pass", 0},
    {"json", KEY_JSON, NULL, 0, "print one JSON object a verdict", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static bool parse_number(const char *word, uint64_t maximum, uint64_t *number)
{
    char *end;
    *number = strtoull(word, &end, 10);
    return end != word && *end == '\0' && word[0] != '-' && *number <= maximum;
}

static bool parse_time(const char *word, int64_t *ns)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    return !result_failed(duration_parse(word, ns, &why)) && *ns >= 0;
}

static bool check_value(int key, const char *arg, struct linear_options *linear)
{
    uint64_t number = 0;
    switch (key) {
    case KEY_FAILED:
        return linear_failed_release_find(arg, &linear->failed_release);
    case KEY_REFUSED:
        return linear_refused_acquire_find(arg, &linear->refused_acquire);
    case KEY_PERMITS:
        if (!parse_number(arg, LINEAR_PERMITS_MAX, &number) || number == 0) {
            return false;
        }
        linear->permits = (uint32_t)number;
        return true;
    case KEY_DEPTH:
        if (!parse_number(arg, UINT32_MAX, &number)) {
            return false;
        }
        linear->depth_max = (uint32_t)number;
        return true;
    case KEY_LIMIT:
        if (!parse_number(arg, 1 << 20, &number) || number == 0) {
            return false;
        }
        linear->bytes_max = number * MEBIBYTE;
        return true;
    case KEY_SKEW:
        return parse_time(arg, &linear->skew_ns);
    case KEY_TTL:
        return parse_time(arg, &linear->ttl_ns);
    case KEY_DRIFT:
        return parse_time(arg, &linear->drift_ns);
    default:
        return false;
    }
}

static error_t check_option(int key, char *arg, struct argp_state *state)
{
    struct check_options *options = state->input;
    switch (key) {
    case 'm':
        if (!linear_model_find(arg, &options->linear.model)) {
            options_refuse_value(state, key, arg);
        }
        options->model_given = true;
        return 0;
    case KEY_TIME:
        if (!parse_time(arg, &options->time_ns) || options->time_ns == 0) {
            options_refuse_value(state, key, arg);
        }
        return 0;
    case KEY_BY_OWNER:
        options->linear.by_owner = true;
        return 0;
    case KEY_ORDER:
        options->linearization = arg;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_MAP:
        options->map_text = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->path_count == CHECK_PATHS_MAX) {
            options_refuse(state, "more than %d histories", (int)CHECK_PATHS_MAX);
        }
        options->paths[options->path_count++] = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        options_refuse(state,
                       "which history? A file, the folder of a run, or - for standard input");
        return EINVAL;
    case ARGP_KEY_END:
        if (options->model_given && options->linear.model == LINEAR_LEASE_EXACT &&
            options->linear.ttl_ns == 0) {
            options_refuse(state, "lease-exact needs --ttl: when does the server end a grant?");
        }
        return 0;
    default:
        break;
    }
    if (key < KEY_FAILED || key > KEY_JSON) {
        return ARGP_ERR_UNKNOWN;
    }
    if (!check_value(key, arg, &options->linear)) {
        options_refuse_value(state, key, arg);
    }
    return 0;
}

const struct argp check_argp = {
    check_option_table,
    check_option,
    "HISTORY...",
    "Judge histories recorded anywhere: picklock's JSON lines, Jepsen's EDN and JSON, each also "
    "compressed (.zst). Without --model every check is asked that the history has something for.",
    NULL,
    NULL,
    NULL};

/* One verdict. */
struct check_said {
    const char *path;
    const char *name;
    enum verdict verdict;
    const char *details;                /* has lines of its own */
    const struct check_result *result;  /* NULL: a model's */
    const struct evidence *evidence;    /* of a fail, or NULL */
    const struct linear_report *linear; /* a model's, or NULL */
};

/* A line for people, or an object. */
static void check_say(const struct check_options *options, const struct check_said *said)
{
    static char memory[2 * CHECK_TEXT_BYTES];
    if (!options->json) {
        foreign_print_line(stdout, options->shown);
        printf(": %-18s %s\n", said->name, verdict_name(said->verdict));
        for (const char *line = said->details; *line != '\0';) {
            size_t bytes = strcspn(line, "\n");
            printf("    ");
            foreign_print(stdout, line, bytes);
            printf("\n");
            line += bytes + (line[bytes] == '\n');
        }
        return;
    }
    struct text text = text_over(memory, sizeof memory);
    text_add(&text, "{\"schema\":1,\"type\":\"verdict\",\"path\":");
    text_add_json(&text, options->shown);
    text_add(&text, ",\"check\":\"%s\",\"verdict\":\"%s\",\"why\":", said->name,
             verdict_name(said->verdict));
    text_add_json(&text, said->details);
    if (said->result != NULL) {
        text_add(&text, ",\"judged\":%" PRIu64 ",\"violations\":%" PRIu64, said->result->judged,
                 said->result->violations);
    }
    if (said->evidence != NULL) {
        evidence_json(said->evidence, &text);
    }
    if (said->linear != NULL) {
        linear_report_json(said->linear, &text);
    }
    printf("%s}\n", text.data);
}

static struct result check_linear(const struct check_options *options, const char *path,
                                  enum verdict *worst, struct text *why)
{
    static char memory[CHECK_TEXT_BYTES];
    struct linear_report report;
    struct text text = text_over(memory, sizeof memory);
    TRY(linear_check_file(path, &options->reading, &options->linear, &report, why));
    linear_report_print(&report, &text);
    enum verdict verdict = (enum verdict)report.result.verdict;
    struct check_said said = {
        .path = path,
        .name = linear_model_name((enum linear_model)options->linear.model),
        .verdict = verdict,
        .details = text.data,
        .linear = &report,
    };
    check_say(options, &said);
    *worst = verdict_worse(*worst, verdict);
    if (options->linearization != NULL && verdict == VERDICT_PASS) {
        return linear_order_file(path, &options->reading, &options->linear, options->linearization,
                                 why);
    }
    return RESULT_OK;
}

/* What a history says of itself. */
struct check_facts {
    bool leases;  /* grants promise an end */
    bool foreign; /* no run of ours recorded it */
};

/* Feed a history to every check, one event at a time. */
static struct result check_stream(const struct history_reader_options *reading, const char *path,
                                  void **judge, struct check_facts *facts, struct text *why)
{
    struct history_reader *reader;
    TRY(history_reader_open(path, reading, &reader, why));
    const struct history_header *header = history_reader_header(reader);
    struct result result = RESULT_OK;
    bool promised = header->promises_validity;
    *judge = memory_resize(NULL, judge_bytes(header, JUDGE_ALL));
    if (*judge == NULL) {
        text_add(why, "out of memory for the checks");
        result = result_error(ERROR_IO);
    } else {
        (void)judge_init(*judge, header, JUDGE_ALL);
    }
    for (bool more = true; more && !result_failed(result);) {
        struct history_event event;
        result = history_reader_next(reader, &event, &more, why);
        if (more && !result_failed(result)) {
            judge_event(*judge, &event);
            promised = promised || (event.flags & HISTORY_HAS_UNTIL) != 0;
        }
    }
    *facts = (struct check_facts){.leases = promised, .foreign = header->world[0] == '\0'};
    history_reader_close(reader);
    if (!result_failed(result)) {
        judge_finish(*judge);
    }
    return result;
}

/* A history that is judged by every check. */
struct check_view {
    struct loaded loaded; /* read again, whole, when there is something to tell; else empty */
    void *judge;
    struct check_facts facts;
    struct stories stories; /* of what failed */
};

/* What these checks follow is a run; a foreign history is judged by its model, all of it. */
static bool beyond_limits(const struct check_view *view, const struct check_result *found)
{
    return view->facts.foreign && found->reason == CHECK_REASON_LIMIT;
}

/* It knows what a run's releases mean; in a foreign history the model and policies count. */
static bool left_to_the_model(const struct check_view *view, size_t check)
{
    return view->facts.foreign && strcmp(check_at(check)->name, "linearizable") == 0;
}

/* Read the history whole if a verdict needs words, and tell what failed. */
static struct result check_explain(const struct check_options *options, const char *path,
                                   struct check_view *view, struct text *why)
{
    const struct check_result *results[CHECK_RESULTS_MAX];
    bool tells = false;
    ASSERT(check_count() <= CHECK_RESULTS_MAX);
    for (size_t i = 0; i < check_count(); i++) {
        results[i] = judge_result(view->judge, i);
        bool told = results[i]->verdict == VERDICT_FAIL || results[i]->verdict == VERDICT_UNKNOWN;
        tells = tells || (told && !beyond_limits(view, results[i]) && !left_to_the_model(view, i));
        if (left_to_the_model(view, i)) {
            results[i] = &check_nothing_found;
        }
    }
    if (!tells) {
        return RESULT_OK;
    }
    TRY(loaded_read(path, &options->reading, &view->loaded, why));
    struct explain_history history = loaded_history(&view->loaded);
    stories_tell(&history, results, &view->stories);
    return RESULT_OK;
}

static void check_tell(const struct check_options *options, const char *path,
                       const struct check_view *view, size_t check)
{
    static char memory[CHECK_TEXT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    const struct check_result *found = judge_result(view->judge, check);
    struct evidence evidence;
    if (found->verdict == VERDICT_FAIL || found->verdict == VERDICT_UNKNOWN) {
        struct explain_history history = loaded_history(&view->loaded);
        explain_headline(&history, check_at(check), found, &text);
    } else if (found->verdict == VERDICT_SKIPPED) {
        check_print_skipped(check_at(check), found->inapplicable, &text);
    }
    evidence_take(&view->stories, check, found, &evidence);
    struct check_said said = {
        .path = path,
        .name = check_at(check)->name,
        .verdict = (enum verdict)found->verdict,
        .details = text.data,
        .result = found,
        .evidence = found->verdict == VERDICT_FAIL ? &evidence : NULL,
    };
    if (found->verdict != VERDICT_SKIPPED || options->json) { /* what to read first */
        check_say(options, &said);
    }
}

static void check_tell_causes(const struct check_options *options, const char *path,
                              const struct stories *stories)
{
    static char memory[4096];
    struct evidence_cause causes[EVIDENCE_CAUSES_MAX];
    uint32_t count = evidence_take_causes(stories, causes);
    for (uint32_t i = 0; options->json && i < count; i++) {
        struct text text = text_over(memory, sizeof memory);
        text_add(&text, "{\"schema\":1,\"type\":\"cause\",\"path\":");
        text_add_json(&text, path);
        text_add(&text, ",");
        evidence_cause_json(&causes[i], i + 1, &text);
        printf("%s}\n", text.data);
    }
}

/* Every check; and what kind of lock the history itself speaks of. */
static struct result check_all(struct check_options *options, const char *path, enum verdict *worst,
                               struct text *why)
{
    static struct check_view view;
    bool limits = false;
    memset(&view, 0, sizeof view);
    struct result result = check_stream(&options->reading, path, &view.judge, &view.facts, why);
    if (!result_failed(result)) {
        result = check_explain(options, path, &view, why);
    }
    for (size_t i = 0; i < check_count() && !result_failed(result); i++) {
        const struct check_result *found = judge_result(view.judge, i);
        limits = limits || beyond_limits(&view, found);
        if (!beyond_limits(&view, found) && !left_to_the_model(&view, i)) {
            *worst = verdict_worse(*worst, (enum verdict)found->verdict);
            check_tell(options, path, &view, i);
        }
    }
    check_tell_causes(options, path, &view.stories);
    if (limits && !result_failed(result)) {
        foreign_print_line(stderr, options->shown);
        fprintf(stderr, ": more clients or locks than the checks of a run follow (docs/CHECKS.md, "
                        "Limits): judged as a lock of a model only\n");
    }
    options->linear.model = view.facts.leases ? LINEAR_LEASE : LINEAR_OWNER;
    loaded_release(&view.loaded);
    memory_release(view.judge);
    return result;
}

static bool check_time_is_up(void *context)
{
    const struct check_options *options = context;
    return monotonic_ns() > options->until_ns;
}

static struct result check_one(struct check_options *options, const char *argument,
                               enum verdict *worst, struct text *why)
{
    char memory[FILES_PATH_BYTES];
    struct text path = text_over(memory, sizeof memory);
    options->until_ns = options->time_ns == 0 ? INT64_MAX : monotonic_ns() + options->time_ns;
    if (strcmp(argument, "-") == 0) {
        TRY(spool_standard_input(&path, why));
    } else if (spool_needed(argument)) {
        TRY(spool_pipe(argument, &path, why));
    } else {
        history_path(argument, &path);
    }
    bool spooled = strncmp(path.data, "/proc/self/fd/", 14) == 0;
    options->shown = spooled ? argument : path.data;
    options->met = (struct history_met){0};
    if (options->map_text == NULL) {
        options->reading.map = maps_assume(path.data, options->shown, &options->map);
    }
    struct result result =
        options->model_given ? RESULT_OK : check_all(options, path.data, worst, why);
    if (!result_failed(result)) {
        result = check_linear(options, path.data, worst, why);
    }
    TRY(spool_told(result, path.data, options->shown, why));
    maps_warn_of_unmet(&options->map, &options->met, options->shown);
    return RESULT_OK;
}

int command_check(int argc, char **argv)
{
    static struct check_options options;
    enum verdict worst = VERDICT_SKIPPED;
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    options.linear = linear_options_default(LINEAR_OWNER);
    options.map = history_map_default();
    command_parse(&check_argp, argc, argv, &options);
    options.linear.order = options.linearization != NULL;
    if (options.map_text != NULL) {
        struct result result = history_map_parse(options.map_text, &options.map, &why);
        if (result_failed(result)) {
            return command_fail(result, &why);
        }
        options.reading.map = &options.map;
    }
    options.reading.met = &options.met;
    options.reading.skew_ns = options.linear.skew_ns;
    options.linear.stop = options.time_ns > 0 ? check_time_is_up : NULL;
    options.linear.stop_context = &options;
    int refused = EXIT_MET; /* by the first history that cannot be read; the others are judged */
    for (size_t i = 0; i < options.path_count; i++) {
        struct text sentence = text_over(memory, sizeof memory);
        struct result result = check_one(&options, options.paths[i], &worst, &sentence);
        int code = result_failed(result) ? command_fail(result, &sentence) : EXIT_MET;
        refused = refused == EXIT_MET ? code : refused;
    }
    if (worst != VERDICT_FAIL && refused != EXIT_MET) {
        return refused;
    }
    return worst == VERDICT_FAIL ? EXIT_VIOLATION : worst == VERDICT_PASS ? EXIT_MET : EXIT_UNKNOWN;
}
