/* frontier_late.c: holds of no length, placed when they are due, where there was room before. */
#include "checker/linear/whole/frontier_inside.h"

/* Until when a grant or an extension promised that its lease lasts; INT64_MIN: it promised nothing,
 * and may be over at once. */
static int64_t promise_of(const struct frontier *frontier, const struct operation *operation)
{
    uint8_t model = frontier->rules.options->model;
    bool leased = model == LINEAR_LEASE || model == LINEAR_LEASE_REFRESHED;
    bool silent = model == LINEAR_LEASE_REFRESHED && operation->until == POSITION_NEVER;
    return silent ? INT64_MIN : leased ? operation->until : POSITION_NEVER;
}

/* A hold of no length with a fence may come before the one that lasts, if that has none. */
static bool late_fence(const struct frontier *frontier, struct config *config,
                       const struct operation *take)
{
    if (!frontier->rules.fenced || take->fence == 0) {
        return true;
    }
    bool grows = config->state.fence == 0 && take->fence > config->state.highest &&
                 !frontier_is_overtaken(frontier, config, take);
    config->state.highest = grows ? take->fence : config->state.highest;
    return grows;
}

/* Place, or use, the acquire of a hold of no length, which promised so much. */
static bool late_take(struct frontier *frontier, struct config *config, uint32_t identity,
                      int64_t *promised)
{
    const struct someone *who = &frontier->someone[identity - 1];
    uint32_t slot = frontier_find(frontier, config, OPERATION_TAKE, identity, config->free_at);
    if (slot != NO_SLOT && late_fence(frontier, config, in_slot(frontier, slot))) {
        *promised = promise_of(frontier, in_slot(frontier, slot));
        place(config, slot);
        return true;
    }
    slot = frontier_find(frontier, config, OPERATION_MAYBE_TAKE, identity, config->free_at);
    if (slot != NO_SLOT) {
        *promised = promise_of(frontier, in_slot(frontier, slot));
        place(config, slot);
        return true;
    }
    *promised =
        frontier->rules.options->model == LINEAR_LEASE_REFRESHED ? INT64_MIN : POSITION_NEVER;
    if (!frontier_has_left(frontier, config, who, UNKNOWN_TAKE, config->free_at)) {
        return false;
    }
    frontier_use(frontier, config, who->track, UNKNOWN_TAKE);
    return !frontier_is_doomed(frontier, config, identity - 1, UNKNOWN_TAKE);
}

/* ... and the release. */
static bool late_free(struct frontier *frontier, struct config *config, uint32_t identity)
{
    const struct someone *who = &frontier->someone[identity - 1];
    uint32_t slot = frontier_find(frontier, config, OPERATION_FREE, identity, config->free_at);
    if (slot != NO_SLOT) {
        place(config, slot);
        return true;
    }
    if (!frontier_has_left(frontier, config, who, UNKNOWN_FREE, config->free_at)) {
        return false;
    }
    frontier_use(frontier, config, who->track, UNKNOWN_FREE);
    return !frontier_is_doomed(frontier, config, identity - 1, UNKNOWN_FREE);
}

/* Who looked meanwhile saw it; and it can have been extended meanwhile, if somebody ended it. */
static void late_seen(const struct frontier *frontier, struct config *config, uint32_t identity,
                      bool freed)
{
    for (uint32_t w = 0; w < frontier->slot_words; w++) {
        uint64_t open = frontier->slots_used[w] & ~config->words[w];
        for (; open != 0; open &= open - 1) {
            uint32_t slot = 64 * w + (uint32_t)__builtin_ctzll(open);
            const struct operation *seen = in_slot(frontier, slot);
            bool own = seen->identity == identity;
            bool held = seen->kind == OPERATION_SEEN_HELD ||
                        (seen->kind == OPERATION_BUSY && !(own && frontier->rules.nests));
            held = held && frontier->rules.room == 1;
            bool same = own && (seen->kind == OPERATION_SEEN_OWNER ||
                                (seen->kind == OPERATION_EXTEND &&
                                 (freed || promise_of(frontier, seen) <= config->free_at)));
            if (seen->called <= config->free_at && (held || same)) {
                place(config, slot);
            }
        }
    }
}

/* The room came when the promise was over. Room is remembered as the position behind a moment's
 * calls: at the very moment of its end a lease can be seen. */
static bool is_behind(const struct config *config, int64_t promised)
{
    return promised < config->free_at - 1;
}

/* How a hold of no length ended. */
enum late_end { LATE_NEVER, LATE_FREED, LATE_EXPIRED };

static enum late_end late_end(struct frontier *frontier, struct config *config,
                              const struct operation *due, int64_t promised)
{
    if (due->kind == OPERATION_FREE) {
        return LATE_FREED;
    }
    if (promised <= config->free_at && frontier->rules.options->model == LINEAR_LEASE) {
        /* Nobody sees a lease that is over; a release can say nothing from now on, so none is
         * wasted. */
        bool never = due->kind == OPERATION_SEEN_OWNER && is_behind(config, promised);
        return never ? LATE_NEVER : LATE_EXPIRED;
    }
    if (promised <= config->free_at && frontier_find(frontier, config, OPERATION_FREE,
                                                     due->identity, config->free_at) == NO_SLOT) {
        return LATE_EXPIRED;
    }
    return late_free(frontier, config, due->identity) ? LATE_FREED : LATE_NEVER;
}

bool frontier_try_late(struct frontier *frontier, uint32_t at, uint32_t slot)
{
    const struct operation *due = in_slot(frontier, slot);
    bool takes = due->kind == OPERATION_TAKE;
    bool held = due->kind == OPERATION_SEEN_OWNER || due->kind == OPERATION_EXTEND;
    if (!frontier->moments || !(takes || held || due->kind == OPERATION_FREE)) {
        return false;
    }
    frontier_copy(frontier, config_at(&frontier->now, at));
    struct config *config = frontier->scratch;
    if (config->free_at < due->called) {
        return false;
    }
    place(config, slot);
    int64_t promised = promise_of(frontier, due);
    if (takes ? !late_fence(frontier, config, due)
              : !late_take(frontier, config, due->identity, &promised)) {
        return false;
    }
    if (due->kind == OPERATION_EXTEND && promise_of(frontier, due) > promised) {
        promised = promise_of(frontier, due);
    }
    enum late_end end = late_end(frontier, config, due, promised);
    bool silent = frontier->rules.options->model == LINEAR_LEASE_REFRESHED;
    bool over = frontier->rules.options->model == LINEAR_LEASE && is_behind(config, promised);
    if (!over && (end == LATE_FREED || silent)) {
        late_seen(frontier, config, due->identity, end == LATE_FREED);
    }
    return end != LATE_NEVER;
}
