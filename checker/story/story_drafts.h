/* story_drafts.h: the steps of a story while they are collected, sorted and put together. */
#ifndef CHECKER_STORY_STORY_DRAFTS_H
#define CHECKER_STORY_STORY_DRAFTS_H

#include "base/text.h"
#include "checker/story/story.h"

enum { DRAFTS_MAX = 24, DRAFT_SUBJECT_BYTES = 128, DRAFT_PREDICATE_BYTES = 448 };

/* "Client 1" "is granted r0": what one actor did can be joined to what it did next. */
struct draft {
    uint64_t event;
    int64_t time_ns;
    bool violation;
    bool store;
    int32_t process; /* whose lane, or HISTORY_NOBODY */
    uint64_t nodes;
    char subject_memory[DRAFT_SUBJECT_BYTES];
    char predicate_memory[DRAFT_PREDICATE_BYTES];
    char actor_memory[STORY_LABEL_BYTES];
    char label_memory[STORY_LABEL_BYTES];
    struct text subject;
    struct text predicate;
    struct text actor; /* before the label, unless it is a violation: "client 1" */
    struct text label;
    size_t and_at; /* where the last " and " of the predicate stands; 0: nothing was joined */
};

struct drafts {
    size_t count;
    struct draft list[DRAFTS_MAX];
};

/* A blank draft about an event. */
struct draft *drafts_add(struct drafts *drafts, const struct history_event *event);

/* Take back what was told of an event: there are better words for it. */
void drafts_drop(struct drafts *drafts, uint64_t event);

/* Sort by time, join what one actor did in one moment, and number what is left as steps. */
void drafts_finish(struct drafts *drafts, struct story_cause *cause);

#endif
