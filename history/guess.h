/*
 * guess.h: tells by the first lines of a foreign history which preset reads it.
 *
 *     struct history_map map;
 *     if (history_map_guess("history.edn", &map)) ... say so, and read it with &map
 *
 * A preset is told only by what no other history of locks has in that place: the words of its own
 * errors and tokens, or values that all lie in pairs or name each acquire.
 */
#ifndef HISTORY_GUESS_H
#define HISTORY_GUESS_H

#include "history/foreign.h"

/*
 * False, and no word of it, where the usual names will do, where picklock wrote the file, and where
 * it cannot be read: whoever reads it says why. Pipes are left alone.
 */
bool history_map_guess(const char *path, struct history_map *map);

#endif
