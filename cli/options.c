/* options.c: what a command line says that it must not say. */
#include "cli/options.h"

#include "base/foreign.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/words.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What argp adds to every command. */
static const struct argp_option common[] = {
    {"help", '?', NULL, 0, NULL, 0},
    {"usage", 0, NULL, 0, NULL, 0},
    {"version", 'V', NULL, 0, NULL, 0},
};

static const struct argp *options_checked; /* of the command that runs */

enum { COMMON_COUNT = sizeof common / sizeof common[0], GUESS_DISTANCE_MAX = 3 };

static _Noreturn void refuse(const char *command, const struct text *sentence)
{
    foreign_print_line(stderr, command);
    fprintf(stderr, ": ");
    foreign_print_line(stderr, sentence->data);
    fprintf(stderr, "\n");
    exit(EXIT_USAGE);
}

/* The index-th option of a command, those of every command behind its own; NULL behind the last. */
static const struct argp_option *option_at(const struct argp *argp, size_t index)
{
    size_t own = 0;
    while (argp->options != NULL && argp->options[own].name != NULL) {
        if (own == index) {
            return &argp->options[own];
        }
        own++;
    }
    return index - own < COMMON_COUNT ? &common[index - own] : NULL;
}

static const struct argp_option *option_of_letter(const struct argp *argp, int letter)
{
    const struct argp_option *option;
    for (size_t i = 0; (option = option_at(argp, i)) != NULL; i++) {
        if (option->key == letter && letter > ' ') {
            return option;
        }
    }
    return NULL;
}

/* As getopt finds them: the whole name, or a beginning that only one has. */
static const struct argp_option *option_of_name(const struct argp *argp, const char *name,
                                                size_t bytes, size_t *found)
{
    const struct argp_option *option;
    const struct argp_option *begun = NULL;
    *found = 0;
    for (size_t i = 0; (option = option_at(argp, i)) != NULL; i++) {
        if (strncmp(option->name, name, bytes) != 0) {
            continue;
        }
        if (option->name[bytes] == '\0') {
            *found = 1;
            return option;
        }
        begun = option;
        (*found)++;
    }
    return *found == 1 ? begun : NULL;
}

static const char *nearest_name(const struct argp *argp, const char *name)
{
    const struct argp_option *option;
    const char *best = NULL;
    size_t best_distance = GUESS_DISTANCE_MAX + 1;
    for (size_t i = 0; (option = option_at(argp, i)) != NULL; i++) {
        size_t distance = text_distance(name, option->name);
        if (distance < best_distance && distance < strlen(option->name)) {
            best_distance = distance;
            best = option->name;
        }
    }
    return best;
}

static _Noreturn void refuse_name(const struct argp *argp, const char *command, const char *name,
                                  size_t found)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    const struct argp_option *option;
    if (found > 1) {
        text_add(&text, "--%s may be", name);
        for (size_t i = 0; (option = option_at(argp, i)) != NULL; i++) {
            if (strncmp(option->name, name, strlen(name)) == 0) {
                text_add(&text, " --%s", option->name);
            }
        }
        text_add(&text, "; write it out");
        refuse(command, &text);
    }
    const char *best = nearest_name(argp, name);
    text_add(&text, "--%s is no option of this command", name);
    if (best != NULL) {
        text_add(&text, "; did you mean --%s?", best);
    } else {
        text_add(&text, "; `%s --help` lists them", command);
    }
    refuse(command, &text);
}

static _Noreturn void refuse_use(const char *command, const struct argp_option *option)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    text_add(&text, "--%s %s%s", option->name,
             option->arg == NULL ? "takes no value" : "needs a value: ",
             option->arg == NULL ? "" : option->arg);
    refuse(command, &text);
}

/* A script's variable that is unset becomes an empty word: never mean the working folder by it. */
static _Noreturn void refuse_empty(const char *command, const struct argp_option *option)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    text_add(&text, "%s%s is empty: is a variable unset?", option != NULL ? "--" : "an argument",
             option != NULL ? option->name : "");
    refuse(command, &text);
}

static bool needs_value(const struct argp_option *option)
{
    return option->arg != NULL && (option->flags & OPTION_ARG_OPTIONAL) == 0;
}

/* "--name" or "--name=value". True if the next word (NULL: there is none) is its value. */
static bool check_long(const struct argp *argp, const char *command, const char *word,
                       const char *next)
{
    bool last = next == NULL;
    char name[64];
    size_t bytes = strcspn(word, "=");
    size_t found;
    (void)snprintf(name, sizeof name, "%.*s", (int)bytes, word);
    const struct argp_option *option = option_of_name(argp, word, bytes, &found);
    if (option == NULL) {
        refuse_name(argp, command, name, found);
    }
    bool given = word[bytes] == '=';
    if ((given && option->arg == NULL) || (!given && last && needs_value(option))) {
        refuse_use(command, option);
    }
    if (given && word[bytes + 1] == '\0') {
        refuse_empty(command, option);
    }
    if (!given && needs_value(option) && next[0] == '\0') {
        refuse_empty(command, option);
    }
    return !given && needs_value(option);
}

/* "-qw sim": letters one behind the other. True if the next word is a value. */
static bool check_letters(const struct argp *argp, const char *command, const char *letters,
                          const char *next)
{
    bool last = next == NULL;
    for (const char *letter = letters; *letter != '\0'; letter++) {
        const struct argp_option *option = option_of_letter(argp, *letter);
        if (option == NULL) {
            char memory[WHY_BYTES];
            struct text text = text_over(memory, sizeof memory);
            text_add(&text, "-%c is no option of this command; `%s --help` lists them", *letter,
                     command);
            refuse(command, &text);
        }
        if (option->arg != NULL) {
            if (letter[1] == '\0' && last && needs_value(option)) {
                refuse_use(command, option);
            }
            if (letter[1] == '\0' && needs_value(option) && next[0] == '\0') {
                refuse_empty(command, option);
            }
            return letter[1] == '\0' && needs_value(option);
        }
    }
    return false;
}

/* The variables that options fall back on; the sentence of such an option names its own. */
static void check_variables(const struct argp *argp, const char *command)
{
    static const char *const variables[] = {"PICKLOCK_OUT", "PICKLOCK_CLUSTER"};
    const struct argp_option *option;
    for (size_t i = 0; (option = option_at(argp, i)) != NULL; i++) {
        for (size_t k = 0; k < sizeof variables / sizeof variables[0]; k++) {
            const char *value = getenv(variables[k]);
            if (value != NULL && value[0] == '\0' && option->doc != NULL &&
                strstr(option->doc, variables[k]) != NULL) {
                char memory[WHY_BYTES];
                struct text text = text_over(memory, sizeof memory);
                text_add(&text, "$%s is set and empty; give it a value, or unset it", variables[k]);
                refuse(command, &text);
            }
        }
    }
}

static void check_argument(const struct argp *argp, const char *command, const char *word)
{
    if (word[0] == '\0') {
        refuse_empty(command, NULL);
    }
    if (argp->args_doc == NULL && word[0] != '-') {
        char memory[2 * WHY_BYTES];
        struct text text = text_over(memory, sizeof memory);
        text_add(&text, "\"%.200s\" is too much: it takes options only; `%s --help` lists them",
                 word, command);
        refuse(command, &text);
    }
}

void options_check(const struct argp *argp, int argc, char **argv)
{
    options_checked = argp;
    check_variables(argp, argv[0]);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *word = i + 1 < argc ? argv[i + 1] : NULL;
        bool next = false;
        if (strncmp(argv[i], "--", 2) == 0) {
            next = check_long(argp, argv[0], argv[i] + 2, word);
        } else if (argv[i][0] == '-') {
            next = check_letters(argp, argv[0], argv[i] + 1, word);
        }
        check_argument(argp, argv[0], argv[i]);
        i += next ? 1 : 0;
    }
}

/* The words that an option or argument takes, and the nearest one. */
static void add_words(const char *option, const char *value, struct text *text)
{
    const char *best = NULL;
    size_t best_distance = 3;
    const char *word;
    for (size_t i = 0; (word = words_at(option, i)) != NULL; i++) {
        text_add(text, "%s%s", i == 0 ? "; it takes " : ", ", word);
        /* A word that was begun is meant more surely than one that is as short. */
        bool begun = value[0] != '\0' && strncmp(value, word, strlen(value)) == 0;
        size_t distance = begun ? 0 : text_distance(value, word);
        if (distance < best_distance) {
            best = word;
            best_distance = distance;
        }
    }
    if (best != NULL) {
        text_add(text, "; did you mean \"%s\"?", best);
    }
}

/* What a value should have been: the words that the option takes, or what its table says. */
static void add_expected(const struct argp_option *option, const char *value, struct text *text)
{
    add_words(option->name, value, text);
    if (words_at(option->name, 0) == NULL) {
        text_add(text, "; expected %s: %s", option->arg, option->doc);
    }
}

_Noreturn void options_refuse_value(const struct argp_state *state, int key, const char *value)
{
    char memory[2 * WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    const struct argp_option *option = options_checked->options; /* argp wraps its own around it */
    while (option->name != NULL && option->key != key) {
        option++;
    }
    text_add(&text, "--%s: \"%.200s\" is not a value of it", option->name, value);
    add_expected(option, value, &text);
    refuse(state->name, &text);
}

_Noreturn void options_refuse(const struct argp_state *state, const char *format, ...)
{
    char memory[4096];
    struct text text = text_over(memory, sizeof memory);
    va_list list;
    va_start(list, format);
    int bytes = vsnprintf(memory, sizeof memory, format, list);
    va_end(list);
    text.length = bytes < 0 ? 0 : (size_t)bytes < sizeof memory ? (size_t)bytes : sizeof memory - 1;
    refuse(state->name, &text);
}

_Noreturn void options_refuse_argument(const struct argp_state *state, const char *command,
                                       const char *value)
{
    char memory[2 * WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    text_add(&text, "\"%.200s\" is not one of its words", value);
    add_words(command, value, &text);
    refuse(state->name, &text);
}
