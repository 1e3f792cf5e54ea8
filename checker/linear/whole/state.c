/* state.c: the rules of each model, one operation at a time. */
#include "checker/linear/whole/state.h"

#include "base/assert.h"

struct state_rules state_rules(const struct linear_options *options)
{
    uint8_t model = options->model;
    return (struct state_rules){
        .options = options,
        .room = model == LINEAR_SEMAPHORE ? options->permits : 1,
        .nests = model == LINEAR_REENTRANT || model == LINEAR_REENTRANT_FENCED,
        .fenced = model == LINEAR_FENCED || model == LINEAR_REENTRANT_FENCED,
        .timed = model == LINEAR_LEASE_EXACT,
        .due = POSITION_NEVER,
        .passed = INT64_MIN,
    };
}

bool state_hides_depth(const struct state_rules *rules)
{
    return rules->nests && !rules->fenced && rules->options->depth_max == 0;
}

bool state_is_held_by(const struct lock_state *state, uint32_t identity)
{
    for (int i = 0; i < STATE_HOLDERS_MAX && state->holders[i] != HOLDER_NOBODY; i++) {
        if (state->holders[i] == identity) {
            return true;
        }
    }
    return false;
}

uint32_t state_holder_count(const struct lock_state *state)
{
    uint32_t count = 0;
    while (count < STATE_HOLDERS_MAX && state->holders[count] != HOLDER_NOBODY) {
        count++;
    }
    return count;
}

static void holder_add(struct lock_state *state, uint32_t identity)
{
    uint32_t at = state_holder_count(state);
    ASSERT(at < STATE_HOLDERS_MAX);
    while (at > 0 && state->holders[at - 1] > identity) {
        state->holders[at] = state->holders[at - 1];
        at--;
    }
    state->holders[at] = identity;
}

static void holder_remove(struct lock_state *state, uint32_t identity)
{
    uint32_t at = 0;
    while (state->holders[at] != identity) {
        at++;
        ASSERT(at < STATE_HOLDERS_MAX);
    }
    for (; at + 1 < STATE_HOLDERS_MAX && state->holders[at] != HOLDER_NOBODY; at++) {
        state->holders[at] = state->holders[at + 1];
    }
    state->holders[STATE_HOLDERS_MAX - 1] = HOLDER_NOBODY;
}

void state_rename(struct lock_state *state, uint32_t identity, uint32_t other)
{
    ASSERT(other != HOLDER_NOBODY);
    holder_remove(state, identity);
    holder_add(state, other);
}

/* ---- exact leases: when it was granted is narrowed down by what needs it ------------------------
 */

/* Times without bound stay far from overflow. */
#define TIME_FAR (INT64_MAX / 4)

static int64_t time_called(const struct operation *operation)
{
    return operation->called / 2 - (operation->called % 2 < 0 ? 1 : 0);
}

static int64_t time_returned(const struct operation *operation)
{
    if (operation->returned == POSITION_NEVER) {
        return TIME_FAR;
    }
    int64_t before = operation->returned - 1;
    return before / 2 - (before % 2 < 0 ? 1 : 0);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t time_due(const struct state_rules *rules)
{
    return rules->due == POSITION_NEVER ? TIME_FAR : (rules->due - 1) / 2;
}

/* By when what changes the lock happens: something else may be due before it returns, and comes
 * behind it. So the lease at hand never began later than any refusal returns that is still to be
 * placed: to see it costs nothing but what it has to last. */
static int64_t time_at_most(const struct state_rules *rules, const struct operation *operation)
{
    return earlier(time_due(rules), time_returned(operation));
}

static bool is_exact(const struct state_rules *rules)
{
    return rules->options->model == LINEAR_LEASE_EXACT;
}

/* Something happens that needs the lock to be held still. */
static bool exact_held(struct lock_state *state, const struct state_rules *rules,
                       const struct operation *operation)
{
    int64_t most = rules->options->ttl_ns + rules->options->drift_ns;
    state->now = later(later(state->now, time_called(operation)), state->low);
    state->low = later(state->low, state->now - most);
    state->high = earlier(state->high, time_returned(operation));
    return state->low <= state->high && state->now <= time_returned(operation);
}

/* The server counts from some time that fits both the grant before and the extension. */
static bool exact_extend(struct lock_state *state, const struct state_rules *rules,
                         const struct operation *operation)
{
    int64_t most = rules->options->ttl_ns + rules->options->drift_ns;
    int64_t low = later(later(state->low, state->now), time_called(operation));
    int64_t high = earlier(state->high + most, time_at_most(rules, operation));
    state->low = state->now = low;
    state->high = high;
    return low <= high;
}

static bool exact_take(struct lock_state *state, const struct state_rules *rules,
                       const struct operation *operation)
{
    state->low = state->now = later(state->now, time_called(operation));
    state->high = time_at_most(rules, operation);
    return state->low <= state->high;
}

/* It happens whoever holds the lock, if anybody does. */
static bool exact_pass(struct lock_state *state, const struct operation *operation)
{
    bool held = state->holders[0] != HOLDER_NOBODY;
    state->now = later(state->now, time_called(operation));
    state->high = held ? earlier(state->high, time_returned(operation)) : 0;
    return state->now <= time_returned(operation) && (!held || state->low <= state->high);
}

static void leave_free(struct lock_state *state, const struct state_rules *rules)
{
    if (is_exact(rules)) {
        state->now = later(state->now, state->low);
    }
    state->low = state->high = 0;
    state->end = POSITION_NEVER;
}

bool state_expire(struct lock_state *state, const struct state_rules *rules)
{
    uint8_t model = rules->options->model;
    if (state->holders[0] == HOLDER_NOBODY) {
        return false;
    }
    if (model == LINEAR_LEASE_EXACT) {
        int64_t over = state->low + rules->options->ttl_ns;
        state->now = later(state->now, over);
        state->low = over;
        if (state->now > time_due(rules)) {
            return false;
        }
    } else if ((model == LINEAR_LEASE && state->end == POSITION_NEVER) ||
               (model != LINEAR_LEASE && model != LINEAR_LEASE_REFRESHED) ||
               (state->end != POSITION_NEVER && state->end > rules->due)) {
        return false;
    }
    state->holders[0] = HOLDER_NOBODY;
    leave_free(state, rules);
    return true;
}

/* What is asked of an owner can be asked of him who may be anybody. */
static uint32_t holder_meant(const struct lock_state *state, const struct state_rules *rules,
                             uint32_t identity)
{
    bool other = rules->wild && !state_is_held_by(state, identity);
    return other ? HOLDER_WILD : identity;
}

void state_make_wild(struct lock_state *state, const struct state_rules *rules)
{
    *state = (struct lock_state){.end = POSITION_NEVER};
    for (uint32_t i = 0; i < rules->room; i++) {
        holder_add(state, HOLDER_WILD);
    }
    state->low = state->now = rules->timed ? -TIME_FAR : 0;
    state->high = is_exact(rules) ? TIME_FAR : 0;
}

void state_vanish(struct lock_state *state, const struct state_rules *rules)
{
    holder_remove(state, HOLDER_WILD);
    leave_free(state, rules);
}

/* A lease is over when what is called behind its end happens. */
static void pass_time(struct lock_state *state, const struct state_rules *rules,
                      const struct operation *operation)
{
    if (rules->options->model != LINEAR_LEASE) {
        return;
    }
    if (state->holders[0] != HOLDER_NOBODY && state->end < operation->called) {
        state->holders[0] = HOLDER_NOBODY;
        leave_free(state, rules);
    }
}

/* ---- one operation ------------------------------------------------------------------------------
 */

static bool take_fence(struct lock_state *state, int64_t fence, bool again)
{
    if (fence == 0) {
        state->fence = again ? state->fence : 0;
        return true;
    }
    bool same = again && state->fence == fence;
    bool grows = fence > state->highest && (!again || state->fence == 0);
    state->fence = fence;
    state->highest = grows ? fence : state->highest;
    return same || grows;
}

static bool apply_take(struct lock_state *state, const struct state_rules *rules,
                       const struct operation *operation)
{
    bool again = rules->nests && state_is_held_by(state, operation->identity);
    if (!again && state_holder_count(state) >= rules->room) {
        return false;
    }
    if (again && rules->options->depth_max > 0 && state->depth >= rules->options->depth_max) {
        return false;
    }
    if (rules->fenced && !take_fence(state, operation->fence, again)) {
        return false;
    }
    if (is_exact(rules) && !exact_take(state, rules, operation)) {
        return false;
    }
    if (rules->nests) {
        state->depth = again ? state->depth + 1 : 1;
    }
    bool over = rules->options->model == LINEAR_LEASE &&
                (operation->until < operation->called || operation->until <= rules->passed);
    if (!again && !over) {
        holder_add(state, operation->identity);
        state->end = operation->until;
    }
    return true;
}

/* It was its caller's hold that ends. */
static bool free_wild(struct lock_state *state, const struct state_rules *rules,
                      const struct operation *operation)
{
    if (!state_is_held_by(state, HOLDER_WILD) ||
        (is_exact(rules) && !exact_held(state, rules, operation))) {
        return false;
    }
    state_vanish(state, rules);
    return true;
}

static bool apply_free(struct lock_state *state, const struct state_rules *rules,
                       const struct operation *operation)
{
    uint32_t identity = holder_meant(state, rules, operation->identity);
    if (rules->options->model == LINEAR_MUTEX) {
        identity = state->holders[0];
    }
    if (identity == HOLDER_NOBODY || identity == HOLDER_WILD ||
        !state_is_held_by(state, identity)) {
        bool says_nothing =
            rules->options->model == LINEAR_LEASE && operation->kind == OPERATION_FREE &&
            operation->until <= operation->returned && operation->until <= rules->due;
        if (identity == HOLDER_WILD && !says_nothing) {
            return free_wild(state, rules, operation);
        }
        return says_nothing;
    }
    if (is_exact(rules) && !exact_held(state, rules, operation)) {
        return false;
    }
    if (rules->nests && state->depth > 1) {
        state->depth--;
        return true;
    }
    holder_remove(state, identity);
    leave_free(state, rules);
    state->depth = 0;
    state->fence = 0;
    return true;
}

static bool apply_extend(struct lock_state *state, const struct state_rules *rules,
                         const struct operation *operation)
{
    uint32_t identity = holder_meant(state, rules, operation->identity);
    if (!state_is_held_by(state, identity)) {
        return false;
    }
    if (identity == HOLDER_WILD) {
        return !is_exact(rules) || exact_extend(state, rules, operation);
    }
    /* What was promised before stays promised. */
    if (state->end == POSITION_NEVER ||
        (operation->until != POSITION_NEVER && operation->until > state->end)) {
        state->end = operation->until;
    }
    return !is_exact(rules) || exact_extend(state, rules, operation);
}

/* What is seen, of itself; `held`: that somebody holds is what it needs. */
static bool see(const struct lock_state *state, const struct state_rules *rules,
                const struct operation *operation, bool *held)
{
    bool blind = rules->options->model == LINEAR_MUTEX;
    bool mine = state_is_held_by(state, operation->identity);
    bool any = state->holders[0] != HOLDER_NOBODY;
    *held = false;
    switch ((enum operation_kind)operation->kind) {
    case OPERATION_BUSY: /* it found no place for itself */
        *held = true;
        if (rules->nests && mine) {
            return rules->options->depth_max > 0 && state->depth >= rules->options->depth_max;
        }
        return state_holder_count(state) >= rules->room;
    case OPERATION_NOT_HELD:
        return blind ? !any : !mine;
    case OPERATION_SEEN_FREE:
        return !any;
    case OPERATION_SEEN_HELD:
        *held = true;
        return any;
    case OPERATION_SEEN_OWNER:
        *held = true;
        return blind ? any
                     : state_is_held_by(state, holder_meant(state, rules, operation->identity));
    case OPERATION_TAKE:
    case OPERATION_MAYBE_TAKE:
    case OPERATION_FREE:
    case OPERATION_MAYBE_FREE:
    case OPERATION_EXTEND:
    case OPERATION_MAYBE_EXTEND:
    case OPERATION_KINDS:
        break;
    }
    UNREACHABLE();
}

bool state_has_place(const struct lock_state *state, const struct state_rules *rules,
                     enum operation_kind kind, uint32_t identity)
{
    bool lapses = rules->options->model == LINEAR_LEASE; /* time alone may change it */
    if (lapses || rules->wild || operation_kind_observes((uint8_t)kind)) {
        return true;
    }
    bool mine = state_is_held_by(state, identity);
    if (kind == OPERATION_TAKE || kind == OPERATION_MAYBE_TAKE) {
        return state_holder_count(state) < rules->room || (rules->nests && mine);
    }
    return mine || rules->options->model == LINEAR_MUTEX;
}

bool state_apply(struct lock_state *state, const struct state_rules *rules,
                 const struct operation *operation)
{
    bool held = false;
    pass_time(state, rules, operation);
    switch ((enum operation_kind)operation->kind) {
    case OPERATION_TAKE:
    case OPERATION_MAYBE_TAKE:
        return apply_take(state, rules, operation);
    case OPERATION_FREE:
    case OPERATION_MAYBE_FREE:
        return apply_free(state, rules, operation);
    case OPERATION_EXTEND:
    case OPERATION_MAYBE_EXTEND:
        return apply_extend(state, rules, operation);
    case OPERATION_BUSY:
    case OPERATION_NOT_HELD:
    case OPERATION_SEEN_FREE:
    case OPERATION_SEEN_HELD:
    case OPERATION_SEEN_OWNER:
        break;
    case OPERATION_KINDS:
        UNREACHABLE();
    }
    if (!see(state, rules, operation, &held)) {
        return false;
    }
    return !is_exact(rules) ||
           (held ? exact_held(state, rules, operation) : exact_pass(state, operation));
}
