/*
 * duration.h: lengths of time. Inside picklock every time is an int64 number of nanoseconds.
 *
 *     "250ms" -> 250000000        250000000 -> "250ms"
 *
 * Units: ns, us, ms, s, m, h. A bare number is an error.
 */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include "base/result.h"
#include "base/text.h"

#include <stdint.h>

#define NS_PER_US ((int64_t)1000)
#define NS_PER_MS (1000 * NS_PER_US)
#define NS_PER_S  (1000 * NS_PER_MS)

/* The longest duration that is accepted: 10 years. Sums of a thousand still fit in an int64. */
#define DURATION_NS_MAX (10 * 365 * 24 * 3600 * NS_PER_S)

/* The same, or the longest: of what came from outside. */
static inline int64_t duration_at_most(int64_t duration_ns)
{
    return duration_ns < DURATION_NS_MAX ? duration_ns : DURATION_NS_MAX;
}

/* "No such time": later than every other. */
#define TIME_NEVER INT64_MAX

/* Read a duration, sign allowed ("-60s"); fails with ERROR_SYNTAX or ERROR_LIMIT. */
MUST_USE struct result duration_parse(const char *word, int64_t *duration_ns, struct text *why);

/* Print exactly, in the largest unit that leaves a whole number: 1500ms, 10s, 0s. */
void duration_print(int64_t duration_ns, struct text *text);

/* Print for people, with four digits that count: 1.5 s, 58.63 ms, 412 ms, 1204 s. */
void duration_print_short(int64_t duration_ns, struct text *text);

/* A moment of a run, for people, to a microsecond: 59.191 ms, 988 ms, 1.056607 s, 4.948 s. */
void moment_print(int64_t time_ns, struct text *text);

/* Print for people, rounded to three digits behind the point: 1.500 s, 412.000 ms. */
void duration_print_rounded(int64_t duration_ns, struct text *text);

#endif
