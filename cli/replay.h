/* replay.h: keeps a simulated run as a bundle that `picklock replay` runs again. */
#ifndef CLI_REPLAY_H
#define CLI_REPLAY_H

#include "cli/recording.h"

MUST_USE struct result replay_store(const struct plan *plan, const struct recording *recording,
                                    const char *path, struct text *why);

#endif
