/*
 * apart.h: scenarios that do not apply to the lock under test: not run, and told with the reason.
 */
#ifndef CLI_APART_H
#define CLI_APART_H

#include "cli/files.h"
#include "harness/scenario_needs.h"

struct apart {
    char name[SCENARIO_NAME_BYTES];
    char about[SCENARIO_TEXT_BYTES];
    char why[WHY_BYTES];
};

struct apart_list {
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

/* Whether any of them needs something of its lock. */
bool apart_needed(const struct scenario_list *scenarios);

#endif
