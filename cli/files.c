/* files.c: finding scenario files, and the folders that runs write to. */
#include "cli/files.h"

#include "base/assert.h"
#include "base/foreign.h"
#include "checker/check.h"
#include "cli/command.h"
#include "cli/hash.h"
#include "cli/results.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ERRORS_BYTES = 64 * 1024, CONTENT_BYTES = 256 * 1024 };

/* The problems of all files so far; printed as they come. */
struct loading {
    struct arena *arena;
    struct scenario_list *scenarios;
    struct scenario_checks checks;
    struct text errors;
    size_t broken;
};

/* The same for files that say the same, however they are laid out. */
static uint64_t content_hash(const struct scenario *scenario)
{
    static char memory[CONTENT_BYTES];
    struct text canonical = text_over(memory, sizeof memory);
    scenario_print(scenario, &canonical);
    ASSERT(!canonical.cut);
    return hash_bytes(0, canonical.data, canonical.length);
}

static struct result loading_read(struct loading *loading, const char *path, struct text *why)
{
    if (loading->scenarios->count == FILES_SCENARIOS_MAX) {
        text_add(why, "%s: more than %d scenario files", path, (int)FILES_SCENARIOS_MAX);
        return result_error(ERROR_LIMIT);
    }
    text_clear(&loading->errors);
    struct scenario *scenario = &loading->scenarios->list[loading->scenarios->count];
    struct result result =
        scenario_read(path, &loading->checks, loading->arena, scenario, &loading->errors);
    if (result_failed(result)) {
        foreign_print(stderr, loading->errors.data, loading->errors.length);
        fprintf(stderr, "\n");
        loading->broken++;
        return RESULT_OK;
    }
    loading->scenarios->contents[loading->scenarios->count] = content_hash(scenario);
    loading->scenarios->count++;
    return RESULT_OK;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* A file, or a link to one; a link that leads nowhere is refused when it is read. */
static bool is_scenario_file(const FTSENT *entry)
{
    const char *dot = strrchr(entry->fts_name, '.');
    struct stat info;
    bool named = dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    bool link =
        entry->fts_info == FTS_SL && (stat(entry->fts_path, &info) != 0 || S_ISREG(info.st_mode));
    return named && (entry->fts_info == FTS_F || link);
}

/* What cannot be looked into is no folder without scenarios: a suite would pass by it. */
static bool is_refused(const FTSENT *entry)
{
    return entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS;
}

/* Kept runs hold copies of their scenarios; hidden folders are not ours to read. */
static bool is_no_source(const FTSENT *entry)
{
    return entry->fts_name[0] == '.' || strcmp(entry->fts_name, "picklock-out") == 0 ||
           results_are_ours(entry->fts_path);
}

static struct result loading_folder(struct loading *loading, const char *path, struct text *why)
{
    char copy[FILES_PATH_BYTES];
    (void)snprintf(copy, sizeof copy, "%s", path);
    char *roots[] = {copy, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    if (walk == NULL) {
        text_add(why, "%s: %s", path, strerror(errno));
        return result_error(ERROR_IO);
    }
    size_t before = loading->scenarios->count + loading->broken;
    struct result result = RESULT_OK;
    for (FTSENT *entry = fts_read(walk); entry != NULL && !result_failed(result);
         entry = fts_read(walk)) {
        if (entry->fts_info == FTS_D && entry->fts_level > 0 && is_no_source(entry)) {
            (void)fts_set(walk, entry, FTS_SKIP);
        } else if (is_refused(entry)) {
            text_add(why, "%s: %s", entry->fts_path, strerror(entry->fts_errno));
            result = result_error(ERROR_IO);
        } else if (is_scenario_file(entry)) {
            result = loading_read(loading, entry->fts_path, why);
        }
    }
    (void)fts_close(walk);
    if (!result_failed(result) && loading->scenarios->count + loading->broken == before) {
        text_add(why, "%s: no scenario file (*.yaml) in this folder", path);
        return result_error(ERROR_USAGE);
    }
    return result;
}

/* Where an installed picklock has what came with it: PREFIX/share/picklock beside PREFIX/bin. */
static void installed_place(const char *name, struct text *path)
{
    text_clear(path);
    text_add(path, "%s", program_path());
    for (int level = 0; level < 2; level++) {
        char *slash = strrchr(path->data, '/');
        path->length = slash != NULL ? (size_t)(slash - path->data) : 0;
        path->data[path->length] = '\0';
    }
    text_add(path, "/share/picklock%s%s", name[0] != '\0' ? "/" : "", name);
}

static bool is_there(const struct text *path, struct stat *info)
{
    return !path->cut && stat(path->data, info) == 0;
}

/* A scenario of this name in some folder of those that were installed, by the name it has there. */
static bool place_guess(const char *name, struct text *guess)
{
    char memory[FILES_PATH_BYTES];
    char file[SCENARIO_NAME_BYTES + sizeof ".yaml"];
    struct text place = text_over(memory, sizeof memory);
    installed_place("scenarios", &place);
    char *roots[] = {place.data, NULL};
    size_t bytes = strlen(name);
    bool ends = bytes > 5 && strcmp(name + bytes - 5, ".yaml") == 0;
    (void)snprintf(file, sizeof file, "%s%s", name, ends ? "" : ".yaml");
    FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    bool found = false;
    for (FTSENT *entry = walk != NULL ? fts_read(walk) : NULL; entry != NULL && !found;
         entry = fts_read(walk)) {
        found = entry->fts_info == FTS_F && strcmp(entry->fts_name, file) == 0;
        if (found) {
            const char *below = entry->fts_path + place.length + 1;
            text_add(guess, "%.*s", (int)(strlen(below) - strlen(".yaml")), below);
        }
    }
    if (walk != NULL) {
        (void)fts_close(walk);
    }
    return found;
}

/*
 * Find a scenario file or folder: as it is named from here, else among those that were installed:
 * "scenarios/alone.yaml", "alone.yaml" and "alone" are the same there. False, and where it was
 * looked for, if it is nowhere.
 */
static bool place_find(const char *name, struct text *path, struct stat *info, struct text *why)
{
    enum { SHAPES = 3 };
    char memory[FILES_PATH_BYTES];
    struct text below = text_over(memory, sizeof memory);
    text_add(path, "%s", name);
    if (is_there(path, info)) {
        return true;
    }
    int refused = errno;
    for (size_t i = 0; name[0] != '/' && i < SHAPES; i++) {
        const char *before = i > 0 ? "scenarios/" : "";
        text_clear(&below);
        text_add(&below, "%s%s%s", before, name, i > 1 ? ".yaml" : "");
        installed_place(below.data, path);
        if (is_there(path, info)) {
            return true;
        }
    }
    text_clear(&below);
    if (refused == ENOENT && place_guess(name, &below)) {
        text_add(why, "%s: %s; did you mean %s?", name, strerror(refused), below.data);
        return false;
    }
    installed_place("", path);
    text_add(why, "%s: %s; expected a scenario file or a folder of them, here or in %s", name,
             strerror(refused), path->data);
    return false;
}

static struct result loading_path(struct loading *loading, const char *name, struct text *why)
{
    struct stat info;
    char memory[FILES_PATH_BYTES];
    struct text path = text_over(memory, sizeof memory);
    if (!place_find(name, &path, &info, why)) {
        return result_error(ERROR_USAGE);
    }
    return S_ISDIR(info.st_mode) ? loading_folder(loading, path.data, why)
                                 : loading_read(loading, path.data, why);
}

/* The names that `expect` may use, from the table of checks. */
static struct scenario_checks expectable_checks(void)
{
    static const char *names[SCENARIO_EXPECTS_MAX];
    size_t count = check_count();
    for (size_t i = 0; i < count; i++) {
        names[i] = check_at(i)->name;
    }
    return (struct scenario_checks){.count = count, .names = names};
}

struct result scenarios_load(char *const *paths, size_t path_count, struct arena *arena,
                             struct scenario_list *scenarios, struct text *why)
{
    static char folder[] = "scenarios";
    static char *const usual[] = {folder};
    if (path_count == 0) {
        paths = usual;
        path_count = 1;
    }
    char *errors = arena_take(arena, ERRORS_BYTES);
    scenarios->count = 0;
    scenarios->list = arena_take(arena, FILES_SCENARIOS_MAX * sizeof *scenarios->list);
    scenarios->contents = arena_take(arena, FILES_SCENARIOS_MAX * sizeof *scenarios->contents);
    if (errors == NULL || scenarios->list == NULL || scenarios->contents == NULL) {
        text_add(why, "out of memory for %d scenarios", (int)FILES_SCENARIOS_MAX);
        return result_error(ERROR_IO);
    }
    struct loading loading = {arena, scenarios, expectable_checks(),
                              text_over(errors, ERRORS_BYTES), 0};
    for (size_t i = 0; i < path_count; i++) {
        TRY(loading_path(&loading, paths[i], why));
    }
    if (loading.broken > 0) {
        text_add(why, "%zu of %zu scenario files are bad; nothing was run", loading.broken,
                 loading.broken + scenarios->count);
        return result_error(ERROR_SCHEMA);
    }
    return RESULT_OK;
}

struct result folder_make(const char *path, struct text *why)
{
    char part[FILES_PATH_BYTES];
    size_t bytes = strlen(path);
    if (bytes >= sizeof part) {
        text_add(why, "%.60s...: the path is longer than %d bytes", path, (int)FILES_PATH_BYTES);
        return result_error(ERROR_LIMIT);
    }
    for (size_t i = 1; i <= bytes; i++) {
        if (path[i] != '/' && path[i] != '\0') {
            continue;
        }
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            text_add(why, "cannot make the folder %s: %s", part, strerror(errno));
            return result_error(ERROR_IO);
        }
    }
    return RESULT_OK;
}

static struct result file_copy(const char *from, const char *to, struct text *why)
{
    static char bytes[64 * 1024];
    FILE *source = fopen(from, "re");
    FILE *copy = source != NULL ? fopen(to, "we") : NULL;
    bool copied = copy != NULL;
    size_t got;
    while (copied && (got = fread(bytes, 1, sizeof bytes, source)) > 0) {
        copied = fwrite(bytes, 1, got, copy) == got;
    }
    copied = copied && !ferror(source);
    int error = errno;
    if (copy != NULL && fclose(copy) != 0) {
        copied = false;
        error = errno;
    }
    if (source != NULL) {
        (void)fclose(source);
    }
    if (!copied) {
        text_add(why, "cannot copy %s to %s: %s", from, to, strerror(error));
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}

struct result folder_copy(const char *from, const char *to, struct text *why)
{
    char copy[FILES_PATH_BYTES];
    char target[2 * FILES_PATH_BYTES];
    (void)snprintf(copy, sizeof copy, "%s", from);
    char *roots[] = {copy, NULL};
    struct result result = folder_make(to, why);
    FTS *walk = result_failed(result) ? NULL : fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    FTSENT *entry = walk != NULL ? fts_read(walk) : NULL;
    for (; entry != NULL && !result_failed(result); entry = fts_read(walk)) {
        const char *below = entry->fts_path + strlen(copy);
        (void)snprintf(target, sizeof target, "%s%s", to, below);
        if (entry->fts_info == FTS_D && entry->fts_level > 0) {
            result = folder_make(target, why);
        } else if (entry->fts_info == FTS_F) {
            result = file_copy(entry->fts_path, target, why);
        }
    }
    if (walk != NULL) {
        (void)fts_close(walk);
    }
    return result;
}

struct result file_write(const char *path, const char *data, size_t bytes, struct text *why)
{
    struct stat info;
    FILE *file = fopen(path, "we");
    bool ok = file != NULL && fwrite(data, 1, bytes, file) == bytes;
    int saved = errno;
    if (file != NULL && fclose(file) != 0) {
        ok = false;
        saved = errno;
    }
    if (!ok) {
        if (file != NULL && lstat(path, &info) == 0 && S_ISREG(info.st_mode)) {
            (void)unlink(path); /* half a file is none */
        }
        text_add(why, "cannot write %s: %s", path, strerror(saved));
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}

struct result file_replace(const char *path, const char *data, size_t bytes, struct text *why)
{
    char fresh[FILES_PATH_BYTES];
    (void)snprintf(fresh, sizeof fresh, "%.4000s.%d.new", path, (int)getpid());
    TRY(file_write(fresh, data, bytes, why));
    if (rename(fresh, path) != 0) {
        text_add(why, "cannot write %s: %s", path, strerror(errno));
        (void)unlink(fresh);
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}
