/*
 * story.h: one story for one cause, with all checks that it broke.
 *
 *     results of all checks --> stories_tell() --> causes --> steps, in order of time, numbered
 * 1, 2...
 *
 * Findings of several checks often are one and the same event seen from several sides: a node
 * forgets a key, two clients meet, an update is lost. What `show`, the page, JSON and the page of a
 * batch say of a violation is made here, once, so that all of them say and number the same.
 *
 * Needs the whole history in memory, in order; used after a verdict. Sentences are UTF-8; names
 * that a history brought are in them as they came.
 */
#ifndef CHECKER_STORY_STORY_H
#define CHECKER_STORY_STORY_H

#include "checker/explain/explain.h"

enum {
    STORY_CAUSES_MAX = 16,
    STORY_STEPS_MAX = 8,
    STORY_FAULTS_MAX = 4,
    STORY_LABEL_BYTES = 64,
    STORY_SENTENCE_BYTES = 640,
};

/* One moment of one actor. */
struct story_step {
    uint64_t event;
    int64_t time_ns;
    bool violation;                      /* it is what must not be, not what led to it */
    bool store;                          /* it happened at the guarded store, ... */
    int32_t process;                     /* ... or a client did it, or HISTORY_NOBODY, ... */
    uint64_t nodes;                      /* ... or these nodes, as bits */
    char label[STORY_LABEL_BYTES];       /* "client 1 granted" */
    char sentence[STORY_SENTENCE_BYTES]; /* "Client 1 is granted r0, promised until 4.948 s." */
};

/* Where in the picture it is wrong, and for how long. */
struct story_box {
    int32_t process[2]; /* lanes from this one to that one; HISTORY_NOBODY: none */
    int32_t node;       /* or this node's lane; HISTORY_NO_NODE: none */
    int64_t from_ns;
    int64_t to_ns;
    char label[STORY_LABEL_BYTES]; /* "both inside 600 us" */
};

struct story_cause {
    uint64_t checks; /* bit i: check i of the table is broken by it */
    uint32_t lead;   /* the check that the title is about */
    uint8_t blame;   /* enum blame */
    uint8_t assumption;
    bool guard_held; /* the guarded store refused what came late */
    uint8_t step_count;
    uint8_t fault_count;
    int16_t faults[STORY_FAULTS_MAX]; /* that made it so; numbers from 0 */
    int32_t involved[2];              /* clients, or HISTORY_NOBODY */
    uint32_t resource;
    uint64_t event; /* of the violation */
    int64_t at_ns;
    int64_t from_ns; /* from where to where to look at */
    int64_t to_ns;
    char
        title[STORY_SENTENCE_BYTES]; /* "Two clients were inside r0 at once: node 3 restarted..." */
    char advice[STORY_SENTENCE_BYTES]; /* what to do, a sentence */
    struct story_box box;
    struct story_step steps[STORY_STEPS_MAX];
};

struct stories {
    uint32_t cause_count;
    struct story_cause causes[STORY_CAUSES_MAX]; /* the worst first */
};

/* Tell of all checks that failed. `results` are by check, in the order of the table. */
void stories_tell(const struct explain_history *history, const struct check_result *const *results,
                  struct stories *stories);

/* The cause that a check's fail belongs to; NULL if it did not fail. */
const struct story_cause *stories_cause_of(const struct stories *stories, size_t check);

/* "The library is to blame", and why, in a clause each. */
const char *story_blame_words(const struct story_cause *cause);
void story_blame_why(const struct story_cause *cause, const struct history_header *header,
                     struct text *text);

/* A pattern that the titles of one kind of cause share: numbers are left out. */
void story_pattern(const struct story_cause *cause, struct text *text);
void story_pattern_of(const char *title, struct text *text);

#endif
