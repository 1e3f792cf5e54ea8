/* replay.c: `picklock replay`: runs a stored failure again, byte for byte. */
#include "base/foreign.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/recording.h"
#include "cli/results.h"

#include "base/version.h"
#include "cli/crate.h"
#include "cli/options.h"
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
            options_refuse(state, "one bundle at a time");
        }
        options->path = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        options_refuse(state, "which bundle? A file, or the folder of a kept run");
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
    "verdict. A run of the real world that `picklock bundle` packed is judged again. Where "
    "picklock has changed since, it says where the two runs part, and goes on. The "
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

/* A run of the real world cannot be had again byte for byte: what it recorded is judged again. */
static int replay_history(const char *folder, struct text *why)
{
    static char memory[REPLAY_TEXT_BYTES];
    static char told[REPLAY_TEXT_BYTES];
    static const struct history_reader_options reading;
    char path[2 * FILES_PATH_BYTES];
    struct loaded loaded;
    struct text verdicts = text_over(memory, sizeof memory);
    (void)snprintf(path, sizeof path, "%s/history.jsonl", folder);
    struct result result = loaded_read(path, &reading, &loaded, why);
    if (result_failed(result)) {
        return command_fail(result, why);
    }
    (void)snprintf(path, sizeof path, "%s/verdict", folder);
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(told, 1, sizeof told - 1, file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    told[length] = '\0';
    crate_verdicts(&loaded, &verdicts);
    foreign_print(stdout, loaded.header.scenario, strlen(loaded.header.scenario));
    printf(", seed %" PRIu64 ", a run of the real world, judged again\n", loaded.header.seed);
    bool same = strcmp(told, verdicts.data) == 0;
    printf("%s\n",
           same ? "the same verdict as recorded" : "another verdict than recorded; it was:");
    if (!same) {
        foreign_print(stdout, told, length);
        printf("now:\n");
    }
    printf("%s", verdicts.data);
    enum verdict worst = VERDICT_SKIPPED;
    for (size_t i = 0; i < check_count(); i++) {
        worst = verdict_worse(worst, (enum verdict)loaded_result(&loaded, i)->verdict);
    }
    loaded_release(&loaded);
    return worst == VERDICT_FAIL ? EXIT_VIOLATION : worst == VERDICT_PASS ? EXIT_MET : EXIT_UNKNOWN;
}

static int replay_path(const struct replay_options *options, const char *given, struct text *why)
{
    static struct bundle bundle;
    struct trace now;
    struct stat info;
    char path[2 * FILES_PATH_BYTES];
    struct arena arena = arena_empty(REPLAY_ARENA_BYTES);
    bool folder = stat(given, &info) == 0 && S_ISDIR(info.st_mode);
    (void)snprintf(path, sizeof path, "%s%s", given, folder ? "/run.bundle" : "");
    if (folder && stat(path, &info) != 0) {
        return replay_history(given, why);
    }
    struct recording *recording = recording_open(false);
    struct result result = bundle_read(path, &arena, &bundle, why);
    arena_release(&arena);
    if (!result_failed(result)) {
        result = replay_judge(&bundle, recording, &now, why);
    }
    if (!result_failed(result) && options->history != NULL) {
        result = recording_write(recording, options->history, why);
    }
    int code =
        result_failed(result) ? command_fail(result, why) : replay_tell(&bundle, recording, &now);
    recording_close(recording);
    return code;
}

/* One file of `picklock bundle`. */
static int replay_pack(const struct replay_options *options, struct text *why)
{
    char folder[FILES_PATH_BYTES];
    struct result opened = crate_open(options->path, folder, why);
    if (result_failed(opened)) {
        return command_fail(opened, why);
    }
    int code = replay_path(options, folder, why);
    (void)results_remove(folder);
    return code;
}

int command_replay(int argc, char **argv)
{
    struct replay_options options = {0};
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    command_parse(&replay_argp, argc, argv, &options);
    size_t length = strlen(options.path);
    bool packed = length > 8 && strcmp(options.path + length - 8, ".tar.zst") == 0;
    return packed ? replay_pack(&options, &why) : replay_path(&options, options.path, &why);
}
