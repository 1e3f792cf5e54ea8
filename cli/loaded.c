/* loaded.c: a whole history in memory, judged by every check. */
#include "cli/loaded.h"

#include "base/arena.h"
#include "checker/judge.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void history_path(const char *argument, struct text *path)
{
    static const char *const names[] = {"history.jsonl", "history.jsonl.zst", "history.edn"};
    struct stat info;
    text_add(path, "%s", argument);
    if (stat(argument, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        text_clear(path);
        text_add(path, "%s/%s", argument, names[i]);
        if (access(path->data, R_OK) == 0) {
            return;
        }
    }
    text_clear(path);
    text_add(path, "%s/%s", argument, names[0]);
}

static struct result loaded_add(struct loaded *loaded, size_t *capacity,
                                const struct history_event *event, struct text *why)
{
    if (loaded->count == *capacity) {
        size_t more = *capacity == 0 ? 4096 : 2 * *capacity;
        struct history_event *events = memory_resize(loaded->events, more * sizeof *loaded->events);
        if (events == NULL) {
            text_add(why, "out of memory after %zu events", loaded->count);
            return result_error(ERROR_IO);
        }
        loaded->events = events;
        *capacity = more;
    }
    loaded->events[loaded->count++] = *event;
    return RESULT_OK;
}

/* Remember the names of resources up to this one. */
static struct result loaded_name(struct loaded *loaded, const struct history_reader *reader,
                                 uint32_t resource, struct text *why)
{
    while (loaded->name_count <= resource) {
        const char *name = history_reader_resource(reader, (uint32_t)loaded->name_count);
        char **names =
            memory_resize(loaded->names, (loaded->name_count + 1) * sizeof *loaded->names);
        char *copy = memory_resize(NULL, strlen(name) + 1);
        if (names != NULL) {
            loaded->names = names;
        }
        if (names == NULL || copy == NULL) {
            memory_release(copy);
            text_add(why, "out of memory for the names of %zu resources", loaded->name_count);
            return result_error(ERROR_IO);
        }
        memcpy(copy, name, strlen(name) + 1);
        loaded->names[loaded->name_count++] = copy;
    }
    return RESULT_OK;
}

static bool names_a_resource(const struct history_event *event)
{
    return event->kind == HISTORY_OP || event->kind == HISTORY_SECTION ||
           event->kind == HISTORY_NOTICE || event->kind == HISTORY_NODE;
}

static struct result loaded_read_events(struct loaded *loaded, struct history_reader *reader,
                                        struct text *why)
{
    size_t capacity = 0;
    struct history_event event;
    for (bool more = true;;) {
        TRY(history_reader_next(reader, &event, &more, why));
        if (!more) {
            break;
        }
        TRY(loaded_add(loaded, &capacity, &event, why));
        if (names_a_resource(&event)) {
            TRY(loaded_name(loaded, reader, event.resource, why));
        }
    }
    loaded->header = *history_reader_header(reader);
    loaded->cut = history_reader_was_cut(reader);
    loaded->judge = memory_resize(NULL, judge_bytes(&loaded->header, JUDGE_ALL));
    if (loaded->judge == NULL) {
        text_add(why, "out of memory for the checks");
        return result_error(ERROR_IO);
    }
    (void)judge_init(loaded->judge, &loaded->header, JUDGE_ALL);
    for (size_t i = 0; i < loaded->count; i++) {
        judge_event(loaded->judge, &loaded->events[i]);
    }
    judge_finish(loaded->judge);
    return RESULT_OK;
}

struct result loaded_read(const char *path, const struct history_reader_options *options,
                          struct loaded *loaded, struct text *why)
{
    struct history_reader *reader;
    memset(loaded, 0, sizeof *loaded);
    TRY(history_reader_open(path, options, &reader, why));
    struct result result = loaded_read_events(loaded, reader, why);
    history_reader_close(reader);
    if (result_failed(result)) {
        loaded_release(loaded);
    }
    return result;
}

struct explain_history loaded_history(const struct loaded *loaded)
{
    return (struct explain_history){
        .header = &loaded->header,
        .events = loaded->events,
        .count = loaded->count,
        .resources = (const char *const *)loaded->names,
    };
}

const struct check_result *loaded_result(const struct loaded *loaded, size_t check)
{
    return judge_result(loaded->judge, check);
}

void loaded_release(struct loaded *loaded)
{
    for (size_t i = 0; i < loaded->name_count; i++) {
        memory_release(loaded->names[i]);
    }
    memory_release(loaded->names);
    memory_release(loaded->events);
    memory_release(loaded->judge);
    memset(loaded, 0, sizeof *loaded);
}
