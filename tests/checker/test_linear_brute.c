/* test_linear_brute.c: small random histories, judged by checker/linear and by trying every order.
 */
#include "base/random.h"
#include "checker/linear/certificate.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/checker/brute.c"

enum { HISTORIES = 100000, EVENTS_MAX = 2 * BRUTE_OPS_MAX };

struct kind {
    const char *name;
    struct brute_rules rules;
    bool values;  /* each acquire has a value; else owners are processes */
    bool retired; /* a process does nothing after an unknown outcome */
    int reuse;    /* percent of acquires that use an older value */
    int observes; /* percent of operations that look */
};

struct sample {
    struct brute_op ops[BRUTE_OPS_MAX];
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
    op->process = p;
    op->outcome = draw_outcome(dice);
    op->fence = draw(dice, 100) < 80 ? sample->count + 1 + (draw(dice, 10) == 0 ? -2 : 0) : 0;
    op->fence = op->fence < 0 ? 0 : op->fence;
    op->seen = draw(dice, 3) - 1;
    op->seen = op->seen > 0 ? 1 + draw(dice, sample->count + 1) : op->seen;
    if (!kind->values) {
        op->who = p + 1;
        op->seen = op->seen > 0 ? 1 + draw(dice, 3) : op->seen;
        return;
    }
    op->who = sample->count + 1;
    if (op->f == BRUTE_ACQUIRE && sample->count > 0 && draw(dice, 100) < kind->reuse) {
        op->who = sample->ops[draw(dice, sample->count)].who;
    }
    if (op->f == BRUTE_RELEASE && sample->count > 0) {
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
        op->until = op->call + 1 + draw(dice, 3 * spread);
        now[p] = op->ret;
        bool unknown = op->outcome == BRUTE_INFO || op->outcome == BRUTE_OPEN;
        gone[p] = op->outcome == BRUTE_OPEN || (unknown && kind->retired);
    }
}

static struct history_event event_of(const struct kind *kind, const struct brute_op *op, bool end)
{
    static const enum history_f f[] = {HISTORY_ACQUIRE, HISTORY_RELEASE, HISTORY_OBSERVE};
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
    event.flags = kind->values ? HISTORY_HAS_VALUE : HISTORY_HAS_OWNER;
    event.value.bytes[0] = event.owner.bytes[0] = (uint8_t)op->who;
    if (end && op->outcome == BRUTE_OK && op->f == BRUTE_ACQUIRE) {
        event.fence = op->fence;
        event.until_ns = op->until;
        event.flags |= HISTORY_HAS_UNTIL;
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

static struct linear_options options_of(const struct kind *kind, enum linear_engine engine,
                                        struct random_stream *dice)
{
    struct linear_options options = linear_options_default((enum linear_model)kind->rules.model);
    options.engine = (uint8_t)engine;
    options.log_bytes_max = (size_t)1 << 20;
    options.order = draw(dice, 4) == 0 &&
                    kind->rules.model !=
                        BRUTE_LEASE_EXACT; /* every legal order is confirmed where it is made */
    options.bytes_max = (size_t)1 << 26;
    options.permits = kind->rules.permits > 0 ? (uint32_t)kind->rules.permits : 1;
    options.refused_acquire = kind->rules.strong ? LINEAR_REFUSED_HELD : LINEAR_REFUSED_NOTHING;
    options.failed_release = kind->rules.not_held  ? LINEAR_RELEASE_NOT_HELD
                             : kind->rules.forgive ? LINEAR_RELEASE_DONE
                                                   : LINEAR_RELEASE_NOTHING;
    options.ttl_ns = kind->rules.ttl_low;
    options.drift_ns = kind->rules.ttl_high - kind->rules.ttl_low;
    return options;
}

struct tally {
    int events; /* of the history at hand */
    long fails;
    long helped;
    long unconfirmed;
};

/* The operations of a fail contradict each other alone. */
static void confirm(const struct linear_options *options, const struct linear_result *result,
                    const struct history_event *events, struct tally *tally)
{
    struct linear_witness witnesses[LINEAR_OPERATIONS_SHOWN] = {0};
    if (result->verdict != VERDICT_FAIL) {
        return;
    }
    for (int i = 0; i < result->operation_count; i++) {
        struct linear_witness *witness = &witnesses[i];
        witness->invoke = events[result->operations[i]];
        for (int j = (int)result->operations[i] + 1; j < tally->events && !witness->ended; j++) {
            witness->ended = events[j].process == witness->invoke.process;
            witness->end = events[j];
        }
    }
    tally->fails++;
    tally->helped += result->helped ? 1 : 0;
    if (linear_certificate_holds(options, witnesses, result->operation_count)) {
        return;
    }
    tally->unconfirmed++;
    cr_assert(options->model == LINEAR_LEASE_EXACT && result->reason == LINEAR_NO_ORDER,
              "the certificate of \"%s\" proves nothing",
              linear_reason_sentence((enum linear_reason)result->reason));
}

/*
 * How the certificates of one kind's illegal histories were. What more than four exact leases
 * contradict, one packed behind the other, four cannot; and where a few operations contradict each
 * other only because those that could help are needed elsewhere, that is rare.
 */
static struct tally tally;

static struct linear_result judge(const struct kind *kind, const struct sample *sample,
                                  enum linear_engine engine, struct random_stream *dice)
{
    struct history_event events[EVENTS_MAX];
    int count = events_of(kind, sample, events, dice);
    struct linear_options options = options_of(kind, engine, dice);
    struct linear *linear = linear_open(&options);
    for (int i = 0; i < count; i++) {
        linear_event(linear, &events[i]);
    }
    linear_finish(linear);
    struct linear_result result = *linear_result(linear);
    tally.events = count;
    confirm(&options, &result, events, &tally);
    linear_close(linear);
    return result;
}

/* A release that is called before its acquire returned shows that the lease was not over. */
static bool agrees(const struct kind *kind, const struct sample *sample, enum linear_engine engine,
                   struct random_stream *dice)
{
    struct sample proven = *sample;
    for (int i = 0; i < proven.count; i++) {
        for (int j = 0; j < proven.count; j++) {
            struct brute_op *take = &proven.ops[i];
            const struct brute_op *free = &proven.ops[j];
            bool pair = take->f == BRUTE_ACQUIRE && free->f == BRUTE_RELEASE &&
                        take->who == free->who && free->outcome == BRUTE_OK;
            take->proven =
                take->proven || (pair && (free->ret < take->until || free->call <= take->ret));
            take->until = pair && free->ret <= take->ret ? 0 : take->until;
        }
    }
    bool legal = brute_legal(&kind->rules, proven.ops, proven.count);
    struct linear_result result = judge(kind, sample, engine, dice);
    bool declined = result.verdict == VERDICT_UNKNOWN && result.limit == LINEAR_LIMIT_TIE &&
                    kind->rules.model == BRUTE_LEASE_EXACT;
    return declined || result.verdict == (legal ? VERDICT_PASS : VERDICT_FAIL) ||
           (sample->count == 0 && result.verdict == VERDICT_NOTHING);
}

static void print_sample(const struct sample *sample)
{
    static const char *const f[] = {"acquire", "release", "observe"};
    static const char *const outcome[] = {"ok", "fail", "info", "open"};
    for (int i = 0; i < sample->count; i++) {
        const struct brute_op *op = &sample->ops[i];
        fprintf(stderr, "  process %d %s who %d [%d, %d] %s fence %d until %d seen %d\n",
                op->process, f[op->f], op->who, (int)op->call, (int)op->ret, outcome[op->outcome],
                (int)op->fence, (int)op->until, op->seen);
    }
}

/* Drop operations while the two still disagree. */
static void shrink(const struct kind *kind, struct sample *sample, enum linear_engine engine,
                   struct random_stream *dice)
{
    for (int i = 0; i < sample->count;) {
        struct sample smaller = *sample;
        for (int j = i; j + 1 < smaller.count; j++) {
            smaller.ops[j] = smaller.ops[j + 1];
        }
        smaller.count--;
        if (!agrees(kind, &smaller, engine, dice)) {
            *sample = smaller;
            i = 0;
        } else {
            i++;
        }
    }
}

static void compare(const struct kind *kind, enum linear_engine engine)
{
    const char *seed_word = getenv("PICKLOCK_SEED");
    const char *soak_word = getenv("PICKLOCK_SOAK");
    uint64_t seed = seed_word == NULL ? 1 : strtoull(seed_word, NULL, 10);
    long histories = soak_word == NULL ? HISTORIES : strtol(soak_word, NULL, 10);
    struct random_stream dice = random_stream(kind->name, seed);
    long legal = 0, again = 0, fast = 0;
    for (long i = 0; i < histories; i++) {
        struct sample sample;
        draw_sample(kind, &dice, &sample);
        if (agrees(kind, &sample, engine, &dice)) {
            struct linear_result result = judge(kind, &sample, engine, &dice);
            legal += result.verdict == VERDICT_PASS ? 1 : 0;
            again += result.frontier_count > 0 ? 1 : 0;
            fast += result.frontier_count == 0 ? 1 : 0;
            continue;
        }
        shrink(kind, &sample, engine, &dice);
        struct linear_result result = judge(kind, &sample, engine, &dice);
        fprintf(stderr, "%s, seed %llu, history %ld: every order: %s; linear: %s (%s) limit %d\n",
                kind->name, (unsigned long long)seed, i,
                brute_legal(&kind->rules, sample.ops, sample.count) ? "legal" : "illegal",
                verdict_name((enum verdict)result.verdict),
                linear_reason_sentence((enum linear_reason)result.reason), result.limit);
        print_sample(&sample);
        cr_assert_fail("%s: the checker and the exhaustive search disagree", kind->name);
    }
    fprintf(stderr, "%-28s seed %llu: %ld histories, %ld legal, %ld fast, %ld frontier\n",
            kind->name, (unsigned long long)seed, histories, legal, fast, again);
    cr_assert(1000 * tally.unconfirmed <= tally.fails, "%s: %ld of %ld certificates prove nothing",
              kind->name, tally.unconfirmed, tally.fails);
    cr_assert(100 * tally.helped <= tally.fails, "%s: %ld of %ld certificates stand alone",
              kind->name, tally.fails - tally.helped, tally.fails);
    cr_assert(legal > histories / 20 && legal < histories, "%s is one-sided", kind->name);
}

#define COMPARE(test, engine, ...)                                                                 \
    Test(linear_brute, test)                                                                       \
    {                                                                                              \
        const struct kind kind = {__VA_ARGS__};                                                    \
        compare(&kind, engine);                                                                    \
    }

COMPARE(owner_by_value, LINEAR_ENGINE_AUTO, .name = "owner", .rules = {.model = BRUTE_OWNER},
        .values = true)
COMPARE(owner_by_value_searched, LINEAR_ENGINE_FRONTIER, .name = "owner frontier",
        .rules = {.model = BRUTE_OWNER}, .values = true)
COMPARE(owner_not_held, LINEAR_ENGINE_AUTO, .name = "owner not-held",
        .rules = {.model = BRUTE_OWNER, .not_held = true}, .values = true)
COMPARE(owner_forgiven, LINEAR_ENGINE_AUTO, .name = "owner released",
        .rules = {.model = BRUTE_OWNER, .forgive = true}, .values = true)
COMPARE(owner_reuse, LINEAR_ENGINE_AUTO, .name = "owner with shared values",
        .rules = {.model = BRUTE_OWNER, .not_held = true}, .values = true, .reuse = 30)
COMPARE(owner_strong, LINEAR_ENGINE_AUTO, .name = "owner held",
        .rules = {.model = BRUTE_OWNER, .strong = true, .not_held = true}, .values = true)
COMPARE(owner_strong_weakly_released, LINEAR_ENGINE_AUTO, .name = "owner held, released",
        .rules = {.model = BRUTE_OWNER, .strong = true}, .values = true)
COMPARE(owner_observed, LINEAR_ENGINE_AUTO, .name = "owner observed",
        .rules = {.model = BRUTE_OWNER, .strong = true}, .values = true, .observes = 30)
COMPARE(owner_process, LINEAR_ENGINE_AUTO, .name = "owner by process",
        .rules = {.model = BRUTE_OWNER, .not_held = true}, .retired = true)
COMPARE(owner_process_goes_on, LINEAR_ENGINE_AUTO, .name = "owner by process, going on",
        .rules = {.model = BRUTE_OWNER, .not_held = true, .strong = true})
COMPARE(mutex, LINEAR_ENGINE_AUTO, .name = "mutex", .rules = {.model = BRUTE_MUTEX})
COMPARE(mutex_searched, LINEAR_ENGINE_FRONTIER, .name = "mutex frontier",
        .rules = {.model = BRUTE_MUTEX})
COMPARE(mutex_strong, LINEAR_ENGINE_AUTO, .name = "mutex held",
        .rules = {.model = BRUTE_MUTEX, .strong = true, .not_held = true}, .observes = 10)
COMPARE(reentrant, LINEAR_ENGINE_AUTO, .name = "reentrant",
        .rules = {.model = BRUTE_REENTRANT, .not_held = true}, .retired = true)
COMPARE(reentrant_goes_on, LINEAR_ENGINE_AUTO, .name = "reentrant, going on",
        .rules = {.model = BRUTE_REENTRANT, .strong = true})
COMPARE(fenced, LINEAR_ENGINE_AUTO, .name = "fenced",
        .rules = {.model = BRUTE_FENCED, .not_held = true}, .values = true)
COMPARE(reentrant_fenced, LINEAR_ENGINE_AUTO, .name = "reentrant-fenced",
        .rules = {.model = BRUTE_REENTRANT_FENCED}, .retired = true)
COMPARE(lease, LINEAR_ENGINE_AUTO, .name = "lease",
        .rules = {.model = BRUTE_LEASE, .not_held = true}, .values = true)
COMPARE(lease_exact, LINEAR_ENGINE_AUTO, .name = "lease-exact",
        .rules = {.model = BRUTE_LEASE_EXACT, .not_held = true, .ttl_low = 4, .ttl_high = 5},
        .values = true)
COMPARE(lease_exact_short, LINEAR_ENGINE_AUTO, .name = "lease-exact, short",
        .rules = {.model = BRUTE_LEASE_EXACT, .ttl_low = 1, .ttl_high = 2}, .values = true)
COMPARE(semaphore, LINEAR_ENGINE_AUTO, .name = "semaphore",
        .rules = {.model = BRUTE_SEMAPHORE, .permits = 2, .not_held = true}, .values = true)
COMPARE(semaphore_strong, LINEAR_ENGINE_AUTO, .name = "semaphore held",
        .rules = {.model = BRUTE_SEMAPHORE, .permits = 2, .strong = true}, .retired = true)
