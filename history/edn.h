/* edn.h: Jepsen's histories: EDN or JSON, one map after the other, or all in one vector. */
#ifndef HISTORY_EDN_H
#define HISTORY_EDN_H

#include "history/format.h"

extern const struct history_format history_edn;
extern const struct history_format history_json;

/* The first line of EDN that picklock wrote: a comment to others. */
#define HISTORY_EDN_MARK ";; picklock-history"

#endif
