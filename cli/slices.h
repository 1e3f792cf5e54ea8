/*
 * slices.h: reports of runs that go on at the same time, put back into the order of their agenda.
 *
 *     slice = slices_begin(&slices, group)        when its runs begin
 *     slice_add(slice, &report, why)              as they come
 *     slice_end(slice)
 *     while (slices_take(&slices, &group, &report)) ...
 *
 * So what is said of many runs does not depend on which of them was done first.
 */
#ifndef CLI_SLICES_H
#define CLI_SLICES_H

#include "cli/run_one.h"

struct slice;

struct slices {
    struct slice *first; /* owned: the oldest that is not all taken */
    struct slice *last;
    size_t bytes; /* that wait */
};

/* NULL if there is no memory. */
struct slice *slices_begin(struct slices *slices, size_t group);

/* Fails with ERROR_IO if there is no memory. */
MUST_USE struct result slice_add(struct slices *slices, struct slice *slice,
                                 const struct run_report *report, struct text *why);

/* No more come. */
void slice_end(struct slice *slice);

/* The next report in order, if it is there. */
bool slices_take(struct slices *slices, size_t *group, struct run_report *report);

void slices_release(struct slices *slices);

#endif
