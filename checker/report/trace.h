/*
 * trace.h: a history in the trace format of Chromium, which Perfetto (ui.perfetto.dev) opens:
 * clients and nodes as processes, leases, sections, waits and keys as slices, messages as flows,
 * faults on rows of their own, the numbered steps of the stories as instants.
 *
 *     {"displayTimeUnit":"ms","traceEvents":[{"ph":"X","name":"lease","ts":562.854,...},...]}
 *
 * Times are micro-seconds with three digits behind the point, so that no nanosecond is lost.
 */
#ifndef CHECKER_REPORT_TRACE_H
#define CHECKER_REPORT_TRACE_H

#include "checker/report/encode.h"
#include "checker/story/story.h"

void trace_print(const struct explain_history *history, const struct stories *stories,
                 struct sheet *sheet);

#endif
