/*
 * filter.h: `picklock run --filter WORDS`: some of the scenarios, by name and by tag.
 *
 *     pause,!wrong     those with "pause" in their names, or tagged so; none tagged "wrong"
 *
 * A scenario's tags are in it already: its lock, its kinds of fault, and the folders it lies in.
 */
#ifndef CLI_FILTER_H
#define CLI_FILTER_H

#include "cli/files.h"

/* Take out those that do not match. ERROR_USAGE if none is left. */
MUST_USE struct result filter_scenarios(const char *words, struct scenario_list *scenarios,
                                        struct text *why);

#endif
