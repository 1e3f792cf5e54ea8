/* check.c: `picklock check`: judges histories recorded anywhere. */
#include "cli/command.h"
#include "cli/files.h"
#include "cli/loaded.h"

#include <inttypes.h>
#include <stdio.h>

enum { CHECK_PATHS_MAX = 4096 };

struct check_options {
    char *paths[CHECK_PATHS_MAX];
    size_t path_count;
};

static error_t check_option(int key, char *arg, struct argp_state *state)
{
    struct check_options *options = state->input;
    switch (key) {
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
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp check_argp = {
    NULL, check_option, "HISTORY...", "Judge histories recorded anywhere.", NULL, NULL, NULL};

static enum verdict check_print(const struct loaded *loaded, const char *path)
{
    static char memory[4096];
    struct explain_history history = loaded_history(loaded);
    enum verdict worst = VERDICT_NOTHING;
    for (size_t i = 0; i < check_count(); i++) {
        const struct check_result *result = loaded_result(loaded, i);
        worst = verdict_worse(worst, (enum verdict)result->verdict);
        if (result->verdict == VERDICT_NOTHING) {
            continue;
        }
        struct text text = text_over(memory, sizeof memory);
        if (result->verdict != VERDICT_PASS) {
            explain_headline(&history, check_at(i), result, &text);
        }
        printf("%s: %-18s %-8s %s\n", path, check_at(i)->name,
               verdict_name((enum verdict)result->verdict), text.data);
    }
    return worst;
}

int command_check(int argc, char **argv)
{
    static struct check_options options;
    enum verdict worst = VERDICT_NOTHING;
    command_parse(&check_argp, argc, argv, &options);
    for (size_t i = 0; i < options.path_count; i++) {
        struct loaded loaded;
        char path_memory[FILES_PATH_BYTES];
        char memory[2 * WHY_BYTES];
        struct text path = text_over(path_memory, sizeof path_memory);
        struct text why = text_over(memory, sizeof memory);
        struct history_reader_options reading = {0};
        history_path(options.paths[i], &path);
        struct result result = loaded_read(path.data, &reading, &loaded, &why);
        if (result_failed(result)) {
            return command_fail(result, &why);
        }
        worst = verdict_worse(worst, check_print(&loaded, path.data));
        loaded_release(&loaded);
    }
    return worst == VERDICT_FAIL ? EXIT_VIOLATION : worst == VERDICT_PASS ? EXIT_MET : EXIT_UNKNOWN;
}
