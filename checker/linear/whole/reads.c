/* reads.c: P6: an owner's lock where operations saw who held it, or that nobody did. */
#include "checker/linear/whole/reads_inside.h"

#include "base/assert.h"

/*
 * Cores are in order, so all that is open is when, between two cores, the hold before ends and the
 * hold behind starts. What was seen says at most two things of these moments, of which one must be
 * so: "this one is late enough, or a later one is early enough". Of two solutions the later moment
 * each time is a solution again, so there is a latest one, and one pass from left to right finds
 * it: every moment as late as the ones before it allow. O(n log n) for the order of cores.
 *
 * Ghosts (unknown acquires without a release that succeeded) are left out, but for one behind the
 * last core, and a hold of no known length becomes a moment. If that is legal, the history is. If
 * not, it is illegal, unless one of them, holding for longer, could be what somebody saw of those
 * who contradict each other.
 */

/* ---- the latest moments ------------------------------------------------------------------- */

static void bring_forward(struct edge *edge, int64_t before, uint32_t cause)
{
    if (before < edge->before) {
        edge->before = before;
        edge->before_by = cause;
    }
}

/* The end of hold `gap - 1`, as those who saw that it did not hold want it. */
static void settle_apart(struct reads *reads, uint32_t gap)
{
    struct hold *hold = &reads->holds[gap - 1];
    for (uint32_t i = hold->apart; i != NOTHING; i = reads->claims[i].next) {
        if (hold->start.before <= reads->claims[i].after) {
            bring_forward(&hold->end, reads->claims[i].before, (uint32_t)reads->whole->count + i);
        }
    }
}

/* The start of hold `gap`, as those who saw a holder want it: the one before it, or an older one.
 */
static void settle_seen(struct reads *reads, uint32_t gap, bool newest)
{
    struct hold *hold = &reads->holds[gap];
    for (uint32_t i = hold->seen; i != NOTHING; i = reads->claims[i].next) {
        const struct claim *claim = &reads->claims[i];
        if ((claim->first == gap - 1) == newest &&
            reads->holds[claim->first].end.before <= claim->after) {
            bring_forward(&hold->start, claim->before, (uint32_t)reads->whole->count + i);
        }
    }
}

/* The first edge that has no moment left, or NULL. */
static const struct edge *settle(struct reads *reads)
{
    for (uint32_t gap = 1; gap < reads->hold_count; gap++) {
        struct edge *end = &reads->holds[gap - 1].end;
        struct edge *start = &reads->holds[gap].start;
        settle_apart(reads, gap);
        settle_seen(reads, gap, false);
        if (start->after >= start->before) {
            return start;
        }
        bring_forward(end, start->before, start->before_by);
        if (end->after >= end->before) {
            return end;
        }
        settle_seen(reads, gap, true);
        if (start->after >= start->before) {
            return start;
        }
    }
    return NULL;
}

/* ---- what contradicts what ----------------------------------------------------------------- */

/* Some of the operations that contradict each other: those that saw something come first. */
struct proof {
    uint32_t operations[LINEAR_OPERATIONS_SHOWN];
    int count;
    int claims;
    uint8_t kind; /* enum operation_kind, of the first claim's */
    bool helped;  /* a ghost, or a point that lasted, could resolve it */
};

static void proof_add(struct proof *proof, uint32_t operation)
{
    for (int i = 0; i < proof->count; i++) {
        if (proof->operations[i] == operation) {
            return;
        }
    }
    if (operation != NOTHING && proof->count < LINEAR_OPERATIONS_SHOWN) {
        proof->operations[proof->count++] = operation;
    }
}

/* Somebody was seen to hold: could it have been one that is left out? */
static bool could_be_helped(const struct reads *reads, const struct claim *claim)
{
    const struct operation *operation = &reads->whole->operations[claim->operation];
    bool named = operation->kind == OPERATION_SEEN_OWNER;
    return claim->first != claim->second &&
           claim->before > (named ? token_helps_from(reads, &reads->tokens[operation->identity])
                                  : reads->helped_from);
}

/* A claim counts because its first edge lies too early, which has a cause of its own. */
static void proof_add_cause(const struct reads *reads, struct proof *proof, uint32_t cause)
{
    uint32_t count = (uint32_t)reads->whole->count;
    while (cause != NOTHING && cause >= count) { /* each is about an earlier edge */
        const struct claim *claim = &reads->claims[cause - count];
        const struct operation *operation = &reads->whole->operations[claim->operation];
        proof_add(proof, claim->operation);
        if (!operation_is_observer(operation)) {
            proof_add(proof, token_end(&reads->tokens[operation->identity]));
        }
        proof->kind = proof->claims == 0 ? operation->kind : proof->kind;
        proof->claims++;
        if (claim->first == NOTHING) {
            return;
        }
        const struct hold *first = &reads->holds[claim->first];
        proof_add(proof, first->take);
        proof_add(proof, reads->holds[claim->second].take);
        proof->helped = proof->helped || could_be_helped(reads, claim);
        cause = claim->first == claim->second ? first->start.before_by : first->end.before_by;
    }
    proof_add(proof, cause);
}

static enum linear_reason reason_of(const struct proof *proof)
{
    bool take = proof->kind == OPERATION_TAKE || proof->kind == OPERATION_MAYBE_TAKE;
    return proof->claims != 1                  ? LINEAR_SEEN
           : take                              ? LINEAR_POINT_INSIDE
           : proof->kind == OPERATION_BUSY     ? LINEAR_UNEXPLAINED
           : proof->kind == OPERATION_NOT_HELD ? LINEAR_NOT_HELD_WHILE_HELD
                                               : LINEAR_SEEN;
}

/* No moment is left for the edge. */
static enum whole_verdict tell(struct reads *reads, const struct edge *edge)
{
    struct proof proof = {0};
    proof_add_cause(reads, &proof, edge->before_by);
    proof_add_cause(reads, &proof, edge->after_by);
    if (proof.helped) {
        return WHOLE_NOT_FOR_ME;
    }
    struct linear_finding *finding = &reads->whole->finding;
    *finding = (struct linear_finding){.reason = (uint8_t)reason_of(&proof),
                                       .grade = GRADE_NOT_LINEARIZABLE};
    for (int i = 0; i < proof.count; i++) {
        finding->operations[finding->count++] =
            reads->whole->operations[proof.operations[i]].invoke;
    }
    return WHOLE_ILLEGAL;
}

static enum whole_verdict decide(struct reads *reads)
{
    enum whole_verdict verdict = reads_plan(reads);
    if (verdict != WHOLE_LEGAL) {
        return verdict;
    }
    const struct edge *stuck = settle(reads);
    if (stuck == NULL) {
        return reads->whole->order != NULL ? reads_lay(reads) : WHOLE_LEGAL;
    }
    return tell(reads, stuck);
}

enum whole_verdict reads_judge(struct whole *whole)
{
    struct reads reads = {.whole = whole, .arena = arena_empty(whole->options->bytes_max)};
    whole->limit = LINEAR_LIMIT_BYTES;
    enum whole_verdict verdict = decide(&reads);
    arena_release(&reads.arena);
    return verdict;
}
