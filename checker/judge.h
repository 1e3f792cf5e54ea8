/*
 * judge.h: all checks over one history, in one flat block of memory.
 *
 *     struct judge *judge = memory of judge_bytes(&header, JUDGE_ALL) bytes, aligned to 16;
 *     judge_init(judge, &header, JUDGE_ALL);
 *     for each event:  judge_event(judge, &event);
 *     judge_finish(judge);
 *     for each check i: judge_result(judge, i)->verdict ...
 *
 * The block holds no pointer: it may be copied while a run is under way, and the copy goes on as
 * the original does. An event costs a few tens of nanoseconds: each check is called for the kinds
 * of event that it asked for.
 */
#ifndef CHECKER_JUDGE_H
#define CHECKER_JUDGE_H

#include "checker/check.h"

#include <stdbool.h>

struct judge;

/* Which checks: bit i is check i of the table. */
#define JUDGE_ALL UINT64_MAX

size_t judge_bytes(const struct history_header *header, uint64_t checks);

/* Begin. `memory` is kept, `header` is copied as far as it is needed. */
struct judge *judge_init(void *memory, const struct history_header *header, uint64_t checks);

/* Events in order of time; not after judge_finish. */
void judge_event(struct judge *judge, const struct history_event *event);

/* The history is over: verdicts are final. Once. */
void judge_finish(struct judge *judge);

/* The result of check `index` of the table; VERDICT_SKIPPED for one that was left out. */
const struct check_result *judge_result(const struct judge *judge, size_t index);

/* Whether any check has seen a violation so far: how a live run stops at the first. */
bool judge_failed(const struct judge *judge);

/* Assert all that is always true of a judge, whatever the history says. Slow: for tests. */
void judge_assert_valid(const struct judge *judge);

/* The bit of a check for `checks`; 0 if there is no such check. */
uint64_t judge_bit(const char *check_name);

#endif
