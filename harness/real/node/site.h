/*
 * site.h: where a node runs, and everything that can be done to it there.
 *
 *     site_init(&site, &options, place, why);    a child of ours, or under an agent, or bare
 *     site_start(&site, why);             poll site_ready() every millisecond or two
 *     site_crash, site_power_loss, site_freeze ...   one order each
 *     site_release(&site);
 *
 *     DOWN --start--> STARTING --ready--> UP <--thaw/freeze--> FROZEN;  any --crash--> DOWN
 *
 * The run does not know which kind of site it has: who carries orders out is a table of functions
 * (struct site_hand). An order returns when it is carried out and confirmed: the run's one thread
 * waits, and with it every command at every proxy, so that a fault at the n-th command strikes
 * before the n+1st, however far away the node is. What that took the run records as a hold.
 */
#ifndef HARNESS_REAL_SITE_H
#define HARNESS_REAL_SITE_H

#include "harness/real/node/node.h"

struct site;

/* Who carries orders out. Each returns when it is done; ERROR_ENVIRONMENT when it cannot be. */
struct site_hand {
    const char *name;
    bool distant; /* its clocks are not ours, and what it does is known between order and answer */
    struct result (*init)(struct site *site, struct text *why);
    struct result (*start)(struct site *site, struct text *why);
    struct result (*ready)(struct site *site, bool *ready, struct text *why);
    bool (*died)(struct site *site, struct text *why);
    struct result (*crash)(struct site *site, struct text *why);
    struct result (*shutdown)(struct site *site, struct text *why);
    struct result (*power_loss)(struct site *site, struct random_stream *random,
                                struct node_power_loss *loss, struct text *why);
    struct result (*freeze)(struct site *site, struct text *why);
    struct result (*thaw)(struct site *site, struct text *why);
    struct result (*clock_set)(struct site *site, int64_t jump_ns, int64_t rate_ppm,
                               struct text *why);
    void (*release)(struct site *site);
};

/* Where it is: who carries orders out there, and what that needs. */
struct site_place {
    const struct site_hand *hand;
    void *context; /* kept */
};

struct site {
    struct site_place place;
    int32_t slot;                 /* under an agent: which of its servers */
    const struct site_hand *hand; /* NULL: never made */
    struct node_options options;
    uint8_t state;          /* enum node_state */
    struct address address; /* the same for its whole life */
    const struct server_launch *launch;
    struct server_process server; /* as its kind sees it, from here */
    int64_t wall_ahead_ns; /* of its machine's wall clock before ours, as measured; 0: the same */
    char log_path[NODE_PATH_BYTES];
    struct node node; /* a child's */
};

extern const struct site_hand site_child;
extern const struct site_hand site_bare; /* context: a struct address */

/* Without a place it is a child of ours. */
MUST_USE struct result site_init(struct site *site, const struct node_options *options,
                                 const struct site_place *place, struct text *why);
MUST_USE struct result site_start(struct site *site, struct text *why);

/* STARTING: is it UP by now? Asking again too early is harmless. */
MUST_USE struct result site_ready(struct site *site, bool *ready, struct text *why);

/* Has its server ended by itself? `why` says how then. */
bool site_died(struct site *site, struct text *why);

MUST_USE struct result site_crash(struct site *site, struct text *why);
MUST_USE struct result site_shutdown(struct site *site, struct text *why);
MUST_USE struct result site_power_loss(struct site *site, struct random_stream *random,
                                       struct node_power_loss *loss, struct text *why);
MUST_USE struct result site_freeze(struct site *site, struct text *why);
MUST_USE struct result site_thaw(struct site *site, struct text *why);
MUST_USE struct result site_clock_set(struct site *site, int64_t jump_ns, int64_t rate_ppm,
                                      struct text *why);

/* How far its server's wall clock is from what its machine's shows. UP only. */
MUST_USE struct result site_clock_offset(struct site *site, int64_t *offset_ns, struct text *why);

/* Ask a redis-server something; `words` end with NULL. UP only. */
MUST_USE struct result site_ask(struct site *site, const char *const *words,
                                struct admin_reply *reply, struct text *why);

/* Ask and insist that the answer is no error. */
MUST_USE struct result site_order(struct site *site, const char *const *words,
                                  struct admin_reply *reply, struct text *why);

void site_release(struct site *site); /* one of zeros was never made: nothing */

#endif
