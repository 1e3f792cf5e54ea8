/* completion.c: `picklock completion`: completions for shells, from the tables that parse. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/words.h"

#include <stdio.h>
#include <string.h>

enum { ARGUMENT_BYTES = 64 };

static error_t completion_option(int key, char *arg, struct argp_state *state)
{
    const char **shell = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*shell != NULL) {
            options_refuse(state, "one shell at a time");
        }
        if (words_index("picklock completion", arg) < 0) {
            options_refuse_argument(state, "picklock completion", arg);
        }
        *shell = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        options_refuse(state, "for which shell? bash, zsh or fish");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp completion_argp = {
    NULL,
    completion_option,
    "bash|zsh|fish",
    "Print the completions of this command for a shell. `make install` puts them where the shells "
    "look; else: `picklock completion bash > ~/.local/share/bash-completion/completions/picklock`.",
    NULL,
    NULL,
    NULL};

/* What may stand behind an option, or as an argument. */
enum value_kind { VALUE_NONE, VALUE_WORDS, VALUE_FILE, VALUE_FOLDER, VALUE_OTHER };

static enum value_kind value_kind(const struct argp_option *option)
{
    if (option->arg == NULL || (option->flags & OPTION_ARG_OPTIONAL) != 0) {
        return VALUE_NONE;
    }
    if (words_at(option->name, 0) != NULL) {
        return VALUE_WORDS;
    }
    if (strcmp(option->arg, "DIR") == 0) {
        return VALUE_FOLDER;
    }
    return strcmp(option->arg, "FILE") == 0 ? VALUE_FILE : VALUE_OTHER;
}

/* A key that is no character is a long option's own number. */
static bool has_letter(const struct argp_option *option)
{
    return option->key > ' ' && option->key < 127;
}

static bool is_option(const struct argp_option *option)
{
    return option->name != NULL;
}

static const struct argp_option no_options[] = {{NULL, 0, NULL, 0, NULL, 0}};

static const struct argp_option *options_of(const struct subcommand *command)
{
    return command->argp->options != NULL ? command->argp->options : no_options;
}

/* The name by which words.h knows what the command's arguments may be. */
static const char *argument_name(const struct subcommand *command)
{
    static char name[ARGUMENT_BYTES];
    (void)snprintf(name, sizeof name, "picklock %s", command->name);
    return name;
}

/* Words with a space between them. */
static void print_words(const char *option)
{
    for (size_t i = 0; words_at(option, i) != NULL; i++) {
        printf("%s%s", i > 0 ? " " : "", words_at(option, i));
    }
}

/* In single quotes, for a shell; `hidden` characters get a backslash. */
static void print_quoted(const char *text, const char *hidden)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'') {
            printf("'\\''");
        } else {
            printf(strchr(hidden, *c) != NULL ? "\\%c" : "%c", *c);
        }
    }
}

static void print_commands(void)
{
    for (size_t i = 0; i < subcommand_count(); i++) {
        printf("%s ", subcommand_at(i)->name);
    }
}

/* ---- bash ---- */

static void bash_values(const struct subcommand *command)
{
    for (const struct argp_option *option = options_of(command); is_option(option); option++) {
        enum value_kind kind = value_kind(option);
        if (kind == VALUE_NONE) {
            continue;
        }
        printf("        --%s", option->name);
        if (has_letter(option)) {
            printf(" | -%c", option->key);
        }
        if (kind == VALUE_WORDS) {
            printf(") _picklock_words \"");
            print_words(option->name);
            printf("\" ;;\n");
        } else {
            printf(") %s ;;\n", kind == VALUE_FOLDER ? "_picklock_files -d"
                                : kind == VALUE_FILE ? "_picklock_files -f"
                                                     : ":");
        }
    }
}

static void bash_command(const struct subcommand *command)
{
    printf("    %s)\n        case $before in\n", command->name);
    bash_values(command);
    printf("        *)\n            case $word in\n            -*) _picklock_words \"");
    for (const struct argp_option *option = options_of(command); is_option(option); option++) {
        printf("--%s ", option->name);
    }
    printf("--help --version\" ;;\n");
    if (words_at(argument_name(command), 0) != NULL) {
        printf("            *) _picklock_words \"");
        print_words(argument_name(command));
        printf("\" ;;\n");
    } else if (command->argp->args_doc != NULL) {
        printf("            *) _picklock_files -f ;;\n");
    }
    printf("            esac\n            ;;\n        esac\n        ;;\n");
}

static void completion_bash(void)
{
    printf("# Completions of picklock for bash, made by `picklock completion bash`.\n"
           "_picklock_words() {\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$word\")\n"
           "}\n\n"
           "_picklock_files() {\n"
           "    compopt -o filenames 2>/dev/null\n"
           "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$word\")\n"
           "}\n\n"
           "_picklock() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    COMPREPLY=()\n"
           "    # bash takes --world=sim for three words.\n"
           "    if [ \"$word\" = = ]; then\n"
           "        word=\n"
           "    elif [ \"$before\" = = ] && [ \"$COMP_CWORD\" -ge 2 ]; then\n"
           "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    fi\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        _picklock_words \"");
    print_commands();
    printf("--help --version\"\n"
           "        return\n"
           "    fi\n"
           "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < subcommand_count(); i++) {
        bash_command(subcommand_at(i));
    }
    printf("    esac\n}\n\ncomplete -F _picklock picklock\n");
}

/* ---- zsh ---- */

static void zsh_option(const struct argp_option *option)
{
    enum value_kind kind = value_kind(option);
    const char *equals = kind == VALUE_NONE ? "" : "=";
    if (has_letter(option)) {
        printf(" \\\n            '(-%c --%s)'{-%c%s,--%s%s}'[", option->key, option->name,
               option->key, kind == VALUE_NONE ? "" : "+", option->name, equals);
    } else {
        printf(" \\\n            '--%s%s[", option->name, equals);
    }
    print_quoted(option->doc, "[]:\\");
    printf("]");
    if (kind != VALUE_NONE) {
        printf(":");
        print_quoted(option->arg, ":\\");
        printf(":");
    }
    if (kind == VALUE_WORDS) {
        printf("(");
        print_words(option->name);
        printf(")");
    } else if (kind == VALUE_FILE || kind == VALUE_FOLDER) {
        printf("_files%s", kind == VALUE_FOLDER ? " -/" : "");
    }
    printf("'");
}

static void zsh_command(const struct subcommand *command)
{
    printf("        %s)\n            _arguments -s", command->name);
    for (const struct argp_option *option = options_of(command); is_option(option); option++) {
        zsh_option(option);
    }
    printf(" \\\n            '--help[tell more]' '--version[print the version]'");
    if (words_at(argument_name(command), 0) != NULL) {
        printf(" \\\n            '1:which:(");
        print_words(argument_name(command));
        printf(")' '*:file:_files'");
    } else if (command->argp->args_doc != NULL) {
        printf(" \\\n            '*:file:_files'");
    }
    printf("\n            ;;\n");
}

static void completion_zsh(void)
{
    printf("#compdef picklock\n"
           "# Completions of picklock for zsh, made by `picklock completion zsh`.\n"
           "_picklock() {\n"
           "    local context state state_descr line\n"
           "    typeset -A opt_args\n"
           "    local -a commands=(\n");
    for (size_t i = 0; i < subcommand_count(); i++) {
        printf("        '%s:", subcommand_at(i)->name);
        print_quoted(subcommand_at(i)->summary, ":\\");
        printf("'\n");
    }
    printf("    )\n"
           "    _arguments -C '--help[tell more]' '--version[print the version]' \\\n"
           "        '1:command:->command' '*::argument:->argument'\n"
           "    case $state in\n"
           "    command) _describe -t commands command commands ;;\n"
           "    argument)\n"
           "        case $words[1] in\n");
    for (size_t i = 0; i < subcommand_count(); i++) {
        zsh_command(subcommand_at(i));
    }
    printf("        esac\n        ;;\n    esac\n}\n\n"
           "if [ \"$funcstack[1]\" = _picklock ]; then\n    _picklock \"$@\"\nelse\n"
           "    compdef _picklock picklock\nfi\n");
}

/* ---- fish ---- */

static void fish_option(const struct subcommand *command, const struct argp_option *option)
{
    printf("complete -c picklock -n '__fish_seen_subcommand_from %s' -l %s", command->name,
           option->name);
    if (has_letter(option)) {
        printf(" -s %c", option->key);
    }
    switch (value_kind(option)) {
    case VALUE_NONE:
        break;
    case VALUE_WORDS:
        printf(" -x -a '");
        print_words(option->name);
        printf("'");
        break;
    case VALUE_FILE:
        printf(" -r -F");
        break;
    case VALUE_FOLDER:
        printf(" -x -a '(__fish_complete_directories)'");
        break;
    case VALUE_OTHER:
        printf(" -x");
        break;
    }
    printf(" -d '");
    print_quoted(option->doc, "\\");
    printf("'\n");
}

static void completion_fish(void)
{
    printf("# Completions of picklock for fish, made by `picklock completion fish`.\n"
           "complete -c picklock -n __fish_use_subcommand -f\n"
           "complete -c picklock -l help -d 'tell more'\n"
           "complete -c picklock -l version -d 'print the version'\n");
    for (size_t i = 0; i < subcommand_count(); i++) {
        const struct subcommand *command = subcommand_at(i);
        printf("complete -c picklock -n __fish_use_subcommand -a %s -d '", command->name);
        print_quoted(command->summary, "\\");
        printf("'\n");
        for (const struct argp_option *option = options_of(command); is_option(option); option++) {
            fish_option(command, option);
        }
        if (words_at(argument_name(command), 0) != NULL) {
            printf("complete -c picklock -n '__fish_seen_subcommand_from %s' -f -a '",
                   command->name);
            print_words(argument_name(command));
            printf("'\n");
        } else if (command->argp->args_doc == NULL) {
            printf("complete -c picklock -n '__fish_seen_subcommand_from %s' -f\n", command->name);
        }
    }
}

int command_completion(int argc, char **argv)
{
    const char *shell = NULL;
    command_parse(&completion_argp, argc, argv, &shell);
    switch (words_index("picklock completion", shell)) {
    case 0:
        completion_bash();
        break;
    case 1:
        completion_zsh();
        break;
    default:
        completion_fish();
        break;
    }
    return EXIT_MET;
}
