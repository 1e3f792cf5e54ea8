/*
 * text_story.h: a cause for a terminal, one screen: what happened and why, whom to blame, what to
 * do, the lanes, the numbered moments.
 */
#ifndef CHECKER_REPORT_TEXT_STORY_H
#define CHECKER_REPORT_TEXT_STORY_H

#include "checker/report/text_lanes.h"

void text_story_print(const struct explain_history *history, const struct story_cause *cause,
                      enum text_style style, struct sheet *sheet);

/* A text of several words in lines of at most TEXT_LANES_COLUMNS, those behind the first indented.
 * What a terminal would obey is spelled out. */
void text_wrapped(const char *words, size_t indent, struct sheet *sheet);

#endif
