/* each.c: reads scenarios and prints something of each. */
#include "cli/each.h"

#include "cli/command.h"
#include "cli/options.h"

#include <stdio.h>

enum { EACH_ARENA_BYTES = 512 << 20, EACH_PRINT_BYTES = 256 * 1024 };

error_t scenario_paths_option(struct scenario_paths *paths, int key, char *arg,
                              struct argp_state *state)
{
    if (key != ARGP_KEY_ARG) {
        return ARGP_ERR_UNKNOWN;
    }
    if (paths->count == FILES_SCENARIOS_MAX) {
        options_refuse(state, "more than %d files", (int)FILES_SCENARIOS_MAX);
    }
    paths->list[paths->count++] = arg;
    return 0;
}

int each_scenario(const struct scenario_paths *paths,
                  void (*print)(const struct scenario *scenario, size_t i, const void *options,
                                struct text *text),
                  const void *options)
{
    static char print_memory[EACH_PRINT_BYTES];
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct scenario_list scenarios;
    struct arena arena = arena_empty(EACH_ARENA_BYTES);
    struct result result = scenarios_load(paths->list, paths->count, &arena, &scenarios, &why);
    int code = result_failed(result) ? command_fail(result, &why) : EXIT_MET;
    for (size_t i = 0; code == EXIT_MET && i < scenarios.count; i++) {
        struct text text = text_over(print_memory, sizeof print_memory);
        print(&scenarios.list[i], i, options, &text);
        printf("%s", text.data);
    }
    arena_release(&arena);
    return code;
}
