/* lint.c: `picklock lint`: checks scenario files without running them. */
#include "cli/command.h"
#include "cli/each.h"

#include "base/duration.h"
#include "base/foreign.h"

#include <stdio.h>
#include <string.h>

struct lint_options {
    struct scenario_paths paths;
    bool canonical;
};

static const struct argp_option lint_option_table[] = {
    {"print", 'p', NULL, 0, "print each scenario in its canonical form", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t lint_option(int key, char *arg, struct argp_state *state)
{
    struct lint_options *options = state->input;
    if (key == 'p') {
        options->canonical = true;
        return 0;
    }
    return scenario_paths_option(&options->paths, key, arg, state);
}

const struct argp lint_argp = {
    lint_option_table,
    lint_option,
    "[FILE or FOLDER]...",
    "Check scenario files and list every problem of each, with its place.",
    NULL,
    NULL,
    NULL};

static bool expects_fail(const struct scenario *scenario)
{
    for (size_t i = 0; i < scenario->expect_count; i++) {
        if (strcmp(scenario->expects[i].verdict, "fail") == 0) {
            return true;
        }
    }
    return false;
}

enum {
    STALL_NS = 100 * NS_PER_MS, /* what `--stress` puts a step off by, when it is not told */
    MEETING_NS = 3 * STALL_NS,
    MARGIN_NS = 5 * STALL_NS,
};

static void warn(const struct scenario *scenario, const struct fault *fault, const struct text *why)
{
    foreign_print_line(stderr, scenario->path);
    fprintf(stderr,
            ":%u:%u: warning: %s; `picklock run FILE --stress --seeds 1..1000` shows what hangs on "
            "it\n",
            fault->line, fault->column, why->data);
}

/* Where a client is by the clock's time is luck. */
static void lint_time(const struct scenario *scenario, const struct fault *fault, struct text *why)
{
    (void)scenario;
    if (fault->start.kind == TRIGGER_TIME && fault->start.at_ns > 0) {
        text_add(why, "this %s begins at ", fault_kind_name((enum fault_kind)fault->kind));
        duration_print(fault->start.at_ns, why);
        text_add(why, ", and a check is expected to fail: where the clients are by then is luck. "
                      "Let it begin `on` what a client does, or so long `after` that");
    }
}

static bool strikes_client(const struct fault *fault, int32_t client)
{
    return fault->client_first <= client && client <= fault->client_last;
}

/* Whether something keeps the client where it is, or slows all that it does. */
static bool is_kept(const struct scenario *scenario, int32_t client)
{
    for (size_t k = 0; k < scenario->fault_count; k++) {
        const struct fault *fault = &scenario->faults[k];
        bool keeps = fault->kind == FAULT_PAUSE || fault->kind == FAULT_KILL ||
                     fault->kind == FAULT_SLOW || fault->kind == FAULT_CLOCK_RATE;
        if (keeps && strikes_client(fault, client)) {
            return true;
        }
    }
    return false;
}

/* One waits until another is inside, and nothing keeps that one there until it has asked. */
static void lint_meeting(const struct scenario *scenario, const struct fault *fault,
                         struct text *why)
{
    const struct trigger *until = &fault->until;
    bool inside = until->kind == TRIGGER_PROBE && until->client >= 0 &&
                  until->point >= PROBE_AFTER_GRANTED && until->point <= PROBE_BEFORE_RELEASE;
    if (fault->kind != FAULT_PAUSE || !inside || strikes_client(fault, until->client) ||
        scenario->hold_ns >= MEETING_NS || is_kept(scenario, until->client)) {
        return;
    }
    text_add(why,
             "what waits here goes on when client %d stands %s, and nothing keeps that one in "
             "its section of ",
             until->client + 1, probe_point_name((enum probe_point)until->point));
    duration_print(scenario->hold_ns, why);
    text_add(why,
             ": whether they meet is luck, and a check is expected to fail. Let client %d "
             "wait, too: `{on: client %d before_release, do: pause, until: ...}`",
             until->client + 1, until->client + 1);
}

/* A pause outlasts the ttl by next to nothing: another has only that to be granted the lock. */
static void lint_margin(const struct scenario *scenario, const struct fault *fault,
                        struct text *why)
{
    int64_t margin_ns = fault->for_ns - scenario->lock.ttl_ns;
    if (fault->kind != FAULT_PAUSE || fault->client_first < 0 ||
        fault->until.kind != TRIGGER_NEVER || fault->start.kind != TRIGGER_PROBE ||
        margin_ns <= 0 || margin_ns >= MARGIN_NS) {
        return;
    }
    text_add(why, "this pause outlasts the ttl by ");
    duration_print(margin_ns, why);
    text_add(why, ", and a check is expected to fail: on a busy machine that is not enough for "
                  "another to be granted the lock. Let it last `until` the other has done so");
}

/* A fail that faults are to bring about must not hang on how fast anything is. */
static void lint_races(const struct scenario *scenario)
{
    static void (*const races[])(const struct scenario *, const struct fault *,
                                 struct text *) = {lint_time, lint_meeting, lint_margin};
    for (size_t k = 0; expects_fail(scenario) && k < scenario->fault_count; k++) {
        for (size_t i = 0; i < sizeof races / sizeof races[0]; i++) {
            char memory[WHY_BYTES];
            struct text why = text_over(memory, sizeof memory);
            races[i](scenario, &scenario->faults[k], &why);
            if (why.length > 0) {
                warn(scenario, &scenario->faults[k], &why);
            }
        }
    }
}

static void lint_print(const struct scenario *scenario, size_t i, const void *options,
                       struct text *text)
{
    const struct lint_options *lint = options;
    lint_races(scenario);
    if (!lint->canonical) {
        text_add(text, "ok    ");
        text_add_foreign(text, scenario->path, strlen(scenario->path));
        text_add(text, "\n");
        return;
    }
    text_add(text, "%s", i > 0 ? "---\n" : "");
    scenario_print(scenario, text);
}

int command_lint(int argc, char **argv)
{
    static struct lint_options options;
    command_parse(&lint_argp, argc, argv, &options);
    return each_scenario(&options.paths, lint_print, &options);
}
