/* baseline.c: an earlier release's results beside these. */
#include "cli/baseline.h"

#include "base/assert.h"
#include "base/foreign.h"
#include "cli/baseline_read.h"
#include "cli/command.h"
#include "cli/fisher.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* All questions of one comparison together may cry wolf this often: Holm's procedure. */
#define LEVEL 0.01

enum { QUESTION_UNMET = -1, NAMES_TOLD_MAX = 20 };

/* Has a rate changed? */
struct question {
    size_t group;
    int check; /* which violation, or QUESTION_UNMET: not as expected */
    struct rates rates;
    double p;
    bool significant;
};

/* What comes of the comparison. */
struct telling {
    struct text *text;
    size_t fresh; /* what is new */
    size_t known;
    size_t luck;
    size_t unsure;
    size_t mended;
    bool errors;
    uint64_t runs;
    struct question *questions; /* in the arena */
    size_t question_count;
};

struct result baseline_begin(struct baseline *baseline, size_t group_count, struct text *why)
{
    baseline->now_count = group_count;
    baseline->now = arena_take(baseline->arena, group_count * sizeof *baseline->now);
    if (baseline->now == NULL) {
        text_add(why, "out of memory for the comparison of %zu groups", group_count);
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}

static bool same_content(const struct baseline_group *then, uint64_t content)
{
    return !then->has_content || then->content == content;
}

void baseline_run(struct baseline *baseline, size_t index, const struct report_group *group,
                  const struct run_report *run)
{
    struct baseline_now *now = &baseline->now[index];
    bool real = strcmp(group->world, world_real.name) == 0;
    const struct baseline_group *then = baseline_find(baseline, group->scenario->name, real);
    ASSERT(index < baseline->now_count);
    now->changed = then != NULL && !same_content(then, group->content);
    now->then = now->changed ? NULL : then;
    for (size_t i = 0; i < check_count(); i++) {
        bool failed = (run->violations & run->unmet) >> i & 1u;
        now->blamed[i] += failed && run->blames[i] == BLAME_LIBRARY;
    }
    const struct baseline_record *partner =
        now->then != NULL && !real ? baseline_partner(baseline, now->then, run->seed) : NULL;
    if (partner == NULL || partner->status > RUN_UNKNOWN) {
        now->alone++;
        now->alone_unmet += run->status == RUN_UNMET;
        now->alone_unknown += run->status == RUN_UNKNOWN;
        return;
    }
    now->paired++;
    if (partner->status != RUN_UNMET && run->status == RUN_UNMET) {
        now->worse_seed = now->worse == 0 ? run->seed : now->worse_seed;
        now->worse++;
    }
    now->unsure += partner->status == RUN_MET && run->status == RUN_UNKNOWN;
    now->mended += partner->status != RUN_MET && run->status == RUN_MET;
}

bool baseline_matters(const struct baseline *baseline, const struct scenario *scenario,
                      uint64_t content)
{
    for (int real = 0; real < 2; real++) {
        const struct baseline_group *then = baseline_find(baseline, scenario->name, real == 1);
        if (then != NULL && (!same_content(then, content) || then->unmet + then->unknown > 0)) {
            return true;
        }
    }
    return baseline_find(baseline, scenario->name, false) == NULL &&
           baseline_find(baseline, scenario->name, true) == NULL;
}

int64_t baseline_virtual_ns(const struct baseline *baseline, const struct scenario *scenario,
                            const char *world)
{
    bool real = strcmp(world, world_real.name) == 0;
    const struct baseline_group *then = baseline_find(baseline, scenario->name, real);
    return then != NULL ? then->virtual_ns : 0;
}

static void say(const struct telling *telling, const char *word, const struct report_group *group)
{
    text_add(telling->text, "%-7s %s in %s: ", word, group->scenario->name, group->world);
}

/* A scenario that was not there, or said something else: there is nothing to compare it with. */
static void tell_without(struct telling *telling, const struct report_group *group,
                         const struct baseline_now *now)
{
    const char *what = now->changed ? "it says something else now" : "it is not in the baseline";
    if (group->unmet > 0) {
        say(telling, "new", group);
        text_add(telling->text, "not as expected in %" PRIu64 " of %" PRIu64 " runs; %s\n",
                 group->unmet, group->runs, what);
        telling->fresh++;
    } else if (group->unknown > 0) {
        say(telling, "unsure", group);
        text_add(telling->text, "unknown in %" PRIu64 " of %" PRIu64 " runs; %s\n", group->unknown,
                 group->runs, what);
        telling->unsure++;
    }
}

/* Runs of the simulator with the same seed: there is no luck in them. */
static void tell_paired(struct telling *telling, const struct report_group *group,
                        const struct baseline_now *now)
{
    if (now->worse > 0) {
        say(telling, "new", group);
        text_add(telling->text,
                 "%" PRIu64 " of %" PRIu64
                 " seeds were as expected and are not, the first is %" PRIu64 "\n",
                 now->worse, now->paired, now->worse_seed);
        telling->fresh++;
    }
    if (now->unsure > 0) {
        say(telling, "unsure", group);
        text_add(telling->text, "%" PRIu64 " seeds were as expected and are unknown\n",
                 now->unsure);
        telling->unsure++;
    }
    if (now->mended > 0) {
        say(telling, "mended", group);
        text_add(telling->text, "%" PRIu64 " seeds were not as expected and are\n", now->mended);
        telling->mended++;
    }
    uint64_t known = group->unmet - now->alone_unmet - now->worse;
    if (known > 0) {
        say(telling, "known", group);
        text_add(telling->text, "%" PRIu64 " seeds were not as expected, and are not\n", known);
        telling->known++;
    }
}

/* Evidence against the library is a proof, however rare: one that was never there before is new. */
static bool tell_blamed(struct telling *telling, const struct report_group *group,
                        const struct baseline_now *now)
{
    bool told = false;
    for (size_t i = 0; i < check_count(); i++) {
        if (now->blamed[i] == 0 || now->then->blamed[i] > 0 || now->alone == 0) {
            continue;
        }
        say(telling, "new", group);
        text_add(telling->text,
                 "%s fail, blame library, in %" PRIu64 " of %" PRIu64 " runs; in none of %" PRIu64
                 " then, and evidence is no matter of luck\n",
                 check_at(i)->name, now->blamed[i], group->runs, now->then->runs);
        telling->fresh++;
        told = true;
    }
    return told;
}

static void ask(struct telling *telling, size_t group, int check, const struct rates *rates)
{
    struct question *question = &telling->questions[telling->question_count++];
    *question = (struct question){.group = group, .check = check, .rates = *rates};
    question->p = check == QUESTION_UNMET ? fisher_more(rates) : fisher_differs(rates);
}

/* Runs on real servers, or with seeds that were not run then: their rates are compared. */
static void ask_rates(struct telling *telling, size_t index, const struct report_group *group,
                      const struct baseline_now *now)
{
    const struct baseline_group *then = now->then;
    uint64_t runs_then = then->runs - then->errors;
    if (now->alone == 0 || runs_then == 0) {
        return;
    }
    bool blamed = tell_blamed(telling, group, now);
    if (now->alone_unmet > 0 && !blamed) {
        ask(telling, index, QUESTION_UNMET,
            &(struct rates){then->unmet, runs_then, now->alone_unmet, now->alone});
    }
    if (then->unmet > 0 && group->unmet == 0) {
        say(telling, "mended", group);
        text_add(telling->text,
                 "not as expected in %" PRIu64 " of %" PRIu64 " runs then, in none of %" PRIu64
                 " now\n",
                 then->unmet, runs_then, now->alone);
        telling->mended++;
    }
    if (now->alone_unknown > 0) {
        bool known = then->unknown > 0;
        say(telling, known ? "known" : "unsure", group);
        text_add(telling->text, "unknown in %" PRIu64 " of %" PRIu64 " runs\n", now->alone_unknown,
                 now->alone);
        *(known ? &telling->known : &telling->unsure) += 1;
    }
    for (size_t i = 0; i < check_count(); i++) {
        struct rates rates = {then->failed[i], runs_then, group->failed[i],
                              group->runs - group->errors};
        if (rates.runs_now > 0 &&
            rates.hits_then * rates.runs_now != rates.hits_now * rates.runs_then) {
            ask(telling, index, (int)i, &rates);
        }
    }
}

static int by_p(const void *one, const void *other)
{
    double a = ((const struct question *)one)->p;
    double b = ((const struct question *)other)->p;
    return a < b ? -1 : a > b;
}

/* Holm: the k-th smallest p of m counts as long as all before it do and it is at most level/(m - k
 * + 1). */
static void decide(struct telling *telling)
{
    size_t count = telling->question_count;
    qsort(telling->questions, count, sizeof *telling->questions, by_p);
    for (size_t k = 0; k < count && telling->questions[k].p <= LEVEL / (double)(count - k); k++) {
        telling->questions[k].significant = true;
    }
}

static void tell_rates(const struct telling *telling, const struct question *question)
{
    const struct rates *rates = &question->rates;
    text_add(telling->text,
             "%s in %" PRIu64 " of %" PRIu64 " runs then, %" PRIu64 " of %" PRIu64
             " now (p = %.2g)",
             question->check == QUESTION_UNMET ? "not as expected"
                                               : check_at((size_t)question->check)->name,
             rates->hits_then, rates->runs_then, rates->hits_now, rates->runs_now, question->p);
}

static void tell_question(struct telling *telling, const struct report_group *groups,
                          const struct question *question)
{
    const struct report_group *group = &groups[question->group];
    const struct rates *rates = &question->rates;
    bool more = (double)rates->hits_now * (double)rates->runs_then >
                (double)rates->hits_then * (double)rates->runs_now;
    const char *word = NULL;
    const char *end = "";
    size_t *count = NULL;
    if (question->significant) {
        word = more ? "new" : "mended";
        count = more ? &telling->fresh : &telling->mended;
    } else if (question->check == QUESTION_UNMET && rates->hits_then > 0) {
        word = "known";
        count = &telling->known;
    } else if (question->check == QUESTION_UNMET && fisher_power(rates) > LEVEL) {
        word = "unsure";
        end = "; too few runs to tell from luck: more of them (--repeat, --seeds), then and now";
        count = &telling->unsure;
    } else if (question->check == QUESTION_UNMET) {
        word = "luck";
        count = &telling->luck;
    }
    if (word != NULL) {
        say(telling, word, group);
        tell_rates(telling, question);
        text_add(telling->text, "%s\n", end);
        *count += 1;
    }
}

static struct report_side side_then(const struct baseline_group *then, size_t check)
{
    return (struct report_side){.failed = then->failed[check] > 0, .undecided = then->unknown > 0};
}

/* Two worlds that disagree, and did not then. */
static void tell_worlds(struct telling *telling, const struct baseline *baseline,
                        const struct report_group *groups, size_t i)
{
    const struct report_group *a = &groups[i];
    const struct report_group *b = &groups[i + 1];
    const struct baseline_group *then_a = baseline->now[i].then;
    const struct baseline_group *then_b = baseline->now[i + 1].then;
    if (a->scenario != b->scenario || a->runs == 0 || b->runs == 0 || a->errors + b->errors > 0) {
        return;
    }
    for (size_t check = 0; check < check_count(); check++) {
        bool known =
            then_a != NULL && then_b != NULL &&
            report_differs(a->scenario, check, side_then(then_a, check), side_then(then_b, check));
        if (!known &&
            report_differs(a->scenario, check, report_side(a, check), report_side(b, check))) {
            say(telling, "new", a);
            text_add(telling->text, "%s comes out otherwise in %s\n", check_at(check)->name,
                     b->world);
            telling->fresh++;
        }
    }
}

static void tell_left_out(const struct telling *telling, const struct baseline *baseline,
                          const struct report_group *groups, size_t count)
{
    size_t told = 0;
    for (size_t i = 0; i < baseline->group_count; i++) {
        const struct baseline_group *then = &baseline->groups[i];
        bool run = false;
        for (size_t g = 0; g < count && !run; g++) {
            run = groups[g].runs > 0 && strcmp(groups[g].scenario->name, then->name) == 0 &&
                  then->real == (strcmp(groups[g].world, world_real.name) == 0);
        }
        if (!run && told++ < NAMES_TOLD_MAX) {
            text_add(telling->text, told == 1 ? "in the baseline, not run now: " : ", ");
            text_add_foreign(telling->text, then->name, strlen(then->name));
            text_add(telling->text, " in %s", then->real ? world_real.name : world_sim.name);
        }
    }
    if (told > 0) {
        text_add(telling->text, "%s\n", told > NAMES_TOLD_MAX ? ", ..." : "");
    }
}

static int exit_code_of(const struct telling *telling)
{
    if (telling->fresh > 0) {
        return EXIT_VIOLATION;
    }
    if (telling->errors) {
        return EXIT_ENVIRONMENT;
    }
    return telling->unsure > 0 || telling->runs == 0 ? EXIT_UNKNOWN : EXIT_MET;
}

int baseline_end(const struct baseline *baseline, const struct report_group *groups, size_t count,
                 struct text *text)
{
    struct telling telling = {.text = text};
    telling.questions =
        arena_take(baseline->arena, count * (check_count() + 1) * sizeof *telling.questions);
    ASSERT(telling.questions != NULL && count <= baseline->now_count);
    for (size_t i = 0; i < count; i++) {
        const struct report_group *group = &groups[i];
        const struct baseline_now *now = &baseline->now[i];
        telling.runs += group->runs - group->errors;
        telling.errors = telling.errors || group->errors > 0;
        if (group->runs > 0 && now->then == NULL) {
            tell_without(&telling, group, now);
        } else if (group->runs > 0) {
            tell_paired(&telling, group, now);
            ask_rates(&telling, i, group, now);
        }
        if (i + 1 < count) {
            tell_worlds(&telling, baseline, groups, i);
        }
    }
    decide(&telling);
    for (size_t i = 0; i < telling.question_count; i++) {
        tell_question(&telling, groups, &telling.questions[i]);
    }
    tell_left_out(&telling, baseline, groups, count);
    text_add(text,
             "beside the baseline: %zu new, %zu known, %zu within luck, %zu unsure, %zu mended\n",
             telling.fresh, telling.known, telling.luck, telling.unsure, telling.mended);
    return exit_code_of(&telling);
}

void baseline_release(struct baseline *baseline)
{
    memory_release(baseline->records);
}
