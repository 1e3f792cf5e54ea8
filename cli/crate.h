/*
 * crate.h: a kept run as one file that somebody else can look at, and run again: .tar.zst.
 *
 *     crate_write("picklock-out/alone/1/real", "alone-1-real.tar.zst", why);
 *     crate_open("alone-1-real.tar.zst", folder, why);      ... results_remove(folder);
 *
 * In it are all files of the run (history, scenario, what the simulator needs to run it again, logs
 * of servers and clients, the page, rerun.sh), and two more: `versions`, of everything that took
 * part, and `verdict`, of every check that judged something.
 */
#ifndef CLI_CRATE_H
#define CLI_CRATE_H

#include "cli/files.h"
#include "cli/loaded.h"

/* Pack the folder of a kept run. */
MUST_USE struct result crate_write(const char *folder, const char *path, struct text *why);

/* Unpack into a new folder; on failure nothing is left. */
MUST_USE struct result crate_open(const char *path, char folder[FILES_PATH_BYTES],
                                  struct text *why);

/* "exclusion fail library", a line for each check that judged something. */
void crate_verdicts(const struct loaded *loaded, struct text *text);

#endif
