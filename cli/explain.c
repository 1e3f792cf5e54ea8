/* explain.c: `picklock explain`: what checks, faults and exit codes mean, by the words of docs. */
#include "cli/command.h"
#include "cli/options.h"

#include "base/foreign.h"
#include "base/text.h"
#include "checker/check.h"
#include "history/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pages themselves, so that they and this command cannot tell two stories. */
#define PAGE(name, path)                                                                           \
    extern const char name[];                                                                      \
    __asm__(".pushsection .rodata\n.global " #name "\n.hidden " #name "\n" #name ":\n"             \
            ".incbin \"" path "\"\n.byte 0\n.popsection")
PAGE(explain_checks_page, "docs/CHECKS.md");
PAGE(explain_faults_page, "docs/FAULTS.md");

static error_t explain_option(int key, char *arg, struct argp_state *state)
{
    const char **name = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*name != NULL) {
            options_refuse(state, "one at a time");
        }
        *name = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        options_refuse(state, "what? A check, a kind of fault, or an exit code: `picklock list "
                              "checks`, `picklock list faults`");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp explain_argp = {
    NULL,
    explain_option,
    "CHECK|FAULT|CODE",
    "Say what a check asks and whom it blames, what a fault does in each world, or what an exit "
    "code means.",
    NULL,
    NULL,
    NULL};

/* A line of Markdown for a terminal: a row of a table in columns, no marks of emphasis. */
static void print_line(const char *line, size_t bytes)
{
    bool row = bytes > 0 && line[0] == '|';
    while (row && (line[bytes - 1] == '|' || line[bytes - 1] == ' ') && bytes > 1) {
        bytes--; /* the edge of the table */
    }
    if (row && (bytes == 1 || line[1] == '-')) {
        return;
    }
    for (size_t i = row ? 2 : 0; i < bytes; i++) {
        if (strncmp(line + i, "**", 2) == 0) {
            i++;
        } else if (row && strncmp(line + i, " | ", 3) == 0) {
            printf(": ");
            i += 2;
        } else if (line[i] != '`') {
            putchar(line[i]);
        }
    }
    putchar('\n');
}

/* The part of a page that stands below `heading`, up to the next one. False if there is none. */
static bool print_part(const char *page, const char *heading)
{
    const char *at = strstr(page, heading);
    if (at == NULL) {
        return false;
    }
    at += strcspn(at, "\n");
    at += strspn(at, "\n");
    while (*at != '\0' && *at != '#') {
        size_t bytes = strcspn(at, "\n");
        bool last = at[bytes] == '\0' || at[bytes + 1] == '#';
        if (bytes > 0 || !last) {
            print_line(at, bytes);
        }
        at += bytes + (at[bytes] == '\n');
    }
    return true;
}

static bool explain_code(const char *name)
{
    char *end;
    long code = strtol(name, &end, 10);
    for (size_t i = 0; *end == '\0' && end != name && i < exit_code_count(); i++) {
        if (exit_code_at(i)->code == code) {
            printf("exit code %ld: %s.\nFail beats unknown, unknown beats pass; a violation beats "
                   "an environment that failed.\n",
                   code, exit_code_at(i)->meaning);
            return true;
        }
    }
    return false;
}

static const char *explain_nearest(const char *name)
{
    const char *best = NULL;
    size_t best_distance = 4;
    for (size_t i = 0; i < check_count(); i++) {
        if (text_distance(name, check_at(i)->name) < best_distance) {
            best = check_at(i)->name;
            best_distance = text_distance(name, best);
        }
    }
    for (int kind = FAULT_NONE + 1; kind < FAULT_KINDS; kind++) {
        if (text_distance(name, fault_kind_name((enum fault_kind)kind)) < best_distance) {
            best = fault_kind_name((enum fault_kind)kind);
            best_distance = text_distance(name, best);
        }
    }
    return best;
}

int command_explain(int argc, char **argv)
{
    const char *name = NULL;
    char check[80];
    char fault[80];
    command_parse(&explain_argp, argc, argv, &name);
    (void)snprintf(check, sizeof check, "\n### `%.60s`\n", name);
    (void)snprintf(fault, sizeof fault, "\n## `%.60s`\n", name);
    if (explain_code(name) || print_part(explain_checks_page, check + 1) ||
        print_part(explain_faults_page, fault + 1)) {
        return EXIT_MET;
    }
    const char *best = explain_nearest(name);
    fprintf(stderr, "picklock explain: \"");
    foreign_print_line(stderr, name);
    fprintf(stderr, "\" is no check, fault or exit code");
    if (best != NULL) {
        fprintf(stderr, "; did you mean \"%s\"?\n", best);
    } else {
        fprintf(stderr, "; `picklock list checks` and `picklock list faults` name them\n");
    }
    return EXIT_USAGE;
}
