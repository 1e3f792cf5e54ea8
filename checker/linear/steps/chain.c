/* chain.c: what can be said for sure about who held a lock when, one event at a time. */
#include "checker/linear/steps/chain.h"

#include "base/assert.h"

struct linear_chain chain_empty(void)
{
    return (struct linear_chain){.last = CHAIN_NO_HOLD,
                                 .fence_acquire = CHAIN_NO_OPERATION,
                                 .fence_release = CHAIN_NO_OPERATION};
}

struct linear_hold hold_empty(void)
{
    return (struct linear_hold){.asked = POSITION_NEVER,
                                .granted = POSITION_NEVER,
                                .released = POSITION_NEVER,
                                .released_unknown = POSITION_NEVER,
                                .until = POSITION_NEVER,
                                .bound = POSITION_NEVER,
                                .acquire = CHAIN_NO_OPERATION,
                                .release = CHAIN_NO_OPERATION,
                                .bound_by = {CHAIN_NO_OPERATION, CHAIN_NO_OPERATION}};
}

/* The first bound is the tightest: whatever comes later lies behind it. */
static void hold_bind(struct linear_hold *hold, int64_t bound, enum linear_reason reason,
                      uint64_t acquire, uint64_t release)
{
    if (bound < hold->bound) {
        hold->bound = bound;
        hold->bound_reason = (uint8_t)reason;
        hold->bound_by[0] = acquire;
        hold->bound_by[1] = release;
    }
}

/* The end moved to the right: does it pass the bound? `mover` moved it. */
static void hold_check_bound(const struct linear_hold *hold, uint64_t mover,
                             struct linear_finding *finding)
{
    if (hold->granted == POSITION_NEVER || hold_end(hold) <= hold->bound) {
        return;
    }
    finding_begin(finding, hold->bound_reason, GRADE_NOT_LINEARIZABLE);
    finding_add(finding, hold->acquire);
    finding_add(finding, mover);
    finding_add(finding, hold->bound_by[0]);
    finding_add(finding, hold->bound_by[1]);
}

/* A hold of no length at a place in [from, to] must lie outside the cores. Only the newest core
 * that began before `from` can contain it, and only if it is the newest of all: the next core would
 * be a bound in front of `to`. */
static void chain_place_point(struct linear_chain *chain, struct linear_hold *holds,
                              const int64_t window[2], const uint64_t operations[2],
                              struct linear_finding *finding)
{
    if (chain->last == CHAIN_NO_HOLD) {
        return;
    }
    struct linear_hold *newest = &holds[chain->last];
    if (newest->granted > window[0]) {
        return;
    }
    if (hold_end(newest) <= window[1]) {
        hold_bind(newest, window[1], LINEAR_POINT_INSIDE, operations[0], operations[1]);
        return;
    }
    finding_begin(finding, LINEAR_POINT_INSIDE, GRADE_NOT_LINEARIZABLE);
    finding_add(finding, newest->acquire);
    finding_add(finding, operations[0]);
    finding_add(finding, operations[1]);
}

static void chain_check_fence(struct linear_chain *chain, struct linear_hold *hold,
                              struct linear_finding *finding)
{
    if (hold->fence == 0) {
        return;
    }
    if (hold->fence <= chain->fence_highest) {
        finding_begin(finding, LINEAR_FENCE_ORDER, GRADE_NOT_LINEARIZABLE);
        finding_add(finding, chain->fence_acquire);
        finding_add(finding, chain->fence_release);
        finding_add(finding, hold->acquire);
        return;
    }
    chain->fence_highest = hold->fence;
    chain->fence_acquire = hold->acquire;
    chain->fence_release = CHAIN_NO_OPERATION;
}

void chain_grant(struct linear_chain *chain, struct linear_hold *holds, uint32_t slot,
                 int64_t returned, struct linear_finding *finding)
{
    struct linear_hold *hold = &holds[slot];
    ASSERT(hold->granted == POSITION_NEVER);
    hold->granted = returned;
    ASSERT(hold->until >= returned); /* whose promise was over by then is not placed here */
    hold->in_chain = true;
    if (chain->last != CHAIN_NO_HOLD) {
        ASSERT(chain->last != slot);
        struct linear_hold *before = &holds[chain->last];
        int64_t from = hold->asked > hold->released ? hold->asked : hold->released;
        bool of_no_length = hold->released < returned;
        if (of_no_length && before->granted > from) {
            /* Its place can be in front of the newest core, unless its release does nothing. */
            chain->unclear = chain->unclear || hold_end(before) <= returned;
            hold_bind(hold, returned, LINEAR_TWO_HOLDS, before->acquire, CHAIN_NO_OPERATION);
            return;
        }
        if (hold_end(before) <= returned) {
            hold_bind(before, returned, LINEAR_TWO_HOLDS, hold->acquire,
                      of_no_length ? hold->release : CHAIN_NO_OPERATION);
        } else {
            finding_begin(finding, of_no_length ? LINEAR_POINT_INSIDE : LINEAR_TWO_HOLDS,
                          of_no_length ? GRADE_NOT_LINEARIZABLE : GRADE_DEFINITE);
            finding_add(finding, before->acquire);
            finding_add(finding, hold->acquire);
            finding_add(finding, of_no_length ? hold->release : CHAIN_NO_OPERATION);
        }
    }
    chain->last = slot;
    if (finding->reason == LINEAR_LEGAL) {
        chain_check_fence(chain, hold, finding);
    }
}

void chain_grant_again(struct linear_chain *chain, struct linear_hold *hold, uint64_t invoke,
                       int64_t fence, struct linear_finding *finding)
{
    ASSERT(hold->grant == GRANT_OK);
    hold->depth++;
    if (fence == 0 || fence == hold->fence) {
        return;
    }
    if (hold->fence == 0 && fence > chain->fence_highest) {
        hold->fence = fence;
        chain->fence_highest = fence;
        chain->fence_acquire = invoke;
        chain->fence_release = CHAIN_NO_OPERATION;
        return;
    }
    bool changed = hold->fence != 0;
    finding_begin(finding, changed ? LINEAR_FENCE_CHANGED : LINEAR_FENCE_ORDER,
                  GRADE_NOT_LINEARIZABLE);
    finding_add(finding, changed ? hold->acquire : chain->fence_release);
    finding_add(finding, chain->fence_acquire);
    finding_add(finding, invoke);
}

void chain_release_called(struct linear_chain *chain, struct linear_hold *hold, int64_t called,
                          uint64_t invoke)
{
    if (hold->released_ok || called >= hold->released) {
        return;
    }
    hold->released = called;
    hold->release = invoke;
    if (chain->fence_acquire == hold->acquire && hold->acquire != CHAIN_NO_OPERATION) {
        chain->fence_release = invoke;
    }
}

void chain_release_ok(struct linear_chain *chain, struct linear_hold *holds, uint32_t slot,
                      const struct linear_moment *release, struct linear_finding *finding)
{
    struct linear_hold *hold = &holds[slot];
    if (hold->released_ok || hold->grant == GRANT_NONE) {
        bool twice = hold->released_ok;
        finding_begin(finding, twice ? LINEAR_RELEASED_TWICE : LINEAR_NEVER_ACQUIRED,
                      GRADE_NOT_LINEARIZABLE);
        finding_add(finding, hold->acquire);
        finding_add(finding, twice ? hold->release : CHAIN_NO_OPERATION);
        finding_add(finding, release->invoke);
        return;
    }
    /* A hold of no length was placed for another release: this one may ask for another place. */
    bool was_a_point = hold->granted != POSITION_NEVER && hold->granted > release->called;
    chain->unclear = chain->unclear || (was_a_point && hold->release != release->invoke);
    hold->released_ok = true;
    hold->released = release->called;
    hold->release = release->invoke;
    if (hold->granted != POSITION_NEVER) {
        hold_check_bound(hold, release->invoke, finding);
        return;
    }
    int64_t from = hold->asked > release->called ? hold->asked : release->called;
    chain_place_point(chain, holds, (const int64_t[2]){from, release->returned},
                      (const uint64_t[2]){hold->acquire, release->invoke}, finding);
}

void chain_release_void(struct linear_chain *chain, struct linear_hold *hold,
                        const struct linear_moment *release, int64_t others,
                        struct linear_finding *finding)
{
    if (hold->released_ok) {
        return;
    }
    ASSERT(hold->released <= release->called);
    hold->released = hold->released_unknown < others ? hold->released_unknown : others;
    bool still_a_point = hold->granted != POSITION_NEVER && hold->granted > hold->released;
    chain->unclear = chain->unclear || still_a_point;
    hold_check_bound(hold, release->invoke, finding);
}

void chain_release_not_held(struct linear_hold *hold, const struct linear_moment *release,
                            struct linear_finding *finding)
{
    if (hold->granted == POSITION_NEVER || hold->granted > release->called) {
        return; /* it can have come before the acquire took effect */
    }
    if (hold_end(hold) <= release->returned) {
        hold_bind(hold, release->returned, LINEAR_NOT_HELD_WHILE_HELD, release->invoke,
                  CHAIN_NO_OPERATION);
        return;
    }
    finding_begin(finding, LINEAR_NOT_HELD_WHILE_HELD, GRADE_NOT_LINEARIZABLE);
    finding_add(finding, hold->acquire);
    finding_add(finding, release->invoke);
}

void chain_release_unknown(struct linear_hold *hold, int64_t called)
{
    if (called < hold->released_unknown) {
        hold->released_unknown = called;
    }
}

void chain_until(struct linear_hold *hold, const struct linear_moment *extend,
                 struct linear_finding *finding)
{
    bool extends = extend->invoke != CHAIN_NO_OPERATION;
    if (extends && extend->until < hold->until) {
        return; /* an extension does not shorten what was promised */
    }
    hold->until = extend->until;
    if (hold->in_chain) {
        hold_check_bound(hold, extend->invoke, finding);
    }
}
