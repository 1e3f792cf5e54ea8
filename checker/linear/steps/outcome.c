/* outcome.c: what a call and a return mean for the holds: the fast paths, as events arrive. */
#include "checker/linear/steps/stream.h"

#include "base/assert.h"

static bool is_semaphore(const struct linear *linear)
{
    return linear->options.model == LINEAR_SEMAPHORE;
}

static bool identity_is_value(const struct identity *identity)
{
    return (identity->words[2] & 0xff) == 2;
}

/* Two acquires of one identity at a time: its holds cannot be told apart. */
static void judge_clash(struct linear *linear, const struct stream_slot *slot)
{
    stream_limit(linear, slot->resource,
                 identity_is_value(&slot->identity) ? LINEAR_LIMIT_VALUE_SHARED
                                                    : LINEAR_LIMIT_OWNER_WENT_ON);
}

/* The chain says so itself, before a finding is made of what it could not tell. */
static void find(struct linear *linear, uint32_t resource, const struct linear_finding *finding)
{
    if (linear->keys[resource].chain.unclear) {
        stream_limit(linear, resource, LINEAR_LIMIT_TIE);
    }
    if (finding->reason != LINEAR_LEGAL) {
        stream_find(linear, resource, finding);
    }
}

/* Bind an operation to the hold of its identity; NULL at the memory limit. */
static struct linear_hold *attach(struct linear *linear, struct stream_slot *slot)
{
    slot->hold = hold_find(linear, slot);
    if (slot->hold == CHAIN_NO_HOLD) {
        slot->hold = hold_make(linear, slot);
        if (slot->hold == CHAIN_NO_HOLD) {
            return NULL;
        }
    }
    struct linear_hold *hold = &linear->holds[slot->hold];
    hold->pending++;
    return hold;
}

/* An acquire may find the hold of its identity in use. */
static void acquire_attach(struct linear *linear, struct stream_slot *slot)
{
    struct linear_hold *hold = attach(linear, slot);
    if (hold == NULL) {
        return;
    }
    slot->clash = hold->grant != GRANT_NONE;
    hold->clashes += slot->clash ? 1 : 0;
    if (!slot->clash) {
        hold->grant = GRANT_PENDING;
        hold->asked = slot->called;
        hold->acquire = slot->invoke;
    }
}

static void call_release(struct linear *linear, struct stream_slot *slot)
{
    struct linear_hold *hold = attach(linear, slot);
    if (hold == NULL) {
        return;
    }
    slot->inner = hold->depth > 1;
    if (!slot->inner) {
        chain_release_called(&linear->keys[slot->resource].chain, hold, slot->called, slot->invoke);
    }
    if (is_semaphore(linear)) {
        crowd_release_called(linear, slot);
    }
}

/* It moves the end of a lease that was granted before, and not let go. */
static void call_extend(struct linear *linear, struct stream_slot *slot)
{
    uint32_t at = hold_find(linear, slot);
    if (at == CHAIN_NO_HOLD || linear->holds[at].granted == POSITION_NEVER ||
        linear->holds[at].released_ok) {
        return;
    }
    ASSERT(linear->holds[at].granted < slot->called);
    slot->hold = at;
    linear->holds[at].pending++;
}

void stream_judge_call(struct linear *linear, uint32_t at)
{
    struct stream_slot *slot = &linear->slots[at];
    if (linear->options.model == LINEAR_MUTEX) {
        turns_call(linear, slot);
        return;
    }
    struct stream_key *key = &linear->keys[slot->resource];
    if (slot->f == HISTORY_RELEASE) {
        call_release(linear, slot);
    } else if (slot->f == HISTORY_ACQUIRE && slot->identified) {
        acquire_attach(linear, slot);
    } else if (slot->f == HISTORY_EXTEND && linear->leased) {
        call_extend(linear, slot);
    } else if (slot->f == HISTORY_ACQUIRE) {
        key->anonymous++;
        if (linear->reentrant) {
            acquire_attach(linear, slot); /* its process's, unless its end names another owner */
        } else if (stream_has_touched(linear, slot)) {
            stream_limit(linear, slot->resource, LINEAR_LIMIT_TIE);
        }
    }
    if (linear->reentrant && slot->hold != CHAIN_NO_HOLD) {
        const struct linear_hold *hold = &linear->holds[slot->hold];
        if (hold->owner_uncertain || hold->pending > 1) {
            stream_limit(linear, slot->resource, LINEAR_LIMIT_OWNER_WENT_ON);
        }
    }
}

static void acquire_granted(struct linear *linear, struct stream_slot *slot,
                            const struct stream_return *returned)
{
    struct stream_key *key = &linear->keys[slot->resource];
    struct linear_hold *hold = &linear->holds[slot->hold];
    struct linear_finding finding = {0};
    int64_t fence = linear->fenced ? returned->fence : 0;
    if (slot->clash && linear->reentrant && hold->grant == GRANT_OK) {
        chain_grant_again(&key->chain, hold, slot->invoke, fence, &finding);
        bool too_deep = linear->options.depth_max > 0 && hold->depth > linear->options.depth_max;
        if (too_deep && linear->options.depth_max > 1) {
            /* The grants between prove it too, and are not known any more. */
            stream_limit(linear, slot->resource, LINEAR_LIMIT_MODEL);
        } else if (too_deep) {
            finding = (struct linear_finding){.reason = LINEAR_NO_ORDER,
                                              .grade = GRADE_NOT_LINEARIZABLE,
                                              .count = 2,
                                              .operations = {hold->acquire, slot->invoke}};
        }
        find(linear, slot->resource, &finding);
        return;
    }
    if (slot->clash || slot->tainted) {
        judge_clash(linear, slot);
        hold->logged = returned->logged;
        return;
    }
    hold->grant = GRANT_OK;
    hold->depth = 1;
    hold->fence = fence;
    hold->until = returned->until;
    hold->logged = returned->logged;
    if (linear->leased && hold->until < returned->returned) {
        stream_limit(linear, slot->resource, LINEAR_LIMIT_PROMISE);
        return;
    }
    if ((fence != 0 || linear->leased) && hold->released < returned->returned) {
        stream_limit(linear, slot->resource, LINEAR_LIMIT_TIE);
    }
    if (hold->released_ok) {
        return; /* its release came back first: it held at a point, which was placed */
    }
    if (is_semaphore(linear)) {
        crowd_grant(linear, slot, returned->returned, &finding);
    } else {
        chain_grant(&key->chain, linear->holds, slot->hold, returned->returned, &finding);
    }
    if (linear->leased) {
        ASSERT(hold->fence == 0); /* whose place it takes */
        hold->promised = returned->until;
    }
    find(linear, slot->resource, &finding);
}

static void acquire_unknown(struct linear *linear, struct stream_slot *slot,
                            const struct stream_return *returned)
{
    struct linear_hold *hold = &linear->holds[slot->hold];
    if (!slot->clash) {
        if (slot->tainted) {
            judge_clash(linear, slot);
        }
        hold->grant = GRANT_UNKNOWN;
        hold->logged = returned->logged;
    } else if (hold->grant == GRANT_UNKNOWN && !hold->released_ok && !linear->reentrant) {
        hold->asked_again = true;
    } else if (!linear->reentrant) {
        judge_clash(linear, slot);
    }
    hold->owner_uncertain = true;
}

static void acquire_failed(struct linear *linear, struct stream_slot *slot)
{
    struct linear_hold *hold = &linear->holds[slot->hold];
    if (slot->clash) {
        return;
    }
    if (hold->released_ok) {
        struct linear_finding finding = {.reason = LINEAR_NEVER_ACQUIRED,
                                         .grade = GRADE_NOT_LINEARIZABLE,
                                         .count = 2,
                                         .operations = {slot->invoke, hold->release}};
        find(linear, slot->resource, &finding);
    }
    hold->grant = GRANT_NONE;
    hold->acquire = CHAIN_NO_OPERATION;
}

static void acquire_over(struct linear *linear, const struct stream_slot *slot)
{
    linear->holds[slot->hold].pending--;
    linear->holds[slot->hold].clashes -= slot->clash ? 1 : 0;
    hold_drop_if_settled(linear, slot->hold);
}

/* Taken for its process's until its end named another owner, who may have let go meanwhile. */
static void acquire_renamed(struct linear *linear, struct stream_slot *slot)
{
    stream_limit(linear, slot->resource, LINEAR_LIMIT_TIE);
    acquire_failed(linear, slot);
    acquire_over(linear, slot);
}

static void return_acquire(struct linear *linear, struct stream_slot *slot,
                           const struct stream_return *returned)
{
    struct stream_key *key = &linear->keys[slot->resource];
    bool refused = returned->type == HISTORY_FAIL;
    if (refused && returned->says) {
        stream_limit(linear, slot->resource, LINEAR_LIMIT_MODEL);
    }
    if (!slot->identified) {
        if (refused || returned->type == HISTORY_OK || returned->named) {
            key->anonymous--;
        }
        if (slot->hold != CHAIN_NO_HOLD && returned->named) {
            acquire_renamed(linear, slot);
            return;
        }
        if (refused && slot->hold == CHAIN_NO_HOLD) {
            return;
        }
    }
    if (slot->hold == CHAIN_NO_HOLD) {
        acquire_attach(linear, slot);
    }
    if (slot->hold == CHAIN_NO_HOLD) {
        return;
    }
    if (returned->type == HISTORY_OK) {
        acquire_granted(linear, slot, returned);
    } else if (refused) {
        acquire_failed(linear, slot);
    } else {
        acquire_unknown(linear, slot, returned);
    }
    acquire_over(linear, slot);
}

/* The earliest call of a release of the same hold that is still under way. */
static int64_t other_releases(const struct linear *linear, const struct stream_slot *slot)
{
    int64_t earliest = POSITION_NEVER;
    if (linear->holds[slot->hold].pending == 1) {
        return earliest;
    }
    for (uint32_t i = 0; i < linear->slot_count; i++) {
        const struct stream_slot *other = &linear->slots[i];
        if (other != slot && other->used && other->f == HISTORY_RELEASE &&
            other->hold == slot->hold && other->called < earliest) {
            earliest = other->called;
        }
    }
    return earliest;
}

/* Whose acquire it was is told later, or never. */
static bool may_be_nameless(const struct linear *linear, const struct stream_slot *slot)
{
    return linear->keys[slot->resource].anonymous > 0 && !identity_is_process(&slot->identity);
}

static void release_succeeded(struct linear *linear, struct stream_slot *slot,
                              const struct linear_moment *moment, struct linear_finding *finding)
{
    struct stream_key *key = &linear->keys[slot->resource];
    struct linear_hold *hold = &linear->holds[slot->hold];
    if (slot->inner) {
        hold->depth--;
        return;
    }
    if ((hold->grant != GRANT_OK || hold->released_ok) && may_be_nameless(linear, slot)) {
        stream_limit(linear, slot->resource, LINEAR_LIMIT_TIE);
        return;
    }
    bool reused = hold->grant == GRANT_NONE && slot->tainted;
    if (reused || hold->asked_again || (hold->clashes > 0 && !linear->reentrant)) {
        judge_clash(linear, slot);
    }
    bool late = hold->promised < moment->returned && hold->released < moment->called;
    if (linear->leased && (hold->grant != GRANT_OK || hold->released_ok || late)) {
        /* How long it held is not known, yet or any more: the release may say nothing. */
        stream_limit(linear, slot->resource, LINEAR_LIMIT_PROMISE);
        return;
    }
    chain_release_ok(&key->chain, linear->holds, slot->hold, moment, finding);
}

static void return_release(struct linear *linear, struct stream_slot *slot,
                           const struct stream_return *returned)
{
    struct linear_hold *hold = &linear->holds[slot->hold];
    const struct linear_hold before = *hold;
    struct linear_moment moment = {
        .invoke = slot->invoke, .called = slot->called, .returned = returned->returned};
    struct linear_finding finding = {0};
    if (returned->type == HISTORY_OK) {
        release_succeeded(linear, slot, &moment, &finding);
    } else if (returned->type == HISTORY_FAIL) {
        if (!slot->inner) {
            chain_release_void(&linear->keys[slot->resource].chain, hold, &moment,
                               other_releases(linear, slot), &finding);
        }
        if (returned->says && finding.reason == LINEAR_LEGAL) {
            chain_release_not_held(hold, &moment, &finding);
        }
    } else {
        hold->owner_uncertain = true;
        if (slot->inner) {
            hold->depth--;
        } else {
            chain_release_unknown(hold, slot->called);
        }
    }
    if (is_semaphore(linear)) {
        crowd_release_returned(linear, slot, &before, &moment, &finding);
    }
    /* One of unknown outcome can have ended its hold before, and this one another. */
    if (returned->type == HISTORY_OK && finding.reason != LINEAR_LEGAL &&
        before.released_unknown != POSITION_NEVER && may_be_nameless(linear, slot)) {
        stream_limit(linear, slot->resource, LINEAR_LIMIT_TIE);
    }
    find(linear, slot->resource, &finding);
    hold->pending--;
    hold_drop_if_settled(linear, slot->hold);
}

static void return_extend(struct linear *linear, struct stream_slot *slot,
                          const struct stream_return *returned)
{
    struct linear_hold *hold = &linear->holds[slot->hold];
    struct linear_moment moment = {.invoke = slot->invoke,
                                   .called = slot->called,
                                   .returned = returned->returned,
                                   .until = returned->until};
    struct linear_finding finding = {0};
    if (returned->type == HISTORY_OK && returned->until != POSITION_NEVER) {
        chain_until(hold, &moment, &finding);
        find(linear, slot->resource, &finding);
    }
    hold->pending--;
    hold_drop_if_settled(linear, slot->hold);
}

void stream_judge_return(struct linear *linear, const struct stream_return *returned)
{
    struct stream_slot *slot = &linear->slots[returned->slot];
    if (linear->options.model == LINEAR_MUTEX) {
        turns_return(linear, slot, returned);
    } else if (slot->f == HISTORY_ACQUIRE) {
        return_acquire(linear, slot, returned);
    } else if (slot->f == HISTORY_RELEASE && slot->hold != CHAIN_NO_HOLD) {
        return_release(linear, slot, returned);
    } else if (slot->f == HISTORY_EXTEND && slot->hold != CHAIN_NO_HOLD) {
        return_extend(linear, slot, returned);
    } else if (slot->f == HISTORY_OBSERVE && returned->type == HISTORY_OK) {
        stream_limit(linear, slot->resource, LINEAR_LIMIT_MODEL);
    }
}
