/* brute.c: tries every order of a few operations; shares no code with checker/linear. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { BRUTE_OPS_MAX = 8, BRUTE_TIME_MAX = 40 };

enum brute_f { BRUTE_ACQUIRE, BRUTE_RELEASE, BRUTE_OBSERVE };
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
};

struct brute_op {
    enum brute_f f;
    enum brute_outcome outcome;
    int process;
    int who; /* the owner or value, from 1 */
    int64_t call;
    int64_t ret;
    int64_t fence;
    int64_t until; /* lease: 0 for none */
    bool proven;   /* lease: a release that was called early shows that it was held */
    int seen;      /* observe: 0 free, -1 somebody, else the owner */
};

struct brute_rules {
    enum brute_model model;
    bool strong;   /* a refused acquire saw a holder */
    bool not_held; /* a failed release saw that it held nothing */
    bool forgive;  /* a failed release counts as done */
    int permits;
    int64_t ttl_low, ttl_high; /* exact lease */
};

struct brute_state {
    int holders[BRUTE_OPS_MAX];
    int count;
    int depth;
    int64_t fence, highest;
    int64_t time;
    int64_t ends_low, ends_high;      /* lease: when the holder's time is up */
    int64_t until[2 * BRUTE_OPS_MAX]; /* lease: by who */
    bool taken[2 * BRUTE_OPS_MAX], freed[2 * BRUTE_OPS_MAX];
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

static bool brute_take(struct brute_state *s, const struct brute_rules *r,
                       const struct brute_op *op)
{
    bool nests = r->model == BRUTE_REENTRANT || r->model == BRUTE_REENTRANT_FENCED;
    bool fenced = r->model == BRUTE_FENCED || r->model == BRUTE_REENTRANT_FENCED;
    bool again = nests && brute_holds(s, op->who);
    int room = r->model == BRUTE_SEMAPHORE ? r->permits : 1;
    if (r->model == BRUTE_LEASE && s->count == 1) {
        int64_t end = s->until[s->holders[0]];
        if (end == 0) {
            return false;
        }
        s->time = s->time > end ? s->time : end;
        s->count = 0;
    }
    if (!again && s->count >= room) {
        return false;
    }
    int64_t fence = op->outcome == BRUTE_OK ? op->fence : 0;
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
    if (r->model == BRUTE_LEASE && op->outcome == BRUTE_OK && op->until <= op->ret && !op->proven) {
        s->taken[op->who] = true; /* over before its holder knew of it */
        s->until[op->who] = op->until;
        return true;
    }
    if (!again) {
        s->holders[s->count++] = op->who;
    }
    s->taken[op->who] = true;
    s->until[op->who] = op->outcome == BRUTE_OK ? op->until : 0;
    return true;
}

static bool brute_free(struct brute_state *s, const struct brute_rules *r,
                       const struct brute_op *op)
{
    if (r->model == BRUTE_MUTEX) {
        if (s->count == 0) {
            return false;
        }
        s->count = 0;
        return true;
    }
    if (r->model == BRUTE_LEASE) {
        if (!s->taken[op->who] || s->freed[op->who]) {
            return false;
        }
        if (!brute_holds(s, op->who) && op->outcome == BRUTE_OK) {
            s->time = s->time > s->until[op->who] ? s->time : s->until[op->who];
        }
        s->freed[op->who] = true;
        brute_leave(s, op->who);
        return true;
    }
    if (!brute_holds(s, op->who)) {
        return false;
    }
    bool nests = r->model == BRUTE_REENTRANT || r->model == BRUTE_REENTRANT_FENCED;
    if (nests && s->depth > 1) {
        s->depth--;
        return true;
    }
    brute_leave(s, op->who);
    return true;
}

static bool brute_not_held(struct brute_state *s, const struct brute_rules *r,
                           const struct brute_op *op)
{
    if (r->model == BRUTE_MUTEX) {
        return s->count == 0;
    }
    if (r->model == BRUTE_LEASE && brute_holds(s, op->who) && s->until[op->who] != 0) {
        int64_t end = s->until[op->who];
        s->time = s->time > end ? s->time : end;
        return true;
    }
    return !brute_holds(s, op->who);
}

static bool brute_apply(struct brute_state *s, const struct brute_rules *r,
                        const struct brute_op *op)
{
    bool nests = r->model == BRUTE_REENTRANT || r->model == BRUTE_REENTRANT_FENCED;
    int room = r->model == BRUTE_SEMAPHORE ? r->permits : 1;
    s->time = s->time > op->call ? s->time : op->call;
    if (op->f == BRUTE_OBSERVE) {
        bool blind = r->model == BRUTE_MUTEX;
        return op->seen == 0           ? s->count == 0
               : op->seen < 0 || blind ? s->count > 0
                                       : brute_holds(s, op->seen);
    }
    if (op->f == BRUTE_ACQUIRE) {
        if (op->outcome == BRUTE_FAIL) {
            return s->count >= room && !(nests && brute_holds(s, op->who));
        }
        return brute_take(s, r, op);
    }
    if (op->outcome == BRUTE_FAIL && !r->forgive) {
        return brute_not_held(s, r, op);
    }
    return brute_free(s, r, op);
}

/* A lease that the server ends: everything happens at a time of its own. */
static bool brute_apply_exact(struct brute_state *s, const struct brute_rules *r,
                              const struct brute_op *op, int64_t time)
{
    bool mine = s->count == 1 && s->holders[0] == op->who;
    bool may_be_over = s->count == 1 && time >= s->ends_low;
    bool must_be_over = s->count == 1 && time > s->ends_high;
    s->time = time;
    if (op->f == BRUTE_ACQUIRE) {
        if (s->count == 1 && !may_be_over) {
            return false;
        }
        s->count = 1;
        s->holders[0] = op->who;
        s->ends_low = time + r->ttl_low;
        s->ends_high = time + r->ttl_high;
        return true;
    }
    if (op->outcome == BRUTE_FAIL && !r->forgive) {
        s->count = mine && may_be_over ? 0 : s->count;
        return !mine || may_be_over;
    }
    if (!mine || must_be_over) {
        return false;
    }
    s->count = 0;
    return true;
}

/* Does the operation say anything under these rules? */
static bool brute_counts(const struct brute_rules *r, const struct brute_op *op)
{
    if (op->outcome != BRUTE_FAIL) {
        return op->f != BRUTE_OBSERVE || op->outcome == BRUTE_OK;
    }
    return op->f == BRUTE_ACQUIRE ? r->strong
                                  : op->f == BRUTE_RELEASE && (r->not_held || r->forgive);
}

/* Is there a legal order? Depth first over sets of placed operations, with an explicit stack. */
static bool brute_legal(const struct brute_rules *r, const struct brute_op *ops, int count)
{
    struct frame {
        struct brute_state state;
        unsigned placed;
        int next;
        int64_t next_time;
    } stack[BRUTE_OPS_MAX + 1];
    unsigned must = 0, may = 0;
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
        bool exact = r->model == BRUTE_LEASE_EXACT;
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
        bool late = false;
        bool legal = exact ? brute_apply_exact(&g->state, r, &ops[i], time)
                           : brute_apply(&g->state, r, &ops[i]);
        if (legal) {
            late = (must >> i & 1) != 0 && g->state.time > ops[i].ret;
            top += late ? 0 : 1;
        }
    }
    return false;
}
