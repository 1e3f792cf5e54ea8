/*
 * loaded.h: a whole history in memory, judged by every check: for the story of it.
 */
#ifndef CLI_LOADED_H
#define CLI_LOADED_H

#include "checker/check.h"
#include "checker/explain/explain.h"
#include "history/reader.h"

struct loaded {
    struct history_header header;
    struct history_event *events; /* owned */
    size_t count;
    char **names; /* owned; of resources */
    size_t name_count;
    bool cut;    /* the file ended in the middle of a line */
    void *judge; /* owned */
};

/* Read and judge. On failure nothing is left to release. */
MUST_USE struct result loaded_read(const char *path, const struct history_reader_options *options,
                                   struct loaded *loaded, struct text *why);

struct explain_history loaded_history(const struct loaded *loaded);
const struct check_result *loaded_result(const struct loaded *loaded, size_t check);
void loaded_release(struct loaded *loaded);

/* A folder of a run stands for the history in it. Gives a path to a file. */
void history_path(const char *argument, struct text *path);

#endif
