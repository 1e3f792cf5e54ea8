/* test_linear_brute.c: small random histories, judged by checker/linear and by trying every order.
 */
#include "checker/linear/certificate.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/checker/samples.c"

enum { HISTORIES = 30000 };

/* Judge as events arrive and keep nothing, or keep the operations for what that cannot decide. */
enum way { AS_STEPS, WITH_LOG };

static struct linear_options options_of(const struct kind *kind, enum linear_engine engine,
                                        enum way way, struct random_stream *dice)
{
    struct linear_options options = linear_options_default((enum linear_model)kind->rules.model);
    options.engine = (uint8_t)engine;
    options.log_bytes_max = way == WITH_LOG ? (size_t)1 << 20 : 0;
    options.order = way == WITH_LOG && draw(dice, 4) == 0 &&
                    kind->rules.model !=
                        BRUTE_LEASE_EXACT; /* every legal order is confirmed where it is made */
    options.bytes_max = (size_t)1 << 26;
    options.permits = kind->rules.permits > 0 ? (uint32_t)kind->rules.permits : 1;
    options.refused_acquire = kind->rules.strong ? LINEAR_REFUSED_HELD : LINEAR_REFUSED_NOTHING;
    options.failed_release = kind->rules.not_held  ? LINEAR_RELEASE_NOT_HELD
                             : kind->rules.forgive ? LINEAR_RELEASE_DONE
                                                   : LINEAR_RELEASE_NOTHING;
    options.depth_max = (uint32_t)kind->rules.depth;
    options.ttl_ns = kind->ttl > 0 ? kind->ttl : kind->rules.ttl_low;
    options.drift_ns = kind->ttl > 0 ? 0 : kind->rules.ttl_high - kind->rules.ttl_low;
    return options;
}

struct tally {
    int events;     /* of the history at hand */
    bool ends_move; /* by extensions, which no certificate names */
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
    if (tally->ends_move || linear_certificate_holds(options, witnesses, result->operation_count)) {
        return;
    }
    /* An acquire, its release and all k others. */
    bool crowd = options->model == LINEAR_SEMAPHORE && result->reason == LINEAR_POINT_INSIDE &&
                 options->permits + 2 > LINEAR_OPERATIONS_SHOWN;
    tally->unconfirmed += crowd ? 0 : 1;
    cr_assert(crowd || (options->model == LINEAR_LEASE_EXACT && result->reason == LINEAR_NO_ORDER),
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
                                  enum linear_engine engine, enum way way,
                                  struct random_stream *dice)
{
    struct history_event events[EVENTS_MAX];
    int count = events_of(kind, sample, events, dice);
    struct linear_options options = options_of(kind, engine, way, dice);
    struct linear *linear = linear_open(&options);
    for (int i = 0; i < count; i++) {
        linear_event(linear, &events[i]);
    }
    linear_finish(linear);
    struct linear_result result = *linear_result(linear);
    tally.events = count;
    tally.ends_move = kind->extends > 0 && kind->rules.model == BRUTE_LEASE;
    confirm(&options, &result, events, &tally);
    linear_close(linear);
    return result;
}

/* Has it a legal order? By trying them all, or where there are too many by the frontier engine. */
static bool is_legal(const struct kind *kind, const struct sample *sample,
                     struct random_stream *dice)
{
    if (!kind->longer) {
        return brute_legal(&kind->rules, sample->ops, sample->count);
    }
    struct linear_result result = judge(kind, sample, LINEAR_ENGINE_FRONTIER, WITH_LOG, dice);
    cr_assert_neq(result.verdict, VERDICT_UNKNOWN);
    return result.verdict != VERDICT_FAIL;
}

/* A pass is "possible" if and only if it fails without its releases of unknown outcome; where that
 * is not told of all, if it says so it does. */
static bool says_possible(const struct kind *kind, const struct sample *sample,
                          const struct linear_result *result, struct random_stream *dice)
{
    struct sample sure = {.count = 0};
    bool possible = result->grade == GRADE_POSSIBLE;
    if (result->verdict != VERDICT_PASS || (result->untold > 0 && !possible)) {
        return true;
    }
    for (int i = 0; i < sample->count; i++) {
        const struct brute_op *op = &sample->ops[i];
        bool unknown = op->outcome == BRUTE_INFO || op->outcome == BRUTE_OPEN;
        if (op->f != BRUTE_RELEASE || !unknown) {
            sure.ops[sure.count++] = *op;
        }
    }
    return possible == !is_legal(kind, &sure, dice);
}

/* Which of two acquires of an owner that were called at one time was the last one? */
static bool is_tied(const struct kind *kind, const struct sample *sample)
{
    bool tied = false;
    for (int i = 0; i < sample->count && kind->extends > 0; i++) {
        for (int j = 0; j < i; j++) {
            const struct brute_op *a = &sample->ops[i];
            const struct brute_op *b = &sample->ops[j];
            tied = tied || (a->f == BRUTE_ACQUIRE && b->f == BRUTE_ACQUIRE && a->who == b->who &&
                            a->call == b->call);
        }
    }
    return tied && kind->rules.model == BRUTE_LEASE;
}

static bool agrees(const struct kind *kind, const struct sample *sample, enum linear_engine engine,
                   struct random_stream *dice)
{
    if (is_tied(kind, sample)) {
        return true;
    }
    enum verdict wanted = is_legal(kind, sample, dice) ? VERDICT_PASS : VERDICT_FAIL;
    wanted = sample->count == 0 ? VERDICT_SKIPPED : wanted;
    struct linear_result steps = judge(kind, sample, engine, AS_STEPS, dice);
    struct linear_result result = judge(kind, sample, engine, WITH_LOG, dice);
    /* Tokens are not searched. */
    enum linear_engine other = kind->rules.model == BRUTE_TOKENS ? engine : LINEAR_ENGINE_NARROW;
    struct random_stream same = *dice;
    struct linear_result narrow = judge(kind, sample, other, WITH_LOG, &same);
    bool agreed = result.verdict == wanted && narrow.verdict == wanted &&
                  (steps.again ? steps.verdict == VERDICT_UNKNOWN : steps.verdict == wanted) &&
                  says_possible(kind, sample, &steps, dice) &&
                  says_possible(kind, sample, &result, dice);
    if (!agreed && getenv("PICKLOCK_TELL") != NULL) {
        fprintf(stderr, "wanted %s; steps %s, again %d, %llu possible; whole %s, narrow %s\n",
                verdict_name(wanted), verdict_name((enum verdict)steps.verdict), steps.again,
                (unsigned long long)steps.possible, verdict_name((enum verdict)result.verdict),
                verdict_name((enum verdict)narrow.verdict));
    }
    return agreed;
}
static void print_sample(const struct sample *sample)
{
    static const char *const f[] = {"acquire", "release", "observe", "extend"};
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
    histories = kind->longer ? histories / 4 : histories;
    struct random_stream dice = random_stream(kind->name, seed);
    long legal = 0, again = 0, fast = 0, steps = 0;
    for (long i = 0; i < histories; i++) {
        struct sample sample;
        (kind->longer ? draw_long : draw_sample)(kind, &dice, &sample);
        if (agrees(kind, &sample, engine, &dice)) {
            struct linear_result result = judge(kind, &sample, engine, WITH_LOG, &dice);
            steps += judge(kind, &sample, engine, AS_STEPS, &dice).again ? 0 : 1;
            legal += result.verdict == VERDICT_PASS ? 1 : 0;
            again += result.frontier_count > 0 ? 1 : 0;
            fast += result.frontier_count == 0 ? 1 : 0;
            continue;
        }
        shrink(kind, &sample, engine, &dice);
        setenv("PICKLOCK_TELL", "1", 1);
        for (int told = 0; told < 3; told++) {
            (void)agrees(kind, &sample, engine, &dice);
        }
        struct linear_result result = judge(kind, &sample, engine, WITH_LOG, &dice);
        fprintf(stderr, "%s, seed %llu, history %ld: wanted: %s; linear: %s (%s) limit %d\n",
                kind->name, (unsigned long long)seed, i,
                is_legal(kind, &sample, &dice) ? "legal" : "illegal",
                verdict_name((enum verdict)result.verdict),
                linear_reason_sentence((enum linear_reason)result.reason), result.limit);
        result = judge(kind, &sample, engine, AS_STEPS, &dice);
        fprintf(stderr, "as events arrive: %s (%s), %llu possible\n",
                verdict_name((enum verdict)result.verdict),
                linear_reason_sentence((enum linear_reason)result.reason),
                (unsigned long long)result.possible);
        print_sample(&sample);
        cr_assert_fail("%s: the checker disagrees", kind->name);
    }
    fprintf(stderr,
            "%-28s seed %llu: %ld histories, %ld legal, %ld as steps, %ld fast, %ld frontier\n",
            kind->name, (unsigned long long)seed, histories, legal, steps, fast, again);
    cr_assert(steps >= histories / 100 * kind->steps, "%s is kept too often", kind->name);
    cr_assert(1000 * tally.unconfirmed <= tally.fails, "%s: %ld of %ld certificates prove nothing",
              kind->name, tally.unconfirmed, tally.fails);
    long helped_max = kind->longer ? tally.fails / 4 : tally.fails / 100;
    cr_assert(tally.helped <= helped_max, "%s: %ld of %ld certificates stand alone", kind->name,
              tally.fails - tally.helped, tally.fails);
    cr_assert(legal > histories / 20 && legal < histories, "%s is one-sided", kind->name);
    cr_assert(fast >= histories / 100 * kind->fast, "%s: the fast path steps aside", kind->name);
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
COMPARE(reads, LINEAR_ENGINE_AUTO, .name = "reads", .rules = {.model = BRUTE_OWNER}, .values = true,
        .observes = 40, .sure = true, .fast = 95)
COMPARE(reads_and_refusals, LINEAR_ENGINE_AUTO, .name = "reads and refusals",
        .rules = {.model = BRUTE_OWNER, .strong = true}, .values = true, .observes = 30,
        .sure = true, .fast = 95)
COMPARE(reads_and_not_held, LINEAR_ENGINE_AUTO, .name = "reads and not-held",
        .rules = {.model = BRUTE_OWNER, .strong = true, .not_held = true}, .values = true,
        .observes = 20, .sure = true, .fast = 95)
COMPARE(reads_unsure, LINEAR_ENGINE_AUTO, .name = "reads, unknown acquires",
        .rules = {.model = BRUTE_OWNER, .not_held = true}, .values = true, .observes = 40,
        .fast = 95)
COMPARE(reads_reuse, LINEAR_ENGINE_AUTO, .name = "reads with shared values",
        .rules = {.model = BRUTE_OWNER, .strong = true, .not_held = true}, .values = true,
        .reuse = 30, .observes = 30, .fast = 75)
COMPARE(reads_by_process, LINEAR_ENGINE_AUTO, .name = "reads by process",
        .rules = {.model = BRUTE_OWNER, .strong = true, .not_held = true}, .retired = true,
        .observes = 30, .fast = 80)
COMPARE(reads_fenced, LINEAR_ENGINE_AUTO, .name = "reads, fenced",
        .rules = {.model = BRUTE_FENCED, .not_held = true}, .values = true, .observes = 30,
        .sure = true, .fast = 85)
COMPARE(owner_process, LINEAR_ENGINE_AUTO, .name = "owner by process",
        .rules = {.model = BRUTE_OWNER, .not_held = true}, .retired = true)
COMPARE(owner_process_goes_on, LINEAR_ENGINE_AUTO, .name = "owner by process, going on",
        .rules = {.model = BRUTE_OWNER, .not_held = true, .strong = true})
COMPARE(owner_process_goes_on_weakly, LINEAR_ENGINE_AUTO, .name = "owner by process, weak",
        .rules = {.model = BRUTE_OWNER, .not_held = true})
COMPARE(owner_process_searched, LINEAR_ENGINE_FRONTIER, .name = "owner by process, frontier",
        .rules = {.model = BRUTE_OWNER})
COMPARE(reentrant_searched, LINEAR_ENGINE_FRONTIER, .name = "reentrant frontier",
        .rules = {.model = BRUTE_REENTRANT, .not_held = true})
COMPARE(mutex, LINEAR_ENGINE_AUTO, .name = "mutex", .rules = {.model = BRUTE_MUTEX}, .steps = 100)
COMPARE(mutex_forgiven, LINEAR_ENGINE_AUTO, .name = "mutex released",
        .rules = {.model = BRUTE_MUTEX, .forgive = true}, .steps = 100)
COMPARE(mutex_crowded, LINEAR_ENGINE_AUTO, .name = "mutex, long", .rules = {.model = BRUTE_MUTEX},
        .steps = 100, .longer = true)
COMPARE(mutex_searched, LINEAR_ENGINE_FRONTIER, .name = "mutex frontier",
        .rules = {.model = BRUTE_MUTEX})
COMPARE(mutex_strong, LINEAR_ENGINE_AUTO, .name = "mutex held",
        .rules = {.model = BRUTE_MUTEX, .strong = true, .not_held = true}, .observes = 10)
COMPARE(reentrant, LINEAR_ENGINE_AUTO, .name = "reentrant",
        .rules = {.model = BRUTE_REENTRANT, .not_held = true}, .retired = true)
COMPARE(reentrant_goes_on, LINEAR_ENGINE_AUTO, .name = "reentrant, going on",
        .rules = {.model = BRUTE_REENTRANT, .strong = true})
COMPARE(reentrant_goes_on_weakly, LINEAR_ENGINE_AUTO, .name = "reentrant, going on, weak",
        .rules = {.model = BRUTE_REENTRANT, .not_held = true})
COMPARE(reentrant_fenced_goes_on, LINEAR_ENGINE_AUTO, .name = "reentrant-fenced, going on",
        .rules = {.model = BRUTE_REENTRANT_FENCED})
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
        .rules = {.model = BRUTE_SEMAPHORE, .permits = 2, .not_held = true}, .values = true,
        .steps = 90)
COMPARE(semaphore_one, LINEAR_ENGINE_AUTO, .name = "semaphore of 1",
        .rules = {.model = BRUTE_SEMAPHORE, .permits = 1}, .values = true, .steps = 90)
COMPARE(semaphore_three, LINEAR_ENGINE_AUTO, .name = "semaphore of 3",
        .rules = {.model = BRUTE_SEMAPHORE, .permits = 3, .forgive = true}, .values = true,
        .steps = 90)
COMPARE(semaphore_process, LINEAR_ENGINE_AUTO, .name = "semaphore by process",
        .rules = {.model = BRUTE_SEMAPHORE, .permits = 2, .not_held = true}, .retired = true,
        .steps = 75)
COMPARE(semaphore_reuse, LINEAR_ENGINE_AUTO, .name = "semaphore, shared values",
        .rules = {.model = BRUTE_SEMAPHORE, .permits = 2, .not_held = true}, .values = true,
        .reuse = 30)
COMPARE(semaphore_crowded, LINEAR_ENGINE_AUTO, .name = "semaphore, long",
        .rules = {.model = BRUTE_SEMAPHORE, .permits = 2, .not_held = true}, .values = true,
        .steps = 90, .longer = true)
COMPARE(semaphore_three_crowded, LINEAR_ENGINE_AUTO, .name = "semaphore of 3, long",
        .rules = {.model = BRUTE_SEMAPHORE, .permits = 3}, .values = true, .steps = 90,
        .longer = true)
COMPARE(semaphore_strong, LINEAR_ENGINE_AUTO, .name = "semaphore held",
        .rules = {.model = BRUTE_SEMAPHORE, .permits = 2, .strong = true}, .retired = true)

/* Owners that are processes, and no event says so. */
#define PLAIN(test, ...)                                                                           \
    COMPARE(plain_##test, LINEAR_ENGINE_AUTO, .name = "plain " #test, .plain = true,               \
            .rules = {.model = __VA_ARGS__})

PLAIN(owner, BRUTE_OWNER)
PLAIN(owner_strong, BRUTE_OWNER, .strong = true, .not_held = true)
PLAIN(fenced, BRUTE_FENCED)
PLAIN(fenced_strong, BRUTE_FENCED, .strong = true, .not_held = true)
PLAIN(reentrant, BRUTE_REENTRANT, .strong = true, .not_held = true, .depth = 2)
PLAIN(reentrant_shallow, BRUTE_REENTRANT, .strong = true, .depth = 1)
PLAIN(reentrant_fenced, BRUTE_REENTRANT_FENCED, .strong = true, .forgive = true)
PLAIN(reentrant_fenced_deep, BRUTE_REENTRANT_FENCED, .not_held = true, .depth = 2)
PLAIN(semaphore, BRUTE_SEMAPHORE, .permits = 2)
PLAIN(semaphore_of_many, BRUTE_SEMAPHORE, .permits = 40, .strong = true, .not_held = true)
PLAIN(semaphore_strong, BRUTE_SEMAPHORE, .permits = 2, .strong = true, .not_held = true)
PLAIN(lease, BRUTE_LEASE)
COMPARE(plain_lease_extended, LINEAR_ENGINE_AUTO, .name = "plain lease_extended", .plain = true,
        .extends = 25, .rules = {.model = BRUTE_LEASE})
PLAIN(lease_strong, BRUTE_LEASE, .strong = true, .not_held = true)
PLAIN(lease_exact, BRUTE_LEASE_EXACT, .strong = true, .ttl_low = 4, .ttl_high = 5)
PLAIN(lease_refreshed, BRUTE_LEASE_REFRESHED, .strong = true, .not_held = true)
PLAIN(tokens, BRUTE_TOKENS)

#define LOOKED_AT(test, ...)                                                                       \
    COMPARE(looked_at_##test, LINEAR_ENGINE_AUTO, .name = "looked at " #test, .observes = 25,      \
            __VA_ARGS__)

LOOKED_AT(lease, .values = true, .rules = {.model = BRUTE_LEASE, .strong = true, .not_held = true})
LOOKED_AT(lease_asked, .values = true, .ttl = 6, .rules = {.model = BRUTE_LEASE, .strong = true})
LOOKED_AT(lease_asked_plain, .plain = true, .ttl = 6,
          .rules = {.model = BRUTE_LEASE, .not_held = true})
LOOKED_AT(lease_reuse, .values = true, .reuse = 30, .ttl = 9,
          .rules = {.model = BRUTE_LEASE, .forgive = true})
LOOKED_AT(lease_open, .values = true, .open_ended = true,
          .rules = {.model = BRUTE_LEASE, .strong = true})
LOOKED_AT(lease_extended, .values = true, .extends = 25,
          .rules = {.model = BRUTE_LEASE, .strong = true, .not_held = true})
LOOKED_AT(lease_extended_asked, .plain = true, .extends = 25, .ttl = 6,
          .rules = {.model = BRUTE_LEASE, .not_held = true})
LOOKED_AT(lease_extended_reuse, .values = true, .reuse = 40, .extends = 20, .ttl = 9,
          .rules = {.model = BRUTE_LEASE, .forgive = true})
LOOKED_AT(exact, .values = true, .extends = 15,
          .rules = {.model = BRUTE_LEASE_EXACT, .strong = true, .ttl_low = 4, .ttl_high = 6})
LOOKED_AT(exact_plain, .plain = true, .extends = 25,
          .rules = {.model = BRUTE_LEASE_EXACT, .not_held = true, .ttl_low = 3, .ttl_high = 3})
LOOKED_AT(refreshed, .values = true, .extends = 25,
          .rules = {.model = BRUTE_LEASE_REFRESHED, .strong = true, .not_held = true})
LOOKED_AT(refreshed_plain, .plain = true, .extends = 25, .open_ended = true,
          .rules = {.model = BRUTE_LEASE_REFRESHED, .strong = true})
LOOKED_AT(semaphore, .values = true, .reuse = 20,
          .rules = {.model = BRUTE_SEMAPHORE, .permits = 2, .strong = true, .not_held = true})
LOOKED_AT(reentrant_fenced, .plain = true,
          .rules = {.model = BRUTE_REENTRANT_FENCED, .strong = true, .not_held = true})
LOOKED_AT(fenced, .values = true, .reuse = 30,
          .rules = {.model = BRUTE_FENCED, .strong = true, .not_held = true})
LOOKED_AT(refreshed_reuse, .values = true, .reuse = 40, .extends = 10,
          .rules = {.model = BRUTE_LEASE_REFRESHED, .strong = true})
LOOKED_AT(exact_reuse, .values = true, .reuse = 40, .extends = 15,
          .rules = {.model = BRUTE_LEASE_EXACT, .strong = true, .ttl_low = 4, .ttl_high = 5})

/* Names that only the end of an acquire tells. */
#define LATE(test, ...)                                                                            \
    COMPARE(late_##test, LINEAR_ENGINE_AUTO, .name = "late " #test, .late = true, .sure = true,    \
            __VA_ARGS__)

LATE(values, .values = true, .rules = {.model = BRUTE_OWNER, .not_held = true})
LATE(values_reuse, .values = true, .reuse = 30, .rules = {.model = BRUTE_OWNER})
LATE(owners, .rules = {.model = BRUTE_OWNER, .not_held = true})
LATE(fenced, .values = true, .rules = {.model = BRUTE_FENCED})
LATE(lease, .values = true, .rules = {.model = BRUTE_LEASE})
LATE(semaphore, .values = true, .rules = {.model = BRUTE_SEMAPHORE, .permits = 2})
LATE(semaphore_looked_at, .values = true, .observes = 20,
     .rules = {.model = BRUTE_SEMAPHORE, .permits = 2, .not_held = true})
