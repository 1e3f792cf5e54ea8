/*
 * bundle.h: a failing run as a file that makes it happen again.
 *
 *     picklock-bundle 1
 *     picklock 0.1.0
 *     seed 7
 *     stress 100000000                  where everything was put off by up to so many ns
 *     events 103 9f86d081884c7d65       how many, and the hash over all
 *     marks 2 51                        a mark every 2 events; 51 of them follow
 *     5d41402a bc4b2a76 ...
 *     choices 1                         where the run departs from what the seed decides
 *     tie 12 3 99
 *     verdict 2                         lines, as the command worded them
 *     exclusion fail assumption
 *     section_exclusion fail assumption
 *     scenario late-set 812             its name, and bytes: the plan in the form of a scenario
 *     version: 1
 *     ...
 *     end
 *
 * The scenario has every drawn fault written out, so that a change in how faults are drawn does
 * not change the run. The seed decides ties and latencies, each by itself (choice.h).
 */
#ifndef HARNESS_SIM_BUNDLE_H
#define HARNESS_SIM_BUNDLE_H

#include "base/arena.h"
#include "base/result.h"
#include "harness/sim/choice.h"
#include "harness/sim/trace.h"

enum {
    BUNDLE_FORMAT = 1,
    BUNDLE_VERDICT_BYTES = 4096,
    BUNDLE_BYTES_MAX = 2 << 20, /* a file */
};

struct bundle {
    char picklock[16]; /* the version that made it */
    char scenario[SCENARIO_NAME_BYTES];
    uint64_t seed;
    struct choices choices;
    struct trace trace;                 /* its events, hash and marks */
    char verdict[BUNDLE_VERDICT_BYTES]; /* lines, each ended by a newline */
    struct plan plan;
};

/* Write; fails with ERROR_IO. */
MUST_USE struct result bundle_write(const char *path, const struct bundle *bundle,
                                    struct text *why);

/*
 * Read. Fails with ERROR_IO, or with ERROR_SCHEMA and "PATH:LINE: sentence": no bundle, made by
 * another version, cut short, damaged. The arena is for the time of the call.
 */
MUST_USE struct result bundle_read(const char *path, struct arena *arena, struct bundle *bundle,
                                   struct text *why);

/*
 * Run it again: `next` gets the events, `now` is what was seen. Whether it went as recorded:
 * trace_equal(&bundle->trace, now, where).
 */
MUST_USE struct result bundle_replay(const struct bundle *bundle, struct recorder *next,
                                     struct trace *now, struct text *why);

#endif
