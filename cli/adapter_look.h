/*
 * adapter_look.h: what a library was seen to do in a run: from the run's history and its wire.log.
 *
 *     look_wire(&look, folder); look_history(&look, &loaded);
 *
 * wire.log (docs/REAL.md) has the words of each command; the history what became of them. One look
 * takes in several runs: of one client alone, of two that want the same lock, of one that stays
 * longer than its ttl, of two threads of one program.
 */
#ifndef CLI_ADAPTER_LOOK_H
#define CLI_ADAPTER_LOOK_H

#include "cli/loaded.h"

enum {
    LOOK_SHAPES_MAX = 12, /* different commands of one operation */
    LOOK_SHAPE_BYTES = 240,
    LOOK_VALUES_MAX = 32,
    LOOK_UNSAID_KEPT = 16,
    LOOK_WORD_BYTES = 96,
    LOOK_KEYS_MAX = 8,
};

enum look_operation { LOOK_ACQUIRE, LOOK_EXTEND, LOOK_RELEASE, LOOK_IDLE, LOOK_OPERATIONS };

/* A command that was seen, with whatever stood in it once written as VALUE. */
struct look_shape {
    char words[LOOK_SHAPE_BYTES];
    char inside[LOOK_SHAPE_BYTES]; /* what it called itself */
    uint64_t nodes;                /* bit n */
    size_t count;
};

/* Least and most of what was measured. */
struct look_range {
    size_t count;
    int64_t least_ns;
    int64_t most_ns;
};

struct look {
    struct look_shape shapes[LOOK_OPERATIONS][LOOK_SHAPES_MAX];
    size_t shape_count[LOOK_OPERATIONS];
    char values[LOOK_VALUES_MAX][LOOK_WORD_BYTES]; /* that the adapter reported */
    size_t value_count;
    char unsaid[LOOK_UNSAID_KEPT][LOOK_WORD_BYTES]; /* the last that stood where those do */
    size_t unsaid_count;
    char keys[LOOK_KEYS_MAX][LOOK_WORD_BYTES];
    bool key_is_lock[LOOK_KEYS_MAX];
    size_t key_count;
    struct look_range connections; /* of one client, in all */
    bool says_at;
    bool subscribes;

    struct history_header header;
    size_t grants;
    size_t grant_values;  /* different ones among the grants of one client */
    size_t thread_values; /* ... of two threads of one program */
    bool value_shared;    /* two programs gave their keys one value */
    uint16_t seen;        /* bit n: enum history_declares */
    bool mismatch;
    struct look_range ttl_set;
    struct look_range ttl_extended;
    struct look_range renewals; /* the time between two */
    struct look_range attempts; /* ... between two at one node, of an acquire that is refused */
    size_t attempt_count;
    char attempt[LOOK_WORD_BYTES]; /* how each of them begins */
    char after[LOOK_SHAPE_BYTES];  /* what it sent between them */
    int64_t attempt_ns;            /* the last one */
    bool answered;                 /* that acquire is over */
    bool waited;                   /* the second client was granted what the first had held */
    bool refused;                  /* ... or told that it was not */
    bool lingered;                 /* ... after longer than it takes to ask: it may have waited */
    int64_t answer_ns;             /* after so long */
    int64_t held_ns;               /* the key of a client that stays was there so long */
    int64_t until_end_ns;          /* its section took so long */
    size_t beside;                 /* releases that were answered while another thread acquired */
    size_t behind;                 /* ... or only once that acquire was over */
};

enum look_story { LOOK_ALONE, LOOK_TWO, LOOK_LONG, LOOK_THREADS, LOOK_STORIES };

/* Read wire.log of a run, if there is one. */
void look_wire(struct look *look, const char *folder, enum look_story story);

void look_history(struct look *look, const struct loaded *loaded, enum look_story story);

#endif
