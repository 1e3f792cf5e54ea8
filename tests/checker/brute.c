/* brute.c: tries every order of a few operations; shares no code with checker/linear. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { BRUTE_OPS_MAX = 8, BRUTE_TIME_MAX = 40 };

enum brute_f { BRUTE_ACQUIRE, BRUTE_RELEASE, BRUTE_OBSERVE, BRUTE_EXTEND };
enum brute_outcome { BRUTE_OK, BRUTE_FAIL, BRUTE_INFO, BRUTE_OPEN };
enum brute_model {
    BRUTE_MUTEX,
    BRUTE_OWNER,
    BRUTE_REENTRANT,
    BRUTE_FENCED,
    BRUTE_REENTRANT_FENCED,
    BRUTE_LEASE,
    BRUTE_LEASE_EXACT,
    BRUTE_SEMAPHORE,
    BRUTE_LEASE_REFRESHED,
    BRUTE_TOKENS,
};

struct brute_op {
    enum brute_f f;
    enum brute_outcome outcome;
    int process;
    int who; /* the owner or value, from 1 */
    int64_t call;
    int64_t ret;
    int64_t fence;
    int64_t until; /* lease: the promised end; 0 for none */
    int64_t moved; /* lease: where extensions moved it; filled in */
    int seen;      /* observe: 0 free, -1 somebody, else the owner */
};

struct brute_rules {
    enum brute_model model;
    bool strong;   /* a refused acquire saw a holder */
    bool not_held; /* a failed release, or extension of a lease, saw that it held nothing */
    bool forgive;  /* a failed release counts as done */
    int permits;
    int depth;                 /* reentrant: at most, 0 for any */
    int64_t ttl_low, ttl_high; /* exact lease */
};

/* Times that never come. */
#define BRUTE_NEVER  INT64_MAX
#define BRUTE_ALWAYS INT64_MIN

struct brute_state {
    int holders[BRUTE_OPS_MAX];
    int count;
    int depth;
    int64_t fence, highest;
    int64_t time;              /* leases: of what happened last */
    int64_t may_end, must_end; /* leases: when the hold may be over, and behind which it must */
};

static bool brute_holds(const struct brute_state *s, int who)
{
    for (int i = 0; i < s->count; i++) {
        if (s->holders[i] == who) {
            return true;
        }
    }
    return false;
}

static void brute_leave(struct brute_state *s, int who)
{
    for (int i = 0; i < s->count; i++) {
        if (s->holders[i] == who) {
            s->holders[i] = s->holders[--s->count];
            return;
        }
    }
}

static bool brute_nests(const struct brute_rules *r)
{
    return r->model == BRUTE_REENTRANT || r->model == BRUTE_REENTRANT_FENCED;
}

static bool brute_take(struct brute_state *s, const struct brute_rules *r,
                       const struct brute_op *op)
{
    bool fenced = r->model == BRUTE_FENCED || r->model == BRUTE_REENTRANT_FENCED;
    bool again = brute_nests(r) && brute_holds(s, op->who);
    int room = r->model == BRUTE_SEMAPHORE ? r->permits : 1;
    int64_t fence = op->outcome == BRUTE_OK ? op->fence : 0;
    if (r->model == BRUTE_TOKENS) {
        bool grows = fence == 0 || fence > s->highest;
        s->highest = fence == 0 ? s->highest : fence;
        return grows;
    }
    if ((!again && s->count >= room) || (again && r->depth > 0 && s->depth >= r->depth)) {
        return false;
    }
    if (fenced && fence != 0) {
        if (again && s->fence != 0 && fence != s->fence) {
            return false;
        }
        if (!(again && s->fence == fence)) {
            if (fence <= s->highest) {
                return false;
            }
            s->highest = fence;
            s->fence = fence;
        }
    } else if (!again) {
        s->fence = 0;
    }
    s->depth = again ? s->depth + 1 : 1;
    if (!again) {
        s->holders[s->count++] = op->who;
    }
    return true;
}

static bool brute_free(struct brute_state *s, const struct brute_rules *r,
                       const struct brute_op *op)
{
    if (r->model == BRUTE_TOKENS) {
        return true;
    }
    if (r->model == BRUTE_MUTEX) {
        bool held = s->count > 0;
        s->count = 0;
        return held;
    }
    if (!brute_holds(s, op->who)) {
        return false;
    }
    if (brute_nests(r) && s->depth > 1) {
        s->depth--;
        return true;
    }
    brute_leave(s, op->who);
    return true;
}

static bool brute_apply(struct brute_state *s, const struct brute_rules *r,
                        const struct brute_op *op)
{
    int room = r->model == BRUTE_SEMAPHORE ? r->permits : 1;
    bool blind = r->model == BRUTE_MUTEX;
    if (op->f == BRUTE_OBSERVE) {
        return op->seen == 0           ? s->count == 0
               : op->seen < 0 || blind ? s->count > 0
                                       : brute_holds(s, op->seen);
    }
    if (op->f == BRUTE_ACQUIRE && op->outcome == BRUTE_FAIL) {
        bool again = brute_nests(r) && brute_holds(s, op->who);
        return again ? r->depth > 0 && s->depth >= r->depth : s->count >= room;
    }
    if (op->f == BRUTE_ACQUIRE) {
        return brute_take(s, r, op);
    }
    if (op->outcome == BRUTE_FAIL && !r->forgive) {
        return blind ? s->count == 0 : !brute_holds(s, op->who);
    }
    return brute_free(s, r, op);
}

/* ---- leases: everything happens at a time of its own ------------------------------------------
 */

static bool brute_is_lease(const struct brute_rules *r)
{
    return r->model == BRUTE_LEASE || r->model == BRUTE_LEASE_EXACT ||
           r->model == BRUTE_LEASE_REFRESHED;
}

/* A lease begins, or begins anew. */
static void brute_begin(struct brute_state *s, const struct brute_rules *r,
                        const struct brute_op *op)
{
    bool promised = op->until != 0 && op->outcome == BRUTE_OK;
    int64_t before = op->f == BRUTE_EXTEND ? s->may_end : BRUTE_ALWAYS;
    int64_t until = r->model == BRUTE_LEASE ? op->moved : op->until;
    s->may_end = s->must_end = until == 0 ? BRUTE_NEVER : until;
    if (r->model == BRUTE_LEASE_EXACT) {
        s->may_end = s->time + r->ttl_low;
        s->must_end = s->time + r->ttl_high;
    } else if (r->model == BRUTE_LEASE_REFRESHED) {
        s->may_end = promised && op->until > before ? op->until : before;
        s->must_end = BRUTE_NEVER;
    }
}

/* Whether an end that was promised to the caller of a release is reached. */
static bool brute_says_nothing(const struct brute_state *s, const struct brute_rules *r,
                               const struct brute_op *release, const struct brute_op *ops,
                               int count)
{
    for (int i = 0; i < count && r->model == BRUTE_LEASE && release->outcome <= BRUTE_FAIL; i++) {
        if (ops[i].f == BRUTE_ACQUIRE && ops[i].outcome != BRUTE_FAIL &&
            ops[i].who == release->who && ops[i].call <= release->ret && ops[i].until != 0 &&
            ops[i].until <= s->time) {
            return true;
        }
    }
    return false;
}

/* At s->time. */
static bool brute_apply_lease(struct brute_state *s, const struct brute_rules *r,
                              const struct brute_op *ops, int count, int i)
{
    const struct brute_op *op = &ops[i];
    int64_t time = s->time;
    bool may_be_over = s->count == 1 && time >= s->may_end;
    bool must_be_over = s->count == 1 && time > s->must_end;
    bool held = s->count == 1 && !must_be_over;
    bool mine = held && s->holders[0] == op->who;
    bool fails = op->outcome == BRUTE_FAIL;
    if (op->f == BRUTE_OBSERVE && op->seen != 0) {
        return held && (op->seen < 0 || s->holders[0] == op->seen);
    }
    if (op->f == BRUTE_ACQUIRE && fails) {
        return held;
    }
    if (op->f == BRUTE_OBSERVE || (fails && op->f == BRUTE_EXTEND) || (fails && !r->forgive)) {
        bool away = op->f == BRUTE_OBSERVE ? held : mine;
        s->count = away && may_be_over ? 0 : s->count;
        return !away || may_be_over;
    }
    if (op->f == BRUTE_ACQUIRE) {
        if (held && !may_be_over) {
            return false;
        }
        s->count = 1;
        s->holders[0] = op->who;
        brute_begin(s, r, op);
        return true;
    }
    if (!mine) {
        return op->f == BRUTE_RELEASE && brute_says_nothing(s, r, op, ops, count);
    }
    if (op->f == BRUTE_EXTEND) {
        brute_begin(s, r, op);
    } else {
        s->count = 0;
    }
    return true;
}

/* Does the operation say anything under these rules? */
static bool brute_counts(const struct brute_rules *r, const struct brute_op *op)
{
    bool extends = r->model == BRUTE_LEASE_EXACT || r->model == BRUTE_LEASE_REFRESHED;
    if (r->model == BRUTE_TOKENS) {
        return op->f == BRUTE_ACQUIRE && op->outcome != BRUTE_FAIL;
    }
    if (op->f == BRUTE_EXTEND) {
        return extends && (op->outcome != BRUTE_FAIL || r->not_held);
    }
    if (op->outcome != BRUTE_FAIL) {
        return op->f != BRUTE_OBSERVE || op->outcome == BRUTE_OK;
    }
    return op->f == BRUTE_ACQUIRE ? r->strong
                                  : op->f == BRUTE_RELEASE && (r->not_held || r->forgive);
}

/* The acquire whose end an extension moves: the last of its caller that was granted before it was
 * called, or is of unknown outcome and was called before; if no release that succeeded came between
 * them. */
static struct brute_op *brute_extended(const struct brute_rules *r, struct brute_op *ops, int count,
                                       const struct brute_op *extend)
{
    struct brute_op *last = NULL;
    for (int i = 0; i < count; i++) {
        bool before = ops[i].outcome == BRUTE_OK     ? ops[i].ret < extend->call
                      : ops[i].outcome == BRUTE_FAIL ? false
                                                     : ops[i].call < extend->call;
        if (ops[i].f == BRUTE_ACQUIRE && ops[i].who == extend->who && before &&
            (last == NULL || ops[i].call > last->call)) {
            last = &ops[i];
        }
    }
    for (int i = 0; i < count && last != NULL; i++) {
        bool done = ops[i].outcome == BRUTE_OK || (ops[i].outcome == BRUTE_FAIL && r->forgive);
        if (ops[i].f == BRUTE_RELEASE && ops[i].who == extend->who && done &&
            ops[i].call > last->call && ops[i].ret < extend->call) {
            return NULL;
        }
    }
    return last;
}

/* Extensions of a `lease` that succeeded move ends. */
static void brute_move_ends(const struct brute_rules *r, struct brute_op *ops, int count)
{
    for (int i = 0; i < count; i++) {
        ops[i].moved = ops[i].until;
    }
    for (int i = 0; i < count && r->model == BRUTE_LEASE; i++) {
        struct brute_op *take = brute_extended(r, ops, count, &ops[i]);
        bool moves = ops[i].f == BRUTE_EXTEND && ops[i].outcome == BRUTE_OK && ops[i].until != 0;
        if (moves && take != NULL && take->moved != 0 && ops[i].until > take->moved) {
            take->moved = ops[i].until;
        }
    }
}

/* Is there a legal order? Depth first over sets of placed operations, with an explicit stack. */
static bool brute_legal(const struct brute_rules *r, const struct brute_op *given, int count)
{
    struct brute_op ops[BRUTE_OPS_MAX];
    struct frame {
        struct brute_state state;
        unsigned placed;
        int next;
        int64_t next_time;
    } stack[BRUTE_OPS_MAX + 1];
    unsigned must = 0, may = 0;
    memcpy(ops, given, (size_t)count * sizeof *ops);
    brute_move_ends(r, ops, count);
    for (int i = 0; i < count; i++) {
        bool unknown = ops[i].outcome == BRUTE_INFO || ops[i].outcome == BRUTE_OPEN;
        may |= brute_counts(r, &ops[i]) ? 1u << i : 0;
        must |= brute_counts(r, &ops[i]) && !unknown ? 1u << i : 0;
    }
    int top = 0;
    memset(&stack[0], 0, sizeof stack[0]);
    stack[0].state.time = INT64_MIN;
    stack[0].next_time = INT64_MIN;
    while (top >= 0) {
        struct frame *f = &stack[top];
        if ((f->placed & must) == must) {
            return true;
        }
        int i = f->next;
        if (i == count) {
            top--;
            continue;
        }
        bool exact = brute_is_lease(r);
        int64_t time = ops[i].call > f->next_time ? ops[i].call : f->next_time;
        time = time > f->state.time ? time : f->state.time;
        bool unknown = (must >> i & 1) == 0;
        bool last = !exact || time >= (unknown ? BRUTE_TIME_MAX : ops[i].ret);
        bool late_start = exact && !unknown && time > ops[i].ret;
        f->next_time = time + 1;
        if (last) {
            f->next++;
            f->next_time = INT64_MIN;
        }
        bool open = !late_start && (may >> i & 1) != 0 && (f->placed >> i & 1) == 0;
        for (int j = 0; j < count && open; j++) {
            bool waits = (must >> j & 1) != 0 && (f->placed >> j & 1) == 0 && j != i;
            open = !(waits && ops[j].ret < ops[i].call);
        }
        if (!open) {
            continue;
        }
        struct frame *g = &stack[top + 1];
        *g = (struct frame){
            .state = f->state, .placed = f->placed | 1u << i, .next_time = INT64_MIN};
        g->state.time = time;
        bool legal = exact ? brute_apply_lease(&g->state, r, ops, count, i)
                           : brute_apply(&g->state, r, &ops[i]);
        top += legal ? 1 : 0;
    }
    return false;
}
