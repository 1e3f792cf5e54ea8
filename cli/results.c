/* results.c: the folders that runs leave, and which of them are picklock's to remove. */
#include "cli/results.h"

#include "base/assert.h"
#include "cli/files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLACES_MAX = 1000000 };

static const char mark_words[] =
    "picklock run\nThis folder is picklock's: `picklock clean --all` removes it.\n";

const char *results_default(void)
{
    const char *out = getenv("PICKLOCK_OUT");
    return out != NULL ? out : "picklock-out"; /* one that is empty, options.c refuses */
}

static bool mark_path(const char *folder, char path[FILES_PATH_BYTES])
{
    int bytes = snprintf(path, FILES_PATH_BYTES, "%s/" RESULTS_MARK, folder);
    return bytes > 0 && bytes < FILES_PATH_BYTES;
}

bool results_are_ours(const char *folder)
{
    char path[FILES_PATH_BYTES];
    char begin[sizeof "picklock run"];
    if (!mark_path(folder, path)) {
        return false;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    ssize_t got = read(fd, begin, sizeof begin - 1);
    (void)close(fd);
    return got == (ssize_t)sizeof begin - 1 && memcmp(begin, mark_words, sizeof begin - 1) == 0;
}

struct result results_begin(const char *folder, int *lock, struct text *why)
{
    char path[FILES_PATH_BYTES];
    *lock = -1;
    TRY(folder_make(folder, why));
    if (mark_path(folder, path)) {
        *lock = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    bool begun = *lock >= 0 && flock(*lock, LOCK_EX) == 0 &&
                 write(*lock, mark_words, sizeof mark_words - 1) == (ssize_t)sizeof mark_words - 1;
    if (!begun) {
        text_add(why, "cannot begin the folder %s: %s", folder, strerror(errno));
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}

void results_end(int *lock)
{
    if (*lock >= 0) {
        (void)close(*lock);
    }
    *lock = -1;
}

/* A run that was killed before it had written its mark leaves an empty folder, or one with nothing
 * but an empty mark in it. */
static void remove_begun(const char *folder)
{
    char path[FILES_PATH_BYTES];
    struct stat info;
    if (mark_path(folder, path) && lstat(path, &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_size == 0) {
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

/* All that is in a marked folder, and the mark last: a removal that is cut short can be done again.
 */
bool results_remove(const char *folder)
{
    char path[FILES_PATH_BYTES];
    char copy[FILES_PATH_BYTES];
    remove_begun(folder);
    if (!results_are_ours(folder) || !mark_path(folder, path)) {
        return false;
    }
    (void)snprintf(copy, sizeof copy, "%s", folder);
    char *roots[] = {copy, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    for (FTSENT *entry = walk != NULL ? fts_read(walk) : NULL; entry != NULL;
         entry = fts_read(walk)) {
        if (entry->fts_info == FTS_DP) {
            (void)rmdir(entry->fts_accpath);
        } else if (entry->fts_info != FTS_D && entry->fts_info != FTS_NS &&
                   strcmp(entry->fts_path, path) != 0) {
            (void)unlink(entry->fts_accpath);
        }
    }
    if (walk != NULL) {
        (void)fts_close(walk);
    }
    (void)unlink(path);
    return rmdir(folder) == 0 || errno == ENOENT;
}

void results_add_number(struct text *path, uint32_t number)
{
    if (number > 1) {
        text_add(path, ".%u", number);
    }
}

void results_forget(const char *folder)
{
    char above[FILES_PATH_BYTES];
    (void)results_remove(folder);
    (void)snprintf(above, sizeof above, "%s", folder);
    char *slash = strrchr(above, '/');
    if (slash != NULL) {
        *slash = '\0';
        (void)rmdir(above);
    }
}

struct result results_keep(const char *folder, const char *above, const char *place,
                           uint32_t *number, struct text *why)
{
    enum { EMPTIED_MAX = 100 };
    char memory[FILES_PATH_BYTES];
    int emptied = 0;
    ASSERT(results_are_ours(folder));
    TRY(folder_make(above, why));
    for (*number = 1; *number < PLACES_MAX; (*number)++) {
        struct text path = text_over(memory, sizeof memory);
        text_add(&path, "%s", place);
        results_add_number(&path, *number);
        /* A folder takes the place of an empty one only: what is there stays. */
        if (rename(folder, path.data) == 0) {
            return RESULT_OK;
        }
        if (errno == ENOENT && emptied++ < EMPTIED_MAX) { /* another run's results_forget */
            TRY(folder_make(above, why));
            (*number)--;
        } else if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) {
            break;
        }
    }
    text_add(why, "cannot move %s to %s: %s", folder, place, strerror(errno));
    return result_error(ERROR_IO);
}

/* Nobody holds its lock: whoever ran there is gone. */
static bool is_left(const char *folder)
{
    char path[FILES_PATH_BYTES];
    if (!results_are_ours(folder) || !mark_path(folder, path)) {
        return false;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool left = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return left;
}

uint32_t results_sweep(const char *out)
{
    char running[FILES_PATH_BYTES];
    char path[2 * FILES_PATH_BYTES];
    uint32_t removed = 0;
    (void)snprintf(running, sizeof running, "%.4000s/.running", out);
    DIR *folder = opendir(running);
    if (folder == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        (void)snprintf(path, sizeof path, "%s/%s", running, entry->d_name);
        if (entry->d_name[0] != '.' && is_left(path)) {
            removed += results_remove(path);
        }
    }
    (void)closedir(folder);
    (void)rmdir(running);
    return removed;
}

bool results_page_is_ours(const char *path)
{
    char begin[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT;
    }
    ssize_t got = read(fd, begin, sizeof begin);
    (void)close(fd);
    return got > 0 &&
           memmem(begin, (size_t)got, RESULTS_PAGE_TITLE, strlen(RESULTS_PAGE_TITLE)) != NULL;
}

static bool remove_page(const char *out)
{
    char path[FILES_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%.4000s/index.html", out);
    return results_page_is_ours(path) && unlink(path) == 0;
}

/* SEED/WORLD, or NAME/SEED/WORLD: what our links say, also of a run that is gone meanwhile. */
static bool leads_to_a_run(const char *target)
{
    const char *slash = strrchr(target, '/');
    size_t digits = 0;
    while (slash != NULL && slash - digits > target &&
           isdigit((unsigned char)slash[-1 - (ptrdiff_t)digits])) {
        digits++;
    }
    return digits > 0 && (slash - digits == target || slash[-1 - (ptrdiff_t)digits] == '/');
}

bool results_link_is_ours(const char *path)
{
    char target[FILES_PATH_BYTES];
    struct stat info;
    ssize_t bytes = readlink(path, target, sizeof target - 1);
    if (bytes < 0) {
        return errno == ENOENT;
    }
    target[bytes] = '\0';
    return leads_to_a_run(target) && (results_are_ours(path) || stat(path, &info) != 0);
}

/* "latest": a link to a kept run. */
static bool is_latest(const FTSENT *entry)
{
    return entry->fts_info == FTS_SL && strcmp(entry->fts_name, "latest") == 0 &&
           results_are_ours(entry->fts_path);
}

/* Links come before what they point at. */
static int links_first(const FTSENT **a, const FTSENT **b)
{
    bool one = (*a)->fts_info == FTS_SL;
    bool other = (*b)->fts_info == FTS_SL;
    return one != other ? (one ? -1 : 1) : strcmp((*a)->fts_name, (*b)->fts_name);
}

/* The folders that held it, from inside out, as long as nothing else is in them. */
static void remove_empty_above(const char *folder, const char *out)
{
    char path[FILES_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s", folder);
    for (char *slash = strrchr(path, '/'); slash != NULL && strlen(path) > strlen(out);
         slash = strrchr(path, '/')) {
        *slash = '\0';
        if (rmdir(path) != 0) {
            return;
        }
    }
}

uint32_t results_remove_all(const char *out)
{
    enum { DEPTH_MAX = 3 }; /* OUT/NAME/SEED/WORLD */
    char copy[FILES_PATH_BYTES];
    uint32_t removed = 0;
    (void)snprintf(copy, sizeof copy, "%s", out);
    char *roots[] = {copy, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR | FTS_XDEV, links_first);
    for (FTSENT *entry = walk != NULL ? fts_read(walk) : NULL; entry != NULL;
         entry = fts_read(walk)) {
        bool running = strcmp(entry->fts_name, ".running") == 0; /* results_sweep knows of those */
        bool ours = entry->fts_info == FTS_D && !running && results_are_ours(entry->fts_path);
        if (ours) {
            removed += results_remove(entry->fts_path);
            remove_empty_above(entry->fts_path, out);
        }
        if (entry->fts_info == FTS_D && (ours || running || entry->fts_level >= DEPTH_MAX)) {
            (void)fts_set(walk, entry, FTS_SKIP);
        } else if (is_latest(entry)) {
            (void)unlink(entry->fts_accpath);
        }
    }
    if (walk != NULL) {
        (void)fts_close(walk);
    }
    if (remove_page(out) || removed > 0) {
        (void)rmdir(out); /* where nothing else is in it */
    }
    return removed;
}
