/* reads_inside.h: what the parts of P6 share: holds in their order, and what was seen of them. */
#ifndef CHECKER_LINEAR_READS_INSIDE_H
#define CHECKER_LINEAR_READS_INSIDE_H

#include "base/arena.h"
#include "checker/linear/whole/whole.h"

#define NOTHING UINT32_MAX

/*
 * The moment at which a hold begins or ends. It lies between two events; how near to `before` does
 * not matter. A cause is the index of an operation or, from whole->count on, of a claim.
 */
struct edge {
    int64_t after, before;
    uint32_t after_by, before_by; /* causes, or NOTHING */
};

/*
 * A hold with a core, in the order of cores; the last may be a ghost, which starts at some time or
 * never, and has no core. holds[0] and the one behind the last stand for the beginning and the end
 * of time: gap g lies between the end of holds[g - 1] and the start of holds[g].
 */
struct hold {
    int64_t from, to; /* the core */
    struct edge start, end;
    uint32_t take, free; /* operations; what may have ended it, or NOTHING */
    uint32_t apart;      /* its first claim "starts after `after` or ends before `before`" */
    uint32_t seen;       /* first claim "`first` ends after `after` or I start before `before`" */
};

/* What an operation says of at most two edges. */
struct claim {
    int64_t after, before;
    uint32_t operation;
    uint32_t first, second; /* holds: equal if it is about one that is apart; or NOTHING */
    uint32_t next;          /* of the same list, or NOTHING */
};

/* An identity: its latest acquire and what ended it; its holds with a core stand in `mine`. */
struct token {
    uint32_t take, free, unknown, again; /* operations, or NOTHING; the earliest unknown release */
    uint32_t mine, mine_count;
    bool ghost; /* the latest acquire may not have taken effect */
    bool point; /* ... or held for no known length */
};

struct session {
    int64_t from;
    uint32_t take, free;
};

struct reads {
    struct whole *whole;
    struct arena arena;
    struct token *tokens; /* by identity */
    uint32_t identities;
    struct session *sessions;
    uint32_t session_count;
    struct hold *holds;
    uint32_t hold_count;
    uint32_t *mine; /* holds by identity */
    struct claim *claims;
    uint32_t claim_count, claim_room;
    int64_t helped_from; /* the first moment at which a ghost, or a point that lasted, could hold */
};

/* Holds of one identity, or of all, between the beginning and the end of time. */
struct hold_list {
    const uint32_t *mine; /* NULL: all */
    uint32_t count;
};

static inline uint32_t list_at(const struct reads *reads, const struct hold_list *list, uint32_t i)
{
    uint32_t end = reads->hold_count - 1;
    return i == 0 ? 0 : i > list->count ? end : list->mine == NULL ? i : list->mine[i - 1];
}

/* What ended its latest hold, or NOTHING. */
static inline uint32_t token_end(const struct token *token)
{
    return token->free != NOTHING ? token->free : token->unknown;
}

struct hold_list list_of_all(const struct reads *reads);
struct hold_list list_of(const struct reads *reads, uint32_t identity);

/* The first of the list whose core begins behind `at`; never 0. */
uint32_t list_find(const struct reads *reads, const struct hold_list *list, int64_t at);

/* The only place where a hold of no known length must have a moment: [0] < moment < [1]. */
void point_window(const struct reads *reads, const struct token *token, int64_t window[2]);

/* The first moment at which the token's ghost, or its point, could hold; else POSITION_NEVER. */
int64_t token_helps_from(const struct reads *reads, const struct token *token);

/* Make holds and claims of the operations. WHOLE_LEGAL: so far. */
enum whole_verdict reads_plan(struct reads *reads);

/* Lay the operations in a legal order, with every edge as late as it can be. */
enum whole_verdict reads_lay(struct reads *reads);

#endif
