/*
 * text_lanes.h: the picture of one cause in characters, at most TEXT_LANES_COLUMNS wide.
 *
 *     time      0 ms                                       58.871 ms     59.190 ms
 *               -------------------------------------57.22ms----------------------
 *     evidence                     1                                     3
 *     client 1  -------------------1##########################################
 *     node 3              =1=======12x.........................=2=======2=====
 *
 * The same bars as on the page (marks.h), the same numbers as in the story. Stretches in which
 * nothing changes are folded, and say how long they are, where that sets the evidence apart.
 */
#ifndef CHECKER_REPORT_TEXT_LANES_H
#define CHECKER_REPORT_TEXT_LANES_H

#include "checker/report/encode.h"
#include "checker/story/story.h"

enum { TEXT_LANES_COLUMNS = 100 };

enum text_style { TEXT_ASCII, TEXT_UNICODE };

/* `cause` NULL: the whole run. Nothing where memory is short or there are no events. */
void text_lanes_print(const struct explain_history *history, const struct story_cause *cause,
                      enum text_style style, struct sheet *sheet);

/* The number of a step, as it stands in the lanes. */
void text_lanes_number(unsigned number, enum text_style style, struct sheet *sheet);

#endif
