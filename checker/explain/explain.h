/*
 * explain.h: tells a violation as a story: who held which majority, why each key was gone, which
 * fault did it, and whom to blame.
 *
 * Needs the whole history in memory, in order; used after a verdict, not during a run.
 */
#ifndef CHECKER_EXPLAIN_H
#define CHECKER_EXPLAIN_H

#include "base/text.h"
#include "checker/check.h"

struct explain_history {
    const struct history_header *header;
    const struct history_event *events;
    size_t count;
    /* Names of resources, by index; NULL: r0, r1, ... */
    const char *const *resources;
};

/* One sentence: "exclusion: client 2 was granted r0 412 ms before client 1's lease ended". */
void explain_headline(const struct explain_history *history, const struct check *check,
                      const struct check_result *result, struct text *text);

/* The story, at most a screen: the causal chain in sentences, times relative to the violation, the
 * blame and what to do about it. */
void explain_story(const struct explain_history *history, const struct check *check,
                   const struct check_result *result, struct text *text);

#endif
