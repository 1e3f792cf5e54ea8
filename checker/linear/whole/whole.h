/* whole.h: one lock whose operations had to be kept, and the algorithms that decide it. */
#ifndef CHECKER_LINEAR_WHOLE_H
#define CHECKER_LINEAR_WHOLE_H

#include "checker/linear/whole/log.h"

enum whole_verdict { WHOLE_LEGAL, WHOLE_ILLEGAL, WHOLE_UNKNOWN, WHOLE_NOT_FOR_ME };

/* One resource's operations, sorted by call, and what came of them. */
struct whole {
    const struct linear_options *options;
    struct operation *operations;
    size_t count;
    struct linear_finding finding; /* of an illegal history */
    uint8_t limit;                 /* enum linear_limit, of an unknown one */
    uint64_t frontier_peak;
    bool entangled; /* the frontier engine found that an identity does several things at a time */
    size_t *order;  /* if options->order and legal: indices of operations; room for `count` */
    size_t order_count;
};

/* By whatever path applies; *searched tells whether none of the fast ones did. */
enum whole_verdict whole_judge(struct whole *whole, bool *searched);

/* Replace the operations of an illegal finding by few that contradict each other alone. */
void whole_refine(struct whole *whole);

/* The frontier engine: decides any history of a lock (frontier_inside.h). */
enum whole_verdict frontier_judge(struct whole *whole);

/* Leases that the server ends by itself (P2b). */
enum whole_verdict exact_judge(struct whole *whole);

/* A service of monotonic tokens. */
enum whole_verdict tokens_judge(struct whole *whole);

/* Fences of a lock whose owner may acquire again never fall: illegal where one was granted after a
 * greater one, or not decided. */
enum whole_verdict fences_judge(struct whole *whole);

/* A mutex without observers (P3, with its order), and a semaphore whose grants can be told apart.
 */
enum whole_verdict toggle_judge(struct whole *whole);
enum whole_verdict permits_judge(struct whole *whole);

/* An owner's lock, also with fences, where operations saw who held it, or that nobody did (P6). */
enum whole_verdict reads_judge(struct whole *whole);

/* An owner's lock where refusals say that someone held it (P1b). */
enum whole_verdict ghosts_judge(struct whole *whole);

/* Indices of the operations that return, in the order of their returns; NULL without memory. */
uint32_t *whole_by_return(struct whole *whole, size_t *count);

#endif
