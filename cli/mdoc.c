/* mdoc.c: pages of the manual in mdoc(7). */
#include "cli/mdoc.h"

#include "base/version.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The day of the version as mdoc wants it: "November 22, 2026". */
static void print_date(void)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    static const char date[] = PICKLOCK_DATE;
    int month = 10 * (date[5] - '0') + date[6] - '0';
    int day = 10 * (date[8] - '0') + date[9] - '0';
    printf(".Dd %s %d, %.4s\n", months[(month + 11) % 12], day, date);
}

void mdoc_begin(const char *title, int section, const char *name, const char *about)
{
    print_date();
    printf(".Dt %s %d\n.Os\n.Sh NAME\n.Nm %s\n.Nd %s\n", title, section, name, about);
}

void mdoc_section(const char *heading)
{
    printf(".Sh %s\n", heading);
}

void mdoc_subsection(const char *heading)
{
    printf(".Ss %s\n", heading);
}

/* One line of output: roff takes a leading dot or quote for a request, and backslashes for its own.
 * A sentence that ends begins a new line, as mdoc(7) asks. */
static void print_words(const char *words)
{
    bool open = false;
    bool start = true;
    for (const char *c = words; *c != '\0'; c++) {
        if (start && (*c == '.' || *c == '\'')) {
            printf("\\&");
        }
        start = false;
        if (*c == '\\') {
            printf("\\e");
        } else if (*c == '`') {
            printf(open ? "\\fR" : "\\fB");
            open = !open;
        } else if (*c == '-' && open) {
            printf("\\-");
        } else if ((*c == '.' || *c == ':') && c[1] == ' ' && c[2] >= 'A' && c[2] <= 'Z') {
            printf("%c\n", *c);
            c++;
            start = true;
        } else if (*c == '\n') {
            printf("\n");
            start = true;
            while (c[1] == ' ' || c[1] == '\n') {
                c++;
            }
        } else {
            putchar(*c);
        }
    }
    printf("%s\n", open ? "\\fR" : "");
}

void mdoc_text(const char *words)
{
    print_words(words);
}

void mdoc_list_begin(void)
{
    printf(".Bl -tag -width Ds\n");
}

void mdoc_item(const char *term)
{
    printf(".It ");
    for (const char *c = term; *c != '\0'; c++) {
        printf(*c == '-' ? "\\-" : *c == '\\' ? "\\e" : "%c", *c);
    }
    printf("\n");
}

void mdoc_list_end(void)
{
    printf(".El\n");
}

void mdoc_display(const char *lines)
{
    printf(".Bd -literal -offset indent\n");
    for (const char *line = lines; *line != '\0';) {
        size_t bytes = strcspn(line, "\n");
        printf("%s", *line == '.' || *line == '\'' ? "\\&" : "");
        for (size_t i = 0; i < bytes; i++) {
            printf(line[i] == '\\' ? "\\e" : line[i] == '-' ? "\\-" : "%c", line[i]);
        }
        printf("\n");
        line += bytes + (line[bytes] == '\n');
    }
    printf(".Ed\n");
}

void mdoc_options(const struct argp_option *options)
{
    mdoc_list_begin();
    for (const struct argp_option *option = options; option != NULL && option->name != NULL;
         option++) {
        printf(".It");
        if (option->key > ' ' && option->key < 127) {
            printf(" Fl %c ,", option->key);
        }
        printf(" Fl \\-%s", option->name);
        if (option->arg != NULL && (option->flags & OPTION_ARG_OPTIONAL) != 0) {
            printf(" Ns Oo Ns = Ns Ar %s Oc", option->arg);
        } else if (option->arg != NULL) {
            printf(" Ar %s", option->arg);
        }
        printf("\n");
        print_words(option->doc);
    }
    printf(".It Fl \\-help\ntell what this command does\n.It Fl \\-version\nprint the version\n");
    mdoc_list_end();
}
