/* jsonl.h: our own JSON lines: docs/HISTORY.md; their fields are those of fields.h. */
#ifndef HISTORY_JSONL_H
#define HISTORY_JSONL_H

#include "history/format.h"

extern const struct history_format history_jsonl;

#endif
