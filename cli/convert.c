/* convert.c: `picklock convert`: writes a history in another format. */
#include "cli/command.h"
#include "cli/maps.h"
#include "cli/options.h"

#include "history/edn_write.h"
#include "history/foreign.h"

#include <stdio.h>

struct convert_options {
    const char *from;
    const char *to;
    const char *map;
};

static const struct argp_option convert_option_table[] = {
    {"map", 'M', "MAP", 0, "where a foreign history says what: a preset, or name=path pairs", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t convert_option(int key, char *arg, struct argp_state *state)
{
    struct convert_options *options = state->input;
    switch (key) {
    case 'M':
        options->map = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->to != NULL) {
            options_refuse(state, "one history at a time: FROM TO");
        }
        *(options->from == NULL ? &options->from : &options->to) = arg;
        return 0;
    case ARGP_KEY_END:
        if (options->to == NULL) {
            options_refuse(state, "from which file to which? - is standard input and output");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp convert_argp = {
    convert_option_table,
    convert_option,
    "FROM TO",
    "Write a history in another format: picklock's JSON lines if TO ends in .jsonl, else Jepsen's "
    "EDN, for Knossos, Elle and Porcupine; compressed if it ends in .zst.",
    NULL,
    NULL,
    NULL};

int command_convert(int argc, char **argv)
{
    struct convert_options options = {0};
    struct history_map map = history_map_default();
    struct history_reader_options reading = {0};
    char memory[2 * WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct result result = RESULT_OK;
    command_parse(&convert_argp, argc, argv, &options);
    if (options.map != NULL) {
        result = history_map_parse(options.map, &map, &why);
        reading.map = &map;
    } else {
        reading.map = maps_assume(options.from, options.from, &map);
    }
    if (!result_failed(result)) {
        result = history_convert(options.from, &reading, options.to, &why);
    }
    return result_failed(result) ? command_fail(result, &why) : EXIT_MET;
}
