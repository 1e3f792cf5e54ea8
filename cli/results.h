/*
 * results.h: the folders that runs leave, and which of them are picklock's to remove.
 *
 *     OUT/.running/PID-N/        a run under way; its process holds a lock on the mark
 *     OUT/NAME/SEED/WORLD/       kept; the next one of the same name is WORLD.2
 *
 * Every such folder has a mark, the file .picklock, from its beginning. What has none is never
 * removed, wherever it lies: a folder that picklock was pointed at by mistake stays as it is.
 */
#ifndef CLI_RESULTS_H
#define CLI_RESULTS_H

#include "base/result.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Where results go unless --out says otherwise: $PICKLOCK_OUT, or picklock-out. */
const char *results_default(void);

/* Whether `name` in a folder is a mark; and whether a folder has one. */
#define RESULTS_MARK ".picklock"
bool results_are_ours(const char *folder);

/*
 * Make the folder of a run, marked, and hold its lock until the process ends or results_end. It
 * must not be there yet.
 */
MUST_USE struct result results_begin(const char *folder, int *lock, struct text *why);
void results_end(int *lock);

/* Remove a marked folder with all that is in it; any other stays. True if it is gone. */
bool results_remove(const char *folder);

/*
 * Move a run's folder to `place`, in `above`, or where something is there already to the first of
 * place.2, place.3, ... that is free; `number` says which.
 */
MUST_USE struct result results_keep(const char *folder, const char *above, const char *place,
                                    uint32_t *number, struct text *why);

/* results_remove, and the folder of its seed where nothing else is in that. */
void results_forget(const char *folder);

/* Add what results_keep appended: nothing for 1. */
void results_add_number(struct text *path, uint32_t number);

/* Whether a link "latest" may stand there: nothing is there, or an older link to a kept run. */
bool results_link_is_ours(const char *path);

/* Remove the runs in out/.running whose process is gone, however it ended; gives how many. */
uint32_t results_sweep(const char *out);

/* Whether the page of a batch may be written there: nothing is there, or an older one. */
#define RESULTS_PAGE_TITLE "picklock: the page of a batch"
bool results_page_is_ours(const char *path);

/* Remove every marked folder in and below `out`, links to them, and folders that are empty then. */
uint32_t results_remove_all(const char *out);

#endif
