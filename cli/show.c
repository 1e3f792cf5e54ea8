/* show.c: `picklock show`: tells the story of a run or a history. */
#include "base/assert.h"
#include "base/foreign.h"
#include "checker/report/text_story.h"
#include "cli/again.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/loaded.h"
#include "cli/maps.h"
#include "cli/options.h"
#include "cli/page.h"

#include "history/foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOW_TEXT_BYTES = 64 * 1024, SHOW_CHECKS_MAX = 64 };

struct show_options {
    const char *path;
    const char *check;
    const char *html;
    const char *map;
    const char *trace;
    bool ascii;
};

/* What is shown. */
struct show {
    const struct loaded *loaded;
    struct explain_history history;
    const struct check_result *results[SHOW_CHECKS_MAX];
    struct stories *stories;
    struct text rerun; /* the command that runs it again; "": there is none */
};

static const struct argp_option show_option_table[] = {
    {"check", 'c', "NAME", 0, "tell of this check only", 0},
    {"html", 'w', "FILE", 0, "also draw the history as a page that needs nothing else", 0},
    {"trace", 't', "FILE", 0, "also write the bars as a trace that Perfetto opens", 0},
    {"ascii", 'A', NULL, 0, "draw with plain ASCII, whatever the terminal can show", 0},
    {"map", 'M', "MAP", 0, "where a foreign history says what: a preset, or name=path pairs", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t show_option(int key, char *arg, struct argp_state *state)
{
    struct show_options *options = state->input;
    switch (key) {
    case 'c':
        if (check_find(arg) == NULL) {
            options_refuse_value(state, key, arg);
        }
        options->check = arg;
        return 0;
    case 'w':
        options->html = arg;
        return 0;
    case 't':
        options->trace = arg;
        return 0;
    case 'A':
        options->ascii = true;
        return 0;
    case 'M':
        options->map = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->path != NULL) {
            options_refuse(state, "one history at a time");
        }
        options->path = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        options_refuse(state, "which history? A file, or the folder of a run");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp show_argp = {
    show_option_table,
    show_option,
    "HISTORY or FOLDER",
    "Tell what happened: the violation, what led to it, and whom to blame. The exit code is that "
    "of the verdict: 0 nothing was violated, 1 something was.",
    NULL,
    NULL,
    NULL};

static void show_text(const char *text)
{
    foreign_print(stdout, text, strlen(text));
}

/* A name that the history's writer chose: one word, whatever it holds. */
static void show_name(const char *before, const char *name)
{
    char memory[8 * HISTORY_NAME_BYTES];
    struct text text = text_over(memory, sizeof memory);
    text_add_foreign(&text, name, strlen(name));
    printf("%s%s", before, text.data);
}

static void show_header(const struct loaded *loaded, const char *path)
{
    const struct history_header *header = &loaded->header;
    foreign_print_line(stdout, path);
    printf(": %zu events", loaded->count);
    if (header->scenario[0] != '\0') {
        show_name(", scenario ", header->scenario);
        show_name(", world ", header->world);
        printf(", seed %" PRIu64, header->seed);
    }
    if (header->algorithm[0] != '\0') {
        show_name(", lock ", header->algorithm);
    }
    if (header->library[0] != '\0') {
        show_name(" (", header->library);
        printf(")");
    }
    printf("%s\n\n", loaded->cut ? "; cut short in its last line" : "");
}

static void show_buffer(struct sheet *sheet)
{
    if (!sheet->cut && sheet->length > 0) {
        foreign_print(stdout, sheet->data, sheet->length);
    }
    sheet_release(sheet);
}

/* Unicode where the locale says so, as programs without a locale of their own read it. */
static enum text_style style_of(const struct show_options *options)
{
    const char *all = getenv("LC_ALL");
    const char *type = getenv("LC_CTYPE");
    const char *word = all != NULL && all[0] != '\0'     ? all
                       : type != NULL && type[0] != '\0' ? type
                                                         : getenv("LANG");
    bool unicode =
        word != NULL && (strcasestr(word, "utf-8") != NULL || strcasestr(word, "utf8") != NULL);
    return unicode && !options->ascii ? TEXT_UNICODE : TEXT_ASCII;
}

static struct show show_of(const struct loaded *loaded)
{
    static struct stories stories;
    struct show show = {.loaded = loaded, .history = loaded_history(loaded), .stories = &stories};
    ASSERT(check_count() <= SHOW_CHECKS_MAX);
    for (size_t i = 0; i < check_count(); i++) {
        show.results[i] = loaded_result(loaded, i);
    }
    stories_tell(&show.history, show.results, &stories);
    return show;
}

/* Which checks a cause broke: one line of names, wrapped. */
static void put_broken(const struct story_cause *cause, struct sheet *sheet)
{
    static char memory[SHOW_TEXT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    const char *comma = "This broke ";
    for (size_t i = 0; i < check_count(); i++) {
        if ((cause->checks >> i & 1) != 0) {
            text_add(&text, "%s%s", comma, check_at(i)->name);
            comma = ", ";
        }
    }
    text_add(&text, "; --check NAME tells what one of them found.");
    text_wrapped(memory, 0, sheet);
    sheet_add_text(sheet, "\n");
}

/* The script that runs it again, where a run left one beside its history. */
static void put_rerun(const char *path, struct text *text)
{
    char script[FILES_PATH_BYTES];
    const char *name = strrchr(path, '/');
    int folder = name != NULL ? (int)(name - path) + 1 : 0;
    (void)snprintf(script, sizeof script, "%.*srerun.sh", folder, path);
    if (access(script, X_OK) == 0 || access(script, R_OK) == 0) {
        text_add(text, "sh ");
        shell_word(text, script);
    }
}

static void show_causes(const struct show *show, enum text_style style)
{
    struct sheet sheet = sheet_empty(REPORT_BYTES_MAX);
    for (uint32_t i = 0; i < show->stories->cause_count; i++) {
        const struct story_cause *cause = &show->stories->causes[i];
        if (show->stories->cause_count > 1) {
            sheet_add(&sheet, "Cause %" PRIu32 " of %" PRIu32 "\n", i + 1,
                      show->stories->cause_count);
        }
        text_story_print(&show->history, cause, style, &sheet);
        put_broken(cause, &sheet);
    }
    if (show->stories->cause_count == 0) {
        text_lanes_print(&show->history, NULL, style, &sheet);
        sheet_add_text(&sheet, "\n");
    } else if (show->rerun.length > 0) {
        sheet_add_text(&sheet, "Again: ");
        sheet_add_bytes(&sheet, show->rerun.data, show->rerun.length);
        sheet_add_text(&sheet, "\n\n");
    }
    show_buffer(&sheet);
}

/* A fail that no cause tells of, or why a check could not say. */
static void show_rest(const struct show *show)
{
    static char memory[SHOW_TEXT_BYTES];
    bool told = false;
    for (size_t i = 0; i < check_count(); i++) {
        bool fails = show->results[i]->verdict == VERDICT_FAIL;
        bool unknown = show->results[i]->verdict == VERDICT_UNKNOWN;
        if (unknown || (fails && stories_cause_of(show->stories, i) == NULL)) {
            struct text text = text_over(memory, sizeof memory);
            explain_headline(&show->history, check_at(i), show->results[i], &text);
            printf("%s: ", verdict_name((enum verdict)show->results[i]->verdict));
            show_text(text.data);
            printf("\n");
            told = true;
        }
    }
    printf("%s", told ? "\n" : "");
}

/* All that one check has to say. */
static void show_check(const struct show *show, const char *name)
{
    static char memory[SHOW_TEXT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);
        if (strcmp(check->name, name) != 0) {
            continue;
        }
        if (show->results[i]->verdict == VERDICT_FAIL) {
            explain_story(&show->history, check, show->results[i], &text);
        } else if (show->results[i]->verdict == VERDICT_UNKNOWN) {
            text_add(&text, "unknown: ");
            explain_headline(&show->history, check, show->results[i], &text);
            text_add(&text, "\n");
        }
        show_text(text.data);
        printf("%s", text.length > 0 ? "\n" : "");
    }
}

static void show_table(const struct show *show)
{
    char memory[WHY_BYTES];
    for (size_t i = 0; i < check_count(); i++) {
        const struct check_result *result = show->results[i];
        const char *verdict = verdict_name((enum verdict)result->verdict);
        printf("%-20s %-8s ", check_at(i)->name, verdict);
        if (result->verdict == VERDICT_SKIPPED) {
            struct text why = text_over(memory, sizeof memory);
            check_print_skipped(check_at(i), result->inapplicable, &why);
            printf("%s\n", memory);
        } else {
            bool fails = result->verdict == VERDICT_FAIL;
            printf("%" PRIu64 " judged%s%s\n", result->judged, fails ? ", blame " : "",
                   fails ? blame_name((enum blame)result->blame) : "");
        }
    }
}

static enum verdict show_worst(const struct show *show, const char *only)
{
    enum verdict worst = VERDICT_SKIPPED;
    for (size_t i = 0; i < check_count(); i++) {
        if (only == NULL || strcmp(check_at(i)->name, only) == 0) {
            worst = verdict_worse(worst, (enum verdict)show->results[i]->verdict);
        }
    }
    return worst;
}

/* What else was asked for, in files. */
static struct result show_files(const struct show *show, const struct show_options *options,
                                struct text *why)
{
    struct page page = {.history = &show->history,
                        .results = show->results,
                        .result_count = check_count(),
                        .stories = show->stories,
                        .rerun = show->rerun.length > 0 ? show->rerun.data : NULL};
    if (options->html != NULL) {
        TRY(page_write(&page, options->html, why));
    }
    return options->trace != NULL ? trace_write(&show->history, show->stories, options->trace, why)
                                  : RESULT_OK;
}

int command_show(int argc, char **argv)
{
    struct show_options options = {0};
    struct loaded loaded;
    char path_memory[FILES_PATH_BYTES];
    char memory[2 * WHY_BYTES];
    struct text path = text_over(path_memory, sizeof path_memory);
    struct text why = text_over(memory, sizeof memory);
    struct history_reader_options reading = {0};
    command_parse(&show_argp, argc, argv, &options);
    history_path(options.path, &path);
    struct history_map map = history_map_default();
    struct result result = RESULT_OK;
    if (options.map != NULL) {
        result = history_map_parse(options.map, &map, &why);
        reading.map = &map;
    } else {
        reading.map = maps_assume(path.data, path.data, &map);
    }
    if (result_failed(result)) {
        return command_fail(result, &why);
    }
    result = loaded_read(path.data, &reading, &loaded, &why);
    if (result_failed(result)) {
        return command_fail(result, &why);
    }
    show_header(&loaded, path.data);
    struct show show = show_of(&loaded);
    char rerun_memory[2 * FILES_PATH_BYTES];
    show.rerun = text_over(rerun_memory, sizeof rerun_memory);
    put_rerun(path.data, &show.rerun);
    if (options.check != NULL) {
        show_check(&show, options.check);
    } else {
        show_causes(&show, style_of(&options));
        show_rest(&show);
    }
    show_table(&show);
    enum verdict worst = show_worst(&show, options.check);
    result = show_files(&show, &options, &why);
    loaded_release(&loaded);
    if (result_failed(result)) {
        return command_fail(result, &why);
    }
    return worst == VERDICT_FAIL      ? EXIT_VIOLATION
           : worst == VERDICT_UNKNOWN ? EXIT_UNKNOWN
                                      : EXIT_MET;
}
