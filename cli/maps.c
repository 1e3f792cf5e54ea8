/* maps.c: what is assumed in place of `--map`, and what is odd about it. */
#include "cli/maps.h"

#include "base/foreign.h"
#include "history/guess.h"

#include <stdio.h>
#include <string.h>

const struct history_map *maps_assume(const char *path, const char *shown, struct history_map *map)
{
    char memory[4096];
    struct text name = text_over(memory, sizeof memory);
    if (!history_map_guess(path, map)) {
        return NULL;
    }
    text_add_foreign(&name, shown, strlen(shown));
    fprintf(stderr,
            "%s: read as --map %s, told by its first lines; if it is not, say --map plain or what "
            "it is (docs/LINEARIZABLE.md)\n",
            name.data, map->preset);
    return map;
}

void maps_warn_of_unmet(const struct history_map *map, const struct history_met *met,
                        const char *shown)
{
    char memory[2][4096];
    struct text names = text_over(memory[0], sizeof memory[0]);
    struct text path = text_over(memory[1], sizeof memory[1]);
    history_map_unmet(map, met, &names);
    if (names.length > 0) {
        text_add_foreign(&path, shown, strlen(shown));
        fprintf(stderr, "%s: warning: no failure in it has an error that --map names: %s\n",
                path.data, names.data);
    }
}
