/* replay.c: `picklock replay`: runs a stored failure again, byte for byte. */
#include "base/foreign.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/recording.h"

#include "base/version.h"
#include "cli/replay.h"
#include "harness/sim/bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { REPLAY_ARENA_BYTES = 256 << 20, REPLAY_TEXT_BYTES = 64 * 1024 };

struct replay_options {
    const char *path;
    const char *history;
};

static const struct argp_option replay_option_table[] = {
    {"history", 'H', "FILE", 0, "write the history (.jsonl, .jsonl.zst)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t replay_option(int key, char *arg, struct argp_state *state)
{
    struct replay_options *options = state->input;
    switch (key) {
    case 'H':
        options->history = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->path != NULL) {
            argp_error(state, "one bundle at a time");
        }
        options->path = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which bundle? A file, or the folder of a kept run");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp replay_argp = {
    replay_option_table,
    replay_option,
    "BUNDLE or FOLDER",
    "Run a stored failure again in the simulator: the same history, byte for byte, and the same "
    "verdict. Where picklock has changed since, it says where the two runs part, and goes on. The "
    "exit code is that of the verdict: 1 if the violation is still there.",
    NULL,
    NULL,
    NULL};

/* "exclusion fail library", a line for each check that judged something. */
static void print_verdicts(const struct recording *recording, struct text *text)
{
    for (size_t i = 0; i < check_count(); i++) {
        const struct check_result *result = recording_result(recording, i);
        if (result->verdict != VERDICT_SKIPPED) { /* a bundle tells what was judged */
            text_add(text, "%s %s %s\n", check_at(i)->name,
                     verdict_name((enum verdict)result->verdict),
                     blame_name((enum blame)result->blame));
        }
    }
}

static struct result replay_judge(const struct bundle *bundle, struct recording *recording,
                                  struct trace *now, struct text *why)
{
    struct history_header header;
    plan_header(&bundle->plan, "sim", &header);
    struct text library = text_over(header.library, sizeof header.library);
    text_add(&library, "lockcore %s", PICKLOCK_VERSION);
    TRY(bundle_replay(bundle, recording_recorder(recording), now, why));
    return recording_judge(recording, &header, why);
}

struct result replay_store(const struct plan *plan, const struct recording *recording,
                           const char *path, struct text *why)
{
    static struct bundle bundle;
    memset(&bundle, 0, sizeof bundle);
    bundle.plan = *plan;
    bundle.seed = plan->seed;
    struct text verdict = text_over(bundle.verdict, sizeof bundle.verdict);
    print_verdicts(recording, &verdict);
    TRY(bundle_replay(&bundle, NULL, &bundle.trace, why));
    return bundle_write(path, &bundle, why);
}

/* What was seen now, beside what the bundle says was seen then. */
static int replay_tell(const struct bundle *bundle, const struct recording *recording,
                       const struct trace *now)
{
    static char memory[REPLAY_TEXT_BYTES];
    char where_memory[WHY_BYTES];
    struct text where = text_over(where_memory, sizeof where_memory);
    struct text verdicts = text_over(memory, sizeof memory);
    bool same = trace_equal(&bundle->trace, now, &where);
    print_verdicts(recording, &verdicts);
    foreign_print(stdout, bundle->scenario, strlen(bundle->scenario));
    printf(", seed %" PRIu64 ": %s\n", bundle->seed,
           same ? "the same history as recorded" : where.data);
    printf("%s\n", strcmp(verdicts.data, bundle->verdict) == 0
                       ? "the same verdict as recorded"
                       : "another verdict than recorded; it was:");
    if (strcmp(verdicts.data, bundle->verdict) != 0) {
        foreign_print(stdout, bundle->verdict, strlen(bundle->verdict));
        printf("now:\n");
    }
    printf("%s", verdicts.data);
    enum verdict worst = VERDICT_SKIPPED;
    struct explain_history history = recording_history(recording);
    for (size_t i = 0; i < check_count(); i++) {
        const struct check_result *result = recording_result(recording, i);
        worst = verdict_worse(worst, (enum verdict)result->verdict);
        if (result->verdict == VERDICT_FAIL) {
            text_clear(&verdicts);
            explain_headline(&history, check_at(i), result, &verdicts);
            printf("%s\n", verdicts.data);
        }
    }
    return worst == VERDICT_FAIL ? EXIT_VIOLATION : worst == VERDICT_PASS ? EXIT_MET : EXIT_UNKNOWN;
}

int command_replay(int argc, char **argv)
{
    static struct bundle bundle;
    struct replay_options options = {0};
    struct trace now;
    struct stat info;
    char path[FILES_PATH_BYTES];
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct arena arena = arena_empty(REPLAY_ARENA_BYTES);
    struct recording *recording = recording_open(false);
    command_parse(&replay_argp, argc, argv, &options);
    bool folder = stat(options.path, &info) == 0 && S_ISDIR(info.st_mode);
    (void)snprintf(path, sizeof path, "%s%s", options.path, folder ? "/run.bundle" : "");
    struct result result = bundle_read(path, &arena, &bundle, &why);
    arena_release(&arena);
    if (!result_failed(result)) {
        result = replay_judge(&bundle, recording, &now, &why);
    }
    if (!result_failed(result) && options.history != NULL) {
        result = recording_write(recording, options.history, &why);
    }
    int code =
        result_failed(result) ? command_fail(result, &why) : replay_tell(&bundle, recording, &now);
    recording_close(recording);
    return code;
}
