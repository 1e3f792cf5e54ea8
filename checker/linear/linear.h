/*
 * linear.h: is there a legal order of all operations for a lock?
 *
 *     struct linear_options options = linear_options_default(LINEAR_OWNER);
 *     struct linear *linear = linear_open(&options);
 *     for each event: linear_event(linear, &event);
 *     linear_finish(linear);
 *     const struct linear_result *result = linear_result(linear);
 *     linear_close(linear);
 *
 * Each resource is judged apart. An operation is an interval [invoke, return]; A precedes B only if
 * A returned at a smaller time than B was invoked at, so intervals that touch are concurrent. An
 * operation that ended `info`, or never, may have taken effect at any time after its invoke, or not
 * at all. docs/LINEARIZABLE.md has the models, the policies and the proofs.
 *
 * Histories in which each acquire has an identity of its own (a value, or an owner that takes
 * turns) are judged as they arrive, in memory by live holds; so is a mutex that anyone may release,
 * in memory by operations under way. The rest needs `log_bytes_max` > 0: the operations are kept
 * and judged by linear_finish.
 */
#ifndef CHECKER_LINEAR_LINEAR_H
#define CHECKER_LINEAR_LINEAR_H

#include "checker/linear/model.h"
#include "history/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct linear;

/* NULL if the system has no memory for it. */
struct linear *linear_open(const struct linear_options *options);
void linear_event(struct linear *linear, const struct history_event *event);
void linear_finish(struct linear *linear);
const struct linear_result *linear_result(const struct linear *linear);
void linear_close(struct linear *linear);

/*
 * After a pass with options.order: the legal order, by resource: indices of invokes. Unknown
 * operations that need not have taken effect are left out. Borrowed until linear_close.
 */
size_t linear_order(const struct linear *linear, const uint64_t **invokes);

/*
 * Behind linear_finish: how many locks have a verdict of their own, or, with `settled` false, have
 * none since a limit was reached before; the first `room` of them are written to `resources`.
 */
uint64_t linear_locks(const struct linear *linear, bool settled, uint32_t *resources,
                      uint32_t room);

#endif
