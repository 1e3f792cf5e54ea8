/* samples.c: random histories of a few operations, and of a crowd, and the events they are told as.
 * Included by the tests that judge them. */
#include "base/random.h"
#include "history/event.h"

#include "tests/checker/brute.c"

enum { LONG_OPS_MAX = 28, EVENTS_MAX = 2 * LONG_OPS_MAX };

struct kind {
    const char *name;
    struct brute_rules rules;
    bool plain;      /* owners are processes, and no event says so */
    int64_t ttl;     /* lease: the promised end follows from the request, of unknown ones as well */
    int extends;     /* percent of operations that extend */
    bool open_ended; /* leases without a promised end */
    bool values;     /* each acquire has a value; else owners are processes */
    bool retired;    /* a process does nothing after an unknown outcome */
    bool late;       /* who acquires is told only when it is granted */
    int reuse;       /* percent of acquires that use an older value */
    int observes;    /* percent of operations that look */
    bool sure;       /* the outcome of every acquire is known */
    int fast;        /* percent of histories that need no search, at least */
    int steps;       /* percent of histories that must be decided as events arrive */
    bool longer;     /* too long for every order: the frontier engine, which is compared too, knows;
                        and four operations do not say everything */
};

struct sample {
    struct brute_op ops[LONG_OPS_MAX];
    int count;
};

static int draw(struct random_stream *dice, int bound)
{
    return (int)random_below(dice, (uint64_t)bound);
}

static enum brute_outcome draw_outcome(struct random_stream *dice)
{
    int d = draw(dice, 100);
    return d < 70 ? BRUTE_OK : d < 80 ? BRUTE_FAIL : d < 92 ? BRUTE_INFO : BRUTE_OPEN;
}

/* What process p does next: mostly acquire and release in turn, sometimes nonsense. */
static void draw_op(const struct kind *kind, struct random_stream *dice, struct sample *sample,
                    int p)
{
    struct brute_op *op = &sample->ops[sample->count];
    int mine = -1;
    for (int i = 0; i < sample->count; i++) {
        mine = sample->ops[i].process == p ? i : mine;
    }
    bool after_acquire = mine >= 0 && sample->ops[mine].f == BRUTE_ACQUIRE &&
                         sample->ops[mine].outcome != BRUTE_FAIL;
    bool odd = draw(dice, 100) < 15;
    op->f = after_acquire != odd ? BRUTE_RELEASE : BRUTE_ACQUIRE;
    op->f = draw(dice, 100) < kind->observes ? BRUTE_OBSERVE : op->f;
    op->f = kind->extends > 0 && draw(dice, 100) < kind->extends ? BRUTE_EXTEND : op->f;
    op->process = p;
    op->outcome = draw_outcome(dice);
    bool unsure = op->outcome == BRUTE_INFO || op->outcome == BRUTE_OPEN;
    op->outcome = kind->sure && unsure && op->f == BRUTE_ACQUIRE ? BRUTE_OK : op->outcome;
    op->fence = draw(dice, 100) < 80 ? sample->count + 1 + (draw(dice, 10) == 0 ? -2 : 0) : 0;
    op->fence = op->fence < 0 ? 0 : op->fence;
    op->seen = draw(dice, 3) - 1;
    op->seen = op->seen > 0 ? (kind->plain ? -1 : 1 + draw(dice, sample->count + 1)) : op->seen;
    if (!kind->values) {
        op->who = p + 1;
        op->seen = op->seen > 0 ? 1 + draw(dice, 3) : op->seen;
        return;
    }
    op->who = sample->count + 1;
    if (op->f == BRUTE_ACQUIRE && sample->count > 0 && draw(dice, 100) < kind->reuse) {
        op->who = sample->ops[draw(dice, sample->count)].who;
    }
    if ((op->f == BRUTE_RELEASE || op->f == BRUTE_EXTEND) && sample->count > 0) {
        bool own = mine >= 0 && draw(dice, 100) < 85;
        op->who = own ? sample->ops[mine].who : sample->ops[draw(dice, sample->count)].who;
    }
}

static void draw_sample(const struct kind *kind, struct random_stream *dice, struct sample *sample)
{
    int64_t now[4] = {0};
    bool gone[4] = {false};
    int wanted = 2 + draw(dice, 6);
    int processes = 2 + draw(dice, 3);
    int spread = 2 + draw(dice, 5);
    *sample = (struct sample){0};
    for (int i = 0; i < 20 && sample->count < wanted; i++) {
        int p = draw(dice, processes);
        if (gone[p]) {
            continue;
        }
        draw_op(kind, dice, sample, p);
        struct brute_op *op = &sample->ops[sample->count++];
        op->call = now[p] + draw(dice, spread);
        op->ret = op->call + draw(dice, spread);
        bool ok = op->outcome == BRUTE_OK;
        op->until = op->call + 1 + draw(dice, 3 * spread);
        op->until = kind->ttl > 0 ? op->call + kind->ttl : ok && !kind->open_ended ? op->until : 0;
        now[p] = op->ret;
        bool unknown = op->outcome == BRUTE_INFO || op->outcome == BRUTE_OPEN;
        gone[p] = op->outcome == BRUTE_OPEN || (unknown && kind->retired);
    }
}

/* One fault in a history that has a legal order, or none. */
static void spoil(struct random_stream *dice, struct sample *sample)
{
    struct brute_op *op = &sample->ops[draw(dice, sample->count)];
    int64_t shift = draw(dice, 9) - 4;
    switch (draw(dice, 8)) {
    case 0:
        op->f = op->f == BRUTE_ACQUIRE ? BRUTE_RELEASE : BRUTE_ACQUIRE;
        break;
    case 1:
        op->outcome = draw_outcome(dice);
        break;
    case 2:
        op->call += shift;
        op->ret += shift;
        break;
    case 3:
        op->ret = op->call;
        break;
    default:
        break;
    }
}

/* A crowd of clients, each of one operation; a legal order of what took effect is drawn first. */
static void draw_long(const struct kind *kind, struct random_stream *dice, struct sample *sample)
{
    int permits = kind->rules.permits > 0 ? kind->rules.permits : 1;
    int held[LONG_OPS_MAX], holds = 0;
    int wanted = 8 + draw(dice, LONG_OPS_MAX - 8);
    int spread = 1 + draw(dice, 10);
    int doubt = draw(dice, 40);
    int64_t now = 2L * LONG_OPS_MAX;
    *sample = (struct sample){0};
    for (int i = 0; i < wanted; i++) {
        struct brute_op *op = &sample->ops[sample->count++];
        bool happens = draw(dice, 100) >= doubt / 2;
        bool take = holds == 0 || (holds < permits && draw(dice, 2) == 0);
        now += draw(dice, 3);
        *op = (struct brute_op){.f = take ? BRUTE_ACQUIRE : BRUTE_RELEASE,
                                .outcome = happens ? BRUTE_OK : BRUTE_FAIL,
                                .process = i,
                                .who = i + 1};
        if (!take) {
            int which = draw(dice, holds);
            const struct brute_op *mine = &sample->ops[held[which]];
            bool waits = mine->outcome == BRUTE_OK && draw(dice, 20) > 0;
            now = waits && now <= mine->ret ? mine->ret + 1 : now;
            op->who = mine->who;
            op->call = waits ? mine->ret + 1 : 0;
            held[which] = happens ? held[--holds] : held[which];
        } else if (happens) {
            held[holds++] = i;
        }
        int64_t call = now - draw(dice, spread);
        op->call = op->call > call ? op->call : call;
        op->ret = now + draw(dice, spread);
        bool told = draw(dice, 100) >= doubt;
        op->outcome = told ? op->outcome : draw(dice, 2) == 0 ? BRUTE_INFO : BRUTE_OPEN;
    }
    spoil(dice, sample);
}

static struct history_event event_of(const struct kind *kind, const struct brute_op *op, bool end)
{
    static const enum history_f f[] = {HISTORY_ACQUIRE, HISTORY_RELEASE, HISTORY_OBSERVE,
                                       HISTORY_EXTEND};
    static const enum history_type type[] = {HISTORY_OK, HISTORY_FAIL, HISTORY_INFO, HISTORY_INFO};
    struct history_event event = {.time_ns = end ? op->ret : op->call,
                                  .kind = HISTORY_OP,
                                  .type = (uint8_t)(end ? type[op->outcome] : HISTORY_INVOKE),
                                  .f = (uint8_t)f[op->f],
                                  .process = op->process};
    if (op->f == BRUTE_OBSERVE) {
        event.version = op->seen != 0;
        if (end && op->seen > 0) {
            event.flags = kind->values ? HISTORY_HAS_VALUE : HISTORY_HAS_OWNER;
            event.value.bytes[0] = event.owner.bytes[0] = (uint8_t)op->seen;
        }
        return event;
    }
    bool told = !kind->late || op->f != BRUTE_ACQUIRE || (end && op->outcome == BRUTE_OK);
    if (!kind->plain && told) {
        event.flags = kind->values ? HISTORY_HAS_VALUE : HISTORY_HAS_OWNER;
        event.value.bytes[0] = event.owner.bytes[0] = (uint8_t)op->who;
    }
    if (end && op->outcome == BRUTE_OK && op->f != BRUTE_RELEASE) {
        event.fence = op->f == BRUTE_ACQUIRE ? op->fence : 0;
        event.until_ns = op->until;
        event.flags |= kind->ttl == 0 && op->until != 0 ? HISTORY_HAS_UNTIL : 0;
    }
    return event;
}

/* Events in order of time; of equal times, each process in its own order, others in any. */
static int events_of(const struct kind *kind, const struct sample *sample,
                     struct history_event *events, struct random_stream *dice)
{
    struct {
        int op;
        bool end;
    } next[EVENTS_MAX];
    bool done[EVENTS_MAX] = {false};
    int total = 0, count = 0;
    for (int i = 0; i < sample->count; i++) {
        next[total].op = i;
        next[total++].end = false;
        next[total].op = i;
        next[total].end = true;
        done[total] = sample->ops[i].outcome == BRUTE_OPEN;
        total++;
    }
    for (;;) {
        int best = -1, ties = 0;
        for (int i = 0; i < total; i++) {
            bool first = !done[i];
            for (int j = 0; j < i && first; j++) {
                bool same = sample->ops[next[j].op].process == sample->ops[next[i].op].process;
                first = done[j] || !same;
            }
            if (!first) {
                continue;
            }
            const struct brute_op *op = &sample->ops[next[i].op];
            int64_t time = next[i].end ? op->ret : op->call;
            const struct brute_op *old = best < 0 ? NULL : &sample->ops[next[best].op];
            int64_t old_time = best < 0 ? INT64_MAX : next[best].end ? old->ret : old->call;
            ties = time < old_time ? 1 : time == old_time ? ties + 1 : ties;
            if (time < old_time || (time == old_time && draw(dice, ties) == 0)) {
                best = i;
            }
        }
        if (best < 0) {
            return count;
        }
        events[count] = event_of(kind, &sample->ops[next[best].op], next[best].end);
        events[count].index = (uint64_t)count;
        count++;
        done[best] = true;
    }
}
