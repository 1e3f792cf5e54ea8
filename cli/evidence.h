/*
 * evidence.h: what was found, as plain data for pipes, and as JSON for machines.
 *
 *     "blame":"assumption","assumption":"...","grade":"definite","evidence":[9,30],"cause":1
 *
 * Evidence are the indices of events in the history. A cause is a number from 1: fails with the
 * same number are one event seen from several sides (checker/story/story.h).
 */
#ifndef CLI_EVIDENCE_H
#define CLI_EVIDENCE_H

#include "checker/story/story.h"

enum { EVIDENCE_CAUSES_MAX = 4, EVIDENCE_TITLE_BYTES = 360, EVIDENCE_ADVICE_BYTES = 200 };

/* Of one check; all zero where it did not fail. */
struct evidence {
    uint8_t blame;
    uint8_t assumption;
    uint8_t grade;
    uint8_t cause; /* from 1; 0: none is told */
    uint8_t count;
    uint64_t events[CHECK_EVIDENCE_MAX];
};

/* Of one cause. */
struct evidence_cause {
    uint32_t checks; /* bit i: check i of the table */
    uint8_t blame;
    uint8_t assumption;
    uint8_t lead; /* the check that the title is about */
    char title[EVIDENCE_TITLE_BYTES];
    char advice[EVIDENCE_ADVICE_BYTES];
};

void evidence_take(const struct stories *stories, size_t check, const struct check_result *result,
                   struct evidence *evidence);

/* Returns how many there are, at most EVIDENCE_CAUSES_MAX. */
uint32_t evidence_take_causes(const struct stories *stories, struct evidence_cause *causes);

/* Members of an object, each behind a comma. */
void evidence_json(const struct evidence *evidence, struct text *text);

/* Members: "cause":1,"title":...,"blame":...,"assumption":...,"advice":...,"lead":...,"checks":[..]
 */
void evidence_cause_json(const struct evidence_cause *cause, uint32_t number, struct text *text);

#endif
