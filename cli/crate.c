/* crate.c: a kept run as one file. */
#include "cli/crate.h"

#include "base/arena.h"
#include "base/version.h"
#include "cli/results.h"
#include "cli/tar.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { CRATE_TEXT_BYTES = 8192 };

void crate_verdicts(const struct loaded *loaded, struct text *text)
{
    for (size_t i = 0; i < check_count(); i++) {
        const struct check_result *result = loaded_result(loaded, i);
        if (result->verdict != VERDICT_SKIPPED) {
            text_add(text, "%s %s %s\n", check_at(i)->name,
                     verdict_name((enum verdict)result->verdict),
                     blame_name((enum blame)result->blame));
        }
    }
}

static void print_versions(const struct history_header *header, struct text *text)
{
    struct utsname machine;
    text_add(text, "picklock %s\nlibrary %s\n", PICKLOCK_VERSION, header->library);
    if (header->server[0] != '\0') {
        text_add(text, "server %s\n", header->server);
    }
    if (uname(&machine) == 0) {
        text_add(text, "system %s %s %s\n", machine.sysname, machine.release, machine.machine);
    }
}

/* ---- out ------------------------------------------------------------------------------------- */

static struct result put_text(struct history_stream *stream, const char *name,
                              const struct text *text, struct text *why)
{
    FILE *file = tmpfile();
    bool written = file != NULL && fwrite(text->data, 1, text->length, file) == text->length;
    struct result result = RESULT_OK;
    if (!written) {
        text_add(why, "cannot write a temporary file: %s", strerror(errno));
        result = result_error(ERROR_IO);
    } else {
        result = tar_put(stream, name, file, why);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return result;
}

static struct result put_file(struct history_stream *stream, const char *folder, const char *name,
                              struct text *why)
{
    char path[2 * FILES_PATH_BYTES];
    char inside[FILES_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)snprintf(inside, sizeof inside, "run/%s", name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        text_add(why, "%s: %s", path, strerror(errno));
        return result_error(ERROR_IO);
    }
    struct result result = tar_put(stream, inside, file, why);
    (void)fclose(file);
    return result;
}

/* What was packed before, and is made anew. */
static bool is_ours(const char *name)
{
    return strcmp(name, "versions") == 0 || strcmp(name, "verdict") == 0;
}

static int is_plain(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) &&
           !is_ours(entry->d_name);
}

static struct result put_folder(struct history_stream *stream, const char *folder, struct text *why)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_plain, alphasort);
    struct result result = RESULT_OK;
    if (count < 0) {
        text_add(why, "%s: %s", folder, strerror(errno));
        return result_error(ERROR_IO);
    }
    for (int i = 0; i < count; i++) {
        if (!result_failed(result)) {
            result = put_file(stream, folder, entries[i]->d_name, why);
        }
        memory_release(entries[i]);
    }
    memory_release(entries);
    return result;
}

static struct result put_all(struct history_stream *stream, const char *folder,
                             const struct loaded *loaded, struct text *why)
{
    char memory[CRATE_TEXT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    TRY(put_folder(stream, folder, why));
    crate_verdicts(loaded, &text);
    TRY(put_text(stream, "run/verdict", &text, why));
    text_clear(&text);
    print_versions(&loaded->header, &text);
    TRY(put_text(stream, "run/versions", &text, why));
    return tar_end(stream, why);
}

struct result crate_write(const char *folder, const char *path, struct text *why)
{
    static const struct history_reader_options reading;
    struct loaded loaded;
    struct history_stream *stream = NULL;
    char memory[FILES_PATH_BYTES];
    struct text history = text_over(memory, sizeof memory);
    text_add(&history, "%s/history.jsonl", folder);
    TRY(loaded_read(history.data, &reading, &loaded, why));
    struct result result = history_stream_create(path, &stream, why);
    if (!result_failed(result)) {
        result = put_all(stream, folder, &loaded, why);
        if (result_failed(result)) {
            history_stream_close(stream);
        } else {
            result = history_stream_finish(stream, why);
        }
    }
    loaded_release(&loaded);
    return result;
}

/* ---- in -------------------------------------------------------------------------------------- */

static struct result take_file(struct history_stream *stream, const struct tar_entry *entry,
                               const char *folder, struct text *why)
{
    char path[2 * FILES_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, entry->name);
    FILE *file = fopen(path, "wxe");
    if (file == NULL) {
        text_add(why, "%s: %s", path, strerror(errno));
        return result_error(ERROR_IO);
    }
    struct result result = tar_take(stream, entry, file, why);
    bool written = fclose(file) == 0;
    if (!result_failed(result) && !written) {
        text_add(why, "%s: %s", path, strerror(errno));
        return result_error(ERROR_IO);
    }
    return result;
}

static struct result take_all(struct history_stream *stream, const char *folder, struct text *why)
{
    struct tar_entry entry;
    bool there = true;
    for (int i = 0; i < TAR_FILES_MAX; i++) {
        TRY(tar_next(stream, &entry, &there, why));
        if (!there) {
            return RESULT_OK;
        }
        TRY(take_file(stream, &entry, folder, why));
    }
    text_add(why, "more than %d files in a bundle", TAR_FILES_MAX);
    return result_error(ERROR_LIMIT);
}

struct result crate_open(const char *path, char folder[FILES_PATH_BYTES], struct text *why)
{
    struct history_stream *stream = NULL;
    const char *temporary = getenv("TMPDIR");
    TRY(history_stream_open(path, &stream, why));
    (void)snprintf(folder, FILES_PATH_BYTES, "%s/picklock-bundle-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    struct result result = RESULT_OK;
    if (mkdtemp(folder) == NULL) {
        text_add(why, "%s: %s", folder, strerror(errno));
        result = result_error(ERROR_IO);
    } else {
        int lock = -1;
        result = results_begin(folder, &lock, why);
        if (!result_failed(result)) {
            result = take_all(stream, folder, why);
        }
        results_end(&lock);
        if (result_failed(result)) {
            (void)results_remove(folder);
        }
    }
    history_stream_close(stream);
    return result;
}
