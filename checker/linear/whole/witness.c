/* witness.c: tries a few operations at a time until some contradict each other alone. */
#include "checker/linear/whole/witness.h"

#include "base/assert.h"

#include <string.h>

enum {
    WITNESS_OF_EACH = 8, /* latest takes, releases, observers ... */
    WITNESS_CHOSEN = 4,  /* ... and how many of the releases may be part of the evidence: takes that
                            could reconcile an older one may be no candidates any more */
    WITNESS_CANDIDATES = 3 * WITNESS_OF_EACH + LINEAR_OPERATIONS_SHOWN,
    WITNESS_HELP = 3, /* others that are tried together to reconcile a choice */
    WITNESS_FEW = LINEAR_OPERATIONS_SHOWN + WITNESS_HELP,
};

/* Operations that may be part of it; the first is the one that fitted nowhere. Behind the first
 * `choosable` stand those that may only reconcile the others. */
struct candidates {
    const struct operation *list[WITNESS_CANDIDATES];
    int count;
    int choosable;
};

/* Some of `of` things, by index, in order. */
struct choice {
    int index[LINEAR_OPERATIONS_SHOWN];
    int count;
    int of;
};

static int64_t latest_of(const struct operation *operation)
{
    return operation->returned == POSITION_NEVER ? operation->called : operation->returned;
}

static int side_of(const struct operation *operation)
{
    bool take = operation->kind == OPERATION_TAKE || operation->kind == OPERATION_MAYBE_TAKE;
    bool free = operation->kind == OPERATION_FREE || operation->kind == OPERATION_MAYBE_FREE;
    return take ? 0 : free ? 1 : 2;
}

static bool is_listed(const struct candidates *candidates, const struct operation *operation)
{
    for (int i = 0; i < candidates->count; i++) {
        if (candidates->list[i] == operation) {
            return true;
        }
    }
    return false;
}

static void list_add(struct candidates *candidates, const struct operation *operation)
{
    if (!is_listed(candidates, operation) && candidates->count < WITNESS_CANDIDATES) {
        candidates->list[candidates->count++] = operation;
    }
}

/* What is called behind it cannot matter; an exact lease's release shows how long it was held. */
static int64_t horizon_of(const struct whole *whole, const struct operation *due)
{
    bool exact = whole->options->model == LINEAR_LEASE_EXACT;
    int64_t reach = exact ? 2 * (whole->options->ttl_ns + whole->options->drift_ns) : 0;
    return due->returned > POSITION_NEVER - reach ? POSITION_NEVER : due->returned + reach;
}

/* Add the latest takes and observers, and of releases at most `most`, latest first. */
static void list_side(struct candidates *candidates,
                      const struct operation *latest[3][WITNESS_OF_EACH], int most)
{
    for (int i = 0; i < WITNESS_OF_EACH; i++) {
        for (int side = 0; side < 3; side++) {
            if (latest[side][i] != NULL && (side != 1 || i < most)) {
                list_add(candidates, latest[side][i]);
            }
        }
    }
}

/* The latest of each side, latest first, of what can matter for the first. */
static void list_latest(const struct whole *whole, struct candidates *candidates)
{
    const struct operation *latest[3][WITNESS_OF_EACH] = {{NULL}};
    int64_t end = horizon_of(whole, candidates->list[0]);
    for (size_t i = 0; i < whole->count && whole->operations[i].called < end; i++) {
        const struct operation *operation = &whole->operations[i];
        const struct operation **list = latest[side_of(operation)];
        int at = WITNESS_OF_EACH;
        while (at > 0 &&
               (list[at - 1] == NULL || latest_of(list[at - 1]) <= latest_of(operation))) {
            at--;
        }
        for (int j = WITNESS_OF_EACH - 1; j > at; j--) {
            list[j] = list[j - 1];
        }
        if (at < WITNESS_OF_EACH) {
            list[at] = operation;
        }
    }
    list_side(candidates, latest, WITNESS_CHOSEN);
    candidates->choosable = candidates->count;
    list_side(candidates, latest, WITNESS_OF_EACH);
}

/* What the algorithm named comes first: the one with the latest return, then the others. */
static void list_named(const struct whole *whole, struct candidates *candidates)
{
    const struct linear_finding *finding = &whole->finding;
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        for (uint8_t j = 0; j < finding->count; j++) {
            if (operation->invoke == finding->operations[j]) {
                list_add(candidates, operation);
            }
        }
    }
    bool holds = finding->reason == LINEAR_TWO_HOLDS; /* told best by two takes */
    for (int i = 1; i < candidates->count; i++) {
        const struct operation *first = candidates->list[0];
        const struct operation *other = candidates->list[i];
        bool same = !holds || side_of(other) == side_of(first);
        bool later = latest_of(other) > latest_of(first);
        if (same ? later : side_of(other) == 0) {
            candidates->list[0] = candidates->list[i];
            candidates->list[i] = first;
        }
    }
}

/* Whether these operations contradict each other without any other. */
static bool contradict(const struct whole *whole, const struct operation *const *list, int count,
                       whole_judge_function *judge)
{
    struct operation few[WITNESS_FEW];
    uint32_t names[WITNESS_FEW];
    struct linear_options options = *whole->options;
    options.order = false;
    ASSERT(count <= WITNESS_FEW);
    for (int i = 0; i < count; i++) {
        int at = i;
        while (at > 0 && few[at - 1].called > list[i]->called) {
            few[at] = few[at - 1];
            at--;
        }
        few[at] = *list[i];
    }
    for (int i = 0; i < count; i++) {
        uint32_t small = 0; /* names of owners are as many as there are: small ones are quicker */
        names[i] = few[i].identity;
        while (names[small] != names[i]) {
            small++;
        }
        few[i].identity = few[i].identity == 0 ? 0 : small + 1;
    }
    struct whole alone = {.options = &options, .operations = few, .count = (size_t)count};
    return judge(&alone) == WHOLE_ILLEGAL;
}

static struct choice choice_first(int count, int of)
{
    struct choice choice = {.count = count, .of = of};
    for (int i = 0; i < count; i++) {
        choice.index[i] = i;
    }
    return choice;
}

/* The next choice of as many; those before `fixed` stay. False behind the last. */
static bool choice_next(struct choice *choice, int fixed)
{
    int i = choice->count - 1;
    while (i >= fixed && choice->index[i] == choice->of - choice->count + i) {
        i--;
    }
    if (i < fixed) {
        return false;
    }
    choice->index[i]++;
    for (int j = i + 1; j < choice->count; j++) {
        choice->index[j] = choice->index[j - 1] + 1;
    }
    return true;
}

/* Whether no few other candidates make the choice legal. */
static bool stands(const struct whole *whole, const struct candidates *candidates,
                   const struct choice *choice, whole_judge_function *judge)
{
    const struct operation *others[WITNESS_CANDIDATES];
    const struct operation *list[WITNESS_FEW];
    int other_count = 0;
    int chosen = 0;
    for (int i = 0; i < candidates->count; i++) {
        if (chosen < choice->count && choice->index[chosen] == i) {
            list[chosen++] = candidates->list[i];
        } else {
            others[other_count++] = candidates->list[i];
        }
    }
    for (int count = 1; count <= WITNESS_HELP && count <= other_count; count++) {
        struct choice help = choice_first(count, other_count);
        do {
            for (int i = 0; i < count; i++) {
                list[chosen + i] = others[help.index[i]];
            }
            if (!contradict(whole, list, chosen + count, judge)) {
                return false;
            }
        } while (choice_next(&help, 0));
    }
    return true;
}

static void tell(struct whole *whole, const struct candidates *candidates,
                 const struct choice *choice, bool stands_alone)
{
    struct linear_finding *finding = &whole->finding;
    finding->count = 0;
    finding->helped = !stands_alone;
    for (int i = 0; i < choice->count; i++) {
        finding->operations[finding->count++] = candidates->list[choice->index[i]]->invoke;
    }
}

void witness_refine(struct whole *whole, whole_judge_function *judge)
{
    struct candidates candidates = {.count = 0};
    struct choice second_best = {.count = 0};
    list_named(whole, &candidates);
    if (candidates.count == 0) {
        return;
    }
    list_latest(whole, &candidates);
    for (int count = 1; count <= LINEAR_OPERATIONS_SHOWN && count <= candidates.choosable;
         count++) {
        struct choice choice = choice_first(count, candidates.choosable);
        do {
            const struct operation *list[LINEAR_OPERATIONS_SHOWN];
            for (int i = 0; i < count; i++) {
                list[i] = candidates.list[choice.index[i]];
            }
            if (!contradict(whole, list, count, judge)) {
                continue;
            }
            if (stands(whole, &candidates, &choice, judge)) {
                tell(whole, &candidates, &choice, true);
                return;
            }
            second_best = second_best.count == 0 ? choice : second_best;
        } while (choice_next(&choice, 1)); /* what fitted nowhere is always among them */
    }
    if (second_best.count > 0) {
        tell(whole, &candidates, &second_best, false);
    }
}
