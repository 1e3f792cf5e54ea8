/*
 * fisher.h: whether two rates differ by more than luck, exactly.
 *
 *     hits of runs then, and hits of runs now:      then   3 of 200
 *                                                   now   11 of 200      p = 0.026
 *
 * Fisher's exact test: of all ways to spread the hits over both, the share of those that are at
 * least as extreme. No approximation, so that it holds for one run as for a billion.
 */
#ifndef CLI_FISHER_H
#define CLI_FISHER_H

#include <stdint.h>

struct rates {
    uint64_t hits_then, runs_then;
    uint64_t hits_now, runs_now;
};

/* The chance of as many hits now, or more, if the rate is the same. */
double fisher_more(const struct rates *rates);

/* The chance of a split of the hits that is as unlikely as this one, or more so, either way. */
double fisher_differs(const struct rates *rates);

/* The smallest p that fisher_more could have given, had every run now been a hit: what is above the
 * level asked for could not have told anything. */
double fisher_power(const struct rates *rates);

#endif
