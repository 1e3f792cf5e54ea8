/* pages.c: the pages of docs/ that the command tells from. */
#include "cli/pages.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

enum { HEADING_BYTES = 80, CELLS_MAX = 8 };

#define PAGE(name, path)                                                                           \
    extern const char name[];                                                                      \
    __asm__(".pushsection .rodata\n.global " #name "\n.hidden " #name "\n" #name ":\n"             \
            ".incbin \"" path "\"\n.byte 0\n.popsection")
PAGE(pages_checks, "docs/CHECKS.md");
PAGE(pages_faults, "docs/FAULTS.md");
PAGE(pages_scenario, "docs/SCENARIO.md");
PAGE(pages_algorithms, "docs/ALGORITHMS.md");
PAGE(pages_adapters, "docs/ADAPTERS.md");
PAGE(pages_history, "docs/HISTORY.md");

static const char *const pages[PAGES_COUNT] = {
    [PAGES_CHECKS] = pages_checks,     [PAGES_FAULTS] = pages_faults,
    [PAGES_SCENARIO] = pages_scenario, [PAGES_ALGORITHMS] = pages_algorithms,
    [PAGES_ADAPTERS] = pages_adapters, [PAGES_HISTORY] = pages_history,
};

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

/* What stands below the heading of `name`; NULL if there is none. */
static const char *part_of(enum pages page, const char *level, const char *name)
{
    char heading[HEADING_BYTES];
    (void)snprintf(heading, sizeof heading, "\n%s`%.60s`\n", level, name);
    const char *at = strstr(pages[page], heading);
    if (at == NULL) {
        return NULL;
    }
    at += strlen(heading);
    return at + strspn(at, "\n");
}

bool pages_print_part(enum pages page, const char *level, const char *name)
{
    const char *at = part_of(page, level, name);
    if (at == NULL) {
        return false;
    }
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

/* Print `bytes` of Markdown without its marks: of a link its words. */
static void print_words(const char *words, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        size_t closes = i + strcspn(words + i, "]");
        bool link = closes + 1 < bytes && words[closes + 1] == '(';
        if (words[i] == ']' && link) {
            i += strcspn(words + i, ")");
        } else if (words[i] != '`' && words[i] != '*' && (words[i] != '[' || !link)) {
            putchar(words[i]);
        }
    }
}

struct cell {
    const char *words;
    size_t bytes;
};

/* The cells of a row, without the blanks around them. Gives how many there are. */
static size_t cells_of(const char *row, struct cell cells[CELLS_MAX])
{
    size_t count = 0;
    const char *end = row + strcspn(row, "\n");
    while (count < CELLS_MAX && *row == '|' && row + 1 < end) {
        row += 1 + strspn(row + 1, " ");
        const char *edge = row;
        while (edge < end && (*edge != '|' || edge[-1] == '\\')) {
            edge++;
        }
        size_t bytes = (size_t)(edge - row);
        while (bytes > 0 && row[bytes - 1] == ' ') {
            bytes--;
        }
        cells[count++] = (struct cell){row, bytes};
        row = edge;
    }
    return count;
}

/* Whether a word of a row's first cell is `name`, in backquotes, or a key that ends in it. */
static bool is_about(const struct cell *cell, const char *name)
{
    size_t bytes = strlen(name);
    const char *cell_end = cell->words + cell->bytes;
    const char *at = cell->words;
    while (bytes > 0 && at < cell_end && *at == '`') {
        const char *end = memchr(at + 1, '`', (size_t)(cell_end - at - 1));
        if (end == NULL) {
            return false;
        }
        const char *word = end - bytes;
        if (word > at && memcmp(word, name, bytes) == 0 &&
            (word[-1] == '`' || word[-1] == '.' || word[-1] == '/')) {
            return true;
        }
        at = end + 1 + strspn(end + 1, ", ");
    }
    return false;
}

/* A walk through the rows of a page that are about one name. */
struct row_walk {
    const char *at;
    const char *head; /* of the table that `at` is in */
    bool within;
    struct cell cells[CELLS_MAX];
    size_t count;
};

/* Step to the next row about `name`. False if there is none. */
static bool walk_next(struct row_walk *walk, const char *name)
{
    while (*walk->at != '\0') {
        const char *line = walk->at;
        bool row = *line == '|';
        walk->head = row && !walk->within ? line : walk->head;
        walk->within = row;
        walk->at += strcspn(line, "\n");
        walk->at += *walk->at == '\n';
        walk->count = cells_of(line, walk->cells);
        if (walk->count > 1 && is_about(&walk->cells[0], name)) {
            return true;
        }
    }
    return false;
}

bool pages_print_rows(enum pages page, const char *name)
{
    struct row_walk walk = {.at = pages[page]};
    bool any = false;
    while (walk_next(&walk, name)) {
        struct cell heads[CELLS_MAX];
        size_t head_count = cells_of(walk.head, heads);
        print_words(walk.cells[0].words, walk.cells[0].bytes);
        printf("%s\n", page == PAGES_HISTORY ? " (in a history)" : "");
        for (size_t i = 1; i < walk.count && i < head_count; i++) {
            printf("  ");
            print_words(heads[i].words, heads[i].bytes);
            printf("%s", heads[i].bytes > 0 ? ": " : "");
            print_words(walk.cells[i].words, walk.cells[i].bytes);
            putchar('\n');
        }
        any = true;
    }
    return any;
}

void pages_print_sentence(enum pages page, const char *level, const char *name)
{
    const char *at = part_of(page, level, name);
    ASSERT(at != NULL);
    size_t bytes = 0;
    while (at[bytes] != '\0' &&
           !(at[bytes] == '.' && (at[bytes + 1] == ' ' || at[bytes + 1] == '\n'))) {
        bytes++;
    }
    print_words(at, bytes);
    printf(".\n");
}

void pages_print_cell(enum pages page, const char *name)
{
    struct row_walk walk = {.at = pages[page]};
    bool found = walk_next(&walk, name);
    ASSERT(found);
    print_words(walk.cells[walk.count - 1].words, walk.cells[walk.count - 1].bytes);
    putchar('\n');
}
