/*
 * pages.h: the pages of docs/ that the command tells from, so that they and it cannot tell two
 * stories.
 *
 *     pages_print_part(PAGES_FAULTS, "## ", "pause")     what stands below that heading
 *     pages_print_rows(PAGES_SCENARIO, "ttl")            the row of lock.ttl, its cells named
 *
 * Marks of Markdown are left out: it is for a terminal.
 */
#ifndef CLI_PAGES_H
#define CLI_PAGES_H

#include <stdbool.h>

enum pages {
    PAGES_CHECKS,
    PAGES_FAULTS,
    PAGES_SCENARIO,
    PAGES_ALGORITHMS,
    PAGES_ADAPTERS,
    PAGES_HISTORY,
    PAGES_COUNT
};

/* Print what stands below the heading of `name`, to the next heading. False if there is none. */
bool pages_print_part(enum pages page, const char *level, const char *name);

/* Print each row of a table that is about `name`, or a key that ends in it. False if none is. */
bool pages_print_rows(enum pages page, const char *name);

/* Print the first sentence below that heading, on one line. */
void pages_print_sentence(enum pages page, const char *level, const char *name);

/* Print the last cell of the first row that is about `name`, on one line. */
void pages_print_cell(enum pages page, const char *name);

#endif
