/* ghosts.c: P1b: an owner's lock where a refused acquire says that someone held it. */
#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/whole/whole.h"

#include <stdlib.h>

/*
 * Between two cores lies a gap. The hold before it can last to the end of its release's window, the
 * hold behind it can begin with its acquire's call; what neither can reach is the gap's zone. A
 * refusal is unexplained only if it lies wholly inside a zone: the gap is needy, and one ghost (an
 * unknown acquire whose release did not succeed) must hold from the first end of its needy refusals
 * to the gap's end. The ghosts that can serve a gap can serve the later ones too, so Hall's
 * condition is a count from left to right. O(n log n). Points near a refusal may cut a hold short:
 * not for this path.
 */
struct token {
    const struct operation *take, *free;
    int64_t unknown_release; /* position of the earliest call, or NEVER */
    int64_t told;            /* "not held" returned, or NEVER */
};

/* A core and the gap in front of it; the last one has only the gap. */
struct core {
    int64_t from, to;      /* the core */
    int64_t asked, latest; /* how far the hold can reach */
    int64_t needy;         /* first end of an unexplained refusal in the gap, or NEVER */
    uint64_t loose;        /* refusals that touch no core: in this gap, then in all up to it */
    uint64_t ghosts;       /* that can serve from this gap on */
    const struct operation *take, *refusal;
};

struct ghosts {
    struct whole *whole;
    struct token *tokens;
    uint32_t identities;
    struct core *cores;
    size_t count;
};

static int64_t token_end(const struct token *token)
{
    return token->free != NULL ? token->free->called : token->unknown_release;
}

static bool has_core(const struct token *token)
{
    return token->take != NULL && token->take->kind == OPERATION_TAKE &&
           token_end(token) > token->take->returned;
}

/* False where an identity is shared, or something else is seen of the lock. */
static bool sort_out(struct ghosts *ghosts)
{
    const struct whole *whole = ghosts->whole;
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        struct token *token = &ghosts->tokens[operation->identity];
        bool take = operation->kind == OPERATION_TAKE || operation->kind == OPERATION_MAYBE_TAKE;
        bool free = operation->kind == OPERATION_FREE;
        if (operation->kind > OPERATION_NOT_HELD || (take && token->take != NULL) ||
            (free && token->free != NULL)) {
            return false;
        }
        token->take = take ? operation : token->take;
        token->free = free ? operation : token->free;
        if (operation->kind == OPERATION_MAYBE_FREE && operation->called < token->unknown_release) {
            token->unknown_release = operation->called;
        }
        if (operation->kind == OPERATION_NOT_HELD && operation->returned < token->told) {
            token->told = operation->returned;
        }
    }
    for (uint32_t i = 0; i < ghosts->identities; i++) {
        const struct token *token = &ghosts->tokens[i];
        bool early = token->free != NULL &&
                     (token->take == NULL || token->free->returned < token->take->called);
        bool ghost = token->take != NULL && token->free == NULL && !has_core(token);
        if (early || ((ghost || token->unknown_release != POSITION_NEVER) &&
                      token->told != POSITION_NEVER)) {
            return false;
        }
    }
    return true;
}

static int compare_cores(const void *left, const void *right)
{
    const struct core *a = left;
    const struct core *b = right;
    return (a->from > b->from) - (a->from < b->from);
}

/* False if cores overlap, or one was told "not held": the search tells it with its operations. */
static bool lay_cores(struct ghosts *ghosts)
{
    for (uint32_t i = 0; i < ghosts->identities; i++) {
        const struct token *token = &ghosts->tokens[i];
        if (!has_core(token)) {
            continue;
        }
        int64_t latest = token->free != NULL ? token->free->returned : POSITION_NEVER;
        if (token->told < latest || (token->told != POSITION_NEVER && token->free == NULL)) {
            return false;
        }
        ghosts->cores[ghosts->count++] = (struct core){.from = token->take->returned,
                                                       .to = token_end(token),
                                                       .asked = token->take->called,
                                                       .latest = latest,
                                                       .needy = POSITION_NEVER,
                                                       .take = token->take};
    }
    if (ghosts->count > 0) {
        qsort(ghosts->cores, ghosts->count, sizeof ghosts->cores[0], compare_cores);
    }
    for (size_t i = 1; i < ghosts->count; i++) {
        if (ghosts->cores[i - 1].to > ghosts->cores[i].from) {
            return false;
        }
    }
    ghosts->cores[ghosts->count++] = (struct core){.from = POSITION_NEVER,
                                                   .to = POSITION_NEVER,
                                                   .asked = POSITION_NEVER,
                                                   .latest = POSITION_NEVER,
                                                   .needy = POSITION_NEVER};
    return true;
}

/* The first core that begins behind `at`: its gap, or the core before it, contains `at`. */
static size_t gap_of(const struct ghosts *ghosts, int64_t at)
{
    size_t low = 0;
    size_t high = ghosts->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ghosts->cores[middle].from > at) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void lay_refusals(struct ghosts *ghosts)
{
    const struct whole *whole = ghosts->whole;
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *refusal = &whole->operations[i];
        if (refusal->kind != OPERATION_BUSY) {
            continue;
        }
        size_t gap = gap_of(ghosts, refusal->called);
        struct core *next = &ghosts->cores[gap];
        const struct core *before = gap > 0 ? &ghosts->cores[gap - 1] : NULL;
        bool meets =
            refusal->returned > next->from || (before != NULL && refusal->called < before->to);
        if (meets) {
            continue;
        }
        next->loose++;
        bool reached =
            refusal->returned > next->asked || (before != NULL && refusal->called < before->latest);
        if (!reached && refusal->returned < next->needy) {
            next->needy = refusal->returned;
            next->refusal = refusal;
        }
    }
    for (size_t i = 1; i < ghosts->count; i++) {
        ghosts->cores[i].loose += ghosts->cores[i - 1].loose;
    }
}

/* A hold of no known length that must have a place: is a refusal near that it could disturb? */
static bool points_disturb(const struct ghosts *ghosts)
{
    for (uint32_t i = 0; i < ghosts->identities; i++) {
        const struct token *token = &ghosts->tokens[i];
        bool must = token->take != NULL && !has_core(token) &&
                    (token->free != NULL || token->take->kind == OPERATION_TAKE);
        if (must) {
            return ghosts->cores[ghosts->count - 1].loose > 0 || ghosts->count > 1;
        }
    }
    return false;
}

/* Which gap on a ghost can serve from: it was asked before the gap's need, and can end in it. */
static void count_ghost(struct ghosts *ghosts, const struct token *token)
{
    bool endless = token->unknown_release == POSITION_NEVER;
    for (size_t low = 0, high = ghosts->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        const struct core *core = &ghosts->cores[middle];
        bool last = middle + 1 == ghosts->count;
        bool ends = last || (!endless && token->unknown_release < core->from);
        /* Needs grow from gap to gap; a gap without one is as good as its beginning. */
        int64_t need = core->needy != POSITION_NEVER ? core->needy
                       : middle > 0                  ? ghosts->cores[middle - 1].to
                                                     : INT64_MIN;
        if (ends && token->take->called < need) {
            high = middle;
        } else {
            low = middle + 1;
        }
        if (low == high && low < ghosts->count) {
            ghosts->cores[low].ghosts++;
        }
    }
}

static enum whole_verdict serve(struct ghosts *ghosts)
{
    for (uint32_t i = 0; i < ghosts->identities; i++) {
        const struct token *token = &ghosts->tokens[i];
        if (token->take != NULL && token->take->kind == OPERATION_MAYBE_TAKE &&
            token->free == NULL) {
            count_ghost(ghosts, token);
        }
    }
    uint64_t left = 0;
    for (size_t i = 0; i < ghosts->count; i++) {
        const struct core *core = &ghosts->cores[i];
        left += core->ghosts;
        if (core->needy == POSITION_NEVER) {
            continue;
        }
        if (left == 0) {
            struct linear_finding *finding = &ghosts->whole->finding;
            *finding = (struct linear_finding){.reason = LINEAR_UNEXPLAINED,
                                               .grade = GRADE_NOT_LINEARIZABLE};
            if (i > 0) {
                finding->operations[finding->count++] = ghosts->cores[i - 1].take->invoke;
            }
            finding->operations[finding->count++] = core->refusal->invoke;
            if (core->take != NULL) {
                finding->operations[finding->count++] = core->take->invoke;
            }
            return WHOLE_ILLEGAL;
        }
        left--;
    }
    return WHOLE_LEGAL;
}

enum whole_verdict ghosts_judge(struct whole *whole)
{
    if (whole->options->order) {
        return WHOLE_NOT_FOR_ME; /* the search keeps an order */
    }
    struct arena arena = arena_empty(whole->options->bytes_max);
    struct ghosts ghosts = {.whole = whole, .identities = 1};
    for (size_t i = 0; i < whole->count; i++) {
        uint32_t identity = whole->operations[i].identity;
        ghosts.identities = identity >= ghosts.identities ? identity + 1 : ghosts.identities;
    }
    ghosts.tokens = arena_take(&arena, ghosts.identities * sizeof *ghosts.tokens);
    ghosts.cores = arena_take(&arena, (ghosts.identities + 1) * sizeof *ghosts.cores);
    whole->limit = LINEAR_LIMIT_BYTES;
    enum whole_verdict verdict = WHOLE_UNKNOWN;
    if (ghosts.tokens != NULL && ghosts.cores != NULL) {
        for (uint32_t i = 0; i < ghosts.identities; i++) {
            ghosts.tokens[i].unknown_release = ghosts.tokens[i].told = POSITION_NEVER;
        }
        verdict = WHOLE_NOT_FOR_ME;
        if (sort_out(&ghosts) && lay_cores(&ghosts)) {
            lay_refusals(&ghosts);
            verdict = points_disturb(&ghosts) ? WHOLE_NOT_FOR_ME : serve(&ghosts);
        }
    }
    arena_release(&arena);
    return verdict;
}
