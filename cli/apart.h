/*
 * apart.h: scenarios that do not apply to the lock under test: not run, and told with the reason.
 */
#ifndef CLI_APART_H
#define CLI_APART_H

#include "cli/agenda.h"
#include "cli/files.h"
#include "harness/scenario_needs.h"

struct apart {
    char name[SCENARIO_NAME_BYTES];
    char about[SCENARIO_TEXT_BYTES];
    char why[WHY_BYTES];
};

struct apart_list {
    bool cluster; /* in: the real world's nodes are those of a cluster: redis-servers */
    size_t count;
    struct apart *list; /* in the arena */
};

/*
 * Take those that do not apply out of the scenarios.
 *
 *   nature  in   What the lock is; NULL: each scenario's own algorithm, which is known.
 */
MUST_USE struct result apart_sort(struct scenario_list *scenarios, const struct lock_nature *nature,
                                  struct arena *arena, struct apart_list *apart, struct text *why);

/*
 * Find those whose servers one of the worlds does not have (the last of the order's is the real
 * one), or cannot be struck there as the scenario says, or which are not installed: they are not
 * run in it, and told with the reason. After apart_sort, whose list goes on.
 */
MUST_USE struct result apart_absent(const struct scenario_list *scenarios,
                                    struct agenda_order *runs, struct arena *arena,
                                    struct apart_list *apart, struct text *why);

/* One as a line of JSON. */
void apart_print(const struct apart *apart, struct text *line);

/* Whether any of them says what its lock must have, or lack. */
bool apart_needed(const struct scenario_list *scenarios);

#endif
