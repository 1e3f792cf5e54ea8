/*
 * maps.h: what a user is told of `--map`.
 *
 *     struct history_met met = {0};
 *     struct history_reader_options reading = {.map = &map, .met = &met};
 *     ...read the history...
 *     maps_warn_of_unmet(&map, &met, "history.edn");
 */
#ifndef CLI_MAPS_H
#define CLI_MAPS_H

#include "history/foreign.h"

/* The map of a history for which the user named none: NULL, or one told by its first lines, with a
 * line on stderr that says which, and how to say otherwise. */
const struct history_map *maps_assume(const char *path, const char *shown, struct history_map *map);

/* One line on stderr if the map's text names errors that no failure of the history had: a name that
 * stands nowhere is mostly one that was mistyped, and says nothing. */
void maps_warn_of_unmet(const struct history_map *map, const struct history_met *met,
                        const char *shown);

#endif
