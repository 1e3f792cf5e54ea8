/* files.h: finding scenario files, and the folders that runs write to. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "base/arena.h"
#include "base/result.h"
#include "base/text.h"
#include "harness/scenario.h"

enum { FILES_SCENARIOS_MAX = 4096, FILES_PATH_BYTES = 4096 };

struct scenario_list {
    size_t count;
    struct scenario *list; /* in the arena */
    uint64_t *contents;    /* in the arena: a hash of each in its canonical form */
};

/*
 * Read every scenario that `paths` name: files, or folders with .yaml files at any depth, in order
 * of name; without any path the folder "scenarios". What is not here is looked for among the
 * scenarios that were installed with the program. All problems of all files are printed to stderr
 * before this fails with ERROR_SCHEMA.
 */
MUST_USE struct result scenarios_load(char *const *paths, size_t path_count, struct arena *arena,
                                      struct scenario_list *scenarios, struct text *why);

/* Make a folder and those above it. */
MUST_USE struct result folder_make(const char *path, struct text *why);

/* Copy a folder's plain files and folders to `to`, which is made; what is there is replaced. */
MUST_USE struct result folder_copy(const char *from, const char *to, struct text *why);

/* Write a small file, whole, or fail with ERROR_IO. */
MUST_USE struct result file_write(const char *path, const char *data, size_t bytes,
                                  struct text *why);

/* The same, written beside it and renamed: whoever reads it meanwhile has the old one or the new
 * one, whatever happens. */
MUST_USE struct result file_replace(const char *path, const char *data, size_t bytes,
                                    struct text *why);

#endif
