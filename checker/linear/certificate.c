/* certificate.c: tries every order of at most four operations. */
#include "checker/linear/certificate.h"

#include "base/assert.h"

/* The lock while an order is gone through. Holders are witnesses, by index. */
struct trial {
    const struct linear_options *options;
    const struct linear_witness *witnesses;
    int witness_count;
    int holders[LINEAR_OPERATIONS_SHOWN];
    int count;
    int depth;
    int64_t fence, highest, time_ns;
    int64_t low_ns, high_ns; /* exact lease: when it can have been granted */
    int64_t end_ns;          /* other leases: the promised end, INT64_MAX if nothing is promised */
};

static bool is_lease(const struct linear_options *options)
{
    return options->model == LINEAR_LEASE || options->model == LINEAR_LEASE_EXACT ||
           options->model == LINEAR_LEASE_REFRESHED;
}

static bool is_reentrant(const struct linear_options *options)
{
    return options->model == LINEAR_REENTRANT || options->model == LINEAR_REENTRANT_FENCED;
}

/* Whose it is: a value, else an owner's name, else the process. */
struct who {
    struct history_value name;
    int32_t process;
    int by; /* 2 value, 1 owner, 0 process */
};

static struct who who_says(const struct linear_options *options, const struct history_event *event)
{
    bool values = !options->by_owner && !is_reentrant(options);
    if (values && (event->flags & HISTORY_HAS_VALUE) != 0) {
        return (struct who){.name = event->value, .by = 2};
    }
    if ((event->flags & HISTORY_HAS_OWNER) != 0) {
        return (struct who){.name = event->owner, .by = 1};
    }
    bool seen = (event->flags & HISTORY_SEEN_PROCESS) != 0;
    return (struct who){.process = seen ? (int32_t)event->number[0] : event->process};
}

/* An acquire may learn its name only at its end. */
static struct who who_of(const struct linear_options *options, const struct linear_witness *witness)
{
    struct who who = who_says(options, &witness->invoke);
    bool late = who.by == 0 && witness->invoke.f == HISTORY_ACQUIRE && witness->ended &&
                !is_reentrant(options) && !options->by_owner;
    return late ? who_says(options, &witness->end) : who;
}

static bool who_equal(struct who a, struct who b)
{
    return a.by == b.by && a.process == b.process && history_value_equal(&a.name, &b.name);
}

static bool is_open(const struct linear_witness *witness)
{
    return !witness->ended || witness->end.type == HISTORY_INFO;
}

/* A failed release that counts as done. */
static bool is_forgiven(const struct linear_options *options, const struct linear_witness *witness)
{
    return options->failed_release == LINEAR_RELEASE_DONE &&
           witness->end.cause != CAUSE_NOT_HOLDING;
}

/* It need not have happened, or says nothing. */
static bool is_optional(const struct linear_options *options, const struct linear_witness *witness)
{
    if (is_open(witness) || witness->end.type != HISTORY_FAIL) {
        return is_open(witness);
    }
    uint8_t cause = witness->end.cause;
    if (witness->invoke.f == HISTORY_ACQUIRE) {
        return options->refused_acquire == LINEAR_REFUSED_NOTHING ||
               (cause != CAUSE_NONE && cause != CAUSE_NO_QUORUM);
    }
    bool other = cause != CAUSE_NONE && cause != CAUSE_NOT_HOLDING;
    bool forgiven = witness->invoke.f == HISTORY_RELEASE && is_forgiven(options, witness);
    return !forgiven && (options->failed_release != LINEAR_RELEASE_NOT_HELD || other);
}

/* The place in `holders` of one that is the same as `who`; -1 if none holds. */
static int find_holder(const struct trial *trial, struct who who)
{
    for (int i = 0; i < trial->count; i++) {
        const struct linear_witness *holder = &trial->witnesses[trial->holders[i]];
        if (who_equal(who_of(trial->options, holder), who)) {
            return i;
        }
    }
    return -1;
}

static void drop_holder(struct trial *trial, int place)
{
    trial->count--;
    trial->holders[place] = trial->holders[trial->count];
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t return_ns(const struct linear_witness *witness)
{
    return is_open(witness) ? INT64_MAX / 4 : witness->end.time_ns;
}

/* The end that an acquire or an extension promises; INT64_MAX if none is known. */
static int64_t promise_ns(const struct linear_options *options, const struct linear_witness *take)
{
    bool told = take->ended && (take->end.flags & HISTORY_HAS_UNTIL) != 0;
    bool silent = options->model == LINEAR_LEASE_REFRESHED && is_open(take);
    if (told && !is_open(take)) {
        return take->end.until_ns;
    }
    return options->ttl_ns > 0 && !silent
               ? take->invoke.time_ns + options->ttl_ns - options->drift_ns
               : INT64_MAX;
}

/* The lease begins, or begins anew, in [low, high] if it is an exact one. */
static bool begin(struct trial *trial, const struct linear_witness *witness, int64_t low_ns,
                  int64_t high_ns)
{
    int64_t promised = promise_ns(trial->options, witness);
    bool kept = witness->invoke.f == HISTORY_EXTEND && trial->end_ns != INT64_MAX &&
                (promised == INT64_MAX || promised < trial->end_ns);
    trial->low_ns = low_ns;
    trial->high_ns = high_ns;
    trial->end_ns = kept ? trial->end_ns : promised;
    return trial->options->model != LINEAR_LEASE_EXACT || low_ns <= high_ns;
}

/* A lease may be over: let the time be that late. */
static bool lapse(struct trial *trial)
{
    const struct linear_options *options = trial->options;
    if (!is_lease(options)) {
        return false;
    }
    if (options->model == LINEAR_LEASE_EXACT) {
        trial->time_ns = later(trial->time_ns, trial->low_ns + options->ttl_ns);
    } else if (trial->end_ns == INT64_MAX) {
        return options->model == LINEAR_LEASE_REFRESHED;
    } else {
        trial->time_ns = later(trial->time_ns, trial->end_ns);
    }
    return true;
}

/* Somebody must hold still: an exact lease was not granted too long ago. */
static bool still_holds(struct trial *trial, const struct linear_witness *witness)
{
    const struct linear_options *options = trial->options;
    if (options->model != LINEAR_LEASE_EXACT) {
        return true;
    }
    trial->time_ns = later(trial->time_ns, trial->low_ns);
    trial->low_ns = later(trial->low_ns, trial->time_ns - options->ttl_ns - options->drift_ns);
    trial->high_ns = trial->high_ns < return_ns(witness) ? trial->high_ns : return_ns(witness);
    return trial->low_ns <= trial->high_ns;
}

static int room_of(const struct linear_options *options)
{
    return options->model == LINEAR_SEMAPHORE ? (int)options->permits : 1;
}

static bool take_fence(struct trial *trial, int64_t fence, bool again)
{
    bool fenced =
        trial->options->model == LINEAR_FENCED || trial->options->model == LINEAR_REENTRANT_FENCED;
    int64_t kept = again ? trial->fence : 0;
    trial->fence = kept;
    if (!fenced || fence == 0 || fence == kept) {
        return true;
    }
    if (kept != 0 || fence <= trial->highest) {
        return false;
    }
    trial->fence = trial->highest = fence;
    return true;
}

static bool try_acquire(struct trial *trial, int i)
{
    const struct linear_options *options = trial->options;
    const struct linear_witness *take = &trial->witnesses[i];
    bool again = is_reentrant(options) && find_holder(trial, who_of(options, take)) >= 0;
    if (again && options->depth_max > 0 && trial->depth >= (int)options->depth_max) {
        return false;
    }
    if (options->model == LINEAR_TOKENS) {
        int64_t token = is_open(take) ? 0 : take->end.fence;
        bool grows = token == 0 || token > trial->highest;
        trial->highest = token == 0 ? trial->highest : token;
        return grows;
    }
    if (!again && trial->count >= room_of(options)) {
        if (!lapse(trial)) {
            return false;
        }
        drop_holder(trial, 0);
    }
    if (!take_fence(trial, is_open(take) ? 0 : take->end.fence, again)) {
        return false;
    }
    trial->depth = again ? trial->depth + 1 : 1;
    if (!again) {
        trial->holders[trial->count++] = i;
    }
    return !is_lease(options) || begin(trial, take, trial->time_ns, return_ns(take));
}

/* An end that was promised to the caller is reached: the release says nothing. */
static bool says_nothing(struct trial *trial, const struct linear_witness *release)
{
    int64_t from_ns = INT64_MAX;
    if (trial->options->model != LINEAR_LEASE || is_open(release)) {
        return false;
    }
    for (int i = 0; i < trial->witness_count; i++) {
        const struct linear_witness *take = &trial->witnesses[i];
        bool refused = !is_open(take) && take->end.type == HISTORY_FAIL;
        if (take->invoke.f == HISTORY_ACQUIRE && !refused &&
            take->invoke.time_ns <= release->end.time_ns &&
            who_equal(who_of(trial->options, take), who_of(trial->options, release)) &&
            promise_ns(trial->options, take) < from_ns) {
            from_ns = promise_ns(trial->options, take);
        }
    }
    if (from_ns == INT64_MAX) {
        return false;
    }
    trial->time_ns = later(trial->time_ns, from_ns);
    return true;
}

/* A release, or an extension that was refused, found its caller not to hold. */
static bool try_not_held(struct trial *trial, int place)
{
    if (place >= 0 && !lapse(trial)) {
        return false;
    }
    if (place >= 0) {
        drop_holder(trial, place);
    }
    return true;
}

static bool try_release(struct trial *trial, const struct linear_witness *release)
{
    struct who who = who_of(trial->options, release);
    bool blind = trial->options->model == LINEAR_MUTEX;
    int place = blind ? trial->count - 1 : find_holder(trial, who);
    if (!is_open(release) && release->end.type == HISTORY_FAIL &&
        !is_forgiven(trial->options, release)) {
        return try_not_held(trial, place);
    }
    if (trial->options->model == LINEAR_TOKENS) {
        return true;
    }
    if (place < 0) {
        return says_nothing(trial, release);
    }
    trial->depth--;
    if (!is_reentrant(trial->options) || trial->depth == 0) {
        drop_holder(trial, place);
    }
    return still_holds(trial, release);
}

static bool try_extend(struct trial *trial, const struct linear_witness *extend)
{
    const struct linear_options *options = trial->options;
    int place = find_holder(trial, who_of(options, extend));
    if (options->model != LINEAR_LEASE_EXACT && options->model != LINEAR_LEASE_REFRESHED) {
        return true;
    }
    if (!is_open(extend) && extend->end.type == HISTORY_FAIL) {
        return try_not_held(trial, place);
    }
    int64_t most = trial->high_ns + options->ttl_ns + options->drift_ns;
    trial->time_ns = later(trial->time_ns,
                           options->model == LINEAR_LEASE_EXACT ? trial->low_ns : trial->time_ns);
    return place >= 0 && begin(trial, extend, trial->time_ns,
                               most < return_ns(extend) ? most : return_ns(extend));
}

static bool try_observe(struct trial *trial, const struct linear_witness *look)
{
    struct who who = who_says(trial->options, &look->end);
    bool nameless = who.by == 0 && (look->end.flags & HISTORY_SEEN_PROCESS) == 0;
    bool blind = nameless || trial->options->model == LINEAR_MUTEX;
    if (look->end.version == 0) {
        return try_not_held(trial, trial->count - 1) && trial->count == 0;
    }
    return (blind ? trial->count > 0 : find_holder(trial, who) >= 0) && still_holds(trial, look);
}

static bool try_witness(struct trial *trial, int i)
{
    const struct linear_witness *witness = &trial->witnesses[i];
    if (witness->invoke.f == HISTORY_OBSERVE) {
        return try_observe(trial, witness);
    }
    if (witness->invoke.f == HISTORY_RELEASE) {
        return try_release(trial, witness);
    }
    if (witness->invoke.f == HISTORY_EXTEND) {
        return try_extend(trial, witness);
    }
    if (is_open(witness) || witness->end.type != HISTORY_FAIL) {
        return try_acquire(trial, i);
    }
    bool again =
        is_reentrant(trial->options) && find_holder(trial, who_of(trial->options, witness)) >= 0;
    if (again) {
        return trial->options->depth_max > 0 && trial->depth >= (int)trial->options->depth_max;
    }
    return trial->count >= room_of(trial->options) && still_holds(trial, witness);
}

/* Time goes on: a promised lease is over behind its end, an exact one's grant may not come later
 * than what follows it. */
static void pass_time(struct trial *trial, const struct linear_witness *witness)
{
    trial->time_ns = later(trial->time_ns, witness->invoke.time_ns);
    if (trial->options->model == LINEAR_LEASE && trial->count > 0 &&
        trial->end_ns < trial->time_ns) {
        drop_holder(trial, 0);
    }
    if (trial->options->model == LINEAR_LEASE_EXACT && trial->count > 0 &&
        trial->high_ns > return_ns(witness)) {
        trial->high_ns = return_ns(witness);
    }
}

/* Whether the witnesses in `order` happen legally one by one, each in its own time. */
static bool is_legal(struct trial *trial, const int *order, int length)
{
    for (int at = 0; at < length; at++) {
        const struct linear_witness *witness = &trial->witnesses[order[at]];
        for (int later = at + 1; later < length; later++) {
            const struct linear_witness *other = &trial->witnesses[order[later]];
            if (!is_open(other) && other->end.time_ns < witness->invoke.time_ns) {
                return false;
            }
        }
        pass_time(trial, witness);
        if (!try_witness(trial, order[at]) ||
            (!is_open(witness) && trial->time_ns > witness->end.time_ns)) {
            return false;
        }
    }
    return true;
}

/* The `code`-th way to put at most `count` things in a row, by digits; false if it is none. */
static bool order_of(int code, int count, unsigned chosen, int *order, int *length)
{
    unsigned seen = 0;
    *length = 0;
    for (int place = 0; place < count; place++) {
        int i = code >> (2 * place) & 3;
        if (i >= count || (seen >> i & 1) != 0) {
            return false;
        }
        seen |= 1u << i;
        if ((chosen >> i & 1) != 0) {
            order[(*length)++] = i;
        }
    }
    return true;
}

bool linear_certificate_holds(const struct linear_options *options,
                              const struct linear_witness *witnesses, int count)
{
    ASSERT(count >= 0 && count <= LINEAR_OPERATIONS_SHOWN);
    for (unsigned chosen = 0; chosen < 1u << count; chosen++) {
        bool enough = true;
        for (int i = 0; i < count; i++) {
            enough = enough && ((chosen >> i & 1) != 0 || is_optional(options, &witnesses[i]));
        }
        for (int code = 0; code < 1 << (2 * count) && enough; code++) {
            struct trial trial = {.options = options,
                                  .witnesses = witnesses,
                                  .witness_count = count,
                                  .time_ns = INT64_MIN};
            int order[LINEAR_OPERATIONS_SHOWN];
            int length = 0;
            if (order_of(code, count, chosen, order, &length) && is_legal(&trial, order, length)) {
                return false;
            }
        }
    }
    return true;
}
