/*
 * mdoc.h: pages of the manual in mdoc(7), on stdout.
 *
 *     mdoc_begin("PICKLOCK", 1, "picklock", "tries to pick distributed locks");
 *     mdoc_section("DESCRIPTION");
 *     mdoc_text("Plain words, with `code` in backticks.");
 */
#ifndef CLI_MDOC_H
#define CLI_MDOC_H

#include "cli/command.h"

void mdoc_begin(const char *title, int section, const char *name, const char *about);
void mdoc_section(const char *heading);
void mdoc_subsection(const char *heading);

/* A paragraph of plain words; what stands in backticks is set off. */
void mdoc_text(const char *words);

/* A list of terms, each with words below it. */
void mdoc_list_begin(void);
void mdoc_item(const char *term);
void mdoc_list_end(void);

/* Lines as they are, indented. */
void mdoc_display(const char *lines);

/* The options of a command. */
void mdoc_options(const struct argp_option *options);

#endif
