/*
 * baseline.h: an earlier release's results beside these: what is new, what is mended, and what is
 * only luck. docs/GATE.md says how it decides.
 *
 *     baseline_read(path, arena, &baseline, why)
 *     baseline_run(baseline, group index, group, run)      after every run
 *     baseline_end(baseline, groups, count, ...)           tells, and gives the exit code
 */
#ifndef CLI_BASELINE_H
#define CLI_BASELINE_H

#include "cli/report.h"

#include "base/arena.h"

struct baseline;

/*
 * Read what `picklock run --json` or `picklock merge --json` printed.
 *
 * Fails with ERROR_IO, or ERROR_SCHEMA with the line that is none.
 */
MUST_USE struct result baseline_read(const char *path, struct arena *arena,
                                     struct baseline **baseline, struct text *why);

/* Make room for the groups that will be told of. */
MUST_USE struct result baseline_begin(struct baseline *baseline, size_t group_count,
                                      struct text *why);

/* One more run of a group. */
void baseline_run(struct baseline *baseline, size_t index, const struct report_group *group,
                  const struct run_report *run);

/* Whether the scenario is new, has changed, or was not as expected: worth to be looked at first. */
bool baseline_matters(const struct baseline *baseline, const struct scenario *scenario,
                      uint64_t content);

/* How long the scenario was in this world, in true time; 0 if it is not known. */
int64_t baseline_virtual_ns(const struct baseline *baseline, const struct scenario *scenario,
                            const char *world);

enum { BASELINE_TEXT_BYTES = 256 * 1024 };

/* Tell what is new and what is not, a line each. Gives the exit code beside the baseline: 1 only
 * for what is new. */
int baseline_end(const struct baseline *baseline, const struct report_group *groups, size_t count,
                 struct text *text);

/* Give back what the arena does not hold. */
void baseline_release(struct baseline *baseline);

#endif
