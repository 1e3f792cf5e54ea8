/* reads_plan.c: what P6 finds out of the operations: holds in their order, and claims about them.
 */
#include "base/assert.h"
#include "checker/linear/whole/reads_inside.h"

#include <stdlib.h>

static enum whole_verdict refuse(struct reads *reads, enum linear_reason reason, enum grade grade,
                                 const uint32_t operations[3])
{
    struct whole *whole = reads->whole;
    whole->finding = (struct linear_finding){.reason = (uint8_t)reason, .grade = (uint8_t)grade};
    for (int i = 0; i < 3; i++) {
        if (operations[i] != NOTHING) {
            whole->finding.operations[whole->finding.count++] =
                whole->operations[operations[i]].invoke;
        }
    }
    return WHOLE_ILLEGAL;
}

static bool is_fenced(const struct reads *reads)
{
    return reads->whole->options->model == LINEAR_FENCED;
}

/* ---- who held when --------------------------------------------------------------------------- */

void point_window(const struct reads *reads, const struct token *token, int64_t window[2])
{
    ASSERT(token->point);
    const struct operation *take = &reads->whole->operations[token->take];
    const struct operation *free = &reads->whole->operations[token_end(token)];
    window[0] = take->called > free->called ? take->called : free->called;
    window[1] = take->returned < free->returned ? take->returned : free->returned;
}

/* The token's latest acquire is over: what is known of its hold? */
static enum whole_verdict close_session(struct reads *reads, struct token *token)
{
    const struct operation *operations = reads->whole->operations;
    const struct operation *take = token->take == NOTHING ? NULL : &operations[token->take];
    const struct operation *free = token->free == NOTHING ? NULL : &operations[token->free];
    if (free != NULL && (take == NULL || free->returned < take->called)) {
        return refuse(reads, LINEAR_NEVER_ACQUIRED, GRADE_NOT_LINEARIZABLE,
                      (const uint32_t[3]){token->take, token->free, NOTHING});
    }
    if (token->again != NOTHING) {
        return refuse(reads, LINEAR_RELEASED_TWICE, GRADE_NOT_LINEARIZABLE,
                      (const uint32_t[3]){token->take, token->free, token->again});
    }
    if (take == NULL) {
        return WHOLE_LEGAL;
    }
    uint32_t end = token_end(token);
    int64_t to = end == NOTHING ? POSITION_NEVER : operations[end].called;
    if (take->kind == OPERATION_TAKE && to > take->returned) {
        reads->sessions[reads->session_count++] =
            (struct session){.from = take->returned, .take = token->take, .free = end};
        token->mine_count++;
        return WHOLE_LEGAL;
    }
    token->ghost = take->kind == OPERATION_MAYBE_TAKE && free == NULL;
    token->point = !token->ghost;
    return token->point && is_fenced(reads) && take->fence != 0 ? WHOLE_NOT_FOR_ME : WHOLE_LEGAL;
}

/* An identity may acquire again if everything that it did before is known and over. */
static bool begin_session(struct reads *reads, struct token *token, uint32_t at)
{
    const struct operation *operations = reads->whole->operations;
    if (token->take != NOTHING) {
        const struct operation *take = &operations[token->take];
        bool known = take->kind == OPERATION_TAKE && token->free != NOTHING &&
                     token->unknown == NOTHING && token->again == NOTHING;
        if (!known || operations[token->free].called < take->returned ||
            operations[token->free].returned > operations[at].called) {
            return false;
        }
        enum whole_verdict verdict = close_session(reads, token);
        ASSERT(verdict == WHOLE_LEGAL);
        token->free = NOTHING;
    }
    token->take = at;
    return true;
}

/* Behind the last core a ghost can hold for good: the one that somebody saw, else the first. */
static void add_ghost(struct reads *reads)
{
    const struct whole *whole = reads->whole;
    uint32_t chosen = NOTHING;
    bool seen = false;
    for (uint32_t i = 0; i < whole->count && !seen; i++) {
        const struct operation *operation = &whole->operations[i];
        const struct token *token = &reads->tokens[operation->identity];
        seen = token->ghost && operation->kind == OPERATION_SEEN_OWNER;
        bool first = token->ghost && operation->kind == OPERATION_MAYBE_TAKE && chosen == NOTHING;
        chosen = seen || first ? token->take : chosen;
    }
    if (chosen != NOTHING && !(is_fenced(reads) && whole->operations[chosen].fence != 0)) {
        reads->sessions[reads->session_count++] =
            (struct session){.from = POSITION_NEVER, .take = chosen, .free = NOTHING};
        reads->tokens[whole->operations[chosen].identity].mine_count++;
    }
}

static enum whole_verdict sort_out(struct reads *reads)
{
    const struct whole *whole = reads->whole;
    for (uint32_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        struct token *token = &reads->tokens[operation->identity];
        bool take = operation->kind == OPERATION_TAKE || operation->kind == OPERATION_MAYBE_TAKE;
        if (take && !begin_session(reads, token, i)) {
            return WHOLE_NOT_FOR_ME;
        } else if (operation->kind == OPERATION_FREE && token->free != NOTHING) {
            token->again = i;
        } else if (operation->kind == OPERATION_FREE) {
            token->free = i;
        } else if (operation->kind == OPERATION_MAYBE_FREE && token->unknown == NOTHING) {
            token->unknown = i;
        }
    }
    enum whole_verdict verdict = WHOLE_LEGAL;
    for (uint32_t i = 0; i < reads->identities && verdict == WHOLE_LEGAL; i++) {
        verdict = close_session(reads, &reads->tokens[i]);
    }
    if (verdict == WHOLE_LEGAL) {
        add_ghost(reads);
    }
    return verdict;
}

/* ---- holds in their order -------------------------------------------------------------------- */

static int compare_sessions(const void *left, const void *right)
{
    const struct session *a = left;
    const struct session *b = right;
    return (a->from > b->from) - (a->from < b->from);
}

static struct hold hold_of(const struct reads *reads, const struct session *session)
{
    const struct operation *operations = reads->whole->operations;
    const struct operation *take = &operations[session->take];
    struct hold hold = {.from = session->from,
                        .to = POSITION_NEVER,
                        .start = {take->called, take->returned, session->take, session->take},
                        .end = {POSITION_NEVER - 1, POSITION_NEVER, NOTHING, NOTHING},
                        .take = session->take,
                        .free = session->free,
                        .apart = NOTHING,
                        .seen = NOTHING};
    if (session->free != NOTHING) {
        const struct operation *free = &operations[session->free];
        hold.to = free->called;
        /* An unknown release took effect before the next hold, or not at all. */
        hold.end = (struct edge){free->called, free->returned, session->free, session->free};
    }
    return hold;
}

/* Something that holds at one end of time only, and has no operations. */
static struct hold hold_at(int64_t at)
{
    struct edge edge = {at - 1, at, NOTHING, NOTHING};
    return (struct hold){.from = at,
                         .to = at,
                         .start = edge,
                         .end = edge,
                         .take = NOTHING,
                         .free = NOTHING,
                         .apart = NOTHING,
                         .seen = NOTHING};
}

static void lay_holds(struct reads *reads)
{
    if (reads->session_count > 0) {
        qsort(reads->sessions, reads->session_count, sizeof reads->sessions[0], compare_sessions);
    }
    reads->holds[0] = hold_at(INT64_MIN + 1);
    for (uint32_t i = 0; i < reads->session_count; i++) {
        reads->holds[i + 1] = hold_of(reads, &reads->sessions[i]);
    }
    reads->hold_count = reads->session_count + 2;
    reads->holds[reads->hold_count - 1] = hold_at(POSITION_NEVER);
    for (uint32_t i = 0, next = 0; i < reads->identities; i++) {
        reads->tokens[i].mine = next;
        next += reads->tokens[i].mine_count;
        reads->tokens[i].mine_count = 0;
    }
    for (uint32_t i = 1; i + 1 < reads->hold_count; i++) {
        uint32_t identity = reads->whole->operations[reads->holds[i].take].identity;
        struct token *token = &reads->tokens[identity];
        reads->mine[token->mine + token->mine_count++] = i;
    }
}

/* Cores must be disjoint, and their fences grow. */
static enum whole_verdict check_holds(struct reads *reads)
{
    const struct operation *operations = reads->whole->operations;
    uint32_t highest = 0;
    for (uint32_t i = 1; i + 1 < reads->hold_count; i++) {
        const struct hold *before = &reads->holds[i - 1];
        const struct hold *hold = &reads->holds[i];
        if (before->to > hold->from) {
            const struct token *token = &reads->tokens[operations[before->take].identity];
            bool unknown = token->take == before->take && token->unknown != NOTHING &&
                           operations[token->unknown].called < hold->from;
            return refuse(
                reads, LINEAR_TWO_HOLDS, unknown ? GRADE_NOT_LINEARIZABLE : GRADE_DEFINITE,
                (const uint32_t[3]){before->take, unknown ? before->free : NOTHING, hold->take});
        }
        int64_t fence = is_fenced(reads) ? operations[hold->take].fence : 0;
        const struct hold *last = &reads->holds[highest];
        if (fence != 0 && highest != 0 && fence <= operations[last->take].fence) {
            return refuse(reads, LINEAR_FENCE_ORDER, GRADE_NOT_LINEARIZABLE,
                          (const uint32_t[3]){last->take, last->free, hold->take});
        }
        highest = fence != 0 ? i : highest;
    }
    return WHOLE_LEGAL;
}

/* ---- what was seen --------------------------------------------------------------------------- */

struct hold_list list_of_all(const struct reads *reads)
{
    return (struct hold_list){.mine = NULL, .count = reads->hold_count - 2};
}

struct hold_list list_of(const struct reads *reads, uint32_t identity)
{
    const struct token *token = &reads->tokens[identity];
    return (struct hold_list){.mine = reads->mine + token->mine, .count = token->mine_count};
}

uint32_t list_find(const struct reads *reads, const struct hold_list *list, int64_t at)
{
    uint32_t low = 1;
    uint32_t high = list->count + 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (reads->holds[list_at(reads, list, middle)].from > at) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static struct claim *claim_add(struct reads *reads, uint32_t operation, const int64_t window[2])
{
    ASSERT(reads->claim_count < reads->claim_room);
    struct claim *claim = &reads->claims[reads->claim_count++];
    *claim = (struct claim){.after = window[0],
                            .before = window[1],
                            .operation = operation,
                            .first = NOTHING,
                            .second = NOTHING,
                            .next = NOTHING};
    return claim;
}

/* At some moment of the window none of the list held. */
static void claim_apart(struct reads *reads, const struct hold_list *list, uint32_t operation,
                        const int64_t window[2])
{
    uint32_t at = list_find(reads, list, window[0]);
    struct hold *before = &reads->holds[list_at(reads, list, at - 1)];
    struct hold *hold = &reads->holds[list_at(reads, list, at)];
    bool around = hold->to < window[1];
    if (around && reads->holds[list_at(reads, list, at + 1)].to < window[1]) {
        return; /* a whole gap lies in the window */
    }
    struct claim *claim = claim_add(reads, operation, window);
    uint32_t index = (uint32_t)(claim - reads->claims);
    if (around) {
        claim->first = claim->second = (uint32_t)(hold - reads->holds);
        claim->next = hold->apart;
        hold->apart = index;
        return;
    }
    /* In this gap or never; if a core fills the window, that shows. */
    uint32_t cause = (uint32_t)reads->whole->count + index;
    if (before->end.before > window[1]) {
        before->end.before = window[1];
        before->end.before_by = cause;
    }
    if (hold->start.after < window[0]) {
        hold->start.after = window[0];
        hold->start.after_by = cause;
    }
}

/* At some moment of the window one of the list held. */
static void claim_held(struct reads *reads, const struct hold_list *list, uint32_t operation)
{
    const struct operation *seen = &reads->whole->operations[operation];
    uint32_t at = list_find(reads, list, seen->called);
    uint32_t before = list_at(reads, list, at - 1);
    struct hold *hold = &reads->holds[list_at(reads, list, at)];
    if (reads->holds[before].to > seen->called || hold->from < seen->returned) {
        return; /* as a core shows */
    }
    struct claim *claim =
        claim_add(reads, operation, (const int64_t[2]){seen->called, seen->returned});
    claim->first = before;
    claim->second = (uint32_t)(hold - reads->holds);
    claim->next = hold->seen;
    hold->seen = (uint32_t)(claim - reads->claims);
}

static void claim_observers(struct reads *reads)
{
    const struct whole *whole = reads->whole;
    struct hold_list all = list_of_all(reads);
    for (uint32_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        struct hold_list own = list_of(reads, operation->identity);
        const int64_t window[2] = {operation->called, operation->returned};
        if (operation->kind == OPERATION_SEEN_FREE || operation->kind == OPERATION_NOT_HELD) {
            bool anyone = operation->kind == OPERATION_SEEN_FREE;
            claim_apart(reads, anyone ? &all : &own, i, window);
        } else if (operation_is_observer(operation)) {
            claim_held(reads, operation->kind == OPERATION_SEEN_OWNER ? &own : &all, i);
        }
    }
}

int64_t token_helps_from(const struct reads *reads, const struct token *token)
{
    if (!token->ghost && !token->point) {
        return POSITION_NEVER;
    }
    int64_t called = reads->whole->operations[token->take].called;
    uint32_t last = reads->hold_count - 2;
    while (last > 0 && reads->holds[last].from == POSITION_NEVER) {
        last--;
    }
    /* One that nothing can end must come last. */
    bool endless = token_end(token) == NOTHING;
    return endless && reads->holds[last].to > called ? reads->holds[last].to : called;
}

/* A hold of no known length needs a moment at which nobody holds, as one who saw that. */
static void claim_points(struct reads *reads)
{
    reads->helped_from = POSITION_NEVER;
    struct hold_list all = list_of_all(reads);
    for (uint32_t i = 0; i < reads->identities; i++) {
        const struct token *token = &reads->tokens[i];
        int64_t from = token_helps_from(reads, token);
        reads->helped_from = from < reads->helped_from ? from : reads->helped_from;
        if (token->point) {
            int64_t window[2];
            point_window(reads, token, window);
            claim_apart(reads, &all, token->take, window);
        }
    }
}

/* Count what there is, and take the memory for it. WHOLE_UNKNOWN: there is none. */
static enum whole_verdict make_room(struct reads *reads)
{
    const struct whole *whole = reads->whole;
    uint32_t takes = 0;
    reads->identities = 1;
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        bool take = operation->kind == OPERATION_TAKE || operation->kind == OPERATION_MAYBE_TAKE;
        takes += take ? 1 : 0;
        reads->claim_room += operation_is_observer(operation) ? 1 : 0;
        uint32_t identity = operation->identity;
        reads->identities = identity >= reads->identities ? identity + 1 : reads->identities;
        if (!operation_is_unknown(operation) && operation->returned == POSITION_NEVER) {
            return WHOLE_NOT_FOR_ME; /* beyond the times that can be told apart */
        }
    }
    reads->tokens = arena_take(&reads->arena, reads->identities * sizeof *reads->tokens);
    reads->sessions = arena_take(&reads->arena, (takes + 1) * sizeof *reads->sessions);
    if (reads->tokens == NULL || reads->sessions == NULL) {
        return WHOLE_UNKNOWN;
    }
    for (uint32_t i = 0; i < reads->identities; i++) {
        struct token *token = &reads->tokens[i];
        token->take = token->free = token->unknown = token->again = NOTHING;
    }
    return WHOLE_LEGAL;
}

enum whole_verdict reads_plan(struct reads *reads)
{
    if (reads->whole->count >= NOTHING / 4) {
        return WHOLE_NOT_FOR_ME;
    }
    enum whole_verdict verdict = make_room(reads);
    verdict = verdict == WHOLE_LEGAL ? sort_out(reads) : verdict;
    if (verdict != WHOLE_LEGAL) {
        return verdict;
    }
    for (uint32_t i = 0; i < reads->identities; i++) {
        reads->claim_room += reads->tokens[i].point ? 1 : 0;
    }
    reads->holds = arena_take(&reads->arena, (reads->session_count + 2) * sizeof *reads->holds);
    reads->mine = arena_take(&reads->arena, (reads->session_count + 1) * sizeof *reads->mine);
    reads->claims = arena_take(&reads->arena, (reads->claim_room + 1) * sizeof *reads->claims);
    if (reads->holds == NULL || reads->mine == NULL || reads->claims == NULL) {
        return WHOLE_UNKNOWN;
    }
    lay_holds(reads);
    verdict = check_holds(reads);
    if (verdict == WHOLE_LEGAL) {
        claim_points(reads);
        claim_observers(reads);
    }
    return verdict;
}
