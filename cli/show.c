/* show.c: `picklock show`: tells the story of a run or a history. */
#include "base/assert.h"
#include "base/foreign.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/loaded.h"
#include "cli/page.h"

#include "history/foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOW_TEXT_BYTES = 64 * 1024, SHOW_CHECKS_MAX = 64 };

struct show_options {
    const char *path;
    const char *check;
    const char *html;
    const char *map;
};

static const struct argp_option show_option_table[] = {
    {"check", 'c', "NAME", 0, "tell of this check only", 0},
    {"html", 'w', "FILE", 0, "also draw the history as a page that needs nothing else", 0},
    {"map", 'M', "MAP", 0, "where a foreign history says what: a preset, or name=path pairs", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t show_option(int key, char *arg, struct argp_state *state)
{
    struct show_options *options = state->input;
    switch (key) {
    case 'c':
        if (check_find(arg) == NULL) {
            argp_error(state, "\"%s\" is no check; `picklock list checks` names them", arg);
        }
        options->check = arg;
        return 0;
    case 'w':
        options->html = arg;
        return 0;
    case 'M':
        options->map = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->path != NULL) {
            argp_error(state, "one history at a time");
        }
        options->path = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which history? A file, or the folder of a run");
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
    printf("%s: %zu events", path, loaded->count);
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

/* The first violation as a story, the others in a sentence each, and why a check could not say:
 * one screen. */
static void show_found(const struct loaded *loaded, size_t index, bool first)
{
    static char memory[SHOW_TEXT_BYTES];
    struct explain_history history = loaded_history(loaded);
    struct text text = text_over(memory, sizeof memory);
    const struct check_result *result = loaded_result(loaded, index);
    if (first) {
        explain_story(&history, check_at(index), result, &text);
        show_text(text.data);
        printf("\n");
        return;
    }
    explain_headline(&history, check_at(index), result, &text);
    printf(result->verdict == VERDICT_UNKNOWN ? "unknown: " : "also ");
    show_text(text.data);
    if (result->verdict != VERDICT_UNKNOWN) {
        printf("; --check %s tells its story", check_at(index)->name);
    }
    printf("\n");
}

static struct result show_html(const struct loaded *loaded, const char *path, struct text *why)
{
    const struct check_result *results[SHOW_CHECKS_MAX];
    ASSERT(check_count() <= SHOW_CHECKS_MAX);
    for (size_t i = 0; i < check_count(); i++) {
        results[i] = loaded_result(loaded, i);
    }
    struct explain_history history = loaded_history(loaded);
    struct html_page page = {
        .history = &history, .results = results, .result_count = check_count()};
    return page_write(&page, path, why);
}

static enum verdict show_checks(const struct loaded *loaded, const char *only)
{
    enum verdict worst = VERDICT_SKIPPED;
    char memory[WHY_BYTES];
    bool first = true;
    bool told = false;
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);
        const struct check_result *result = loaded_result(loaded, i);
        if (only != NULL && strcmp(check->name, only) != 0) {
            continue;
        }
        worst = verdict_worse(worst, (enum verdict)result->verdict);
        bool fails = result->verdict == VERDICT_FAIL;
        if (fails || result->verdict == VERDICT_UNKNOWN) {
            show_found(loaded, i, fails && first);
            first = first && !fails;
            told = true;
        }
    }
    printf("%s", told ? "\n" : "");
    for (size_t i = 0; i < check_count(); i++) {
        const struct check_result *result = loaded_result(loaded, i);
        const char *verdict = verdict_name((enum verdict)result->verdict);
        if (result->verdict == VERDICT_SKIPPED) {
            struct text why = text_over(memory, sizeof memory);
            check_print_skipped(check_at(i), result->inapplicable, &why);
            printf("%-20s %-8s %s\n", check_at(i)->name, verdict, memory);
        } else {
            printf("%-20s %-8s %" PRIu64 " judged\n", check_at(i)->name, verdict, result->judged);
        }
    }
    return worst;
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
    }
    if (result_failed(result)) {
        return command_fail(result, &why);
    }
    result = loaded_read(path.data, &reading, &loaded, &why);
    if (result_failed(result)) {
        return command_fail(result, &why);
    }
    show_header(&loaded, path.data);
    enum verdict worst = show_checks(&loaded, options.check);
    if (options.html != NULL) {
        result = show_html(&loaded, options.html, &why);
    }
    loaded_release(&loaded);
    if (result_failed(result)) {
        return command_fail(result, &why);
    }
    return worst == VERDICT_FAIL      ? EXIT_VIOLATION
           : worst == VERDICT_UNKNOWN ? EXIT_UNKNOWN
                                      : EXIT_MET;
}
