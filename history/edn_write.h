/*
 * edn_write.h: writes the operations of a history as Jepsen's EDN, for Knossos, Elle and Porcupine.
 *
 *     ;; picklock-history 1
 *     {:index 0, :time 12, :process 1, :type :invoke, :f :acquire, :resource "r0", :value nil}
 *
 * One map a line. Faults become operations of the nemesis (nemesis.h). What Jepsen has no word for
 * is left out: sections, leases that moved, notices, what happened on the nodes, lives of clients,
 * phases, and the header. picklock reads its own EDN back without loss of any operation or fault.
 */
#ifndef HISTORY_EDN_WRITE_H
#define HISTORY_EDN_WRITE_H

#include "history/reader.h"

enum { HISTORY_EDN_LINE_BYTES = 1024 };

/* One event as a line with its newline; nothing for an event that Jepsen has no word for. */
void history_edn_print(const struct history_event *event, const char *resource, struct text *text);

/*
 * Read any history and write it again: as JSON lines if `to` ends in .jsonl or .jsonl.zst, as EDN
 * otherwise, compressed if it ends in .zst; "-" is standard output.
 */
MUST_USE struct result history_convert(const char *from,
                                       const struct history_reader_options *options, const char *to,
                                       struct text *why);

#endif
