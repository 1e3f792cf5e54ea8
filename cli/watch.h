/* watch.h: `picklock run --watch`: everything again whenever a scenario file changes. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/each.h"

/*
 * Returns in a child, who is to run once: first at once, then after each change of a file or folder
 * that `paths` name. The parent never returns: it ends with 130 when it is interrupted.
 */
void watch_begin(const struct scenario_paths *paths);

#endif
