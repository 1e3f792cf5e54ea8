/*
 * batch_page.h: the page of a batch, OUT/index.html: what went wrong and how often.
 *
 * Causes first, those of runs that are not as expected before the others; then each scenario in
 * each world, with the rate of violations, its 95 % interval (Wilson's), its rate over the runs,
 * and a box a seed.
 */
#ifndef CLI_BATCH_PAGE_H
#define CLI_BATCH_PAGE_H

#include "cli/tally.h"

/* The interval that a rate of k in n comes from, 19 times out of 20. */
void wilson_interval(uint64_t k, uint64_t n, double interval[2]);

/* Write it into `out`, which is made. One run is no batch: it leaves the page of an earlier one as
 * it is. ERROR_IO if it cannot be written. */
MUST_USE struct result batch_page_write(const struct tally *tally, const char *out,
                                        struct text *why);

#endif
