/* test_plain.c: the checks beside a second judge, over simulated runs and over what is left of them
 * when an event is dropped, moved, swapped, delayed, changed or given to another. PICKLOCK_JUDGED
 * says how many histories, PICKLOCK_JUDGED_FILE of which file alone; the runs are those of seeds 1,
 * 2, ... of each file. */
#include "base/assert.h"
#include "base/random.h"
#include "checker/judge.h"
#include "tests/judge/mutate.h"
#include "tests/judge/plain_answers.h"
#include "tests/judge/plain_conduct.h"
#include "tests/judge/plain_deadlock.h"
#include "tests/judge/plain_exercised.h"
#include "tests/judge/plain_faults.h"
#include "tests/judge/plain_leak.h"
#include "tests/judge/plain_notice.h"
#include "tests/judge/plain_promptness.h"
#include "tests/judge/plain_renewal.h"
#include "tests/judge/plain_truth.h"
#include "tests/sim/sim_fixture.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct second {
    const char *check;
    enum plain (*judge)(const struct plain_history *history);
} seconds[] = {
    {"exclusion", plain_exclusion},
    {"section_exclusion", plain_section_exclusion},
    {"store_integrity", plain_store_integrity},
    {"fence_order", plain_fence_order},
    {"linearizable", plain_linearizable},
    {"deadlock_freedom", plain_deadlock_freedom},
    {"ownership", plain_ownership},
    {"validity", plain_validity},
    {"result_truth", plain_result_truth},
    {"loss_notice", plain_loss_notice},
    {"no_leak", plain_no_leak},
    {"fault_tolerance", plain_fault_tolerance},
    {"exercised", plain_exercised},
    {"ttl_truth", plain_ttl_truth},
    {"answer_consistency", plain_answer_consistency},
    {"conduct", plain_conduct},
    {"renewal", plain_renewal},
    {"promptness", plain_promptness},
};
enum {
    SECONDS = sizeof seconds / sizeof seconds[0],
    BLOCK_BYTES = 64 << 20,
    YAML_BYTES = 1 << 14,
    PROCESSES_MAX = 64,
    FAULTS_MAX = 256,
    MUTATIONS = 12,
    SERVICES_PART = 4, /* of services so much less, as there are fewer files of them */
};

static const char *const files[] = {
    "scenarios/random/anything.yaml",
    "scenarios/random/fenced.yaml",
    "scenarios/random/pauses.yaml",
    "scenarios/restart-forgets.yaml",
    "scenarios/clock-jump-one-of-five.yaml",
    "scenarios/wrong/fence-not-raised.yaml",
    "scenarios/wrong/plain-delete.yaml",
    "scenarios/wrong/extend-creates.yaml",
    "scenarios/wrong/release-ignores-error.yaml",
    "scenarios/wrong/no-cleanup.yaml",
    "scenarios/wrong/extend-any-owner.yaml",
    "scenarios/wrong/quorum-half.yaml",
    "scenarios/wrong/extend-no-recheck.yaml",
    "scenarios/extend-in-time.yaml",
    "scenarios/extend-fails.yaml",
    "scenarios/clock-drift-beyond-allowance.yaml",
    "scenarios/pause-saved-by-value.yaml",
};

/* Of services, whose nodes are one store together. */
static const char *const service_files[] = {
    "scenarios/random/etcd-holds.yaml",      "scenarios/random/zookeeper-holds.yaml",
    "scenarios/random/hazelcast-holds.yaml", "scenarios/chubby/chubby-alone.yaml",
    "scenarios/wrong/etcd-dead-lease.yaml",
};

enum {
    FILES = sizeof files / sizeof files[0],
    SERVICE_FILES = sizeof service_files / sizeof service_files[0],
};

static struct fixture run;
static _Alignas(16) char block[BLOCK_BYTES];
static const char *file_now;
static unsigned long compared, services_compared, failed[SECONDS], differed[SECONDS];
/* Of re-entrant locks that renew: compared with that, or not as nobody can say how deep. */
static unsigned long nested, unclears;

static enum plain judged(const struct check_result *result)
{
    switch ((enum verdict)result->verdict) {
    case VERDICT_FAIL:
        return PLAIN_FAIL;
    case VERDICT_PASS:
        return PLAIN_PASS;
    case VERDICT_SKIPPED:
    case VERDICT_UNKNOWN:
        return PLAIN_NOTHING;
    }
    return PLAIN_NOTHING;
}

/* As a file that `picklock check` reads. */
static void show(const struct plain_history *h)
{
    char header[4096];
    struct text first = text_over(header, sizeof header);
    history_header_print(h->header, &first);
    printf("  %s", first.data);
    for (size_t i = 0; i < h->count; i++) {
        char memory[1024];
        struct text line = text_over(memory, sizeof memory);
        history_event_print(&h->events[i], &line);
        printf("  %s", line.data);
    }
}

static size_t check_index(const char *check)
{
    for (size_t i = 0; i < check_count(); i++) {
        if (strcmp(check_at(i)->name, check) == 0) {
            return i;
        }
    }
    cr_assert(false, "no check is called %s", check);
    UNREACHABLE();
}

static const struct check_result *result_of(const struct judge *judge, const char *check)
{
    return judge_result(judge, check_index(check));
}

static void compare_one(size_t k, const struct judge *judge, const struct plain_history *h,
                        uint64_t seed)
{
    enum plain ours = judged(result_of(judge, seconds[k].check));
    enum plain second = seconds[k].judge(h);
    /* `exercised` never fails: it passes, or is unknown. */
    bool never = seconds[k].judge == plain_exercised;
    bool fails = never ? ours != PLAIN_PASS : ours == PLAIN_FAIL;
    bool second_fails = never ? second != PLAIN_PASS : second == PLAIN_FAIL;
    failed[k] += second_fails;
    if (fails == second_fails) {
        return;
    }
    differed[k]++;
    if (differed[k] == 1) {
        const struct check_result *result = result_of(judge, seconds[k].check);
        printf("%s %s, seed %" PRIu64 ": the check says %s (reason %d, event %" PRIu64
               "), the second judge %s, of\n",
               seconds[k].check, file_now, seed, verdict_name(result->verdict), result->reason,
               result->evidence[0], second == PLAIN_FAIL ? "fail" : "no fail");
        show(h);
    }
}

/* `exclusion` and `linearizable` never disagree on the same two grants. */
static void compare_grants(const struct judge *judge, uint64_t seed)
{
    const struct check_result *overlap = result_of(judge, "exclusion");
    const struct check_result *order = result_of(judge, "linearizable");
    cr_assert(overlap->verdict != VERDICT_FAIL || order->verdict == VERDICT_FAIL,
              "seed %" PRIu64 ": a legal order of two leases that overlap", seed);
    if (order->verdict != VERDICT_FAIL || order->evidence_count != 2) {
        return;
    }
    cr_assert_eq(overlap->verdict, VERDICT_FAIL, "seed %" PRIu64, seed);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(overlap->evidence[i], order->evidence[i], "seed %" PRIu64, seed);
    }
    cr_assert_eq(overlap->blame, order->blame, "seed %" PRIu64, seed);
    cr_assert_eq(overlap->assumption, order->assumption, "seed %" PRIu64, seed);
}

static struct judge *judge_whole(const struct plain_history *h, uint64_t checks)
{
    cr_assert_leq(judge_bytes(h->header, checks), sizeof block);
    struct judge *judge = judge_init(block, h->header, checks);
    for (size_t i = 0; i < h->count; i++) {
        judge_event(judge, &h->events[i]);
    }
    judge_finish(judge);
    return judge;
}

/* The same of a lock that says of itself what it does: `answer_consistency`, `result_truth` and
 * `validity` take it at its word. */
static void compare_declared(struct random_stream *stream, const struct plain_history *h,
                             uint64_t seed)
{
    static const enum history_declares words[] = {DECLARES_VALIDITY, DECLARES_FENCE, DECLARES_RENEW,
                                                  DECLARES_REENTRANT};
    struct history_header header = *h->header;
    struct plain_history declared = {&header, h->events, h->count};
    struct random_stream own = random_stream("extends", seed + h->count);
    uint16_t extends = (uint16_t)(random_below(&own, 2) << DECLARES_EXTEND);
    header.declared = true;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        header.declares |= (uint16_t)(random_below(stream, 2) << words[i]);
    }
    if (!header.fenced) { /* else its first grant tells, and hides what else there is */
        header.declares &= (uint16_t) ~(1u << DECLARES_FENCE);
    }
    header.renew_every_ns = (int64_t)random_below(stream, 3) * 20000000;
    uint16_t nests = 1u << DECLARES_REENTRANT | 1u << DECLARES_RENEW;
    if ((header.declares & nests) == nests) {
        bool unclear = plain_depth_is_unclear(&declared);
        header.declares &= (uint16_t) ~(unclear ? 1u << DECLARES_RENEW : 0);
        nested += unclear ? 0 : 1;
        unclears += unclear ? 1 : 0;
    }
    uint16_t said = header.declares;
    for (size_t k = 0; k < SECONDS; k++) {
        bool truth = seconds[k].judge == plain_result_truth;
        bool keys = seconds[k].judge == plain_validity;
        header.declares = said;
        /* What none of several did, the second judge does not count. */
        header.declares &= (uint16_t) ~(1u << DECLARES_EXTEND);
        header.declares |= truth ? extends : 0;
        if (keys) { /* how deep it is held does not matter to its keys */
            header.declares |= 1u << DECLARES_VALIDITY;
            header.declares &= (uint16_t) ~(1u << DECLARES_REENTRANT);
        }
        if (seconds[k].judge == plain_answer_consistency || truth || keys) {
            uint64_t alone = UINT64_C(1) << check_index(seconds[k].check);
            compare_one(k, judge_whole(&declared, alone), &declared, seed);
        }
    }
}

static void compare(const struct plain_history *h, uint64_t seed)
{
    struct judge *judge = judge_whole(h, JUDGE_ALL);
    compare_grants(judge, seed);
    bool service = history_stores(h->header) < h->header->node_count;
    compared += service ? 0 : 1;
    services_compared += service ? 1 : 0;
    for (size_t k = 0; k < SECONDS; k++) {
        compare_one(k, judge, h, seed);
    }
}

/* Does a client write under a grant of its own that it had before its last one? */
static bool writes_under_the_last_but_one(const struct plain_history *h, size_t write)
{
    const struct history_event *e = &h->events[write];
    size_t last = plain_grant_of(h, write);
    for (size_t i = 0; i < last && last < h->count && e->f == HISTORY_WRITE; i++) {
        const struct history_event *grant = &h->events[i];
        if (plain_granted(grant) && grant->process == e->process &&
            grant->resource == e->resource && plain_same(&grant->value, &e->value) &&
            !plain_same(&h->events[last].value, &e->value)) {
            return true;
        }
    }
    return false;
}

/* Whether nobody contradicts himself: a key that is there cannot be set as if it were not, and who
 * is inside cannot enter, a fault begins before it ends, who sets a key has asked (of locks that
 * nobody enters twice), who writes under a grant has not been granted another since. */
static bool consistent(const struct plain_history *h)
{
    bool inside[PROCESSES_MAX] = {false};
    bool struck[FAULTS_MAX] = {false};
    bool asked[PROCESSES_MAX] = {false};
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind == HISTORY_SECTION) {
            if (inside[e->process] == (e->f == HISTORY_ENTER)) {
                return false;
            }
            inside[e->process] = e->f == HISTORY_ENTER;
        }
        if (e->kind == HISTORY_FAULT) {
            if (struck[e->fault] == (e->f == HISTORY_FAULT_START)) {
                return false;
            }
            struck[e->fault] = e->f != HISTORY_FAULT_END;
        }
        if (plain_is(e, HISTORY_ACQUIRE, HISTORY_INVOKE)) {
            asked[e->process] = true;
        }
        if (plain_key(e, HISTORY_KEY_SET) && e->process >= 0 && !asked[e->process]) {
            return false;
        }
        if (plain_is(e, HISTORY_WRITE, HISTORY_OK) && writes_under_the_last_but_one(h, i)) {
            return false;
        }
        if (plain_granted(e) && plain_sets(h, 0, i, e) == 0) {
            return false; /* a value that was never sent: whose keys are judged is another question
                           */
        }
        if (i > 0 && plain_key(e, HISTORY_KEY_SET) && (e->flags & HISTORY_HAS_OWNER) == 0 &&
            plain_holds(h, i - 1, e->node, e->resource).there) {
            return false;
        }
    }
    return true;
}

/* What the history's reader asks of a file: operations come in pairs. */
static bool readable(const struct plain_history *h)
{
    uint8_t open[PROCESSES_MAX] = {0};
    for (size_t i = 0; i < h->count; i++) {
        const struct history_event *e = &h->events[i];
        if (e->kind != HISTORY_OP) {
            continue;
        }
        uint8_t *mine = &open[e->process];
        bool begins = e->type == HISTORY_INVOKE;
        if (begins ? *mine != 0 : *mine != e->f + 1) {
            return false;
        }
        *mine = begins ? (uint8_t)(e->f + 1) : 0;
    }
    return true;
}

/* The same of `loss_notice`, and of a history that has something to tell of it: with fewer faults,
 * with keys that were thrown out or ran out, and with a client that is told of a loss. */
static void compare_notices(const struct plain_history *h, uint64_t seed)
{
    struct random_stream stream = random_stream("notices", seed + h->count);
    struct history_header header = *h->header;
    struct plain_history told = {&header, mutant, 0};
    told.count = mutate_losses(&stream, header.fault_count, h->count);
    if (!readable(&told) || !consistent(&told)) {
        return;
    }
    header.declared = true;
    header.declares |= (uint16_t)((random_below(&stream, 8) > 0 ? 1u : 0) << DECLARES_NOTICE);
    header.declares |= (uint16_t)((random_below(&stream, 8) > 0 ? 1u : 0) << DECLARES_RENEW);
    bool nests = random_below(&stream, 4) == 0 && !plain_any_nested(&told);
    header.declares |= (uint16_t)((nests ? 1u : 0) << DECLARES_REENTRANT);
    header.renew_every_ns = header.ttl_ns >> random_below(&stream, 8);
    header.ttl_ns >>= random_below(&stream, 2) * 4;
    if (random_below(&stream, 2) == 0) {
        header.promises_validity = false;
        told.count = forget_promises(told.count);
    }
    size_t k = 0;
    while (seconds[k].judge != plain_loss_notice) {
        k++;
    }
    uint64_t alone = UINT64_C(1) << check_index(seconds[k].check);
    compare_one(k, judge_whole(&told, alone), &told, seed);
}

/* Make the simulator for a file, which fixture_open knows by another name. */
static void open_file(const char *path)
{
    static char yaml[YAML_BYTES];
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    yaml[fread(yaml, 1, sizeof yaml - 1, file)] = '\0';
    cr_assert_eq(fclose(file), 0);
    char *name = strstr(yaml, "\nname: ");
    cr_assert_not_null(name);
    char *end = strchr(name + 1, '\n');
    memcpy(name, "\nname: test", 11);
    memset(name + 11, ' ', (size_t)(end - name - 11));
    fixture_open(&run, yaml, 1);
}

/* One run, and what is left of it under a few changes. */
static void judge_run(uint64_t seed)
{
    fixture_again(&run, seed);
    fixture_finish(&run);
    struct history_header header;
    plan_header(&run.plan, "sim", &header);
    struct plain_history whole = {&header, run.events, run.count};
    compare(&whole, seed);
    struct random_stream stream = random_stream("mutate", seed);
    for (int i = 0; i < MUTATIONS; i++) {
        struct plain_history h = {&header, mutant, mutate(&stream, run.events, run.count)};
        if (readable(&h) && consistent(&h)) {
            compare(&h, seed);
            h.count = forget(random_below(&stream, h.count), h.count);
            compare_declared(&stream, &h, seed);
            compare_notices(&h, seed);
        }
    }
}

/* Every other seed from `first` on, until so many are compared in all. */
static void judge_file(const char *name, uint64_t first, const unsigned long *reached,
                       unsigned long wanted)
{
    file_now = name;
    open_file(name);
    for (uint64_t seed = first; *reached < wanted; seed += 2) {
        judge_run(seed);
    }
    fixture_close(&run);
}

/* One file, whichever it is: a hunt for what differs. */
static void judge_alone(const char *name, uint64_t first, unsigned long wanted)
{
    for (file_now = name, open_file(name); compared + services_compared < wanted; first += 2) {
        judge_run(first);
    }
    fixture_close(&run);
    for (size_t k = 0; k < SECONDS; k++) {
        printf("%s: %lu failed, %lu differ of %lu in %s\n", seconds[k].check, failed[k],
               differed[k], compared + services_compared, name);
    }
    for (size_t k = 0; k < SECONDS; k++) {
        cr_assert_eq(differed[k], 0, "%s differs", seconds[k].check);
    }
}

/* Judge the runs of every other seed from `first` on; both halves run at once. */
static void judge_half(uint64_t first)
{
    const char *asked = getenv("PICKLOCK_JUDGED");
    const char *alone = getenv("PICKLOCK_JUDGED_FILE");
    unsigned long wanted = (asked != NULL ? strtoul(asked, NULL, 10) : 6000) / 2;
    if (alone != NULL) {
        judge_alone(alone, first, wanted);
        return;
    }
    for (size_t f = 0; f < FILES; f++) {
        judge_file(files[f], first, &compared, wanted * (f + 1) / FILES);
    }
    for (size_t f = 0; f < SERVICE_FILES; f++) {
        judge_file(service_files[f], first, &services_compared,
                   wanted / SERVICES_PART * (f + 1) / SERVICE_FILES);
    }
    printf("%lu histories compared, from seed %" PRIu64
           "; %lu with a depth, %lu unclear; and %lu of services\n",
           compared, first, nested, unclears, services_compared);
    cr_assert_gt(nested, 4 * unclears, "nobody can say how deep too often");
    for (size_t k = 0; k < SECONDS; k++) {
        printf("%s: %lu failed, %lu differ\n", seconds[k].check, failed[k], differed[k]);
    }
    for (size_t k = 0; k < SECONDS; k++) {
        cr_assert_eq(differed[k], 0, "%s differs", seconds[k].check);
        cr_assert_gt(failed[k], 0, "%s never failed: nothing was compared", seconds[k].check);
    }
}

Test(plain, agrees_with_the_checks_over_odd_seeds)
{
    judge_half(1);
}

Test(plain, agrees_with_the_checks_over_even_seeds)
{
    judge_half(2);
}
