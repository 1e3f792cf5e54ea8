/*
 * tar.h: a few files as one archive that every tar reads (POSIX ustar), on a stream that may be
 * compressed (history/stream.h).
 *
 *     tar_put(stream, "alone-1-real/history.jsonl", bytes, why);    equal files, equal bytes
 *     tar_end(stream, why);
 *     while (tar_next(&reader, &entry, why)) ...
 *
 * An archive comes from somebody: names that lead anywhere else than into one folder, and whatever
 * is no plain file, are refused.
 */
#ifndef CLI_TAR_H
#define CLI_TAR_H

#include "base/result.h"
#include "base/text.h"
#include "history/stream.h"

#include <stdint.h>
#include <stdio.h>

enum { TAR_NAME_BYTES = 100, TAR_BLOCK_BYTES = 512, TAR_FILES_MAX = 4096 };

/* Add a file: its name in the archive, and what is in `from`, from its beginning. */
MUST_USE struct result tar_put(struct history_stream *stream, const char *name, FILE *from,
                               struct text *why);
MUST_USE struct result tar_end(struct history_stream *stream, struct text *why);

struct tar_entry {
    char name[TAR_NAME_BYTES + 1]; /* without the folder before it */
    int64_t bytes;
};

/* The next file; `there` is false at the end. Its bytes must be taken before the next call. */
MUST_USE struct result tar_next(struct history_stream *stream, struct tar_entry *entry, bool *there,
                                struct text *why);
/* Copy the entry's bytes. */
MUST_USE struct result tar_take(struct history_stream *stream, const struct tar_entry *entry,
                                FILE *to, struct text *why);

#endif
