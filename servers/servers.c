/* servers.c: the table of kinds of lock server. */
#include "servers/server.h"

#include "base/assert.h"
#include "servers/kinds.h"
#include "servers/launch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define X(name) extern const struct server_kind server_kind_##name;
SERVER_KIND_MAP(X)
#undef X

#define X(name) &server_kind_##name,
static const struct server_kind *const kinds[] = {SERVER_KIND_MAP(X)};
#undef X

/* Set before anything is run, by who reads the command line. */
static const char *chosen[sizeof kinds / sizeof kinds[0]];

size_t server_kind_count(void)
{
    return sizeof kinds / sizeof kinds[0];
}

const struct server_kind *server_kind_at(size_t index)
{
    ASSERT(index < server_kind_count());
    return kinds[index];
}

size_t server_kind_of(const struct lock_dialect *dialect)
{
    for (size_t i = 0; i < server_kind_count(); i++) {
        if (kinds[i]->dialect == dialect) {
            return i;
        }
    }
    UNREACHABLE();
}

struct history_event server_command_event(const struct lock_dialect *dialect,
                                          const struct server_ask *ask, uint32_t node,
                                          enum history_f f, const struct lock_value *owner)
{
    struct history_event event = server_key_event(f, node, ask->resource);
    event.process = (int32_t)ask->client;
    memcpy(event.command, lock_dialect_row(dialect, ask->command.kind)->name, sizeof event.command);
    event.sent_ns = ask->sent_ns;
    memcpy(event.value.bytes, ask->command.value.bytes, sizeof event.value.bytes);
    event.flags |= HISTORY_HAS_SENT | HISTORY_HAS_VALUE;
    if (owner != NULL) {
        memcpy(event.owner.bytes, owner->bytes, sizeof event.owner.bytes);
        event.flags |= HISTORY_HAS_OWNER;
    }
    return event;
}

bool server_kind_is_one(const struct server_kind *kind, uint32_t replica_count)
{
    return kind->one_store || replica_count > 0;
}

bool server_kind_talks(const struct server_kind *kind, uint32_t replica_count)
{
    const struct server_model *model = kind->model;
    if (kind->replicates && replica_count == 0) {
        return false;
    }
    if (model != NULL) {
        return model->hear != NULL || model->reach != NULL;
    }
    return kind->launch != NULL && kind->launch->peers != NULL;
}

bool server_kind_tells(size_t number)
{
    const struct server_wire *wire = server_kind_at(number)->wire;
    return wire != NULL && (wire->tapped || wire->answers_tell);
}

bool server_kind_has(const struct server_kind *kind, enum fault_kind fault)
{
    const struct server_model *model = kind->model;
    if (model == NULL) {
        return true; /* what its processes can be done the real world says */
    }
    return !(fault == FAULT_FAILOVER && model->promote == NULL) &&
           !(fault == FAULT_EVICT && model->evict == NULL) &&
           !(fault == FAULT_REFUSE_WRITES && model->refuse == NULL) &&
           !(fault == FAULT_SCRIPT_FLUSH && model->forget_scripts == NULL) &&
           !(fault == FAULT_POWER_LOSS && model->unsynced == NULL);
}

bool server_launch_has(const struct server_launch *launch, enum fault_kind fault)
{
    bool clock = fault == FAULT_CLOCK_JUMP || fault == FAULT_CLOCK_RATE;
    bool order = fault == FAULT_REFUSE_WRITES || fault == FAULT_EVICT ||
                 fault == FAULT_SCRIPT_FLUSH ||
                 (fault == FAULT_FAILOVER && launch->replica == NULL);
    return !(clock && launch->clock_offset == NULL) &&
           !(fault == FAULT_CLOCK_RATE && launch->wall_only != NULL) &&
           !(fault == FAULT_POWER_LOSS && launch->growing_file == NULL &&
             launch->log_folder == NULL) &&
           !(order && !launch->orders);
}

void server_launch_explain(const struct server_kind *kind, enum fault_kind fault, struct text *why)
{
    const struct server_launch *launch = kind->launch;
    text_add(why, "%s is nothing that can strike real %s servers", fault_kind_name(fault),
             kind->name);
    bool time_or_power = fault_is(fault, FAULT_OF_CLOCK) || fault == FAULT_POWER_LOSS;
    if (fault == FAULT_CLOCK_RATE && launch->wall_only != NULL) {
        text_add(why, ": %s", launch->wall_only);
    } else if (time_or_power && launch->untouched != NULL) {
        text_add(why, ": %s", launch->untouched);
    }
}

bool server_program_find(const char *program, char *path, size_t bytes)
{
    const char *at = getenv("PATH");
    if (strchr(program, '/') != NULL) {
        int length = snprintf(path, bytes, "%s", program);
        return length > 0 && (size_t)length < bytes && access(path, X_OK) == 0;
    }
    while (at != NULL && *at != '\0') {
        size_t part = strcspn(at, ":");
        int length = snprintf(path, bytes, "%.*s/%s", (int)part, at, program);
        if (length > 0 && (size_t)length < bytes && access(path, X_OK) == 0) {
            return true;
        }
        at += part + (at[part] == ':' ? 1 : 0);
    }
    return false;
}

/* It is made here, for it is the user's and not the server's. */
void server_cache(char path[SERVER_PATH_BYTES])
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (cache != NULL && cache[0] != '\0') {
        (void)snprintf(path, SERVER_PATH_BYTES, "%s", cache);
    } else {
        (void)snprintf(path, SERVER_PATH_BYTES, "%s/.cache", home != NULL ? home : "/nonexistent");
    }
    (void)mkdir(path, 0700);
}

void server_program_choose(size_t kind, const char *path)
{
    ASSERT(server_kind_at(kind)->launch != NULL);
    chosen[kind] = path;
}

const char *server_program_chosen(size_t kind)
{
    ASSERT(kind < server_kind_count());
    return chosen[kind];
}

bool server_launch_find(const struct server_launch *launch, char *path, size_t bytes)
{
    for (size_t i = 0; i < server_kind_count(); i++) {
        if (kinds[i]->launch == launch && chosen[i] != NULL) {
            return server_program_find(chosen[i], path, bytes);
        }
    }
    return launch->find != NULL ? launch->find(path, bytes)
                                : server_program_find(launch->program, path, bytes);
}

void server_launch_remedy(const struct server_launch *launch, struct text *remedy)
{
    if (launch->package == NULL) {
        text_add(remedy, "%s", launch->remedy);
    } else {
        text_add(remedy, "apt-get install %s", launch->package);
    }
}

bool server_launch_lacks(const struct server_launch *launch, struct text *what, struct text *remedy)
{
    char path[SERVER_PATH_BYTES];
    struct server_lack lack = {NULL, NULL};
    if (!server_launch_find(launch, path, sizeof path)) {
        text_add(what, "%s is not installed", launch->program);
        server_launch_remedy(launch, remedy);
        return true;
    }
    if (launch->lacks != NULL) {
        lack = launch->lacks();
    }
    if (lack.what != NULL) {
        text_add(what, "%s", lack.what);
        text_add(remedy, "%s", lack.remedy);
    }
    return lack.what != NULL;
}

void *server_connection_unbuilt(const struct lock_address *address, void *shared)
{
    (void)address;
    (void)shared;
    return NULL;
}

void server_word(struct server_words *words, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof words->memory - words->used;
    ASSERT(words->count < SERVER_WORDS_MAX);
    va_start(arguments, format);
    int length = vsnprintf(words->memory + words->used, room, format, arguments);
    va_end(arguments);
    ASSERT(length >= 0 && (size_t)length < room);
    words->word[words->count++] = words->memory + words->used;
    words->word[words->count] = NULL;
    words->used += (size_t)length + 1;
}
