/* owners.c: reads a history for its names of clients only. */
#include "history/owners.h"

#include "base/arena.h"
#include "history/foreign.h"

#include <string.h>

struct history_owner {
    struct history_value name;
    bool named;
    bool seen;
    bool crashed; /* its last operation ended unknown, and nobody took its place yet */
};

/* What the order of the processes tells of the threads behind them. */
struct threads {
    int32_t count;   /* 0: not known */
    int32_t highest; /* process so far */
    bool unclear;    /* a process came that replaces nobody */
};

static struct result owner_at(struct history_owners *owners, int32_t process,
                              struct history_owner **owner, struct text *why)
{
    size_t index = (size_t)process;
    if (index >= owners->count) {
        size_t count = owners->count < 64 ? 64 : owners->count;
        while (count <= index) {
            count *= 2;
        }
        struct history_owner *grown = memory_resize(owners->processes, count * sizeof *grown);
        if (grown == NULL) {
            text_add(why, "no memory for the owners of %zu processes", count);
            return result_error(ERROR_LIMIT);
        }
        memset(grown + owners->count, 0, (count - owners->count) * sizeof *grown);
        owners->processes = grown;
        owners->count = count;
    }
    *owner = &owners->processes[index];
    return RESULT_OK;
}

/*
 * A process came that was not there before. The one that it replaces crashed, and is as many below
 * it as there are threads; all first processes are below that number, so where several crashed, the
 * latest of those that fit is the one.
 */
static void replace(struct history_owners *owners, int32_t process, struct threads *threads)
{
    for (int32_t i = threads->highest; i >= 0 && threads->count == 0; i--) {
        bool fits = owners->processes[i].crashed && process - i > threads->highest;
        threads->count = fits ? process - i : 0;
    }
    if (threads->count == 0 || process < threads->count) {
        return; /* one of the first */
    }
    struct history_owner *before = &owners->processes[process - threads->count];
    threads->unclear = threads->unclear || !before->crashed;
    before->crashed = false;
}

static struct result owners_scan(struct history_reader *reader, struct history_owners *owners,
                                 struct threads *threads, struct text *why)
{
    struct history_event event;
    bool more = true;
    for (;;) {
        TRY(history_reader_next(reader, &event, &more, why));
        if (!more) {
            return RESULT_OK;
        }
        if (event.kind != HISTORY_OP) {
            continue;
        }
        struct history_owner *owner = NULL;
        TRY(owner_at(owners, event.process, &owner, why));
        if (!owner->seen) {
            replace(owners, event.process, threads);
            threads->highest = event.process > threads->highest ? event.process : threads->highest;
        }
        owner->seen = true;
        owner->crashed = event.type == HISTORY_INFO;
        if ((event.flags & HISTORY_HAS_OWNER) != 0 && !owner->named) {
            owner->named = true;
            owner->name = event.owner;
        }
    }
}

/* A thread whose processes name two clients opens a new one after each crash. */
static bool threads_keep_clients(const struct history_owners *owners, int32_t count)
{
    for (size_t i = 0; i + (size_t)count < owners->count; i++) {
        const struct history_owner *a = &owners->processes[i];
        const struct history_owner *b = &owners->processes[i + (size_t)count];
        if (a->named && b->named && !history_value_equal(&a->name, &b->name)) {
            return false;
        }
    }
    return true;
}

static void owners_inherit(struct history_owners *owners, int32_t threads)
{
    size_t step = (size_t)threads;
    for (size_t i = step; i < owners->count; i++) {
        if (owners->processes[i].seen && !owners->processes[i].named) {
            owners->processes[i].named = owners->processes[i - step].named;
            owners->processes[i].name = owners->processes[i - step].name;
        }
    }
    for (size_t i = owners->count; i-- > step;) {
        if (!owners->processes[i - step].named) {
            owners->processes[i - step].named = owners->processes[i].named;
            owners->processes[i - step].name = owners->processes[i].name;
        }
    }
}

struct result history_owners_read(const char *path, const struct history_map *map,
                                  struct history_owners *owners, struct text *why)
{
    *owners = (struct history_owners){0};
    if (strcmp(path, "-") == 0) {
        text_add(why, "-: this --map reads the history twice (carry=owner), and standard input "
                      "can be read only once: give a file");
        return result_error(ERROR_USAGE);
    }
    struct history_map plain = *map;
    plain.field[MAP_CARRY][0] = '\0';
    struct history_reader_options options = {.map = &plain};
    struct history_reader *reader = NULL;
    TRY(history_reader_open(path, &options, &reader, why));
    struct threads threads = {0};
    struct result result = owners_scan(reader, owners, &threads, why);
    history_reader_close(reader);
    if (result_failed(result)) {
        history_owners_release(owners);
        return result;
    }
    if (threads.count > 0 && !threads.unclear && threads_keep_clients(owners, threads.count)) {
        owners_inherit(owners, threads.count);
    }
    return RESULT_OK;
}

const struct history_value *history_owners_of(const struct history_owners *owners, int32_t process)
{
    bool known = process >= 0 && (size_t)process < owners->count;
    return known && owners->processes[process].named ? &owners->processes[process].name : NULL;
}

void history_owners_release(struct history_owners *owners)
{
    memory_release(owners->processes);
    *owners = (struct history_owners){0};
}
