/*
 * dry.h: one run that is looked at and not reported: what kind of lock is this, what does it send?
 */
#ifndef CLI_DRY_H
#define CLI_DRY_H

#include "base/arena.h"
#include "cli/loaded.h"
#include "cli/run_one.h"
#include "harness/scenario_needs.h"

struct dry_order {
    const struct scenario *scenario;
    const char *adapter; /* or NULL: our own lock, in the simulator */
    int64_t time_scale_ppm;
    const char *out; /* a folder in it is used, and removed; before that it is shown to: */
    void (*look)(const char *folder, void *data); /* or NULL */
    void *data;
};

/*
 * Run it once and read what was recorded.
 *
 *   loaded  out  Filled on success; the caller releases it.
 *
 * Returns the error of the run, with its sentence in `why`.
 */
MUST_USE struct result dry_run(const struct dry_order *order, struct arena *arena,
                               struct loaded *loaded, struct text *why);

/* A scenario from text, such as one that a command makes up itself: it must be right. */
void dry_scenario(const char *name, const char *text, struct arena *arena,
                  struct scenario *scenario);

/*
 * Find out what the library behind an adapter is: it is asked for a lock, alone, on three nodes; or
 * on one, if it takes no more.
 */
MUST_USE struct result dry_nature(const char *adapter, const char *out, struct arena *arena,
                                  struct lock_nature *nature, struct text *why);

#endif
