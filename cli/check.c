/* check.c: `picklock check`: judges histories recorded anywhere. */
#include "base/foreign.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/loaded.h"
#include "cli/spool.h"

#include "base/arena.h"
#include "base/duration.h"
#include "checker/judge.h"
#include "checker/linear/file.h"
#include "history/foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_PATHS_MAX = 4096, CHECK_TEXT_BYTES = 16 * 1024 };

struct check_options {
    char *paths[CHECK_PATHS_MAX];
    size_t path_count;
    bool model_given;
    bool json;
    const char *linearization;
    const char *map_text;
    struct history_map map;
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
    KEY_ORDER,
    KEY_MAP,
    KEY_JSON,
};

static const struct argp_option check_option_table[] = {
    {"model", 'm', "MODEL", 0,
     "ask only whether the history is linearizable as this kind of lock: mutex, owner, reentrant, "
     "fenced, reentrant-fenced, lease, lease-exact, semaphore",
     0},
    {"failed-release", KEY_FAILED, "POLICY", 0,
     "what a failed release says: nothing (default), not-held, released", 0},
    {"refused-acquire", KEY_REFUSED, "POLICY", 0,
     "what a refused acquire says: nothing (default), held", 0},
    {"permits", KEY_PERMITS, "K", 0, "of a semaphore (default 1)", 0},
    {"depth", KEY_DEPTH, "N", 0, "how often an owner may acquire again (default: any)", 0},
    {"ttl", KEY_TTL, "DURATION", 0, "of a lease, where the history promises no end", 0},
    {"drift", KEY_DRIFT, "DURATION", 0, "allowance of a lease, beside --ttl", 0},
    {"by-owner", KEY_BY_OWNER, NULL, 0, "tell holds apart by owner, also where there are values",
     0},
    {"memory", KEY_LIMIT, "MB", 0, "limit of the search; beyond it the verdict is unknown", 0},
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
            argp_error(state, "\"%s\" is no model; --help names them", arg);
        }
        options->model_given = true;
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
            argp_error(state, "more than %d histories", (int)CHECK_PATHS_MAX);
        }
        options->paths[options->path_count++] = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which history? A file, the folder of a run, or - for standard input");
        return EINVAL;
    default:
        break;
    }
    if (key < KEY_FAILED || key > KEY_JSON) {
        return ARGP_ERR_UNKNOWN;
    }
    if (!check_value(key, arg, &options->linear)) {
        argp_error(state, "\"%s\" is not a value of this option; see --help", arg);
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

/* One verdict: a line for people, or an object. `details` has lines of its own. */
static void check_say(const struct check_options *options, const char *path, const char *name,
                      enum verdict verdict, const char *details)
{
    static char memory[2 * CHECK_TEXT_BYTES];
    if (!options->json) {
        printf("%s: %-18s %s\n", path, name, verdict_name(verdict));
        for (const char *line = details; *line != '\0';) {
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
    text_add_json(&text, path);
    text_add(&text, ",\"check\":\"%s\",\"verdict\":\"%s\",\"why\":", name, verdict_name(verdict));
    text_add_json(&text, details);
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
    check_say(options, path, linear_model_name((enum linear_model)options->linear.model), verdict,
              text.data);
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

/* Every check; and what kind of lock the history itself speaks of. */
static struct result check_all(struct check_options *options, const char *path, enum verdict *worst,
                               struct text *why)
{
    static char memory[CHECK_TEXT_BYTES];
    struct loaded loaded = {0};
    void *judge = NULL;
    bool beyond_limits = false;
    struct check_facts facts = {0};
    struct result result = check_stream(&options->reading, path, &judge, &facts, why);
    for (size_t i = 0; i < check_count() && !result_failed(result); i++) {
        const struct check_result *found = judge_result(judge, i);
        struct text text = text_over(memory, sizeof memory);
        if (facts.foreign && found->reason == CHECK_REASON_LIMIT) {
            beyond_limits = true; /* these checks follow a run; the model judges all of it */
            continue;
        }
        if (facts.foreign && strcmp(check_at(i)->name, "linearizable") == 0) {
            continue; /* it knows what a run's releases mean; here the model and policies count */
        }
        *worst = verdict_worse(*worst, (enum verdict)found->verdict);
        if (found->verdict == VERDICT_FAIL || found->verdict == VERDICT_UNKNOWN) {
            if (loaded.events == NULL) {
                result = loaded_read(path, &options->reading, &loaded, why);
            }
            if (!result_failed(result)) {
                struct explain_history history = loaded_history(&loaded);
                explain_headline(&history, check_at(i), found, &text);
            }
        }
        if (found->verdict == VERDICT_SKIPPED) {
            check_print_skipped(check_at(i), found->inapplicable, &text);
        }
        bool tells = found->verdict != VERDICT_SKIPPED || options->json; /* what to read first */
        if (tells && !result_failed(result)) {
            check_say(options, path, check_at(i)->name, (enum verdict)found->verdict, text.data);
        }
    }
    if (beyond_limits && !result_failed(result)) {
        fprintf(stderr,
                "%s: more clients or locks than the checks of a run follow (docs/CHECKS.md, "
                "Limits): judged as a lock of a model only\n",
                path);
    }
    options->linear.model = facts.leases ? LINEAR_LEASE : LINEAR_OWNER;
    loaded_release(&loaded);
    memory_release(judge);
    return result;
}

static struct result check_one(struct check_options *options, const char *argument,
                               enum verdict *worst, struct text *why)
{
    char memory[FILES_PATH_BYTES];
    struct text path = text_over(memory, sizeof memory);
    if (strcmp(argument, "-") == 0) {
        TRY(spool_standard_input(&path, why));
    } else {
        history_path(argument, &path);
    }
    if (!options->model_given) {
        TRY(check_all(options, path.data, worst, why));
    }
    return check_linear(options, path.data, worst, why);
}

int command_check(int argc, char **argv)
{
    static struct check_options options;
    enum verdict worst = VERDICT_SKIPPED;
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    options.linear = linear_options_default(LINEAR_OWNER);
    command_parse(&check_argp, argc, argv, &options);
    options.linear.order = options.linearization != NULL;
    if (options.map_text != NULL) {
        struct result result = history_map_parse(options.map_text, &options.map, &why);
        if (result_failed(result)) {
            return command_fail(result, &why);
        }
        options.reading.map = &options.map;
    }
    for (size_t i = 0; i < options.path_count; i++) {
        struct result result = check_one(&options, options.paths[i], &worst, &why);
        if (result_failed(result)) {
            return command_fail(result, &why);
        }
    }
    return worst == VERDICT_FAIL ? EXIT_VIOLATION : worst == VERDICT_PASS ? EXIT_MET : EXIT_UNKNOWN;
}
