/* merge.c: `picklock merge`: puts the results of shards together, as if one picklock had done it
 * all. */
#include "base/foreign.h"
#include "cli/batch_page.h"
#include "cli/command.h"
#include "cli/merge_keep.h"
#include "cli/report_json.h"
#include "cli/words.h"

#include "base/assert.h"
#include "cli/options.h"
#include "cli/results.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MERGE_PATHS_MAX = SHARDS_MAX };

#define MERGE_ARENA_BYTES (UINT64_C(8) << 30) /* touched as far as it is used */

struct merge_options {
    char *paths[MERGE_PATHS_MAX];
    size_t path_count;
    const char *out;
    bool json;
    bool timing;
    bool partial;
    bool quiet;
    bool keep;
};

enum { KEY_JSON = 1000, KEY_TIMING, KEY_PARTIAL, KEY_OUT, KEY_KEEP };

static const struct argp_option merge_option_table[] = {
    {"json", KEY_JSON, NULL, 0, "print one JSON object a run on stdout", 0},
    {"timing", KEY_TIMING, NULL, 0, "tell how long each run took, where a shard knows it", 0},
    {"partial", KEY_PARTIAL, NULL, 0,
     "go on without the shards that are missing or cut; exit code "
     "2 at least",
     0},
    {"out", KEY_OUT, "DIR", 0,
     "folder for the shortest run of each kind (default $PICKLOCK_OUT, or picklock-out)", 0},
    {"keep", KEY_KEEP, "WHEN", 0, "keep it: on-failure (default), always or never", 0},
    {"quiet", 'q', NULL, 0, "print only what is not as expected, and the table", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t merge_argument(struct merge_options *options, char *arg, struct argp_state *state)
{
    if (options->path_count == MERGE_PATHS_MAX) {
        options_refuse(state, "more than %d shards", (int)MERGE_PATHS_MAX);
    }
    options->paths[options->path_count++] = arg;
    return 0;
}

static error_t merge_option(int key, char *arg, struct argp_state *state)
{
    struct merge_options *options = state->input;
    switch (key) {
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_TIMING:
        options->timing = true;
        return 0;
    case KEY_PARTIAL:
        options->partial = true;
        return 0;
    case KEY_OUT:
        options->out = arg;
        return 0;
    case KEY_KEEP:
        if (words_index("keep", arg) < 0) {
            options_refuse_value(state, key, arg);
        }
        options->keep = words_index("keep", arg) != KEEP_NEVER;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        return merge_argument(options, arg, state);
    case ARGP_KEY_NO_ARGS:
        options_refuse(state,
                       "which shards? The folders or files that `picklock run --shard` left");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp merge_argp = {
    merge_option_table,
    merge_option,
    "DIR or FILE...",
    "Put together what the shards of a search left (`picklock run --shard K/N`), as if one "
    "picklock had done it all: each run once, the same lines, the same exit code. A shard that is "
    "missing, cut or changed is named, with exit code 3; shards of another version of picklock are "
    "refused.",
    NULL,
    NULL,
    NULL};

struct merging {
    const struct merge_options *options;
    struct arena *arena;
    struct merge_scenarios scenarios;
    struct merge_shards shards;
    size_t room;   /* of shards.list */
    size_t broken; /* shards that cannot be used */
    struct report report;
    struct report_group *groups;
    size_t group_count;
    size_t disagreements;
    struct result result; /* the first trouble while telling */
    struct text *why;
    struct tally *tally; /* for the page of the batch; NULL: there is none */
};

/* Read one shard. One that is cut is told, and left out; all else is an error. */
static struct result merging_file(struct merging *merging, const char *folder, const char *name,
                                  struct text *why)
{
    char path[FILES_PATH_BYTES];
    char memory[2 * WHY_BYTES];
    struct text problem = text_over(memory, sizeof memory);
    (void)snprintf(path, sizeof path, "%.4000s%s%.90s", folder, name[0] != '\0' ? "/" : "", name);
    if (merging->shards.count == merging->room) {
        text_add(why, "more than %zu shards", merging->room);
        return result_error(ERROR_LIMIT);
    }
    struct merge_shard *shard = &merging->shards.list[merging->shards.count];
    const char *kept = arena_copy_text(merging->arena, path, strlen(path));
    if (kept == NULL) {
        text_add(why, "out of memory");
        return result_error(ERROR_IO);
    }
    struct result result = merge_read(kept, merging->arena, &merging->scenarios, shard, &problem);
    if (result.code == ERROR_ENVIRONMENT) {
        fprintf(stderr, "picklock: ");
        foreign_print_line(stderr, problem.data);
        fprintf(stderr, "\n");
        merging->broken++;
        return RESULT_OK;
    }
    if (result_failed(result)) {
        text_add(why, "%s", problem.data);
        return result;
    }
    shard->folder = folder;
    merging->shards.count++;
    return RESULT_OK;
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t bytes = strlen(name);
    return bytes > strlen(suffix) && strcmp(name + bytes - strlen(suffix), suffix) == 0;
}

static int is_shard(const struct dirent *entry)
{
    bool ours = strncmp(entry->d_name, "shard-", strlen("shard-")) == 0;
    return ours &&
           (has_suffix(entry->d_name, ".jsonl") || has_suffix(entry->d_name, ".jsonl.part"));
}

static struct result merging_folder(struct merging *merging, const char *folder, struct text *why)
{
    struct dirent **names;
    struct result result = RESULT_OK;
    int count = scandir(folder, &names, is_shard, alphasort);
    if (count <= 0) {
        text_add(why, "%s: %s", folder,
                 count < 0 ? strerror(errno) : "no file of a shard (shard-K-of-N.jsonl) is here");
        return result_error(ERROR_USAGE);
    }
    for (int i = 0; i < count; i++) {
        if (has_suffix(names[i]->d_name, ".part")) {
            fprintf(stderr, "picklock: ");
            foreign_print_line(stderr, folder);
            fprintf(stderr, "/");
            foreign_print_line(stderr, names[i]->d_name);
            fprintf(stderr, " is of a shard that was killed, or is still at work\n");
        } else if (!result_failed(result)) {
            result = merging_file(merging, folder, names[i]->d_name, why);
        }
        memory_release(names[i]);
    }
    memory_release(names);
    return result;
}

static struct result merging_read(struct merging *merging, struct text *why)
{
    const struct merge_options *options = merging->options;
    for (size_t i = 0; i < options->path_count; i++) {
        struct stat info;
        if (stat(options->paths[i], &info) != 0) {
            text_add(why, "%s: %s", options->paths[i], strerror(errno));
            return result_error(ERROR_USAGE);
        }
        TRY(S_ISDIR(info.st_mode) ? merging_folder(merging, options->paths[i], why)
                                  : merging_file(merging, options->paths[i], "", why));
    }
    return RESULT_OK;
}

static struct report_group *merging_begin(void *context, const struct merge_file *file)
{
    struct merging *merging = context;
    ASSERT(file->scenario != NULL);
    return &merging->groups[merging->group_count++];
}

static void merging_run(void *context, const struct run_report *run, const struct text *line)
{
    const struct merging *merging = context;
    static char memory[REPORT_LINE_BYTES];
    tally_add(merging->tally, &merging->report, &merging->groups[merging->group_count - 1], run);
    if (!merging->options->json) {
        return;
    }
    struct text whole = text_over(memory, sizeof memory);
    text_add_bytes(&whole, line->data, line->length);
    report_line_end(run, merging->options->timing && run->wall_ns > 0, &whole);
    fputs(whole.data, stdout);
}

static void merging_group(void *context, struct report_group *group)
{
    struct merging *merging = context;
    group->time_scale_ppm = merging->report.time_scale_ppm;
    if (group->runs == 0) {
        return;
    }
    if (merging->options->keep && !result_failed(merging->result)) {
        merging->result = merge_keep(&merging->shards, group, merging->options->out, merging->why);
        tally_kept(merging->tally, &merging->report, group);
    }
    report_group(&merging->report, group);
    bool second = (group - merging->groups) % MERGE_WORLDS == 1;
    if (second) {
        merging->disagreements += report_disagreement(&merging->report, group - 1, group);
    }
}

static struct result merging_join(struct merging *merging, int *exit_code, struct text *why)
{
    size_t missing = 0;
    if (merging->shards.count == 0) {
        text_add(why, "no shard is whole");
        return result_error(ERROR_ENVIRONMENT);
    }
    TRY(merge_order(&merging->shards, &missing, why));
    if (missing + merging->broken > 0 && !merging->options->partial) {
        text_add(why, "the search is not whole; nothing was put together (--partial goes on with "
                      "what is there)");
        return result_error(ERROR_ENVIRONMENT);
    }
    merging->report.apart = &merging->scenarios.apart;
    const struct merge_shard *first = &merging->shards.list[0];
    merging->report.time_scale_ppm = first->time_scale_ppm;
    merging->report.adapter = first->adapter[0] != '\0' ? first->adapter : NULL;
    size_t groups = MERGE_WORLDS * merge_file_count(&merging->shards);
    merging->groups = arena_take(merging->arena, groups * sizeof *merging->groups);
    if (merging->groups == NULL) {
        text_add(why, "out of memory for %zu groups of runs", groups);
        return result_error(ERROR_IO);
    }
    struct merge_told told = {
        .context = merging, .begin = merging_begin, .run = merging_run, .group = merging_group};
    TRY(merge_join(&merging->shards, merging->arena, &told, why));
    TRY(merging->result);
    TRY(batch_page_write(merging->tally, merging->options->out, why));
    *exit_code =
        report_end(&merging->report, merging->groups, merging->group_count, merging->disagreements);
    if (missing + merging->broken > 0 && *exit_code == EXIT_MET) {
        *exit_code = EXIT_UNKNOWN;
    }
    return RESULT_OK;
}

static struct result merge_all(struct merging *merging, int *exit_code, struct text *why)
{
    merging->room = MERGE_PATHS_MAX;
    merging->shards.list = arena_take(merging->arena, merging->room * sizeof *merging->shards.list);
    if (merging->shards.list == NULL) {
        text_add(why, "out of memory");
        return result_error(ERROR_IO);
    }
    TRY(merging_read(merging, why));
    return merging_join(merging, exit_code, why);
}

int command_merge(int argc, char **argv)
{
    static struct merge_options options = {.keep = true};
    static struct merging merging;
    options.out = results_default();
    command_parse(&merge_argp, argc, argv, &options);
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct arena arena = arena_empty(MERGE_ARENA_BYTES);
    int exit_code = EXIT_UNKNOWN;
    merging = (struct merging){.options = &options,
                               .arena = &arena,
                               .result = RESULT_OK,
                               .why = &why,
                               .report = {.format = options.json ? REPORT_JSON : REPORT_TEXT,
                                          .quiet = options.quiet,
                                          .merged = true,
                                          .out = options.out}};
    merging.tally = options.keep ? tally_open() : NULL;
    struct result result = merge_all(&merging, &exit_code, &why);
    tally_close(merging.tally);
    for (size_t i = 0; i < merging.shards.count; i++) {
        merge_release(&merging.shards.list[i]);
    }
    arena_release(&arena);
    return result_failed(result) ? command_fail(result, &why) : exit_code;
}
