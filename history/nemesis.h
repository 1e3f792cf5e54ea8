/*
 * nemesis.h: faults as operations of Jepsen's nemesis, and back.
 *
 *     {:index 9, :time 5, :process :nemesis, :type :info, :f :start-pause,
 *      :value {:fault 1, :client 2, :asked 1000000000}}
 *
 * :f is start, effect or end, and the kind of fault; :value names what the JSON lines name, counted
 * from 1, and leaves out what they leave out.
 */
#ifndef HISTORY_NEMESIS_H
#define HISTORY_NEMESIS_H

#include "base/result.h"
#include "base/text.h"
#include "history/datum.h"
#include "history/event.h"

/* One fault event as a line with its newline. */
void nemesis_print(const struct history_event *event, struct text *text);

/*
 * Read an operation of the nemesis that picklock wrote into what the event says beside its time.
 *
 *   *ours  out  False if another nemesis wrote it, whose words are not ours; the event stays blank.
 *
 * Returns ERROR_SCHEMA if its value makes no sense; `why` gets a sentence without the place.
 */
MUST_USE struct result nemesis_read(const struct datum *data, struct history_event *event,
                                    bool *ours, struct text *why);

#endif
